//! What operations of one batch see of each other.

use std::time::Duration;

use uuid::Uuid;

use super::*;
use crate::domain::{Owner, Precondition, Tag, Value};

const EPOCH: u64 = 7;

fn rules() -> Rules {
    Rules {
        epoch: Epoch::new(EPOCH),
        owner: OwnerRule::Free,
        lifetime: Lifetime::new(Duration::from_secs(60)),
        max_clients: 2,
        max_watches: 2,
    }
}

/// A store whose newest revision is 10, with one client that watches nothing.
fn known() -> Known {
    Known {
        head: Head { revision: 10, bytes: 1000, clients: 1 },
        objects: HashMap::new(),
        clients: HashMap::from([(client(1), Watching::default())]),
        watches: HashMap::new(),
    }
}

fn client(number: u128) -> ClientId {
    ClientId::new(Uuid::from_u128(number)).unwrap()
}

fn key() -> Key {
    Key::new("t", "ns", "n").unwrap()
}

fn pattern(kind: &str) -> Pattern {
    Pattern::new(kind, "", "").unwrap()
}

fn intent(if_match: &[&str], if_none_match: &[&str]) -> Intent {
    let precondition = Precondition::parse(if_match, if_none_match).unwrap();
    Intent { client: client(1), precondition }
}

fn set(if_match: &[&str], if_none_match: &[&str]) -> Operation {
    let value = Value::compact("{}").unwrap();
    let object = Object { key: key(), value, owner: Owner::new("o").unwrap() };
    Operation::Set { object: Arc::new(object), intent: intent(if_match, if_none_match) }
}

fn delete() -> Operation {
    Operation::Delete { key: key(), intent: intent(&[], &[]) }
}

fn answers(operations: &[Operation]) -> Vec<Answer> {
    Fold::of(rules(), &known(), operations.iter()).ok().unwrap().1
}

#[test]
fn a_precondition_sees_the_operations_before_it() {
    let first = Tag::new(Epoch::new(EPOCH), 11).to_string();
    let operations = [
        set(&[], &["*"]),
        set(&[], &["*"]),
        set(&[&first], &[]),
        set(&[&first], &[]),
        delete(),
        delete(),
        set(&[], &["*"]),
    ];
    let expected = [
        Ok(11),
        Err(Refusal::PreconditionFailed),
        Ok(12),
        Err(Refusal::PreconditionFailed),
        Ok(13),
        Err(Refusal::NoObject),
        Ok(14),
    ];
    assert_eq!(answers(&operations), expected);
}

#[test]
fn of_an_object_only_the_last_is_written_and_the_log_has_all() {
    let (known, operations) = (known(), [set(&[], &[]), set(&[], &[]), delete(), set(&[], &[])]);
    let (fold, _) = Fold::of(rules(), &known, operations.iter()).ok().unwrap();
    let last = fold.objects.get(&key()).unwrap().as_ref().unwrap();
    assert_eq!((fold.objects.len(), last.1), (1, 14));
    let revisions: Vec<_> = fold.records.iter().map(|(record, _)| record.revision).collect();
    assert_eq!(revisions, [11, 12, 13, 14]);
    assert!(fold.records.is_sorted_by_key(|(_, bytes_through)| *bytes_through));
    assert_eq!(fold.records.last().unwrap().1, fold.head.bytes);
}

#[test]
fn a_watch_may_end_in_the_batch_it_begins_in() {
    let (pattern, other, third) = (pattern("t"), pattern("u"), pattern("v"));
    let client = client(1);
    let known = known();
    let operations = [
        Operation::Watch { client, pattern: pattern.clone() },
        Operation::Watch { client, pattern: pattern.clone() },
        Operation::Watch { client, pattern: other },
        Operation::Watch { client, pattern: third.clone() },
        Operation::Unwatch { client, pattern: pattern.clone() },
        Operation::Unwatch { client, pattern },
        Operation::Watch { client, pattern: third },
    ];
    let (fold, answers) = Fold::of(rules(), &known, operations.iter()).ok().unwrap();
    let too_many = Err(Refusal::TooManyWatches);
    assert_eq!(answers, [Ok(11), Ok(11), Ok(12), too_many, Ok(13), Ok(13), Ok(14)]);
    let begun: Vec<_> = fold.begun.iter().map(|stretch| (stretch.since, stretch.until)).collect();
    assert_eq!(begun, [(11, Some(13)), (12, None), (14, None)]);
    assert!(fold.ended.is_empty());
    assert_eq!(fold.clients[&client].counts, WatchCounts { open: 2, ended: 1 });
}

#[test]
fn a_watch_begun_before_ends_and_begins_again() {
    let pattern = pattern("t");
    let client = client(1);
    let mut known = known();
    let counts = WatchCounts { open: 1, ended: 0 };
    known.clients.insert(client, Watching { counts, is_counted: false });
    known.watches.insert((client, pattern.clone()), 7);
    let operations = [
        Operation::Unwatch { client, pattern: pattern.clone() },
        Operation::Watch { client, pattern },
    ];
    let (fold, answers) = Fold::of(rules(), &known, operations.iter()).ok().unwrap();
    assert_eq!(answers, [Ok(11), Ok(12)]);
    assert_eq!((fold.ended[0].since, fold.ended[0].until), (7, Some(11)));
    assert_eq!(fold.begun[0].since, 12);
    assert_eq!(fold.clients[&client].counts, WatchCounts { open: 1, ended: 1 });
}

#[test]
fn clients_are_counted_within_the_batch_and_registered_once() {
    let register = |number| Operation::Register {
        client: client(number),
        token: TokenDigest::of(&number.to_string()),
        now: 0,
    };
    let known = known();
    let operations = [register(1), register(2), register(2), register(3)];
    let (fold, answers) = Fold::of(rules(), &known, operations.iter()).ok().unwrap();
    assert_eq!(answers, [Ok(10), Ok(10), Ok(10), Err(Refusal::TooManyClients)]);
    let registered =
        Registered { client: client(2), position: 10, unused_until: Session::unused_until(0) };
    assert_eq!(fold.registered, [registered]);
    assert_eq!((fold.sessions.len(), fold.head.clients), (3, 2));
    assert!(fold.records.is_empty());
}
