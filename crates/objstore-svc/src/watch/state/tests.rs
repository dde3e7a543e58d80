//! How long ended watches are kept, and what new access rules interrupt.

use std::time::Duration;

use common::limits::Limited as _;
use futures_util::FutureExt as _;
use uuid::Uuid;

use super::*;
use crate::{
    domain::{EpochId, Owner, StoredLifespan, Value},
    store::ClientState,
    watch::{Begin, Stream},
};

const MAX_ENDED: usize = 10;

fn id() -> ClientId {
    ClientId::new(Uuid::from_u128(1)).unwrap()
}

fn pattern() -> Pattern {
    Pattern::new("t", "", "").unwrap()
}

fn stream(format: MessageFormat) -> Stream {
    Stream { format, begin: Begin::Position, initial: false, marks: false, pattern: None }
}

fn known(revision: Revision) -> ClientState {
    let (watches, rules) = (Watches::default(), AdoptedRules::default());
    ClientState { revision, watches, position: 0, rules }
}

/// An empty hub, and the sockets that it woke.
struct Fixture {
    state: State,
    woken: Vec<Arc<Notify>>,
}

impl Fixture {
    fn new() -> Self {
        Self::with_memory(usize::MAX)
    }

    /// With so many bytes for watches.
    fn with_memory(bytes: usize) -> Self {
        let memory = Budget::new("watch_memory", bytes);
        Self {
            state: State::new(EpochId::default(), 0, MAX_ENDED, memory, Arc::default()),
            woken: Vec::new(),
        }
    }

    fn attach(&mut self, watches: Watches, position: Revision) -> usize {
        self.attach_stream(watches, position, MessageFormat::Objects).socket
    }

    fn attach_stream(
        &mut self,
        watches: Watches,
        position: Revision,
        format: MessageFormat,
    ) -> Attached {
        let known = ClientState { watches, position, ..known(self.state.head()) };
        self.state.attach(id(), known, &stream(format), None).unwrap()
    }

    fn dispatch(&mut self, entry: Entry) {
        self.dispatch_joined(entry, false);
    }

    fn dispatch_joined(&mut self, entry: Entry, joins_next: bool) {
        let record = Record { revision: self.state.head() + 1, entry, joins_next };
        self.state.dispatch(record, &mut self.woken);
    }

    fn set(&mut self) {
        self.set_joined(false);
    }

    fn set_joined(&mut self, joins_next: bool) {
        let key = Key::new("t", "ns", "n").unwrap();
        let value = Value::compact(&format!("{{\"n\":{}}}", self.state.head() + 1)).unwrap();
        let owner = Owner::new("o").unwrap();
        let object = Arc::new(Object { key, value, owner });
        let entry = Entry::Set { object, lifespan: StoredLifespan::default(), before: None };
        self.dispatch_joined(entry, joins_next);
    }

    /// A watch, a change, and the end of the watch.
    fn toggle(&mut self) {
        self.dispatch(Entry::Watch(id(), pattern()));
        self.set();
        self.dispatch(Entry::Unwatch(id(), pattern()));
    }

    /// The number of messages that a socket gets after `cursor` until it is idle; `None` if lost.
    fn drain(&mut self, socket: usize, mut cursor: Revision) -> Option<usize> {
        let mut messages = 0;
        loop {
            let mut burst = Vec::new();
            let next = self.state.next(socket, cursor, &mut burst);
            messages += burst.len();
            match next {
                Next::Messages(next) | Next::Behind(next) => cursor = next,
                Next::Idle(_) | Next::Paused => return Some(messages),
                Next::Lost => return None,
                Next::Log => panic!("the ring holds everything"),
                Next::Reset => panic!("there are no rules"),
                Next::NewWatches => panic!("no socket shows current objects"),
            }
        }
    }

    fn ended(&self) -> usize {
        self.state.count().2
    }
}

