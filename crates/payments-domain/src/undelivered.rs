//! The events that an endpoint has not received, in the memory of the replica that delivers them.
//!
//! 1. **Order.** Of each transaction, only the oldest undelivered event (the head) may be sent. The
//!    next one waits until the head is delivered. Other transactions go on. Events without a
//!    transaction have no order.
//! 2. **Position.** Events are read in the order of their IDs. The position is the last ID such that
//!    every event up to it is delivered or recorded as a [`Retry`]. A replica that takes over reads
//!    the retries, and the events after the position. Also a retry after the position is sent only
//!    when the events before it are read, so that a replay has the order of each transaction.
//! 3. **Retries.** A failed head is recorded, and with it the events that wait for it. So one event
//!    that always fails does not hold up the position. Events before the last delivered one are
//!    recorded, too, so that a slow answer does not hold it up either.
//! 4. **Down.** After [`DOWN_AFTER`] different events have failed and none has succeeded, the
//!    endpoint is down: a receiver that hangs must not occupy memory and sockets. Then one due retry
//!    is sent at a time, and with it one event that was not tried yet, because the receiver may
//!    refuse only some events. After the first success, all retries are due at once.
//! 5. **Pause.** If the receiver asks for a pause ([`RetryAfter`]), nothing is sent to the endpoint
//!    before its end. While a new event waits for it, no further ones are read. The end is recorded,
//!    so that a replica that takes over waits, too.
//!    Decision: the pause is that of the endpoint, not only of the event. A receiver that has too
//!    much to do means all requests, and new events would only get the same answer.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;

use super::{
    Id,
    delivery::{Failures, Retry, RetryAfter, next_attempt},
};

/// The maximum number of undelivered events of an endpoint in memory and in its retries. Further
/// events are not read before earlier ones are delivered. They stay in the list of events.
const MAX_UNDELIVERED: usize = 1000;

/// The maximum number of deliveries in flight to one endpoint.
const AT_ONCE: usize = 16;

/// The number of events that must fail in succession before the endpoint counts as down.
const DOWN_AFTER: usize = 16;

/// See the module.
#[derive(Debug)]
pub struct Undelivered {
    events: BTreeMap<Id, State>,
    /// Events by transaction, as far as they have one.
    transactions: HashMap<Id, BTreeSet<Id>>,
    /// Heads that may be sent at any time.
    ready: BTreeSet<Id>,
    /// Heads that have failed, with the time of their next attempt.
    waiting: BTreeSet<(Timestamp, Id)>,
    in_flight: BTreeSet<Id>,
    /// Events that have failed since the last success.
    failing: BTreeSet<Id>,
    /// Events to record as retries.
    unrecorded: BTreeSet<Id>,
    /// Recorded events that are delivered.
    finished: BTreeSet<Id>,
    /// The last event that was read.
    read_to: Id,
    /// The last event that was delivered.
    delivered_to: Id,
    /// Recorded retries after it.
    ahead: BTreeMap<Id, Retry>,
    /// The end of the last pause.
    paused_until: Option<Timestamp>,
}

#[derive(Debug)]
struct State {
    transaction: Option<Id>,
    failures: Option<Failures>,
    /// Whether it is recorded as a retry.
    is_recorded: bool,
}

impl Undelivered {
    /// Continues at `position` with the recorded retries and the recorded end of a pause.
    pub fn new(position: Id, retries: &[Retry], paused_until: Option<Timestamp>) -> Self {
        let mut undelivered = Self {
            events: BTreeMap::new(),
            transactions: HashMap::new(),
            ready: BTreeSet::new(),
            waiting: BTreeSet::new(),
            in_flight: BTreeSet::new(),
            failing: BTreeSet::new(),
            unrecorded: BTreeSet::new(),
            finished: BTreeSet::new(),
            read_to: position,
            delivered_to: position,
            ahead: BTreeMap::new(),
            paused_until,
        };
        let mut retries: BTreeMap<Id, Retry> =
            retries.iter().map(|retry| (retry.event, *retry)).collect();
        undelivered.ahead = retries.split_off(&position.successor());
        retries.into_values().for_each(|retry| undelivered.insert(retry, true));
        undelivered
    }

