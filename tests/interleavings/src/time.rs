//! Time that passes only when a task sleeps: a run depends on its schedule, and on no clock.
//!
//! A sleep ends as soon as the scheduler chooses its task, and moves the clock to its end.

use std::{cell::Cell, ops::Add, time::Duration};

pub use shuttle_tokio::time::{MissedTickBehavior, timeout};

use shuttle_tokio::{task::yield_now, time};

thread_local! {
    /// Never zero: a deadline after [`Duration::MAX`] is out of range, so it is none.
    static NOW: Cell<Duration> = const { Cell::new(Duration::from_secs(1)) };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(Duration);

impl Instant {
    pub fn now() -> Self {
        Self(NOW.get())
    }

    pub fn duration_since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    pub fn elapsed(self) -> Duration {
        Self::now().duration_since(self)
    }

    pub fn checked_add(self, duration: Duration) -> Option<Self> {
        self.0.checked_add(duration).map(Self)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0 + duration)
    }
}

pub async fn sleep(duration: Duration) {
    sleep_until(Instant::now() + duration).await;
}

pub async fn sleep_until(instant: Instant) {
    yield_now().await;
    NOW.set(NOW.get().max(instant.0));
}

/// An interval that never ticks.
pub fn interval(period: Duration) -> time::Interval {
    let mut interval = time::interval(period);
    interval.disable();
    interval
}
