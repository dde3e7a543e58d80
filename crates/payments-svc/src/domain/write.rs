//! Writes: the changes that handlers and jobs request from the store, and their answers.
//!
//! Writes run in batches. A batch is one database transaction with three phases:
//!
//! - **Load.** An engine locks and reads the rows of [`Needs`]. The result is [`LoadedRows`].
//! - **Decide.** [`decide()`] computes the answers and the row [`Changes`] in memory.
//! - **Write.** The engine writes the changes table by table and commits. Answers are sent after
//!   the commit.
//!
//! Before you change something here:
//!
//! 1. Every rule that changes data is in `domain`. The SQL of the two engines only finds
//!    candidates, locks rows and writes them.
//! 2. A decision cannot query the database: on PostgreSQL a batch is two round trips (three if a
//!    row was not found), however many writes it has. A row that was not loaded looks to a decision
//!    like a row that does not exist. So an action must list all its rows in [`Action::needs`].
//! 3. The IDs of new rows are drawn during the load: [`IDS_PER_WRITE`] for each write. A write that
//!    uses more panics, and fails alone.
//! 4. A batch can run again, for example after a panic or a conflict with another database
//!    transaction. So a decision has no side effects. The time comes with the loaded rows, and
//!    random numbers (`jitter`) come with the action.
//! 5. The idempotency key and the outcome are written with the change. A repeated request therefore
//!    gets the first outcome and changes nothing.
//! 6. Exchange rates are not in the database. The caller passes them with the action.

use std::fmt;

use super::{
    acquirer_key::{AcquirerKey, RequestDigest},
    api_key::{ApiKeyDetails, MAX_API_KEYS},
    app::App,
    id::Id,
    invitation::Invitation,
    movement::{MAX_STEPS, MovementError},
    processing::ProcessingError,
    transaction::{Amounts, Step, TransactionVersion},
    webhook::{MAX_WEBHOOKS, Webhook},
};

mod batch;
mod booking;
mod changes;
mod loaded;
mod needs;
mod rows;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use batch::{ActionResult, Batch, MAX_BALANCE, decide, done};
pub(crate) use changes::{Changes, MerchantTexts, StepOrigin};
pub(crate) use loaded::{
    KeyState, LoadedRows, LoadedTransaction, PayoutState, PendingContext, StoredIdempotencyKey,
};
pub(crate) use needs::{CapturesToLoad, Needs};
pub(crate) use rows::{
    ApiKeyRow, AppRow, AttemptRow, AuthorizationRow, Balance, BatchRows, CaptureRow, CardRow,
    CustomRow, DisputeRow, EventRow, ExpiryRow, InvitationRow, KeyRow, LineRow, LinkSecretRow,
    MerchantApp, MerchantUser, NotificationRow, OutboxRow, PayoutRow, PendingChallenge, PendingRow,
    PostingRow, ProgressRow, RefusedVoid, RetriesOfWebhook, RetryRow, SliceRow, StepRow,
    TransactionAmounts, TransactionRow, UsedLink, WebhookRow,
};

/// A change of the store. With an idempotency key, it is executed only once.
#[derive(Debug)]
pub(crate) struct Write {
    pub(crate) action: Box<dyn Action>,
    pub(crate) keyed: Option<KeyedRequest>,
}

impl<A: Into<Box<dyn Action>>> From<A> for Write {
    fn from(action: A) -> Self {
        Self { action: action.into(), keyed: None }
    }
}

/// A change of the store: what it needs, and what it decides. `domain/actions` has all of them.
pub(crate) trait Action: fmt::Debug + Send + Sync {
    /// Adds the keys of all rows that the decision reads.
    fn needs(&self, needs: &mut Needs);

    /// Checks everything, then changes rows. If it returns `Err`, it has changed none.
    fn decide(&self, batch: &mut Batch) -> ActionResult;

    /// Estimates the rows that the write reads and writes, and the bytes of its payload.
    fn cost(&self) -> (usize, usize) {
        (MOVEMENT_ROWS, 0)
    }

    /// Whether it finishes admitted work: then it enters the queue even if the queue is full.
    fn is_follow_up(&self) -> bool {
        false
    }
}

