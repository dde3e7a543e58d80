//! `POST /acquirer/events`: signed notifications of acquirers about disputes and fraud.
//!
//! A notification of an unknown type is accepted and counted. Acquirers add types, and would repeat
//! a refused notification for days.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
};
use jiff::Timestamp;
use payments_domain::{
    AcquirerEvent, AcquirerId, Amount, Decision, FraudReason, Name, Notification, Reason,
    acquirer_time,
};

use super::api::Api;
use crate::{
    app::{self, Payments, SignatureError, SignatureKey, now},
    web::{Body, Error, Fields, Reported},
};

/// The characters of an acquirer's reason that are logged.
const MAX_REASON: usize = 200;

/// Books a notification. A repeated one changes nothing.
pub(super) async fn receive(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, Error> {
    let key = api.signature.as_ref().ok_or(app::Error::NotFound)?;
    verify(&key.borrow(), "Acquirer-Signature", &headers, &body)?;
    match body.read(|fields| received(fields, &api.payments))? {
        Received::Known(notification) => api.payments.book_notification(*notification).await?,
        Received::Unknown(id) => api.unknown_notifications.record(&id),
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Verifies the signature of a body, which is in the header of this name.
pub(super) fn verify(
    key: &SignatureKey,
    header: &'static str,
    headers: &HeaderMap,
    body: &Body,
) -> Result<(), Error> {
    let signature = headers.get(header).ok_or(SignatureError::Missing);
    let signature = signature.and_then(|it| it.to_str().map_err(|_| SignatureError::Malformed));
    let verified = signature.and_then(|it| key.verify(it, &[body.as_bytes()], now()));
    verified.map_err(|error| Error::Unsigned { header, error })
}

enum Received {
    Known(Box<Notification>),
    /// A notification of an unknown type, with this ID.
    Unknown(AcquirerId),
}

fn received(fields: &mut Fields<'_>, payments: &Payments) -> Result<Received, Reported> {
    let id = fields.required("id", str::parse);
    let created = fields.required("created", acquirer_time);
    let kind = fields.required("type", |name| Ok::<_, String>(name.to_owned()))?;
    let event: fn(&mut Fields<'_>, Timestamp) -> Result<AcquirerEvent, Reported> =
        match kind.as_str() {
            "dispute.opened" => opening,
            "dispute.won" => |fields, _| decided(fields, Decision::Won),
            "dispute.lost" => |fields, _| decided(fields, Decision::Lost),
            "fraud.reported" => |fields, _| alert(fields),
            "operation.refused" => |fields, _| refused(fields),
            _ => return created.and(id).map(Received::Unknown),
        };
    let transaction = fields.required("transactionId", str::parse);
    let default_due = payments.default_dispute_due(created.unwrap_or_else(|_| now()));
    let event = event(fields, default_due);
    let notification =
        Notification { id: id?, transaction: transaction?, created: created?, event: event? };
    Ok(Received::Known(Box::new(notification)))
}

fn opening(fields: &mut Fields<'_>, default_due: Timestamp) -> Result<AcquirerEvent, Reported> {
    let dispute = fields.required("disputeId", str::parse::<AcquirerId>);
    let amount = fields.required_number("amount", Amount::new);
    let due = fields.optional("due", acquirer_time);
    let mut reason = fields.object("reason");
    let code = reason.optional_number("code", Ok::<_, String>);
    let title = reason.optional("title", Name::new);
    let reason = match (code?, title?) {
        (None, None) => None,
        (Some(code), Some(title)) => Some(Reason { code, title: title.as_str().to_owned() }),
        _ => return Err(fields.report("reason", "must have a code and a title")),
    };
    let due = due?.unwrap_or(default_due);
    Ok(AcquirerEvent::Opened { dispute: dispute?, amount: amount?, reason, due })
}

fn decided(fields: &mut Fields<'_>, decision: Decision) -> Result<AcquirerEvent, Reported> {
    Ok(AcquirerEvent::Decided { dispute: fields.required("disputeId", str::parse)?, decision })
}

fn refused(fields: &mut Fields<'_>) -> Result<AcquirerEvent, Reported> {
    let operation = fields.required("operation", str::parse);
    let reason = fields.optional("reason", |text| Ok::<_, String>(shown(text)));
    Ok(AcquirerEvent::Refused { operation: operation?, reason: reason? })
}

/// The beginning of a text, for the log.
fn shown(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(MAX_REASON).collect()
}

fn alert(fields: &mut Fields<'_>) -> Result<AcquirerEvent, Reported> {
    let reported = fields.optional("reported", acquirer_time);
    let reason = fields.optional_number("reason", FraudReason::new);
    Ok(AcquirerEvent::Fraud { reported: reported?, reason: reason? })
}
