//! What acquirers tell of their own accord: disputes and suspicions of fraud. It has happened, so it
//! is booked, whatever it does to a balance.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;

use crate::{
    domain::{
        Decision, Event, NoRate, Notification, Reference,
        write::{Action, Refusal},
    },
    rates::ExchangeRates,
    store::{Overdue, Store, StoreError, now},
};

/// Why something that was told is not booked.
#[derive(Debug, thiserror::Error)]
pub enum NoticeError {
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

/// Books what acquirers tell.
#[derive(Clone)]
pub struct Cases {
    store: Store,
    rates: Arc<ExchangeRates>,
    due: Duration,
}

impl NoticeError {
    /// Whether the same notification may be booked later.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::NoRate(_) | Self::Store(_) => true,
            Self::NoSuchTransaction | Self::Refused(_) => false,
        }
    }
}

impl Cases {
    /// Cases at these rates. A dispute of which nothing else is said can be answered for `due`.
    pub fn new(store: Store, rates: Arc<ExchangeRates>, due: Duration) -> Self {
        Self { store, rates, due }
    }

    /// When a dispute that was opened then has to be answered, unless something else is said.
    pub fn due(&self, opened: Timestamp) -> Timestamp {
        opened.checked_add(self.due).unwrap_or(Timestamp::MAX)
    }

    /// Books what an acquirer told, once.
    pub async fn notice(&self, notification: Notification) -> Result<(), NoticeError> {
        let transaction = self.store.reservation_of(notification.transaction).await?;
        let transaction = transaction.ok_or(NoticeError::NoSuchTransaction)?;
        let terms = &transaction.terms;
        let exchange = self.rates.last_exchange(transaction.currency, terms)?;
        let fee_exchange = self.rates.last_exchange(terms.pricing.dispute.currency, terms)?;
        let notification = Box::new(notification);
        let action = Action::Notice { notification, exchange, fee_exchange, steps: 0 };
        let _noticed = self.store.write(action).await??;
        Ok(())
    }

    /// Loses the disputes of test merchants that nobody answered in time: the sandbox is nobody who
    /// would. One that fails keeps no other from its end.
    pub async fn lose_overdue(&self) -> Result<(), NoticeError> {
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
