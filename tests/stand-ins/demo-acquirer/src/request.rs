//! The bodies of requests, as `docs/acquirer-protocol.yaml` describes them.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::civil::Date;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use url::Url;

use crate::{
    card::{self, Verdict},
    key::Key,
    money::{Currency, MAX_AMOUNT},
};

/// The work of an operation.
#[derive(Debug, Clone)]
pub(crate) enum Order {
    Authorize(Authorization),
    Move(MovementKind, Movement),
    Reverse(Reversal),
    Answer(DisputeAnswer),
}

/// An authorization without its card: the number is not kept.
#[derive(Debug, Clone)]
pub(crate) struct Authorization {
    pub(crate) merchant_id: String,
    pub(crate) currency: Currency,
    /// In minor units. 0 only checks the card.
    pub(crate) amount: u64,
    pub(crate) verdict: Verdict,
    pub(crate) card_reference: String,
    pub(crate) return_url: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MovementKind {
    Capture,
    Refund,
    Void,
}

/// A part of the amount of an authorization, to capture, refund or void.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Movement {
    pub(crate) authorization: Key,
    pub(crate) transaction_id: String,
    pub(crate) currency: Currency,
    /// In minor units.
    pub(crate) amount: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reversal {
    pub(crate) authorization: Key,
    pub(crate) transaction_id: String,
}

/// Evidence for a dispute, or its acceptance.
#[derive(Debug, Clone)]
pub(crate) struct DisputeAnswer {
    pub(crate) dispute_id: String,
    pub(crate) transaction_id: String,
    /// The type of the notification that decides the dispute at once.
    pub(crate) decision: Option<&'static str>,
}

impl Order {
    /// The text decides, as in Stripe's test mode.
    pub(crate) fn evidence(body: &[u8]) -> Result<Self, String> {
        let EvidenceInput { dispute_id, transaction_id, text, files } = parse(body)?;
        for FileInput { content, .. } in &files {
            check("files", STANDARD.decode(content).is_ok(), "must have contents in Base64")?;
        }
        let decision = match text {
            text if text.contains("winning_evidence") => Some("dispute.won"),
            text if text.contains("losing_evidence") => Some("dispute.lost"),
            _ => None,
        };
        Self::answer(dispute_id, transaction_id, decision)
    }

    pub(crate) fn acceptance(body: &[u8]) -> Result<Self, String> {
        let AcceptanceInput { dispute_id, transaction_id } = parse(body)?;
        Self::answer(dispute_id, transaction_id, Some("dispute.lost"))
    }

    fn answer(
        dispute_id: String,
        transaction_id: String,
        decision: Option<&'static str>,
    ) -> Result<Self, String> {
        check("transactionId", is_id(&transaction_id), ID)?;
        let is_valid = is_printable(&dispute_id, 255);
        check("disputeId", is_valid, "must be 1 to 255 printable ASCII characters")?;
        Ok(Self::Answer(DisputeAnswer { dispute_id, transaction_id, decision }))
    }

    pub(crate) fn authorization(body: &[u8], today: Date) -> Result<Self, String> {
        let input: AuthorizationInput = parse(body)?;
        check("merchantId", is_id(&input.merchant_id), ID)?;
        check("amount", input.amount <= MAX_AMOUNT, "must be from 0 to 1000000000000")?;
        if let Some(descriptor) = &input.descriptor {
            let is_valid = is_printable(descriptor, 22);
            check("descriptor", is_valid, "must be 1 to 22 printable ASCII characters")?;
        }
        let (verdict, card_reference) = match (input.card, input.card_reference) {
            (Some(card), None) => {
                let is_customer = input.initiator == Initiator::Customer;
                check("initiator", is_customer, "must be customer with a card")?;
                card.judge(today)?
            }
            (None, Some(reference)) => {
                let is_valid = is_printable(&reference, 255);
                check("cardReference", is_valid, "must be 1 to 255 printable ASCII characters")?;
                (card::judge_reference(&reference), reference)
            }
            _ => return Err("card: exactly one of card and cardReference is required".to_owned()),
        };
        Ok(Self::Authorize(Authorization {
            merchant_id: input.merchant_id,
            currency: input.currency,
            amount: input.amount,
            verdict,
            card_reference,
            return_url: input.return_url.map(web_address).transpose()?,
        }))
    }

    pub(crate) fn movement(kind: MovementKind, body: &[u8]) -> Result<Self, String> {
        let movement: Movement = parse(body)?;
        check("transactionId", is_id(&movement.transaction_id), ID)?;
        let is_valid = (1..=MAX_AMOUNT).contains(&movement.amount);
        check("amount", is_valid, "must be from 1 to 1000000000000")?;
        Ok(Self::Move(kind, movement))
    }

