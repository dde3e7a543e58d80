//! [Events of Stripe](https://docs.stripe.com/api/events/types) about payments of the service.
//!
//! A dispute is read by its status, because events can be lost or come late, and each has the whole
//! dispute. Events of other types, and of other users of the account, are no error: Stripe would
//! repeat them for days.

use std::time::Duration;

use jiff::Timestamp;
use payments_domain::{
    AcquirerEvent, AcquirerId, AcquirerKey, Amount, Claim, Currency, Decision, FraudReason, Reason,
};

use super::{
    super::{
        ObjectKind,
        report::{Content, Report, Subject, deadline},
    },
    amount::stripe_units,
};
use crate::fields::{Fields, Reported};

const WARNING: &str = "radar.early_fraud_warning.created";

/// The types that [`report`] reads.
pub(super) const TYPES: [&str; 11] = [
    "charge.dispute.created",
    "charge.dispute.updated",
    "charge.dispute.funds_withdrawn",
    "charge.dispute.funds_reinstated",
    "charge.dispute.closed",
    WARNING,
    "refund.failed",
    "refund.updated",
    "charge.refund.updated",
    "payment_intent.canceled",
    "charge.expired",
];

/// Reads an event. `due_after` is the time for an answer to a dispute, if Stripe gives no deadline.
pub(crate) fn report(fields: &mut Fields<'_>, due_after: Duration) -> Result<Report, Reported> {
    let mut id = fields.required("id", str::parse);
    let created = fields.required_number("created", Timestamp::from_second);
    let kind = fields.required("type", str::parse::<String>)?;
    let due = deadline(&created, due_after);
    let mut data = fields.object("data");
    let object = &mut data.object("object");
    if kind == WARNING {
        // Stripe can send two events for it, and each alert counts. Other facts are booked once.
        id = object.required("id", str::parse);
    }
    let content = match kind.as_str() {
        kind if !TYPES.contains(&kind) => Ok(Content::Unknown),
        WARNING => warning(object),
        "payment_intent.canceled" => expired(object, "id"),
        "charge.expired" => expired(object, "payment_intent"),
        "refund.failed" | "refund.updated" | "charge.refund.updated" => refund(object),
        kind => dispute(object, kind == "charge.dispute.funds_withdrawn", due),
    };
    Ok(Report { id: id?, created: created?, content: content? })
}

/// Reads a dispute or a refund as it is at `now`. Each of its states is one report.
pub(super) fn object(
    kind: ObjectKind,
    fields: &mut Fields<'_>,
    (now, due_after): (Timestamp, Duration),
) -> Result<Report, Reported> {
    let status = fields.required("status", str::parse::<String>)?;
    let id = fields.required("id", |id| format!("{id} {status}").parse());
    let content = match kind {
        ObjectKind::Disputes => dispute(fields, false, deadline::<()>(&Ok(now), due_after)),
        ObjectKind::Refunds => refund(fields),
    };
    Ok(Report { id: id?, created: now, content: content? })
}

/// The events of the payment in this member. None means another user of the account.
fn events(
    object: &mut Fields<'_>,
    name: &'static str,
    currency: Option<Currency>,
    events: Vec<AcquirerEvent>,
) -> Result<Content, Reported> {
    let id = object.optional(name, str::parse::<String>)?;
    let subject = id.map(|id| Subject::Authorization { id, currency });
    Ok(subject.map_or(Content::Foreign, |subject| Content::Events(subject, events)))
}

fn expired(charge: &mut Fields<'_>, name: &'static str) -> Result<Content, Reported> {
    events(charge, name, None, vec![AcquirerEvent::Expired])
}

