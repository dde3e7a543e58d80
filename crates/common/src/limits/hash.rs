//! Hashes secrets, such as a username or a card number, into keys of a rate limit. The secret
//! cannot be recovered from the key.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Hashes secrets into keys for a [`RateLimiter`](super::RateLimiter). The random key of the hash
/// exists only in memory.
pub struct KeyedHash(Hmac<Sha256>);

/// The hash of a secret. Only hashes of the same [`KeyedHash`] can be compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct HashedKey([u8; 16]);

impl KeyedHash {
    /// Draws a random key.
    pub fn new() -> Self {
        // The block size of SHA-256.
        let key: [u8; 64] = rand::random();
        Self(Hmac::new(&key.into()))
    }

    /// Hashes `secret` and keeps 128 bits.
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
