//! Background jobs: work that no request starts. Know these rules before you add or change a job:
//!
//! 1. Each job has its own task and loop, so a job that waits for an acquirer or a lock does not
//!    delay the others.
//! 2. A job that fails logs `job not done`, once a minute, and runs again at the next tick. It finds
//!    its work in the store each time and keeps no state of it in memory, so a restart loses nothing.
//! 3. Every replica runs every job. Most jobs read without locks, and `payments-domain` decides again under
//!    the lock: the first conclusion of a payment counts, and a void with nothing pending is
//!    refused.
//! 4. The outbox, expiry, counting lines and the deletion of idempotency keys need a [`Lease`], so that one replica
//!    at a time runs them. Without a lease, two replicas could read the same old key. The slower
//!    one could delete it after a new request has stored it again. A replica that freezes and
//!    resumes can still repeat outbox entries; acquirers carry out each ID once.
//! 5. A job can be aborted at each `await`: at a stop, and when its lease is lost. Each write is
//!    atomic, so that nothing is left half done. [`Mails`] and [`Deliveries`] end differently:
//!    they first finish and record what they are sending, so that it is not sent twice.
//! 6. Ages and deadlines are measured by the clock of the store, which all replicas share. So a
//!    wrong clock on one replica cannot end a payment too early. After a jump of that clock, jobs
//!    that delete or void by time find nothing ([`Store::job_time`]).
//! 7. A query returns a limited number of rows. A job reads again until none are left, or leaves
//!    the rest to the next tick.

use std::{error::Error, sync::Arc, time::Duration};

use common::outage::Outage;
use tokio::{
    signal::unix::Signal,
    sync::Mutex,
    task::{JoinError, JoinSet, spawn_blocking},
    time::{MissedTickBehavior, interval},
};

use crate::{
    acquirer::Acquirers,
    app::{NotificationError, Payments},
    rates::{ExchangeRates, RatesError},
    store::{OldTransaction, Store, StoreError},
};

mod backlog;
mod deliveries;
mod lease;
mod mails;
mod outbox;

pub(crate) use backlog::BacklogMetrics;
pub(crate) use deliveries::{Deliveries, DeliveryMetrics};
pub(crate) use mails::Mails;

use lease::Lease;
use outbox::Outbox;
use payments_domain::{
    Actor,
    actions::{
        CountLines, DeleteEvents, DeleteEvidence, DeleteKeys, DeleteReceipts, SaveExpiryCursor,
    },
};

/// Interval of the jobs whose delay is visible outside: payments, disputes, the outbox, exchange
/// rates and metrics.
const FAST_INTERVAL: Duration = Duration::from_secs(1);

/// Interval of the other jobs.
const SLOW_INTERVAL: Duration = Duration::from_secs(30);

/// Interval of a warning that does not end by itself.
const WARNING_INTERVAL: Duration = Duration::from_mins(1);

/// Age at which an idempotency key is deleted. It must be longer than `FORM_TTL` of the payment
/// page, so that a form never pays twice.
const KEY_TTL: Duration = Duration::from_secs(48 * 3600);

/// Age at which the link to a receipt ends, and the address of the payer is deleted: 18 months.
const RECEIPT_TTL: Duration = Duration::from_hours(548 * 24);

/// The jobs, apart from [`Mails`] and [`Deliveries`].
#[derive(Clone)]
pub(crate) struct Jobs {
    pub(crate) store: Store,
    pub(crate) acquirers: Arc<Acquirers>,
    pub(crate) payments: Arc<Payments>,
    pub(crate) rates: Arc<ExchangeRates>,
    /// Age at which the pending amount of a transaction is voided.
    pub(crate) authorization_ttl: Duration,
    /// Age at which an event is deleted.
    pub(crate) event_retention: Duration,
    /// Interval at which acquirers are asked for their facts, and the age of the facts.
    pub(crate) facts_interval: Duration,
    /// Interval at which the books are compared with those of acquirers that forget facts.
    pub(crate) comparison_interval: Duration,
    /// Maximum number of outbox entries that are sent to an acquirer at the same time.
    pub(crate) outbox_concurrency: usize,
    /// Whether mails to members can be sent: there is a mail server and a desk.
    pub(crate) has_mail: bool,
    /// Whether apps can advance their sandbox clocks.
    pub(crate) sandbox_clock: bool,
    pub(crate) backlog_metrics: BacklogMetrics,
}

