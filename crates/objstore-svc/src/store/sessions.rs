//! A cache of sessions, so that most requests read no session from the database.
//!
//! A cached copy may be outdated: another replica can end or extend the session. It is trusted for
//! at most [`MAX_AGE`]. A change by this process removes it before the change is answered.

use std::time::Duration;

use quick_cache::{
    DefaultHashBuilder, UnitWeighter,
    sync::{Cache, DefaultLifecycle, GuardResult, PlaceholderGuard},
};

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

/// The result of a look-up in the cache.
pub(super) enum Cached<'a> {
    Session(Session),
    /// The session has to be read from the database.
    Absent(Place<'a>),
}

/// The place of a session that is being read. Removing the session during the read removes the
/// place, too: otherwise the cache would keep a session that has ended.
pub(super) struct Place<'a>(Option<Placeholder<'a>>);

type Placeholder<'a> = PlaceholderGuard<
    'a,
    TokenDigest,
    CachedSession,
    UnitWeighter,
    DefaultHashBuilder,
    DefaultLifecycle<TokenDigest, CachedSession>,
>;

impl Place<'_> {
    pub(super) fn fill(self, session: Session, now: Timestamp) {
        if let Some(placeholder) = self.0 {
            // Fails if the session was removed meanwhile.
            let _ = placeholder.insert(CachedSession { session, looked_up: now });
        }
    }
}

impl SessionCache {
    pub(super) fn new() -> Self {
        Self(Cache::new(CAPACITY))
    }

    /// The cached session of a token, unless it is older than [`MAX_AGE`], has expired, or is not
    /// `accepted`.
    pub(super) fn get(
        &self,
        token: TokenDigest,
        now: Timestamp,
        accepted: impl FnOnce(Session) -> bool,
    ) -> Cached<'_> {
        if let Some(CachedSession { session, looked_up }) = self.0.get(&token) {
            let age = now.saturating_sub(looked_up);
            if now < session.expires && (0..MAX_AGE).contains(&age) && accepted(session) {
                return Cached::Session(session);
            }
            self.0.remove(&token);
        }
        // Does not wait for another request that reads the same session.
        let found = self.0.get_value_or_guard(&token, Some(Duration::ZERO));
        Cached::Absent(Place(match found {
            GuardResult::Guard(placeholder) => Some(placeholder),
            GuardResult::Value(_) | GuardResult::Timeout => None,
        }))
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

    const TOKEN: &str = "token";

    fn session() -> Session {
        let client = ClientId::new(Uuid::from_u128(1)).unwrap();
        Session { client, expires: 100_000, unused_until: None }
    }

    /// The cached session, without a place for another one.
    fn cached(cache: &SessionCache, now: Timestamp) -> Option<Session> {
        match cache.get(TokenDigest::of(TOKEN), now, |_| true) {
            Cached::Session(session) => Some(session),
            Cached::Absent(_) => None,
        }
    }

    fn place(cache: &SessionCache, now: Timestamp) -> Place<'_> {
        match cache.get(TokenDigest::of(TOKEN), now, |_| false) {
            Cached::Session(session) => panic!("{session:?} is not accepted"),
            Cached::Absent(place) => place,
        }
    }

    #[test]
    fn a_session_is_looked_up_again_after_a_minute() {
        let cache = SessionCache::new();
        for (now, expected) in
            [(29_999, None), (30_000, Some(session())), (89_999, Some(session())), (90_000, None)]
        {
            place(&cache, now).fill(session(), 30_000);
            assert_eq!(cached(&cache, now), expected, "{now}");
        }
        for (now, expected) in [(99_999, Some(session())), (100_000, None)] {
            place(&cache, now).fill(session(), 99_000);
            assert_eq!(cached(&cache, now), expected, "{now}");
        }
        place(&cache, 99_000).fill(session(), 99_000);
        cache.remove(TokenDigest::of(TOKEN));
        assert_eq!(cached(&cache, 99_999), None);
    }

    #[test]
    fn a_session_that_ends_while_it_is_read_is_not_kept() {
        let cache = SessionCache::new();
        let ends: [fn(&SessionCache); 2] =
            [|cache| cache.remove(TokenDigest::of(TOKEN)), SessionCache::clear];
        for end in ends {
            let place = place(&cache, 30_000);
            end(&cache);
            place.fill(session(), 30_000);
            assert_eq!(cached(&cache, 30_000), None);
        }
    }

    #[test]
    fn two_requests_may_read_a_session_at_once() {
        let cache = SessionCache::new();
        let (first, second) = (place(&cache, 30_000), place(&cache, 30_000));
        second.fill(session(), 30_000);
        assert_eq!(cached(&cache, 30_000), None);
        first.fill(session(), 30_000);
        assert_eq!(cached(&cache, 30_000), Some(session()));
        drop(place(&cache, 30_000));
        place(&cache, 30_000).fill(session(), 30_000);
        assert_eq!(cached(&cache, 30_000), Some(session()));
    }
}
