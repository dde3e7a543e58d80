//! Recurring payments with a stored card: that of an earlier transaction, or a saved card. Also
//! saves cards. Saved cards are deprecated.

use std::sync::Arc;

use payments_domain::{
    AcquirerOutcome, Actor, Amount, CardDetails, CardOnFile, Currency, CustomData, Descriptor, Id,
    Merchant, Notes, Payment, ProcessingError,
    actions::{CardSaved, PaymentConcluded, SaveCard},
    write::KeyedRequest,
};

use super::{charges::Charge, declines::Origin, error::Error, once::Written, payments::Payments};
use crate::acquirer::CardSource;

/// A payment that a merchant's server makes with a stored card.
pub(crate) struct RecurringPayment {
    pub(crate) card: StoredCard,
    pub(crate) descriptor: Option<Descriptor>,
    pub(crate) currency: Currency,
    pub(crate) amount: Amount,
    pub(crate) custom: Option<CustomData>,
}

/// The stored card of a recurring payment.
pub(crate) enum StoredCard {
    /// The card of an earlier transaction. The text is the name of the request's member that holds
    /// the ID, for error messages.
    Transaction(&'static str, Id),
    /// Deprecated.
    Saved(Id),
}

/// Why a transaction's card cannot be used.
const NOT_ORIGINAL: &str =
    "must be a successful transaction of this merchant that a customer has made";

/// Why the acquirer cannot charge a transaction's card again.
const NOT_KEPT: &str = "its card was not kept: the customer must pay with `recurring`";

impl Payments {
    pub(crate) async fn pay_recurring(
        self: &Arc<Self>,
        merchant: &Merchant,
        payment: RecurringPayment,
        actor: Actor,
        keyed: Option<KeyedRequest>,
    ) -> Result<Written<PaymentConcluded>, Error> {
        let RecurringPayment { card, descriptor, currency, amount, custom } = payment;
        // A payment needs no exchange rate, but without one it could not be captured.
        let exchanges = self.exchanges(currency, &merchant.terms());
        let _both = exchanges.map_err(|error| Error::field("currency", error))?;
        let CardOnFile { mut card, acquirer, reference } = self.original(merchant.id, card).await?;
        // The security code belonged to the first payment and is not stored.
        card.code_present = false;
        let descriptor = descriptor.unwrap_or_else(|| merchant.details.descriptor.clone());
        let payment = Payment {
            merchant: merchant.id,
            currency,
            amount,
            descriptor,
            custom,
            recurring: true,
            acquirer: acquirer.filter(|_| self.may_take_payments(merchant)),
        };
        let (source, test) = (CardSource::Reference(reference), merchant.details.test);
        let (origin, link, return_url, receipt) = (Origin::Api, None, None, None);
        // It is kept already.
        let keeps_card = false;
        let charge = Charge {
            actor,
            payment,
            card,
            source,
            keeps_card,
            test,
            origin,
            link,
            return_url,
            receipt,
        };
        self.pay(charge, keyed).await
    }

    async fn original(&self, merchant: Id, card: StoredCard) -> Result<CardOnFile, Error> {
        match card {
            StoredCard::Transaction(field, id) => self.card_of(merchant, field, id).await,
            StoredCard::Saved(id) => {
                let kept = self.store.saved_card_on_file(merchant, id).await?;
                kept.ok_or_else(|| Error::field("cardId", "must be a card of the merchant"))
            }
        }
    }

    /// The card of an earlier transaction.
    async fn card_of(
        &self,
        merchant: Id,
        field: &'static str,
        transaction: Id,
    ) -> Result<CardOnFile, Error> {
        if let Some(original) = self.store.card_on_file(merchant, transaction).await? {
            return Ok(original);
        }
        let is_original = self.store.is_original(merchant, transaction).await?;
        Err(Error::field(field, if is_original { NOT_KEPT } else { NOT_ORIGINAL }))
    }

    /// Saves the card of an earlier transaction.
    pub(crate) async fn save_card(
        &self,
        merchant: Id,
        transaction: Id,
        notes: Option<Notes>,
        actor: Actor,
        keyed: Option<KeyedRequest>,
    ) -> Result<Written<CardSaved>, Error> {
        let original = Box::new(self.card_of(merchant, "transactionId", transaction).await?);
        self.write_keyed(actor, SaveCard { merchant, original, notes }, keyed).await
    }

    /// Saves a card that a customer typed in. `Ok(Err(_))` if the acquirer declines it.
    pub(crate) async fn save_typed_card(
        self: &Arc<Self>,
        merchant: &Merchant,
        origin: Origin,
        card: CardDetails,
        notes: Option<Notes>,
    ) -> Result<Result<Id, ProcessingError>, Error> {
        let kept = card.to_card();
        let reference = match self.verify(merchant, origin, card).await? {
            AcquirerOutcome::Declined(error) => return Ok(Err(error.group_error())),
            AcquirerOutcome::Approved { reference: Some(reference), .. } => reference,
            AcquirerOutcome::Approved { reference: None, .. } => {
                return Ok(Err(ProcessingError::MAY_NOT_SAVE));
            }
        };
        let acquirer = self.acquirer_of(merchant);
        let original = Box::new(CardOnFile { card: kept, acquirer, reference });
        let action = SaveCard { merchant: merchant.id, original, notes };
        let saved = self.write(Actor::SYSTEM, action).await?;
        Ok(Ok(saved.id))
    }
}
