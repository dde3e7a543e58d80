//! API keys, the credentials of apps.

use std::fmt;

use jiff::{RoundMode, Timestamp, TimestampRound, Unit};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use sql::{group, stored};

use super::{id::Id, merchant::Name};

/// The maximum number of keys of an app. A rotation needs two; the others let each server of an app
/// have its own.
pub(crate) const MAX_API_KEYS: usize = 20;

/// The secret of an API key. Only the response that creates the key contains it.
pub struct ApiKey(SecretString);

impl ApiKey {
    pub fn new(key: SecretString) -> Self {
        Self(key)
    }

    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    pub fn digest(&self) -> ApiKeyDigest {
        ApiKeyDigest::of(self.expose())
    }
}

/// The stored form of an API key. SHA-256 is enough, because keys are random and cannot be guessed.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ApiKeyDigest([u8; 32]);
stored! { ApiKeyDigest([u8; 32]) }

impl ApiKeyDigest {
    /// The digest of no key.
    pub const NONE: Self = Self([0; 32]);

    /// Hashes a key, or any text that a caller sent as one.
    pub fn of(key: &str) -> Self {
        Self(Sha256::digest(key).into())
    }
}

impl fmt::Debug for ApiKeyDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ApiKeyDigest")
    }
}

group! {
    /// An API key without its secret.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ApiKeyDetails {
        id: Id = "id",
        name: Option<Name> = "name",
        created: Timestamp = "created",
        /// The start of the hour of the last request with the key.
        last_used: Option<Timestamp> = "last_used",
    }
}

/// A request that an app has made with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiKeyUse {
    pub app: Id,
    pub key: Id,
    /// The start of an hour.
    pub hour: Timestamp,
}

/// The start of the hour of `time`.
pub fn hour_of(time: Timestamp) -> Timestamp {
    let hour = TimestampRound::new().smallest(Unit::Hour).mode(RoundMode::Floor);
    time.round(hour).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_reduced_to_the_start_of_its_hour() {
        for (time, hour) in [
            ("2026-11-22T16:00:00Z", "2026-11-22T16:00:00Z"),
            ("2026-11-22T16:59:59.999Z", "2026-11-22T16:00:00Z"),
            ("1969-12-31T23:59:59.999Z", "1969-12-31T23:00:00Z"),
        ] {
            assert_eq!(hour_of(time.parse().unwrap()), hour.parse::<Timestamp>().unwrap());
        }
    }

    #[test]
    fn debug_output_of_a_digest_shows_nothing() {
        assert_eq!(format!("{:?}", ApiKeyDigest::of("key")), "ApiKeyDigest");
    }
}
