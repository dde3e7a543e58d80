//! A cache of objects, so that most gets read nothing from the database.
//!
//! A get must see every set that was answered before it, and must not be older than a get that was
//! answered before it. So no get may use an old object in the cache after the commit of a new one:
//!
//! 1. Before a commit, the writer marks the keys that it changes. A get of a marked key reads the
//!    database, and keeps nothing.
//! 2. After the commit, the writer removes the marks, before the sets are answered.
//! 3. A get that has to read the database leaves a placeholder. A mark replaces it, and then the
//!    object that was read is not kept: it may be the old one.
//!
//! An object is kept only when it is read the second time. So gets that read each object once cost
//! no more than without a cache.

use std::{
    hash::BuildHasher as _,
    iter,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use common::limits::{Limited, Usage};
use quick_cache::{
    DefaultHashBuilder, Lifecycle, Weighter,
    sync::{Cache, GuardResult},
};

use crate::domain::{Key, StoredObject};

/// Bytes of a cached object in addition to its own and to those of its key.
const OVERHEAD: usize = 256;

/// Expected bytes of a cached object, for the first size of the index.
const EXPECTED: u64 = 1024;

pub(crate) struct ObjectCache {
    /// `None` if it may keep nothing.
    kept: Option<Kept>,
    hits: AtomicU64,
    misses: AtomicU64,
}

struct Kept {
    objects: Objects,
    recent: RecentMisses,
}

type Objects = Cache<Key, Cached, ByBytes, DefaultHashBuilder, KeepMarks>;

type Found<'a> = GuardResult<'a, Key, Cached, ByBytes, DefaultHashBuilder, KeepMarks>;

#[derive(Clone)]
enum Cached {
    Object(Arc<StoredObject>),
    /// A batch that is not answered changes the object.
    Changing,
}

#[derive(Clone)]
struct ByBytes;

impl Weighter<Key, Cached> for ByBytes {
    fn weight(&self, key: &Key, cached: &Cached) -> u64 {
        let object = match cached {
            Cached::Object(stored) => stored.object.size(),
            Cached::Changing => 0,
        };
        u64::try_from(OVERHEAD + key.size() + object).unwrap_or(u64::MAX)
    }
}

/// Marks must stay until the writer removes them. A batch has a limit, so they are few.
#[derive(Clone)]
struct KeepMarks;

impl Lifecycle<Key, Cached> for KeepMarks {
    type RequestState = ();

    fn is_pinned(&self, _: &Key, cached: &Cached) -> bool {
        matches!(cached, Cached::Changing)
    }
}

impl ObjectCache {
    /// A cache of at most `bytes`. With 0, it keeps nothing.
    pub(super) fn new(bytes: u64) -> Arc<Self> {
        let expected = usize::try_from(bytes / EXPECTED).unwrap_or(usize::MAX);
        let hasher = DefaultHashBuilder::default();
        let kept = (bytes > 0).then(|| Kept {
            recent: RecentMisses::new(expected),
            objects: Cache::with(expected, bytes, ByBytes, hasher, KeepMarks),
        });
        Arc::new(Self { kept, hits: AtomicU64::new(0), misses: AtomicU64::new(0) })
    }

    /// The cached object, or the one that `read` finds in the database.
    pub(super) fn get<E>(
        &self,
        key: &Key,
        read: impl FnOnce() -> Result<Option<StoredObject>, E>,
    ) -> Result<Option<Arc<StoredObject>>, E> {
        let found = self.kept.as_ref().and_then(|kept| kept.look_up(key));
        if let Some(GuardResult::Value(Cached::Object(stored))) = found {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(Some(stored));
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        let stored = read()?.map(Arc::new);
        if let (Some(GuardResult::Guard(placeholder)), Some(stored)) = (found, &stored) {
            // Fails if a batch has marked the key meanwhile.
            let _ = placeholder.insert(Cached::Object(Arc::clone(stored)));
        }
        Ok(stored)
    }

    /// Marks the keys that a batch changes, until the result is dropped.
    pub(super) fn change<'a>(&'a self, keys: impl Iterator<Item = &'a Key>) -> Changing<'a> {
        let mark = |kept: &'a Kept| {
            let keys = keys.inspect(|&key| kept.objects.insert(key.clone(), Cached::Changing));
            (&kept.objects, keys.collect())
        };
        Changing(self.kept.as_ref().map(mark))
    }

    /// Gets that found their object in the cache, and gets that did not.
    pub(super) fn hits_and_misses(&self) -> (u64, u64) {
        (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed))
    }
}

impl Kept {
    /// The cached object, a placeholder for it, or `None` if it is read for the first time.
    fn look_up(&self, key: &Key) -> Option<Found<'_>> {
        let found = self.objects.get(key).map(GuardResult::Value);
        found.or_else(|| {
            // Does not wait for another get that reads the same object.
            let look_up = || self.objects.get_value_or_guard(key, Some(Duration::ZERO));
            self.recent.repeats(key).then(look_up)
        })
    }
}

/// Hashes of keys that were not in the cache. A later one replaces an earlier one in its slot.
struct RecentMisses {
    hasher: DefaultHashBuilder,
    slots: Box<[AtomicU64]>,
}

