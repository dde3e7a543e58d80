//! The period of a round that is measured, and the measurements in it.

use std::{
    fs,
    os::unix::process::parent_id,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use hdrhistogram::Histogram;
use tokio::time::sleep_until;

use crate::report::{Latency, Round};

/// From the end of the warm-up to the end of the round.
#[derive(Clone, Copy)]
pub(crate) struct Window {
    /// Inclusive.
    opens: Instant,
    /// Exclusive.
    pub(crate) closes: Instant,
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

    /// Waits until the window closes. Returns how many cores were busy with anything else than the
    /// process that started this load client, and all that it started.
    pub(crate) async fn others(self) -> Result<f64> {
        let ticks =
            || Ok::<_, anyhow::Error>(of_machine()?.saturating_sub(of_family(parent_id())?));
        sleep_until(self.opens.into()).await;
        let (opened, before) = (Instant::now(), ticks()?);
        sleep_until(self.closes.into()).await;
        let seconds = ticks()?.saturating_sub(before) as f64 / TICKS_PER_SECOND;
        Ok(seconds / opened.elapsed().as_secs_f64())
    }
}

/// Of the times in `/proc`.
const TICKS_PER_SECOND: f64 = 100.0;

/// Processor time of everything on this machine, including the time that the hypervisor gave to
/// other machines (steal).
fn of_machine() -> Result<u64> {
    let text = fs::read_to_string("/proc/stat")?;
    let total = text.lines().next().and_then(|line| line.strip_prefix("cpu "));
    // user, nice, system, idle, iowait, irq, softirq, steal
    let fields = total.context("no line \"cpu\" in /proc/stat")?.split_whitespace();
    sum(fields.clone().take(3).chain(fields.skip(5).take(3)))
}

/// Processor time of a process, of its ended children, and of its children and theirs.
fn of_family(pid: u32) -> Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The second field is the name in parentheses, which can contain any character. The times begin
    // with the 14th field.
    let (_, fields) = text.rsplit_once(") ").context("no process name in /proc/<pid>/stat")?;
    let mut ticks = sum(fields.split(' ').skip(11).take(4))?;
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    for child in children.split_whitespace() {
        // A child that has just ended is included in the times of its parent.
        ticks += of_family(child.parse()?).unwrap_or_default();
    }
    Ok(ticks)
}

fn sum<'a>(mut fields: impl Iterator<Item = &'a str>) -> Result<u64> {
    Ok(fields.try_fold(0, |sum, field| field.parse::<u64>().map(|ticks| sum + ticks))?)
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
        let nanoseconds = Mutex::new(Histogram::new_with_bounds(1_000, 60_000_000_000, 3)?);
        Ok(Self { window, nanoseconds })
    }

    /// Records the end of a request that began at `start`, if that is in the window. Returns
    /// `false` once the window is closed.
    pub(crate) fn note(&self, start: Instant) -> bool {
        let now = Instant::now();
        if start >= self.window.opens && start < self.window.closes {
            let nanoseconds = u64::try_from((now - start).as_nanos()).unwrap_or(u64::MAX);
            self.histogram().saturating_record(nanoseconds);
        }
        now < self.window.closes
    }

    /// The rate and the latency of what is recorded.
    pub(crate) fn round(&self, others: f64) -> Round {
        let histogram = self.histogram();
        let latency = Some(Latency::of(&histogram, 1e6));
        Round { rate: self.window.rate(histogram.len()), latency, others }
    }

    fn histogram(&self) -> MutexGuard<'_, Histogram<u64>> {
        self.nanoseconds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
