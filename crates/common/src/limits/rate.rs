//! Rate limits by key: the algorithm GCRA of the crate `governor`.
//!
//! A [`RateLimiter`] for `60/1m` allows 60 events in a burst, and then one per second. It keeps a
//! limited number of keys in memory. Invented keys do not use more memory: when it is full, a new key
//! evicts one that was not used again.

use std::{
    hash::Hash,
    num::{NonZeroU32, NonZeroUsize},
    str::FromStr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use governor::{
    Quota, RateLimiter as Governor,
    clock::{Clock as _, DefaultClock},
    middleware::NoOpMiddleware,
    nanos::Nanos,
    state::StateStore,
};
use quick_cache::unsync::Cache;

use super::{Limited, Rejections, Usage, widen};
use crate::config::duration;

/// A setting such as `60/1m`, a count and a period, or `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate(Option<(NonZeroU32, Duration)>);

/// The text is not a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be COUNT/PERIOD, such as 60/1m, or off")]
pub struct InvalidRate;

impl FromStr for Rate {
    type Err = InvalidRate;

    fn from_str(text: &str) -> Result<Self, InvalidRate> {
        if text == "off" {
            return Ok(Self(None));
        }
        let (count, period) = text.split_once('/').ok_or(InvalidRate)?;
        let count: NonZeroU32 = count.parse().map_err(|_| InvalidRate)?;
        let period = duration(period).map_err(|_| InvalidRate)?;
        // `governor` needs at least one nanosecond between two events.
        if period / count.get() < Duration::from_nanos(1) {
            return Err(InvalidRate);
        }
        Ok(Self(Some((count, period))))
    }
}

impl Rate {
    /// So many events in the period, which is longer than the number in nanoseconds.
    pub fn new(count: NonZeroU32, period: Duration) -> Self {
        Self(Some((count, period)))
    }

    /// The same period with `factor` times the count.
    #[must_use]
    pub fn times(self, factor: u32) -> Self {
        let factor = NonZeroU32::new(factor).unwrap_or(NonZeroU32::MIN);
        Self(self.0.map(|(count, period)| (count.saturating_mul(factor), period)))
    }

    fn quota(self) -> Option<Quota> {
        let (count, period) = self.0?;
        Some(Quota::with_period(period / count.get())?.allow_burst(count))
    }
}

/// Rejected by a rate limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many requests: try again in {retry_after} s")]
pub struct Refused {
    /// Whole seconds until a retry can succeed, at least 1.
    pub retry_after: u64,
}

/// Limits how often something happens, by key.
///
/// [`count`](Self::count) counts every request. If only some outcomes count, there are two ways:
///
/// - Many people share a key: call [`check`](Self::check) before, and [`record`](Self::record)
///   afterwards. Requests in flight at the same moment may exceed the limit.
/// - A key belongs to one person: call [`reserve`](Self::reserve) before, and keep or drop the
///   count. Nothing exceeds the limit.
pub struct RateLimiter<K: Hash + Eq + Clone> {
    name: &'static str,
    /// `None` if the limit is off.
    limiter: Option<Limiter<K>>,
    rejections: Rejections,
}

struct Limiter<K: Hash + Eq + Clone> {
    governor: Governor<Access<K>, Keys<K>, DefaultClock, NoOpMiddleware>,
    keys: Keys<K>,
}

/// Whether an access changes the state of the key.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Access<K> {
    Count(K),
    Check(K),
}

impl<K: Hash + Eq + Clone> RateLimiter<K> {
    /// Keeps at most `keys` keys in memory. `name` is the label in the metrics.
    pub fn new(name: &'static str, rate: Rate, keys: NonZeroUsize) -> Self {
        let limiter = rate.quota().map(|quota| {
            let interval = quota.replenish_interval();
            let states = Arc::new(Mutex::new(Cache::new(keys.get())));
            let keys = Keys { states, interval };
            let governor = Governor::new(quota, keys.clone(), DefaultClock::default());
            Limiter { governor, keys }
        });
        Self { name, limiter, rejections: Rejections::new() }
    }

    /// Counts one event for `key`, or rejects it.
    pub fn count(&self, key: K) -> Result<(), Refused> {
        self.access(Access::Count(key))
    }

    /// Rejects whenever [`count`](Self::count) would. Counts nothing.
    pub fn check(&self, key: K) -> Result<(), Refused> {
        self.access(Access::Check(key))
    }

    /// Counts one event for `key` that has already happened. It counts beyond the limit, too:
    /// otherwise each check that passes would admit all events that are under way at that moment.
    pub fn record(&self, key: K) {
        let Some(Limiter { governor, keys }) = &self.limiter else { return };
        if governor.check_key(&Access::Count(key.clone())).is_err() {
            keys.add(&key);
        }
    }

