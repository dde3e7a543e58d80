//! The sandbox clocks of apps: see [`payments_domain::SandboxClock`].

use std::time::Duration;

use payments_domain::{
    Actor, Id, MovementRequest, SandboxClock,
    actions::{FinishAdvance, Move},
    write::Rejection,
};

use super::{notifications::NotificationError, payments::Payments};
use crate::store::{AdvancedApp, OldTransaction, StoreError};

impl Payments {
    /// Ends all that is due after the advances of apps. An error does not stop the other apps; the
    /// last error is returned, and the next run repeats what failed.
    pub(crate) async fn finish_advances(&self, ttl: Duration) -> Result<(), NotificationError> {
        let mut failed = None;
        if self.store.job_time().await?.is_none() {
            return Ok(());
        }
        for app in self.store.advanced_apps().await? {
            failed = self.finish_advance(app, ttl).await.err().or(failed);
        }
        failed.map_or(Ok(()), Err)
    }

    /// Voids old transactions, closes overdue disputes as lost, and ends 3-D Secure challenges. A
    /// repeat after an interruption is harmless.
    async fn finish_advance(
        &self,
        AdvancedApp { app, advance, clock }: AdvancedApp,
        ttl: Duration,
    ) -> Result<(), NotificationError> {
        let mut after = Id::MIN;
        loop {
            let merchants = self.store.test_merchants(app, after).await?;
            let Some(last) = merchants.last() else { break };
            after = *last;
            for merchant in merchants {
                self.void_old(merchant, (&clock, ttl)).await?;
                self.lose_overdue_of(merchant, &clock).await?;
            }
        }
        self.end_challenges(app, &clock).await?;
        let _finished = self.store.write(Actor::SYSTEM, FinishAdvance { app, advance }).await?;
        Ok(())
    }

    /// Without the advances, a job voids everything older than `ttl`.
    async fn void_old(
        &self,
        merchant: Id,
        (clock, ttl): (&SandboxClock, Duration),
    ) -> Result<(), StoreError> {
        let now = self.store.database_time().await?;
        let mut after = Id::at(now.checked_sub(ttl).unwrap_or_default());
        let before = clock.old_before(now, ttl);
        loop {
            let page = self.store.transactions_between(merchant, (after, before)).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.transaction;
            for OldTransaction { transaction, is_pending } in page {
                if is_pending {
                    self.void_rest(transaction).await?;
                }
            }
        }
    }

    /// Voids the pending amount of a transaction. Returns whether nothing is pending afterwards.
    pub(crate) async fn void_rest(&self, transaction: Id) -> Result<bool, StoreError> {
        let request = MovementRequest::Void { amount: None };
        let action = Move { transaction, request, descriptor: None, steps: 0 };
        // Refused if a capture was faster. Nothing is pending then.
        Ok(matches!(
            self.store.write(Actor::SYSTEM, action).await?,
            Ok(_) | Err(Rejection::Movement(_))
        ))
    }

    async fn lose_overdue_of(
        &self,
        merchant: Id,
        clock: &SandboxClock,
    ) -> Result<(), NotificationError> {
        let now = self.store.database_time().await?;
        let mut after = Id::MIN;
        loop {
            let page = self.store.open_disputes(merchant, after).await?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            after = last.id;
            for (dispute, due) in page {
                if clock.is_due(dispute.id, (due, now)) {
                    self.lose(dispute).await?;
                }
            }
        }
    }

    async fn end_challenges(&self, app: Id, clock: &SandboxClock) -> Result<(), StoreError> {
        let now = self.store.database_time().await?;
        let mut after = Id::MIN;
        loop {
            let page = self.store.challenged_payments(app, after).await?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            after = last.id;
            for (payment, until) in page {
                if clock.is_due(payment.id, (until, now)) {
                    let _answered = self.settle(payment).await?;
                }
            }
        }
    }
}
