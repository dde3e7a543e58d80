//! The stretch of time that counts, and what is tallied in it.

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
    /// First moment that counts.
    pub(crate) opens: Instant,
    /// First moment that does not.
    pub(crate) closes: Instant,
}

/// Cores kept busy, by all threads, in user and kernel mode.
#[derive(Clone, Copy, Default, Deserialize, Serialize)]
pub(crate) struct Busy {
    /// By the server.
    pub(crate) server: f64,
    /// By the load client.
    pub(crate) client: f64,
    /// By what the server calls, where it calls anything.
    pub(crate) upstream: f64,
    /// By everything else, which should be next to nothing.
    pub(crate) others: f64,
}

/// Latencies in milliseconds.
#[derive(Clone, Copy, Deserialize, Serialize)]
pub(crate) struct Latency {
    /// Half are at most this.
    pub(crate) p50: f64,
    /// 99 of 100 are.
    pub(crate) p99: f64,
    /// 999 of 1,000 are.
    pub(crate) p999: f64,
}

impl Window {
    /// Opens after `warm_up`, for `measured`.
    pub(crate) fn after(warm_up: Duration, measured: Duration) -> Self {
        let opens = Instant::now() + warm_up;
        Self { opens, closes: opens + measured }
    }

    /// Something a second, of what happened this often in the window.
    pub(crate) fn rate(self, count: u64) -> f64 {
        count as f64 / (self.closes - self.opens).as_secs_f64()
    }

    /// By how much a counter grows from when the window opens until it closes.
    pub(crate) async fn growth(self, counter: &AtomicU64) -> u64 {
        sleep_until(self.opens.into()).await;
        let before = counter.load(Relaxed);
        sleep_until(self.closes.into()).await;
        counter.load(Relaxed) - before
    }

    /// The cores kept busy from when the window opens until it closes.
    pub(crate) async fn busy(self, server: u32, upstream: Option<u32>) -> Result<Busy> {
        let spent = || -> Result<[Duration; 4]> {
            Ok([
                process::cpu(server)?,
                process::cpu(process::own())?,
                upstream.map(process::cpu_of_family).transpose()?.unwrap_or_default(),
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

/// Moments at a steady pace, whatever happens between them.
pub(crate) struct Pace {
    due: Instant,
    every: Duration,
}

impl Pace {
    /// What the `index`th of `shares` has of `rate` moments a second.
    pub(crate) fn share(start: Instant, index: u64, shares: u64, rate: u64) -> Self {
        let after = |moments: u64| Duration::from_nanos(1_000_000_000 * moments / rate);
        Self { due: start + after(index), every: after(shares) }
    }

    /// Waits for the next moment. One that has passed is not waited for, and what was due then counts from then.
    pub(crate) async fn next(&mut self) -> Instant {
        let due = self.due;
        self.due += self.every;
        if Instant::now() < due {
            sleep_until(due.into()).await;
            Instant::now()
        } else {
            due
        }
    }
}

/// Latencies of what began inside a window, however late it ended, from any number of tasks.
pub(crate) struct Tally {
    /// What counts.
    pub(crate) window: Window,
    nanoseconds: Mutex<Histogram<u64>>,
}

impl Tally {
    /// An empty one.
    pub(crate) fn new(window: Window) -> Result<Self> {
        Ok(Self {
            window,
            nanoseconds: Mutex::new(Histogram::new_with_bounds(1_000, 60_000_000_000, 3)?),
        })
    }

    /// Notes that what began then ends now; `false` once the window is closed.
    pub(crate) fn note(&self, begun: Instant) -> bool {
        let now = Instant::now();
        if begun >= self.window.opens && begun < self.window.closes {
            let nanoseconds = u64::try_from((now - begun).as_nanos()).unwrap_or(u64::MAX);
            self.nanoseconds
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .saturating_record(nanoseconds);
        }
        now < self.window.closes
    }

    /// How many a second were noted.
    pub(crate) fn rate(&self) -> f64 {
        self.window.rate(self.nanoseconds.lock().unwrap_or_else(PoisonError::into_inner).len())
    }

    /// Their percentiles.
    pub(crate) fn latency(&self) -> Latency {
        let histogram = self.nanoseconds.lock().unwrap_or_else(PoisonError::into_inner);
        let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1e6;
        Latency { p50: at(0.5), p99: at(0.99), p999: at(0.999) }
    }
}
