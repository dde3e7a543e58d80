//! [Test cards](https://docs.stripe.com/testing), PaymentMethods, customers and SetupIntents.

use serde_json::{Value, json};

use super::{account::Account, error::Error, form::Form};

/// Cards that are declined when they are charged: number, code, and decline code.
const DECLINED: [(&str, &str, &str); 11] = [
    ("4000000000000002", "card_declined", "generic_decline"),
    ("4000000000000341", "card_declined", "generic_decline"),
    ("4000000000009995", "card_declined", "insufficient_funds"),
    ("4000008260003178", "card_declined", "insufficient_funds"),
    ("4000000000009987", "card_declined", "lost_card"),
    ("4000000000009979", "card_declined", "stolen_card"),
    ("4000000000006975", "card_declined", "card_velocity_exceeded"),
    ("4100000000000019", "card_declined", "fraudulent"),
    ("4000000000000069", "expired_card", ""),
    ("4000000000000127", "incorrect_cvc", ""),
    ("4000000000000119", "processing_error", ""),
];

/// Declined when it is charged, but not when it is checked.
const DECLINED_LATER: &str = "4000000000000341";

/// Always demands 3-D Secure.
const ALWAYS: [&str; 3] = ["4000002760003184", "4000000000003220", "4000008260003178"];

/// Demands 3-D Secure unless it was kept for later payments.
const UNLESS_KEPT: &str = "4000002500003155";

/// Cards that are charged without a challenge. Stripe declines any other card in its test mode.
const GOOD: [&str; 9] = [
    "4242424242424242",
    "4000056655665556",
    "5555555555554444",
    "378282246310005",
    super::disputes::FRAUD_WARNING,
    super::disputes::FRAUDULENT,
    super::disputes::NOT_RECEIVED,
    super::disputes::INQUIRY,
    UNLESS_KEPT,
];

pub(super) fn create_customer(account: &mut Account, form: &Form) -> Result<Value, Error> {
    form.check(&["metadata", "name", "email", "description"])?;
    let customer = json!({ "object": "customer", "metadata": form.members("metadata") });
    let id = account.insert("cus", customer);
    account.emit("customer.created", &id)?;
    account.object(&id).cloned()
}

pub(super) fn create_method(account: &mut Account, form: &Form) -> Result<Value, Error> {
    form.check(&["key", "type", "card", "billing_details", "metadata"])?;
    let id = method_of(account, |name| form.get(&format!("card[{name}]")))?;
    account.object(&id).cloned()
}

fn method_of<'a>(
    account: &mut Account,
    member: impl Fn(&str) -> Option<&'a str>,
) -> Result<String, Error> {
    let required =
        |name: &str| member(name).ok_or_else(|| Error::required(&format!("card[{name}]")));
    let number = required("number")?;
    if !(12..=19).contains(&number.len()) || !has_check_digit(number) {
        return Err(Error::declined(&card_error("incorrect_number", "")));
    }
    let date = |name| required(name)?.parse::<i64>().map_err(|_| Error::required(name));
    let brand = match number.as_bytes().first() {
        Some(b'5') => "mastercard",
        Some(b'3') => "amex",
        _ => "visa",
    };
    let method = json!({
        "object": "payment_method",
        "type": "card",
        "customer": null,
        "card": {
            "brand": brand,
            "last4": number[number.len() - 4..],
            "exp_month": date("exp_month")?,
            "exp_year": date("exp_year")?,
        },
    });
    let id = account.insert("pm", method);
    account.numbers.insert(id.clone(), number.to_owned());
    Ok(id)
}

/// The PaymentMethod of a form: its own card, or the ID of a card.
pub(super) fn method(account: &mut Account, form: &Form) -> Result<String, Error> {
    if let Some(id) = form.get("payment_method") {
        return account.object(id).map(|_| id.to_owned());
    }
    if form.get("payment_method_data[type]").is_none() {
        return Err(Error::required("payment_method"));
    }
    method_of(account, |name| form.get(&format!("payment_method_data[card][{name}]")))
}

