//! Values and rules. Knows neither network nor clock nor storage, and no number that may overflow.
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
mod page;
mod payout;
mod processing;
mod rates;
mod transaction;
pub mod write;

pub use app::{ApiKey, App, KeyDigest, User};
pub use card::{
    Card, CardDetails, CardNumber, Expiry, InvalidCode, InvalidExpiry, InvalidNumber, Month,
    SavedCard, Scheme, SecurityCode, Year,
};
pub use dispute::{Consequence, Contest, Decision, Dispute, Opening, Reason, Slice};
pub use id::{Id, Ids, InvalidId};
pub use invalid::Invalid;
pub use invitation::{Invitation, MAX_ATTEMPTS};
pub use journal::{Account, Entry, Line, LineKind, Posting};
pub use json::{Custom, InvalidCustom, MAX_CUSTOM_DEPTH, MAX_CUSTOM_KEYS, MAX_CUSTOM_SIZE};
pub use link::{InvalidRedirect, InvalidValue, Link, MAX_REDIRECT, Redirect, Value};
pub use merchant::{
    Country, Descriptor, Email, Iban, InvalidCountry, InvalidDescriptor, InvalidEmail, InvalidIban,
    InvalidName, InvalidNotes, InvalidWebsite, MAX_DESCRIPTOR, MAX_EMAIL, MAX_NAME, MAX_NOTES,
    MAX_WEBSITE, Merchant, MerchantDetails, MerchantUpdate, Name, Notes, Pricing, Terms, Website,
    title,
};
pub use money::{
    Amount, Currency, Factor, InvalidAmount, InvalidCurrency, InvalidMoney, InvalidShare, Money,
    Overflow, Ppm, scale,
};
pub use movement::{Booking, Captured, Change, Holding, MAX_STEPS, Refused, Request};
pub use notification::{
    Event, FraudAlert, FraudReason, InvalidFraudReason, InvalidReference, MAX_REFERENCE,
    Notification, Reference,
};
pub use operation::{
    Challenge, Conclusion, Consent, Instruction, Order, Original, Payment, Verdict,
};
pub use page::{MAX_PAGE, Window};
pub use payout::{Payout, PayoutRun, Transfer};
pub use processing::{DeclineGroup, ProcessingError};
pub use rates::{Exchange, InvalidRates, NoRate, Rates};
pub use transaction::{Amounts, Fee, Movement, Reservation, Step, Tds, Transaction};
