//! Compares batches with single writes, on tables in memory. A batch loads only the rows of
//! [`Needs`]. It must have the same answers and changes as the same writes one by one, each with
//! all rows loaded.

use std::{any::Any, time::Duration};

use jiff::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::{EventType, LineKind, Mail, Movement};

mod api_keys;
mod evidence;
mod limits;
mod members;
mod webhooks;

use generators::{
    Kind, WriteSpec, at, batches, decide_dispute, id, open_dispute, refund, refuse_or_alert,
    setup_batches, writes,
};

type WriteResult = Result<Answer, Rejection>;

/// The number of rows of each balance.
const SHARDS: i64 = 3;

fn ids(first: u64, count: usize) -> Vec<Id> {
    (first..).take(count).map(id).collect()
}

/// The number of facts in these changes. Each has an event. A refusal is a fact, whether or not a
/// step reverses what was refused, and so is an answer to a dispute, and an inquiry, although its
/// dispute may follow at once.
fn facts(changes: &Changes) -> usize {
    let rows = &changes.rows;
    let has_no_row = |event: &&EventRow| {
        matches!(
            event.event_type,
            EventType::AcquirerRefused
                | EventType::DisputeInquiry
                | EventType::DisputeEvidence
                | EventType::DisputeAccepted
        )
    };
    let is_opening = |line: &&LineRow| line.kind == LineKind::Dispute;
    let is_return = |line: &&LineRow| line.kind == LineKind::Returned;
    let is_reversal = |row: &&StepRow| row.reverses.is_some();
    rows.transactions.new_rows().count() + rows.trail.new_rows().count()
        - rows.trail.new_rows().filter(is_reversal).count()
        + rows.events.new_rows().filter(has_no_row).count()
        + rows.lines.new_rows().filter(is_opening).count()
        + rows.fraud_alerts.new_rows().count()
        + rows.payouts.new_rows().count()
        + rows.lines.new_rows().filter(is_return).count()
        + rows.holds.new_rows().count()
        + rows.bank_changes.new_rows().count()
}

/// Removes the merchant's title from a mail, so that answers can be compared: a batch uses
/// the title that it loaded, even if one of its writes changes the title.
fn without_title(answer: WriteResult) -> WriteResult {
    answer.map(|answer| {
        let Answer::Executed(outcome) = answer else { return answer };
        let any: &dyn Any = &*outcome;
        match any.downcast_ref::<Mail>() {
            None => Answer::Executed(outcome),
            Some(mail) => {
                let merchant = None;
                Answer::Executed(Box::new(Mail { merchant, ..mail.clone() }))
            }
        }
    })
}

/// Writes each batch at once and one by one, and compares the results.
struct BatchTester {
    tables: Tables,
    next_id: u64,
    batch: u32,
}

impl BatchTester {
    fn new() -> Self {
        let mut run = Self { tables: Tables::new(), next_id: 1_000, batch: 1 };
        setup_batches().iter().for_each(|batch| run.write(batch, 0));
        run
    }

    /// Writes a batch in both ways. `free` is the index of the balance row that bookings use.
    fn write(&mut self, batch: &[WriteSpec], free: i64) {
        let now = at(self.batch);
        let writes = writes(batch, &self.tables, self.batch);
        let mut at_once = self.tables.clone();
        let needs = Needs::of(&writes);
        let drawn = ids(self.next_id, writes.iter().map(|write| write.action.ids()).sum());
        let known = at_once.load(&needs, (now, drawn.clone()), (SHARDS, free));
        let borrowed: Vec<&Write> = writes.iter().collect();
        let (together, changes) = decide(known, &borrowed).unwrap();

        // Rejected and replayed writes change nothing.
        let (mut done, mut own_ids, mut rest) = (Vec::new(), Vec::new(), &*drawn);
        for (write, answer) in borrowed.iter().zip(&together) {
            let own;
            (own, rest) = rest.split_at(write.action.ids());
            if matches!(answer, Ok(Answer::Executed(_))) {
                done.push(*write);
                own_ids.extend(own);
            }
        }
        let known = at_once.load(&needs, (now, own_ids), (SHARDS, free));
        assert_eq!(decide(known, &done).unwrap().1, changes, "{writes:#?}");
        assert_eq!(changes.rows.events.new_rows().count(), facts(&changes), "{changes:#?}");
        at_once.apply(changes);

        let single = writes.iter().map(|write| without_title(self.single(write, (now, free))));
        let single: Vec<_> = single.collect();
        let together: Vec<_> = together.into_iter().map(without_title).collect();
        assert_eq!(together, single, "{writes:#?}");
        at_once.assert_equal(&self.tables);
        self.batch += 1;
    }

    /// Executes one action alone, with all rows loaded.
    fn execute(&mut self, action: impl Into<Box<dyn AnyAction>>) -> WriteResult {
        self.single(&Write::from(action), (at(99), 0))
    }

    /// Executes actions in one batch.
    fn execute_at_once(&mut self, actions: Vec<Box<dyn AnyAction>>) -> Vec<WriteResult> {
        let writes: Vec<Write> = actions.into_iter().map(Write::from).collect();
        let count = writes.iter().map(|write| write.action.ids()).sum();
        let drawn = ids(self.next_id, count);
        self.next_id += u64::try_from(count).unwrap();
        let known = self.tables.load(&Needs::of(&writes), (at(99), drawn), (SHARDS, 0));
        let (answers, changes) = decide(known, &writes.iter().collect::<Vec<_>>()).unwrap();
        self.tables.apply(changes);
        answers
    }

    /// Executes one write alone, with all rows loaded.
    fn single(&mut self, write: &Write, (now, free): (Timestamp, i64)) -> WriteResult {
        let own = Needs::of([write]);
        let all = Needs { payout: own.payout, ..self.tables.all() };
        let drawn = ids(self.next_id, write.action.ids());
        let known = self.tables.load(&all, (now, drawn), (SHARDS, free));
        let (mut answers, changes) = decide(known, &[write]).unwrap();
        let answer = answers.remove(0);
        if !matches!(answer, Ok(Answer::Executed(_))) {
            assert!(changes.is_empty(), "{write:?}: {answer:?}: {changes:?}");
        }
        self.next_id += u64::try_from(write.action.ids()).unwrap();
        self.tables.apply(changes);
        answer
    }
}

#[test]
fn a_refund_is_reversed_after_a_dispute_won_in_its_batch() {
    let mut run = BatchTester::new();
    let spec = |kind, second, amount| WriteSpec { kind, choice: 1, second, amount, key: None };
    run.write(&[spec(refund, 0, 100)], 0);
    run.write(&[spec(open_dispute, 0, 250)], 0);
    // The dispute is won. The third step, the refund, is refused.
    run.write(&[spec(decide_dispute, 0, 252), spec(refuse_or_alert, 2, 255)], 0);
    let reversed = |row: &&StepRow| row.reverses == Some(2);
    assert_eq!(run.tables.trail.values().filter(reversed).count(), 1);
}

#[test]
fn two_refunds_of_a_batch_load_the_captures_of_both() {
    let mut run = BatchTester::new();
    let refund = WriteSpec { kind: refund, choice: 1, second: 0, amount: 300, key: None };
    run.write(&[refund, refund], 0);
    let refunds = run.tables.trail.values().filter(|row| row.step.movement == Movement::Refund);
    assert_eq!(refunds.count(), 2);
}

proptest! {
    #[test]
    fn a_batch_equals_its_writes_one_by_one(batches in batches(), free in 0..SHARDS) {
        let mut run = BatchTester::new();
        for batch in &batches {
            run.write(batch, free);
        }
    }
}
