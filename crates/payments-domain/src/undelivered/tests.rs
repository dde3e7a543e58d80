//! Examples of the rules, and a simulated endpoint that compares every step with them.

use std::time::Duration;

use proptest::prelude::*;

use super::{super::write::generators::id, *};

/// The maximum number of events that the service reads at once.
const PAGE: usize = 100;

fn start() -> Timestamp {
    Timestamp::from_second(1_790_000_000).unwrap()
}

fn after(seconds: u64) -> Timestamp {
    start() + Duration::from_secs(seconds)
}

/// Five events: 1, 2 and 4 of a transaction, 3 of another one, and 5 without a transaction.
fn five_events() -> Undelivered {
    let mut undelivered = Undelivered::new(Id::MIN, &[], None);
    for (event, transaction) in
        [(1, Some(101)), (2, Some(101)), (3, Some(103)), (4, Some(101)), (5, None)]
    {
        undelivered.read(id(event), Some(transaction.map(id)));
    }
    undelivered
}

/// One event of each of these transactions, in flight.
fn in_flight(transactions: std::ops::Range<u64>) -> Undelivered {
    let mut undelivered = Undelivered::new(Id::MIN, &[], None);
    for number in transactions {
        undelivered.read(id(number), Some(Some(id(1_000 + number))));
        undelivered.sent(id(number));
    }
    undelivered
}

fn ids(numbers: impl IntoIterator<Item = u64>) -> Vec<Id> {
    numbers.into_iter().map(id).collect()
}

#[test]
fn only_the_oldest_event_of_a_transaction_is_sent() {
    let mut undelivered = five_events();
    assert_eq!(undelivered.sendable(start()), ids([1, 3, 5]));
    undelivered.sent(id(1));
    assert_eq!(undelivered.sendable(start()), ids([3, 5]));
    undelivered.delivered(id(1));
    assert_eq!(undelivered.sendable(start()), ids([2, 3, 5]));
}

#[test]
fn the_position_is_before_the_oldest_undelivered_event() {
    let mut undelivered = five_events();
    assert_eq!(undelivered.position(), id(0));
    for number in [1, 3] {
        undelivered.sent(id(number));
        undelivered.delivered(id(number));
    }
    assert_eq!((undelivered.position(), undelivered.oldest()), (id(1), Some(id(2))));
    // An event that the endpoint does not want is passed, too.
    undelivered.read(id(9), None);
    for number in [2, 4, 5] {
        undelivered.sent(id(number));
        undelivered.delivered(id(number));
    }
    assert_eq!((undelivered.position(), undelivered.oldest()), (id(9), None));
}

#[test]
fn after_a_crash_only_deliveries_since_the_last_report_are_repeated() {
    let mut undelivered = five_events();
    undelivered.sent(id(1));
    undelivered.sent(id(3));
    undelivered.delivered(id(3));
    undelivered.record_gaps();
    let retries = undelivered.retries();
    assert_eq!(undelivered.position(), id(3));
    assert_eq!(retries.iter().map(|retry| retry.event).collect::<Vec<_>>(), ids([1, 2]));
    assert!(retries.iter().all(|retry| retry.failures.is_none()));
    let next = Undelivered::new(undelivered.position(), &retries, None);
    assert_eq!((next.sendable(start()), next.read_to()), (ids([1]), id(3)));
}

