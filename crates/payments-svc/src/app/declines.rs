//! Attempts with a card: which request makes them, and which limits and metrics count a decline.

use std::sync::Arc;

use common::limits::{ClientAddress, Refused};
use payments_domain::{CardNumber, Id, ProcessingError};
use prometheus::{IntCounterVec, Opts, Registry};

use crate::limits::{Admitted, Customer, Limits};

/// An attempt to pay with a card at a merchant, or to save it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt {
    pub(crate) merchant: Id,
    /// Whether it is a test merchant.
    pub(crate) test: bool,
    pub(crate) origin: Origin,
}

/// The request that makes an attempt. Only callers of `Api` have credentials; the others are
/// limited by their address.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Origin {
    /// `POST /merchants/<id>/transactions`.
    Api,
    /// `POST /transactions`.
    Transactions(ClientAddress),
    /// `POST /cards`.
    Cards(ClientAddress),
    /// The payment page, the only origin that supports 3-D Secure.
    Page(ClientAddress),
}

impl Origin {
    /// The label in the metrics, and the client address unless the caller has credentials.
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
    /// The caller, unless it is the merchant's server.
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
    /// Registers the counter.
    pub(crate) fn new(limits: Arc<Limits>, registry: &Registry) -> Result<Self, prometheus::Error> {
        let help = "Declined payments and cards, by response code and origin.";
        let counter = IntCounterVec::new(Opts::new("declines_total", help), &["code", "origin"])?;
        registry.register(Box::new(counter.clone()))?;
        Ok(Self { limits, counter })
    }

    pub(super) fn limits(&self) -> Arc<Limits> {
        Arc::clone(&self.limits)
    }

    /// Checks the limits before an attempt with a card. The number is known if it was typed in here. A
    /// merchant's server is not limited.
    pub(super) fn admit(
        &self,
        attempt: Attempt,
        card: Option<&CardNumber>,
    ) -> Result<Option<Admitted>, Refused> {
        let Some(customer) = attempt.customer() else { return Ok(None) };
        self.limits.admit(&customer, card)
    }

    /// Counts and logs a decline. `admitted` comes from [`Self::admit`]. `cause`: why no acquirer was
    /// asked.
    pub(super) fn record(
        &self,
        attempt: Attempt,
        admitted: Option<Admitted>,
        error: ProcessingError,
        cause: Option<&'static str>,
    ) {
        if let Some(admitted) = admitted {
            admitted.declined(error);
        }
        if let Some(customer) = attempt.customer() {
            self.limits.declined(&customer, error);
        }
        let (code, (origin, _)) = (error.code(), attempt.origin.parts());
        self.counter.with_label_values(&[code.to_string().as_str(), origin]).inc();
        tracing::info!(merchant.id = %attempt.merchant, code, origin, cause, "declined");
    }
}
