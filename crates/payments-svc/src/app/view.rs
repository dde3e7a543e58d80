//! The result of a write as a response shows it: the same for a first request and for its repeat.

use super::{error::Error, payments::Payments};
use crate::{
    domain::{
        ApiKey, ApiKeyDetails, Id, LinkSecret, Merchant, ProcessingError, Transaction, Webhook,
        WebhookSecret,
        write::{Answer, Outcome},
    },
    store::StoreError,
};

/// The result of a write.
pub(crate) struct WriteResult {
    pub(crate) view: View,
    /// Whether it is the result of an earlier request with the same idempotency key.
    pub(crate) is_replayed: bool,
}

impl WriteResult {
    /// Shows the secret of a new endpoint, or its new secret. The response to a repeat does not.
    #[must_use]
    pub(crate) fn showing(mut self, new: WebhookSecret) -> Self {
        if let View::Webhook { secret, .. } = &mut self.view
            && !self.is_replayed
        {
            *secret = Some(new);
        }
        self
    }

    /// Adds the API key that the request created. A repeat created none.
    #[must_use]
    pub(crate) fn with_api_key(mut self, created: ApiKey) -> Self {
        if let (View::ApiKey { key, .. }, false) = (&mut self.view, self.is_replayed) {
            *key = Some(created);
        }
        self
    }
}

/// The data that a response shows.
pub(crate) enum View {
    Nothing,
    /// The merchant as it was created, even if it has changed since.
    Merchant(Box<Merchant>),
    Membership {
        /// Whether the user was a member before.
        already: bool,
    },
    Paid(Paid),
    Card(Id),
    /// The endpoint right after the write.
    Webhook {
        webhook: Box<Webhook>,
        secret: Option<WebhookSecret>,
    },
    ApiKey {
        details: ApiKeyDetails,
        /// `None` in a repeat: the key was in the first response only.
        key: Option<ApiKey>,
    },
    /// The merchant's current secret, also for a repeat: an older one no longer works.
    LinkSecret(LinkSecret),
    /// The transaction right after the new step.
    Transaction(Box<Transaction>),
}

/// A payment that has an outcome.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paid {
    pub(crate) transaction: Id,
    /// `None` if the payment succeeded.
    pub(crate) error: Option<ProcessingError>,
}

impl Paid {
    pub(super) fn of(answer: &Answer) -> Result<Self, Error> {
        match *answer.outcome() {
            Outcome::PaymentConcluded { transaction, error } => Ok(Self { transaction, error }),
            _ => Err(StoreError::Panicked.into()),
        }
    }
}

impl Payments {
    pub(super) async fn result_of(&self, answer: &Answer) -> Result<WriteResult, Error> {
        let view = match answer.outcome() {
            Outcome::Done | Outcome::App(_) | Outcome::PaymentBegun(_) | Outcome::Invitation(_) => {
                View::Nothing
            }
            Outcome::Merchant(texts) => {
                let merchant = self.store.merchant_unchecked(texts.merchant).await?;
                View::Merchant(Box::new(texts.as_created(merchant.ok_or(Error::NotFound)?)))
            }
            Outcome::Membership { already } => View::Membership { already: *already },
            Outcome::PaymentConcluded { transaction, error } => {
                View::Paid(Paid { transaction: *transaction, error: *error })
            }
            Outcome::Card(id) => View::Card(*id),
            Outcome::Webhook(webhook) => View::Webhook { webhook: webhook.clone(), secret: None },
            Outcome::ApiKey(details) => View::ApiKey { details: details.clone(), key: None },
            Outcome::LinkSecret(merchant) => {
                let secret = self.store.link_secret(*merchant).await?;
                View::LinkSecret(secret.ok_or(Error::NotFound)?)
            }
            Outcome::Moved(version) => {
                let found = self.store.transaction_as_of(*version).await?;
                View::Transaction(Box::new(found.ok_or(Error::NotFound)?))
            }
        };
        Ok(WriteResult { view, is_replayed: matches!(answer, Answer::Replayed(_)) })
    }
}