    pub(crate) fn reversal(body: &[u8]) -> Result<Self, String> {
        let reversal: Reversal = parse(body)?;
        check("transactionId", is_id(&reversal.transaction_id), ID)?;
        Ok(Self::Reverse(reversal))
    }
}

/// Checks the body of a completion.
pub(crate) fn completion(body: &[u8]) -> Result<(), String> {
    parse::<Map<String, Value>>(body).map(drop)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AuthorizationInput {
    merchant_id: String,
    initiator: Initiator,
    currency: Currency,
    amount: u64,
    descriptor: Option<String>,
    card: Option<CardInput>,
    card_reference: Option<String>,
    return_url: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EvidenceInput {
    dispute_id: String,
    transaction_id: String,
    text: String,
    files: Vec<FileInput>,
}

#[derive(Deserialize)]
struct FileInput {
    #[serde(rename = "name")]
    _name: String,
    #[serde(rename = "type")]
    _type: String,
    content: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AcceptanceInput {
    dispute_id: String,
    transaction_id: String,
}

#[derive(Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Initiator {
    Customer,
    Merchant,
}

#[derive(Deserialize)]
struct CardInput {
    number: String,
    expiry: Expiry,
    code: String,
}

#[derive(Deserialize)]
struct Expiry {
    month: i8,
    year: i16,
}

impl CardInput {
    fn judge(&self, today: Date) -> Result<(Verdict, String), String> {
        let Expiry { month, year } = self.expiry;
        check("card.number", is_digits(&self.number, 12, 19), "must be 12 to 19 digits")?;
        check("card.code", is_digits(&self.code, 3, 4), "must be 3 or 4 digits")?;
        check("card.expiry.month", (1..=12).contains(&month), "must be from 1 to 12")?;
        check("card.expiry.year", (2000..=9999).contains(&year), "must be from 2000 to 9999")?;
        Ok(card::judge(&self.number, (year, month), today))
    }
}

const ID: &str = "must be 24 lower-case hexadecimal digits";

fn check(field: &str, is_valid: bool, rule: &str) -> Result<(), String> {
    if is_valid { Ok(()) } else { Err(format!("{field}: {rule}")) }
}

fn is_id(text: &str) -> bool {
    text.len() == 24 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_digits(text: &str, shortest: usize, longest: usize) -> bool {
    (shortest..=longest).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_printable(text: &str, longest: usize) -> bool {
    (1..=longest).contains(&text.len()) && text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// The text of an address, as it was sent: its parameters must stay as they are.
fn web_address(text: String) -> Result<String, String> {
    let scheme = Url::parse(&text).ok().map(|url| url.scheme().to_owned());
    let is_web = scheme.is_some_and(|scheme| scheme == "http" || scheme == "https");
    let is_valid = is_web && is_printable(&text, 2048) && !text.contains(' ');
    check("returnUrl", is_valid, "must be an http or https URL of at most 2048 characters")?;
    Ok(text)
}

/// Reads an object. The error names the field and never quotes the body, which can contain a card
/// number.
fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    let body: Map<String, Value> =
        serde_json::from_slice(body).map_err(|_| "the body: is not a JSON object".to_owned())?;
    serde_path_to_error::deserialize(Value::Object(body)).map_err(|error| {
        let place = error.path().to_string();
        let reason = error.inner().to_string();
        if reason.starts_with("invalid ") || reason.starts_with("unknown ") {
            format!("{place}: is not as the protocol describes it")
        } else {
            format!("{place}: {reason}")
        }
    })
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use serde_json::json;

    use super::*;

    fn authorization() -> Value {
        json!({
            "merchantId": "6b016ea00000000000000002",
            "initiator": "customer",
            "currency": "EUR",
            "amount": 995,
            "card": { "number": "4100000000000001", "expiry": { "month": 8, "year": 2066 }, "code": "123" },
        })
    }

    /// The error after this change of a valid body.
    fn error(pointer: &str, value: Value) -> String {
        let mut body = authorization();
        *body.pointer_mut(pointer).unwrap() = value;
        Order::authorization(body.to_string().as_bytes(), date(2026, 11, 22)).unwrap_err()
    }

    #[test]
    fn an_error_names_the_field_and_quotes_nothing() {
        for (pointer, value, expected) in [
            ("/merchantId", json!("x"), "merchantId: must be 24 lower-case hexadecimal digits"),
            ("/amount", json!(MAX_AMOUNT + 1), "amount: must be from 0 to 1000000000000"),
            ("/amount", json!(9.95), "amount: is not as the protocol describes it"),
            ("/amount", json!(-1), "amount: is not as the protocol describes it"),
            ("/currency", json!("eur"), "currency: must be a currency of ISO 4217, such as EUR"),
            ("/card", json!("4100000000000001"), "card: is not as the protocol describes it"),
            ("/card/number", json!("4100 0000"), "card.number: must be 12 to 19 digits"),
            ("/card/expiry/month", json!(13), "card.expiry.month: must be from 1 to 12"),
            ("/card/expiry", json!({ "month": 1 }), "card.expiry: missing field `year`"),
            ("/card", json!(null), "card: exactly one of card and cardReference is required"),
            ("/initiator", json!("merchant"), "initiator: must be customer with a card"),
            ("/initiator", json!("robot"), "initiator: is not as the protocol describes it"),
        ] {
            assert_eq!(error(pointer, value), expected);
        }
        assert_eq!(Order::reversal(b"{}").unwrap_err(), ".: missing field `authorization`");
        for body in ["", "{", "[]", "{} x", "null"] {
            let error = Order::reversal(body.as_bytes()).unwrap_err();
            assert_eq!(error, "the body: is not a JSON object", "{body}");
        }
        assert!(completion(b"{\"later\": 1}").is_ok());
    }
}
