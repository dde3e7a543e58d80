//! Errors of the application. Responses contain their texts; a `#[source]` is for the log only.
//! Module `web` adds the status and the stable name.

use common::limits;
use payments_domain::{AnswerError, FieldError, MovementError, NoRate, write::Rejection};

use crate::{acquirer::NoAnswer, authenticator::NotSealedHere, store::StoreError};

/// Why a request failed, in the words that the caller reads.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the API key is missing or wrong")]
    Unauthenticated,
    #[error("this app has no access to the resource")]
    Forbidden,
    #[error("no resource exists at this path")]
    NotFound,
    #[error("the request is not valid")]
    Invalid(Vec<FieldError>),
    #[error("the first request with this idempotency key is still being processed: try again")]
    InFlight,
    #[error("the idempotency key was used for another request")]
    KeyReused,
    #[error("the payment link was used")]
    LinkUsed,
    #[error("the operator holds the payments of this merchant: refunds and voids go on")]
    MerchantHeld,
    #[error("no recent exchange rate is available")]
    NoRate(#[source] NoRate),
    #[error("the outcome of the payment is not known yet; if it fails, the amount is released")]
    OutcomeUnknown(#[source] NoOutcome),
    #[error("the acquirer did not answer; nothing was saved: try again")]
    NoAnswer(#[source] NoAnswer),
    #[error(transparent)]
    RateLimited(limits::Refused),
    #[error("too many requests are waiting: try again in a second")]
    Overloaded,
    #[error("the store is locked by somebody else: try again in a second")]
    Busy,
    #[error("the disk is full: try again later")]
    DiskFull,
    #[error("the database is not available")]
    Store(#[source] StoreError),
    #[error("an internal error occurred")]
    Internal(#[source] StoreError),
    #[error("codes cannot be checked")]
    Sealed(#[source] NotSealedHere),
}

/// Why a payment that was begun has no outcome yet. A job asks the acquirer for it later.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoOutcome {
    #[error(transparent)]
    NoAnswer(#[from] NoAnswer),
    #[error("the acquirer's answer could not be stored")]
    NotStored(#[source] StoreError),
}

impl NoOutcome {
    /// Whether the disk is full. The store reports this once, not for each request.
    pub(crate) fn is_disk_full(&self) -> bool {
        matches!(self, Self::NotStored(StoreError::DiskFull))
    }
}

impl Error {
    /// An error about a single member of the request.
    pub(crate) fn field(field: &'static str, message: impl ToString) -> Self {
        Self::Invalid(vec![FieldError::new(field, message.to_string())])
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Panicked => Self::Internal(error),
            StoreError::Overloaded => Self::Overloaded,
            StoreError::Busy => Self::Busy,
            StoreError::DiskFull => Self::DiskFull,
            StoreError::ReadFailed(_) | StoreError::WriteFailed(_) => Self::Store(error),
        }
    }
}

impl From<Rejection> for Error {
    fn from(refusal: Rejection) -> Self {
        match refusal {
            Rejection::NotFound => Self::NotFound,
            Rejection::KeyDeleted => Self::Unauthenticated,
            Rejection::NotAMember => Self::Forbidden,
            Rejection::NoSuchApp => Self::field("appId", refusal),
            Rejection::TooManyWebhooks => Self::field("", refusal),
            Rejection::TooManyApiKeys => Self::field("", refusal),
            Rejection::LastApiKey => Self::field("keyId", refusal),
            Rejection::LastMember => Self::field("userId", refusal),
            Rejection::Movement(MovementError::OtherCurrency) => Self::field("currency", refusal),
            Rejection::Movement(_) => Self::field("amount", refusal),
            Rejection::Answer(AnswerError::Missing) => Self::field("text", refusal),
            Rejection::Answer(AnswerError::NoSpace) => Self::field("file", refusal),
            Rejection::Answer(_) => Self::field("disputeId", refusal),
            Rejection::KeyReused => Self::KeyReused,
            Rejection::InFlight => Self::InFlight,
            Rejection::LinkUsed => Self::LinkUsed,
        }
    }
}

impl From<NoOutcome> for Error {
    fn from(cause: NoOutcome) -> Self {
        Self::OutcomeUnknown(cause)
    }
}

impl From<limits::Refused> for Error {
    fn from(refused: limits::Refused) -> Self {
        Self::RateLimited(refused)
    }
}

impl From<Vec<FieldError>> for Error {
    fn from(invalid: Vec<FieldError>) -> Self {
        Self::Invalid(invalid)
    }
}