/// Refuses a card of another customer, and one that was used without being kept.
pub(super) fn check_owner(account: &Account, method: &str, customer: &Value) -> Result<(), Error> {
    let found = account.object(method)?;
    if found["used"] == true {
        let message = "The provided PaymentMethod was previously used with a PaymentIntent without \
                       Customer attachment, and may not be used again.";
        return Err(Error::refused("", message));
    }
    if found["customer"].is_string() && found["customer"] != *customer {
        let message = "The PaymentMethod does not belong to the Customer you supplied.";
        return Err(Error::refused("", message));
    }
    Ok(())
}

/// Keeps a card for later payments of the customer, or marks it as used.
pub(super) fn keep(
    account: &mut Account,
    method: &str,
    customer: &Value,
    is_kept: bool,
) -> Result<(), Error> {
    if account.object(method)?["customer"].is_string() {
        return Ok(());
    }
    if is_kept && customer.is_string() {
        account.change(method, json!({ "customer": customer }))?;
        return account.emit("payment_method.attached", method);
    }
    account.change(method, json!({ "used": true })).map(drop)
}

/// Whether the customer must answer 3-D Secure.
pub(super) fn is_challenged(account: &Account, method: &str, is_off_session: bool) -> bool {
    let number = account.numbers[method].as_str();
    let is_kept = account.object(method).is_ok_and(|method| method["customer"].is_string());
    ALWAYS.contains(&number) || (number == UNLESS_KEPT && !(is_off_session && is_kept))
}

/// Why a card is declined when it is charged.
pub(super) fn decline(account: &Account, method: &str) -> Option<Value> {
    let number = account.numbers[method].as_str();
    if let Some((_, code, decline_code)) = DECLINED.iter().find(|(card, ..)| *card == number) {
        return Some(card_error(code, decline_code));
    }
    let is_known = GOOD.contains(&number) || ALWAYS.contains(&number);
    (!is_known).then(|| card_error("card_declined", "test_mode_live_card"))
}

/// Checks a card, so that later payments can use it.
pub(super) fn create_setup(account: &mut Account, form: &Form) -> Result<Value, Error> {
    form.check(&[
        "customer",
        "confirm",
        "usage",
        "metadata",
        "payment_method",
        "payment_method_data",
        "payment_method_types",
    ])?;
    let customer = json!(form.required("customer")?);
    let method = method(account, form)?;
    check_owner(account, &method, &customer)?;
    let declined = decline(account, &method);
    if let Some(error) = declined.filter(|_| account.numbers[&method] != DECLINED_LATER) {
        return Err(Error::declined(&error));
    }
    let is_challenged = is_challenged(account, &method, false);
    let status = if is_challenged { "requires_action" } else { "succeeded" };
    let setup = json!({
        "object": "setup_intent",
        "customer": customer,
        "payment_method": method,
        "status": status,
        "usage": form.get("usage"),
        "metadata": form.members("metadata"),
    });
    let id = account.insert("seti", setup);
    if !is_challenged {
        keep(account, &method, &customer, true)?;
    }
    account.emit(&format!("setup_intent.{status}"), &id)?;
    account.object(&id).cloned()
}

pub(super) fn card_error(code: &str, decline_code: &str) -> Value {
    let message = format!("Your card was declined: {code} {decline_code}");
    let mut error = json!({ "type": "card_error", "code": code, "message": message });
    if !decline_code.is_empty() {
        error["decline_code"] = json!(decline_code);
    }
    error
}

/// The check digit of ISO/IEC 7812-1 (Luhn).
fn has_check_digit(number: &str) -> bool {
    let digits = number.bytes().rev().map(|byte| u32::from(byte.wrapping_sub(b'0')));
    let weighed = digits.enumerate().map(|(at, digit)| match (at % 2, digit) {
        (0, digit) => digit,
        (_, digit @ 0..=4) => digit * 2,
        (_, digit) => digit * 2 - 9,
    });
    weighed.sum::<u32>() % 10 == 0
}
