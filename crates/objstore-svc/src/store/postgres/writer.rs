//! The write path on PostgreSQL: [`Writer`] runs the batches of the queue, in one task of a
//! replica.
//!
//! 1. Every batch locks the `store` row first and holds the lock until its commit. So the order of
//!    commits is the order of revisions on all replicas, without gaps.
//! 2. Other replicas wait for this lock, so it is held for as few round trips as possible. Usually
//!    there are two: the first begins, locks and loads; the second writes and commits.
//! 3. A batch that depends on no row needs no load. It is one round trip: begin, lock, write,
//!    commit. It is decided before the newest revision is known, so its revisions count from 0.
//! 4. The statements therefore add all revisions to those of the locked row (`writes.rs`), and the
//!    writer shifts the revisions in answers and records after the commit.
//! 5. Nothing may fail the batch after the commit: the runner would repeat its writes. An error
//!    there is [`Failure::Unknown`], which is not repeated.
//! 6. The writer never waits for the tail. If its channel is full, the tail reads the records from
//!    the change log.
//! 7. The writer has its own pool, of one connection, so it does not wait for reads.

use std::sync::{
    Arc,
    atomic::{AtomicI32, Ordering},
};

use common::{
    batch::{Cost, Decided, Engine, Failure, Limits, Loaded, Panicked},
    postgres::{Pool, Statement, Transaction},
    sql::PostgresRows,
};
use tokio::sync::mpsc;

use super::{
    super::{
        shared::{LIMITS, Shared, cost},
        tables,
    },
    load::{Locked, load, lock},
    writes::{ADVANCE, NOTIFY, STATEMENTS},
};
use crate::domain::{
    Answer, Record, Write,
    decide::{Changes, LoadedRows, Needs},
};

pub(in crate::store) struct Writer {
    /// A pool of one connection.
    pub(super) connection: Pool,
    pub(super) shared: Arc<Shared>,
    /// The process of PostgreSQL that serves the connection. The tail ignores its notifications.
    pub(super) backend: Arc<AtomicI32>,
    /// To the tail.
    pub(super) committed: mpsc::Sender<Vec<Record>>,
}

/// A transaction. If nothing had to be loaded, it is not begun yet, and `locked` is `None`.
pub(in crate::store) struct Open {
    transaction: Transaction,
    locked: Option<Locked>,
}

impl Engine for Writer {
    const LIMITS: Limits = LIMITS;
    type Write = Write;
    type Answer = Answer;
    type LoadedRows = LoadedRows;
    type Changes = Changes;
    type Open<'e> = Open;

    fn cost(write: &Write) -> Cost {
        cost(write)
    }

    fn own_work(&self, is_idle: bool) -> Option<Write> {
        let positions = self.shared.positions().take_due(is_idle);
        (!positions.is_empty()).then_some(Write::Upkeep { positions, trims: false })
    }

    /// If the batch needs no rows, sends nothing: `write` begins the transaction, and revisions
    /// count from 0.
    async fn load(&self, batch: &[&Write]) -> Result<Loaded<Open, LoadedRows>, Failure> {
        let needs = Needs::of(batch, &self.shared.rules);
        let mut transaction = self.connection.transaction().await?;
        let (known, locked) = if needs.is_empty() {
            (LoadedRows::default(), None)
        } else {
            let (known, locked) = load(&mut transaction, &needs).await?;
            (known, Some(locked))
        };
        Ok(Loaded { open: Open { transaction, locked }, known, locked: Vec::new() })
    }

    fn decide(
        &self,
        known: LoadedRows,
        batch: &[&Write],
    ) -> Result<Decided<Answer, Changes>, Panicked> {
        self.shared.decide(known, batch)
    }

    async fn write(
        &self,
        Open { transaction, locked }: Open,
        decided: Decided<Answer, Changes>,
    ) -> Result<Vec<Answer>, Failure> {
        let Decided { mut answers, mut changes } = decided;
        let locked = {
            let mut rows = PostgresRows::default();
            let Ok(()) = tables::write(&mut rows, &STATEMENTS, &changes, None);
            let params = rows.params();
            let lock = locked.is_none().then(lock);
            let [revisions, bytes, clients] = changes.growth();
            let advance: Statement<'_> = (ADVANCE, &[&revisions, &bytes, &clients]);
            let notify: Statement<'_> = (NOTIFY, &[]);
            let statements: Vec<_> = lock
                .into_iter()
                .chain(rows.statements(&params))
                .chain((!changes.records.is_empty()).then_some(notify))
                .chain((changes.before != changes.head).then_some(advance))
                .collect();
            let results = transaction.commit(&statements).await?;
            let locked = locked.map_or_else(|| Locked::read(results.first()), Ok);
            // The batch is committed, so none of its writes may run again.
            locked.map_err(|error| Failure::Unknown(Arc::new(error)))?
        };
        self.backend.store(locked.backend, Ordering::Relaxed);
        // Before the answers, because their entity tags contain the epoch.
        self.shared.observe(locked.epoch);
        self.shared.committed(&changes);

        let shift = locked.head.revision - changes.before.revision;
        let records = std::mem::take(&mut changes.records);
        let mut records: Vec<Record> = records.into_iter().map(|(record, _)| record).collect();
        records.iter_mut().for_each(|record| record.revision += shift);
        answers.iter_mut().flatten().for_each(|done| done.revision += shift);
        if !records.is_empty() {
            // If the channel is full, the tail reads these records from the change log.
            let _ = self.committed.try_send(records);
        }
        Ok(answers)
    }

    fn locked(&self) {
        self.connection.report_lock();
    }
}
