//! The queue, compared with a store in memory: random entries, failures, restarts.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::{AcquirerKey, AcquirerName, Authorization, OutboxKind};

fn id(number: usize) -> Id {
    Id::stored(u128::try_from(number).unwrap().to_be_bytes()[4..].try_into().unwrap())
}

fn entry(number: usize, transaction: usize) -> OutboxEntry {
    let key = AcquirerKey::Id(id(number));
    OutboxEntry {
        id: id(number),
        key,
        transaction: id(1_000 + transaction),
        authorization: Authorization { acquirer: Some(AcquirerName::Http), key, id: None },
        reference: None,
        kind: OutboxKind::Capture,
        currency: "EUR".parse().unwrap(),
        amount: 1,
        descriptor: None,
        is_first_capture: false,
        is_last: false,
        dispute: None,
        trace: None,
        evidence: None,
        captures_once: false,
    }
}

/// A stored entry.
struct Row {
    entry: OutboxEntry,
    attempts: u32,
    due: Option<Timestamp>,
}

/// The rows that the job reads: new ones, and postponed ones that are due.
fn read(rows: &BTreeMap<Id, Row>, now: Timestamp) -> Vec<QueuedEntry> {
    let is_read = |row: &&Row| row.due.is_none_or(|due| due <= now);
    let queued = |row: &Row| {
        let is_before = |other: &&Row| {
            other.entry.transaction == row.entry.transaction
                && other.entry.id < row.entry.id
                && other.due.is_some()
        };
        let behind =
            rows.values().find(is_before).map(|first| (first.entry.id, first.due.unwrap()));
        QueuedEntry {
            entry: row.entry.clone(),
            attempts: row.attempts,
            behind,
            is_held: false,
            valid_until: None,
        }
    };
    rows.values().filter(is_read).map(queued).collect()
}

fn postpone(rows: &mut BTreeMap<Id, Row>, postponed: &[Postponed], now: Timestamp) {
    for &Postponed { entry, attempts, delay } in postponed {
        let row = rows.get_mut(&entry).unwrap();
        (row.attempts, row.due) = (attempts, Some(now + delay));
    }
}

#[test]
fn the_delay_doubles_up_to_an_hour() {
    let delays = (1..=13).map(|attempts| retry_delay(attempts).as_secs());
    let expected = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600];
    assert_eq!(delays.collect::<Vec<_>>(), expected);
    assert_eq!(retry_delay(u32::MAX), MAX_DELAY);
}

#[test]
fn a_failed_entry_postpones_those_behind_it_and_no_others() {
    let now = Timestamp::UNIX_EPOCH;
    let mut queue = OutboxQueue::default();
    for (number, transaction) in [(1, 1), (2, 2), (3, 1)] {
        let queued = QueuedEntry {
            entry: entry(number, transaction),
            attempts: 3,
            behind: None,
            is_held: false,
            valid_until: None,
        };
        assert_eq!(queue.add(queued.clone(), now), None);
        assert_eq!(queue.add(queued, now), None, "added once");
    }
    assert_eq!(queue.count(), 3);
    let sent: Vec<Id> =
        std::iter::from_fn(|| queue.take_next()).map(|queued| queued.entry.id).collect();
    assert_eq!(sent, [id(1), id(2)]);
    let delay = Duration::from_secs(8);
    let postponed = [(id(1), 4), (id(3), 3)];
    let postponed = postponed.map(|(entry, attempts)| Postponed { entry, attempts, delay });
    assert_eq!(queue.finish(id(1_001), Sent::Failed), postponed);
    assert_eq!(queue.finish(id(1_002), Sent::Answered), []);
    assert_eq!((queue.count(), queue.take_next()), (0, None));
    // Meanwhile a further entry of the first transaction is read.
    let behind = Some((id(1), now + delay));
    let later =
        QueuedEntry { entry: entry(4, 1), attempts: 0, behind, is_held: false, valid_until: None };
    let postponed = Postponed { entry: id(4), attempts: 0, delay };
    assert_eq!(queue.add(later, now), Some(postponed));
}

