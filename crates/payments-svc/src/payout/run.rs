//! A run of payouts, as orders: begin it, pay each merchant, close it.
//!
//! A run may be interrupted at any point and started again: a write pays one merchant at most once
//! in a run, and a closed run makes no more payouts.

use std::time::Duration;

use common::{
    control::{Operator, Order, OrderError},
    progress::Progress,
};
use payments_domain::{
    Currency, Iban, Id, Payout, PayoutRequest, PayoutRun, actions,
    write::{AsJson, PayoutRow},
};
use serde::{Deserialize, Serialize};

use super::PayoutError;
use crate::store::Store;

/// A complete run of payouts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PaidRun {
    /// In the order in which they were made. A closed run returns the same payouts again.
    pub(super) payouts: Vec<Payout>,
    /// The currencies and accounts of merchants that have a balance but are not paid, because the
    /// format of the run does not reach them. Empty if the run was closed before.
    pub(super) left_out: Vec<(Currency, Iban)>,
}

/// Pays the merchants of the run that its format reaches, and closes it, unless it is closed.
/// Captures younger than `delay` are not paid.
pub(super) async fn pay_out(
    operator: &mut Operator<Store>,
    run: PayoutRun,
    delay: Duration,
    progress: &Progress,
) -> Result<PaidRun, PayoutError> {
    let begun = operator.send(OpenPayoutRun(AsJson(run))).await?;
    progress.begin("merchants", begun.reached.len().try_into().unwrap_or(u64::MAX));
    for merchant in begun.reached {
        progress.check()?;
        // The write does nothing if another command has paid the merchant in the meantime.
        operator.send(PayMerchant { run: AsJson(run), merchant, delay }).await?;
        progress.advance();
    }
    progress.check()?;
    let payouts = operator.send(ClosePayoutRun(AsJson(run))).await?;
    Ok(PaidRun {
        payouts: payouts.into_iter().map(|AsJson(row)| row.payout()).collect(),
        left_out: begun.left_out.into_iter().map(|AsJson(account)| account).collect(),
    })
}

/// Begins a run, and finds the merchants with a balance.
#[derive(Serialize, Deserialize)]
pub(crate) struct OpenPayoutRun(AsJson<PayoutRun>);

/// A run that has begun.
#[derive(Serialize, Deserialize)]
pub(crate) struct BegunRun {
    /// The merchants to pay.
    reached: Vec<Id>,
    /// As [`PaidRun::left_out`].
    left_out: Vec<AsJson<(Currency, Iban)>>,
}

impl Order<Store> for OpenPayoutRun {
    const NAME: &'static str = "open-payout-run";
    type Outcome = BegunRun;

    async fn carry_out(self, store: &Store) -> Result<BegunRun, OrderError> {
        let Self(AsJson(run)) = self;
        store.execute(actions::OpenPayoutRun(run)).await?;
        let mut begun = BegunRun { reached: Vec::new(), left_out: Vec::new() };
        for (merchant, currency, iban) in store.merchants_to_pay(run).await? {
            if run.format.reaches(currency, &iban) {
                begun.reached.push(merchant);
            } else {
                begun.left_out.push(AsJson((currency, iban)));
            }
        }
        Ok(begun)
    }
}

/// Pays a merchant, unless it was paid on that day.
#[derive(Serialize, Deserialize)]
pub(crate) struct PayMerchant {
    run: AsJson<PayoutRun>,
    merchant: Id,
    delay: Duration,
}

impl Order<Store> for PayMerchant {
    const NAME: &'static str = "pay-merchant";
    type Outcome = ();

    async fn carry_out(self, store: &Store) -> Result<(), OrderError> {
        let Self { run: AsJson(run), merchant, delay } = self;
        // A rejection changes nothing, and the run continues with the others.
        let _rejected =
            store.write(actions::PayOut(PayoutRequest { run, merchant, delay })).await?;
        Ok(())
    }
}

/// Closes a run, and returns its payouts.
#[derive(Serialize, Deserialize)]
pub(crate) struct ClosePayoutRun(AsJson<PayoutRun>);

impl Order<Store> for ClosePayoutRun {
    const NAME: &'static str = "close-payout-run";
    type Outcome = Vec<AsJson<PayoutRow>>;

    async fn carry_out(self, store: &Store) -> Result<Vec<AsJson<PayoutRow>>, OrderError> {
        let Self(AsJson(run)) = self;
        store.execute(actions::ClosePayoutRun(run)).await?;
        Ok(store.payouts_of_run(run).await?.into_iter().map(AsJson).collect())
    }
}
