//! [PaymentIntents](https://docs.stripe.com/api/payment_intents) of cards with manual capture, and
//! their charges.

use serde_json::{Value, json};

use super::{
    account::Account,
    cards, disputes,
    error::Error,
    form::{Form, int},
};
use crate::payments::seconds;

/// Stripe counts their smallest units, but the last digit must be 0.
const THREE_DECIMALS: [&str; 5] = ["bhd", "jod", "kwd", "omr", "tnd"];

/// Stripe counts their hundredths, although they have none.
const WITHOUT_DECIMALS: [&str; 2] = ["isk", "ugx"];

/// The smallest amounts that are not 50.
const MINIMUM: [(&str, i64); 12] = [
    ("aed", 200),
    ("czk", 1500),
    ("dkk", 250),
    ("gbp", 30),
    ("hkd", 400),
    ("huf", 17500),
    ("mxn", 1000),
    ("myr", 200),
    ("nok", 300),
    ("pln", 200),
    ("sek", 300),
    ("thb", 1000),
];

/// Eight digits.
const MAXIMUM: i64 = 99_999_999;

/// What Stripe adds to a suffix: at most ten characters, an asterisk and a space.
const MAX_SUFFIX: usize = 22;

const MAX_CAPTURES: i64 = 50;

pub(super) const OPEN: [&str; 2] = ["requires_payment_method", "requires_confirmation"];

pub(super) fn create(account: &mut Account, form: &Form) -> Result<Value, Error> {
    form.check(&[
        "amount",
        "currency",
        "capture_method",
        "customer",
        "description",
        "metadata",
        "payment_method_options",
        "payment_method_types",
        "setup_future_usage",
        "statement_descriptor_suffix",
    ])?;
    let amount = form.number("amount")?.ok_or_else(|| Error::required("amount"))?;
    let currency = form.required("currency")?;
    check_amount(currency, amount)?;
    let minimum =
        MINIMUM.iter().find(|(code, _)| *code == currency).map_or(50, |(_, least)| *least);
    if amount < minimum {
        return Err(Error::invalid("amount_too_small", "amount", "The amount is too small."));
    }
    check_suffix(form)?;
    if let Some(customer) = form.get("customer") {
        account.object(customer)?;
    }
    let option = |name: &str| form.get(&format!("payment_method_options[card][{name}]"));
    let kept = form.get("setup_future_usage").or(option("setup_future_usage"));
    let intent = json!({
        "object": "payment_intent",
        "amount": amount,
        "amount_capturable": 0,
        "amount_received": 0,
        "cancellation_reason": null,
        "capture_method": form.get("capture_method").unwrap_or("automatic"),
        "currency": currency,
        "customer": form.get("customer"),
        "last_payment_error": null,
        "latest_charge": null,
        "metadata": form.members("metadata"),
        "next_action": null,
        "payment_method": null,
        "payment_method_options": { "card": {
            "request_multicapture": option("request_multicapture"),
            "setup_future_usage": option("setup_future_usage"),
        } },
        "payment_method_types": ["card"],
        "setup_future_usage": kept,
        "statement_descriptor_suffix": form.get("statement_descriptor_suffix"),
        "status": "requires_payment_method",
    });
    let id = account.insert("pi", intent);
    account.change(&id, json!({ "client_secret": format!("{id}_secret") }))?;
    account.emit("payment_intent.created", &id)?;
    account.object(&id).cloned()
}

pub(super) fn check_amount(currency: &str, amount: i64) -> Result<(), Error> {
    let unit = match currency {
        _ if THREE_DECIMALS.contains(&currency) => 10,
        _ if WITHOUT_DECIMALS.contains(&currency) => 100,
        _ => 1,
    };
    if amount % unit != 0 {
        let message = format!("Amounts in {currency} must be divisible by {unit}.");
        return Err(Error::invalid("parameter_invalid_integer", "amount", &message));
    }
    if amount > MAXIMUM {
        return Err(Error::invalid("amount_too_large", "amount", "The amount is too large."));
    }
    Ok(())
}

fn check_suffix(form: &Form) -> Result<(), Error> {
    let name = "statement_descriptor_suffix";
    let is_wrong = |suffix: &str| {
        let is_long = suffix.chars().count() > MAX_SUFFIX;
        let has_letter = suffix.contains(|letter: char| letter.is_ascii_alphabetic());
        is_long || !has_letter || suffix.contains(['<', '>', '\\', '\'', '"', '*'])
    };
    if form.get(name).is_some_and(is_wrong) {
        let message = "The statement descriptor suffix must contain at least one letter, at most 22 \
                       characters, and none of <>\\'\"*";
        return Err(Error::invalid("invalid_characters", name, message));
    }
    Ok(())
}