impl<A: Action + 'static> From<A> for Box<dyn Action> {
    fn from(action: A) -> Self {
        Box::new(action)
    }
}

/// Rows that a movement reads and writes, without captures. Few actions use more.
pub(crate) const MOVEMENT_ROWS: usize = 9;

/// The cost of a change of a webhook. The URL of an endpoint has at most 2 KiB.
pub(crate) const WEBHOOK_COST: (usize, usize) = (MAX_WEBHOOKS + 2, 2048);

/// The captures that a refund may read and write, if the trail had this length.
pub(crate) fn captures(steps: u32) -> usize {
    usize::try_from(steps.min(MAX_STEPS)).unwrap_or(usize::MAX)
}

/// The maximum number of IDs that a write uses: a notification can book a line, an event and a
/// dispute, and a line and an event of its decision. Unused IDs are lost, which is harmless.
pub(crate) const IDS_PER_WRITE: usize = 5;

/// The idempotency key of a request.
#[derive(Debug, Clone)]
pub(crate) struct KeyedRequest {
    pub(crate) app: Id,
    pub(crate) key: String,
    /// The digest of the request. The same key with another digest is rejected.
    pub(crate) request: RequestDigest,
}

impl KeyedRequest {
    /// The key of the request's payment or outbox entry at the acquirer.
    pub(crate) fn acquirer_key(&self) -> AcquirerKey {
        AcquirerKey::of_request(self.app, &self.key)
    }
}

/// The answer to a write that was not rejected.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// The write was executed.
    Executed {
        outcome: Outcome,
        /// The new step of the trail, if the write was a movement.
        step: Option<Box<LastStep>>,
    },
    /// A write with the same idempotency key was executed before. This is its outcome.
    Replayed(Outcome),
}

impl Answer {
    pub(crate) fn outcome(&self) -> &Outcome {
        match self {
            Self::Executed { outcome, .. } | Self::Replayed(outcome) => outcome,
        }
    }
}

/// The last step of a trail, and the transaction's amounts after it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LastStep {
    pub(crate) step: Step,
    pub(crate) amounts: Amounts,
}

/// The outcome of a write. With an idempotency key it is stored, to answer a repeated request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    /// The write has no result.
    Done,
    App(App),
    Merchant(Box<MerchantTexts>),
    /// The user is a member of the merchant.
    Membership {
        /// Whether the user was a member before.
        already: bool,
    },
    /// A pending payment was recorded, with this ID.
    PaymentBegun(Id),
    /// The outcome of a payment was recorded.
    PaymentConcluded {
        transaction: Id,
        /// `None` if the payment succeeded.
        error: Option<ProcessingError>,
    },
    /// A transaction has a new step.
    Moved(TransactionVersion),
    Card(Id),
    /// A further API key was created.
    ApiKey(ApiKeyDetails),
    /// This merchant has a new link secret.
    LinkSecret(Id),
    /// The caller must send this invitation.
    Invitation(Box<Invitation>),
    /// The endpoint after the write. An outcome never contains a secret.
    Webhook(Box<Webhook>),
}

/// Why a write is rejected. A rejected write changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Rejection {
    /// The subject of the write does not exist.
    #[error("the object does not exist")]
    NotFound,
    /// The app or user exists, but is not a member of the merchant.
    #[error("is not a member of the merchant")]
    NotAMember,
    /// The app to add does not exist. It gets its own error, because the caller sent it in a field.
    #[error("there is no such app")]
    NoSuchApp,
    #[error("the app has {MAX_WEBHOOKS} webhooks, which is the maximum: delete one first")]
    TooManyWebhooks,
    #[error("the app has {} keys, the maximum: delete one first", MAX_API_KEYS)]
    TooManyApiKeys,
    #[error("is the last key of the app: create another key first")]
    LastApiKey,
    #[error(transparent)]
    Movement(#[from] MovementError),
    #[error("the idempotency key was used for another request")]
    KeyReused,
    #[error("the request with this idempotency key is not finished")]
    InFlight,
    #[error("the payment link was used")]
    LinkUsed,
}
