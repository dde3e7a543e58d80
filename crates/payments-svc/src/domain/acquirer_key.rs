//! Idempotency keys at the acquirer.

use std::fmt;

use sha2::{Digest as _, Sha256};

use super::id::Id;

/// The idempotency key of a payment or an outbox entry at the acquirer, which executes each key
/// once. [`fmt::Display`] gives the text to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AcquirerKey {
    /// The ID of the pending payment or of the outbox entry.
    Id(Id),
    /// The digest of the app and its `Idempotency-Key`. So a caller who repeats a request is not
    /// charged twice, even if the database has forgotten the first request in a failover.
    Request([u8; 32]),
}

impl AcquirerKey {
    /// The key of a request of `app` with the idempotency key `key`.
    pub(crate) fn of_request(app: Id, key: &str) -> Self {
        Self::Request(
            Sha256::new().chain_update(app.to_string()).chain_update(key).finalize().into(),
        )
    }

    /// The digest is stored; the ID is in another column.
    pub(crate) fn stored(digest: Option<[u8; 32]>, id: Id) -> Self {
        digest.map_or(Self::Id(id), Self::Request)
    }

    pub(crate) fn digest(&self) -> Option<&[u8; 32]> {
        match self {
            Self::Id(_) => None,
            Self::Request(digest) => Some(digest),
        }
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
        assert_eq!(AcquirerKey::stored(key.digest().copied(), app), key);
        assert_eq!(AcquirerKey::stored(None, app), AcquirerKey::Id(app));
    }
}
