//! Instructions: acquirers are told what was decided, until they confirm it.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use futures_util::{StreamExt as _, stream};

use super::{Lease, warn};
use crate::{
    acquirer::Acquirers,
    app::{NoticeError, Payments},
    domain::{Id, Instruction, write::Action},
    store::{JOB_BATCH, Store, StoreError, now},
};

/// Transactions whose acquirers are told of them at once.
const AT_ONCE: usize = 16;

/// Tells acquirers what was decided. One process does it at a time; one that freezes and comes back
/// repeats instructions, which acquirers carry out once.
pub(crate) struct Instructions {
    store: Store,
    acquirers: Arc<Acquirers>,
    payments: Arc<Payments>,
    lease: Lease,
}

impl Instructions {
    pub(super) fn new(store: Store, acquirers: Arc<Acquirers>, payments: Arc<Payments>) -> Self {
        let lease = Lease::new(store.clone(), "instructions");
        Self { store, acquirers, payments, lease }
    }

    /// Tells all there is to tell, unless another process does.
    pub(super) async fn round(&self) -> Result<(), StoreError> {
        self.lease.hold(self.tell()).await
    }

    /// Tells acquirers what was decided: all that there is by now, once.
    async fn tell(&self) -> Result<(), StoreError> {
        let (mut after, mut stuck) = (Id::FIRST, HashSet::new());
        loop {
            let page = self.store.instructions(after).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.id;
            let is_last = i64::try_from(page.len()).is_ok_and(|length| length < JOB_BATCH);
            // In their order for each transaction, and beside those of the others.
            let mut transactions = BTreeMap::<Id, Vec<Instruction>>::new();
            for instruction in page {
                transactions.entry(instruction.transaction).or_default().push(instruction);
            }
            transactions.retain(|transaction, _| !stuck.contains(transaction));
            let told = stream::iter(transactions)
                .map(async |(transaction, it)| (transaction, self.carry_out(it).await))
                .buffer_unordered(AT_ONCE);
            let told: Vec<(Id, Told)> = told.collect().await;
            let is_stuck = told.iter().filter(|(_, told)| !told.is_all);
            stuck.extend(is_stuck.map(|(transaction, _)| *transaction));
            let instructions: Vec<Id> =
                told.into_iter().flat_map(|(_, it)| it.carried_out).collect();
            if !instructions.is_empty() {
                let _confirmed = self.store.write(Action::Confirm { instructions }).await?;
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Tells the acquirer of one transaction. The instructions after one that it does not carry out
    /// wait for the next round.
    async fn carry_out(&self, instructions: Vec<Instruction>) -> Told {
        let mut carried_out = Vec::new();
        for instruction in instructions {
            match self.acquirers.carry_out(&instruction, now()).await {
                Ok(notifications) => {
                    for notification in notifications {
                        let noted = self.payments.notice(notification).await;
                        let is_temporary = noted.as_ref().is_err_and(NoticeError::is_temporary);
                        warn("booking a notification", noted);
                        if is_temporary {
                            return Told { carried_out, is_all: false };
                        }
                    }
                    carried_out.push(instruction.id);
                }
                Err(error) => {
                    warn("instructing an acquirer", Err(error));
                    return Told { carried_out, is_all: false };
                }
            }
        }
        Told { carried_out, is_all: true }
    }
}

/// What an acquirer did of its instructions.
struct Told {
    carried_out: Vec<Id>,
    is_all: bool,
}
