//! What is done without anybody asking.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use tokio::{
    task::{JoinSet, spawn_blocking},
    time::{MissedTickBehavior, interval},
};

use crate::{
    acquirer::{Acquirers, PayError, Payments},
    domain::{Instruction, Request},
    rates::ExchangeRates,
    store::{Store, StoreError, Write, now},
};

/// How often acquirers are told what was decided, and asked what nobody answered.
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
    /// The exchange rates.
    pub(crate) rates: Arc<ExchangeRates>,
    /// How long an authorisation holds.
    pub(crate) authorization_ttl: Duration,
}

impl Jobs {
    /// Runs the jobs until what is returned is dropped.
    pub(crate) fn start(self) -> JoinSet<()> {
        let mut jobs = JoinSet::new();
        jobs.spawn(self.clone().settle());
        jobs.spawn(self.tidy());
        jobs
    }

    async fn settle(self) {
        let mut ticks = interval(SETTLE_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = self.instruct().await {
                tracing::warn!(cause = %error, "acquirers not instructed");
            }
            if let Err(error) = self.payments.give_up(now()).await {
                tracing::warn!(cause = %error, "payments without an answer not given up");
            }
        }
    }

    /// Tells acquirers what was decided, until there is nothing left to tell. What is told twice
    /// is carried out once.
    async fn instruct(&self) -> Result<(), PayError> {
        loop {
            let waiting = self.store.instructions().await?;
            if waiting.is_empty() {
                return Ok(());
            }
            for instruction in &waiting {
                self.acquirers.carry_out(instruction).await?;
            }
            let instructions = waiting.iter().map(|Instruction { id, .. }| *id).collect();
            self.store.write(Write::Confirm { instructions }, None, now()).await??;
        }
    }

    async fn tidy(self) {
        let mut ticks = interval(TIDY_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = self.expire(now()).await {
                tracing::warn!(cause = %error, "old authorisations not voided");
            }
            if let Err(error) = self.forget(now()).await {
                tracing::warn!(cause = %error, "old idempotency keys not forgotten");
            }
            let rates = Arc::clone(&self.rates);
            if let Ok(Err(error)) = spawn_blocking(move || rates.refresh()).await {
                tracing::warn!(cause = %error, "exchange rates not read");
            }
        }
    }

    /// Voids what old authorisations still hold.
    async fn expire(&self, now: Timestamp) -> Result<(), StoreError> {
        loop {
            let expired = self.store.expired(before(now, self.authorization_ttl)).await?;
            if expired.is_empty() {
                return Ok(());
            }
            for transaction in expired {
                let request = Request::Void { amount: None };
                let write = Write::Move { transaction, request, descriptor: None };
                // Whoever captures it first has been faster, and there is nothing to void.
                let _refused = self.store.write(write, None, now).await?;
            }
        }
    }

    async fn forget(&self, now: Timestamp) -> Result<(), StoreError> {
        let write = Write::Forget { until: before(now, KEEP_KEYS) };
        self.store.write(write, None, now).await.map(drop)
    }
}

fn before(now: Timestamp, age: Duration) -> Timestamp {
    now.checked_sub(age).unwrap_or(Timestamp::UNIX_EPOCH)
}
