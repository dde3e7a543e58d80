//! Deliveries: sends the events of apps to their endpoints.
//!
//! 1. **Who delivers.** Each enabled endpoint has a holder, the replica that delivers to it
//!    ([`Store::take_webhooks`]). A replica extends what it holds every few seconds. If it ends, other
//!    replicas take its endpoints after ten seconds. Its process does not send if it could not
//!    extend for [`HOLD`].
//! 2. **One task for each endpoint** ([`endpoint`]), so that an endpoint that is slow or down delays
//!    no other one. The task reads the events of its app in their order, sends them, and records the
//!    results each second.
//! 3. **New events.** One look-up each [`LOOK_EVERY`] finds the endpoints that have new events and
//!    wakes their tasks. Only settled events count (see `store/lists.rs`), so none is missed.
//! 4. **At least once.** After a crash, the events of the last second are sent again, in their order.
//! 5. **Changes.** An endpoint that has changed has another generation. Its task ends after the
//!    deliveries in flight, and a new task reads the endpoint.
//! 6. **Epochs.** A report, a replay and a new holder begin an epoch: reports of another one are
//!    rejected. Otherwise a late report could undo a replay, or what another holder has recorded. Or
//!    the position could pass a retry that the database has forgotten in a failover.

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use common::{
    limits::{Budget, Limited, Permit},
    outage::Outage,
};
use jiff::Timestamp;
use tokio::{
    sync::{Semaphore, watch},
    task::{AbortHandle, JoinSet},
    time::{Instant, MissedTickBehavior, interval},
};
use tokio_util::sync::CancellationToken;

use crate::{
    store::{Store, StoreError, now},
    webhook::Sender,
};

mod endpoint;
mod metrics;

pub(crate) use metrics::DeliveryMetrics;

use endpoint::EndpointTask;
use payments_domain::{Event, Id};

/// The maximum number of endpoints that one process delivers to.
const MAX_ENDPOINTS: u16 = 10_000;

/// Interval in which endpoints are taken. They are also taken when a task has ended.
const TAKE_EVERY: Duration = Duration::from_secs(1);

/// How long this process delivers after [`Store::take_webhooks`]: less than the seven seconds for
/// which it holds all its endpoints then.
const HOLD: Duration = Duration::from_secs(6);

/// Interval in which new events are looked up.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// After a longer pause, all endpoints read, because it would take long to find those that have new
/// events.
const MAX_GAP: Duration = Duration::from_secs(5);

/// Maximum bytes of the bodies in flight: one budget for the first delivery of each endpoint, and
/// one for further deliveries at the same time. So endpoints that are slow leave memory for others.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// Maximum number of undelivered events in memory, of all endpoints. Each endpoint may also have
/// [`endpoint::FREE`].
const MAX_EVENTS: usize = 200_000;

/// Number of endpoints whose events are loaded and written as JSON at the same time.
const LOADS: usize = 4;

/// The job that delivers events.
pub(crate) struct Deliveries {
    shared: Arc<Shared>,
    endpoints: HashMap<Id, Running>,
    /// A permit for each task.
    permits: Arc<Budget>,
    tasks: JoinSet<()>,
    /// When endpoints were last taken.
    taken: Option<Instant>,
    /// [`Store::timeline_changes`] at that time.
    timeline_changes: u64,
    /// The last event that was looked up, and when.
    looked: Option<(Id, Instant)>,
}

/// Shared by all tasks.
struct Shared {
    store: Store,
    sender: Arc<Sender>,
    /// Writes an event as JSON.
    event_json: fn(&Event) -> Vec<u8>,
    metrics: DeliveryMetrics,
    first_bytes: Arc<Budget>,
    further_bytes: Arc<Budget>,
    events: Arc<Budget>,
    loads: Semaphore,
    outage: Outage,
    /// Until when this process may send.
    held_until: watch::Sender<Instant>,
    /// The time of the store, and when it was read.
    clock: watch::Sender<(Timestamp, Instant)>,
}

impl Shared {
    fn may_send(&self) -> bool {
        *self.held_until.borrow() > Instant::now()
    }

    /// The time of the store, so that all replicas agree when a retry is due. It goes on after a jump
    /// of the clock, so that no endpoint is given up too early.
    fn now(&self) -> Timestamp {
        let (time, read) = *self.clock.borrow();
        time.checked_add(read.elapsed()).unwrap_or(time)
    }
}

/// The task of an endpoint.
struct Running {
    /// As in [`Progress`](payments_domain::Progress).
    generation: u32,
    _permit: Permit,
    task: AbortHandle,
    /// Ends the task after the deliveries in flight.
    stop: CancellationToken,
    /// The last event that the task may read.
    readable: watch::Sender<Id>,
    /// The second of the oldest undelivered event that the task has read. 0 if there is none.
    oldest: Arc<AtomicU32>,
}

impl Deliveries {
    pub(crate) fn new(
        store: Store,
        sender: Arc<Sender>,
        event_json: fn(&Event) -> Vec<u8>,
        metrics: DeliveryMetrics,
    ) -> Self {
        let shared = Shared {
            store,
            sender,
            event_json,
            metrics,
            first_bytes: Budget::new("webhook_first_bytes", MAX_BYTES),
            further_bytes: Budget::new("webhook_further_bytes", MAX_BYTES),
            events: Budget::new("webhook_events", MAX_EVENTS),
            loads: Semaphore::new(LOADS),
            outage: Outage::of("delivering events"),
            held_until: watch::Sender::new(Instant::now()),
            clock: watch::Sender::new((now(), Instant::now())),
        };
        Self {
            shared: Arc::new(shared),
            endpoints: HashMap::new(),
            permits: Budget::new("webhooks", MAX_ENDPOINTS.into()),
            tasks: JoinSet::new(),
            taken: None,
            timeline_changes: 0,
            looked: None,
        }
    }

