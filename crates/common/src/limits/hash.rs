//! Keys of limits that nobody can read back: usernames, numbers of cards.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Hashes secrets into keys for a [`RateLimiter`](super::RateLimiter), with a key of its own that
/// exists in memory only.
pub struct KeyedHash(Hmac<Sha256>);

/// A secret, hashed. Equal for equal secrets, as far as one process lives.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct HashedKey([u8; 16]);

impl KeyedHash {
    /// One with a random key.
    pub fn new() -> Self {
        // As long as the block of the hash.
        let key: [u8; 64] = rand::random();
        Self(Hmac::new(&key.into()))
    }

    /// The hash of `secret`.
    pub fn of(&self, secret: &[u8]) -> HashedKey {
        let digest = self.0.clone().chain_update(secret).finalize().into_bytes();
        let mut key = HashedKey([0; 16]);
        key.0.copy_from_slice(&digest[..16]);
        key
    }
}

impl Default for KeyedHash {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_secrets_have_equal_hashes_in_one_process_only() {
        let hash = KeyedHash::new();
        assert!(hash.of(b"a") == hash.of(b"a") && hash.of(b"a") != hash.of(b"b"));
        assert!(hash.of(b"a") != KeyedHash::new().of(b"a"));
    }
}
