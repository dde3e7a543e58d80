//! What a client is told of a write: the same whether it was done now or before.

use axum::{
    Json,
    http::{HeaderName, HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};
use serde::{Serialize, Serializer, ser::SerializeMap as _};

use super::{Error, merchants::MerchantOutput, transactions::TransactionOutput};
use crate::{
    domain::{
        Id, ProcessingError,
        write::{Answer, Moved, Outcome},
    },
    store::{Seen, Store},
};

/// Says that the answer is one from before.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// The response to a write, which an idempotency key may have spared.
pub(crate) async fn response(store: &Store, answer: Answer) -> Result<Response, Error> {
    let response = render(store, answer.outcome()).await?;
    if let Answer::Fresh { .. } = answer {
        return Ok(response);
    }
    let yes = HeaderValue::from_static("true");
    Ok(([(REPLAYED, yes)], response).into_response())
}

/// The response to a movement of a transaction that was seen before. It is rendered from memory
/// when nobody else has moved the transaction in between.
pub(super) async fn moved(store: &Store, seen: Seen, answer: Answer) -> Result<Response, Error> {
    if let Answer::Fresh { outcome: Outcome::Moved(moved), step: Some(last) } = &answer
        && let Some(transaction) = seen.after(moved.steps, last)
    {
        return Ok(one(StatusCode::CREATED, "transaction", TransactionOutput::new(&transaction)));
    }
    response(store, answer).await
}

/// A response of one thing under its name.
pub(super) fn one(status: StatusCode, name: &'static str, thing: impl Serialize) -> Response {
    (status, Json(One(name, thing))).into_response()
}

/// The same for a fresh outcome and for one from before.
async fn render(store: &Store, outcome: &Outcome) -> Result<Response, Error> {
    let created = StatusCode::CREATED;
    Ok(match outcome {
        Outcome::Done | Outcome::App(_) | Outcome::Begun(_) | Outcome::Invitation(_) => {
            created.into_response()
        }
        Outcome::Merchant(texts) => {
            let merchant = store.merchant_of(texts.merchant).await?.ok_or(Error::NotFound)?;
            one(created, "merchant", MerchantOutput::new(&texts.first_of(merchant)))
        }
        Outcome::Membership { already } => one(created, "isMember", already),
        // A payment that was declined is an error, whose transaction is kept.
        Outcome::Paid { transaction, error: Some(error) } => {
            declined(*error, Some(IdOutput { id: *transaction }))
        }
        Outcome::Paid { transaction, error: None } => {
            one(created, "transaction", IdOutput { id: *transaction })
        }
        Outcome::Card(id) => one(created, "card", IdOutput { id: *id }),
        Outcome::Moved(Moved { transaction, steps, disputed }) => {
            let found = store.transaction_as_of(*transaction, *steps, *disputed).await?;
            let transaction = found.ok_or(Error::NotFound)?;
            one(created, "transaction", TransactionOutput::new(&transaction))
        }
    })
}

/// The response to a processing error.
fn declined(error: ProcessingError, transaction: Option<IdOutput>) -> Response {
    let body = DeclinedOutput { error: ProcessingErrorOutput::new(error), transaction };
    (StatusCode::BAD_REQUEST, Json(body)).into_response()
}

/// The response to what was declined and is not kept.
pub(crate) fn refusal(error: ProcessingError) -> Response {
    declined(error, None)
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

/// The same of a time that may not be known.
pub(super) fn as_optional_date<S: Serializer>(
    value: &Option<jiff::Timestamp>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => as_date(value, serializer),
        None => serializer.serialize_none(),
    }
}

/// An empty answer, to whatever has nothing to tell.
pub(super) fn nothing(_: Answer) -> StatusCode {
    StatusCode::NO_CONTENT
}