#[test]
fn no_burst_ends_inside_a_group() {
    const GROUP: usize = 300;
    let mut fixture = Fixture::new();
    let mut watches = Watches::default();
    watches.begin(pattern(), 0);
    let live = fixture.attach(watches.clone(), 0);
    fixture.drain(live, 0);
    let behind = fixture.attach(watches, 0);
    for _ in 0..3 {
        (1..=GROUP).for_each(|number| fixture.set_joined(number < GROUP));
    }
    for socket in [live, behind] {
        let mut cursor = 0;
        while cursor < fixture.state.head() {
            let mut burst = Vec::new();
            let Next::Messages(next) = fixture.state.next(socket, cursor, &mut burst) else {
                panic!("there are changes after {cursor}");
            };
            assert_eq!(burst.len() % GROUP, 0, "after {cursor}");
            assert_eq!(next, cursor + u64::try_from(burst.len()).unwrap());
            cursor = next;
        }
    }
}

#[test]
fn live_sockets_need_no_ended_watches() {
    let mut fixture = Fixture::new();
    let socket = fixture.attach(Watches::default(), 0);
    assert_eq!(fixture.drain(socket, 0), Some(0));
    for _ in 0..100 {
        fixture.toggle();
        assert!(fixture.ended() <= 1);
        assert_eq!(fixture.drain(socket, 0), Some(1));
        assert_eq!(fixture.ended(), 0);
    }
}

#[test]
fn a_lagging_socket_keeps_watches_that_ended_after_its_cursor() {
    let mut fixture = Fixture::new();
    let live = fixture.attach(Watches::default(), 0);
    fixture.drain(live, 0);
    let behind = fixture.attach(Watches::default(), 0);
    for _ in 0..5 {
        fixture.toggle();
        fixture.set();
    }
    assert_eq!(fixture.drain(live, 0), Some(5));
    assert_eq!(fixture.ended(), 5);
    assert_eq!(fixture.drain(behind, 0), Some(5));
    assert_eq!(fixture.ended(), 0);
    fixture.state.detach(id(), live);
    fixture.state.detach(id(), behind);
    assert_eq!(fixture.state.count(), (0, 0, 0));
}

#[test]
fn a_second_socket_adds_ended_watches_from_the_store() {
    let mut fixture = Fixture::new();
    let first = fixture.attach(Watches::default(), 0);
    fixture.drain(first, 0);
    fixture.toggle();
    fixture.set();
    fixture.drain(first, 0);
    assert_eq!(fixture.ended(), 0);
    let second = fixture.attach(Watches::stored([(pattern(), 1, Some(3))]), 0);
    assert_eq!(fixture.drain(second, 0), Some(1));
    assert_eq!(fixture.ended(), 0);
}

#[test]
fn too_many_ended_watches_close_lagging_sockets() {
    let mut fixture = Fixture::new();
    let live = fixture.attach(Watches::default(), 0);
    fixture.drain(live, 0);
    let behind = fixture.attach(Watches::default(), 0);
    for _ in 0..=MAX_ENDED {
        assert!(!fixture.state.sockets[behind].lost);
        fixture.toggle();
        fixture.drain(live, 0);
    }
    assert_eq!(fixture.ended(), 0);
    assert_eq!(fixture.drain(behind, 0), None);
    fixture.toggle();
    assert_eq!(fixture.drain(live, 0), Some(1));
}

#[test]
fn a_client_whose_next_watch_does_not_fit_loses_its_sockets() {
    let mut watches = Watches::default();
    watches.begin(pattern(), 0);
    let mut fixture = Fixture::with_memory(3 * watches.bytes());
    let used = |fixture: &Fixture| fixture.state.watch_memory.usage().used;
    let sockets = [(); 2].map(|()| fixture.attach(watches.clone(), 0));
    assert_eq!(
        used(&fixture),
        u64::try_from(watches.bytes()).unwrap(),
        "the sockets of a client share its watches"
    );
    let watch = |name| Entry::Watch(id(), Pattern::new("", "", name).unwrap());
    for name in ["a", "b"] {
        fixture.dispatch(watch(name));
        fixture.dispatch(watch(name));
    }
    // A socket that needs an ended watch more does not fit, and the others stay.
    let ended = Watches::stored([(pattern(), 1, Some(3))]);
    let known = ClientState { watches: ended, ..known(fixture.state.head()) };
    let more = fixture.state.attach(id(), known, &stream(MessageFormat::Objects), None);
    assert_eq!(more.err(), Some(NotAttached::NoMemory));
    fixture.set();
    for socket in sockets {
        assert_eq!(fixture.drain(socket, 0), Some(1));
    }
    fixture.dispatch(watch("c"));
    for socket in sockets {
        assert_eq!(fixture.drain(socket, 0), None);
        fixture.state.detach(id(), socket);
    }
    assert_eq!(used(&fixture), 0);
}

