//! A cache of values that were read from the database, so that most look-ups read nothing from it.
//!
//! A look-up must see every write that was answered before it, and must not return an older value
//! than a look-up that was answered before it. So none may use an old value in the cache after the
//! commit of a new one:
//!
//! 1. Before a commit, the writer marks the keys that it changes. A look-up of a marked key reads
//!    the database, and keeps nothing.
//! 2. After the commit, the writer removes the marks, before the writes are answered.
//! 3. A look-up that has to read the database leaves a placeholder. A mark replaces it, and then
//!    the value that was read is not kept: it may be the old one.
//!
//! A value is kept only when it is read the second time. So look-ups that read each value once cost
//! no more than without a cache.

use std::{
    hash::{BuildHasher as _, Hash},
    iter,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use quick_cache::{
    DefaultHashBuilder, Lifecycle, Weighter,
    sync::{Cache, GuardResult, PlaceholderGuard},
};

use crate::limits::{Limited, Usage};

/// Bytes of an entry in addition to the size of its value.
const OVERHEAD: usize = 256;

/// Expected bytes of an entry, for the first size of the index.
const EXPECTED: u64 = 1024;

/// Values in memory, by key. Clones of a value should be cheap.
pub struct ReadCache<K, V> {
    name: &'static str,
    /// `None` if it may keep nothing.
    kept: Option<Kept<K, V>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

struct Kept<K, V> {
    entries: Entries<K, V>,
    recent: RecentMisses,
}

type Entries<K, V> = Cache<K, Entry<V>, ByBytes<K, V>, DefaultHashBuilder, KeepMarks>;

type Placeholder<'a, K, V> =
    PlaceholderGuard<'a, K, Entry<V>, ByBytes<K, V>, DefaultHashBuilder, KeepMarks>;

#[derive(Clone)]
enum Entry<V> {
    Value(V),
    /// A batch that is not answered changes the value.
    Changing,
}

/// The size of a key and its value.
struct ByBytes<K, V>(fn(&K, Option<&V>) -> usize);

impl<K, V> Clone for ByBytes<K, V> {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

impl<K, V> Weighter<K, Entry<V>> for ByBytes<K, V> {
    fn weight(&self, key: &K, entry: &Entry<V>) -> u64 {
        let value = match entry {
            Entry::Value(value) => Some(value),
            Entry::Changing => None,
        };
        u64::try_from(OVERHEAD + self.0(key, value)).unwrap_or(u64::MAX)
    }
}

/// Marks must stay until the writer removes them. A batch has a limit, so they are few.
#[derive(Clone)]
struct KeepMarks;

impl<K, V> Lifecycle<K, Entry<V>> for KeepMarks {
    type RequestState = ();

    fn is_pinned(&self, _: &K, entry: &Entry<V>) -> bool {
        matches!(entry, Entry::Changing)
    }
}

/// The result of a look-up in a cache.
pub enum LookUp<V, P> {
    /// The cached value.
    Value(V),
    /// The place of the value, which has to be read from the database.
    Absent(P),
}

/// The place of a value that is being read.
pub struct Place<'a, K, V>(Option<Placeholder<'a, K, V>>);

impl<K: Eq + Hash + Clone, V: Clone> Place<'_, K, V> {
    /// Keeps the value, unless a batch has changed it meanwhile or it is read for the first time.
    pub fn keep(self, value: impl FnOnce() -> V) {
        if let Some(placeholder) = self.0 {
            // Fails if a batch has marked the key.
            let _ = placeholder.insert(Entry::Value(value()));
        }
    }
}

impl<K: Eq + Hash + Clone, V: Clone> ReadCache<K, V> {
    /// A cache of at most `bytes`. With 0, it keeps nothing. `size` returns the bytes of a key and
    /// its value, and `name` is the name of the limit in the metrics.
    pub fn new(name: &'static str, bytes: u64, size: fn(&K, Option<&V>) -> usize) -> Arc<Self> {
        let expected = usize::try_from(bytes / EXPECTED).unwrap_or(usize::MAX);
        let hasher = DefaultHashBuilder::default();
        let kept = (bytes > 0).then(|| Kept {
            recent: RecentMisses::new(expected),
            entries: Cache::with(expected, bytes, ByBytes(size), hasher, KeepMarks),
        });
        Arc::new(Self { name, kept, hits: AtomicU64::new(0), misses: AtomicU64::new(0) })
    }

    /// The cached value, unless it is not `valid`. Then it is dropped.
    pub fn look_up(&self, key: &K, valid: impl Fn(&V) -> bool) -> LookUp<V, Place<'_, K, V>> {
        let Some(kept) = &self.kept else { return self.absent(None) };
        match kept.entries.get(key) {
            Some(Entry::Value(value)) if valid(&value) => {
                self.hits.fetch_add(1, Ordering::Relaxed);
                return LookUp::Value(value);
            }
            Some(Entry::Value(_)) => {
                let invalid = |entry: &Entry<V>| matches!(entry, Entry::Value(old) if !valid(old));
                kept.entries.remove_if(key, invalid);
            }
            Some(Entry::Changing) => return self.absent(None),
            None => {}
        }
        if !kept.recent.repeats(key) {
            return self.absent(None);
        }
        // Does not wait for another look-up that reads the same value.
        match kept.entries.get_value_or_guard(key, Some(Duration::ZERO)) {
            GuardResult::Guard(placeholder) => self.absent(Some(placeholder)),
            GuardResult::Value(_) | GuardResult::Timeout => self.absent(None),
        }
    }

    fn absent<'a>(&self, placeholder: Option<Placeholder<'a, K, V>>) -> LookUp<V, Place<'a, K, V>> {
        self.misses.fetch_add(1, Ordering::Relaxed);
        LookUp::Absent(Place(placeholder))
    }

    /// Marks the keys that a batch changes, until the result is dropped.
    pub fn change<'a>(&'a self, keys: impl Iterator<Item = &'a K>) -> Changing<'a, K, V> {
        let mark = |kept: &'a Kept<K, V>| {
            let keys = keys.inspect(|&key| kept.entries.insert(key.clone(), Entry::Changing));
            (&kept.entries, keys.collect())
        };
        Changing(self.kept.as_ref().map(mark))
    }

    /// Look-ups that found their value in the cache, and look-ups that did not.
    pub fn hits_and_misses(&self) -> (u64, u64) {
        (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed))
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
    fn repeats(&self, key: &impl Hash) -> bool {
        let hash = self.hasher.hash_one(key);
        let slot = usize::try_from(hash).unwrap_or_default() % self.slots.len();
        self.slots[slot].swap(hash, Ordering::Relaxed) == hash
    }
}