#[test]
fn an_event_that_fails_is_recorded_with_those_that_wait_for_it() {
    let mut undelivered = five_events();
    for number in [3, 5] {
        undelivered.sent(id(number));
        undelivered.delivered(id(number));
    }
    undelivered.sent(id(1));
    assert_eq!(undelivered.failed(id(1), start(), None, 0), Some(after(5)));
    let retries = undelivered.retries();
    let events: Vec<_> = retries.iter().map(|retry| (retry.event, retry.transaction)).collect();
    assert_eq!(events, [1, 2, 4].map(|number| (id(number), Some(id(101)))));
    let failures = Failures { attempts: 1, first: start(), due: after(5) };
    assert_eq!(retries[0].failures, Some(failures));
    assert_eq!((retries[1].failures, retries[2].failures), (None, None));
    // So the position passes them, and a later event of the transaction is recorded, too.
    assert_eq!(undelivered.position(), id(5));
    undelivered.recorded();
    undelivered.read(id(6), Some(Some(id(101))));
    assert_eq!((undelivered.retries().len(), undelivered.position()), (1, id(6)));

    undelivered.recorded();
    assert_eq!(undelivered.sendable(after(4)), []);
    assert_eq!(undelivered.sendable(after(5)), ids([1]));
    undelivered.sent(id(1));
    undelivered.delivered(id(1));
    assert_eq!(undelivered.finished(), ids([1]));
    assert_eq!(undelivered.sendable(after(5)), ids([2]));
}

#[test]
fn an_event_that_always_fails_holds_up_only_its_transaction() {
    let mut undelivered = Undelivered::new(Id::MIN, &[], None);
    let mut now = start();
    for number in 1..=3000 {
        let transaction = if number == 1 { 0 } else { number };
        undelivered.read(id(number), Some(Some(id(10_000 + transaction))));
        for event in undelivered.sendable(now) {
            undelivered.sent(event);
            if event == id(1) {
                undelivered.failed(event, now, None, 0).unwrap();
            } else {
                undelivered.delivered(event);
            }
        }
        undelivered.recorded();
        assert_eq!(undelivered.position(), id(number));
        now += Duration::from_secs(60);
    }
    assert_eq!((undelivered.oldest(), undelivered.events.len()), (Some(id(1)), 1));
}

#[test]
fn an_endpoint_that_is_down_is_probed_by_a_retry_and_a_new_event() {
    let mut undelivered = in_flight(0..16);
    undelivered.read(id(16), Some(None));
    assert_eq!(undelivered.sendable(start()), [], "at most 16 are in flight");
    for number in 0..15 {
        undelivered.failed(id(number), start(), None, 0).unwrap();
    }
    assert_eq!(undelivered.sendable(start()), ids([16]), "15 failures are not enough");
    undelivered.failed(id(15), start(), None, 0).unwrap();

    assert!(!undelivered.has_room(start()), "no further events are read");
    assert_eq!((undelivered.sendable(after(4)), undelivered.next_due()), (vec![], Some(after(5))));
    assert_eq!(undelivered.sendable(after(5)), ids([0, 16]));
    undelivered.sent(id(0));
    undelivered.sent(id(16));
    assert_eq!((undelivered.sendable(after(9)), undelivered.next_due()), (vec![], None));
    undelivered.failed(id(0), after(15), None, 0).unwrap();
    assert_eq!((undelivered.sendable(after(9)), undelivered.next_due()), (vec![], None));
    undelivered.failed(id(16), after(15), None, 0).unwrap();
    assert!(undelivered.has_room(start()), "each event was tried");
    // The other retries are probes, too.
    assert_eq!(undelivered.sendable(after(15)), ids([1]));
    undelivered.sent(id(1));
    undelivered.delivered(id(1));
    assert!(undelivered.has_room(start()));
    assert_eq!(undelivered.sendable(after(15)), ids((0..=16).filter(|number| *number != 1)));
}

#[test]
fn a_success_ends_the_count_of_failures() {
    let mut undelivered = in_flight(0..16);
    for number in 0..8 {
        undelivered.failed(id(number), start(), None, 0).unwrap();
    }
    undelivered.delivered(id(8));
    for number in 9..16 {
        undelivered.failed(id(number), start(), None, 0).unwrap();
    }
    assert!(undelivered.has_room(start()));
    assert_eq!(undelivered.sendable(after(5)).len(), 15);
}

