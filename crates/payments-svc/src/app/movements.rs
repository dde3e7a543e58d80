//! Captures, refunds and voids. The store books them immediately, together with an outbox entry
//! that a job sends to the acquirer. They therefore need no pending payment.

use super::{error::Error, payments::Payments};
use crate::{
    domain::{
        Amount, Currency, Descriptor, Exchange, MovementRequest, NoRate, Terms, TransactionTerms,
        write::{Action, Answer, KeyedRequest},
    },
    store::{Snapshot, now},
};

pub(crate) struct Capture {
    pub(crate) amount: Amount,
    /// Must be the transaction's currency if it is given.
    pub(crate) currency: Option<Currency>,
    pub(crate) descriptor: Option<Descriptor>,
}

impl Payments {
    /// Returns two exchanges to the merchant's currency at current rates: from `currency`, and from
    /// the currency of the flat fee. A capture needs both.
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
        snapshot: &Snapshot,
        capture: Capture,
        keyed: Option<KeyedRequest>,
    ) -> Result<Answer, Error> {
        let Capture { amount, currency, descriptor } = capture;
        let TransactionTerms { currency: charged, terms, .. } = snapshot.transaction_terms;
        let (exchange, fee_exchange) = self.exchanges(charged, &terms).map_err(Error::NoRate)?;
        let request = MovementRequest::Capture { amount, currency, exchange, fee_exchange };
        self.perform(snapshot, request, descriptor, keyed).await
    }

    pub(crate) async fn refund(
        &self,
        snapshot: &Snapshot,
        amount: Amount,
        descriptor: Option<Descriptor>,
        keyed: Option<KeyedRequest>,
    ) -> Result<Answer, Error> {
        self.perform(snapshot, MovementRequest::Refund { amount }, descriptor, keyed).await
    }

    /// Releases a part of the pending amount, or all of it.
    pub(crate) async fn void(
        &self,
        snapshot: &Snapshot,
        amount: Amount,
        keyed: Option<KeyedRequest>,
    ) -> Result<Answer, Error> {
        self.perform(snapshot, MovementRequest::Void { amount: Some(amount) }, None, keyed).await
    }

    async fn perform(
        &self,
        snapshot: &Snapshot,
        request: MovementRequest,
        descriptor: Option<Descriptor>,
        keyed: Option<KeyedRequest>,
    ) -> Result<Answer, Error> {
        let (transaction, steps) = (snapshot.transaction_terms.id, snapshot.steps);
        self.write(Action::Move { transaction, request, descriptor, steps }, keyed).await
    }
}
