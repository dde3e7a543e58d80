//! The loop that runs batches.

use std::{future::pending, sync::Arc, time::Duration};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{
    Engine, Job, WriteError,
    attempt::{Ended, run},
    stats::Counters,
    waiting::Waiting,
};

/// Interval at which an idle engine is asked for own work.
const TICK: Duration = Duration::from_secs(1);

/// Executes the writes of a [`Queue`](super::Queue).
pub struct Runner<E: Engine> {
    engine: E,
    jobs: mpsc::UnboundedReceiver<Job<E>>,
    counters: Arc<Counters>,
    stop: CancellationToken,
}

impl<E: Engine> Runner<E> {
    pub(super) fn new(
        engine: E,
        jobs: mpsc::UnboundedReceiver<Job<E>>,
        counters: Arc<Counters>,
        stop: CancellationToken,
    ) -> Self {
        Self { engine, jobs, counters, stop }
    }

    /// Runs batches until [`Queue::stop`](super::Queue::stop) is called or every queue is dropped.
    /// Then executes all pending writes and the engine's own work, and returns the engine.
    pub async fn run(mut self) -> E {
        let (engine, counters) = (&self.engine, &*self.counters);
        let mut waiting = Waiting::new();
        let mut running = FuturesUnordered::new();
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut is_open, mut found_lock) = (true, None);
        loop {
            let now = Instant::now();
            waiting.end_delays(now);
            for job in waiting.take_overdue(now) {
                let is_locked = job.is_locked || found_lock.is_some_and(|at| at >= job.queued);
                if is_locked {
                    engine.locked();
                }
                let error = if is_locked { WriteError::Locked } else { WriteError::Overloaded };
                job.answer(Err(error));
            }
            while waiting.may_start(running.len(), now) {
                let mut batch = waiting.gather();
                if batch.is_empty() {
                    break;
                }
                batch.extend(own_work(engine, false));
                running.push(run(engine, batch, counters));
            }
            let is_idle = running.is_empty() && waiting.is_empty();
            if is_idle && !is_open {
                break;
            }
            let wake_at = waiting.wake_at(running.len());
            tokio::select! {
                biased;
                Some(ended) = running.next() => {
                    let now = Instant::now();
                    if ended.found_lock {
                        found_lock = Some(now);
                    }
                    let Ended { lock_keys, bytes, locked, .. } = ended;
                    waiting.ended(&lock_keys, locked, now);
                    engine.after_batch(bytes);
                    while let Ok(job) = self.jobs.try_recv() {
                        waiting.add(job);
                    }
                }
                job = self.jobs.recv(), if is_open => match job {
                    Some(job) => {
                        waiting.add(job);
                        while let Ok(job) = self.jobs.try_recv() {
                            waiting.add(job);
                        }
                    }
                    None => is_open = false,
                },
                () = self.stop.cancelled(), if !self.jobs.is_closed() => self.jobs.close(),
                () = sleep_until_some(wake_at) => {}
                _ = ticks.tick(), if is_idle => {
                    let own_work = own_work(engine, true);
                    running.extend(own_work.map(|job| run(engine, vec![job], counters)));
                    engine.idle();
                }
            }
        }
        drop(running);
        while let Some(job) = own_work(engine, true)
            && run(engine, vec![job], counters).await.is_written
        {}
        self.engine
    }
}

fn own_work<E: Engine>(engine: &E, is_idle: bool) -> Option<Job<E>> {
    let write = engine.own_work(is_idle)?;
    let cost = E::cost(&write);
    Some(Job::new(write, cost))
}

async fn sleep_until_some(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => pending().await,
    }
}