impl<K, V> Limited for ReadCache<K, V>
where
    K: Eq + Hash + Clone + Send + Sync,
    V: Clone + Send + Sync,
{
    fn usage(&self) -> Usage {
        let entries = self.kept.as_ref().map(|kept| &kept.entries);
        let (used, limit) =
            entries.map_or((0, 0), |entries| (entries.weight(), entries.capacity()));
        Usage { name: self.name, used, limit, rejections: 0 }
    }
}

/// The keys that a batch changes.
#[must_use]
pub struct Changing<'a, K: Eq + Hash, V: Clone>(Option<(&'a Entries<K, V>, Vec<&'a K>)>);

impl<K: Eq + Hash, V: Clone> Drop for Changing<'_, K, V> {
    fn drop(&mut self) {
        if let Some((entries, keys)) = &self.0 {
            for &key in keys {
                entries.remove(key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(bytes: u64) -> Arc<ReadCache<String, u64>> {
        ReadCache::new("cache", bytes, |key, _| key.len())
    }

    /// The value that a look-up returns if `database` is the value in the database.
    fn read(cache: &ReadCache<String, u64>, key: &str, database: u64) -> u64 {
        match cache.look_up(&key.to_owned(), |_| true) {
            LookUp::Value(value) => value,
            LookUp::Absent(place) => {
                place.keep(|| database);
                database
            }
        }
    }

    #[test]
    fn a_value_is_kept_when_it_is_read_the_second_time() {
        let cache = cache(1 << 20);
        assert_eq!([1, 2, 3, 4].map(|value| read(&cache, "a", value)), [1, 2, 2, 2]);
        assert_eq!([1, 2, 3].map(|value| read(&cache, "b", value)), [1, 2, 2]);
        assert_eq!(cache.hits_and_misses(), (3, 4));
    }

    #[test]
    fn an_absent_value_is_not_kept() {
        let cache = cache(1 << 20);
        for _ in 0..3 {
            let found = cache.look_up(&"a".to_owned(), |_| true);
            assert!(matches!(found, LookUp::Absent(_)));
        }
        assert_eq!([read(&cache, "a", 1), read(&cache, "a", 2)], [1, 1]);
    }

    #[test]
    fn an_invalid_value_is_read_again() {
        let cache = cache(1 << 20);
        assert_eq!([read(&cache, "a", 1), read(&cache, "a", 2), read(&cache, "a", 3)], [1, 2, 2]);
        let LookUp::Absent(place) = cache.look_up(&"a".to_owned(), |value| *value > 2) else {
            panic!("an invalid value was returned");
        };
        place.keep(|| 3);
        assert_eq!(read(&cache, "a", 4), 3);
    }

    #[test]
    fn during_a_batch_its_values_come_from_the_database() {
        let cache = cache(1 << 20);
        let (a, b) = ("a".to_owned(), "b".to_owned());
        for key in ["a", "c"] {
            assert_eq!([read(&cache, key, 1), read(&cache, key, 1)], [1, 1]);
        }
        let changing = cache.change([&a, &b].into_iter());
        for value in 2..5 {
            assert_eq!(read(&cache, "a", value), value);
            assert_eq!(read(&cache, "b", value), value);
            assert_eq!(read(&cache, "c", value), 1);
        }
        drop(changing);
        assert_eq!([read(&cache, "a", 5), read(&cache, "a", 6)], [5, 5]);
        assert_eq!([5, 6, 7].map(|value| read(&cache, "b", value)), [5, 6, 6]);
    }

    #[test]
    fn a_value_that_changes_while_it_is_read_is_not_kept() {
        let cache = cache(1 << 20);
        let a = "a".to_owned();
        assert_eq!(read(&cache, "a", 1), 1);
        let LookUp::Absent(place) = cache.look_up(&a, |_| true) else { panic!("kept too early") };
        drop(cache.change([&a].into_iter()));
        place.keep(|| 1);
        assert_eq!([read(&cache, "a", 2), read(&cache, "a", 3)], [2, 2]);
    }

    #[test]
    fn marks_stay_when_the_cache_is_full() {
        let cache = cache(64 * 1024);
        let marked: Vec<_> = (0..500).map(|index| format!("marked {index}")).collect();
        let changing = cache.change(marked.iter());
        for index in 0..5000 {
            let key = format!("other {index}");
            assert_eq!([read(&cache, &key, 1), read(&cache, &key, 1)], [1, 1]);
        }
        for key in &marked {
            assert_eq!([read(&cache, key, 1), read(&cache, key, 2)], [1, 2]);
        }
        drop(changing);
        assert!(cache.usage().used <= cache.usage().limit, "{:?}", cache.usage().used);
    }

    #[test]
    fn a_cache_without_memory_keeps_nothing() {
        let cache = cache(0);
        let a = "a".to_owned();
        let changing = cache.change([&a].into_iter());
        assert_eq!([read(&cache, "a", 1), read(&cache, "a", 2)], [1, 2]);
        drop(changing);
        assert_eq!(cache.usage().used, 0);
    }
}
