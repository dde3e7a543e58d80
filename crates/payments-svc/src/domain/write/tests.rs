//! Batches in memory: writes in one batch that loads what it needs do what the same writes do one
//! by one, each of which sees everything.

use std::time::Duration;

use jiff::Timestamp;
use proptest::prelude::*;

use super::*;

pub(crate) mod asks;
mod limits;
pub(crate) mod model;

use asks::{Batch, batches, beginning, id};
use model::Tables;

type Decision = Result<Answer, Refusal>;

/// A balance is kept in so many rows.
const SHARDS: i64 = 3;

/// The time of a batch.
fn at(batch: u32) -> Timestamp {
    Timestamp::from_second(1_790_000_000).unwrap() + Duration::from_secs(10) * batch
}

/// The ids from this one on.
fn ids(first: u64, count: usize) -> Vec<Id> {
    (first..).take(count).map(id).collect()
}

/// How many ids were drawn for changes.
fn drawn(changes: &Changes) -> usize {
    changes.apps.len()
        + changes.users.len()
        + changes.merchants.len()
        + changes.invitations.len()
        + changes.operations.len()
        + changes.transactions.len()
        + changes.lines.len()
        + changes.instructions.len()
        + changes.cards.len()
        + changes.disputes.len()
        + changes.frauds.len()
        + usize::from(changes.payout.is_some())
}

/// The title of a merchant in an invitation is the one at the beginning of the batch, as if the
/// invitation had been taken first.
fn answered(answer: Decision) -> Decision {
    answer.map(|answer| match answer {
        Answer::Fresh { outcome: Outcome::Invitation(mut invitation), step } => {
            invitation.merchant.clear();
            Answer::Fresh { outcome: Outcome::Invitation(invitation), step }
        }
        answer => answer,
    })
}

/// Both ways of writing batches.
struct Run {
    tables: Tables,
    next_id: u64,
    batch: u32,
}

impl Run {
    fn new() -> Self {
        let mut run = Self { tables: Tables::default(), next_id: 1_000, batch: 1 };
        beginning().iter().for_each(|batch| run.write(batch, 0));
        run
    }

    /// Writes a batch, and compares. Bookings find the row `free` of a balance.
    fn write(&mut self, batch: &Batch, free: i64) {
        let now = at(self.batch);
        let writes = batch.writes(&self.tables, self.batch);
        let mut at_once = self.tables.clone();
        let needs = Needs::of(&writes);
        let known = at_once.load(&needs, (now, ids(self.next_id, needs.ids)), (SHARDS, free));
        let borrowed: Vec<&Write> = writes.iter().collect();
        let (together, changes) = decide(known, &borrowed).unwrap();

        // The others leave nothing behind.
        let is_done = |answer: &Decision| matches!(answer, Ok(Answer::Fresh { .. }));
        let done = borrowed.iter().zip(&together).filter(|(_, answer)| is_done(answer));
        let done: Vec<&Write> = done.map(|(write, _)| *write).collect();
        let known = at_once.load(&needs, (now, ids(self.next_id, needs.ids)), (SHARDS, free));
        assert_eq!(decide(known, &done).unwrap().1, changes, "{writes:#?}");
        at_once.apply(changes);

        let single = writes.iter().map(|write| answered(self.single(write, (now, free))));
        let single: Vec<Decision> = single.collect();
        let together: Vec<Decision> = together.into_iter().map(answered).collect();
        assert_eq!(together, single, "{writes:#?}");
        assert_eq!(at_once, self.tables, "{writes:#?}");
        self.batch += 1;
    }

    /// One write by itself, which sees everything.
    fn single(&mut self, write: &Write, (now, free): (Timestamp, i64)) -> Decision {
        let own = Needs::of([write]);
        let payout = match write.action {
            Action::PayOut { run, merchant } => Some((run, merchant)),
            _ => None,
        };
        let all = Needs { payout, ..self.tables.all() };
        let known = self.tables.load(&all, (now, ids(self.next_id, own.ids)), (SHARDS, free));
        let (mut answers, changes) = decide(known, &[write]).unwrap();
        let answer = answers.remove(0);
        if !matches!(answer, Ok(Answer::Fresh { .. })) {
            assert!(changes.is_empty(), "{write:?}: {answer:?}: {changes:?}");
        }
        self.next_id += u64::try_from(drawn(&changes)).unwrap();
        self.tables.apply(changes);
        answer
    }
}

proptest! {
    #[test]
    fn a_batch_does_what_its_writes_do_one_by_one(batches in batches(), free in 0..SHARDS) {
        let mut run = Run::new();
        for batch in &batches {
            run.write(batch, free);
        }
    }
}
