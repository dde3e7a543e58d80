//! Something that may happen often and be reported seldom.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// Says yes at most once in a period.
#[derive(Debug)]
pub(crate) struct Throttle {
    period: Duration,
    started: Instant,
    /// Milliseconds from `started` until the next yes.
    next: AtomicU64,
}

impl Throttle {
    /// One that says yes at once, and then once in a `period`.
    pub(crate) fn new(period: Duration) -> Self {
        Self { period, started: Instant::now(), next: AtomicU64::new(0) }
    }

    /// Whether a period has passed since the last yes.
    pub(crate) fn is_due(&self) -> bool {
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
    fn says_yes_once_in_a_period() {
        let throttle = Throttle::new(Duration::from_secs(3600));
        assert!(throttle.is_due());
        assert!(!throttle.is_due());
        assert!(Throttle::new(Duration::ZERO).is_due());
    }
}
