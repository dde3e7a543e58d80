//! [Refunds](https://docs.stripe.com/api/refunds), which may fail after they have succeeded.

use serde_json::{Value, json};

use super::{
    account::Account,
    disputes,
    error::Error,
    form::{Form, int},
    intents,
};

pub(super) fn create(account: &mut Account, form: &Form) -> Result<Value, Error> {
    form.check(&["payment_intent", "amount", "metadata", "reason"])?;
    let intent_id = form.required("payment_intent")?;
    let intent = account.object(intent_id)?.clone();
    let (received, refunded) = (int(&intent, "amount_received"), refunded(account, intent_id));
    let amount = form.number("amount")?.unwrap_or(received - refunded);
    intents::check_amount(intent["currency"].as_str().unwrap_or_default(), amount)?;
    if received == refunded {
        return Err(Error::refused("charge_already_refunded", "The charge was refunded already."));
    }
    if !(1..=received - refunded).contains(&amount) {
        return Err(Error::refused("", "The amount is greater than the unrefunded amount."));
    }
    if amount > received - refunded - disputes::withdrawn(account, intent_id) {
        return Err(Error::refused("charge_disputed", "The charge was charged back."));
    }
    let charge = intent["latest_charge"].as_str().unwrap_or_default().to_owned();
    let refund = json!({
        "object": "refund",
        "amount": amount,
        "charge": charge,
        "currency": intent["currency"],
        "failure_reason": null,
        "metadata": form.members("metadata"),
        "payment_intent": intent_id,
        "reason": form.get("reason"),
        "status": if account.refunds_pend { "pending" } else { "succeeded" },
    });
    let id = account.insert("re", refund);
    let booked = account.book("refund", &id, (-amount, 0));
    account.change(&id, json!({ "balance_transaction": booked }))?;
    count(account, &charge, intent_id)?;
    account.emit("refund.created", &id)?;
    account.emit("charge.refunded", &charge)?;
    account.object(&id).cloned()
}

/// The bank of the customer has sent the money back.
pub(super) fn fail(account: &mut Account, id: &str, reason: &str) -> Result<(), Error> {
    let refund = account.object(id)?.clone();
    let booked = account.book("refund_failure", id, (int(&refund, "amount"), 0));
    let members = json!({
        "status": "failed",
        "failure_reason": reason,
        "failure_balance_transaction": booked,
    });
    account.change(id, members)?;
    let [charge, intent] = ["charge", "payment_intent"].map(|name| refund[name].as_str());
    count(account, charge.unwrap_or_default(), intent.unwrap_or_default())?;
    for kind in ["refund.failed", "charge.refund.updated", "refund.updated"] {
        account.emit(kind, id)?;
    }
    Ok(())
}

/// A pending refund has reached the customer.
pub(super) fn settle(account: &mut Account, id: &str) -> Result<(), Error> {
    account.change(id, json!({ "status": "succeeded" }))?;
    account.emit("charge.refund.updated", id)?;
    account.emit("refund.updated", id)
}

/// What the refunds of a PaymentIntent have given back.
pub(super) fn refunded(account: &Account, intent: &str) -> i64 {
    account.sum("re", intent, "amount", |status| !["failed", "canceled"].contains(&status))
}

fn count(account: &mut Account, charge: &str, intent: &str) -> Result<(), Error> {
    let refunded = refunded(account, intent);
    let is_refunded = refunded == int(account.object(charge)?, "amount_captured");
    account
        .change(charge, json!({ "amount_refunded": refunded, "refunded": is_refunded }))
        .map(drop)
}
