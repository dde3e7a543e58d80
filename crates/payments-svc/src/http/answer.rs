//! What a client is told of a write: the same whether it was done now or before.

use axum::{
    Json,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap as _};

use super::{Error, merchants::MerchantOutput, transactions::TransactionOutput};
use crate::{
    domain::{Id, ProcessingError},
    store::{Answer, Outcome, Receipt, Store},
};

/// Says that the answer is one from before.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// The response to a write, which an idempotency key may have spared.
pub(crate) async fn response(store: &Store, outcome: Outcome) -> Result<Response, Error> {
    match outcome {
        Outcome::Fresh(answer) => render(store, answer.receipt(told)).await,
        Outcome::Replayed(receipt) => {
            let yes = HeaderValue::from_static("true");
            Ok(([(REPLAYED, yes)], render(store, receipt).await?).into_response())
        }
    }
}

/// A response of one thing under its name.
pub(super) fn one(status: StatusCode, name: &'static str, thing: impl Serialize) -> Response {
    (status, Json(One(name, thing))).into_response()
}

async fn render(store: &Store, receipt: Receipt) -> Result<Response, Error> {
    match receipt {
        Receipt::Told(told) => Ok(repeat(told)),
        Receipt::Moved { transaction, steps, disputed } => {
            let found = store.transaction_as_of(transaction, steps, disputed).await?;
            let transaction = found.ok_or(Error::NotFound)?;
            Ok(one(StatusCode::CREATED, "transaction", TransactionOutput::new(&transaction)))
        }
    }
}

/// What a client is told of an answer: the status, big-endian, and then the body.
pub(crate) fn told(answer: &Answer) -> Bytes {
    let (status, body) = status_and_body(answer);
    let mut told = BytesMut::with_capacity(2 + body.len());
    told.put_u16(status.as_u16());
    told.put_slice(&body);
    told.freeze()
}

fn repeat(mut told: Bytes) -> Response {
    let status = told.try_get_u16().ok().and_then(|status| StatusCode::from_u16(status).ok());
    json_response(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), told)
}

fn json_response(status: StatusCode, body: impl Into<Bytes>) -> Response {
    let body = body.into();
    if body.is_empty() {
        return status.into_response();
    }
    let json = HeaderValue::from_static("application/json");
    (status, [(header::CONTENT_TYPE, json)], body).into_response()
}

fn status_and_body(answer: &Answer) -> (StatusCode, Vec<u8>) {
    let body = match answer {
        // Of a step, the whole transaction is told.
        Answer::Done | Answer::Begun(_) | Answer::Moved { .. } | Answer::Invitation(_) => {
            Vec::new()
        }
        Answer::App(app) => json(&One("app", IdOutput { id: app.id })),
        Answer::Merchant(merchant) => json(&One("merchant", MerchantOutput::new(merchant))),
        Answer::Membership { already } => json(&One("isMember", already)),
        // A payment that was declined is an error, whose transaction is kept.
        Answer::Concluded { transaction: id, error: Some(error) } => {
            return (StatusCode::BAD_REQUEST, declined(*error, Some(IdOutput { id: *id })));
        }
        Answer::Concluded { transaction: id, error: None } => {
            json(&One("transaction", IdOutput { id: *id }))
        }
        Answer::Card(id) => json(&One("card", IdOutput { id: *id })),
    };
    (StatusCode::CREATED, body)
}

/// The body of a processing error.
fn declined(error: ProcessingError, transaction: Option<IdOutput>) -> Vec<u8> {
    json(&DeclinedOutput { error: ProcessingErrorOutput::new(error), transaction })
}

/// The response to what was declined and is not kept.
pub(crate) fn refusal(error: ProcessingError) -> Response {
    json_response(StatusCode::BAD_REQUEST, declined(error, None))
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

/// What came of a payment.
pub(crate) struct Told {
    pub(crate) transaction: Id,
    /// Why it did not succeed, if it did not.
    pub(crate) error: Option<ProcessingError>,
}

/// What was told of a payment, read back from what is kept of that.
pub(crate) fn payment(receipt: &Receipt) -> Option<Told> {
    #[derive(Deserialize)]
    struct Kept<'a> {
        #[serde(borrow)]
        transaction: KeptId<'a>,
        code: Option<u8>,
    }
    #[derive(Deserialize)]
    struct KeptId<'a> {
        id: &'a str,
    }
    let Receipt::Told(told) = receipt else { return None };
    let Kept { transaction, code } = serde_json::from_slice(told.get(2..)?).ok()?;
    Some(Told {
        transaction: transaction.id.parse().ok()?,
        error: code.and_then(ProcessingError::coded),
    })
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
pub(super) fn nothing(_: Outcome) -> StatusCode {
    StatusCode::NO_CONTENT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_of_a_payment_can_be_read_back() {
        let id: Id = "6b016ea00000000000000001".parse().unwrap();
        for error in [None, Some(ProcessingError::DECLINED)] {
            let concluded = Answer::Concluded { transaction: id, error };
            let Told { transaction, error: read } = payment(&concluded.receipt(told)).unwrap();
            assert_eq!((transaction, read), (id, error));
        }
        assert!(payment(&Answer::Done.receipt(told)).is_none());
        assert!(payment(&Receipt::Moved { transaction: id, steps: 1, disputed: 0 }).is_none());
    }
}
