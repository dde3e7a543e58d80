//! Client IDs, session tokens, and the lifetime of sessions and unused clients.

use std::{collections::HashMap, fmt, time::Duration};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::Refusal;

/// Milliseconds since the Unix epoch.
pub(crate) type Timestamp = i64;

/// The ID that a client registers: a UUID that is not nil.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ClientId(Uuid);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidId {
    /// Not a UUID in the hyphenated form, 8-4-4-4-12 hexadecimal digits.
    #[error("ID is not a UUID")]
    NotAUuid,
    #[error("the nil UUID cannot be registered")]
    Nil,
}

impl ClientId {
    /// Parses the hyphenated form, in either case.
    pub(crate) fn parse(text: &str) -> Result<Self, InvalidId> {
        let hyphenated = text.len() == uuid::fmt::Hyphenated::LENGTH;
        match Uuid::try_parse(text) {
            Ok(id) if hyphenated => Self::new(id),
            _ => Err(InvalidId::NotAUuid),
        }
    }

    pub(crate) fn new(id: Uuid) -> Result<Self, InvalidId> {
        if id.is_nil() { Err(InvalidId::Nil) } else { Ok(Self(id)) }
    }

    pub(crate) fn uuid(&self) -> &Uuid {
        &self.0
    }
}

/// The IDs that may register. An ID with a digest must prove itself with the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Allowlist {
    All,
    Listed(HashMap<ClientId, Option<SecretDigest>>),
}

impl Allowlist {
    /// Decides whether `client` may register. `secret` is that of the request.
    pub(crate) fn check(&self, client: ClientId, secret: Option<&[u8]>) -> Result<(), Refusal> {
        let Self::Listed(listed) = self else { return Ok(()) };
        match listed.get(&client) {
            None => Err(Refusal::IdNotAllowed),
            Some(None) => Ok(()),
            Some(Some(digest)) if secret.is_some_and(|secret| digest.is_of(secret)) => Ok(()),
            Some(Some(_)) => Err(Refusal::IdNotProven),
        }
    }
}

/// The SHA-256 of a secret with which a client proves that it has an ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SecretDigest([u8; 32]);

impl SecretDigest {
    /// Parses `sha256:` and 64 hexadecimal digits.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut digest = [0; 32];
        hex::decode_to_slice(text.strip_prefix("sha256:")?, &mut digest).ok()?;
        Some(Self(digest))
    }

    /// The time of the comparison tells nothing about the secret, because it compares digests.
    fn is_of(&self, secret: &[u8]) -> bool {
        Sha256::digest(secret)[..] == self.0
    }
}

/// A session token: 256 random bits as 43 characters of base64url. It is a secret, so `Debug` does
/// not show it.
pub(crate) struct Token(String);

impl Token {
    /// Length in characters.
    pub(crate) const LENGTH: usize = 43;

    /// Makes a token from random bits.
    pub(crate) fn new(bits: [u8; 32]) -> Self {
        Self(URL_SAFE_NO_PAD.encode(bits))
    }

    /// The text of the cookie.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token")
    }
}

/// The SHA-256 of a token. The store keeps only this.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TokenDigest([u8; 32]);

impl TokenDigest {
    /// Digests a token as a client sent it.
    pub(crate) fn of(token: &str) -> Self {
        Self(Sha256::digest(token).into())
    }

    /// Wraps a digest that was stored.
    pub(crate) fn stored(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub(crate) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The digest under which an ended session stays until it is removed: no token has it, so nobody
    /// can use or extend the session.
    #[must_use]
    pub(crate) fn ended(self) -> Self {
        Self(Sha256::digest(self.0).into())
    }
}

impl fmt::Debug for TokenDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TokenDigest")
    }
}

/// Maximum number of sessions of one client. One more ends the session that expires first.
pub(crate) const MAX_SESSIONS: usize = 100;

/// A session as it is in the database or in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) client: ClientId,
    /// The session is valid before this time.
    pub(crate) expires: Timestamp,
    /// When the client is removed, if it has never set an object, watched a pattern or opened a
    /// socket. `None` if it has.
    pub(crate) unused_until: Option<Timestamp>,
}

/// Minimum time that an unused client stays after its last request.
const UNUSED_LIFETIME: Duration = Duration::from_hours(1);

/// Minimum time between two postponements of a removal, so that not every read causes a write.
const POSTPONE_EVERY: Duration = Duration::from_mins(5);

impl Session {
    /// The time at which an unused client is removed after a request at `now`. It includes
    /// [`POSTPONE_EVERY`], because requests within that time do not postpone the removal.
    pub(crate) fn removal_time(now: Timestamp) -> Timestamp {
        now.saturating_add(millis(UNUSED_LIFETIME + POSTPONE_EVERY))
    }

