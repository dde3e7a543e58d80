//! [Disputes](https://docs.stripe.com/disputes/how-disputes-work) and early fraud warnings.

use serde_json::{Value, json};

use super::{
    account::Account,
    error::Error,
    form::{Form, int},
};
use crate::payments::seconds;

/// Cards whose captures are followed by a warning, a dispute or an inquiry.
pub(super) const FRAUD_WARNING: &str = "4000000000005423";
pub(super) const FRAUDULENT: &str = "4000000000000259";
pub(super) const NOT_RECEIVED: &str = "4000000000002685";
pub(super) const INQUIRY: &str = "4000000000001976";

const FEE: i64 = 1500;

const TWO_WEEKS: i64 = 14 * 24 * 60 * 60;

/// The states in which the money is taken.
const WITHDRAWN: [&str; 3] = ["needs_response", "under_review", "lost"];

/// Opens a dispute. An inquiry takes no money.
pub(super) fn open(
    account: &mut Account,
    intent: &str,
    amount: i64,
    (reason, is_inquiry): (&str, bool),
) -> Result<String, Error> {
    let charge = account.object(intent)?["latest_charge"].clone();
    let found = account.object(charge.as_str().unwrap_or_default())?;
    let dispute = json!({
        "object": "dispute",
        "amount": amount,
        "balance_transactions": [],
        "charge": charge,
        "currency": found["currency"],
        "evidence_details": { "due_by": seconds() + TWO_WEEKS, "has_evidence": false },
        "is_charge_refundable": is_inquiry,
        "metadata": {},
        "payment_intent": intent,
        "payment_method_details": { "type": "card", "card": {
            "brand": found["payment_method_details"]["card"]["brand"],
            "case_type": if is_inquiry { "inquiry" } else { "chargeback" },
            "network_reason_code": "13.1",
        } },
        "reason": reason,
        "status": if is_inquiry { "warning_needs_response" } else { "needs_response" },
    });
    let id = account.insert("du", dispute);
    account.change(charge.as_str().unwrap_or_default(), json!({ "disputed": true }))?;
    account.emit("charge.dispute.created", &id)?;
    if !is_inquiry {
        withdraw(account, &id)?;
    }
    Ok(id)
}

/// Takes the money. An inquiry becomes a dispute.
pub(super) fn withdraw(account: &mut Account, id: &str) -> Result<(), Error> {
    let dispute = account.object(id)?.clone();
    book(account, id, "dispute", (-int(&dispute, "amount"), FEE))?;
    account.change(id, json!({ "status": "needs_response", "is_charge_refundable": false }))?;
    account.emit("charge.dispute.funds_withdrawn", id)?;
    if dispute["status"] == "needs_response" {
        return Ok(());
    }
    account.emit("charge.dispute.updated", id)
}

/// Decides a dispute, also one that was decided before. Money that was taken is given back unless
/// it is lost.
pub(super) fn close(account: &mut Account, id: &str, status: &str) -> Result<(), Error> {
    let dispute = account.object(id)?;
    let booked = dispute["balance_transactions"].as_array().into_iter().flatten();
    let taken: i64 = -booked.map(|booked| int(booked, "amount")).sum::<i64>();
    let is_given_back = status != "lost" && taken > 0;
    if is_given_back {
        book(account, id, "dispute_reversal", (taken, 0))?;
    }
    account.change(id, json!({ "status": status }))?;
    if is_given_back {
        account.emit("charge.dispute.funds_reinstated", id)?;
    }
    account.emit("charge.dispute.closed", id)
}

/// The members of evidence that are files.
const FILES: [&str; 5] = [
    "uncategorized_file",
    "customer_communication",
    "service_documentation",
    "receipt",
    "shipping_documentation",
];

