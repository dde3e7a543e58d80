//! The subcommands `hold`, `release`, `approve` and `set-bank`: what an operator decides about a
//! merchant. A repeat changes nothing and prints the same.

use common::{
    control::{self, CommandError, Order, OrderError},
    exit::USAGE,
};
use payments_domain::{
    Actor, Iban, Id, Merchant, Name, Notes, Standing,
    actions::{ApproveMerchant, HoldMerchant, ReleaseMerchant, SetBank},
    write::{Action, Rejection},
};
use serde::{Deserialize, Serialize};

use crate::{
    config::{Config, HoldOptions, SetBankOptions},
    store::Store,
};

/// Holds payments and payouts of a merchant, or one of them.
pub(crate) fn hold(config: &Config, options: HoldOptions) -> Result<(), CommandError> {
    let HoldOptions { merchant, payments, payouts, reason } = options;
    let both = !payments && !payouts;
    let (payments, payouts) = (payments || both, payouts || both);
    send(config, Hold { merchant, payments, payouts, reason: reason.as_str().to_owned() })
}

/// Ends all holds of a merchant.
pub(crate) fn release(config: &Config, merchant: Id) -> Result<(), CommandError> {
    send(config, Release { merchant })
}

/// Lets a live merchant take payments.
pub(crate) fn approve(config: &Config, merchant: Id) -> Result<(), CommandError> {
    send(config, Approve { merchant })
}

/// Replaces the account for payouts of a merchant.
pub(crate) fn set_bank(config: &Config, options: SetBankOptions) -> Result<(), CommandError> {
    let SetBankOptions { merchant, iban, holder } = options;
    let [iban, holder] = [iban.as_str(), holder.as_str()].map(str::to_owned);
    send(config, ChangeBank { merchant, iban, holder })
}

/// Sends an order, and prints its outcome.
#[tokio::main(flavor = "current_thread")]
async fn send<O: Order<Store, Outcome = String>>(
    config: &Config,
    order: O,
) -> Result<(), CommandError> {
    control::print::<Store, _>(&config.store()?, order).await
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Hold {
    merchant: Id,
    payments: bool,
    payouts: bool,
    reason: String,
}

impl Order<Store> for Hold {
    const NAME: &'static str = "hold";
    type Outcome = String;

    async fn carry_out(self, store: &Store) -> Result<String, OrderError> {
        let Self { merchant, payments, payouts, reason } = self;
        let reason = Notes::new(&reason).map_err(|error| OrderError::of(USAGE, &error))?;
        let hold = HoldMerchant { merchant, payments, payouts, reason };
        Ok(holds(&changed(store, merchant, hold).await?))
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Release {
    merchant: Id,
}

impl Order<Store> for Release {
    const NAME: &'static str = "release";
    type Outcome = String;

    async fn carry_out(self, store: &Store) -> Result<String, OrderError> {
        Ok(holds(&changed(store, self.merchant, ReleaseMerchant(self.merchant)).await?))
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Approve {
    merchant: Id,
}

impl Order<Store> for Approve {
    const NAME: &'static str = "approve";
    type Outcome = String;

    async fn carry_out(self, store: &Store) -> Result<String, OrderError> {
        let approve = ApproveMerchant(self.merchant);
        let Merchant { id, .. } = changed(store, self.merchant, approve).await?;
        Ok(format!("{id} is approved"))
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct ChangeBank {
    merchant: Id,
    iban: String,
    holder: String,
}

impl Order<Store> for ChangeBank {
    const NAME: &'static str = "set-bank";
    type Outcome = String;

    async fn carry_out(self, store: &Store) -> Result<String, OrderError> {
        let iban = Iban::new(&self.iban).map_err(|error| OrderError::of(USAGE, &error))?;
        let holder = Name::new(&self.holder).map_err(|error| OrderError::of(USAGE, &error))?;
        let outcome =
            format!("{} is paid to {}, {}", self.merchant, holder.as_str(), iban.as_str());
        let set = SetBank { merchant: self.merchant, iban, holder };
        changed(store, self.merchant, set).await?;
        Ok(outcome)
    }
}

/// The merchant after this change.
async fn changed(
    store: &Store,
    id: Id,
    action: impl Action<Outcome = ()>,
) -> Result<Merchant, OrderError> {
    let none = || OrderError::new(USAGE, format!("there is no merchant {id}"));
    match store.write(Actor::OPERATOR, action).await? {
        Err(Rejection::NotFound) => return Err(none()),
        changed => changed.map_err(|rejection| OrderError::of(USAGE, &rejection))?,
    }
    store.row(&id).await?.ok_or_else(none)
}

fn holds(Merchant { id, standing, .. }: &Merchant) -> String {
    let Standing { holds_payments, holds_payouts, hold_reason, held_since, .. } = standing;
    let held = [(*holds_payments, "payments"), (*holds_payouts, "payouts")];
    let held: Vec<_> =
        held.into_iter().filter_map(|(is_held, name)| is_held.then_some(name)).collect();
    let Some(since) = held_since else { return format!("{id} is not held") };
    let reason = hold_reason.as_ref().map_or("", Notes::as_str);
    format!("{id} is held since {since:.3}: {}: {reason}", held.join(", "))
}
