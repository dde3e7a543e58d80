//! The stretch of time that counts, and what is tallied in it.

use std::{
    sync::{Mutex, PoisonError},
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

    /// Waits for the window to open and to close; `count` is read at both moments. Gives the counted per second and the cores kept busy.
    pub(crate) async fn observe(self, server: u32, count: impl Fn() -> u64) -> Result<(f64, Busy)> {
        sleep_until(self.opens.into()).await;
        let (begun, counted) = (Instant::now(), count());
        let before = (process::cpu(server)?, process::cpu(process::own())?);
        sleep_until(self.closes.into()).await;
        let (seconds, counted) = (begun.elapsed().as_secs_f64(), count() - counted);
        let after = (process::cpu(server)?, process::cpu(process::own())?);
        let cores = |before: Duration, after: Duration| {
            after.saturating_sub(before).as_secs_f64() / seconds
        };
        Ok((
            counted as f64 / seconds,
            Busy { server: cores(before.0, after.0), client: cores(before.1, after.1) },
        ))
    }
}

/// Latencies of what ended inside a window, from any number of tasks.
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
        if now >= self.window.opens && now < self.window.closes {
            let nanoseconds = u64::try_from((now - begun).as_nanos()).unwrap_or(u64::MAX);
            self.nanoseconds
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .saturating_record(nanoseconds);
        }
        now < self.window.closes
    }

    /// How many were noted.
    pub(crate) fn count(&self) -> u64 {
        self.nanoseconds.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Their percentiles.
    pub(crate) fn latency(&self) -> Latency {
        let histogram = self.nanoseconds.lock().unwrap_or_else(PoisonError::into_inner);
        let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1e6;
        Latency { p50: at(0.5), p99: at(0.99), p999: at(0.999) }
    }
}