pub(super) fn confirm(account: &mut Account, id: &str, form: &Form) -> Result<Value, Error> {
    form.check(&["off_session", "payment_method", "payment_method_data", "return_url"])?;
    let intent = in_status(account, id, &OPEN)?;
    let method = cards::method(account, form)?;
    cards::check_owner(account, &method, &intent["customer"])?;
    account.change(id, json!({ "payment_method": method, "last_payment_error": null }))?;
    let is_off_session = form.get("off_session") == Some("true");
    if !cards::is_challenged(account, &method, is_off_session) {
        return charge(account, id, None);
    }
    if is_off_session {
        let code = "authentication_required";
        return decline(account, id, cards::card_error(code, code));
    }
    let next_action = match form.get("return_url") {
        Some(url) => json!({
            "type": "redirect_to_url",
            "redirect_to_url": { "url": format!("{}/3ds/{id}", account.url), "return_url": url },
        }),
        None => json!({ "type": "use_stripe_sdk" }),
    };
    let members = json!({ "status": "requires_action", "next_action": next_action });
    let intent = account.change(id, members)?;
    account.emit("payment_intent.requires_action", id)?;
    Ok(intent)
}

/// The customer has answered 3-D Secure.
pub(super) fn authenticate(account: &mut Account, id: &str, success: bool) -> Result<Value, Error> {
    in_status(account, id, &["requires_action"])?;
    if success {
        return charge(account, id, Some("authenticated"));
    }
    decline(account, id, cards::card_error("payment_intent_authentication_failure", ""))
}

fn charge(account: &mut Account, id: &str, three_d_secure: Option<&str>) -> Result<Value, Error> {
    let intent = account.object(id)?.clone();
    let method = intent["payment_method"].as_str().unwrap_or_default().to_owned();
    if let Some(error) = cards::decline(account, &method) {
        return decline(account, id, error);
    }
    let asked = &intent["payment_method_options"]["card"]["request_multicapture"];
    let is_multicapture = account.offers_multicapture && asked == "if_available";
    let card = json!({
        "capture_before": seconds() + account.authorizations_last,
        "multicapture": { "status": if is_multicapture { "available" } else { "unavailable" } },
        "three_d_secure": three_d_secure.map(|result| json!({ "result": result })),
    });
    let charge = new_charge(account, &intent, card, None)?;
    cards::keep(account, &method, &intent["customer"], intent["setup_future_usage"].is_string())?;
    account.emit("charge.succeeded", &charge)?;
    let members = json!({
        "status": "requires_capture",
        "amount_capturable": intent["amount"],
        "latest_charge": charge,
        "next_action": null,
    });
    let intent = account.change(id, members)?;
    account.emit("payment_intent.amount_capturable_updated", id)?;
    Ok(intent)
}

fn decline(account: &mut Account, id: &str, mut error: Value) -> Result<Value, Error> {
    let intent = account.object(id)?.clone();
    let charge = new_charge(account, &intent, json!({}), Some(&error))?;
    account.emit("charge.failed", &charge)?;
    let members = json!({
        "status": "requires_payment_method",
        "last_payment_error": error,
        "latest_charge": charge,
        "next_action": null,
        "payment_method": null,
    });
    let intent = account.change(id, members)?;
    account.emit("payment_intent.payment_failed", id)?;
    error["payment_intent"] = intent;
    Err(Error::declined(&error))
}

fn new_charge(
    account: &mut Account,
    intent: &Value,
    details: Value,
    error: Option<&Value>,
) -> Result<String, Error> {
    let method = account.object(intent["payment_method"].as_str().unwrap_or_default())?;
    let mut card = method["card"].clone();
    let Value::Object(details) = details else { panic!("no members: {details}") };
    card.as_object_mut().expect("is an object").extend(details);
    let charge = json!({
        "object": "charge",
        "amount": intent["amount"],
        "amount_captured": 0,
        "amount_refunded": 0,
        "balance_transaction": null,
        "captured": false,
        "captures": 0,
        "currency": intent["currency"],
        "customer": intent["customer"],
        "disputed": false,
        "failure_code": error.map(|error| error["code"].clone()),
        "metadata": intent["metadata"],
        "paid": error.is_none(),
        "payment_intent": intent["id"],
        "payment_method": intent["payment_method"],
        "payment_method_details": { "type": "card", "card": card },
        "refunded": false,
        "statement_descriptor_suffix": intent["statement_descriptor_suffix"],
        "status": if error.is_none() { "succeeded" } else { "failed" },
    });
    Ok(account.insert("ch", charge))
}

