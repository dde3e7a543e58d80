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
//!    row was not found), however many writes it has. A decision treats a row that is not in
//!    [`LoadedRows`] as a row that does not exist. So a new action must list all its rows in
//!    `needs.rs`.
//! 3. The IDs of new rows are drawn during the load. `needs.rs` must count the maximum that an
//!    action can use. All writes of a batch share the IDs: if the count is too low, this or a later
//!    write of the batch panics.
//! 4. A batch can run again, for example after a panic or a conflict with another database
//!    transaction. So a decision has no side effects. The time comes with the loaded rows, and
//!    random numbers (`jitter`) come with the action.
//! 5. The idempotency key and the outcome are written with the change. A repeated request therefore
//!    gets the first outcome and changes nothing.
//! 6. Exchange rates are not in the database. The caller passes them with the action.

use super::{
    acquirer_key::AcquirerKey,
    api_key::{ApiKeyDetails, ApiKeyDigest, ApiKeyUse, MAX_API_KEYS},
    app::App,
    card::Card,
    delivery::DeliveryReport,
    id::Id,
    invitation::Invitation,
    link::{LinkDigest, LinkSecret},
    merchant::{Descriptor, Email, MerchantDetails, MerchantUpdate, Name, Notes, Pricing},
    movement::{MovementError, MovementRequest},
    notification::Notification,
    outbox::SendingReport,
    payment::{CardOnFile, Conclusion, Payment},
    payout::PayoutRequest,
    processing::ProcessingError,
    rates::Exchange,
    sandbox_clock::AdvanceBy,
    transaction::{Amounts, Step, TransactionVersion},
    webhook::{MAX_WEBHOOKS, Webhook, WebhookDetails, WebhookSecret, WebhookUpdate},
};

mod changes;
mod decide;
mod known;
mod needs;
mod rows;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use changes::{Changes, MerchantTexts, StepOrigin};
pub(crate) use decide::decide;
pub(crate) use known::{
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
    pub(crate) action: Action,
    pub(crate) keyed: Option<KeyedRequest>,
}

impl From<Action> for Write {
    fn from(action: Action) -> Self {
        Self { action, keyed: None }
    }
}

