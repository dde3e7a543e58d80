//! The limits of balances, and writes that panic.

use super::{
    generators::{add_app, capture, create_app},
    *,
};
use crate::{
    Account, Amounts, Currency, Fee, LedgerEntry, LineKind, Money, MovementError, Overflow,
    Posting, TransactionChange, write,
};

const OVERFLOW: Rejection = Rejection::Movement(MovementError::Overflow(Overflow));

/// A write about the first rows.
fn spec(kind: Kind) -> WriteSpec {
    WriteSpec { kind, choice: 1, second: 1, amount: 100, key: None }
}

/// Executes one write for the first transaction, with `balance` as the row of its merchant's
/// balance. Returns the row afterwards.
fn moved(kind: Kind, balance: i64) -> Result<i64, Rejection> {
    let mut run = BatchTester::new();
    let transaction = run.tables.transactions.values().next().unwrap();
    let row = (transaction.merchant, 0);
    run.tables.balances.get_mut(&row).unwrap().minor = balance;
    let writes = writes(&[spec(kind)], &run.tables, 99);
    let before = run.tables.clone();
    let answer = run.single(&writes[0], (at(99), 0));
    assert!(answer.is_ok() || run.tables == before);
    answer.map(|_| run.tables.balances[&row].minor)
}

#[test]
fn a_capture_fills_a_balance_row_up_to_the_limit() {
    const MOST: i64 = 1 << 58;
    let gain = moved(capture, 0).unwrap();
    assert!(gain > 0);
    assert_eq!(moved(capture, MOST - gain), Ok(MOST));
    assert_eq!(moved(capture, MOST - gain + 1), Err(OVERFLOW));
    assert_eq!(moved(capture, MOST), Err(OVERFLOW));
    assert_eq!(moved(capture, i64::MAX), Err(OVERFLOW));
    // The sum of 16 rows, the most of any engine, does not overflow.
    assert!(MOST.checked_mul(16).is_some());
}

#[test]
fn refunds_and_disputes_are_rejected_only_on_overflow() {
    for kind in [refund as Kind, open_dispute] {
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
    let spec = |kind| WriteSpec { choice: 9, ..spec(kind) };
    run.write(&[spec(decide_dispute)], 0);
    let transaction = run.tables.transactions.keys().nth(1).unwrap();
    let merchant = run.tables.transactions[transaction].merchant;
    let opened = WriteSpec { amount: 101, ..spec(open_dispute) };
    let opened = writes(&[opened], &run.tables, 99);
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
    let kinds: [Kind; 4] = [add_app, add_app, create_app, capture];
    let writes = writes(&kinds.map(spec), &run.tables, 99);
    let needs = Needs::of(&writes);
    // No IDs: the creation of the app panics.
    let known = run.tables.load(&needs, (at(99), Vec::new()), (SHARDS, 0));
    let decided = decide(known, &writes.iter().collect::<Vec<_>>());
    assert_eq!(decided.map(|(answers, _)| answers), Err(2));
}

/// An action with a bug: its decision is this function.
struct Bug(fn(&mut write::Batch) -> Result<(), Rejection>);

impl std::fmt::Debug for Bug {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Bug")
    }
}

impl Action for Bug {
    type Outcome = ();

    fn needs(&self, _: &mut Needs) {}

    fn decide(&self, batch: &mut write::Batch) -> Result<(), Rejection> {
        (self.0)(batch)
    }
}

/// The changes of this decision about all rows. `Err` if it panics.
fn decided(bug: fn(&mut write::Batch) -> Result<(), Rejection>) -> Result<Changes, usize> {
    let tables = BatchTester::new().tables;
    let write = Write::from(Bug(bug));
    let known = tables.load(&tables.all(), (at(99), ids(1, write.action.ids())), (SHARDS, 0));
    decide(known, &[&write]).map(|(_, changes)| changes)
}

const EURO: Money = Money { currency: Currency::EUR, minor: 100 };

#[test]
fn a_decision_that_books_an_unbalanced_entry_panics() {
    let posted = decided(|batch| {
        let posting = Posting { account: Account::Fees, money: EURO };
        batch.post(id(1), &LedgerEntry::of(vec![posting]));
        Ok(())
    });
    assert_eq!(posted, Err(0));
}

#[test]
fn a_decision_that_captures_more_than_was_authorized_panics() {
    let moved = decided(|batch| {
        let (&transaction, loaded) = batch.loaded.transactions.iter().next().unwrap();
        let amounts = loaded.state.amounts;
        let change = TransactionChange {
            movement: None,
            amount: 0,
            amounts: Amounts { captured: amounts.amount + 1, ..amounts },
            captures: Vec::new(),
            balance: 0,
            fee: Fee::default(),
            booking: None,
        };
        batch.record_change(transaction, change, None, StepOrigin::Dispute(id(1)))?;
        Ok(())
    });
    assert_eq!(moved, Err(0));
}

#[test]
fn an_unbalanced_line_is_found_before_it_is_written() {
    let changes = decided(|batch| {
        for (line, number, minor) in [(1, 0, 100), (1, 1, -100), (2, 0, 100), (2, 1, -99)] {
            let money = Money { minor, ..EURO };
            let row = PostingRow { line: id(line), number, account: Account::Fees, money };
            batch.rows.postings.insert(row);
        }
        Ok(())
    });
    assert_eq!(changes.unwrap().unbalanced_line(), Some(id(2)));
}
