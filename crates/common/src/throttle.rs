//! Limits how often a frequent event is reported.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// Allows one report per period.
#[derive(Debug)]
pub struct Throttle {
    period: Duration,
    started: Instant,
    /// Milliseconds from `started` until the next report is allowed.
    next: AtomicU64,
}

impl Throttle {
    /// Allows the first report immediately, and then one per `period`.
    pub fn new(period: Duration) -> Self {
        Self { period, started: Instant::now(), next: AtomicU64::new(0) }
    }

    /// Returns whether a report is allowed. If so, the next period begins.
    pub fn try_acquire(&self) -> bool {
        let now = millis(self.started.elapsed());
        let next = self.next.load(Ordering::Relaxed);
        let later = now.saturating_add(millis(self.period));
        now >= next
            && self.next.compare_exchange(next, later, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_report_is_allowed_per_period() {
        let throttle = Throttle::new(Duration::from_secs(3600));
        assert!(throttle.try_acquire());
        assert!(!throttle.try_acquire());
        assert!(Throttle::new(Duration::ZERO).try_acquire());
    }
}
