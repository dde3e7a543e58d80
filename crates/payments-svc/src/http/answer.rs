//! What a client is told of a write: the same whether it was done now or before.

use axum::{
    Json,
    body::Body,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::{BufMut as _, BytesMut};
use serde::{Serialize, Serializer, ser::SerializeMap as _};

use super::{merchants::MerchantOutput, transactions::TransactionOutput};
use crate::{
    domain::{Id, ProcessingError, Transaction},
    store::{Answer, Outcome, Receipt},
};

/// Says that the answer is one from before.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// The response to a write, which an idempotency key may have spared.
pub(crate) fn response(outcome: Outcome) -> Response {
    match outcome {
        Outcome::Fresh(answer) => render(receipt(&answer)),
        Outcome::Replayed(receipt) => {
            let yes = HeaderValue::from_static("true");
            ([(REPLAYED, yes)], render(receipt)).into_response()
        }
    }
}

/// A response of one thing under its name.
pub(super) fn one(status: StatusCode, name: &'static str, thing: impl Serialize) -> Response {
    (status, Json(One(name, thing))).into_response()
}

/// The status, big-endian, and then the body.
pub(crate) fn receipt(answer: &Answer) -> Receipt {
    let (status, body) = told(answer);
    let mut receipt = BytesMut::with_capacity(2 + body.len());
    receipt.put_u16(status.as_u16());
    receipt.put_slice(&body);
    Receipt(receipt.freeze())
}

fn render(Receipt(mut receipt): Receipt) -> Response {
    let body = receipt.split_off(receipt.len().min(2));
    let status = StatusCode::try_from(u16::from_be_bytes([
        receipt.first().copied().unwrap_or_default(),
        receipt.last().copied().unwrap_or_default(),
    ]));
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if body.is_empty() {
        return status.into_response();
    }
    let json = HeaderValue::from_static("application/json");
    (status, [(header::CONTENT_TYPE, json)], Body::from(body)).into_response()
}

fn told(answer: &Answer) -> (StatusCode, Vec<u8>) {
    let body = match answer {
        Answer::Done | Answer::Begun(_) => Vec::new(),
        Answer::App(app) => json(&One("app", IdOutput { id: app.id })),
        Answer::Merchant(merchant) => json(&One("merchant", MerchantOutput::new(merchant))),
        Answer::Membership { already } => json(&One("isMember", already)),
        Answer::Concluded(transaction) => return concluded(transaction),
        Answer::Moved(transaction) => {
            json(&One("transaction", TransactionOutput::new(transaction)))
        }
        Answer::Card(id) => json(&One("card", IdOutput { id: *id })),
    };
    (StatusCode::CREATED, body)
}

/// A payment that was declined is an error, whose transaction is kept.
fn concluded(transaction: &Transaction) -> (StatusCode, Vec<u8>) {
    let output = IdOutput { id: transaction.id };
    match transaction.error {
        None => (StatusCode::CREATED, json(&One("transaction", output))),
        Some(error) => (StatusCode::BAD_REQUEST, declined(error, Some(output))),
    }
}

/// The body of a processing error.
fn declined(error: ProcessingError, transaction: Option<IdOutput>) -> Vec<u8> {
    json(&DeclinedOutput { error: ProcessingErrorOutput::new(error), transaction })
}

/// The response to what was declined and is not kept.
pub(crate) fn refusal(error: ProcessingError) -> Response {
    let json = HeaderValue::from_static("application/json");
    (StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, json)], declined(error, None)).into_response()
}

/// Nothing here fails to be written as JSON.
fn json(output: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(output).unwrap_or_default()
}

/// One thing under its name.
struct One<T>(&'static str, T);

impl<T: Serialize> Serialize for One<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(self.0, &self.1)?;
        map.end()
    }
}

#[derive(Serialize)]
struct IdOutput {
    #[serde(serialize_with = "as_text")]
    id: Id,
}

#[derive(Serialize)]
struct DeclinedOutput {
    #[serde(flatten)]
    error: ProcessingErrorOutput,
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction: Option<IdOutput>,
}

/// A processing error, as a client is told.
#[derive(Serialize)]
pub(super) struct ProcessingErrorOutput {
    code: u8,
    message: &'static str,
    text: &'static str,
    client: bool,
    merchant: bool,
}

impl ProcessingErrorOutput {
    pub(super) fn new(error: ProcessingError) -> Self {
        Self {
            code: error.code(),
            message: error.message(),
            text: error.message(),
            client: error.blames_client(),
            merchant: error.blames_merchant(),
        }
    }
}

/// Writes what has a text as that text.
pub(super) fn as_text<S: Serializer>(
    value: &impl std::fmt::Display,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// Writes a time in RFC 3339 with milliseconds, in UTC.
pub(super) fn as_date<S: Serializer>(
    value: &jiff::Timestamp,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{value:.3}"))
}

/// An empty answer, to whatever has nothing to tell.
pub(super) fn nothing(_: Outcome) -> StatusCode {
    StatusCode::NO_CONTENT
}