impl Jobs {
    /// Starts all jobs. Dropping the returned set aborts them. `hangup` makes them read the file of
    /// exchange rates, even if its time has not changed.
    pub(crate) fn start(self, mut hangup: Signal) -> JoinSet<()> {
        let jobs = Arc::new(self);
        let mut tasks = JoinSet::new();
        let job = |name| (Arc::clone(&jobs), name);
        let (this, name) = job("counting the backlog");
        tasks.spawn(every(FAST_INTERVAL, name, async move || {
            this.store.backlog().await.map(|backlog| this.backlog_metrics.set(backlog))
        }));
        for acquirer in jobs.acquirers.names() {
            let (this, name) = job("settling unanswered payments");
            let lease = Lease::new(jobs.store.clone(), format!("unanswered {}", acquirer.name()));
            let pauses = Mutex::default();
            tasks.spawn(every(FAST_INTERVAL, name, async move || {
                lease.hold(this.payments.settle_unanswered(acquirer, &pauses)).await
            }));
        }
        for acquirer in jobs.acquirers.reporting() {
            let (this, name) = job("reading facts of the acquirer");
            let lease = Lease::new(jobs.store.clone(), format!("facts {}", acquirer.name()));
            tasks.spawn(every(jobs.facts_interval, name, async move || {
                lease.hold(this.payments.book_facts(acquirer, this.facts_interval)).await
            }));
        }
        for acquirer in jobs.acquirers.forgetting() {
            let (this, name) = job("comparing the books with the acquirer");
            let lease = Lease::new(jobs.store.clone(), format!("comparison {}", acquirer.name()));
            let retried = (jobs.comparison_interval / 24).max(FAST_INTERVAL);
            tasks.spawn(every(retried, name, async move || {
                lease.hold(this.payments.compare(acquirer, this.comparison_interval)).await
            }));
        }
        let (this, name) = job("closing overdue disputes as lost");
        tasks.spawn(every(FAST_INTERVAL, name, async move || {
            this.payments.lose_overdue_disputes().await
        }));
        if jobs.sandbox_clock {
            let (this, name) = job("finishing advances of sandbox clocks");
            tasks.spawn(every(FAST_INTERVAL, name, async move || {
                this.payments.finish_advances(this.authorization_ttl).await
            }));
        }
        let (this, name) = job("telling members what has happened");
        let lease = Lease::new(jobs.store.clone(), "notices");
        tasks.spawn(every(FAST_INTERVAL, name, async move || {
            lease.hold(this.payments.tell_members(this.has_mail)).await
        }));
        let (this, name) = job("recording uses of API keys");
        tasks.spawn(every(FAST_INTERVAL, name, async move || {
            this.payments.record_api_key_uses().await
        }));
        let (this, name) = job("reading exchange rates");
        tasks.spawn(every(FAST_INTERVAL, name, async move || {
            let rates = Arc::clone(&this.rates);
            Ok::<_, RefreshError>(spawn_blocking(move || rates.refresh()).await??)
        }));
        let (this, name) = job("reading exchange rates");
        tasks.spawn(async move {
            let outage = Outage::of(name);
            while hangup.recv().await.is_some() {
                let rates = Arc::clone(&this.rates);
                let read = spawn_blocking(move || rates.reload()).await;
                outage.observe(read.map_err(RefreshError::from).and_then(|read| Ok(read?)));
            }
        });
        let (this, name) = job("voiding old authorizations");
        let lease = Lease::new(jobs.store.clone(), "expiry");
        tasks.spawn(every(SLOW_INTERVAL, name, async move || lease.hold(this.expire()).await));
        let (this, name) = job("deleting old idempotency keys");
        let lease = Lease::new(jobs.store.clone(), "keys");
        tasks.spawn(every(SLOW_INTERVAL, name, async move || {
            lease.hold(this.delete_old_keys()).await
        }));
        let (this, name) = job("deleting old events, evidence and receipts");
        let lease = Lease::new(jobs.store.clone(), "events");
        tasks.spawn(every(SLOW_INTERVAL, name, async move || {
            let deleted = [
                lease.hold(this.delete_old_events()).await,
                lease.hold(this.delete_old_evidence()).await,
                lease.hold(this.delete_old_receipts()).await,
            ];
            deleted.into_iter().collect::<Result<(), _>>()
        }));
        let (this, name) = job("counting lines");
        let lease = Lease::new(jobs.store.clone(), "lines");
        tasks.spawn(every(SLOW_INTERVAL, name, async move || lease.hold(this.count_lines()).await));
        for acquirer in jobs.acquirers.names() {
            let acquirers = Arc::clone(&jobs.acquirers);
            let payments = Arc::clone(&jobs.payments);
            let outbox = (acquirer, jobs.outbox_concurrency);
            let outbox = Arc::new(Outbox::new(jobs.store.clone(), acquirers, payments, outbox));
            tasks.spawn(every(FAST_INTERVAL, "sending outbox entries", async move || {
                outbox.run().await
            }));
        }
        let (this, name) = job("looking for payments without an acquirer");
        tasks.spawn(every(WARNING_INTERVAL, name, async move || this.warn_of_missing().await));
        tasks
    }

