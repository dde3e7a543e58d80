//! The API keys that a process has seen: whose they are, and which uses it must record.
//!
//! 1. A key belongs to the same app as long as it exists, and the digest of a deleted key never
//!    comes back. So the cache is never wrong about the app, and needs no invalidation.
//! 2. The cache does not know whether a key was deleted: another replica can delete it. So whoever
//!    uses the cache must also read a resource by the digest: [`super::rows::is_member_by`] finds no
//!    member for a deleted key. [`super::Store::app_by_key`] reads the key itself.
//! 3. A use is noted in memory, at most once an hour for each key, and a job records it. So a
//!    request does not wait for it. A process that is killed loses the uses that it has not
//!    recorded.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
};

use common::limits::{Budget, Limited, Permit};
use jiff::Timestamp;
use payments_domain::{ApiKeyDigest, ApiKeyUse, App, Id, hour_of};
use quick_cache::sync::Cache;

/// The maximum number of keys in the cache.
const CACHE: usize = 100_000;

/// The maximum number of uses that wait to be recorded. Further uses are noted at a later request.
const MAX_USES: usize = 10_000;

/// The maximum number of uses in one write.
const USES_IN_WRITE: usize = 100;

/// A stored key, with its app.
#[derive(Debug)]
pub(super) struct StoredApiKey {
    pub(super) id: Id,
    pub(super) app: App,
    pub(super) last_used: Option<Timestamp>,
}

pub(super) struct ApiKeys {
    cache: Cache<ApiKeyDigest, Arc<CachedApiKey>>,
    /// Uses to record, by ID of the key.
    uses: Mutex<BTreeMap<Id, (ApiKeyUse, Permit)>>,
    budget: Arc<Budget>,
}

struct CachedApiKey {
    id: Id,
    app: App,
    /// The last hour that is noted or recorded, in milliseconds.
    noted: AtomicI64,
}

impl ApiKeys {
    pub(super) fn new() -> Self {
        Self {
            cache: Cache::new(CACHE),
            uses: Mutex::new(BTreeMap::new()),
            budget: Budget::new("api_key_uses", MAX_USES),
        }
    }

    /// For the metrics.
    pub(super) fn limit(&self) -> Arc<dyn Limited> {
        Arc::clone(&self.budget) as _
    }

    /// The app of a key in the cache, which a request uses now.
    pub(super) fn get(&self, digest: &ApiKeyDigest, now: Timestamp) -> Option<App> {
        let key = self.cache.get(digest)?;
        self.note_use(&key, now);
        Some(key.app.clone())
    }

    /// Keeps or removes a key, as it was just read. Returns its app.
    pub(super) fn update(
        &self,
        digest: ApiKeyDigest,
        read: Option<StoredApiKey>,
        now: Timestamp,
    ) -> Option<App> {
        let Some(StoredApiKey { id, app, last_used }) = read else {
            self.cache.remove(&digest);
            return None;
        };
        let key = self.cache.get(&digest).unwrap_or_else(|| {
            let noted = AtomicI64::new(last_used.map_or(i64::MIN, Timestamp::as_millisecond));
            let key = Arc::new(CachedApiKey { id, app, noted });
            self.cache.insert(digest, Arc::clone(&key));
            key
        });
        self.note_use(&key, now);
        Some(key.app.clone())
    }

    fn note_use(&self, key: &CachedApiKey, now: Timestamp) {
        let hour = hour_of(now);
        if hour.as_millisecond() <= key.noted.load(Ordering::Relaxed) {
            return;
        }
        let Some(permit) = self.budget.take(1) else { return };
        let noted = ApiKeyUse { app: key.app.id, key: key.id, hour };
        self.uses().insert(key.id, (noted, permit));
        key.noted.store(hour.as_millisecond(), Ordering::Relaxed);
    }

    /// Uses to record, for one write.
    pub(super) fn unrecorded(&self) -> Vec<ApiKeyUse> {
        self.uses().values().take(USES_IN_WRITE).map(|(noted, _)| *noted).collect()
    }