    /// Adds the next event that was read. `None`: the endpoint does not want its type.
    pub fn read(&mut self, event: Id, wanted: Option<Option<Id>>) {
        self.read_to = event.max(self.read_to);
        let later = self.ahead.split_off(&event.successor());
        let mut retries = std::mem::replace(&mut self.ahead, later);
        if let Some(transaction) = wanted {
            let retry = retries.remove(&event);
            let is_recorded = retry.is_some();
            self.insert(retry.unwrap_or(Retry { event, transaction, failures: None }), is_recorded);
        }
        // The others are no longer in the list, or not wanted any more.
        self.finished.extend(retries.into_keys());
    }

    /// Adds an event that is later than the others of its transaction.
    fn insert(&mut self, retry: Retry, is_recorded: bool) {
        let Retry { event, transaction, failures } = retry;
        self.events.insert(event, State { transaction, failures, is_recorded });
        let Some(transaction) = transaction else { return self.schedule(event) };
        let events = self.transactions.entry(transaction).or_default();
        let head = events.first().copied();
        events.insert(event);
        match head {
            None => self.schedule(event),
            Some(head) if self.has_failed(head) && !is_recorded => {
                self.unrecorded.insert(event);
            }
            Some(_) => {}
        }
    }

    fn has_failed(&self, event: Id) -> bool {
        self.events.get(&event).is_some_and(|state| state.failures.is_some())
    }

    fn due(&self, event: Id) -> Option<Timestamp> {
        self.events.get(&event)?.failures.map(|failures| failures.due)
    }

    fn schedule(&mut self, head: Id) {
        match self.due(head) {
            Some(due) => self.waiting.insert((due, head)),
            None => self.ready.insert(head),
        };
    }

    fn unschedule(&mut self, head: Id) {
        self.ready.remove(&head);
        if let Some(due) = self.due(head) {
            self.waiting.remove(&(due, head));
        }
    }

    /// Whether another event may be read.
    pub fn has_room(&self, now: Timestamp) -> bool {
        let are_held = self.is_down() || self.is_paused(now);
        self.events.len() < MAX_UNDELIVERED && (!are_held || self.ready.is_empty())
    }

    /// The number of undelivered events in memory.
    pub fn count(&self) -> usize {
        self.events.len().saturating_add(self.ahead.len())
    }

    /// The event after which to read.
    pub fn read_to(&self) -> Id {
        self.read_to
    }

    fn is_down(&self) -> bool {
        self.failing.len() >= DOWN_AFTER
    }

    fn is_paused(&self, now: Timestamp) -> bool {
        self.paused_until.is_some_and(|until| now < until)
    }

    /// The end of the last pause, to record it.
    pub fn paused_until(&self) -> Option<Timestamp> {
        self.paused_until
    }

    /// How many further events may be in flight.
    fn room(&self) -> usize {
        let at_once = if self.is_down() { 1 } else { AT_ONCE };
        at_once.saturating_sub(self.in_flight.len())
    }

    /// Events to send now, in the order of their IDs.
    pub fn sendable(&self, now: Timestamp) -> Vec<Id> {
        if self.is_paused(now) {
            return Vec::new();
        }
        let due = |(due, event): &(Timestamp, Id)| (*due <= now).then_some(*event);
        let (due, mut ready) = (self.waiting.iter().map_while(due), self.ready.iter().copied());
        let mut events: Vec<Id> = if self.is_down() {
            due.take(self.room()).flat_map(|retry| [Some(retry), ready.next()]).flatten().collect()
        } else {
            due.chain(ready).take(self.room()).collect()
        };
        events.sort_unstable();
        events
    }

    /// The time at which [`Self::sendable`] can return more, without a result in the meantime.
    pub fn next_due(&self) -> Option<Timestamp> {
        let retry = self.waiting.first().map(|(due, _)| *due);
        let new = self.paused_until.filter(|_| !self.is_down() && !self.ready.is_empty());
        let next = retry.into_iter().chain(new).min()?;
        (self.room() > 0).then(|| self.paused_until.map_or(next, |until| until.max(next)))
    }

    /// Marks a sendable event as in flight.
    pub fn sent(&mut self, event: Id) {
        self.unschedule(event);
        self.in_flight.insert(event);
    }

