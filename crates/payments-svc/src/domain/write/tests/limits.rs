//! The limits of balances, and writes that panic.

use super::*;
use crate::domain::{LineKind, MovementError, Overflow};

const OVERFLOW: Rejection = Rejection::Movement(MovementError::Overflow(Overflow));

/// Executes one write for the first transaction, with `balance` as the row of its merchant's
/// balance. Returns the row afterwards.
fn moved(kind: Kind, balance: i64) -> Result<i64, Rejection> {
    let mut run = BatchTester::new();
    let transaction = run.tables.transactions.values().next().unwrap();
    let row = (transaction.merchant, 0);
    run.tables.balances.get_mut(&row).unwrap().minor = balance;
    let spec = WriteSpec { kind, choice: 1, second_choice: 1, amount: 100, key: None };
    let writes = Batch::Writes(vec![spec]).writes(&run.tables, 99);
    let before = run.tables.clone();
    let answer = run.single(&writes[0], (at(99), 0));
    assert!(answer.is_ok() || run.tables == before);
    answer.map(|_| run.tables.balances[&row].minor)
}

#[test]
fn a_capture_fills_a_balance_row_up_to_the_limit() {
    const MOST: i64 = 1 << 58;
    let gain = moved(Kind::Capture, 0).unwrap();
    assert!(gain > 0);
    assert_eq!(moved(Kind::Capture, MOST - gain), Ok(MOST));
    assert_eq!(moved(Kind::Capture, MOST - gain + 1), Err(OVERFLOW));
    assert_eq!(moved(Kind::Capture, MOST), Err(OVERFLOW));
    assert_eq!(moved(Kind::Capture, i64::MAX), Err(OVERFLOW));
    // The sum of 16 rows, the most of any engine, does not overflow.
    assert!(MOST.checked_mul(16).is_some());
}

#[test]
fn refunds_and_disputes_are_rejected_only_on_overflow() {
    for kind in [Kind::Refund, Kind::Opened] {
        let gain = moved(kind, 0).unwrap();
        assert!(gain < 0);
        assert_eq!(moved(kind, i64::MAX), Ok(i64::MAX + gain));
        assert_eq!(moved(kind, i64::MIN - gain), Ok(i64::MIN));
        assert_eq!(moved(kind, i64::MIN - gain - 1), Err(OVERFLOW));
        assert_eq!(moved(kind, i64::MIN), Err(OVERFLOW));
    }
}

#[test]
fn an_early_decision_and_its_dispute_are_booked_together() {
    let mut run = BatchTester::new();
    let spec = |kind| WriteSpec { kind, choice: 9, second_choice: 1, amount: 100, key: None };
    run.write(&Batch::Writes(vec![spec(Kind::Decided)]), 0);
    let transaction = run.tables.transactions.keys().nth(1).unwrap();
    let merchant = run.tables.transactions[transaction].merchant;
    let opened = WriteSpec { amount: 101, ..spec(Kind::Opened) };
    let opened = Batch::Writes(vec![opened]).writes(&run.tables, 99);
    for balance in [i64::MIN, i64::MIN + 3_000] {
        run.tables.balances.get_mut(&(merchant, 0)).unwrap().minor = balance;
        let before = run.tables.clone();
        assert_eq!(run.single(&opened[0], (at(99), 0)), Err(OVERFLOW), "{balance}");
        assert_eq!(run.tables, before);
    }
    run.tables.balances.get_mut(&(merchant, 0)).unwrap().minor = 0;
    assert!(run.single(&opened[0], (at(99), 0)).is_ok());
    let lines = run.tables.lines.values().rev().take(2).map(|line| line.kind);
    assert_eq!(lines.collect::<Vec<_>>(), [LineKind::Won, LineKind::Dispute]);
}

#[test]
fn the_index_of_a_panicking_write_is_returned() {
    let run = BatchTester::new();
    let spec = |kind| WriteSpec { kind, choice: 1, second_choice: 1, amount: 100, key: None };
    let specs =
        vec![spec(Kind::AddApp), spec(Kind::AddUser), spec(Kind::CreateApp), spec(Kind::Capture)];
    let writes = Batch::Writes(specs).writes(&run.tables, 99);
    let needs = Needs::of(&writes);
    // No IDs: the creation of the app panics.
    let known = run.tables.load(&needs, (at(99), Vec::new()), (SHARDS, 0));
    let decided = decide(known, &writes.iter().collect::<Vec<_>>());
    assert_eq!(decided.map(|(answers, _)| answers), Err(2));
}
