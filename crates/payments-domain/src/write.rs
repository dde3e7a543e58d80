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
//! 1. Every rule that changes data is in this crate. The SQL of the two engines only finds
//!    candidates, locks rows and writes them.
//! 2. A decision cannot query the database: on PostgreSQL a batch is two round trips (three if a
//!    row was not found), however many writes it has. A row that was not loaded looks to a decision
//!    like a row that does not exist. So an action must list all its rows in [`Action::needs`].
//! 3. The IDs of new rows are drawn during the load: [`Action::ids`] for each write. A write that
//!    uses more panics, and fails alone.
//! 4. A batch can run again, for example after a panic or a conflict with another database
//!    transaction. So a decision has no side effects. The time comes with the loaded rows, and
//!    random numbers (`jitter`) come with the action.
//! 5. The idempotency key and the outcome are written with the change. A repeated request therefore
//!    gets the first outcome and changes nothing.
//! 6. Exchange rates are not in the database. The caller passes them with the action.

use std::fmt;

use sql::group;

use super::{
    acquirer_key::{AcquirerKey, RequestDigest},
    actor::Actor,
    api_key::{ApiKeyDigest, MAX_API_KEYS},
    event::TraceBytes,
    evidence::AnswerError,
    id::Id,
    movement::{MAX_STEPS, MovementError},
    transaction::{Amounts, Step, TransactionVersion},
    webhook::MAX_WEBHOOKS,
};

mod batch;
mod booking;
mod changes;
#[cfg(any(test, feature = "generators"))]
pub mod generators;
mod loaded;
#[cfg(any(test, feature = "generators"))]
pub mod model;
mod needs;
mod outcome;
mod rows;
#[cfg(test)]
mod tests;

pub(crate) use batch::MAX_BALANCE;
pub use batch::{Batch, decide};
pub use changes::Changes;
pub(crate) use changes::StepOrigin;
pub use loaded::{KeyState, LoadedRows, LoadedTransaction, PayoutState, PendingContext};
pub use needs::{CapturesToLoad, Needs};
pub use outcome::{AsJson, Outcome, StoredOutcome};
pub use rows::*;
pub use sql::{Group, Row};

/// A change of the store. With an idempotency key, it is executed only once.
#[derive(Debug)]
pub struct Write {
    pub by: By,
    /// The trace of the request that writes.
    pub trace: Option<TraceBytes>,
    pub action: Box<dyn AnyAction>,
    pub keyed: Option<KeyedRequest>,
}

/// Who writes. Events name the actor.
#[derive(Debug, Clone, Copy)]
pub struct By {
    pub actor: Actor,
    /// Checked in the batch: it may have been revoked since the request began.
    pub access: Option<Access>,
}

/// The access of an app to its own resources, and to those of a merchant.
#[derive(Debug, Clone, Copy)]
pub struct Access {
    pub app: Id,
    pub key: ApiKeyDigest,
    pub merchant: Option<Id>,
}

impl From<Actor> for By {
    fn from(actor: Actor) -> Self {
        Self { actor, access: None }
    }
}

impl From<Access> for By {
    fn from(access: Access) -> Self {
        Self { actor: Actor::app(access.app), access: Some(access) }
    }
}

/// A change of the store: what it needs, and what it decides. `actions` has all of them.
pub trait Action: fmt::Debug + Send + Sync + 'static {
    type Outcome: Outcome;

    /// Adds the keys of all rows that the decision reads.
    fn needs(&self, needs: &mut Needs);

    /// Checks everything, then changes rows. If it returns `Err`, it has changed none.
    fn decide(&self, batch: &mut Batch) -> Result<Self::Outcome, Rejection>;

    /// The maximum number of IDs that the write uses. Unused IDs are lost, which is harmless.
    fn ids(&self) -> usize {
        MOST_IDS
    }

    /// Estimates the rows that the write reads and writes, and the bytes of its payload.
    fn cost(&self) -> (usize, usize) {
        (MOVEMENT_ROWS, 0)
    }

    /// Whether it finishes admitted work: then it enters the queue even if the queue is full.
    fn is_follow_up(&self) -> bool {
        false
    }
}