#[test]
fn the_same_event_counts_once_as_a_failure() {
    let mut undelivered = Undelivered::new(Id::MIN, &[], None);
    undelivered.read(id(1), Some(None));
    for _ in 0..20 {
        let due = undelivered.next_due().unwrap_or(start());
        assert_eq!(undelivered.sendable(due), ids([1]));
        undelivered.sent(id(1));
        undelivered.failed(id(1), due, None, 0).unwrap();
    }
    assert!(undelivered.has_room(start()));
}

#[test]
fn after_five_days_the_service_gives_up() {
    let mut undelivered = Undelivered::new(Id::MIN, &[], None);
    undelivered.read(id(1), Some(None));
    let mut now = start();
    loop {
        assert_eq!(undelivered.sendable(now), ids([1]));
        undelivered.sent(id(1));
        match undelivered.failed(id(1), now, None, 0) {
            Some(next) => now = next,
            None => break,
        }
    }
    let days = now.duration_since(start()).as_hours() / 24;
    assert_eq!(days, 4, "the next attempt would be after five days");
    assert_eq!(undelivered.sendable(now + Duration::from_hours(10_000)), []);
    // The failures of an earlier process count, too.
    let mut continued = Undelivered::new(id(1), &undelivered.retries(), None);
    continued.sent(id(1));
    assert_eq!(continued.failed(id(1), now, None, 0), None);
}

#[test]
fn a_replica_that_takes_over_continues_with_the_retries() {
    let failures = Failures { attempts: 3, first: start(), due: after(600) };
    let retry = |event, failures| Retry { event: id(event), transaction: Some(id(101)), failures };
    // In any order.
    let retries = [retry(7, None), retry(2, Some(failures)), retry(4, None)];
    let mut undelivered = Undelivered::new(id(5), &retries, None);
    undelivered.read(id(6), Some(Some(id(106))));
    undelivered.read(id(7), Some(Some(id(101))));
    undelivered.read(id(8), Some(Some(id(101))));
    assert_eq!(undelivered.sendable(start()), ids([6]));
    assert_eq!(undelivered.next_due(), Some(after(600)));
    undelivered.sent(id(2));
    assert_eq!(undelivered.failed(id(2), after(600), None, 0), Some(after(600 + 600)));
    for number in [2, 4, 7, 8] {
        let sendable = undelivered.sendable(after(1200));
        assert_eq!(sendable, ids([number.min(6), number.max(6)]));
        undelivered.sent(id(number));
        undelivered.delivered(id(number));
    }
}

#[test]
fn a_retry_after_the_position_waits_for_the_events_before_it() {
    let retry = |event| Retry { event: id(event), transaction: Some(id(101)), failures: None };
    // After a replay, say.
    let mut undelivered = Undelivered::new(id(5), &[retry(7), retry(8), retry(9)], None);
    assert_eq!(undelivered.sendable(start()), []);
    for number in 6..=7 {
        undelivered.read(id(number), Some(Some(id(101))));
    }
    for number in 6..=7 {
        assert_eq!(undelivered.sendable(start()), ids([number]));
        undelivered.sent(id(number));
        undelivered.delivered(id(number));
    }
    // The endpoint does not want the type of this event any more, and the next one is gone.
    undelivered.read(id(8), None);
    undelivered.read(id(10), None);
    assert_eq!((undelivered.finished(), undelivered.oldest()), (ids([7, 8, 9]), None));
}

#[test]
fn an_event_that_is_gone_needs_no_attempt() {
    let mut undelivered = five_events();
    undelivered.finish(id(1));
    assert_eq!(undelivered.sendable(start()), ids([2, 3, 5]));
    assert_eq!((undelivered.position(), undelivered.finished()), (id(1), vec![]));
}

