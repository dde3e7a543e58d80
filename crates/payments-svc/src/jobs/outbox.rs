//! The outbox: captures, refunds, voids, reversals and answers to disputes that are sent to acquirers
//! until the acquirers confirm or refuse them. An entry has the type [`OutboxEntry`], and
//! [`OutboxQueue`] chooses the next one to send.

use std::{panic::resume_unwind, sync::Arc, time::Duration};

use common::{
    outage::Outage,
    telemetry::{Trace, trace},
};
use jiff::{SignedDuration, Timestamp};
use payments_domain::{
    AcquirerName, Actor, GIVE_UP_AFTER, GIVE_UP_ATTEMPTS, Id, OutboxEntry, OutboxKind, OutboxQueue,
    QueuedEntry, SendingReport, Sent,
    actions::{RecordSending, RefuseEntry},
};
use tokio::{
    sync::Semaphore,
    task::JoinSet,
    time::{Instant, sleep, sleep_until},
};

use super::{FAST_INTERVAL, Lease};
use crate::{
    acquirer::{Acquirers, Execution, NoAnswer},
    app::{NotificationError, Payments},
    store::{Store, StoreError, now},
};

/// While fewer entries are in memory, beside as many with evidence on their way, the next ones are
/// read: at most 2,000 more. It is more than twice the number that is sent at once, so that the next
/// ones are there when all these have ended.
const READ_BELOW: usize = 1500;

/// Results are recorded together: after this time, or if there are [`MAX_REPORT`].
const RECORD_EVERY: Duration = Duration::from_millis(200);

const MAX_REPORT: usize = 1000;

/// Sends the outbox entries of one acquirer, in one process at a time. A process that freezes and
/// resumes can repeat entries. Acquirers carry out each key once.
pub(super) struct Outbox {
    store: Store,
    acquirers: Arc<Acquirers>,
    payments: Arc<Payments>,
    acquirer: AcquirerName,
    /// Maximum number of entries that are sent at the same time.
    at_once: usize,
    lease: Lease,
    /// Evidence is sent one at a time, because its files need much memory.
    evidence: Semaphore,
    sending: Outage,
    booking: Outage,
    asking: Outage,
}

