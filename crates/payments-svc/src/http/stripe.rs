//! `POST /stripe/events`: signed events of Stripe about disputes and fraud. They become the same
//! notifications as those of other acquirers.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
};
use jiff::Timestamp;
use payments_domain::{
    AcquirerEvent, AcquirerId, AcquirerName, Amount, Currency, Decision, FraudReason, Notification,
    Reason,
};

use super::{api::Api, notifications::verify};
use crate::{
    app::{self, now, stripe_units},
    web::{Body, Error, Fields, Reported},
};

/// Books an event. A repeated one changes nothing. An event of another type is accepted and counted.
pub(super) async fn receive(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, Error> {
    let key = api.stripe_signature.as_ref().ok_or(app::Error::NotFound)?;
    verify(&key.borrow(), "Stripe-Signature", &headers, &body)?;
    let default_due = api.payments.default_dispute_due(now());
    let Received { id, created, subject } = body.read(|fields| received(fields, default_due))?;
    let Some(Subject { payment_intent, currency, event }) = subject else {
        api.unknown_notifications.record(&id);
        return Ok(StatusCode::NO_CONTENT);
    };
    let found = api.payments.authorized(AcquirerName::Stripe, &payment_intent).await?;
    let (transaction, own_currency) = found.ok_or_else(|| {
        app::Error::field("data.object.payment_intent", "is not a payment of this service")
    })?;
    if currency.is_some_and(|currency| currency != own_currency) {
        let wrong = "is not the currency of the payment";
        return Err(app::Error::field("data.object.currency", wrong).into());
    }
    let notification = Notification { id, transaction, created, event };
    api.payments.book_notification(notification).await.map_err(app::Error::from)?;
    Ok(StatusCode::NO_CONTENT)
}

struct Received {
    id: AcquirerId,
    created: Timestamp,
    /// `None`: an event of another type.
    subject: Option<Subject>,
}

/// The event of a payment.
struct Subject {
    payment_intent: String,
    /// The currency of the amount, if the event has one.
    currency: Option<Currency>,
    event: AcquirerEvent,
}

fn received(fields: &mut Fields<'_>, default_due: Timestamp) -> Result<Received, Reported> {
    let id = fields.required("id", str::parse);
    let created = fields.required_number("created", Timestamp::from_second);
    let kind = fields.required("type", str::parse::<String>)?;
    let mut data = fields.object("data");
    let mut object = data.object("object");
    let subject = match kind.as_str() {
        "charge.dispute.created" => Some(opened(&mut object, default_due)),
        "charge.dispute.closed" => Some(closed(&mut object)),
        "radar.early_fraud_warning.created" => Some(warned(&mut object)),
        _ => None,
    };
    Ok(Received { id: id?, created: created?, subject: subject.transpose()? })
}

fn opened(object: &mut Fields<'_>, default_due: Timestamp) -> Result<Subject, Reported> {
    let dispute = object.required("id", str::parse);
    let payment_intent = object.required("payment_intent", str::parse);
    let currency =
        object.required("currency", |code| Currency::current_or_former(&code.to_ascii_uppercase()));
    let amount = object.required_number("amount", |units| {
        Amount::new(units / currency.ok().and_then(stripe_units).unwrap_or(1))
    });
    let reason = object.optional("reason", str::parse::<String>);
    let due = object.object("evidence_details").optional_number("due_by", Timestamp::from_second);
    let mut details = object.object("payment_method_details");
    let code = details.object("card").optional("network_reason_code", str::parse::<String>);
    let code = code?.and_then(|code| reason_code(&code));
    let reason =
        code.zip(reason?).map(|(code, reason)| Reason { code, title: reason.replace('_', " ") });
    let due = due?.unwrap_or(default_due);
    let event = AcquirerEvent::Opened { dispute: dispute?, amount: amount?, reason, due };
    Ok(Subject { payment_intent: payment_intent?, currency: Some(currency?), event })
}

/// An inquiry that ends without a dispute (`warning_closed`) counts as won.
fn closed(object: &mut Fields<'_>) -> Result<Subject, Reported> {
    let dispute = object.required("id", str::parse);
    let payment_intent = object.required("payment_intent", str::parse);
    let decision = object.required("status", |status| match status {
        "won" | "warning_closed" => Ok(Decision::Won),
        "lost" => Ok(Decision::Lost),
        _ => Err("must be won, lost or warning_closed"),
    });
    let event = AcquirerEvent::Decided { dispute: dispute?, decision: decision? };
    Ok(Subject { payment_intent: payment_intent?, currency: None, event })
}

fn warned(object: &mut Fields<'_>) -> Result<Subject, Reported> {
    let payment_intent = object.required("payment_intent", str::parse);
    let reported = object.optional_number("created", Timestamp::from_second);
    let reason = object.optional("fraud_type", |name| Ok::<_, String>(fraud_reason(name)));
    let event = AcquirerEvent::Fraud { reported: reported?, reason: reason?.flatten() };
    Ok(Subject { payment_intent: payment_intent?, currency: None, event })
}

/// The code of the card scheme as a number of four digits: `10.4` is 1040, `4853` is 4853. `None`
/// for a code with letters.
fn reason_code(code: &str) -> Option<i64> {
    let digits = code.replace('.', "");
    format!("{digits:0<4}")
        .parse()
        .ok()
        .filter(|_| code.starts_with(|it: char| it.is_ascii_digit()))
}

/// `assets/openapi.yaml` lists the codes.
fn fraud_reason(name: &str) -> Option<FraudReason> {
    let code = match name {
        "misc" => 0,
        "unauthorized_use_of_card" => 1,
        "fraudulent_card_application" => 2,
        "made_with_counterfeit_card" => 3,
        "card_never_received" => 5,
        "made_with_stolen_card" => 6,
        "made_with_lost_card" => 7,
        _ => return None,
    };
    FraudReason::new(code).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_card_schemes_become_numbers() {
        for (code, expected) in [
            ("10.4", Some(1040)),
            ("12.6.1", Some(1261)),
            ("4853", Some(4853)),
            ("F29", None),
            ("", None),
            ("+1", None),
        ] {
            assert_eq!(reason_code(code), expected, "{code}");
        }
    }
}