    /// The budgets, for the metrics.
    pub(crate) fn limits(&self) -> [Arc<dyn Limited>; 4] {
        let Shared { first_bytes, further_bytes, events, .. } = &*self.shared;
        [&self.permits, events, first_bytes, further_bytes].map(|budget| Arc::clone(budget) as _)
    }

    /// Delivers until `stop` is cancelled. The job then waits for the deliveries in flight and
    /// records them, so that they are not repeated.
    pub(crate) fn start(mut self, stop: CancellationToken) -> JoinSet<()> {
        let mut job = JoinSet::new();
        job.spawn(async move {
            let mut ticks = interval(LOOK_EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let rounds = async {
                loop {
                    ticks.tick().await;
                    let round = self.round().await;
                    self.shared.outage.observe(round);
                }
            };
            // A round can take long if the database is unreachable.
            let _: Option<Infallible> = stop.run_until_cancelled(rounds).await;
            self.endpoints.values().for_each(|running| running.stop.cancel());
            while self.tasks.join_next().await.is_some() {}
        });
        job
    }

    async fn round(&mut self) -> Result<(), StoreError> {
        // The task of an endpoint that has changed ends, and the next one must begin soon.
        let has_ended = self.tasks.try_join_next().is_some();
        if has_ended || self.taken.is_none_or(|taken| taken.elapsed() >= TAKE_EVERY) {
            self.take().await?;
        }
        if self.endpoints.is_empty() {
            self.looked = None;
            return Ok(());
        }
        self.look().await
    }

    /// Takes endpoints, and starts and ends tasks.
    async fn take(&mut self) -> Result<(), StoreError> {
        let begun = Instant::now();
        let timeline_changes = self.shared.store.timeline_changes();
        let taken = self.shared.store.take_webhooks(MAX_ENDPOINTS).await?;
        if let Some(now) = self.shared.store.job_time().await? {
            self.shared.clock.send_replace((now, Instant::now()));
        }
        self.shared.held_until.send_replace(begun.checked_add(HOLD).unwrap_or(begun));

        let taken: HashMap<Id, u32> = taken.into_iter().collect();
        // The database may have forgotten what a task has recorded.
        let is_valid = timeline_changes == self.timeline_changes;
        for (id, running) in &self.endpoints {
            if !is_valid || taken.get(id) != Some(&running.generation) {
                running.stop.cancel();
            }
        }
        if !is_valid {
            // New events can have smaller IDs.
            self.looked = None;
        }
        while self.tasks.try_join_next().is_some() {}
        self.endpoints.retain(|_, running| !running.task.is_finished());
        if taken.keys().any(|id| !self.endpoints.contains_key(id)) {
            let readable = self.shared.store.last_event().await?;
            for (id, generation) in taken {
                if !self.endpoints.contains_key(&id)
                    && let Some(permit) = self.permits.take(1)
                {
                    self.start_task(id, generation, permit, readable);
                }
            }
        }
        self.set_metrics();
        (self.taken, self.timeline_changes) = (Some(begun), timeline_changes);
        Ok(())
    }

    fn start_task(&mut self, id: Id, generation: u32, permit: Permit, last_event: Id) {
        let (stop, oldest) = (CancellationToken::new(), Arc::new(AtomicU32::new(0)));
        let (readable, may_read) = watch::channel(last_event);
        let (shared, stopped) = (Arc::clone(&self.shared), stop.clone());
        let reported = Arc::clone(&oldest);
        let task = self.tasks.spawn(async move {
            let load = EndpointTask::load(Arc::clone(&shared), id, may_read, reported);
            match stopped.run_until_cancelled(load).await {
                Some(Ok(Some(task))) => task.run(stopped).await,
                Some(Ok(None)) | None => {}
                Some(Err(error)) => shared.outage.failed(error),
            }
        });
        let running = Running { generation, _permit: permit, task, stop, readable, oldest };
        self.endpoints.insert(id, running);
    }

    fn set_metrics(&self) {
        let oldest = self.endpoints.values().map(|running| running.oldest.load(Ordering::Relaxed));
        let oldest = oldest.filter(|second| *second > 0).min();
        let now = self.shared.now().as_second();
        let age = oldest.map_or(0, |second| now.saturating_sub(second.into()));
        self.shared.metrics.set_oldest(age.max(0));
    }

    /// Wakes the tasks that have new events.
    async fn look(&mut self) -> Result<(), StoreError> {
        let store = &self.shared.store;
        let begun = Instant::now();
        let last = store.last_event().await?;
        let known = self.looked.filter(|(_, looked)| looked.elapsed() < MAX_GAP);
        match known {
            Some((known, _)) if known >= last => {}
            Some((known, _)) => {
                for id in store.webhooks_with_events([known, last]).await? {
                    if let Some(running) = self.endpoints.get(&id) {
                        running.readable.send_replace(last);
                    }
                }
            }
            None => self.endpoints.values().for_each(|running| {
                running.readable.send_replace(last);
            }),
        }
        self.looked = Some((last, begun));
        Ok(())
    }
}