    pub fn delivered(&mut self, event: Id) {
        if self.is_down() {
            self.ready.extend(self.waiting.iter().map(|(_, event)| *event));
            self.waiting.clear();
        }
        self.failing.clear();
        self.delivered_to = event.max(self.delivered_to);
        self.finish(event);
    }

    /// Removes an event that needs no attempt: it is delivered, or it is no longer in the list of
    /// events of the app.
    pub fn finish(&mut self, event: Id) {
        self.unschedule(event);
        self.in_flight.remove(&event);
        self.failing.remove(&event);
        let Some(state) = self.events.remove(&event) else { return };
        self.unrecorded.remove(&event);
        if state.is_recorded {
            self.finished.insert(event);
        }
        let Some(transaction) = state.transaction else { return };
        let Some(events) = self.transactions.get_mut(&transaction) else { return };
        events.remove(&event);
        let Some(&head) = events.first() else {
            self.transactions.remove(&transaction);
            return;
        };
        self.schedule(head);
    }

    /// Records a failed attempt. Returns the time of the next one. `None`: give up. `jitter` as for
    /// `next_attempt`.
    pub fn failed(
        &mut self,
        event: Id,
        now: Timestamp,
        retry_after: Option<RetryAfter>,
        jitter: u16,
    ) -> Option<Timestamp> {
        self.in_flight.remove(&event);
        let pause = retry_after.map(|retry_after| retry_after.end(now));
        self.paused_until = self.paused_until.max(pause);
        let state = self.events.get_mut(&event)?;
        let (attempts, first) =
            state.failures.map_or((0, now), |failures| (failures.attempts, failures.first));
        let attempts = attempts.saturating_add(1);
        let next = next_attempt(attempts, first, now, self.paused_until, jitter);
        let due = next.unwrap_or(Timestamp::MAX);
        state.failures = Some(Failures { attempts, first, due });
        self.waiting.insert((due, event));
        self.failing.insert(event);
        self.unrecorded.insert(event);
        let transaction = state.transaction.and_then(|id| self.transactions.get(&id));
        let followers = transaction.into_iter().flatten();
        let is_recorded =
            |event: &&Id| self.events.get(event).is_some_and(|state| state.is_recorded);
        self.unrecorded.extend(followers.filter(|event| !is_recorded(event)));
        next
    }

    /// Records all undelivered events before the last delivered one, so that the position can be
    /// after it. Otherwise the next task would repeat the deliveries after the oldest undelivered
    /// event.
    pub fn record_gaps(&mut self) {
        let before = self.events.range(..self.delivered_to);
        let unrecorded = before.filter(|(_, state)| !state.is_recorded);
        self.unrecorded.extend(unrecorded.map(|(event, _)| *event));
    }

    /// The position, if everything is recorded that [`Self::retries`] returns.
    pub fn position(&self) -> Id {
        let is_recorded =
            |event: &Id, state: &State| state.is_recorded || self.unrecorded.contains(event);
        let first = self.events.iter().find(|(event, state)| !is_recorded(event, state));
        first.map_or(self.read_to, |(event, _)| event.predecessor().min(self.read_to))
    }

    /// The retries to record.
    pub fn retries(&self) -> Vec<Retry> {
        let retry = |event: &Id| {
            let State { transaction, failures, .. } = self.events.get(event)?;
            Some(Retry { event: *event, transaction: *transaction, failures: *failures })
        };
        self.unrecorded.iter().filter_map(retry).collect()
    }

    /// The recorded retries that are finished.
    pub fn finished(&self) -> Vec<Id> {
        self.finished.iter().copied().collect()
    }

    /// Notes that [`Self::retries`] and [`Self::finished`] are recorded.
    pub fn recorded(&mut self) {
        for event in std::mem::take(&mut self.unrecorded) {
            if let Some(state) = self.events.get_mut(&event) {
                state.is_recorded = true;
            }
        }
        self.finished.clear();
    }

    /// The oldest undelivered event that was read.
    pub fn oldest(&self) -> Option<Id> {
        self.events.keys().next().copied()
    }
}

#[cfg(test)]
mod tests;
