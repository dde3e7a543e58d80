//! The application layer: what both ports and the jobs can do. It calls the store, the acquirers,
//! the rates and the limits. It takes and returns values of the domain, so that it depends neither
//! on HTTP nor on SQL. `docs/glossary.md` explains the words of the domain.

mod access;
mod api_keys;
mod authenticators;
mod books;
mod cards;
mod charges;
mod declines;
mod desk;
mod developers;
mod error;
mod evidence;
mod lists;
mod mails;
mod merchants;
mod movements;
mod notifications;
mod once;
mod overview;
mod payments;
mod receipts;
mod sandbox_clock;
mod sign_in;
mod webhooks;

pub(crate) use access::{Accessible, Credentials};
pub(crate) use api_keys::new_api_key;
pub(crate) use authenticators::{Account, RecoveryCodes, Refused};
pub(crate) use cards::{RecurringPayment, StoredCard};
pub(crate) use charges::Charge;
pub(crate) use declines::{Attempt, Declines, Origin};
pub(crate) use error::Error;
pub(crate) use lists::List;
pub(crate) use movements::MovementInput;
pub(crate) use notifications::{NotificationError, ReportMetrics};
pub(crate) use once::{PaymentState, Written};
pub(crate) use payments::{Defaults, Payments};
pub(crate) use receipts::MailedReceipt;
pub(crate) use sign_in::{Codes, SignInLink, SignedIn};

pub(crate) use crate::{
    acquirer::{Report, SignatureError, SignatureKey, http_report, stripe_report},
    store::{
        DisputeWithCurrency, EventFilter, ListedDispute, LogEntry, Member, Range, SHORT_TRAIL,
        Snapshot, StoreError, TransactionFilter, now,
    },
    webhook::Message,
};
