//! What acquirers tell of their own accord: disputes and suspicions of fraud. It has happened, so it
//! is booked, whatever it does to a balance.

use jiff::Timestamp;

use super::{error::Error, payments::Payments};
use crate::{
    domain::{
        Decision, Event, Id, NoRate, Notification, Reference,
        write::{Action, Refusal},
    },
    store::{Overdue, Seen, StoreError, now},
};

/// Why something that was told is not booked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoticeError {
    /// It is about no transaction of ours.
    #[error("there is no such transaction")]
    NoSuchTransaction,
    /// Nobody can say what the money is worth.
    #[error(transparent)]
    NoRate(#[from] NoRate),
    /// The store does not do it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl NoticeError {
    /// Whether the same notification may be booked later.
    pub(crate) fn is_temporary(&self) -> bool {
        match self {
            Self::NoRate(_) | Self::Store(_) => true,
            Self::NoSuchTransaction | Self::Refused(_) => false,
        }
    }
}

impl From<NoticeError> for Error {
    fn from(error: NoticeError) -> Self {
        match error {
            NoticeError::NoSuchTransaction => {
                Self::field("transactionId", "is not one that was made here")
            }
            NoticeError::NoRate(error) => Self::NoRate(error),
            NoticeError::Refused(refusal) => refusal.into(),
            NoticeError::Store(error) => error.into(),
        }
    }
}

impl Payments {
    /// When a dispute that was opened then has to be answered, unless something else is said.
    pub(crate) fn due(&self, opened: Timestamp) -> Timestamp {
        opened.checked_add(self.defaults.dispute_due).unwrap_or(Timestamp::MAX)
    }

    /// Books what an acquirer told, once.
    pub(crate) async fn notice(&self, notification: Notification) -> Result<(), NoticeError> {
        let seen = self.store.seen(notification.transaction, Id::FIRST, None).await?;
        let Seen { reservation, steps, .. } = seen.ok_or(NoticeError::NoSuchTransaction)?.value;
        let terms = &reservation.terms;
        let exchange = self.rates.last_exchange(reservation.currency, terms)?;
        let fee_exchange = self.rates.last_exchange(terms.pricing.dispute.currency, terms)?;
        let notification = Box::new(notification);
        let action = Action::Notice { notification, exchange, fee_exchange, steps };
        let _noticed = self.store.write(action).await??;
        Ok(())
    }

    /// Loses the disputes of test merchants that nobody answered in time: the sandbox is nobody who
    /// would. One that fails keeps no other from its end.
    pub(crate) async fn lose_overdue(&self) -> Result<(), NoticeError> {
        let mut failed = None;
        for Overdue { id, transaction, reference } in self.store.overdue().await? {
            let id = Reference::of_sandbox("lost", id);
            let event = Event::Decided { dispute: reference, decision: Decision::Lost };
            let notification = Notification { id, transaction, created: now(), event };
            failed = self.notice(notification).await.err().or(failed);
        }
        failed.map_or(Ok(()), Err)
    }
}
