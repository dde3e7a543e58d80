//! JSON responses that both listeners share, and the formats of values in JSON.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use jiff::Timestamp;
use payments_domain::{Id, ProcessingError, actions::PaymentConcluded};
use serde::{Serialize, Serializer, ser::SerializeMap as _};
use uuid::Uuid;

use crate::{
    app::{Message, StoreError, now},
    web::Error,
};

/// Expected bytes of a response. Axum's `Json` begins with 128, and copies at each growth.
const LENGTH: usize = 1024;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A response `{"<name>": <value>}`.
pub(crate) fn envelope(status: StatusCode, name: &'static str, value: impl Serialize) -> Response {
    enveloped(name, value).map(|json| response(status, json)).into_response()
}

/// The body of [`envelope`].
pub(crate) fn enveloped(name: &'static str, value: impl Serialize) -> Result<Bytes, Error> {
    let mut json = Vec::with_capacity(LENGTH);
    match serde_json::to_writer(&mut json, &One(name, value)) {
        Ok(()) => Ok(json.into()),
        Err(error) => Err(StoreError::ReadFailed(error.into()).into()),
    }
}

/// A response with a body from [`enveloped`].
pub(crate) fn response(status: StatusCode, json: Bytes) -> Response {
    (status, [(header::CONTENT_TYPE, JSON)], json).into_response()
}

/// The response to a payment: 201, or 400 if it was declined. Both name the stored transaction.
pub(crate) fn paid(PaymentConcluded { transaction, error }: PaymentConcluded) -> Response {
    let transaction = IdOutput { id: transaction };
    match error {
        Some(error) => processing_error(error, Some(transaction)),
        None => envelope(StatusCode::CREATED, "transaction", transaction),
    }
}

/// The response to a saved card: 201 with its ID.
pub(crate) fn saved(card: Id) -> Response {
    envelope(StatusCode::CREATED, "card", IdOutput { id: card })
}

/// The response to a declined request that stored nothing: 400.
pub(crate) fn declined(error: ProcessingError) -> Response {
    processing_error(error, None)
}

fn processing_error(error: ProcessingError, transaction: Option<IdOutput>) -> Response {
    let body = DeclinedOutput { error: ProcessingErrorOutput::new(error), transaction };
    (StatusCode::BAD_REQUEST, Json(body)).into_response()
}

/// An object with one member: its name and its value.
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

/// A processing error as callers read it. `text` repeats `message`.
#[derive(Serialize)]
pub(crate) struct ProcessingErrorOutput {
    code: u8,
    message: &'static str,
    text: &'static str,
    client: bool,
    merchant: bool,
}

impl ProcessingErrorOutput {
    pub(crate) fn new(error: ProcessingError) -> Self {
        Self {
            code: error.code(),
            message: error.message(),
            text: error.message(),
            client: error.customer_can_fix(),
            merchant: error.merchant_can_fix(),
        }
    }
}

/// Serializes a value as the text that it displays.
pub(crate) fn as_text<S: Serializer>(
    value: &impl std::fmt::Display,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// Serializes a time as RFC 3339 text with milliseconds, in UTC.
pub(crate) fn as_date<S: Serializer>(value: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{value:.3}"))
}

/// Like [`as_date`], with `null` for `None`.
pub(crate) fn as_optional_date<S: Serializer>(
    value: &Option<Timestamp>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => as_date(value, serializer),
        None => serializer.serialize_none(),
    }
}
/// A message that tests an endpoint. Its type is not in the closed set, because it is no event.
pub(crate) fn test_message() -> Message {
    let id = format!("test_{}", Uuid::new_v4().simple());
    let event = TestOutput { id: &id, created: now(), kind: "webhook.test", test: true };
    let body = serde_json::to_vec(&event).unwrap_or_default().into();
    Message { id, body }
}

#[derive(Serialize)]
struct TestOutput<'a> {
    id: &'a str,
    #[serde(serialize_with = "as_date")]
    created: Timestamp,
    #[serde(rename = "type")]
    kind: &'static str,
    test: bool,
}
