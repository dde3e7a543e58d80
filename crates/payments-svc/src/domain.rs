//! Values and rules of payments.
//!
//! The domain has no I/O: no network, no clock, no database. The time, IDs and random numbers come
//! in as arguments, so that every rule can be tested in memory.
//!
//! Sums of money must be exact. So arithmetic uses integers and fractions, and an overflow is an
//! error. It saturates only where an overflow is impossible, or where the result is limited anyway.
//! Clippy warns about operators that can overflow, and about floats.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::float_arithmetic))]

mod app;
mod card;
mod dispute;
mod id;
mod invalid;
mod invitation;
mod journal;
mod json;
mod link;
mod merchant;
mod money;
mod movement;
mod notification;
mod operation;
mod payout;
mod processing;
mod rates;
mod transaction;
mod window;
pub(crate) mod write;

pub(crate) use app::{ApiKey, App, KeyDigest, User};
pub(crate) use card::{Card, CardDetails, CardNumber, Expiry, SavedCard, Scheme, SecurityCode};
pub(crate) use dispute::{Decision, Dispute, DisputeState, NoticeResult, Opening, Reason, Slice};
pub(crate) use id::{Id, Ids};
pub(crate) use invalid::Invalid;
pub(crate) use invitation::Invitation;
pub(crate) use journal::{Account, Entry, Line, LineKind, Posting};
pub(crate) use json::Custom;
pub(crate) use link::{Link, Value};
pub(crate) use merchant::{
    Country, Descriptor, Email, Iban, Merchant, MerchantDetails, MerchantUpdate, Name, Notes,
    Pricing, Terms, Website, title,
};
pub(crate) use money::{Amount, Currency, Factor, InvalidCurrency, Money, Overflow, Ppm, scale};
pub(crate) use movement::{Captured, Change, Holding, MAX_STEPS, Refused, Request};
pub(crate) use notification::{Event, FraudAlert, FraudReason, Notification, Reference};
pub(crate) use operation::{
    Challenge, Conclusion, Consent, Instruction, Order, Original, Payment, Verdict,
};
pub(crate) use payout::{Payout, PayoutRun, Transfer};
pub(crate) use processing::{DeclineGroup, ProcessingError};
pub(crate) use rates::{Exchange, InvalidRates, NoRate, Rates};
pub(crate) use transaction::{Amounts, Fee, Movement, Reservation, Step, Tds, Transaction};
pub(crate) use window::{MAX_PAGE, Window};
