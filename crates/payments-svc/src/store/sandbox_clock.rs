//! Reads of the job that ends what an advance of a sandbox clock makes due: at most
//! [`super::reads::JOB_BATCH`] rows each, in the order of their IDs.

use common::sql::{Group, Stored as _};
use jiff::Timestamp;
use payments_domain::{Id, SandboxClock, UnansweredPayment};

use super::{OldTransaction, OverdueDispute, Store, StoreError, reads::LIMIT, rows};

/// An app with a pending advance.
#[derive(Debug)]
pub(crate) struct AdvancedApp {
    pub(crate) app: Id,
    pub(crate) advance: Id,
    pub(crate) clock: SandboxClock,
}

impl Store {
    /// Apps with a pending advance, the oldest advance first. An advance is left out while an older
    /// transaction may still be added.
    pub(crate) async fn advanced_apps(&self) -> Result<Vec<AdvancedApp>, StoreError> {
        let sql = format!(
            "SELECT id, pending_advance, {} FROM apps
             WHERE pending_advance IS NOT NULL ORDER BY pending_advance LIMIT $1",
            SandboxClock::of("apps")
        );
        let apps = self.query_all(&sql, &[LIMIT], |columns| {
            let (app, advance) = (columns.read()?, columns.read()?);
            Ok(AdvancedApp { app, advance, clock: Group::read(columns)? })
        });
        let mut apps: Vec<AdvancedApp> = apps.await?;
        if !apps.is_empty() {
            let settled = self.settled().await?;
            apps.retain(|app| app.advance <= settled);
        }
        Ok(apps)
    }

    /// Test merchants of an app after this one.
    pub(crate) async fn test_merchants(&self, app: Id, after: Id) -> Result<Vec<Id>, StoreError> {
        let sql = "SELECT merchant FROM merchant_apps JOIN merchants ON merchants.id = merchant
                   WHERE app = $1 AND merchant > $2 AND merchants.test ORDER BY merchant LIMIT $3";
        let params = [app.param(), after.param(), LIMIT];
        self.query_all(sql, &params, |columns| columns.read()).await
    }

    /// Transactions of a merchant with an ID between these two.
    pub(crate) async fn transactions_between(
        &self,
        merchant: Id,
        (after, before): (Id, Id),
    ) -> Result<Vec<OldTransaction>, StoreError> {
        let sql = "SELECT id, error IS NULL AND captured + voided < amount FROM transactions
                   WHERE merchant = $1 AND id > $2 AND id < $3 ORDER BY id LIMIT $4";
        let params = [merchant.param(), after.param(), before.param(), LIMIT];
        self.query_all(sql, &params, rows::old_transaction).await
    }

    /// Open disputes of a merchant after this one, each with its deadline.
    pub(crate) async fn open_disputes(
        &self,
        merchant: Id,
        after: Id,
    ) -> Result<Vec<(OverdueDispute, Timestamp)>, StoreError> {
        let sql = "SELECT id, \"transaction\", reference, due FROM disputes
                   WHERE merchant = $1 AND id > $2 AND decision IS NULL AND line IS NOT NULL
                   ORDER BY id LIMIT $3";
        let params = [merchant.param(), after.param(), LIMIT];
        self.query_all(sql, &params, |columns| Ok((rows::overdue(columns)?, columns.read()?))).await
    }

    /// Payments of an app's test merchants that wait for the answer to a challenge, after this one,
    /// each with the time when the challenge ends.
    pub(crate) async fn challenged_payments(
        &self,
        app: Id,
        after: Id,
    ) -> Result<Vec<(UnansweredPayment, Timestamp)>, StoreError> {
        let sql = format!(
            "SELECT pending_payments.id, {}, challenge_until FROM pending_payments
             WHERE merchant IN (SELECT merchant FROM merchant_apps WHERE app = $1)
                 AND pending_payments.id > $2 AND challenge_until IS NOT NULL
                 AND acquirer = 'sandbox'
             ORDER BY pending_payments.id LIMIT $3",
            rows::PENDING_AUTHORIZATION
        );
        let params = [app.param(), after.param(), LIMIT];
        self.query_all(&sql, &params, |columns| Ok((rows::unanswered(columns)?, columns.read()?)))
            .await
    }
}
