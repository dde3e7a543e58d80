//! Captures, refunds and voids. The store books them at once, together with an instruction that a
//! job sends to the acquirer. They therefore need no pending payment.

use super::{error::Error, payments::Payments};
use crate::{
    domain::{
        Amount, Currency, Descriptor, Exchange, NoRate, Request, Reservation, Terms,
        write::{Action, Answer, Keyed},
    },
    store::{Seen, now},
};

pub(crate) struct Capture {
    pub(crate) amount: Amount,
    /// Must be the transaction's currency if it is given.
    pub(crate) currency: Option<Currency>,
    pub(crate) descriptor: Option<Descriptor>,
}

impl Payments {
    /// The exchanges to the merchant's currency at the rates of now: from `currency`, and from that
    /// of the flat fee. A capture needs both.
    pub(crate) fn exchanges(
        &self,
        currency: Currency,
        terms: &Terms,
    ) -> Result<(Exchange, Exchange), NoRate> {
        let exchange = |currency| self.rates.exchange(currency, terms, now());
        Ok((exchange(currency)?, exchange(terms.pricing.flat.currency)?))
    }

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

    pub(crate) async fn refund(
        &self,
        seen: &Seen,
        amount: Amount,
        descriptor: Option<Descriptor>,
        keyed: Option<Keyed>,
    ) -> Result<Answer, Error> {
        self.perform(seen, Request::Refund { amount }, descriptor, keyed).await
    }

    /// Releases a part of the amount that is not captured.
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