#[test]
fn a_pause_holds_up_all_events_of_the_endpoint() {
    let mut undelivered = five_events();
    undelivered.sent(id(1));
    undelivered.sent(id(3));
    let pause = |seconds| Some(RetryAfter::Delay(Duration::from_secs(seconds)));
    assert_eq!(undelivered.failed(id(1), start(), pause(60), 0), Some(after(60)));
    // A shorter one does not end it.
    assert_eq!(undelivered.failed(id(3), after(1), pause(1), 0), Some(after(60)));
    let continued = |undelivered: &Undelivered| {
        let (position, retries) = (undelivered.position(), undelivered.retries());
        let mut continued = Undelivered::new(position, &retries, undelivered.paused_until());
        continued.read(id(5), Some(None));
        continued
    };
    for mut undelivered in [continued(&undelivered), undelivered] {
        assert!(!undelivered.has_room(after(59)), "a new event waits");
        let waits = (undelivered.sendable(after(59)), undelivered.next_due());
        assert_eq!(waits, (vec![], Some(after(60))));
        assert!(undelivered.has_room(after(60)));
        assert_eq!(undelivered.sendable(after(60)), ids([1, 3, 5]));
        // The ordinary delay is longer.
        undelivered.sent(id(5));
        assert_eq!(undelivered.failed(id(5), after(60), pause(2), 0), Some(after(65)));
        assert_eq!(undelivered.sendable(after(61)), []);
        assert_eq!(undelivered.sendable(after(62)), ids([1, 3]));
    }
}

#[test]
fn a_success_does_not_end_a_pause() {
    let mut undelivered = in_flight(0..17);
    let minute = Some(RetryAfter::Delay(Duration::from_secs(60)));
    for number in 0..16 {
        undelivered.failed(id(number), start(), minute, 0).unwrap();
    }
    undelivered.delivered(id(16));
    assert_eq!(
        (undelivered.sendable(after(59)), undelivered.next_due()),
        (vec![], Some(after(60)))
    );
    assert_eq!(undelivered.sendable(after(60)), ids(0..16));
}

/// A step of the simulation.
#[derive(Debug, Clone)]
enum Step {
    /// New events: their number, and the number of transactions that they belong to.
    Events(usize, u64),
    /// The service reads a page.
    Read,
    /// The service sends at most this many of the events that it may send.
    Send(usize),
    /// The service finds that the next event is not in the list any more.
    Gone,
    /// Deliveries end. Each bit says whether one succeeds. The failed ones ask for a pause of so many
    /// seconds.
    Results(usize, u32, u16, Option<u64>),
    /// From now on, all deliveries fail, or those do that must.
    Outage(bool),
    Wait(u64),
    WaitUntilDue,
    /// The service records results.
    Record(Write),
    /// The service ends, and begins with what is recorded. Each bit says whether the endpoint has
    /// received a delivery in flight.
    Crash(u32),
    /// As a crash. Then the endpoint gets events again, from a position of so many percent.
    Replay(u32, usize),
}

/// The outcome of a write.
#[derive(Debug, Clone, Copy)]
enum Write {
    Done,
    /// It failed.
    Lost,
    /// It is committed, but the service does not know. So its next report is rejected, and it
    /// begins again.
    Unknown,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let write = prop_oneof![
        4 => Just(Write::Done),
        1 => Just(Write::Lost),
        1 => Just(Write::Unknown),
    ];
    let step = prop_oneof![
        4 => (1..8_usize, 1..6_u64).prop_map(|(count, of)| Step::Events(count, of)),
        2 => (50..400_usize, 1..600_u64).prop_map(|(count, of)| Step::Events(count, of)),
        6 => Just(Step::Read),
        8 => (1..20_usize).prop_map(Step::Send),
        1 => Just(Step::Gone),
        8 => (1..20_usize, any::<u32>(), any::<u16>(), prop::option::weighted(0.2, 0..5000_u64))
            .prop_map(|(count, ends, jitter, pause)| Step::Results(count, ends, jitter, pause)),
        1 => any::<bool>().prop_map(Step::Outage),
        2 => (0..100_u64).prop_map(Step::Wait),
        3 => Just(Step::WaitUntilDue),
        4 => write.prop_map(Step::Record),
        1 => any::<u32>().prop_map(Step::Crash),
        1 => (any::<u32>(), 0..100_usize)
            .prop_map(|(received, percent)| Step::Replay(received, percent)),
    ];
    prop::collection::vec(step, 1..120)
}