    async fn warn_of_missing(&self) -> Result<(), StoreError> {
        for acquirer in self.acquirers.missing() {
            if self.store.waits_for(acquirer).await? {
                let acquirer = acquirer.name();
                tracing::warn!(acquirer, "payments wait for an acquirer that is not configured");
            }
        }
        Ok(())
    }

    async fn expire(&self) -> Result<(), NotificationError> {
        let ended = self.payments.void_ended().await;
        self.void_old().await?;
        ended
    }

    /// Voids the pending amounts of old transactions. Each transaction is checked once, because a
    /// pending amount never grows. A transaction that cannot be voided ends the run, and the next
    /// run begins with it.
    async fn void_old(&self) -> Result<(), NotificationError> {
        loop {
            let expiring = self.store.old_transactions(self.authorization_ttl).await?;
            let mut through = None;
            for OldTransaction { transaction, is_pending } in expiring {
                if is_pending && !self.payments.void_rest(transaction).await? {
                    break;
                }
                through = Some(transaction);
            }
            let Some(through) = through else { return Ok(()) };
            let cursor = SaveExpiryCursor { through: Some(through), ended: None };
            let _recorded = self.store.write(Actor::SYSTEM, cursor).await?;
        }
    }

    /// Adds new lines to the totals of days.
    async fn count_lines(&self) -> Result<(), StoreError> {
        while let Some((cursor, lines)) = self.store.lines_to_count().await? {
            // If another replica has counted them, the next read begins after them.
            let count = CountLines::new(cursor, &lines);
            let _rejected = self.store.write(Actor::SYSTEM, count).await?;
        }
        Ok(())
    }

    async fn delete_old_keys(&self) -> Result<(), StoreError> {
        loop {
            let keys = self.store.old_keys(KEY_TTL).await?;
            if keys.is_empty() {
                return Ok(());
            }
            let _deleted = self.store.write(Actor::SYSTEM, DeleteKeys { keys }).await?;
        }
    }

    async fn delete_old_evidence(&self) -> Result<(), StoreError> {
        loop {
            let disputes = self.store.old_evidence().await?;
            if disputes.is_empty() {
                return Ok(());
            }
            let _deleted = self.store.write(Actor::SYSTEM, DeleteEvidence { disputes }).await?;
        }
    }

    async fn delete_old_receipts(&self) -> Result<(), StoreError> {
        loop {
            let transactions = self.store.old_receipts(RECEIPT_TTL).await?;
            if transactions.is_empty() {
                return Ok(());
            }
            let _deleted = self.store.write(Actor::SYSTEM, DeleteReceipts { transactions }).await?;
        }
    }

    async fn delete_old_events(&self) -> Result<(), StoreError> {
        loop {
            let events = self.store.old_events(self.event_retention).await?;
            if events.is_empty() {
                return Ok(());
            }
            let _deleted = self.store.write(Actor::SYSTEM, DeleteEvents { events }).await?;
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum RefreshError {
    #[error(transparent)]
    Rates(#[from] RatesError),
    #[error(transparent)]
    Panicked(#[from] JoinError),
}

/// Runs a job at every tick. The next tick is the retry of a failure.
async fn every<E: Error + Send + Sync + 'static>(
    period: Duration,
    name: &'static str,
    job: impl AsyncFn() -> Result<(), E>,
) {
    let outage = Outage::of(name);
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        outage.observe(job().await);
    }
}
