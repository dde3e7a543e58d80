//! Writes of one batch that depend on each other.

use std::time::Duration;

use uuid::Uuid;

use super::*;
use crate::domain::{
    Cause, Intent, Lifespan, Lifetime, Object, Owner, OwnerRule, Permit, Precondition,
    PresenceGrace, Value,
};

fn rules() -> Rules {
    Rules {
        owner: OwnerRule::Free,
        lifetime: Lifetime::new(Duration::from_secs(60)),
        grace: PresenceGrace::new(Duration::from_secs(10)),
        max_clients: 2,
        max_watches: 2,
    }
}

/// A store whose newest revision is 10, with one client that watches nothing.
fn known() -> LoadedRows {
    LoadedRows {
        head: Head { revision: 10, bytes: 1000, clients: 1 },
        clients: HashMap::from([(client(1), ClientWatches::default())]),
        ..LoadedRows::default()
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

fn intent() -> Intent {
    let (precondition, permit) = (Precondition::default(), Permit::Always);
    Intent { client: client(1), precondition, permit, tracks_owner: false }
}

fn set(owner: &str, intent: Intent) -> Write {
    let value = Value::compact("{}").unwrap();
    let object = Arc::new(Object { key: key(), value, owner: Owner::new(owner).unwrap() });
    Write::Change(Operation::Set { object, intent, lifespan: Lifespan::default() })
}

fn delete(intent: Intent) -> Write {
    Write::Change(Operation::Delete { key: key(), intent })
}

/// The revision or refusal of each write, and the changes.
fn decided(known: LoadedRows, writes: &[Write]) -> (Vec<Result<Revision, Refusal>>, Changes) {
    let writes: Vec<_> = writes.iter().collect();
    let (answers, changes) = decide(&rules(), known, &writes).unwrap();
    let answer = |answer: Answer| answer.map(|done| done.revision).map_err(|it| it.refusal);
    (answers.into_iter().map(answer).collect(), changes)
}

#[test]
fn an_object_is_written_once_and_logged_each_time() {
    let set = || set(OWNER, intent());
    let (_, changes) = decided(known(), &[set(), set(), delete(intent()), set()]);
    assert_eq!(
        (changes.set_objects.len(), changes.set_objects[0].revision, changes.deleted_objects.len()),
        (1, 14, 0)
    );
    let revisions: Vec<_> = changes.records.iter().map(|(record, _)| record.revision).collect();
    assert_eq!(revisions, [11, 12, 13, 14]);
    assert!(changes.records.is_sorted_by_key(|(_, bytes_through)| *bytes_through));
    assert_eq!(changes.records.last().unwrap().1, changes.head.bytes);
}

#[test]
fn a_removed_client_cannot_watch() {
    let write = Write::Watch { client: client(2), pattern: pattern("t") };
    assert_eq!(decided(known(), &[write]).0, [Err(Refusal::ClientRemoved)]);
}

fn register(number: u128, token: &str) -> Write {
    Write::Register { client: client(number), token: TokenDigest::of(token), now: 0 }
}

#[test]
fn at_the_limit_a_new_session_ends_the_one_that_expires_first() {
    let stored = (0..100).map(|number| (TokenDigest::of(&number.to_string()), number));
    let sessions = HashMap::from([(client(1), stored.collect())]);
    let first = TokenDigest::of("0");
    let extend = Write::Extend { token: first, now: 100 };
    let (_, changes) =
        decided(LoadedRows { sessions, ..known() }, &[extend, register(1, "a"), register(1, "b")]);
    assert!(changes.deleted_sessions == ["1", "2"].map(TokenDigest::of));
    assert_eq!((changes.new_sessions.len(), changes.extended_sessions.len()), (2, 1));
}

fn due(number: u128, unused_until: Option<Timestamp>, open: u64, ended: u64) -> DueClient {
    let counts = WatchCounts { open, ended };
    DueClient { client: client(number), unused_until, counts }
}

#[test]
fn a_reap_removes_clients_until_it_has_removed_many_watches() {
    let half = REAP_WATCHES / 2;
    let clients = vec![due(1, None, half, 0), due(2, None, 0, half), due(3, None, 1, 0)];
    let known = LoadedRows { due: Due { clients, more: false }, ..known() };
    let (answers, changes) = decide(&rules(), known, &[&Write::Reap { now: 0 }]).unwrap();
    assert_eq!(answers, [Ok(Done { revision: 12, more: true })]);
    assert_eq!(changes.deleted_clients, [client(1), client(2)]);
}

#[test]
fn clients_without_sessions_and_unused_clients_are_removed() {
    const NOW: Timestamp = 100_000;
    let lifetime = rules().lifetime.millis();
    let due = |number, unused_until, open| due(number, unused_until, open, 0);
    let clients = vec![
        due(1, None, 3),          // All sessions ended a lifetime ago.
        due(2, None, 0),          // One session is left.
        due(3, Some(NOW), 0),     // Unused.
        due(4, Some(NOW), 1),     // Has a watch, so it is used.
        due(5, Some(NOW + 1), 0), // Not yet due.
    ];
    let over = |number: u128| (TokenDigest::of(&format!("over {number}")), NOW - lifetime);
    let live = |number: u128| (TokenDigest::of(&format!("live {number}")), NOW - lifetime + 1);
    let sessions = HashMap::from([
        (client(1), vec![over(1)]),
        (client(2), vec![over(2), live(2)]),
        (client(3), vec![live(3)]),
        (client(4), vec![live(4)]),
        (client(5), vec![live(5)]),
    ]);
    let head = Head { clients: 5, ..known().head };
    let known = LoadedRows { head, sessions, due: Due { clients, more: true }, ..known() };
    let batch = [&Write::Reap { now: NOW }];
    let (answers, changes) = decide(&rules(), known, &batch).unwrap();
    assert_eq!(answers, [Ok(Done { revision: 12, more: true })]);
    assert_eq!(changes.deleted_clients, [client(1), client(3)]);
    assert_eq!((changes.unused, changes.head.clients), (vec![(client(4), None)], 3));
    assert!(changes.deleted_sessions == [over(1).0, over(2).0, live(3).0]);
}

#[test]
fn an_expiry_deletes_each_object_once_with_its_first_cause() {
    let object = |name| {
        let key = Key::new("t", "ns", name).unwrap();
        let (value, owner) = (Value::compact("{}").unwrap(), Owner::new("o").unwrap());
        Arc::new(Object { key, value, owner })
    };
    let [first, second] = ["first", "second"].map(object);
    let expired = [(&first, Cause::Expired), (&first, Cause::Gone), (&second, Cause::Gone)]
        .map(|(object, cause)| (Arc::clone(object), cause));
    let known = LoadedRows { expired: expired.into(), absent: vec![client(2)], ..known() };
    let (answers, changes) = decided(known, &[Write::Expire { gone: true, now: 0 }]);
    assert_eq!(answers, [Ok(12)]);
    let keys = [&first, &second].map(|object| object.key.clone());
    assert_eq!(changes.deleted_objects.into_iter().collect::<HashSet<_>>(), HashSet::from(keys));
    assert_eq!(changes.ended_presences, [client(2)]);
    let entries: Vec<_> = changes.records.into_iter().map(|(record, _)| record.entry).collect();
    let deletions = [(first, Cause::Expired), (second, Cause::Gone)];
    assert_eq!(entries, deletions.map(|(object, cause)| Entry::Delete(object, Some(cause))));
}

const OWNER: &str = "00000000-0000-0000-0000-000000000001";
const OTHER: &str = "00000000-0000-0000-0000-000000000002";

/// A set of client 1, which may write its own objects.
fn set_as_owner(owner: &str) -> Write {
    set(owner, Intent { permit: Permit::AsOwner, tracks_owner: true, ..intent() })
}

fn delete_as_owner() -> Write {
    delete(Intent { permit: Permit::AsOwner, ..intent() })
}

#[test]
fn an_owner_writes_and_deletes_only_own_objects() {
    let foreign = {
        let owner = Owner::new(OTHER).unwrap();
        let current = CurrentObject { owner, revision: 3, lifespan: StoredLifespan::default() };
        LoadedRows { current: HashMap::from([(key(), current)]), ..known() }
    };
    let (answers, _) = decided(foreign, &[set_as_owner(OWNER)]);
    assert_eq!(answers, [Err(Refusal::NotAllowed)]);

    let own = || set_as_owner(OWNER);
    let batch = [set_as_owner(OTHER), delete_as_owner(), own(), own(), delete_as_owner()];
    let (revisions, changes) = decided(known(), &batch);
    let refused = Err(Refusal::NotAllowed);
    assert_eq!(revisions, [refused, refused, Ok(11), Ok(12), Ok(13)]);
    assert_eq!(changes.records.len(), 3);
}

#[test]
fn a_set_records_the_owner_that_it_replaces() {
    let of = |owner: &str, tracks_owner| set(owner, Intent { tracks_owner, ..intent() });
    let batch = [of(OWNER, true), of(OWNER, true), of(OTHER, true), of(OWNER, false)];
    let batch: Vec<_> = batch.iter().collect();
    let (_, changes) = decide(&rules(), known(), &batch).unwrap();
    let before = changes.records.iter().map(|(record, _)| match &record.entry {
        Entry::Set { before, .. } => before.as_ref().map(Owner::as_str),
        entry => panic!("{entry:?}"),
    });
    assert_eq!(before.collect::<Vec<_>>(), [None, None, Some(OWNER), None]);
}

#[test]
fn rules_are_recorded_once() {
    let adopt = |digest| Write::AdoptRules { digest: RulesDigest(digest) };
    let batch = [adopt(None), adopt(Some([1; 32])), adopt(Some([1; 32])), adopt(None)];
    let batch: Vec<_> = batch.iter().collect();
    let (_, changes) = decide(&rules(), known(), &batch).unwrap();
    assert_eq!(changes.rules, Some(AdoptedRules { digest: RulesDigest(None), revision: 12 }));
    assert_eq!(changes.records.len(), 2);
}