/// An event: its transaction, and whether the endpoint wants it.
#[derive(Debug, Clone, Copy)]
struct Listed {
    transaction: Option<Id>,
    is_wanted: bool,
    /// Whether it fails, until the end of the simulation.
    is_failing: bool,
    /// Whether the endpoint has received it, or it was removed from the list.
    is_done: bool,
    /// Whether the endpoint has received it since the service has started.
    is_received: bool,
}

/// A service and an endpoint.
struct Simulation {
    undelivered: Undelivered,
    now: Timestamp,
    /// All events, by number. The ID of an event is its number.
    events: Vec<Listed>,
    is_outage: bool,
    in_flight: Vec<usize>,
    /// Events that have failed since the last success or start.
    failing: BTreeSet<usize>,
    /// The recorded position.
    position: Id,
    /// Until when the endpoint wants nothing.
    paused_until: Option<Timestamp>,
    recorded_pause: Option<Timestamp>,
    /// The recorded retries.
    retries: BTreeMap<Id, Retry>,
    /// Whether the service does not know what is recorded.
    is_outdated: bool,
}

fn number(event: Id) -> usize {
    let [.., low, last] = *event.as_bytes();
    usize::from(u16::from_be_bytes([low, last]))
}

fn event_id(number: usize) -> Id {
    id(u64::try_from(number).unwrap())
}

impl Simulation {
    fn new() -> Self {
        // The event with the number 0 is before all others.
        let first = Listed {
            transaction: None,
            is_wanted: false,
            is_failing: false,
            is_done: true,
            is_received: false,
        };
        Self {
            undelivered: Undelivered::new(id(0), &[], None),
            now: start(),
            events: vec![first],
            is_outage: false,
            in_flight: Vec::new(),
            failing: BTreeSet::new(),
            position: id(0),
            paused_until: None,
            recorded_pause: None,
            retries: BTreeMap::new(),
            is_outdated: false,
        }
    }

    fn is_down(&self) -> bool {
        self.failing.len() >= DOWN_AFTER
    }

    fn run(&mut self, step: &Step) {
        match *step {
            Step::Events(count, transactions) => self.add(count, transactions),
            Step::Read => self.read(),
            Step::Send(most) => self.send(most),
            Step::Gone => self.remove_one(),
            Step::Results(count, successes, jitter, pause) => {
                for bit in 0..count.min(self.in_flight.len()) {
                    let event = self.in_flight.remove(bit * 7 % self.in_flight.len());
                    self.end(event, successes >> bit & 1 == 1, jitter, pause);
                }
            }
            Step::Outage(is_outage) => self.is_outage = is_outage,
            Step::Wait(seconds) => self.now += Duration::from_secs(seconds),
            Step::WaitUntilDue => {
                self.now = self.undelivered.next_due().unwrap_or(self.now).max(self.now);
            }
            Step::Record(write) => self.record(write),
            Step::Crash(received) => self.restart(received),
            Step::Replay(received, percent) => {
                let replayed = event_id(self.events.len() * percent / 100);
                self.position = self.position.min(replayed);
                self.start_again();
                self.restart(received);
            }
        }
        self.check();
    }

    fn add(&mut self, count: usize, transactions: u64) {
        for _ in 0..count {
            let number = u64::try_from(self.events.len()).unwrap();
            let transaction = number * 31 % transactions;
            self.events.push(Listed {
                transaction: (!number.is_multiple_of(13)).then(|| id(1_000_000 + transaction)),
                is_wanted: !number.is_multiple_of(5),
                is_failing: number.is_multiple_of(17),
                is_done: false,
                is_received: false,
            });
        }
    }