/// A file of at most 4.5 MB.
pub(super) fn upload(account: &mut Account, form: &Form) -> Result<Value, Error> {
    form.check(&["purpose", "file", "filename"])?;
    if form.required("purpose")? != "dispute_evidence" {
        return Err(Error::refused("", "Invalid purpose"));
    }
    let size = form.required("file")?.len();
    let file = json!({
        "object": "file",
        "filename": form.get("filename"),
        "purpose": "dispute_evidence",
        "size": size,
    });
    let id = account.insert("file", file);
    account.object(&id).cloned()
}

/// Takes evidence. Its text decides, as in Stripe's test mode.
pub(super) fn answer(account: &mut Account, id: &str, form: &Form) -> Result<Value, Error> {
    form.check(&["evidence", "submit", "metadata"])?;
    require_open(account, id)?;
    let evidence = form.members("evidence");
    for name in FILES {
        if let Some(file) = evidence.get(name).and_then(Value::as_str) {
            account.object(file)?;
        }
    }
    let text =
        evidence.get("uncategorized_text").and_then(Value::as_str).unwrap_or_default().to_owned();
    let status = match account.object(id)?["status"].as_str() {
        Some("warning_needs_response") => "warning_under_review",
        _ => "under_review",
    };
    let members = json!({
        "evidence": evidence,
        "metadata": form.members("metadata"),
        "status": status,
    });
    account.change(id, members)?;
    account.emit("charge.dispute.updated", id)?;
    for (word, status) in [("winning_evidence", "won"), ("losing_evidence", "lost")] {
        if text.contains(word) {
            close(account, id, status)?;
        }
    }
    account.object(id).cloned()
}

/// Closes a dispute as lost.
pub(super) fn accept(account: &mut Account, id: &str, form: &Form) -> Result<Value, Error> {
    form.check(&[])?;
    require_open(account, id)?;
    close(account, id, "lost")?;
    account.object(id).cloned()
}

fn require_open(account: &Account, id: &str) -> Result<(), Error> {
    match account.object(id)?["status"].as_str() {
        Some("needs_response" | "warning_needs_response") => Ok(()),
        _ => Err(Error::refused("", "This dispute is already closed or under review.")),
    }
}

fn book(account: &mut Account, id: &str, category: &str, amounts: (i64, i64)) -> Result<(), Error> {
    let booked = account.book(category, id, amounts);
    let booked = account.object(&booked)?.clone();
    let mut all = account.object(id)?["balance_transactions"].as_array().cloned();
    all.get_or_insert_default().push(booked);
    account.change(id, json!({ "balance_transactions": all })).map(drop)
}

/// Warns of fraud. No money moves.
pub(super) fn warn(account: &mut Account, intent: &str, kind: &str) -> Result<String, Error> {
    let warning = json!({
        "object": "radar.early_fraud_warning",
        "actionable": true,
        "charge": account.object(intent)?["latest_charge"],
        "fraud_type": kind,
        "payment_intent": intent,
    });
    let id = account.insert("issfr", warning);
    account.emit("radar.early_fraud_warning.created", &id)?;
    Ok(id)
}

/// What disputes have taken from a PaymentIntent.
pub(super) fn withdrawn(account: &Account, intent: &str) -> i64 {
    account.sum("du", intent, "amount", |status| WITHDRAWN.contains(&status))
}

/// What happens after a capture of the cards above.
pub(super) fn follow_card(account: &mut Account, intent: &Value) -> Result<(), Error> {
    let name = |member: &str| intent[member].as_str().unwrap_or_default();
    let (id, amount) = (name("id"), int(intent, "amount_received"));
    let number = account.numbers.get(name("payment_method")).cloned().unwrap_or_default();
    match number.as_str() {
        FRAUD_WARNING => warn(account, id, "made_with_stolen_card").map(drop),
        FRAUDULENT => open(account, id, amount, ("fraudulent", false)).map(drop),
        NOT_RECEIVED => open(account, id, amount, ("product_not_received", false)).map(drop),
        INQUIRY => open(account, id, amount, ("fraudulent", true)).map(drop),
        _ => Ok(()),
    }
}
