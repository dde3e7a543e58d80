//! The notifications of the acquirer protocol.

use std::time::Duration;

use jiff::Timestamp;
use payments_domain::{
    AcquirerEvent, Amount, Claim, Decision, FraudReason, Name, Reason, acquirer_time,
};

use super::super::report::{Content, Report, Subject, deadline};
use crate::fields::{Fields, Reported};

/// The characters of an acquirer's reason that are logged.
const MAX_REASON: usize = 200;

/// Reads a notification. `due_after` is the time for an answer to a dispute, if the acquirer gives
/// no deadline.
pub(crate) fn report(fields: &mut Fields<'_>, due_after: Duration) -> Result<Report, Reported> {
    let id = fields.required("id", str::parse);
    let created = fields.required("created", acquirer_time);
    let kind = fields.required("type", str::parse::<String>)?;
    let event: fn(&mut Fields<'_>, Timestamp) -> Result<AcquirerEvent, Reported> =
        match kind.as_str() {
            "dispute.inquiry" => |fields, due| claim(fields, due).map(AcquirerEvent::Inquired),
            "dispute.opened" => |fields, due| claim(fields, due).map(AcquirerEvent::Opened),
            "dispute.won" => |fields, _| decided(fields, Decision::Won),
            "dispute.lost" => |fields, _| decided(fields, Decision::Lost),
            "dispute.prevented" => |fields, _| decided(fields, Decision::Prevented),
            "fraud.reported" => |fields, _| alert(fields),
            "operation.refused" => |fields, _| refused(fields),
            "authorization.expired" => |_, _| Ok(AcquirerEvent::Expired),
            _ => return Ok(Report { created: created?, id: id?, content: Content::Unknown }),
        };
    let transaction = fields.required("transactionId", str::parse);
    let event = event(fields, deadline(&created, due_after));
    let content = Content::Events(Subject::Transaction(transaction?), vec![event?]);
    Ok(Report { id: id?, created: created?, content })
}

fn claim(fields: &mut Fields<'_>, default_due: Timestamp) -> Result<Claim, Reported> {
    let dispute = fields.required("disputeId", str::parse);
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
    Ok(Claim { dispute: dispute?, amount: amount?, reason, due })
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