    fn read(&mut self) {
        if !self.undelivered.has_room(self.now) {
            return;
        }
        let next = number(self.undelivered.read_to()) + 1;
        for (number, event) in self.events.iter().enumerate().skip(next).take(PAGE) {
            let wanted = event.is_wanted.then_some(event.transaction);
            self.undelivered.read(event_id(number), wanted);
        }
    }

    fn send(&mut self, most: usize) {
        let sendable = self.undelivered.sendable(self.now);
        assert!(sendable.is_sorted() && sendable.len() + self.in_flight.len() <= AT_ONCE);
        let is_paused = self.paused_until.is_some_and(|until| self.now < until);
        assert!(!is_paused || sendable.is_empty(), "the endpoint has asked for a pause");
        if self.is_down() && !sendable.is_empty() {
            let is_retry = |event: &&Id| self.undelivered.has_failed(**event);
            let retries = sendable.iter().filter(is_retry).count();
            assert!(retries == 1 && sendable.len() <= 2 && self.in_flight.is_empty(), "one probe");
        }
        for event in sendable.into_iter().take(most) {
            self.check_order(number(event));
            self.undelivered.sent(event);
            self.in_flight.push(number(event));
        }
    }

    /// Earlier events of the transaction have arrived, and no later one since the last start. No
    /// other one is in flight.
    fn check_order(&self, number: usize) {
        let Some(transaction) = self.events[number].transaction else {
            assert!(!self.in_flight.contains(&number));
            return;
        };
        let is_of = |event: &&Listed| event.transaction == Some(transaction);
        let mut before = self.events[..number].iter().filter(is_of);
        assert!(before.all(|event| event.is_done || !event.is_wanted), "{number} is too early");
        let mut later = self.events[number..].iter().filter(is_of);
        assert!(!later.any(|event| event.is_received), "{number} is too late");
        let mut others = self.in_flight.iter().map(|other| &self.events[*other]);
        assert!(!others.any(|other| is_of(&other)), "{number} is sent beside another one");
    }

    fn end(&mut self, number: usize, succeeds: bool, jitter: u16, pause: Option<u64>) {
        let event = &mut self.events[number];
        if succeeds && !self.is_outage && !event.is_failing {
            assert!(!event.is_received, "{number} is repeated without a reason");
            (event.is_done, event.is_received) = (true, true);
            let was_down = self.is_down();
            self.undelivered.delivered(event_id(number));
            self.failing.clear();
            if was_down {
                let next = self.undelivered.next_due();
                assert!(next.is_none() || next == self.paused_until, "all retries are due");
            }
            return;
        }
        let retry_after = pause.map(|seconds| RetryAfter::Delay(Duration::from_secs(seconds)));
        let next = self.undelivered.failed(event_id(number), self.now, retry_after, jitter);
        let pause = pause.map(|seconds| self.now + Duration::from_secs(seconds.min(3600)));
        self.paused_until = self.paused_until.max(pause);
        self.failing.insert(number);
        match next {
            Some(next) => assert!(next > self.now && Some(next) >= self.paused_until),
            // The endpoint is disabled. The app corrects it.
            None => {
                self.record(Write::Done);
                self.start_again();
                self.restart(0);
            }
        }
    }

    /// A change of the endpoint, or a replay.
    fn start_again(&mut self) {
        self.retries.values_mut().for_each(|retry| retry.failures = None);
        self.recorded_pause = None;
    }

    fn remove_one(&mut self) {
        if let Some(event) = self.undelivered.sendable(self.now).first() {
            self.events[number(*event)].is_done = true;
            self.events[number(*event)].is_wanted = false;
            self.undelivered.finish(*event);
            self.failing.remove(&number(*event));
        }
    }