impl RecentMisses {
    fn new(slots: usize) -> Self {
        let slots = iter::repeat_with(AtomicU64::default).take(slots.max(1)).collect();
        Self { hasher: DefaultHashBuilder::default(), slots }
    }

    /// Notes a miss of this key. Returns whether there was one before.
    fn repeats(&self, key: &Key) -> bool {
        let hash = self.hasher.hash_one(key);
        let slot = usize::try_from(hash).unwrap_or_default() % self.slots.len();
        self.slots[slot].swap(hash, Ordering::Relaxed) == hash
    }
}

impl Limited for ObjectCache {
    fn usage(&self) -> Usage {
        let objects = self.kept.as_ref().map(|kept| &kept.objects);
        let (used, limit) =
            objects.map_or((0, 0), |objects| (objects.weight(), objects.capacity()));
        Usage { name: "object_cache", used, limit, rejections: 0 }
    }
}

/// The keys that a batch changes.
#[must_use]
pub(super) struct Changing<'a>(Option<(&'a Objects, Vec<&'a Key>)>);

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        if let Some((objects, keys)) = &self.0 {
            for &key in keys {
                objects.remove(key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::domain::{Object, Owner, Value};

    fn key(name: &str) -> Key {
        Key::new("type", "space", name).unwrap()
    }

    fn stored(name: &str, revision: u64) -> StoredObject {
        let value = Value::stored(b"{}");
        let object = Object { key: key(name), value, owner: Owner::new("o").unwrap() };
        StoredObject { object, revision }
    }

    /// The revision that a get finds if `database` is the revision in the database.
    fn get(cache: &ObjectCache, name: &str, database: u64) -> u64 {
        let read = || Ok::<_, Infallible>(Some(stored(name, database)));
        cache.get(&key(name), read).unwrap().unwrap().revision
    }

    #[test]
    fn an_object_is_kept_when_it_is_read_the_second_time() {
        let cache = ObjectCache::new(1 << 20);
        assert_eq!([1, 2, 3, 4].map(|revision| get(&cache, "a", revision)), [1, 2, 2, 2]);
        assert_eq!([1, 2, 3].map(|revision| get(&cache, "b", revision)), [1, 2, 2]);
        assert_eq!(cache.hits_and_misses(), (3, 4));
    }

    #[test]
    fn an_absent_object_is_not_kept() {
        let cache = ObjectCache::new(1 << 20);
        assert_eq!(cache.get(&key("a"), || Ok::<_, Infallible>(None)), Ok(None));
        assert_eq!([get(&cache, "a", 1), get(&cache, "a", 2)], [1, 1]);
        assert!(cache.get(&key("b"), || Err("broken")).is_err());
        assert_eq!(get(&cache, "b", 2), 2);
    }

    #[test]
    fn during_a_batch_its_objects_come_from_the_database() {
        let cache = ObjectCache::new(1 << 20);
        let (a, b) = (key("a"), key("b"));
        for name in ["a", "c"] {
            assert_eq!([get(&cache, name, 1), get(&cache, name, 1)], [1, 1]);
        }
        let changing = cache.change([&a, &b].into_iter());
        for revision in 2..5 {
            assert_eq!(get(&cache, "a", revision), revision);
            assert_eq!(get(&cache, "b", revision), revision);
            assert_eq!(get(&cache, "c", revision), 1);
        }
        drop(changing);
        assert_eq!([get(&cache, "a", 5), get(&cache, "a", 6)], [5, 5]);
        assert_eq!([5, 6, 7].map(|revision| get(&cache, "b", revision)), [5, 6, 6]);
    }

    #[test]
    fn an_object_that_changes_while_it_is_read_is_not_kept() {
        let cache = ObjectCache::new(1 << 20);
        let a = key("a");
        assert_eq!(get(&cache, "a", 1), 1);
        let read = || {
            drop(cache.change([&a].into_iter()));
            Ok::<_, Infallible>(Some(stored("a", 1)))
        };
        assert_eq!(cache.get(&a, read).unwrap().unwrap().revision, 1);
        assert_eq!([get(&cache, "a", 2), get(&cache, "a", 3)], [2, 2]);
    }

    #[test]
    fn marks_stay_when_the_cache_is_full() {
        let cache = ObjectCache::new(64 * 1024);
        let marked: Vec<_> = (0..500).map(|index| key(&format!("marked {index}"))).collect();
        let changing = cache.change(marked.iter());
        for index in 0..5000 {
            let name = format!("other {index}");
            assert_eq!([get(&cache, &name, 1), get(&cache, &name, 1)], [1, 1]);
        }
        for index in 0..500 {
            let name = format!("marked {index}");
            assert_eq!([get(&cache, &name, 1), get(&cache, &name, 2)], [1, 2]);
        }
        drop(changing);
        assert!(cache.usage().used <= cache.usage().limit, "{:?}", cache.usage().used);
    }

    #[test]
    fn a_cache_without_memory_keeps_nothing() {
        let cache = ObjectCache::new(0);
        let a = key("a");
        let changing = cache.change([&a].into_iter());
        assert_eq!([get(&cache, "a", 1), get(&cache, "a", 2)], [1, 2]);
        drop(changing);
        assert_eq!(cache.usage().used, 0);
    }
}