/// Only a refund that fails has something to book.
fn refund(refund: &mut Fields<'_>) -> Result<Content, Reported> {
    let status = refund.optional("status", str::parse::<String>);
    let reason = refund.optional("failure_reason", str::parse::<String>);
    let operation = refund.object("metadata").optional("operation", str::parse::<String>);
    let reason = reason?;
    match (status?.as_deref(), operation?.and_then(|key| key.parse::<AcquirerKey>().ok())) {
        (Some("failed" | "canceled"), Some(operation)) => {
            let refused = AcquirerEvent::Refused { operation, reason };
            events(refund, "payment_intent", None, vec![refused])
        }
        // Made in Stripe's dashboard.
        (Some("failed" | "canceled"), None) => Ok(Content::Foreign),
        _ => Ok(Content::Nothing),
    }
}

fn warning(warning: &mut Fields<'_>) -> Result<Content, Reported> {
    let reported = warning.optional_number("created", Timestamp::from_second);
    let reason = warning.optional("fraud_type", |name| Ok::<_, String>(fraud_reason(name)));
    let alert = AcquirerEvent::Fraud { reported: reported?, reason: reason?.flatten() };
    events(warning, "payment_intent", None, vec![alert])
}

/// A decided dispute was opened before, even if nothing has reported that.
fn dispute(
    dispute: &mut Fields<'_>,
    is_withdrawn: bool,
    default_due: Timestamp,
) -> Result<Content, Reported> {
    let (currency, claim) = claim(dispute, default_due)?;
    let status = dispute.required("status", str::parse::<String>)?;
    let mut details = dispute.object("payment_method_details");
    let case = details.object("card").optional("case_type", str::parse::<String>)?;
    let is_resolution = case.as_deref() == Some("resolution");
    let has_moved_money = dispute.length("balance_transactions")? > 0;
    let id = claim.dispute.clone();
    let decided = |decision| AcquirerEvent::Decided { dispute: id, decision };
    let facts = match status.as_str() {
        "won" => vec![AcquirerEvent::Opened(claim), decided(Decision::Won)],
        "lost" => vec![AcquirerEvent::Opened(claim), decided(Decision::Lost)],
        // The cardholder got the money without a chargeback.
        "prevented" if is_resolution => {
            vec![AcquirerEvent::Opened(claim), decided(Decision::Lost)]
        }
        "prevented" if has_moved_money => {
            vec![AcquirerEvent::Opened(claim), decided(Decision::Prevented)]
        }
        "prevented" => vec![decided(Decision::Prevented)],
        _ if is_withdrawn => vec![AcquirerEvent::Opened(claim)],
        "needs_response" | "under_review" => vec![AcquirerEvent::Opened(claim)],
        "warning_needs_response" | "warning_under_review" => vec![AcquirerEvent::Inquired(claim)],
        // The money moves only with the decision of the appeal.
        "warning_closed" | "appeal_needs_response" | "appeal_under_review" => {
            return Ok(Content::Nothing);
        }
        _ => return Ok(Content::Unknown),
    };
    events(dispute, "payment_intent", Some(currency), facts)
}

fn claim(dispute: &mut Fields<'_>, default_due: Timestamp) -> Result<(Currency, Claim), Reported> {
    let id = dispute.required("id", str::parse::<AcquirerId>);
    let currency = dispute
        .required("currency", |code| Currency::current_or_former(&code.to_ascii_uppercase()));
    let amount = dispute.required_number("amount", |units| {
        Amount::new(units / currency.ok().and_then(stripe_units).unwrap_or(1))
    });
    let reason = dispute.optional("reason", str::parse::<String>);
    let due = dispute.object("evidence_details").optional_number("due_by", Timestamp::from_second);
    let mut details = dispute.object("payment_method_details");
    let code = details.object("card").optional("network_reason_code", str::parse::<String>);
    let code = code?.and_then(|code| reason_code(&code));
    let reason =
        code.zip(reason?).map(|(code, reason)| Reason { code, title: reason.replace('_', " ") });
    let due = due?.unwrap_or(default_due);
    Ok((currency?, Claim { dispute: id?, amount: amount?, reason, due }))
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
