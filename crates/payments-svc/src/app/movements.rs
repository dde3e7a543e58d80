//! Captures, refunds and voids.

use super::{error::Error, payments::Payments};
use crate::{
    domain::{
        Amount, Currency, Descriptor, Exchange, NoRate, Request, Reservation, Terms,
        write::{Action, Answer, Keyed},
    },
    store::{Seen, now},
};

/// Money that is to be taken.
pub(crate) struct Capture {
    pub(crate) amount: Amount,
    /// The transaction's, if it is said.
    pub(crate) currency: Option<Currency>,
    pub(crate) descriptor: Option<Descriptor>,
}

impl Payments {
    /// What money in this currency is worth to a merchant with these terms now, and what money in
    /// that of its flat fee is. Without both nothing can be captured.
    pub(crate) fn exchanges(
        &self,
        currency: Currency,
        terms: &Terms,
    ) -> Result<(Exchange, Exchange), NoRate> {
        let exchange = |currency| self.rates.exchange(currency, terms, now());
        Ok((exchange(currency)?, exchange(terms.pricing.flat.currency)?))
    }

    /// Takes money.
    pub(crate) async fn capture(
        &self,
        seen: &Seen,
        capture: Capture,
        keyed: Option<Keyed>,
    ) -> Result<Answer, Error> {
        let Capture { amount, currency, descriptor } = capture;
        let Reservation { currency: charged, terms, .. } = seen.reservation;
        let (exchange, fee_exchange) = self.exchanges(charged, &terms).map_err(Error::NoRate)?;
        let request = Request::Capture { amount, currency, exchange, fee_exchange };
        self.perform(seen, request, descriptor, keyed).await
    }

    /// Gives money back.
    pub(crate) async fn refund(
        &self,
        seen: &Seen,
        amount: Amount,
        descriptor: Option<Descriptor>,
        keyed: Option<Keyed>,
    ) -> Result<Answer, Error> {
        self.perform(seen, Request::Refund { amount }, descriptor, keyed).await
    }

    /// Gives up a part of what is reserved.
    pub(crate) async fn void(
        &self,
        seen: &Seen,
        amount: Amount,
        keyed: Option<Keyed>,
    ) -> Result<Answer, Error> {
        self.perform(seen, Request::Void { amount: Some(amount) }, None, keyed).await
    }

    async fn perform(
        &self,
        seen: &Seen,
        request: Request,
        descriptor: Option<Descriptor>,
        keyed: Option<Keyed>,
    ) -> Result<Answer, Error> {
        let (transaction, steps) = (seen.reservation.id, seen.steps);
        self.write(Action::Move { transaction, request, descriptor, steps }, keyed).await
    }
}
