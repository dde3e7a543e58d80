//! What is done without anybody asking. Each job has a loop of its own: one that waits keeps no
//! other from its work.

use std::{error::Error, sync::Arc, time::Duration};

use common::error::Cause;
use tokio::{
    task::{JoinError, JoinSet, spawn_blocking},
    time::{MissedTickBehavior, interval},
};

use crate::{
    acquirer::Acquirers,
    app::Payments,
    domain::{
        Id, Request,
        write::{Action, Refusal},
    },
    rates::{ExchangeRates, RatesError},
    store::{Expiring, Store, StoreError},
};

mod instructions;
mod invitations;
mod lease;
mod waiting;

pub(crate) use instructions::Instructions;
pub(crate) use invitations::Invitations;
pub(crate) use waiting::Waiting;

use lease::Lease;

/// How often jobs that others wait for are done.
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
    pub(crate) payments: Arc<Payments>,
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
        let jobs = Arc::new(self);
        let mut tasks = JoinSet::new();
        let job = |job| (Arc::clone(&jobs), job);
        let (it, name) = job("counting what waits");
        tasks.spawn(every(SETTLE_EVERY, name, async move || {
            it.store.backlog().await.map(|backlog| it.waiting.set(backlog))
        }));
        let (it, name) = job("giving up payments without an answer");
        tasks.spawn(every(SETTLE_EVERY, name, async move || it.payments.give_up().await));
        let (it, name) = job("losing disputes that are due");
        tasks.spawn(every(SETTLE_EVERY, name, async move || it.payments.lose_overdue().await));
        let (it, name) = job("reading exchange rates");
        tasks.spawn(every(SETTLE_EVERY, name, async move || {
            let rates = Arc::clone(&it.rates);
            Ok::<_, RefreshError>(spawn_blocking(move || rates.refresh()).await??)
        }));
        let (it, name) = job("voiding old authorisations");
        let lease = Lease::new(jobs.store.clone(), "expiry");
        tasks.spawn(every(TIDY_EVERY, name, async move || lease.hold(it.expire()).await));
        let (it, name) = job("forgetting idempotency keys");
        let lease = Lease::new(jobs.store.clone(), "keys");
        tasks.spawn(every(TIDY_EVERY, name, async move || lease.hold(it.forget()).await));
        let instructions = Instructions::new(
            jobs.store.clone(),
            Arc::clone(&jobs.acquirers),
            Arc::clone(&jobs.payments),
        );
        tasks.spawn(every(SETTLE_EVERY, "instructing acquirers", async move || {
            instructions.round().await
        }));
        tasks
    }

    /// Voids what old authorisations still hold. Each transaction is looked at once: nothing can be
    /// added to what is pending.
    async fn expire(&self) -> Result<(), StoreError> {
        loop {
            let expiring = self.store.expiring(self.authorization_ttl).await?;
            let mut through = None;
            for Expiring { transaction, is_pending } in expiring {
                if is_pending && !self.void(transaction).await? {
                    break;
                }
                through = Some(transaction);
            }
            let Some(through) = through else { return Ok(()) };
            let _noted = self.store.write(Action::Expire { through }).await?;
        }
    }

    /// Whether nothing of a transaction is pending any more.
    async fn void(&self, transaction: Id) -> Result<bool, StoreError> {
        let request = Request::Void { amount: None };
        let action = Action::Move { transaction, request, descriptor: None, steps: 0 };
        // Whoever captures it first has been faster, and there is nothing to void.
        Ok(matches!(self.store.write(action).await?, Ok(_) | Err(Refusal::Movement(_))))
    }

    async fn forget(&self) -> Result<(), StoreError> {
        loop {
            let keys = self.store.old_keys(KEEP_KEYS).await?;
            if keys.is_empty() {
                return Ok(());
            }
            let _forgotten = self.store.write(Action::Forget { keys }).await?;
        }
    }
}

/// Why exchange rates were not read.
#[derive(Debug, thiserror::Error)]
enum RefreshError {
    #[error(transparent)]
    Rates(#[from] RatesError),
    #[error(transparent)]
    Panicked(#[from] JoinError),
}

/// Does a job again and again, and logs why it was not done: it comes round again.
async fn every<E: Error + Send + Sync + 'static>(
    period: Duration,
    name: &'static str,
    job: impl AsyncFn() -> Result<(), E>,
) {
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        warn(name, job().await);
    }
}

/// Logs why a job was not done, if it was not.
fn warn(job: &str, done: Result<(), impl Error + Send + Sync + 'static>) {
    if let Err(error) = done {
        tracing::warn!(job, cause = %Cause::new(error), "job not done");
    }
}
