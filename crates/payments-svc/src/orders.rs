//! The orders of commands that this service accepts. Each is beside its command.

use common::control::Orders;

use crate::{
    new_key::NewKey,
    payout::{ClosePayoutRun, OpenPayoutRun, PayMerchant},
    returns::{BookReturns, PayoutsOfFile},
    seed::Seed,
    sign_in_link::{LinkOfUser, ResetUser},
    standing::{Approve, ChangeBank, Hold, Release},
    store::Store,
};

/// The orders of all commands.
pub(crate) fn orders() -> Orders<Store> {
    Orders::default()
        .accept::<OpenPayoutRun>()
        .accept::<PayMerchant>()
        .accept::<ClosePayoutRun>()
        .accept::<NewKey>()
        .accept::<Seed>()
        .accept::<Hold>()
        .accept::<Release>()
        .accept::<Approve>()
        .accept::<ChangeBank>()
        .accept::<PayoutsOfFile>()
        .accept::<BookReturns>()
        .accept::<LinkOfUser>()
        .accept::<ResetUser>()
}