    fn record(&mut self, write: Write) {
        if matches!(write, Write::Lost) {
            return;
        }
        if self.is_outdated {
            return self.restart(0x5555_5555);
        }
        assert!(self.position <= self.undelivered.position(), "only a replay goes back");
        self.position = self.undelivered.position();
        self.recorded_pause = self.undelivered.paused_until();
        for event in self.undelivered.finished() {
            self.retries.remove(&event);
        }
        for retry in self.undelivered.retries() {
            self.retries.insert(retry.event, retry);
        }
        let through = number(self.position);
        for (number, event) in self.events.iter().enumerate().take(through + 1) {
            let is_kept = self.retries.contains_key(&event_id(number));
            assert!(event.is_done || !event.is_wanted || is_kept, "{number} would be lost");
        }
        match write {
            Write::Done => self.undelivered.recorded(),
            _ => self.is_outdated = true,
        }
    }

    fn restart(&mut self, received: u32) {
        for (bit, event) in self.in_flight.drain(..).enumerate() {
            self.events[event].is_done |= received >> bit & 1 == 1;
        }
        self.events.iter_mut().for_each(|event| event.is_received = false);
        self.failing.clear();
        self.is_outdated = false;
        let retries: Vec<Retry> = self.retries.values().rev().copied().collect();
        self.paused_until = self.recorded_pause;
        self.undelivered = Undelivered::new(self.position, &retries, self.paused_until);
    }

    /// Checks the state between two steps.
    fn check(&self) {
        let Undelivered { events, ready, waiting, in_flight, .. } = &self.undelivered;
        assert!(events.len() < MAX_UNDELIVERED + PAGE, "{} events", events.len());
        let waiting: BTreeSet<Id> = waiting.iter().map(|(_, event)| *event).collect();
        assert_eq!(waiting.len(), self.undelivered.waiting.len(), "an event waits twice");
        let scheduled = ready | &waiting;
        assert!(ready.is_disjoint(&waiting) && in_flight.is_disjoint(&scheduled));
        // Of each transaction, one event is sent next. None is forgotten.
        let next = &scheduled | in_flight;
        let transaction = |event: &Id| events[event].transaction.unwrap_or(*event);
        let of_next: Vec<Id> = next.iter().map(transaction).collect();
        let transactions: BTreeSet<Id> = events.keys().map(transaction).collect();
        assert_eq!(of_next.len(), transactions.len());
        assert_eq!(of_next.into_iter().collect::<BTreeSet<_>>(), transactions);
        // The service waits without a busy loop.
        if self.in_flight.is_empty() && self.undelivered.sendable(self.now).is_empty() {
            match self.undelivered.next_due() {
                None => assert!(events.is_empty()),
                Some(due) => {
                    let before = due - Duration::from_millis(1);
                    assert!(due > self.now && self.undelivered.sendable(before).is_empty());
                    assert!(!self.undelivered.sendable(due).is_empty());
                }
            }
        }
    }

    /// The endpoint receives everything.
    fn finish(&mut self) {
        self.is_outage = false;
        self.events.iter_mut().for_each(|event| event.is_failing = false);
        self.run(&Step::Record(Write::Done));
        while !self.in_flight.is_empty()
            || number(self.undelivered.read_to()) + 1 < self.events.len()
            || !self.undelivered.events.is_empty()
        {
            let all = [Step::Read, Step::Send(AT_ONCE), Step::Results(AT_ONCE, u32::MAX, 0, None)];
            all.iter().for_each(|step| self.run(step));
            if self.in_flight.is_empty() && self.undelivered.sendable(self.now).is_empty() {
                self.run(&Step::WaitUntilDue);
            }
        }
        self.run(&Step::Record(Write::Done));
        assert!(self.events.iter().all(|event| event.is_done || !event.is_wanted));
        assert_eq!(self.position, event_id(self.events.len() - 1));
        assert_eq!(self.retries, BTreeMap::new());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn every_event_arrives_in_the_order_of_its_transaction(steps in steps()) {
        let mut simulation = Simulation::new();
        for step in &steps {
            simulation.run(step);
        }
        simulation.finish();
    }
}