/// An [`Action`] of any type.
pub trait AnyAction: fmt::Debug + Send + Sync {
    fn needs(&self, needs: &mut Needs);
    fn decide(&self, batch: &mut Batch) -> Result<Box<dyn Outcome>, Rejection>;
    fn ids(&self) -> usize;
    fn cost(&self) -> (usize, usize);
    fn is_follow_up(&self) -> bool;
}

impl<A: Action> AnyAction for A {
    fn needs(&self, needs: &mut Needs) {
        Action::needs(self, needs);
    }

    fn decide(&self, batch: &mut Batch) -> Result<Box<dyn Outcome>, Rejection> {
        Ok(Box::new(Action::decide(self, batch)?))
    }

    fn ids(&self) -> usize {
        Action::ids(self)
    }

    fn cost(&self) -> (usize, usize) {
        Action::cost(self)
    }

    fn is_follow_up(&self) -> bool {
        Action::is_follow_up(self)
    }
}

/// Rows that a movement reads and writes, without captures. Few actions use more.
pub(crate) const MOVEMENT_ROWS: usize = 11;

/// The cost of a change of a webhook. The URL of an endpoint has at most 2 KiB.
pub(crate) const WEBHOOK_COST: (usize, usize) = (MAX_WEBHOOKS + 2, 2048);

/// The captures that a refund may read and write, if the trail had this length.
pub fn captures(steps: u32) -> usize {
    usize::try_from(steps.min(MAX_STEPS)).unwrap_or(usize::MAX)
}

/// No action uses more IDs, except for those that say so: a notification can book a line, an event
/// and a dispute, and a line and an event of its decision.
const MOST_IDS: usize = 5;

/// The idempotency key of a request.
#[derive(Debug, Clone)]
pub struct KeyedRequest {
    pub app: Id,
    pub key: String,
    /// The digest of the request. The same key with another digest is rejected.
    pub request: RequestDigest,
}

impl KeyedRequest {
    /// The key of the request's payment or outbox entry at the acquirer.
    pub fn acquirer_key(&self) -> AcquirerKey {
        AcquirerKey::of_request(self.app, &self.key)
    }
}

impl<A: Action> From<A> for Box<dyn AnyAction> {
    fn from(action: A) -> Self {
        Box::new(action)
    }
}

impl<A: Into<Box<dyn AnyAction>>> From<A> for Write {
    fn from(action: A) -> Self {
        Self { by: Actor::SYSTEM.into(), trace: None, action: action.into(), keyed: None }
    }
}

/// The answer to a write that was not rejected. `T` is the outcome of its action.
#[derive(Debug)]
pub enum Answer<T = Box<dyn Outcome>> {
    /// The write was executed.
    Executed(T),
    /// A write with the same idempotency key was executed before.
    Replayed(StoredOutcome),
}

group! {
    /// A transaction has a new step.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Moved {
        version: TransactionVersion = ..,
        /// The new step. It is not stored, so a repeat does not have it.
        last: Option<Box<LastStep>> = [None],
    }
}

/// The last step of a trail, and the transaction's amounts after it.
#[derive(Debug, Clone, PartialEq)]
pub struct LastStep {
    pub step: Step,
    pub amounts: Amounts,
}

/// Why a write is rejected. A rejected write changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// The subject of the write does not exist.
    #[error("the object does not exist")]
    NotFound,
    /// The API key of the request was deleted.
    #[error("the API key was deleted")]
    KeyDeleted,
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
    #[error("is the last user of the merchant: invite another one first")]
    LastMember,
    #[error(transparent)]
    Movement(#[from] MovementError),
    #[error(transparent)]
    Answer(#[from] AnswerError),
    #[error("the idempotency key was used for another request")]
    KeyReused,
    #[error("the request with this idempotency key is not finished")]
    InFlight,
    #[error("the payment link was used")]
    LinkUsed,
}
