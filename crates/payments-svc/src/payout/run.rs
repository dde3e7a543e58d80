//! A run of payouts, as orders: begin it, pay each merchant, close it.
//!
//! A run may be interrupted at any point and started again: a write pays one merchant at most once
//! in a run, and a closed run makes no more payouts. A run that has paid nobody stays open.

use common::{
    control::{Operator, Order, OrderError},
    exit::Fatal,
    progress::{Interrupted, Progress},
};
use payments_domain::{
    Actor, Currency, Iban, Id, Merchant, Payout, PayoutRequest, PayoutRun, actions,
    write::{AsJson, PayoutRow, PayoutRunRow},
};
use serde::{Deserialize, Serialize};

use crate::store::Store;

/// Why a run is not complete.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    #[error(transparent)]
    NotBooked(#[from] OrderError),
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

impl Fatal for RunError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::NotBooked(error) => error.exit_code(),
            Self::Interrupted(error) => error.exit_code(),
        }
    }
}

/// What a run has done.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PaidRun {
    /// In the order in which they were made. A closed run returns the same payouts again.
    pub(super) payouts: Vec<Payout>,
    /// Whether the run was closed before. Then the others wait for the next one.
    pub(super) was_closed: bool,
    /// The merchants with a balance and an account that the run does not pay.
    pub(super) unpaid: Unpaid,
}

impl PaidRun {
    /// The payouts whose transfers came back, so that the merchants have the money again.
    pub(super) fn booked_back(&self) -> impl Iterator<Item = &Payout> {
        self.payouts.iter().filter(|payout| payout.returned.is_some())
    }
}

/// The merchants with a balance and an account, except those to pay.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Unpaid {
    /// The number of those whose payouts are held.
    pub(super) held: u64,
    /// Those without a name for the account.
    pub(super) nameless: Vec<Id>,
    /// The currencies and accounts that the format of the run does not reach.
    pub(super) not_reached: Vec<AsJson<(Currency, Iban)>>,
    /// The number of those that wait for the next run, because this one was closed before.
    pub(super) waiting: usize,
}

/// Pays the merchants of the run, and closes it, unless it is closed or has paid nobody. Names earlier
/// runs that were interrupted.
pub(super) async fn pay_out(
    operator: &mut Operator<Store>,
    run: PayoutRun,
    progress: &Progress,
) -> Result<PaidRun, RunError> {
    let BegunRun { was_closed, interrupted, due, mut unpaid } =
        operator.send(OpenPayoutRun(AsJson(run))).await?;
    for AsJson(PayoutRun { day, format, .. }) in interrupted {
        let format = format.name();
        progress.print(&format_args!(
            "payout: {day}, {format}: interrupted, so payouts may be in no file: run the same \
             command with --day {day}, too"
        ));
    }
    if was_closed {
        unpaid.waiting = due.len();
    } else {
        progress.begin("merchants", due.len().try_into().unwrap_or(u64::MAX));
        for merchant in due {
            progress.check()?;
            // The write does nothing if another command has paid the merchant in the meantime.
            operator.send(PayMerchant { run: AsJson(run), merchant }).await?;
            progress.advance();
        }
        progress.check()?;
    }
    let payouts = operator.send(ClosePayoutRun(AsJson(run))).await?;
    let payouts = payouts.into_iter().map(|AsJson(row)| row.payout()).collect();
    Ok(PaidRun { payouts, was_closed, unpaid })
}

/// Begins a run, and finds the merchants with a balance.
#[derive(Serialize, Deserialize)]
pub(crate) struct OpenPayoutRun(AsJson<PayoutRun>);

/// A run that has begun.
#[derive(Serialize, Deserialize)]
pub(crate) struct BegunRun {
    was_closed: bool,
    /// The runs of earlier days in the same format that have payouts and are not closed.
    interrupted: Vec<AsJson<PayoutRun>>,
    /// The merchants to pay.
    due: Vec<Id>,
    unpaid: Unpaid,
}

impl Order<Store> for OpenPayoutRun {
    const NAME: &'static str = "open-payout-run";
    type Outcome = BegunRun;

    async fn carry_out(self, store: &Store) -> Result<BegunRun, OrderError> {
        let Self(AsJson(run)) = self;
        store.execute(actions::OpenPayoutRun(run)).await?;
        let row = store.row::<PayoutRunRow>(&PayoutRunRow::key_of(run)).await?;
        let was_closed = row.is_some_and(|row| row.closed);
        let interrupted = store.interrupted_runs_before(run).await?;
        let interrupted = interrupted.into_iter().map(AsJson).collect();
        let (due, unpaid) = (Vec::new(), Unpaid::default());
        let mut begun = BegunRun { was_closed, interrupted, due, unpaid };
        for Merchant { id, details, standing, .. } in store.merchants_to_pay(run.test).await? {
            let unpaid = &mut begun.unpaid;
            match (&details.iban, details.payee()) {
                _ if standing.holds_payouts => unpaid.held = unpaid.held.saturating_add(1),
                (Some(iban), _) if !run.format.reaches(details.currency, iban) => {
                    unpaid.not_reached.push(AsJson((details.currency, iban.clone())));
                }
                (_, None) => unpaid.nameless.push(id),
                _ => begun.due.push(id),
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
}

impl Order<Store> for PayMerchant {
    const NAME: &'static str = "pay-merchant";
    type Outcome = ();

    async fn carry_out(self, store: &Store) -> Result<(), OrderError> {
        let (Self { run: AsJson(run), merchant }, delay) = (self, store.payout_delay());
        // A rejection changes nothing, and the run continues with the others.
        let action = actions::PayOut(PayoutRequest { run, merchant, delay });
        let _rejected = store.write(Actor::OPERATOR, action).await?;
        Ok(())
    }
}

/// Closes a run that has paid somebody, and returns its payouts.
#[derive(Serialize, Deserialize)]
pub(crate) struct ClosePayoutRun(AsJson<PayoutRun>);

impl Order<Store> for ClosePayoutRun {
    const NAME: &'static str = "close-payout-run";
    type Outcome = Vec<AsJson<PayoutRow>>;

    async fn carry_out(self, store: &Store) -> Result<Vec<AsJson<PayoutRow>>, OrderError> {
        let Self(AsJson(run)) = self;
        if store.payouts_of_run(run).await?.is_empty() {
            return Ok(Vec::new());
        }
        store.execute(actions::ClosePayoutRun(run)).await?;
        Ok(store.payouts_of_run(run).await?.into_iter().map(AsJson).collect())
    }
}
