//! The deliveries to one endpoint.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use common::{
    limits::{Budget, Permit},
    telemetry::{Trace, trace},
};
use jiff::Timestamp;
use payments_domain::{
    Actor, DeliveryAttempt, DeliveryReport, DisableReason, Event, Id, MAX_RECORDED_ATTEMPTS,
    Undelivered, Webhook, WebhookSecrets, actions::RecordDeliveries,
};
use tokio::{
    sync::watch,
    task::{JoinError, JoinSet},
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::Shared;
use crate::{
    store::{Endpoint, StoreError},
    webhook::{Attempt, Message},
};

/// The maximum number of events that are read at once.
const PAGE: u16 = 100;

/// The number of undelivered events for which an endpoint needs no permit. So it continues if
/// others, whose deliveries fail, use the memory for days.
pub(super) const FREE: usize = 200;

/// The first value of [`EndpointTask::slice`]. It doubles if it contains few events of the app.
const FIRST_SLICE: u32 = 1000;

/// The greatest value of [`EndpointTask::slice`].
const MAX_SLICE: u32 = 1_000_000;

/// The delay until results are recorded. After a crash, the deliveries of this time are repeated.
const RECORD_AFTER: Duration = Duration::from_secs(1);

/// Pause after an error of the store, and while there is no memory for the next body or page.
const PAUSE: Duration = Duration::from_secs(1);

/// The longest wait. A task without work is woken earlier if there is any.
const LOOK_AGAIN: Duration = Duration::from_mins(1);

/// The least number of bytes that a delivery takes from the budget: it also needs a socket.
const DELIVERY_BYTES: usize = 16 * 1024;

pub(super) struct EndpointTask {
    shared: Arc<Shared>,
    webhook: Webhook,
    secrets: Arc<WebhookSecrets>,
    generation: u32,
    epoch: u32,
    /// [`crate::store::Store::timeline_changes`] before the endpoint was loaded.
    timeline_changes: u64,
    undelivered: Undelivered,
    /// For the undelivered events beyond [`FREE`].
    permit: Option<Permit>,
    /// The number of events of all apps that are searched for those of this app at once. A page
    /// reads up to three pages of each merchant in its range, so the range must be short.
    slice: u32,
    /// The last event that may be read.
    readable: watch::Receiver<Id>,
    in_flight: JoinSet<Sent>,
    /// Attempts that are not recorded yet: the last ones.
    attempts: VecDeque<DeliveryAttempt>,
    recorded_position: Id,
    /// `None` if there is nothing to record.
    record_at: Option<Instant>,
    disables: Option<DisableReason>,
    /// Until then, nothing is read and sent. Deliveries use the store for at most half of the time,
    /// so that they leave it to requests. Meanwhile, deliveries in flight end, and the next load has
    /// more events, which costs less for each.
    rest_until: Instant,
    /// Whether the next body or page found no memory.
    is_short_of_memory: bool,
    /// For the metrics: see [`super::Running`].
    oldest: Arc<AtomicU32>,
}

/// A delivery that has ended.
struct Sent {
    event: Id,
    begun: Timestamp,
    attempt: Attempt,
}

/// The next thing that a task does.
enum Next {
    WaitUntil(Instant),
    End,
}

impl EndpointTask {
    /// Waits until there is memory for the retries. `None` if the endpoint is disabled or deleted.
    pub(super) async fn load(
        shared: Arc<Shared>,
        id: Id,
        readable: watch::Receiver<Id>,
        oldest: Arc<AtomicU32>,
    ) -> Result<Option<Self>, StoreError> {
        let timeline_changes = shared.store.timeline_changes();
        let permit = loop {
            let retries = shared.store.retries(id).await?;
            let mut permit = None;
            if has_memory(&shared.events, &mut permit, retries) {
                break permit;
            }
            sleep(PAUSE).await;
        };
        let endpoint = shared.store.endpoint(id).await?;
        Ok(endpoint.map(|Endpoint { webhook, secrets, progress, retries }| Self {
            shared,
            webhook,
            secrets: Arc::new(secrets),
            generation: progress.generation,
            epoch: progress.epoch,
            timeline_changes,
            undelivered: Undelivered::new(progress.position, &retries, progress.paused_until),
            permit,
            slice: FIRST_SLICE,
            readable,
            in_flight: JoinSet::new(),
            attempts: VecDeque::new(),
            recorded_position: progress.position,
            record_at: None,
            disables: None,
            rest_until: Instant::now(),
            is_short_of_memory: false,
            oldest,
        }))
    }

    /// Delivers until `stop` is cancelled, or the endpoint changes.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        loop {
            let is_stopping = stop.is_cancelled();
            let until = match self.step(is_stopping).await {
                Ok(Next::WaitUntil(until)) => until,
                Ok(Next::End) => return,
                Err(error) => {
                    self.shared.outage.failed(error);
                    if is_stopping && self.in_flight.is_empty() {
                        return;
                    }
                    after(PAUSE)
                }
            };
            let oldest = self.undelivered.oldest().map_or(0, Id::second);
            self.oldest.store(oldest, Ordering::Relaxed);
            let ended = tokio::select! {
                Some(ended) = self.in_flight.join_next() => Some(ended),
                Ok(()) = self.readable.changed(), if !is_stopping => None,
                () = sleep_until(until) => None,
                () = stop.cancelled(), if !is_stopping => None,
            };
            let mut ended = ended;
            while let Some(sent) = ended {
                if self.finish(sent).is_err() {
                    // A delivery panicked. The next task begins with what is recorded.
                    return;
                }
                ended = self.in_flight.try_join_next();
            }
        }
    }

    /// Records, reads and sends as far as possible without waiting for deliveries.
    async fn step(&mut self, is_stopping: bool) -> Result<Next, StoreError> {
        if self.has_lost_events() {
            return Ok(Next::End);
        }
        let is_last = is_stopping && self.in_flight.is_empty();
        let is_due = self.record_at.is_some_and(|at| at <= Instant::now());
        if (is_due || is_last || self.disables.is_some()) && !self.record().await? {
            return Ok(Next::End);
        }
        if is_last {
            return Ok(Next::End);
        }
        if is_stopping {
            return Ok(Next::WaitUntil(after(PAUSE)));
        }
        if !self.shared.may_send() {
            return Ok(Next::WaitUntil(after(PAUSE)));
        }
        let begun = Instant::now();
        if begun < self.rest_until {
            return Ok(Next::WaitUntil(self.rest_until));
        }
        self.read().await?;
        while self.send().await? {}
        self.rest_until = after(begun.elapsed());
        Ok(Next::WaitUntil(self.wake_at()))
    }

    /// Whether the database may have lost events that were read, or reports. Then later events can
    /// have lower IDs, so only a new task delivers them in their order.
    fn has_lost_events(&self) -> bool {
        self.shared.store.timeline_changes() != self.timeline_changes
    }

    /// The time of the next work that no event starts.
    fn wake_at(&self) -> Instant {
        if self.can_read() && !self.is_short_of_memory {
            return Instant::now();
        }
        let due = self.undelivered.next_due().map(|due| {
            let wait = due.duration_since(self.shared.now());
            after(Duration::try_from(wait).unwrap_or_default().max(Duration::from_millis(1)))
        });
        let retry = if self.is_short_of_memory { Some(after(PAUSE)) } else { due };
        let times = [self.record_at, retry];
        times.into_iter().flatten().min().unwrap_or_else(|| after(LOOK_AGAIN))
    }

    fn can_read(&self) -> bool {
        self.undelivered.has_room(self.shared.now())
            && *self.readable.borrow() > self.undelivered.read_to()
    }

    async fn read(&mut self) -> Result<(), StoreError> {
        self.is_short_of_memory = self.can_read() && !self.has_memory_for_page();
        if !self.can_read() || self.is_short_of_memory {
            return Ok(());
        }
        let store = &self.shared.store;
        let (after, to) = (self.undelivered.read_to(), *self.readable.borrow_and_update());
        let (app, end) = (self.webhook.app, store.event_after([after, to], self.slice).await?);
        // After a long time, most apps have none at all.
        if end.is_some() && store.new_events(app, [after, to], 1).await?.is_empty() {
            self.undelivered.read(to, None);
            self.record_soon();
            return Ok(());
        }
        let to = end.unwrap_or(to);
        let events = store.new_events(app, [after, to], PAGE).await?;
        let is_last_page = events.len() < usize::from(PAGE);
        if !is_last_page {
            self.slice = (self.slice / 2).max(PAGE.into());
        } else if events.len() < usize::from(PAGE / 2) {
            self.slice = self.slice.saturating_mul(2).min(MAX_SLICE);
        }
        let types = &self.webhook.details.types;
        for event in events {
            let transaction = event.fact.transaction().copied();
            let wanted = types.contains(event.event_type).then_some(transaction);
            self.undelivered.read(event.id, wanted);
        }
        if is_last_page {
            self.undelivered.read(to, None);
        }
        self.record_soon();
        Ok(())
    }

    fn has_memory_for_page(&mut self) -> bool {
        let events = self.undelivered.count().saturating_add(PAGE.into());
        has_memory(&self.shared.events, &mut self.permit, events)
    }

    fn record_soon(&mut self) {
        self.record_at.get_or_insert_with(|| after(RECORD_AFTER));
    }

    /// Starts deliveries. Returns whether further ones can be started at once.
    async fn send(&mut self) -> Result<bool, StoreError> {
        let sendable = self.undelivered.sendable(self.shared.now());
        if sendable.is_empty() {
            return Ok(false);
        }
        let shared = Arc::clone(&self.shared);
        let Ok(_load) = shared.loads.acquire().await else { return Ok(false) };
        let mut has_skipped = false;
        let events = shared.store.events_by_id(self.webhook.app, &sendable).await?;
        if self.has_lost_events() {
            return Ok(false);
        }
        let mut events = events.into_iter().peekable();
        for id in sendable {
            let event = events.next_if(|event| event.id == id);
            let types = &self.webhook.details.types;
            let Some(event) = event.filter(|event| types.contains(event.event_type)) else {
                // It is older than the retention, the app has left its merchant, or a change of the
                // webhook has removed its type.
                self.undelivered.finish(id);
                self.record_soon();
                has_skipped = true;
                continue;
            };
            let body = Bytes::from((shared.event_json)(&event));
            let Some(permit) = self.permit(body.len()) else {
                self.is_short_of_memory = true;
                break;
            };
            self.undelivered.sent(id);
            self.start(&event, body, permit);
        }
        Ok(has_skipped && !self.is_short_of_memory)
    }

    fn permit(&self, bytes: usize) -> Option<Permit> {
        let Shared { first_bytes, further_bytes, .. } = &*self.shared;
        let budget = if self.in_flight.is_empty() { first_bytes } else { further_bytes };
        budget.take(bytes.max(DELIVERY_BYTES))
    }

    fn start(&mut self, event: &Event, body: Bytes, permit: Permit) {
        let (shared, secrets) = (Arc::clone(&self.shared), Arc::clone(&self.secrets));
        let url = self.webhook.details.url.clone();
        let (event, trace) = (event.id, event.trace.map(Trace::from_bytes));
        let message = Message { id: event.to_string(), body };
        self.in_flight.spawn(trace::scope(trace, async move {
            let _permit = permit;
            let begun = shared.now();
            let attempt = shared.sender.send(&url, (&secrets, begun), message).await;
            Sent { event, begun, attempt }
        }));
    }

    fn finish(&mut self, sent: Result<Sent, JoinError>) -> Result<(), JoinError> {
        let Sent { event, begun, attempt: Attempt { delivery, retry_after } } = sent?;
        self.shared.metrics.count(delivery.outcome);
        let next = if delivery.outcome.is_delivered() {
            self.undelivered.delivered(event);
            None
        } else {
            let (now, jitter) = (self.shared.now(), rand::random());
            let next = self.undelivered.failed(event, now, retry_after, jitter);
            let disables = DisableReason::after(delivery.outcome, next);
            self.disables = self.disables.or(disables);
            next.filter(|_| disables.is_none())
        };
        if self.attempts.len() >= usize::try_from(MAX_RECORDED_ATTEMPTS).unwrap_or(usize::MAX) {
            self.attempts.pop_front();
        }
        self.attempts.push_back(DeliveryAttempt { event, created: begun, delivery, next });
        self.record_soon();
        Ok(())
    }

    /// Records the results. False if the task must end, because another epoch has begun or the
    /// endpoint is disabled.
    async fn record(&mut self) -> Result<bool, StoreError> {
        self.undelivered.record_gaps();
        let report = DeliveryReport {
            app: self.webhook.app,
            webhook: self.webhook.id,
            generation: self.generation,
            epoch: self.epoch,
            position: self.undelivered.position(),
            paused_until: self.undelivered.paused_until(),
            retries: self.undelivered.retries(),
            finished: self.undelivered.finished(),
            attempts: self.attempts.iter().copied().collect(),
            disables: self.disables,
        };
        let position = report.position;
        let is_empty = position == self.recorded_position
            && report.retries.is_empty()
            && report.finished.is_empty()
            && report.attempts.is_empty();
        if !is_empty {
            let action = RecordDeliveries(Box::new(report));
            let Ok(recorded) = self.shared.store.write(Actor::SYSTEM, action).await? else {
                return Ok(false);
            };
            if let Some(reason) = self.disables.filter(|_| recorded.disables_webhook) {
                tracing::warn!(
                    webhook.id = %self.webhook.id,
                    app.id = %self.webhook.app,
                    "webhook disabled: {}",
                    cause(reason)
                );
            }
            self.epoch = self.epoch.saturating_add(1);
            self.undelivered.recorded();
            self.attempts.clear();
            self.recorded_position = position;
        }
        self.record_at = None;
        Ok(self.disables.is_none())
    }
}

/// Makes the permit cover these events. False if there is no memory.
fn has_memory(budget: &Arc<Budget>, permit: &mut Option<Permit>, events: usize) -> bool {
    let counted = events.saturating_sub(FREE);
    if counted == 0 {
        *permit = None;
        return true;
    }
    budget.grow(permit, counted)
}

fn cause(reason: DisableReason) -> &'static str {
    match reason {
        DisableReason::Request => "its app requested it",
        DisableReason::Failures => "deliveries of an event have failed for five days",
        DisableReason::Gone => "its receiver answered with 410",
    }
}

fn after(delay: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(delay).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_with_few_events_needs_no_memory_of_others() {
        let budget = Budget::new("events", 100);
        let (mut failing, mut healthy) = (None, None);
        assert!(has_memory(&budget, &mut failing, FREE + 100));
        assert!(!has_memory(&budget, &mut failing, FREE + 101));
        assert!(has_memory(&budget, &mut healthy, FREE));
        assert!(!has_memory(&budget, &mut healthy, FREE + 1));
        assert!(has_memory(&budget, &mut failing, FREE));
        assert!(has_memory(&budget, &mut healthy, FREE + 1));
    }
}
