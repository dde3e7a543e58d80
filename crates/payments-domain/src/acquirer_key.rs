//! Idempotency keys at the acquirer.

use std::{fmt, str::FromStr};

use sha2::{Digest as _, Sha256};
use sql::{Param, stored};

use super::id::Id;

/// The digest of a request with an idempotency key, or of the key.
pub(crate) type RequestDigest = [u8; 32];

/// The idempotency key of a payment or an outbox entry at the acquirer, which executes each key
/// once. [`fmt::Display`] gives the text to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AcquirerKey {
    /// The ID of the pending payment or of the outbox entry.
    Id(Id),
    /// The digest of the app and its `Idempotency-Key`. So a caller who repeats a request is not
    /// charged twice, even if the database has forgotten the first request in a failover.
    Request(RequestDigest),
}

stored! {
    AcquirerKey as Vec<u8>: |key| Param::Bytes(key.as_bytes().into()), |key| Self::of_bytes(&key)
}

impl AcquirerKey {
    /// The key of a request of `app` with the idempotency key `key`.
    pub(crate) fn of_request(app: Id, key: &str) -> Self {
        Self::Request(
            Sha256::new().chain_update(app.to_string()).chain_update(key).finalize().into(),
        )
    }

    /// The digest is stored; the ID is in another column.
    pub fn stored(digest: Option<RequestDigest>, id: Id) -> Self {
        digest.map_or(Self::Id(id), Self::Request)
    }

    /// The 12 bytes of the ID, or the 32 bytes of the digest.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Id(id) => id.as_bytes(),
            Self::Request(digest) => digest,
        }
    }

    /// Reads the bytes of [`Self::as_bytes`].
    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let id = || Some(Self::Id(Id::stored(bytes.try_into().ok()?)));
        bytes.try_into().map(Self::Request).ok().or_else(id)
    }

    pub fn digest(&self) -> Option<RequestDigest> {
        match self {
            Self::Id(_) => None,
            Self::Request(digest) => Some(*digest),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be the key of an operation: 24 or 64 lower-case hexadecimal digits")]
pub struct InvalidAcquirerKey;

/// Reads the text that [`fmt::Display`] writes.
impl FromStr for AcquirerKey {
    type Err = InvalidAcquirerKey;

    fn from_str(text: &str) -> Result<Self, InvalidAcquirerKey> {
        if let Ok(id) = text.parse() {
            return Ok(Self::Id(id));
        }
        let mut digest = [0; 32];
        hex::decode_to_slice(text, &mut digest).map_err(|_| InvalidAcquirerKey)?;
        Ok(Self::Request(digest))
    }
}

impl fmt::Display for AcquirerKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(formatter),
            Self::Request(digest) => formatter.write_str(&hex::encode(digest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_same_key_each_time() {
        let [app, other] = ["6b016ea00000000000000001", "6b016ea00000000000000002"]
            .map(|id| id.parse::<Id>().unwrap());
        let key = AcquirerKey::of_request(app, "order 1");
        assert_eq!(key, AcquirerKey::of_request(app, "order 1"));
        assert_ne!(key, AcquirerKey::of_request(app, "order 2"));
        assert_ne!(key, AcquirerKey::of_request(other, "order 1"));
        assert_eq!(key.to_string().len(), 64);
        assert_eq!(AcquirerKey::Id(app).to_string(), app.to_string());
        assert_eq!(AcquirerKey::stored(key.digest(), app), key);
        assert_eq!(AcquirerKey::stored(None, app), AcquirerKey::Id(app));
        for read_back in [key, AcquirerKey::Id(app)] {
            assert_eq!(read_back.to_string().parse(), Ok(read_back));
            assert_eq!(AcquirerKey::of_bytes(read_back.as_bytes()), Some(read_back));
        }
        for other in ["", "6b016ea0000000000000000", &key.to_string()[1..]] {
            assert_eq!(other.parse::<AcquirerKey>(), Err(InvalidAcquirerKey), "{other}");
        }
    }
}
