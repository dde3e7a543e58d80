//! Counted limits on shared resources, such as bytes of memory.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;

use super::{Limited, Rejections, Usage, widen};

/// [`Budget::hold`] does not count buffers up to this size in bytes, because the limit of
/// connections covers them.
const FREE_BYTES: usize = 16 * 1024;

/// A limited amount of bytes, or of another unit.
#[derive(Debug)]
pub struct Budget {
    name: &'static str,
    limit: usize,
    used: AtomicUsize,
    rejections: Rejections,
}

/// A part of a [`Budget`]. Dropping it returns the amount.
#[derive(Debug)]
pub struct Permit {
    budget: Arc<Budget>,
    amount: usize,
}

impl Budget {
    /// Creates a budget of `limit` units. `name` is its label in the metrics.
    pub fn new(name: &'static str, limit: usize) -> Arc<Self> {
        Arc::new(Self { name, limit, used: AtomicUsize::new(0), rejections: Rejections::new() })
    }

    /// Takes `amount`. If less is left, counts a rejection and returns `None`.
    pub fn take(self: &Arc<Self>, amount: usize) -> Option<Permit> {
        let mut permit = Permit { budget: Arc::clone(self), amount: 0 };
        permit.raise_to(amount).then_some(permit)
    }

    /// Counts `bytes` until the last copy of the result is dropped: for a response, until it is
    /// written to the socket. Short buffers are not counted. `None` if too little is left.
    pub fn hold(self: &Arc<Self>, bytes: Vec<u8>) -> Option<Bytes> {
        if bytes.len() <= FREE_BYTES { Some(bytes.into()) } else { self.count(bytes) }
    }

    /// As [`Budget::hold`], but also counts short buffers: many may wait for one client.
    pub fn count(self: &Arc<Self>, bytes: Vec<u8>) -> Option<Bytes> {
        let permit = self.take(bytes.capacity())?;
        Some(Bytes::from_owner(Held { bytes, _permit: permit }))
    }

    /// Raises `permit` to `amount`, or takes a new one. False if too little is left.
    pub fn grow(self: &Arc<Self>, permit: &mut Option<Permit>, amount: usize) -> bool {
        if let Some(permit) = permit {
            return permit.raise_to(amount);
        }
        *permit = self.take(amount);
        permit.is_some()
    }
}

impl Permit {
    /// Makes this a permit for `amount`. If too little is left, counts a rejection, changes nothing
    /// and returns false.
    pub fn resize(&mut self, amount: usize) -> bool {
        let less = self.amount.saturating_sub(amount);
        self.budget.used.fetch_sub(less, Ordering::Relaxed);
        self.amount -= less;
        self.raise_to(amount)
    }

    /// Raises this permit to `amount`. If too little is left, counts a rejection, changes nothing
    /// and returns false.
    fn raise_to(&mut self, amount: usize) -> bool {
        let more = amount.saturating_sub(self.amount);
        let Budget { name, limit, used, rejections } = &*self.budget;
        let granted = |used: usize| used.checked_add(more).filter(|sum| sum <= limit);
        let is_granted = used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, granted).is_ok();
        if is_granted {
            self.amount += more;
        } else {
            rejections.add(name);
        }
        is_granted
    }
}

/// Bytes with their permit.
struct Held {
    bytes: Vec<u8>,
    _permit: Permit,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.amount, Ordering::Relaxed);
    }
}

impl Limited for Budget {
    fn usage(&self) -> Usage {
        Usage {
            name: self.name,
            used: widen(self.used.load(Ordering::Relaxed)),
            limit: widen(self.limit),
            rejections: self.rejections.get(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_never_exceeded_and_dropped_permits_are_reused() {
        let budget = Budget::new("test", 100);
        let mut first = budget.take(60).unwrap();
        assert!(budget.take(41).is_none());
        assert!(first.raise_to(100) && first.raise_to(10));
        assert!(!first.raise_to(101));
        assert_eq!((budget.usage().used, budget.usage().rejections), (100, 2));
        assert!(first.resize(30) && !first.resize(101));
        assert_eq!((budget.usage().used, budget.usage().rejections), (30, 3));
        drop(first);
        assert_eq!(budget.usage().used, 0);
        assert!(budget.take(100).is_some());
    }

    #[test]
    fn bytes_count_until_their_last_copy_is_dropped() {
        let budget = Budget::new("test", 2 * FREE_BYTES);
        let short = budget.hold(vec![0; FREE_BYTES]).unwrap();
        assert_eq!((short.len(), budget.usage().used), (FREE_BYTES, 0));
        let long = budget.hold(vec![0; FREE_BYTES + 1]).unwrap();
        assert!(budget.hold(vec![0; FREE_BYTES + 1]).is_none());
        let copy = long.slice(1..2);
        drop(long);
        assert!(budget.usage().used > 0);
        drop(copy);
        assert_eq!(budget.usage().used, 0);
    }
}
