//! Captures, refunds and voids. The store books them immediately, together with an outbox entry
//! that a job sends to the acquirer. They therefore need no pending payment.

use payments_domain::{
    Actor, Amount, Currency, Descriptor, Exchange, MovementRequest, NoRate, Terms,
    TransactionTerms,
    actions::Move,
    write::{KeyedRequest, Moved},
};

use super::{error::Error, once::Written, payments::Payments};
use crate::store::{Snapshot, now};

/// A capture, refund or void of a part of a transaction, or of all of it, as the caller sends it.
pub(crate) enum MovementInput {
    Capture {
        amount: Amount,
        /// Must be the transaction's currency if it is given.
        currency: Option<Currency>,
        descriptor: Option<Descriptor>,
    },
    Refund {
        amount: Amount,
        descriptor: Option<Descriptor>,
    },
    Void {
        amount: Amount,
    },
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

    /// The common currencies in which customers can pay a merchant with these terms.
    pub(crate) fn currencies(&self, terms: &Terms) -> Vec<Currency> {
        self.rates.currencies(terms, now())
    }

    /// Books a movement of the transaction that `snapshot` has read.
    pub(super) async fn perform(
        &self,
        snapshot: &Snapshot,
        input: MovementInput,
        actor: Actor,
        keyed: Option<KeyedRequest>,
    ) -> Result<Written<Moved>, Error> {
        let TransactionTerms { id: transaction, currency: charged, terms, .. } =
            snapshot.transaction_terms;
        let (request, descriptor) = match input {
            MovementInput::Capture { .. } if snapshot.is_held => return Err(Error::MerchantHeld),
            MovementInput::Capture { amount, currency, descriptor } => {
                let exchanges = self.exchanges(charged, &terms);
                let (exchange, fee_exchange) = exchanges.map_err(Error::NoRate)?;
                let request = MovementRequest::Capture { amount, currency, exchange, fee_exchange };
                (request, descriptor)
            }
            MovementInput::Refund { amount, descriptor } => {
                (MovementRequest::Refund { amount }, descriptor)
            }
            MovementInput::Void { amount } => {
                (MovementRequest::Void { amount: Some(amount) }, None)
            }
        };
        let steps = snapshot.steps;
        self.write_keyed(actor, Move { transaction, request, descriptor, steps }, keyed).await
    }
}
