//! The outbox: captures, refunds, voids and reversals that are sent to acquirers until the
//! acquirers confirm them. An entry has the type [`OutboxEntry`].

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use futures_util::{StreamExt as _, stream};

use super::{Lease, warn};
use crate::{
    acquirer::Acquirers,
    app::{NotificationError, Payments},
    domain::{Id, OutboxEntry, write::Action},
    store::{JOB_BATCH, Store, StoreError, now},
};

/// Number of transactions whose entries are sent at the same time.
const AT_ONCE: usize = 16;

/// Sends outbox entries to acquirers, in one process at a time. A process that freezes and resumes
/// can repeat entries. Acquirers carry out each ID once.
pub(super) struct Outbox {
    store: Store,
    acquirers: Arc<Acquirers>,
    payments: Arc<Payments>,
    lease: Lease,
}

impl Outbox {
    pub(super) fn new(store: Store, acquirers: Arc<Acquirers>, payments: Arc<Payments>) -> Self {
        let lease = Lease::new(store.clone(), "instructions");
        Self { store, acquirers, payments, lease }
    }

    /// Sends the pending entries, unless another process does.
    pub(super) async fn round(&self) -> Result<(), StoreError> {
        self.lease.hold(self.send_pending()).await
    }

    /// Sends every pending entry once. If an entry fails, the later entries of the same transaction
    /// are skipped.
    async fn send_pending(&self) -> Result<(), StoreError> {
        let (mut after, mut stuck) = (Id::MIN, HashSet::new());
        loop {
            let page = self.store.outbox_entries(after).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.id;
            let is_last = i64::try_from(page.len()).is_ok_and(|length| length < JOB_BATCH);
            // The entries of one transaction are sent in order. Several transactions are sent
            // concurrently.
            let mut transactions = BTreeMap::<Id, Vec<OutboxEntry>>::new();
            for instruction in page {
                transactions.entry(instruction.transaction).or_default().push(instruction);
            }
            transactions.retain(|transaction, _| !stuck.contains(transaction));
            let progress = stream::iter(transactions)
                .map(async |(transaction, entries)| (transaction, self.carry_out(entries).await))
                .buffer_unordered(AT_ONCE);
            let progress: Vec<(Id, Progress)> = progress.collect().await;
            let is_stuck = progress.iter().filter(|(_, progress)| !progress.is_complete);
            stuck.extend(is_stuck.map(|(transaction, _)| *transaction));
            let instructions: Vec<Id> =
                progress.into_iter().flat_map(|(_, progress)| progress.carried_out).collect();
            if !instructions.is_empty() {
                let _confirmed =
                    self.store.write(Action::DeleteOutboxEntries { entries: instructions }).await?;
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Sends the entries of one transaction in order. If one fails, it and those after it stay
    /// pending until the next round. An entry counts as carried out only after the notifications
    /// that it causes are booked or permanently rejected.
    async fn carry_out(&self, entries: Vec<OutboxEntry>) -> Progress {
        let mut carried_out = Vec::new();
        for instruction in entries {
            match self.acquirers.carry_out(&instruction, now()).await {
                Ok(notifications) => {
                    for notification in notifications {
                        let booked = self.payments.book_notification(notification).await;
                        let is_temporary =
                            booked.as_ref().is_err_and(NotificationError::is_temporary);
                        warn("booking a notification", booked);
                        if is_temporary {
                            return Progress { carried_out, is_complete: false };
                        }
                    }
                    carried_out.push(instruction.id);
                }
                Err(error) => {
                    warn("sending an outbox entry", Err(error));
                    return Progress { carried_out, is_complete: false };
                }
            }
        }
        Progress { carried_out, is_complete: true }
    }
}

/// The outbox entries of one transaction that its acquirer has carried out.
struct Progress {
    carried_out: Vec<Id>,
    /// Whether all entries were carried out. If false, one failed, and later ones were not sent.
    is_complete: bool,
}