    /// Whether a request at `now` has to postpone the removal of its client.
    pub(crate) fn must_postpone(&self, now: Timestamp) -> bool {
        self.unused_until.is_some_and(|until| until.saturating_sub(now) < millis(UNUSED_LIFETIME))
    }
}

fn millis(duration: Duration) -> Timestamp {
    Timestamp::try_from(duration.as_millis()).unwrap_or(Timestamp::MAX / 4)
}

/// How long a session stays valid after its last use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lifetime(Duration);

/// The value of [`Lifetime::extend_every`] for long lifetimes.
const EXTEND_EVERY: Duration = Duration::from_hours(24);

impl Lifetime {
    pub(crate) fn new(lifetime: Duration) -> Self {
        Self(lifetime)
    }

    /// Whole seconds, for `Max-Age` of the cookie.
    pub(crate) fn seconds(self) -> u64 {
        self.0.as_secs()
    }

    pub(crate) fn millis(self) -> Timestamp {
        millis(self.0)
    }

    /// The expiry of a session that is created or extended at `now`.
    pub(crate) fn expiry(self, now: Timestamp) -> Timestamp {
        now.saturating_add(self.millis())
    }

    /// Minimum time between two extensions of a session.
    ///
    /// Decision: one day, but at most half the lifetime. Without this maximum, a short session
    /// would expire although it is used.
    pub(crate) fn extend_every(self) -> Duration {
        EXTEND_EVERY.min(self.0 / 2)
    }

    /// Whether a use of `session` at `now` has to extend it.
    pub(crate) fn must_extend(self, session: Session, now: Timestamp) -> bool {
        let every = Timestamp::try_from(self.extend_every().as_millis()).unwrap_or(Timestamp::MAX);
        self.expiry(now).saturating_sub(session.expires) >= every
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_hyphenated_uuid() {
        assert!(ClientId::parse("67e55044-10b1-426f-9247-bb680e5fe0c8").is_ok());
        assert!(ClientId::parse("67E55044-10B1-426F-9247-BB680E5FE0C8").is_ok());
        assert_eq!(ClientId::parse("00000000-0000-0000-0000-000000000000"), Err(InvalidId::Nil));
        for other in [
            "",
            "67e5504410b1426f9247bb680e5fe0c8",
            "{67e55044-10b1-426f-9247-bb680e5fe0c8}",
            "urn:uuid:67e55044-10b1-426f-9247-bb680e5fe0c8",
            "67e55044-10b1-426f-9247-bb680e5fe0cg",
        ] {
            assert_eq!(ClientId::parse(other), Err(InvalidId::NotAUuid), "{other:?}");
        }
    }

    #[test]
    fn an_unused_client_stays_an_hour_after_its_last_request() {
        const MINUTE: Timestamp = 60_000;
        let client = ClientId::parse("67e55044-10b1-426f-9247-bb680e5fe0c8").unwrap();
        let mut session = Session { client, expires: 0, unused_until: None };
        assert!(!session.must_postpone(Timestamp::MAX));
        let (mut writes, mut request) = (0, 0);
        for minutes_since_last_request in [0, 4, 2, 59, 1, 1, 1, 3, 60] {
            request += minutes_since_last_request * MINUTE;
            if session.unused_until.is_none() || session.must_postpone(request) {
                session.unused_until = Some(Session::removal_time(request));
                writes += 1;
            }
            assert!(session.unused_until >= Some(request + 60 * MINUTE), "{request}");
        }
        assert_eq!(writes, 5);
    }

    #[test]
    fn use_extends_a_session_at_most_once_a_day() {
        const HOUR: Timestamp = 3_600_000;
        let lifetime = Lifetime::new(Duration::from_hours(30 * 24));
        let client = ClientId::parse("67e55044-10b1-426f-9247-bb680e5fe0c8").unwrap();
        let session = Session { client, expires: lifetime.expiry(0), unused_until: None };
        assert!(!lifetime.must_extend(session, 23 * HOUR));
        assert!(lifetime.must_extend(session, 24 * HOUR));
    }

    #[test]
    fn a_short_session_in_use_does_not_end() {
        let lifetime = Lifetime::new(Duration::from_secs(10));
        let client = ClientId::parse("67e55044-10b1-426f-9247-bb680e5fe0c8").unwrap();
        let session = Session { client, expires: lifetime.expiry(0), unused_until: None };
        assert!(!lifetime.must_extend(session, 4_999));
        assert!(lifetime.must_extend(session, 5_000));
    }
}
