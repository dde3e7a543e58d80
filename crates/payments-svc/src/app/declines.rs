//! Cards that are tried: by whom, and what is counted when an acquirer declines one.

use std::sync::Arc;

use common::limits::{ClientAddress, Refused};
use prometheus::{IntCounterVec, Opts, Registry};

use crate::{
    domain::{CardNumber, Id, ProcessingError},
    limits::{Admitted, Customer, Limits},
};

/// A card that is tried at a merchant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt {
    /// The merchant.
    pub(crate) merchant: Id,
    /// Whether the merchant is one for tests.
    pub(crate) test: bool,
    /// The request that it comes from.
    pub(crate) origin: Origin,
}

/// The request that an attempt comes from. Only `Api` needs credentials.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Origin {
    /// `POST /merchants/<id>/transactions`.
    Api,
    /// `POST /transactions`.
    Transactions(ClientAddress),
    /// `POST /cards`.
    Cards(ClientAddress),
    /// The payment page, the only place where a customer can be asked by 3-D Secure.
    Page(ClientAddress),
}

impl Origin {
    /// Its label in the metrics, and its address unless the caller has credentials.
    fn parts(self) -> (&'static str, Option<ClientAddress>) {
        match self {
            Self::Api => ("api", None),
            Self::Transactions(address) => ("transactions", Some(address)),
            Self::Cards(address) => ("cards", Some(address)),
            Self::Page(address) => ("page", Some(address)),
        }
    }
}

impl Attempt {
    /// The caller, unless it is the merchant.
    fn customer(self) -> Option<Customer> {
        let Self { merchant, test, origin } = self;
        let (_, address) = origin.parts();
        address.map(|address| Customer { merchant, test, address })
    }
}

/// Counts, limits and logs declined attempts.
pub(crate) struct Declines {
    limits: Arc<Limits>,
    counter: IntCounterVec,
}

impl Declines {
    /// Makes the counter and registers it.
    pub(crate) fn new(limits: Arc<Limits>, registry: &Registry) -> Result<Self, prometheus::Error> {
        let help = "Payments and cards that acquirers declined, by processing code and origin.";
        let counter = IntCounterVec::new(Opts::new("declines_total", help), &["code", "origin"])?;
        registry.register(Box::new(counter.clone()))?;
        Ok(Self { limits, counter })
    }

    pub(super) fn limits(&self) -> Arc<Limits> {
        Arc::clone(&self.limits)
    }

    /// Lets an attempt with a new card begin. A merchant's server is not limited.
    pub(super) fn admit(
        &self,
        attempt: Attempt,
        card: &CardNumber,
    ) -> Result<Option<Admitted>, Refused> {
        attempt.customer().map(|customer| self.limits.admit(&customer, card)).transpose()
    }

    /// An acquirer declined an attempt.
    pub(super) fn add(&self, attempt: Attempt, admitted: Option<Admitted>, error: ProcessingError) {
        if let Some(admitted) = admitted {
            admitted.declined(error);
        }
        if let Some(customer) = attempt.customer() {
            self.limits.declined(&customer, error);
        }
        let (code, (origin, _)) = (error.code(), attempt.origin.parts());
        self.counter.with_label_values(&[code.to_string().as_str(), origin]).inc();
        tracing::info!(merchant.id = %attempt.merchant, code, origin, "declined");
    }
}