#[test]
fn a_held_capture_waits_and_so_do_those_behind_it() {
    let now = Timestamp::UNIX_EPOCH;
    let mut queue = OutboxQueue::default();
    let queued = |number, transaction, kind, is_held| {
        let entry = OutboxEntry { kind, ..entry(number, transaction) };
        QueuedEntry { entry, attempts: 2, behind: None, is_held, valid_until: None }
    };
    let read = [
        queued(1, 1, OutboxKind::Void, true),
        queued(2, 2, OutboxKind::Capture, true),
        queued(3, 2, OutboxKind::Refund, true),
        queued(4, 3, OutboxKind::Capture, false),
        queued(5, 3, OutboxKind::Refund, false),
    ];
    let postponed = queue.add_all(read, now);
    let expected =
        [2, 3].map(|number| Postponed { entry: id(number), attempts: 2, delay: HELD_DELAY });
    assert_eq!(postponed, expected);
    assert_eq!(queue.count(), 3);
    // Until its authorization ends: then it is refused.
    let ended = QueuedEntry { valid_until: Some(now), ..queued(2, 2, OutboxKind::Capture, true) };
    assert_eq!(queue.add_all([ended, queued(3, 2, OutboxKind::Refund, true)], now), []);
    assert_eq!(queue.count(), 5);
}

#[test]
fn entries_that_are_not_being_sent_can_be_read_again() {
    let now = Timestamp::UNIX_EPOCH;
    let queued = |number, transaction, is_held| {
        let entry = entry(number, transaction);
        QueuedEntry { entry, attempts: 0, behind: None, is_held, valid_until: None }
    };
    let read = |is_held| [queued(1, 1, is_held), queued(2, 1, is_held), queued(3, 2, is_held)];
    let mut queue = OutboxQueue::default();
    assert_eq!(queue.add_all(read(false), now), []);
    let sent = queue.take_next().unwrap();
    queue.forget_waiting();
    assert_eq!((queue.count(), queue.take_next()), (1, None));
    let postponed: Vec<_> = queue.add_all(read(true), now).iter().map(|it| it.entry).collect();
    assert_eq!(postponed, [id(2), id(3)]);
    assert_eq!(queue.finish(sent.entry.transaction, Sent::Answered), []);
    assert_eq!((queue.count(), queue.take_next()), (0, None));
}

proptest! {
    /// Every entry is carried out, in order within its transaction, whatever fails, and however
    /// often the process restarts before it has recorded its results.
    #[test]
    fn entries_are_carried_out_in_order(
        transactions in prop::collection::vec(0..4_usize, 1..30),
        events in prop::collection::vec((any::<u8>(), any::<bool>()), 0..300),
    ) {
        let mut rows = BTreeMap::new();
        let mut new = transactions.into_iter().enumerate();
        let (mut queue, mut now) = (OutboxQueue::default(), Timestamp::UNIX_EPOCH);
        let mut sending = BTreeMap::new();
        let mut carried_out = Vec::new();
        let endless = std::iter::repeat((0, true));
        for (event, succeeds) in events.into_iter().chain(endless) {
            match event % 8 {
                1 | 2 => {
                    if let Some((number, transaction)) = new.next() {
                        let entry = entry(number, transaction);
                        rows.insert(entry.id, Row { entry, attempts: 0, due: None });
                    }
                }
                3 if event > 200 => (queue, sending) = (OutboxQueue::default(), BTreeMap::new()),
                4 => now += Duration::from_secs(1),
                _ => {
                    let read = read(&rows, now);
                    let postponed: Vec<_> =
                        read.into_iter().filter_map(|queued| queue.add(queued, now)).collect();
                    postpone(&mut rows, &postponed, now);
                    if let Some(queued) = queue.take_next() {
                        let before = sending.insert(queued.entry.transaction, queued.entry.id);
                        prop_assert_eq!(before, None, "one entry of a transaction at a time");
                    }
                    if let Some((transaction, entry)) = sending.pop_first() {
                        if succeeds {
                            carried_out.push((transaction, entry));
                            rows.remove(&entry);
                        }
                        let sent = if succeeds { Sent::Answered } else { Sent::Failed };
                        let postponed = queue.finish(transaction, sent);
                        postpone(&mut rows, &postponed, now);
                    } else if new.len() == 0 && rows.is_empty() {
                        break;
                    } else if event == 0 {
                        now += Duration::from_secs(1);
                        if let Some((number, transaction)) = new.next() {
                            let entry = entry(number, transaction);
                            rows.insert(entry.id, Row { entry, attempts: 0, due: None });
                        }
                    }
                }
            }
        }
        let distinct: BTreeSet<_> = carried_out.iter().collect();
        prop_assert_eq!(distinct.len(), carried_out.len());
        for transaction in 0..4 {
            let own = carried_out.iter().filter(|(of, _)| *of == id(1_000 + transaction));
            let own: Vec<Id> = own.map(|(_, entry)| *entry).collect();
            prop_assert!(own.is_sorted(), "{own:?}");
        }
    }
}