/// A change of the store.
#[derive(Debug)]
pub(crate) enum Action {
    /// Create an app with its first API key.
    CreateApp {
        name: Option<Name>,
        digest: ApiKeyDigest,
    },
    /// Create a further API key of an app.
    CreateApiKey {
        app: Id,
        name: Option<Name>,
        digest: ApiKeyDigest,
    },
    /// Delete an API key of an app. Rejected if it is the last one.
    DeleteApiKey {
        app: Id,
        key: Id,
    },
    /// Record when API keys were used.
    RecordApiKeyUses {
        uses: Vec<ApiKeyUse>,
    },
    /// Create a merchant, with the calling app as its first member.
    CreateMerchant {
        app: Id,
        key: String,
        details: Box<MerchantDetails>,
        pricing: Pricing,
    },
    UpdateMerchant {
        merchant: Id,
        update: MerchantUpdate,
    },
    /// Replace the key that signs the payment links of a merchant.
    SetLinkSecret {
        merchant: Id,
        secret: LinkSecret,
    },
    /// Make a user a member of a merchant, and queue the invitation.
    AddUser {
        merchant: Id,
        /// The app that invites the user.
        app: Id,
        email: Email,
    },
    RevokeUser {
        merchant: Id,
        user: Id,
    },
    AddApp {
        merchant: Id,
        app: Id,
    },
    RevokeApp {
        merchant: Id,
        app: Id,
    },
    /// Record a pending payment, before the acquirer is called.
    BeginPayment {
        payment: Box<Payment>,
        /// The payment link, if it pays only once. Rejected if the link has paid, or is paying.
        link: Option<LinkDigest>,
    },
    /// Record the acquirer's ID of the authorization that it will be asked for.
    PreparePayment {
        /// The ID from [`Outcome::PaymentBegun`].
        pending_payment: Id,
        authorization: String,
    },
    /// Record the end of a pending payment. Only the first one counts: later ones are rejected.
    ConcludePayment {
        /// The ID from [`Outcome::PaymentBegun`].
        pending_payment: Id,
        conclusion: Conclusion,
        /// The card data that may be stored. `None` if the caller does not have it.
        card: Option<Box<Card>>,
    },
    /// Record that the customer of a pending payment must answer 3-D Secure.
    ChallengePayment {
        /// The ID from [`Outcome::PaymentBegun`].
        pending_payment: Id,
        card: Box<Card>,
        /// The acquirer's ID of the challenge.
        reference: String,
    },
    /// Capture, refund or void.
    Move {
        transaction: Id,
        request: MovementRequest,
        /// Replaces the transaction's descriptor for this movement.
        descriptor: Option<Descriptor>,
        /// The length of the trail when it was last read, or 0: an estimate of how many rows a
        /// refund reads and writes.
        steps: u32,
    },
    /// Save a card (deprecated, see [`super::SavedCard`]).
    SaveCard {
        merchant: Id,
        original: Box<CardOnFile>,
        notes: Option<Notes>,
    },
    /// Record an acquirer's notification. A repeated notification changes nothing.
    RecordNotification {
        notification: Box<Notification>,
        /// For disputed money that was never captured.
        exchange: Exchange,
        /// From the currency of the dispute fee to the merchant's.
        fee_exchange: Exchange,
        /// As in [`Action::Move`].
        steps: u32,
    },
    /// Record which outbox entries were sent.
    RecordSending(SendingReport),
    /// Delete an outbox entry that the acquirer refuses, and reverse what was booked with it.
    /// Rejected if the entry does not exist.
    RefuseEntry {
        entry: Id,
        transaction: Id,
        /// The key of the entry.
        key: AcquirerKey,
    },
    /// Count an attempt to send an invitation. Rejected if no attempt is due.
    StartInvitationAttempt {
        invitation: Id,
        /// A random number that spreads the retries: see [`Invitation::retry_delay`].
        jitter: u16,
    },
    /// Delete an invitation that was sent, or failed at its last attempt.
    RemoveInvitation {
        invitation: Id,
    },
    /// Create an endpoint of an app.
    CreateWebhook {
        app: Id,
        details: Box<WebhookDetails>,
        secret: WebhookSecret,
    },
    UpdateWebhook {
        app: Id,
        webhook: Id,
        update: Box<WebhookUpdate>,
    },
    /// Give an endpoint a new secret. The old one also signs for a day.
    RotateWebhook {
        app: Id,
        webhook: Id,
        secret: WebhookSecret,
    },
    DeleteWebhook {
        app: Id,
        webhook: Id,
    },
    /// Send all events after this one to an endpoint again.
    ReplayWebhook {
        app: Id,
        webhook: Id,
        after: Id,
    },
    /// Record results of deliveries. Rejected if they are of another epoch.
    RecordDeliveries(Box<DeliveryReport>),
    /// Pay out a merchant's balance, at most once in a run.
    PayOut(PayoutRequest),
    /// Delete old idempotency keys.
    DeleteKeys {
        /// By app and key.
        keys: Vec<(Id, String)>,
    },
    /// Delete old events.
    DeleteEvents {
        events: Vec<Id>,
    },
    /// Record that the expiry job has checked all transactions up to this one.
    SaveExpiryCursor {
        through: Id,
    },
    /// Advance the sandbox clock of an app.
    AdvanceClock {
        app: Id,
        by: AdvanceBy,
    },
    /// Record that all that is due after this advance has been ended.
    FinishAdvance {
        app: Id,
        advance: Id,
    },
}

/// The idempotency key of a request.
#[derive(Debug, Clone)]
pub(crate) struct KeyedRequest {
    pub(crate) app: Id,
    pub(crate) key: String,
    /// The digest of the request. The same key with another digest is rejected.
    pub(crate) request: [u8; 32],
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
