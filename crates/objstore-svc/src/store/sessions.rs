//! A cache of sessions, so that most requests read no session from the database.
//!
//! A cached copy may be outdated: another replica can end or extend the session. It is trusted for
//! at most [`MAX_AGE`].

use quick_cache::sync::Cache;

use crate::domain::{Session, Timestamp, TokenDigest};

/// Maximum number of cached sessions.
const CAPACITY: usize = 100_000;

/// Maximum age of a cached copy, in milliseconds.
const MAX_AGE: Timestamp = 60_000;

pub(super) struct SessionCache(Cache<TokenDigest, CachedSession>);

#[derive(Clone, Copy)]
struct CachedSession {
    session: Session,
    looked_up: Timestamp,
}

impl SessionCache {
    pub(super) fn new() -> Self {
        Self(Cache::new(CAPACITY))
    }

    /// The cached session of a token, unless it is older than [`MAX_AGE`] or has expired.
    pub(super) fn get(&self, token: TokenDigest, now: Timestamp) -> Option<Session> {
        let CachedSession { session, looked_up } = self.0.get(&token)?;
        let age = now.saturating_sub(looked_up);
        (now < session.expires && (0..MAX_AGE).contains(&age)).then_some(session)
    }

    pub(super) fn insert(&self, token: TokenDigest, session: Session, now: Timestamp) {
        self.0.insert(token, CachedSession { session, looked_up: now });
    }

    pub(super) fn remove(&self, token: TokenDigest) {
        self.0.remove(&token);
    }

    pub(super) fn clear(&self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::domain::ClientId;

    #[test]
    fn a_session_is_looked_up_again_after_a_minute() {
        let token = TokenDigest::of("token");
        let client = ClientId::new(Uuid::from_u128(1)).unwrap();
        let session = Session { client, expires: 100_000, unused_until: None };
        let cache = SessionCache::new();
        cache.insert(token, session, 30_000);
        for (now, expected) in
            [(29_999, None), (30_000, Some(session)), (89_999, Some(session)), (90_000, None)]
        {
            assert_eq!(cache.get(token, now), expected, "{now}");
        }
        cache.insert(token, session, 99_000);
        assert_eq!(cache.get(token, 100_000), None);
        assert_eq!(cache.get(token, 99_999), Some(session));
        cache.remove(token);
        assert_eq!(cache.get(token, 99_999), None);
    }
}