pub(super) fn capture(account: &mut Account, id: &str, form: &Form) -> Result<Value, Error> {
    let allowed = ["amount_to_capture", "final_capture", "metadata", "statement_descriptor_suffix"];
    form.check(&allowed)?;
    check_suffix(form)?;
    let intent = in_status(account, id, &["requires_capture"])?;
    let charge_id = intent["latest_charge"].as_str().unwrap_or_default().to_owned();
    let charge = account.object(&charge_id)?.clone();
    let is_multicapture =
        charge["payment_method_details"]["card"]["multicapture"]["status"] == "available";
    let is_final = form.get("final_capture") != Some("false");
    if !is_final && !is_multicapture {
        return Err(Error::refused("", "Multicapture is not available for this PaymentIntent."));
    }
    let (capturable, captures) = (int(&intent, "amount_capturable"), int(&charge, "captures"));
    let amount = form.number("amount_to_capture")?.unwrap_or(capturable);
    check_amount(intent["currency"].as_str().unwrap_or_default(), amount)?;
    // A last capture of nothing releases the rest.
    let least = if is_final && captures > 0 { 0 } else { 1 };
    if !(least..=capturable).contains(&amount) {
        let message = format!("The amount to capture must be from {least} to {capturable}.");
        return Err(Error::refused("amount_too_large", &message));
    }
    if captures >= MAX_CAPTURES {
        return Err(Error::refused("", "A PaymentIntent can be captured 50 times."));
    }
    let is_done = is_final || amount == capturable;
    // Without multicapture, Stripe books the whole amount, and takes back the rest.
    let rest = if is_multicapture { 0 } else { capturable - amount };
    let amounts = |amount: i64| (amount, amount / 100);
    let booked = (amount > 0).then(|| account.book("charge", &charge_id, amounts(amount + rest)));
    if rest > 0 {
        account.book("partial_capture_reversal", &charge_id, amounts(-rest));
    }
    let mut members = json!({
        "amount_captured": int(&charge, "amount_captured") + amount,
        "captured": is_done,
        "captures": captures + 1,
        "balance_transaction": booked.map_or(charge["balance_transaction"].clone(), Value::from),
    });
    let suffix = form.get("statement_descriptor_suffix").map(Value::from);
    let suffix = suffix.unwrap_or(charge["statement_descriptor_suffix"].clone());
    members["statement_descriptor_suffix"] = suffix.clone();
    account.change(&charge_id, members)?;
    let mut metadata = intent["metadata"].as_object().cloned().unwrap_or_default();
    metadata.extend(form.members("metadata"));
    let members = json!({
        "amount_capturable": if is_done { 0 } else { capturable - amount },
        "amount_received": int(&intent, "amount_received") + amount,
        "metadata": metadata,
        "statement_descriptor_suffix": suffix,
        "status": if is_done { "succeeded" } else { "requires_capture" },
    });
    let intent = account.change(id, members)?;
    if is_done {
        account.emit("charge.captured", &charge_id)?;
        account.emit("payment_intent.succeeded", id)?;
    } else {
        account.emit("charge.updated", &charge_id)?;
        account.emit("payment_intent.amount_capturable_updated", id)?;
    }
    disputes::follow_card(account, &intent)?;
    Ok(intent)
}

pub(super) fn cancel(account: &mut Account, id: &str, form: &Form) -> Result<Value, Error> {
    form.check(&["cancellation_reason"])?;
    in_status(account, id, &[&OPEN[..], &["requires_action", "requires_capture"]].concat())?;
    end(account, id, form.get("cancellation_reason"))
}

/// The authorization has lasted too long.
pub(super) fn expire(account: &mut Account, id: &str) -> Result<(), Error> {
    let intent = in_status(account, id, &["requires_capture"])?;
    end(account, id, Some("automatic"))?;
    account.emit("charge.expired", intent["latest_charge"].as_str().unwrap_or_default())
}

fn end(account: &mut Account, id: &str, reason: Option<&str>) -> Result<Value, Error> {
    let members = json!({
        "amount_capturable": 0,
        "canceled_at": seconds(),
        "cancellation_reason": reason,
        "next_action": null,
        "status": "canceled",
    });
    let intent = account.change(id, members)?;
    account.emit("payment_intent.canceled", id)?;
    Ok(intent)
}

/// Finds PaymentIntents by their metadata: `metadata['operation']:'…'`.
pub(super) fn search(account: &Account, query: &Form) -> Result<Value, Error> {
    query.check(&["query", "limit", "page"])?;
    let asked: Vec<_> = query.required("query")?.split('\'').collect();
    let ["metadata[", name, "]:", value, ""] = asked[..] else {
        return Err(Error::invalid("parameter_invalid", "query", "only metadata['…']:'…'"));
    };
    let found: Vec<_> = account.all("pi").filter(|it| it["metadata"][name] == value).collect();
    Ok(json!({ "object": "search_result", "data": found, "has_more": false }))
}

fn in_status(account: &Account, id: &str, allowed: &[&str]) -> Result<Value, Error> {
    let intent = account.object(id)?.clone();
    let status = intent["status"].as_str().unwrap_or_default();
    if !allowed.contains(&status) {
        let message = format!("This PaymentIntent has the status {status}.");
        return Err(Error::refused("payment_intent_unexpected_state", &message));
    }
    Ok(intent)
}
