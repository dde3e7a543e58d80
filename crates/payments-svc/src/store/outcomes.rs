//! The stored form of the outcomes of requests with an idempotency key.
//!
//! The store keeps outcomes instead of responses, so that one function renders the response of a
//! first request and of a repeat. Keys are kept for two days: a version must read the outcomes that
//! the version before it wrote.

use common::{
    group,
    sql::{BadCell, Column, ColumnError, Columns, Group, Param, Stored as _},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::domain::{
    ApiKeyDetails, Descriptor, DisableReason, Email, EventType, Id, Name, ProcessingError,
    RequestDigest, TransactionVersion, Webhook, WebhookDetails, WebhookUrl,
    write::{KeyState, MerchantTexts, Outcome, StoredIdempotencyKey},
};

/// An outcome as JSON. Movements are stored in columns instead, because there are many.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredOutcome {
    Done,
    Merchant { id: String, name: Option<String>, email: String, descriptor: String },
    Membership { already: bool },
    Paid { transaction: String, error: Option<u8> },
    Card { id: String },
    Webhook(StoredWebhook),
    ApiKey { id: String, name: Option<String>, created: i64 },
    LinkSecret { merchant: String },
}

/// An endpoint, without its secrets.
#[derive(Serialize, Deserialize)]
struct StoredWebhook {
    id: String,
    app: String,
    /// In milliseconds.
    created: i64,
    url: String,
    types: Vec<String>,
    description: Option<String>,
    disabled: Option<String>,
}

fn json(outcome: &Outcome) -> String {
    let stored = match outcome {
        Outcome::Merchant(texts) => StoredOutcome::Merchant {
            id: texts.merchant.to_string(),
            name: texts.name.as_ref().map(|name| name.as_str().to_owned()),
            email: texts.email.as_str().to_owned(),
            descriptor: texts.descriptor.as_str().to_owned(),
        },
        Outcome::Membership { already } => StoredOutcome::Membership { already: *already },
        Outcome::PaymentConcluded { transaction, error } => StoredOutcome::Paid {
            transaction: transaction.to_string(),
            error: error.map(ProcessingError::code),
        },
        Outcome::Card(id) => StoredOutcome::Card { id: id.to_string() },
        Outcome::Webhook(webhook) => StoredOutcome::Webhook(StoredWebhook::of(webhook)),
        Outcome::ApiKey(key) => StoredOutcome::ApiKey {
            id: key.id.to_string(),
            name: key.name.as_ref().map(|name| name.as_str().to_owned()),
            created: key.created.as_millisecond(),
        },
        Outcome::LinkSecret(merchant) => {
            StoredOutcome::LinkSecret { merchant: merchant.to_string() }
        }
        // The last four never get here: movements have columns, writes of apps and invitations have
        // no key, and the key of a pending payment has no outcome.
        Outcome::Done
        | Outcome::Moved(_)
        | Outcome::App(_)
        | Outcome::PaymentBegun(_)
        | Outcome::Invitation(_) => StoredOutcome::Done,
    };
    // Text, numbers and flags never fail to serialize.
    serde_json::to_string(&stored).unwrap_or_default()
}

/// A pending payment, or JSON, or the transaction as a movement left it.
impl Group for KeyState {
    const COLUMNS: &'static [Column] = &[
        ("pending_payment", Id::KIND),
        ("outcome", String::KIND),
        ("transaction", Id::KIND),
        ("steps", u32::KIND),
        ("disputed", i64::KIND),
    ];

    fn read(columns: &mut Columns<'_>) -> Result<Self, ColumnError> {
        let pending_payment: Option<Id> = columns.read()?;
        let outcome: Option<Outcome> =
            columns.read_as(|json: Option<String>| json.as_deref().map(from_json).transpose())?;
        if let Some(state) = pending_payment.map(Self::InFlight).or(outcome.map(Self::Answered)) {
            columns.skip(3);
            return Ok(state);
        }
        let (transaction, steps, disputed) = (columns.read()?, columns.read()?, columns.read()?);
        Ok(Self::Answered(Outcome::Moved(TransactionVersion { transaction, steps, disputed })))
    }

    fn params<'a>(&'a self, params: &mut Vec<Param<'a>>) {
        let (mut pending_payment, mut outcome) = (Param::Null, Param::Null);
        let mut moved = [Param::Null, Param::Null, Param::Null];
        match self {
            Self::InFlight(pending) => pending_payment = pending.param(),
            Self::Answered(Outcome::Moved(version)) => {
                let TransactionVersion { transaction, steps, disputed } = version;
                moved = [transaction.param(), steps.param(), disputed.param()];
            }
            Self::Answered(answered) => outcome = Param::Text(json(answered).into()),
        }
        params.extend([pending_payment, outcome]);
        params.extend(moved);
    }
}

group! { StoredIdempotencyKey { request: RequestDigest = "request", state: KeyState = .. } }

fn from_json(json: &str) -> Result<Outcome, BadCell> {
    let stored = serde_json::from_str(json).map_err(|_| BadCell)?;
    outcome(stored).ok_or(BadCell)
}

fn outcome(stored: StoredOutcome) -> Option<Outcome> {
    Some(match stored {
        StoredOutcome::Done => Outcome::Done,
        StoredOutcome::Merchant { id, name, email, descriptor } => {
            Outcome::Merchant(Box::new(MerchantTexts {
                merchant: id.parse().ok()?,
                name: name.map(Name::stored),
                email: Email::stored(email),
                descriptor: Descriptor::stored(descriptor),
            }))
        }
        StoredOutcome::Membership { already } => Outcome::Membership { already },
        StoredOutcome::Paid { transaction, error } => Outcome::PaymentConcluded {
            transaction: transaction.parse().ok()?,
            error: match error {
                Some(code) => Some(ProcessingError::from_code(code)?),
                None => None,
            },
        },
        StoredOutcome::Card { id } => Outcome::Card(id.parse().ok()?),
        StoredOutcome::Webhook(webhook) => Outcome::Webhook(Box::new(webhook.into_webhook()?)),
        StoredOutcome::ApiKey { id, name, created } => Outcome::ApiKey(ApiKeyDetails {
            id: id.parse().ok()?,
            name: name.map(Name::stored),
            created: Timestamp::from_millisecond(created).ok()?,
            last_used: None,
        }),
        StoredOutcome::LinkSecret { merchant } => Outcome::LinkSecret(merchant.parse().ok()?),
    })
}

impl StoredWebhook {
    fn of(webhook: &Webhook) -> Self {
        let Webhook { id, app, created, details, disabled } = webhook;
        let WebhookDetails { url, types, description } = details;
        Self {
            id: id.to_string(),
            app: app.to_string(),
            created: created.as_millisecond(),
            url: url.as_str().to_owned(),
            types: types.names().map(str::to_owned).collect(),
            description: description.as_ref().map(|text| text.as_str().to_owned()),
            disabled: disabled.map(|reason| reason.name().to_owned()),
        }
    }

    fn into_webhook(self) -> Option<Webhook> {
        let types: Option<_> =
            self.types.iter().map(|name| name.parse::<EventType>().ok()).collect();
        let details = WebhookDetails {
            url: WebhookUrl::stored(&self.url)?,
            types: types?,
            description: self.description.map(Name::stored),
        };
        let disabled = match self.disabled {
            Some(name) => Some(DisableReason::from_name(&name)?),
            None => None,
        };
        Some(Webhook {
            id: self.id.parse().ok()?,
            app: self.app.parse().ok()?,
            created: Timestamp::from_millisecond(self.created).ok()?,
            details,
            disabled,
        })
    }
}
