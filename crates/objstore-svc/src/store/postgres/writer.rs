//! The engine behind the one task of a replica that writes.

use std::sync::{
    Arc,
    atomic::{AtomicI32, Ordering},
};

use common::{
    batch::{Cost, Decided, Engine, Failure, Limits, Loaded, Panicked},
    postgres::{Pool, Transaction},
};
use tokio::sync::mpsc;

use super::{
    super::shared::{LIMITS, Shared, cost},
    load::{LOCK, Locked, load},
    writes::Writes,
};
use crate::domain::{
    Answer, Operation, Record,
    fold::{Changes, Known, Needs},
};

/// A writer on a pool of one session.
pub(in crate::store) struct Writer {
    pub(super) session: Pool,
    pub(super) shared: Arc<Shared>,
    /// The session's process in the database: what it notifies of is known here already.
    pub(super) backend: Arc<AtomicI32>,
    /// Where what was committed goes.
    pub(super) committed: mpsc::Sender<Vec<Record>>,
}

/// A transaction, which is not begun yet if nothing had to be read.
pub(in crate::store) struct Open {
    transaction: Transaction,
    locked: Option<Locked>,
}

impl Engine for Writer {
    const LIMITS: Limits = LIMITS;
    type Operation = Operation;
    type Answer = Answer;
    type Known = Known;
    type Changes = Changes;
    type Open<'e> = Open;

    fn cost(operation: &Operation) -> Cost {
        cost(operation)
    }

    fn own_work(&self, is_idle: bool) -> Option<Operation> {
        let positions = self.shared.positions().take_due(is_idle);
        (!positions.is_empty()).then_some(Operation::Upkeep { positions, trims: false })
    }

    /// A batch that needs nothing counts revisions from 0, and is begun with its writes.
    async fn load(&self, batch: &[&Operation]) -> Result<Loaded<Open, Known>, Failure> {
        let needs = Needs::of(batch, &self.shared.rules);
        let mut transaction = self.session.transaction().await?;
        let (known, locked) = if needs.is_empty() {
            (Known::default(), None)
        } else {
            let (known, locked) = load(&mut transaction, &needs).await?;
            (known, Some(locked))
        };
        Ok(Loaded { open: Open { transaction, locked }, known, locked: Vec::new() })
    }

    fn decide(
        &self,
        known: Known,
        batch: &[&Operation],
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
            let writes = Writes::of(&changes);
            let parameters = writes.parameters();
            let lock = locked.is_none().then_some(LOCK);
            let asked: Vec<_> = lock.into_iter().chain(writes.asked(&parameters)).collect();
            let rows = transaction.commit(&asked).await?;
            let locked = locked.map_or_else(|| Locked::read(rows.first()), Ok);
            // It is committed, so no operation of it may run again.
            locked.map_err(|error| Failure::Unknown(Arc::new(error)))?
        };
        self.backend.store(locked.backend, Ordering::Relaxed);
        self.shared.committed(&changes);

        let shift = locked.head.revision - changes.before.revision;
        let records = std::mem::take(&mut changes.records);
        let mut records: Vec<Record> = records.into_iter().map(|(record, _)| record).collect();
        records.iter_mut().for_each(|record| record.revision += shift);
        answers.iter_mut().flatten().for_each(|done| done.revision += shift);
        if !records.is_empty() {
            // Whoever follows the log reads there what it was not handed.
            let _ = self.committed.try_send(records);
        }
        Ok(answers)
    }
}