/// Why an entry was not sent.
#[derive(Debug, thiserror::Error)]
enum SendError {
    #[error(transparent)]
    NoAnswer(#[from] NoAnswer),
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Debug, thiserror::Error)]
#[error("entry {0}")]
struct NotSent(Id, #[source] SendError);

/// The answer to an entry.
enum Answer {
    CarriedOut,
    Refused,
    None,
}

impl Outbox {
    pub(super) fn new(
        store: Store,
        acquirers: Arc<Acquirers>,
        payments: Arc<Payments>,
        (acquirer, at_once): (AcquirerName, usize),
    ) -> Self {
        let lease = Lease::new(store.clone(), format!("outbox {}", acquirer.name()));
        Self {
            store,
            acquirers,
            payments,
            acquirer,
            at_once,
            lease,
            evidence: Semaphore::new(1),
            sending: Outage::of("sending an outbox entry"),
            booking: Outage::of("booking a notification"),
            asking: Outage::of("asking for an old outbox entry"),
        }
    }

    /// Sends entries until the lease is lost or the store fails. Returns at once if another process
    /// has the lease.
    pub(super) async fn run(self: &Arc<Self>) -> Result<(), StoreError> {
        self.lease.hold(self.send_all()).await
    }

    async fn send_all(self: &Arc<Self>) -> Result<(), StoreError> {
        let (mut queue, mut after, mut holds) = (OutboxQueue::default(), Id::MIN, 0);
        let mut sending = JoinSet::new();
        // Tasks with evidence. They wait for each other, and take no place of captures and refunds.
        let mut with_evidence: usize = 0;
        loop {
            let deadline = Instant::now() + RECORD_EVERY;
            let mut report = SendingReport::default();
            let read_at = self.store.database_time().await?;
            let recent_holds = self.store.recent_holds(read_at).await?;
            if recent_holds != holds {
                queue.forget_waiting();
                (holds, after) = (recent_holds, Id::MIN);
            }
            if queue.count().saturating_sub(with_evidence.min(READ_BELOW)) < READ_BELOW {
                after = self.read(&mut queue, (after, read_at), &mut report).await?;
            }
            let mut refused = Vec::new();
            loop {
                while sending.len().saturating_sub(with_evidence) < self.at_once
                    && let Some(queued) = queue.take_next()
                {
                    if queued.entry.kind == OutboxKind::Evidence {
                        with_evidence = with_evidence.saturating_add(1);
                    }
                    let trace = queued.entry.trace.map(Trace::from_bytes);
                    let this = Arc::clone(self);
                    sending.spawn(trace::scope(trace, async move { this.send(queued).await }));
                }
                let (entry, answer) = tokio::select! {
                    biased;
                    Some(answered) = sending.join_next() => match answered {
                        Ok(answered) => answered,
                        Err(panicked) => resume_unwind(panicked.into_panic()),
                    },
                    () = sleep_until(deadline) => break,
                };
                if entry.kind == OutboxKind::Evidence {
                    with_evidence = with_evidence.saturating_sub(1);
                }
                let sent = match answer {
                    Answer::None => Sent::Failed,
                    Answer::CarriedOut | Answer::Refused => Sent::Answered,
                };
                match answer {
                    Answer::CarriedOut => report.done.push(entry.id),
                    Answer::Refused => refused.push(entry.clone()),
                    Answer::None => {}
                }
                report.postponed.extend(queue.finish(entry.transaction, sent));
                if report.count() >= MAX_REPORT || (sending.is_empty() && queue.count() == 0) {
                    break;
                }
            }
            for OutboxEntry { id: entry, transaction, key, dispute, trace, .. } in refused {
                let dispute = dispute.map(|(dispute, _)| dispute);
                let refusal = RefuseEntry { entry, transaction, key, dispute };
                let recorded = self.store.write(Actor::ACQUIRER, refusal);
                let _recorded = trace::scope(trace.map(Trace::from_bytes), recorded).await?;
            }
            if report.count() > 0 {
                let _recorded = self.store.write(Actor::ACQUIRER, RecordSending(report)).await?;
            } else if sending.is_empty() {
                sleep(FAST_INTERVAL).await;
            }
        }
    }

    /// Reads entries that are due, and new ones after this ID, into the queue. Returns the ID up to
    /// which all new entries were read.
    async fn read(
        &self,
        queue: &mut OutboxQueue,
        (after, now): (Id, Timestamp),
        report: &mut SendingReport,
    ) -> Result<Id, StoreError> {
        let due = self.store.due_outbox_entries(self.acquirer, now).await?;
        let (new, through) = self.store.new_outbox_entries(self.acquirer, after).await?;
        report.postponed.extend(queue.add_all(due.into_iter().chain(new), now));
        Ok(through)
    }

    async fn send(&self, queued: QueuedEntry) -> (OutboxEntry, Answer) {
        let is_held = queued.is_held_capture();
        let QueuedEntry { entry, attempts, valid_until, .. } = queued;
        let execution = if is_held {
            self.end_held(&entry, valid_until).await
        } else if attempts >= GIVE_UP_ATTEMPTS && self.is_old(&entry).await.unwrap_or(false) {
            // It is not sent again: the question must find what a request has done that still runs.
            self.give_up(&entry, "not carried out for three days").await
        } else {
            self.try_to_carry_out(&entry).await
        };
        let answer = match execution {
            None => Answer::None,
            Some(Execution::Done(notifications)) => {
                let mut answer = Answer::CarriedOut;
                for notification in notifications {
                    let booked = self.payments.book_notification(notification).await;
                    if booked.as_ref().is_err_and(NotificationError::is_temporary) {
                        answer = Answer::None;
                    }
                    self.booking.observe(booked);
                }
                answer
            }
            Some(Execution::Refused { reason }) => {
                let (transaction, kind) = (entry.transaction, entry.kind.name());
                tracing::warn!(
                    entry.id = %entry.id, transaction.id = %transaction, kind, reason,
                    "the acquirer refused an entry"
                );
                Answer::Refused
            }
        };
        (entry, answer)
    }

    /// Gives a held capture up whose authorization has ended, unless the clock is in doubt.
    async fn end_held(
        &self,
        entry: &OutboxEntry,
        valid_until: Option<Timestamp>,
    ) -> Option<Execution> {
        let now = self.store.job_time().await.ok().flatten()?;
        valid_until.filter(|until| *until <= now)?;
        self.give_up(entry, "the authorization ended while the merchant was held").await
    }

    async fn try_to_carry_out(&self, entry: &OutboxEntry) -> Option<Execution> {
        match self.carry_out(entry).await {
            Ok(execution) => {
                self.sending.succeeded();
                Some(execution)
            }
            Err(error) => {
                self.sending.failed(NotSent(entry.id, error));
                None
            }
        }
    }

    /// Loads the evidence of an entry, and sends the entry.
    async fn carry_out(&self, entry: &OutboxEntry) -> Result<Execution, SendError> {
        let Some((dispute, _)) =
            entry.dispute.as_ref().filter(|_| entry.kind == OutboxKind::Evidence)
        else {
            return Ok(self.acquirers.carry_out(entry, now()).await?);
        };
        let _permit = self.evidence.acquire().await;
        let Some(evidence) = self.store.submitted_evidence(*dispute, entry.id).await? else {
            // An attempt before may have been carried out.
            let reason = "the evidence was deleted, or replaced after an inquiry became a dispute";
            return Ok(self.ask_or_refuse(entry, reason).await?);
        };
        let entry = OutboxEntry { evidence: Some(evidence), ..entry.clone() };
        Ok(self.acquirers.carry_out(&entry, now()).await?)
    }

    /// Time in which the merchant was held does not count.
    async fn is_old(&self, entry: &OutboxEntry) -> Result<bool, StoreError> {
        let limit = SignedDuration::try_from(GIVE_UP_AFTER).unwrap_or_default();
        let Some(now) = self.store.job_time().await? else { return Ok(false) };
        if now.duration_since(entry.id.created()) < limit {
            return Ok(false);
        }
        let released = self.store.last_release(entry.transaction).await?;
        Ok(released.is_none_or(|released| now.duration_since(released) >= limit))
    }

    /// Asks for an entry that is not sent again. The question closes its key. Without an answer, the
    /// entry stays in the outbox. `reason`: why it is refused if it was not carried out.
    async fn give_up(&self, entry: &OutboxEntry, reason: &'static str) -> Option<Execution> {
        let answer = self.ask_or_refuse(entry, reason).await;
        self.asking.observe(answer.map_err(|error| NotSent(entry.id, error.into())))
    }

    async fn ask_or_refuse(
        &self,
        entry: &OutboxEntry,
        reason: &'static str,
    ) -> Result<Execution, NoAnswer> {
        let known = self.acquirers.ask_entry(entry, now()).await?;
        Ok(known.unwrap_or_else(|| Execution::Refused { reason: reason.into() }))
    }
}