    fn access(&self, access: Access<K>) -> Result<(), Refused> {
        let Some(Limiter { governor, keys }) = &self.limiter else { return Ok(()) };
        governor.check_key(&access).map_err(|until| {
            self.rejections.add(self.name);
            let wait = until.wait_time_from(governor.clock().now());
            let wait = (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1);
            // Those under way may not count in the end.
            Refused { retry_after: if keys.has_reserved(access.key()) { 1 } else { wait } }
        })
    }

    /// Counts one event for `key` until the result is dropped, or rejects it.
    pub fn reserve(self: &Arc<Self>, key: K) -> Result<Reserved<K>, Refused> {
        self.count(key.clone())?;
        let keys = self.limiter.as_ref().map(|limiter| &limiter.keys);
        let generation = keys.map_or(0, |keys| keys.reserve(&key));
        Ok(Reserved { limiter: Arc::clone(self), key, generation, end: End::Release })
    }
}

/// One count of a [`RateLimiter`]. Dropping it removes the count, unless it is kept.
pub struct Reserved<K: Hash + Eq + Clone> {
    limiter: Arc<RateLimiter<K>>,
    key: K,
    /// That of the key when it was counted.
    generation: u32,
    end: End,
}

/// What becomes of a count.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Release,
    Keep,
    /// All counts of the key are removed.
    Clear,
}

impl<K: Hash + Eq + Clone> Reserved<K> {
    /// Keeps the count after this value is dropped.
    pub fn keep(mut self) {
        self.end = End::Keep;
    }

    /// Removes all counts of the key.
    pub fn clear(mut self) {
        self.end = End::Clear;
    }
}

impl<K: Hash + Eq + Clone> Drop for Reserved<K> {
    fn drop(&mut self) {
        if let Some(limiter) = &self.limiter.limiter {
            limiter.keys.end(&self.key, self.generation, self.end);
        }
    }
}

impl<K: Hash + Eq + Clone + Send> Limited for RateLimiter<K> {
    fn usage(&self) -> Usage {
        let keys = self.limiter.as_ref().map(|limiter| limiter.keys.lock());
        Usage {
            name: self.name,
            used: keys.as_ref().map_or(0, |keys| widen(keys.len())),
            limit: keys.as_ref().map_or(0, |keys| keys.capacity()),
            rejections: self.rejections.get(),
        }
    }
}

/// The state of a key.
#[derive(Clone, Copy, Default)]
struct State {
    /// When all its counts have expired.
    expires: Nanos,
    /// The number of its counts that are reserved.
    reserved: u32,
    /// The number of times that its counts were removed. A count of before is none any more.
    generation: u32,
}

#[derive(Clone)]
struct Keys<K: Hash + Eq> {
    states: Arc<Mutex<Cache<K, State>>>,
    /// Time until one count expires.
    interval: Duration,
}

impl<K: Hash + Eq> Keys<K> {
    /// Held for one look-up, never across an await.
    fn lock(&self) -> MutexGuard<'_, Cache<K, State>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds one event to the count of `key`.
    fn add(&self, key: &K) {
        if let Some(mut state) = self.lock().get_mut(key) {
            state.shift(self.interval, u64::saturating_add);
        }
    }

    fn has_reserved(&self, key: &K) -> bool {
        self.lock().get(key).is_some_and(|state| state.reserved > 0)
    }

    /// Marks a count of `key` as reserved, and returns its generation.
    fn reserve(&self, key: &K) -> u32 {
        self.lock().get_mut(key).map_or(0, |mut state| {
            state.reserved = state.reserved.saturating_add(1);
            state.generation
        })
    }

    /// Ends a reserved count of this generation.
    fn end(&self, key: &K, generation: u32, end: End) {
        let mut states = self.lock();
        let Some(mut state) = states.get_mut(key) else { return };
        if end == End::Clear {
            let generation = state.generation.wrapping_add(1);
            *state = State { generation, ..State::default() };
        } else if state.generation == generation {
            state.reserved = state.reserved.saturating_sub(1);
            if end == End::Release {
                state.shift(self.interval, u64::saturating_sub);
            }
        }
    }
}

impl State {
    fn shift(&mut self, interval: Duration, shifted: fn(u64, u64) -> u64) {
        let interval = Nanos::from(interval).as_u64();
        self.expires = Nanos::new(shifted(self.expires.as_u64(), interval));
    }
}

impl<K> Access<K> {
    fn key(&self) -> &K {
        let (Self::Count(key) | Self::Check(key)) = self;
        key
    }
}

impl<K: Hash + Eq + Clone> StateStore for Keys<K> {
    type Key = Access<K>;

