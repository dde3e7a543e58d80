//! Values and rules of payments.
//!
//! The domain has no I/O: no network, no clock, no database. The time, IDs and random numbers come
//! in as arguments, so that every rule can be tested in memory.
//!
//! Sums of money must be exact. So arithmetic uses integers and fractions, and an overflow is an
//! error. The arithmetic saturates only where an overflow is impossible, or where the result is
//! limited anyway. Clippy warns about operators that can overflow, and about floats.
//!
//! `docs/glossary.md` explains the words. The path of a payment through the modules:
//!
//! 1. `actions` has every change of the store. `write` decides a batch of them.
//! 2. `BeginPayment` records a pending payment, `ChallengePayment` a challenge of 3-D Secure, and
//!    `ConcludePayment` the outcome (`payment`). The pending payment becomes a `transaction`.
//! 3. `Move` captures, refunds or voids (`movement`). It books `ledger` entries, adds a step to the
//!    trail (`transaction`) and an outbox entry for the acquirer (`payment`).
//! 4. `RecordNotification` records a `notification` from the acquirer. It can change a `dispute`.
//!    `SaveEvidence` and `AnswerDispute` answer it (`evidence`).
//! 5. `PayOut` pays the balance of a merchant, and `ReturnPayout` books back what did not arrive
//!    (`payout`).
//! 6. Each of these writes an `event`, which merchants are told.
//!
//! `settlement` compares the file of an acquirer with the movements.
//!
//! `webhook` has the endpoints to which apps want `event`s sent, `undelivered` chooses the events to
//! send next, and `delivery` is the record of it.
#![expect(missing_docs, reason = "the names of most fields and values say what they are")]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::float_arithmetic))]

mod acquirer_key;
pub mod actions;
mod actor;
mod api_key;
mod app;
mod authenticator;
mod card;
mod custom_data;
mod delivery;
mod dispute;
mod event;
mod evidence;
mod field_error;
mod id;
mod jitter;
mod ledger;
mod link;
mod log;
mod mail;
mod merchant;
mod money;
mod movement;
mod notification;
mod outbox;
mod page_query;
mod payment;
mod payout;
mod processing;
mod rates;
mod refusal;
mod sandbox_clock;
mod sepa;
mod settlement;
mod sign_in;
mod transaction;
mod undelivered;
mod webhook;
pub mod write;

pub use acquirer_key::AcquirerKey;
pub(crate) use acquirer_key::RequestDigest;
pub use actor::{Actor, ActorKind};
pub(crate) use api_key::MAX_API_KEYS;
pub use api_key::{ApiKey, ApiKeyDetails, ApiKeyDigest, ApiKeyUse, hour_of};
pub use app::{App, User};
pub use authenticator::{Code, CodeEntered, CodeResult, FRESH, SealedSecret};
pub(crate) use authenticator::{LOCK, MAX_WRONG_CODES};
pub use card::{
    Card, CardDetails, CardNumber, CardToken, Expiry, SavedCard, Scheme, SecurityCode, is_last4,
};
pub use custom_data::{CustomData, ReferenceDigest};
pub(crate) use delivery::Failures;
pub use delivery::{
    Delivery, DeliveryAttempt, DeliveryOutcome, DeliveryReport, MAX_RECORDED_ATTEMPTS, Progress,
    Retry, RetryAfter,
};
pub use dispute::{Decision, Dispute, DisputeState, Reason, Slice};
pub(crate) use dispute::{NotificationResult, OpenedDispute};
pub use event::{Event, EventData, EventType, Fact, NewEvent, TraceBytes};
pub(crate) use evidence::MAX_OPEN_BYTES;
pub use evidence::{
    AnswerError, DisputeAnswer, Evidence, EvidenceFile, EvidenceText, FileContent, FileName,
    FileType, MAX_FILE_BYTES, MAX_FILES, NewFile, SubmittedEvidence,
};
pub use field_error::FieldError;
pub use id::{Id, IdGenerator};
pub use ledger::{Account, BalanceLine, LineKind};
pub(crate) use ledger::{LedgerEntry, Posting, are_balanced};
pub use link::{DecimalAmount, Link, LinkDigest, LinkSecret};
pub use log::LogKind;
pub use mail::{Mail, MailKind, ReceiptAddress};
pub use merchant::{
    BankChange, Country, Descriptor, Email, Hold, Iban, Merchant, MerchantDetails, MerchantUpdate,
    Name, Notes, Pricing, Standing, Terms, Website, link_text, merchant_title,
};
pub use money::{
    Amount, Currency, InvalidCurrency, InvalidMajorUnits, Money, Overflow, Ppm, UnknownCurrency,
    multiply_rounded,
};
pub(crate) use movement::TransactionChange;
pub use movement::{Capture, MovementError, MovementRequest, TransactionState};
pub use notification::{
    AcquirerEvent, AcquirerId, Claim, FraudAlert, FraudReason, Notification, acquirer_time,
};
pub(crate) use outbox::Postponed;
pub use outbox::{GIVE_UP_AFTER, GIVE_UP_ATTEMPTS, OutboxQueue, QueuedEntry, SendingReport, Sent};
pub use page_query::{MAX_PAGE_SIZE, PageQuery};
pub(crate) use payment::PaymentResult;
pub use payment::{
    AcquirerName, AcquirerOutcome, Authorization, Capabilities, CardOnFile, Challenge,
    ChallengeAnswer, Conclusion, OutboxEntry, OutboxKind, Payment, UnansweredPayment,
};
pub use payout::{
    Payout, PayoutFormat, PayoutRequest, PayoutReturn, PayoutRun, ReturnReason, ReturnResult,
    ReturnedTransfer, Transfer,
};
pub use processing::{DeclineGroup, ProcessingError};
pub use rates::{Exchange, InvalidRates, NoRate, Rates};
pub use refusal::{DisputedParts, RefusedStep};
pub(crate) use sandbox_clock::Advance;
pub use sandbox_clock::{AdvanceBy, InvalidAdvance, SandboxClock};
pub use sepa::{Bic, Debtor, EDITION as SEPA_EDITION, SepaMessage, SepaName, sum as sepa_sum};
pub use settlement::{
    BookedOperation, Comparison, Difference, DifferenceKind, OperationKind, OperationState,
    Reconciliation, Reference, SettledOperation, SettledRow, Tariff, Totals,
};
pub use sign_in::{LinkKind, SESSION_IDLE, SESSION_TTL, Token, TokenDigest};
pub(crate) use sign_in::{MAX_LINKS, MAX_SESSIONS};
pub use transaction::{
    Amounts, Fee, Movement, Receipt, Step, ThreeDSecure, Transaction, TransactionStatus,
    TransactionTerms, TransactionVersion,
};
pub use undelivered::Undelivered;
pub(crate) use webhook::MAX_WEBHOOKS;
pub use webhook::{
    DisableReason, EventTypes, InvalidWebhookUrl, Webhook, WebhookDetails, WebhookSecret,
    WebhookSecrets, WebhookUpdate, WebhookUrl,
};
