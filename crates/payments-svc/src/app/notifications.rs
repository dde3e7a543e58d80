//! Notifications of acquirers: disputes and fraud alerts. They report facts, so they are booked
//! even if a balance becomes negative.

use jiff::Timestamp;
use payments_domain::{
    AcquirerEvent, AcquirerId, AcquirerName, ApiKeyDigest, Currency, Decision, Id, NoRate,
    Notification, actions::RecordNotification, write::Rejection,
};
use prometheus::{IntCounter, Registry};

use super::{error::Error, payments::Payments};
use crate::store::{OverdueDispute, Snapshot, StoreError, now};

/// Why a notification was not booked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotificationError {
    #[error("there is no such transaction")]
    NoSuchTransaction,
    #[error(transparent)]
    NoRate(#[from] NoRate),
    #[error(transparent)]
    Refused(#[from] Rejection),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl NotificationError {
    /// Whether a repeat of the notification can succeed.
    pub(crate) fn is_temporary(&self) -> bool {
        match self {
            Self::NoRate(_) | Self::Store(_) => true,
            Self::NoSuchTransaction | Self::Refused(_) => false,
        }
    }
}

impl From<NotificationError> for Error {
    fn from(error: NotificationError) -> Self {
        match error {
            NotificationError::NoSuchTransaction => {
                Self::field("transactionId", "is not a transaction of this service")
            }
            NotificationError::NoRate(error) => Self::NoRate(error),
            NotificationError::Refused(refusal) => refusal.into(),
            NotificationError::Store(error) => error.into(),
        }
    }
}

/// Counts and logs notifications of unknown types. They have no other effect.
pub(crate) struct UnknownNotifications(IntCounter);

impl UnknownNotifications {
    /// Registers the counter.
    pub(crate) fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        let help = "Notifications of acquirers whose type is unknown. They were ignored.";
        let counter = IntCounter::new("unknown_notifications_total", help)?;
        registry.register(Box::new(counter.clone()))?;
        Ok(Self(counter))
    }

    pub(crate) fn record(&self, id: &AcquirerId) {
        self.0.inc();
        tracing::info!(notification.id = id.as_str(), "ignored a notification of an unknown type");
    }
}

impl Payments {
    /// The deadline for the answer to a dispute, if the acquirer gives none.
    pub(crate) fn default_dispute_due(&self, opened: Timestamp) -> Timestamp {
        opened.checked_add(self.defaults.dispute_due).unwrap_or(Timestamp::MAX)
    }

    /// The transaction with this ID at its acquirer, and its currency.
    pub(crate) async fn authorized(
        &self,
        acquirer: AcquirerName,
        authorization: &str,
    ) -> Result<Option<(Id, Currency)>, Error> {
        Ok(self.store.authorized(acquirer, authorization).await?)
    }

    /// Books a notification, once.
    pub(crate) async fn book_notification(
        &self,
        notification: Notification,
    ) -> Result<(), NotificationError> {
        if let AcquirerEvent::Refused { operation, reason } = &notification.event {
            let transaction = notification.transaction;
            tracing::warn!(
                transaction.id = %transaction, %operation,
                reason = reason.as_deref().unwrap_or("none"),
                "the acquirer refused an operation that it had confirmed"
            );
        }
        // An acquirer may name any transaction, so no membership is checked.
        let nobody = (Id::MIN, ApiKeyDigest::NONE);
        let snapshot = self.store.snapshot(notification.transaction, nobody, None).await?;
        let Snapshot { transaction_terms, steps, .. } =
            snapshot.ok_or(NotificationError::NoSuchTransaction)?.value;
        let terms = &transaction_terms.terms;
        let exchange = self.rates.latest_exchange(transaction_terms.currency, terms)?;
        let fee_exchange = self.rates.latest_exchange(terms.pricing.dispute.currency, terms)?;
        let notification = Box::new(notification);
        let action = RecordNotification { notification, exchange, fee_exchange, steps };
        self.store.write(action).await??;
        Ok(())
    }

    /// Closes overdue disputes of test merchants as lost, because the sandbox never decides one. An
    /// error does not stop the other disputes; the last error is returned.
    pub(crate) async fn lose_overdue_disputes(&self) -> Result<(), NotificationError> {
        let mut failed = None;
        for overdue in self.store.overdue_disputes().await? {
            failed = self.lose(overdue).await.err().or(failed);
        }
        failed.map_or(Ok(()), Err)
    }

    /// Closes a dispute of a test merchant as lost.
    pub(super) async fn lose(&self, overdue: OverdueDispute) -> Result<(), NotificationError> {
        let OverdueDispute { id, transaction, reference } = overdue;
        let id = AcquirerId::of_sandbox("lost", id);
        let event = AcquirerEvent::Decided { dispute: reference, decision: Decision::Lost };
        self.book_notification(Notification { id, transaction, created: now(), event }).await
    }
}