#[test]
fn a_reset_for_new_rules_is_acknowledged_after_its_end() {
    for format in [MessageFormat::Objects, MessageFormat::Events] {
        let mut fixture = Fixture::new();
        let mut watches = Watches::default();
        watches.begin(pattern(), 0);
        let socket = fixture.attach_stream(watches, 0, format).socket;
        fixture.drain(socket, 0);
        let rules = Arc::new(AccessRules::new(Vec::new(), b""));
        fixture.dispatch(Entry::Rules(rules.digest()));
        fixture.set();
        let is_reset = format == MessageFormat::Events;
        assert_eq!(fixture.state.acknowledge(socket, 1), !is_reset, "other rules are newer");
        fixture.state.set_rules(rules, Instant::now);
        assert_eq!(fixture.state.acknowledge(socket, 2), !is_reset, "a reset is due");
        let next = fixture.state.next(socket, 2, &mut Vec::new());
        assert_eq!(matches!(next, Next::Reset), is_reset);
        if is_reset {
            fixture.state.start_pass(socket);
            assert!(!fixture.state.acknowledge(socket, 2), "the reset is not over");
            fixture.state.next(socket, 2, &mut Vec::new());
            assert!(fixture.state.acknowledge(socket, 2), "the client has all objects");
        }
    }
}

#[test]
fn a_stream_pauses_before_the_record_of_new_rules_and_shows_an_older_place_until_its_reset() {
    let mut fixture = Fixture::new();
    let mut watches = Watches::default();
    watches.begin(pattern(), 0);
    let Attached { socket, wake, .. } = fixture.attach_stream(watches, 0, MessageFormat::Events);
    fixture.set();
    assert_eq!(fixture.drain(socket, 0), Some(1));
    let resumes_until = |fixture: &Fixture| fixture.state.resumes_until(socket);
    assert_eq!(resumes_until(&fixture), Some(Revision::MAX));
    let rules = |text: &[u8]| Arc::new(AccessRules::new(Vec::new(), text));
    let soon = || Instant::now() + Duration::from_secs(3);
    fixture.state.set_rules(rules(b"a"), soon);
    fixture.set();
    assert_eq!(fixture.drain(socket, 1), Some(0), "the record is missing");
    assert_eq!(resumes_until(&fixture), None, "there was no record");
    fixture.dispatch(Entry::Rules(rules(b"other").digest()));
    assert!(fixture.state.is_paused(socket));
    fixture.dispatch(Entry::Rules(rules(b"a").digest()));
    assert!(!fixture.state.is_paused(socket));
    assert_eq!(resumes_until(&fixture), Some(3), "the reset is due in 3 s");
    fixture.state.start_pass(socket);
    assert_eq!(resumes_until(&fixture), Some(Revision::MAX));
    fixture.dispatch(Entry::Rules(rules(b"b").digest()));
    assert_eq!(
        resumes_until(&fixture),
        Some(4),
        "before the rules that this process does not have"
    );
    fixture.state.set_rules(rules(b"c"), soon);
    assert!(fixture.state.is_paused(socket));
    fixture.state.wake_at(socket, 1);
    assert!(wake.notified().now_or_never().is_none(), "there is nothing to do in the pause");
    assert!(!fixture.state.end_pause().is_empty(), "its record was missed");
    assert!(!fixture.state.is_paused(socket));
    fixture.state.wake_at(socket, 1);
    assert!(wake.notified().now_or_never().is_some());
}

#[test]
fn rules_read_before_missed_records_are_read_again() {
    let mut fixture = Fixture::new();
    fixture.state.start_over(EpochId::default(), 5);
    let stream = stream(MessageFormat::Events);
    for (revision, is_new) in [(4, false), (5, true)] {
        let attached =
            fixture.state.attach_pattern(id(), &known(revision), pattern(), &stream, revision);
        assert_eq!(attached.is_ok(), is_new);
    }
}
