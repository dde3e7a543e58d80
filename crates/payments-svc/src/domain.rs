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
//! 5. `PayOut` pays the balance of a merchant (`payout`).
//! 6. Each of these writes an `event`, which merchants are told.
//!
//! `settlement` compares the file of an acquirer with the movements.
//!
//! `webhook` has the endpoints to which apps want `event`s sent, `undelivered` chooses the events to
//! send next, and `delivery` is the record of it.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::float_arithmetic))]

mod acquirer_key;
pub(crate) mod actions;
mod api_key;
mod app;
mod card;
mod custom_data;
mod delivery;
mod dispute;
mod event;
mod field_error;
mod id;
mod invitation;
mod jitter;
mod ledger;
mod link;
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
mod transaction;
mod undelivered;
mod webhook;
pub(crate) mod write;

pub(crate) use acquirer_key::{AcquirerKey, RequestDigest};
pub(crate) use api_key::{ApiKey, ApiKeyDetails, ApiKeyDigest, ApiKeyUse, MAX_API_KEYS, hour_of};
pub(crate) use app::{App, User};
pub(crate) use card::{
    Card, CardDetails, CardNumber, CardToken, Expiry, SavedCard, Scheme, SecurityCode,
};
pub(crate) use custom_data::CustomData;
pub(crate) use delivery::{
    Delivery, DeliveryAttempt, DeliveryOutcome, DeliveryReport, Failures, MAX_RECORDED_ATTEMPTS,
    Progress, Retry,
};
pub(crate) use dispute::{
    Decision, Dispute, DisputeState, NotificationResult, OpenedDispute, Reason, Slice,
};
pub(crate) use event::{Event, EventData, EventType, Fact, NewEvent};
pub(crate) use field_error::FieldError;
pub(crate) use id::{Id, IdGenerator};
pub(crate) use invitation::Invitation;
pub(crate) use ledger::{Account, BalanceLine, LedgerEntry, LineKind, Posting, are_balanced};
pub(crate) use link::{DecimalAmount, Link, LinkDigest, LinkSecret};
pub(crate) use merchant::{
    Country, Descriptor, Email, Iban, Merchant, MerchantDetails, MerchantUpdate, Name, Notes,
    Pricing, Terms, Website, merchant_title,
};
pub(crate) use money::{
    Amount, Currency, InvalidCurrency, InvalidMajorUnits, Money, Overflow, Ppm, multiply_rounded,
};
pub(crate) use movement::{
    Capture, MovementError, MovementRequest, TransactionChange, TransactionState,
};
pub(crate) use notification::{
    AcquirerEvent, AcquirerId, FraudAlert, FraudReason, Notification, acquirer_time,
};
pub(crate) use outbox::{GIVE_UP_AFTER, OutboxQueue, Postponed, QueuedEntry, SendingReport, Sent};
pub(crate) use page_query::{MAX_PAGE_SIZE, PageQuery};
pub(crate) use payment::{
    AcquirerName, AcquirerOutcome, Authorization, CardOnFile, Challenge, ChallengeAnswer,
    Conclusion, OutboxEntry, OutboxKind, Payment, PaymentResult, UnansweredPayment,
};
pub(crate) use payout::{Payout, PayoutFormat, PayoutRequest, PayoutRun, Transfer};
pub(crate) use processing::{DeclineGroup, ProcessingError};
pub(crate) use rates::{Exchange, InvalidRates, NoRate, Rates};
pub(crate) use refusal::{DisputedParts, RefusedStep};
pub(crate) use sandbox_clock::{Advance, AdvanceBy, InvalidAdvance, SandboxClock};
pub(crate) use sepa::{Bic, Debtor, EDITION as SEPA_EDITION, SepaName, sum as sepa_sum};
pub(crate) use settlement::{
    BookedOperation, Difference, DifferenceKind, OperationState, Reconciliation, SettledOperation,
    Tariff, Totals,
};
pub(crate) use transaction::{
    Amounts, Fee, Movement, Receipt, Step, ThreeDSecure, Transaction, TransactionTerms,
    TransactionVersion,
};
pub(crate) use undelivered::Undelivered;
pub(crate) use webhook::{
    DisableReason, EventTypes, InvalidWebhookUrl, MAX_WEBHOOKS, Webhook, WebhookDetails,
    WebhookSecret, WebhookSecrets, WebhookUpdate, WebhookUrl,
};