    fn measure_and_replace<T, F, E>(&self, access: &Access<K>, measure: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let mut states = self.lock();
        match access {
            Access::Check(key) => {
                measure(states.get(key).map(|state| state.expires)).map(|(passed, _)| passed)
            }
            Access::Count(key) => {
                let state = states.get(key).copied();
                let (passed, expires) = measure(state.map(|state| state.expires))?;
                states.insert(key.clone(), State { expires, ..state.unwrap_or_default() });
                Ok(passed)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter(rate: &str, keys: usize) -> Arc<RateLimiter<u32>> {
        let keys = NonZeroUsize::new(keys).unwrap();
        Arc::new(RateLimiter::new("test", rate.parse().unwrap(), keys))
    }

    #[test]
    fn a_rate_is_a_count_in_a_period_or_off() {
        let rate = |text: &str| text.parse::<Rate>();
        let of = |count, seconds| {
            Ok(Rate(Some((NonZeroU32::new(count).unwrap(), Duration::from_secs(seconds)))))
        };
        assert_eq!(rate("10/15m"), of(10, 900));
        assert_eq!(rate("100/1d"), of(100, 86_400));
        assert_eq!(rate("off"), Ok(Rate(None)));
        assert_eq!(rate("3/1s").map(|rate| rate.times(10)), of(30, 1));
        for wrong in ["", "10", "10/", "/1m", "0/1m", "-1/1m", "10/0s", "10/1m/1m", "OFF", "1.5/1s"]
        {
            assert_eq!(rate(wrong), Err(InvalidRate), "{wrong}");
        }
    }

    #[test]
    fn each_key_has_its_own_count() {
        let limiter = limiter("3/1h", 10);
        for _ in 0..3 {
            assert_eq!(limiter.count(1), Ok(()));
        }
        let rejected = limiter.count(1).unwrap_err();
        assert!((1199..=1200).contains(&rejected.retry_after), "{rejected}");
        assert_eq!(limiter.count(2), Ok(()));
        assert_eq!((limiter.usage().used, limiter.usage().rejections), (2, 1));
    }

    #[test]
    fn recorded_events_beyond_the_limit_delay_the_next_ones() {
        let limiter = limiter("2/2h", 10);
        (0..4).for_each(|_| limiter.record(1));
        let rejected = limiter.check(1).unwrap_err();
        assert!((10_799..=10_800).contains(&rejected.retry_after), "{rejected}");
    }

    #[test]
    fn a_check_counts_nothing() {
        let limiter = limiter("1/1h", 10);
        assert_eq!((limiter.check(1), limiter.check(1)), (Ok(()), Ok(())));
        assert_eq!(limiter.count(1), Ok(()));
        assert!(limiter.check(1).is_err());
    }

    #[test]
    fn removed_counts_are_available_again() {
        let limiter = limiter("2/1h", 10);
        let (first, second) = (limiter.reserve(1).ok().unwrap(), limiter.reserve(1).ok().unwrap());
        assert!(limiter.reserve(1).is_err());
        drop(first);
        second.keep();
        let third = limiter.reserve(1).ok().unwrap();
        assert!(limiter.reserve(1).is_err());
        third.clear();
        limiter.record(1);
        assert!(limiter.count(1).is_ok() && limiter.count(1).is_err());
        limiter.record(1);
        assert_eq!(limiter.usage().rejections, 3, "a record is never rejected");
    }

    #[test]
    fn a_count_that_was_removed_with_others_is_not_removed_again() {
        let limiter = limiter("2/1h", 10);
        let first = limiter.reserve(1).ok().unwrap();
        limiter.reserve(1).ok().unwrap().clear();
        assert_eq!((limiter.count(1), limiter.count(1)), (Ok(()), Ok(())));
        drop(first);
        assert!(limiter.count(1).is_err());
    }

    #[test]
    fn what_is_under_way_may_not_count_in_a_second() {
        let limiter = limiter("2/1h", 10);
        let [first, second] = [(); 2].map(|()| limiter.reserve(1).ok().unwrap());
        assert_eq!(limiter.count(1), Err(Refused { retry_after: 1 }));
        first.keep();
        assert_eq!(limiter.count(1), Err(Refused { retry_after: 1 }));
        second.keep();
        assert!(limiter.count(1).unwrap_err().retry_after > 1_000);
    }

    #[test]
    fn a_key_that_is_used_again_outlives_invented_keys() {
        let limiter = limiter("2/1h", 100);
        assert!((0..2).all(|_| limiter.count(1).is_ok()) && limiter.count(1).is_err());
        // A new key is counted even if all others were used again.
        for key in 2..10_000 {
            assert!((0..2).all(|_| limiter.count(key).is_ok()) && limiter.count(key).is_err());
            assert!(limiter.count(1).is_err());
        }
        assert!(limiter.usage().used <= limiter.usage().limit);
    }

    #[test]
    fn a_limit_that_is_off_rejects_nothing() {
        let limiter = limiter("off", 1);
        assert!((0..1000).all(|_| limiter.count(1).is_ok() && limiter.check(1).is_ok()));
        assert_eq!(limiter.usage().limit, 0);
    }
}
