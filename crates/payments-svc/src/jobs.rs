//! What is done without anybody asking.

use std::{error::Error, sync::Arc, time::Duration};

use common::error::Cause;

use jiff::Timestamp;
use tokio::{
    task::{JoinSet, spawn_blocking},
    time::{MissedTickBehavior, interval},
};

use crate::{
    acquirer::Acquirers,
    cases::Cases,
    domain::Request,
    payments::Payments,
    rates::ExchangeRates,
    store::{Store, StoreError, Write, now},
};

mod invitations;
mod waiting;

pub(crate) use invitations::Invitations;
pub(crate) use waiting::Waiting;

/// How often what waits is counted.
const COUNT_EVERY: Duration = Duration::from_secs(1);

/// How often payments without an answer are given up, acquirers told what was decided, and exchange
/// rates read.
const SETTLE_EVERY: Duration = Duration::from_secs(1);

/// How often everything else is looked after.
const TIDY_EVERY: Duration = Duration::from_secs(30);

/// How long an idempotency key is kept.
const KEEP_KEYS: Duration = Duration::from_secs(48 * 3600);

/// What the jobs work with.
#[derive(Clone)]
pub(crate) struct Jobs {
    /// The store.
    pub(crate) store: Store,
    /// The acquirers.
    pub(crate) acquirers: Arc<Acquirers>,
    /// The payments.
    pub(crate) payments: Payments,
    /// The disputes and suspicions.
    pub(crate) cases: Cases,
    /// The exchange rates.
    pub(crate) rates: Arc<ExchangeRates>,
    /// How long an authorisation holds.
    pub(crate) authorization_ttl: Duration,
    /// Where it is told how much waits.
    pub(crate) waiting: Waiting,
}

impl Jobs {
    /// Runs the jobs until what is returned is dropped.
    pub(crate) fn start(self) -> JoinSet<()> {
        let mut jobs = JoinSet::new();
        jobs.spawn(self.clone().count());
        jobs.spawn(self.clone().settle());
        jobs.spawn(self.tidy());
        jobs
    }

    /// Apart from what may be why it waits.
    async fn count(self) {
        let mut ticks = interval(COUNT_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let counted = self.store.backlog().await.map(|backlog| self.waiting.set(backlog));
            warn("counting what waits", counted);
        }
    }

    async fn settle(self) {
        let mut ticks = interval(SETTLE_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            warn("giving up payments without an answer", self.payments.give_up(now()).await);
            warn("instructing acquirers", self.instruct().await);
            warn("losing disputes that are due", self.cases.lose_overdue(now()).await);
            let rates = Arc::clone(&self.rates);
            match spawn_blocking(move || rates.refresh()).await {
                Ok(refreshed) => warn("reading exchange rates", refreshed),
                Err(panic) => warn("reading exchange rates", Err(panic)),
            }
        }
    }

    /// Tells acquirers what was decided, until there is nothing left to tell but what an acquirer
    /// did not answer to: that is told again, and carried out once.
    async fn instruct(&self) -> Result<(), StoreError> {
        loop {
            let mut carried_out = Vec::new();
            for instruction in self.store.instructions().await? {
                match self.acquirers.carry_out(&instruction, now()).await {
                    Ok(told) => {
                        for notification in told {
                            warn("noting a notification", self.cases.notice(notification).await);
                        }
                        carried_out.push(instruction.id);
                    }
                    Err(error) => warn("instructing an acquirer", Err(error)),
                }
            }
            if carried_out.is_empty() {
                return Ok(());
            }
            let write = Write::Confirm { instructions: carried_out };
            let _confirmed = self.store.write(write, None, now()).await?;
        }
    }

    async fn tidy(self) {
        let mut ticks = interval(TIDY_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            warn("voiding old authorisations", self.expire(now()).await);
            warn("forgetting idempotency keys", self.forget(now()).await);
        }
    }

    /// Voids what old authorisations still hold.
    async fn expire(&self, now: Timestamp) -> Result<(), StoreError> {
        loop {
            let mut voided = 0_usize;
            for transaction in self.store.expired(before(now, self.authorization_ttl)).await? {
                let request = Request::Void { amount: None };
                let write = Write::Move { transaction, request, descriptor: None };
                // Whoever captures it first has been faster, and there is nothing to void.
                voided += usize::from(self.store.write(write, None, now).await?.is_ok());
            }
            if voided == 0 {
                return Ok(());
            }
        }
    }

    async fn forget(&self, now: Timestamp) -> Result<(), StoreError> {
        let write = Write::Forget { until: before(now, KEEP_KEYS) };
        self.store.write(write, None, now).await.map(drop)
    }
}

/// Logs why a job was not done, if it was not: it comes round again.
fn warn(job: &str, done: Result<(), impl Error + Send + Sync + 'static>) {
    if let Err(error) = done {
        tracing::warn!(job, cause = %Cause::new(error), "job not done");
    }
}

fn before(now: Timestamp, age: Duration) -> Timestamp {
    now.checked_sub(age).unwrap_or(Timestamp::UNIX_EPOCH)
}