    /// Drops uses that are recorded. A later use of the same key stays.
    pub(super) fn recorded(&self, recorded: &[ApiKeyUse]) {
        let mut uses = self.uses();
        for noted in recorded {
            if uses.get(&noted.key).is_some_and(|(later, _)| later == noted) {
                uses.remove(&noted.key);
            }
        }
    }

    fn uses(&self) -> MutexGuard<'_, BTreeMap<Id, (ApiKeyUse, Permit)>> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(1_790_000_000 / 3600 * 3600 + 60 * minute).unwrap()
    }

    fn id(number: u8) -> Id {
        Id::stored([number; Id::BYTES])
    }

    fn stored(number: u8, last_used: Option<Timestamp>) -> StoredApiKey {
        let app = App { id: id(99), name: None, created: at(0) };
        StoredApiKey { id: id(number), app, last_used }
    }

    fn used(number: u8, hour: Timestamp) -> ApiKeyUse {
        ApiKeyUse { app: id(99), key: id(number), hour }
    }

    #[test]
    fn a_use_is_noted_once_an_hour() {
        let keys = ApiKeys::new();
        let digest = ApiKeyDigest::of("key");
        assert!(keys.get(&digest, at(0)).is_none());
        assert!(keys.update(digest, Some(stored(1, None)), at(5)).is_some());
        assert_eq!(keys.unrecorded(), [used(1, at(0))]);
        keys.recorded(&keys.unrecorded());
        for minute in [6, 59, 1] {
            assert!(keys.get(&digest, at(minute)).is_some());
            assert!(keys.update(digest, Some(stored(1, None)), at(minute)).is_some());
            assert!(keys.unrecorded().is_empty());
        }
        assert!(keys.get(&digest, at(60)).is_some());
        assert_eq!(keys.unrecorded(), [used(1, at(60))]);
    }

    #[test]
    fn a_use_that_another_replica_has_recorded_is_not_noted() {
        let keys = ApiKeys::new();
        let _ = keys.update(ApiKeyDigest::of("key"), Some(stored(1, Some(at(0)))), at(59));
        assert!(keys.unrecorded().is_empty());
    }

    #[test]
    fn a_use_stays_until_it_is_recorded() {
        let keys = ApiKeys::new();
        let digest = ApiKeyDigest::of("key");
        let _ = keys.update(digest, Some(stored(1, None)), at(0));
        let first = keys.unrecorded();
        let _ = keys.get(&digest, at(60));
        keys.recorded(&first);
        assert_eq!(keys.unrecorded(), [used(1, at(60))]);
        keys.recorded(&keys.unrecorded());
        assert_eq!(keys.budget.usage().used, 0);
    }

    #[test]
    fn a_full_buffer_notes_a_use_at_a_later_request() {
        let keys = ApiKeys::new();
        let permit = keys.budget.take(MAX_USES).unwrap();
        let digest = ApiKeyDigest::of("key");
        assert!(keys.update(digest, Some(stored(1, None)), at(0)).is_some());
        assert!(keys.unrecorded().is_empty());
        drop(permit);
        assert!(keys.get(&digest, at(1)).is_some());
        assert_eq!(keys.unrecorded(), [used(1, at(0))]);
    }

    #[test]
    fn one_write_has_a_limited_number_of_uses() {
        let keys = ApiKeys::new();
        for number in 0..=u8::MAX {
            let digest = ApiKeyDigest::of(&number.to_string());
            let _ = keys.update(digest, Some(stored(number, None)), at(0));
        }
        let mut writes = Vec::new();
        while let uses @ [_, ..] = &*keys.unrecorded() {
            writes.push(uses.len());
            keys.recorded(uses);
        }
        assert_eq!(writes, [100, 100, 56]);
    }

    #[test]
    fn a_key_that_is_not_stored_anymore_is_forgotten() {
        let keys = ApiKeys::new();
        let digest = ApiKeyDigest::of("key");
        let _ = keys.update(digest, Some(stored(1, None)), at(0));
        assert!(keys.update(digest, None, at(0)).is_none());
        assert!(keys.get(&digest, at(0)).is_none());
    }
}
