//! The period of a round that is measured, and the measurements in it.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use anyhow::Result;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use tokio::time::sleep_until;

use crate::process;

/// From the end of the warm-up to the end of the round.
#[derive(Clone, Copy)]
pub(crate) struct Window {
    /// Inclusive.
    pub(crate) opens: Instant,
    /// Exclusive.
    pub(crate) closes: Instant,
}

/// Processor time divided by elapsed time, that is, the number of busy cores. Includes all threads,
/// in user and kernel mode.
#[derive(Clone, Copy, Default, Deserialize, Serialize)]
pub(crate) struct Busy {
    pub(crate) server: f64,
    /// The load client.
    pub(crate) client: f64,
    /// The processes that the server calls, with their children. 0 if there are none.
    pub(crate) upstream: f64,
    /// Everything else on the machine. It should be close to 0.
    pub(crate) others: f64,
}

/// Latencies in milliseconds.
#[derive(Clone, Copy, Deserialize, Serialize)]
pub(crate) struct Latency {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    /// The 99.9th percentile.
    pub(crate) p999: f64,
}

impl Window {
    /// A window that opens after `warm_up` and closes `measured` later.
    pub(crate) fn after(warm_up: Duration, measured: Duration) -> Self {
        let opens = Instant::now() + warm_up;
        Self { opens, closes: opens + measured }
    }

    /// Converts a count of events in the window to events per second.
    pub(crate) fn rate(self, count: u64) -> f64 {
        count as f64 / (self.closes - self.opens).as_secs_f64()
    }

    /// Waits until the window closes. Returns the growth of a counter in the window.
    pub(crate) async fn growth(self, counter: &AtomicU64) -> u64 {
        sleep_until(self.opens.into()).await;
        let before = counter.load(Relaxed);
        sleep_until(self.closes.into()).await;
        counter.load(Relaxed) - before
    }

    /// Waits until the window closes. Returns the busy cores in the window.
    pub(crate) async fn busy(self, server: u32, upstream: &[u32]) -> Result<Busy> {
        let spent = || -> Result<[Duration; 4]> {
            let upstream = upstream.iter().map(|&pid| process::cpu_of_family(pid));
            Ok([
                process::cpu(server)?,
                process::cpu(std::process::id())?,
                upstream.sum::<Result<_>>()?,
                process::machine_cpu()?,
            ])
        };
        sleep_until(self.opens.into()).await;
        let (opened, before) = (Instant::now(), spent()?);
        sleep_until(self.closes.into()).await;
        let (seconds, after) = (opened.elapsed().as_secs_f64(), spent()?);
        let cores = |of: usize| after[of].saturating_sub(before[of]).as_secs_f64() / seconds;
        let (server, client, upstream) = (cores(0), cores(1), cores(2));
        let others = (cores(3) - server - client - upstream).max(0.0);
        Ok(Busy { server, client, upstream, others })
    }
}

/// The schedule of one connection at a steady rate.
pub(crate) struct Pace {
    due: Instant,
    interval: Duration,
}

impl Pace {
    /// The schedule of connection `index` of `shares`, which together send `rate` requests per
    /// second. The connections take turns.
    pub(crate) fn share(start: Instant, index: u64, shares: u64, rate: u64) -> Self {
        let after = |requests: u64| Duration::from_nanos(1_000_000_000 * requests / rate);
        Self { due: start + after(index), interval: after(shares) }
    }

    /// Waits until the next request is due. Returns the start of its latency: the current time or,
    /// if the request is late, the time when it was due.
    pub(crate) async fn next(&mut self) -> Instant {
        let due = self.due;
        self.due += self.interval;
        if Instant::now() < due {
            sleep_until(due.into()).await;
            Instant::now()
        } else {
            due
        }
    }
}

/// Latencies of the requests that started inside a window, even if they ended after it. Tasks can
/// share it.
pub(crate) struct Tally {
    pub(crate) window: Window,
    nanoseconds: Mutex<Histogram<u64>>,
}

impl Tally {
    pub(crate) fn new(window: Window) -> Result<Self> {
        Ok(Self {
            window,
            nanoseconds: Mutex::new(Histogram::new_with_bounds(1_000, 60_000_000_000, 3)?),
        })
    }

    /// Records the end of a request that began at `start`, if that is in the window. Returns
    /// `false` once the window is closed.
    pub(crate) fn note(&self, start: Instant) -> bool {
        let now = Instant::now();
        if start >= self.window.opens && start < self.window.closes {
            let nanoseconds = u64::try_from((now - start).as_nanos()).unwrap_or(u64::MAX);
            self.nanoseconds
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .saturating_record(nanoseconds);
        }
        now < self.window.closes
    }

    /// Recorded requests per second.
    pub(crate) fn rate(&self) -> f64 {
        self.window.rate(self.nanoseconds.lock().unwrap_or_else(PoisonError::into_inner).len())
    }

    pub(crate) fn latency(&self) -> Latency {
        let histogram = self.nanoseconds.lock().unwrap_or_else(PoisonError::into_inner);
        let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1e6;
        Latency { p50: at(0.5), p99: at(0.99), p999: at(0.999) }
    }
}
