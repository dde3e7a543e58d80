//! A transaction as callers read it.

use bytes::Bytes;
use jiff::Timestamp;
use payments_domain::{
    Card, CustomData, Descriptor, Fee, Id, Movement, ProcessingError, Step, Transaction,
};
use serde::{Serialize, Serializer};

use crate::{
    app::{Payments, SHORT_TRAIL, StoreError},
    http::list::Item,
    web::{Error, ProcessingErrorOutput, as_date, as_text, json},
};

/// The body of a response with a transaction. Serializing a long trail (the steps of the
/// transaction) takes milliseconds, so a worker thread does it.
pub(in crate::http) async fn body(
    payments: &Payments,
    transaction: Transaction,
) -> Result<Bytes, Error> {
    let is_short = transaction.trail.len() <= SHORT_TRAIL as usize;
    let write = move || json::enveloped("transaction", TransactionOutput::new(&transaction));
    if is_short {
        return write();
    }
    payments.aside().run(write).await.map_err(StoreError::from)?
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct TransactionOutput<'a> {
    #[serde(serialize_with = "as_text")]
    id: Id,
    #[serde(serialize_with = "as_text")]
    merchant_id: Id,
    test: bool,
    #[serde(serialize_with = "as_date")]
    created: Timestamp,
    currency: &'static str,
    amount: i64,
    descriptor: &'a str,
    pending_amount: i64,
    captured_amount: i64,
    refunded_amount: i64,
    voided_amount: i64,
    disputed_amount: i64,
    card: Option<CardOutput<'a>>,
    custom: Option<&'a CustomData>,
    tds: &'static str,
    recurring: bool,
    successful: bool,
    #[serde(serialize_with = "false_or_error")]
    error: Option<ProcessingError>,
    trail: Vec<StepOutput<'a>>,
}

#[derive(Serialize)]
struct CardOutput<'a> {
    bin: Option<&'a str>,
    last4: &'a str,
    #[serde(serialize_with = "as_date")]
    expiry: Timestamp,
    scheme: Option<&'static str>,
    code: CodeOutput,
}

#[derive(Serialize)]
struct CodeOutput {
    present: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StepOutput<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    capture: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refund: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    void: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dispute: Option<DisputeOutput>,
    #[serde(serialize_with = "as_date")]
    created: Timestamp,
    amount: i64,
    balance: i64,
    fee: FeeOutput,
    #[serde(skip_serializing_if = "Option::is_none")]
    descriptor: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line_id: Option<String>,
}

#[derive(Serialize)]
struct DisputeOutput {
    #[serde(serialize_with = "as_text")]
    id: Id,
    #[serde(skip_serializing_if = "Option::is_none")]
    won: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<bool>,
}

#[derive(Serialize)]
struct FeeOutput {
    flat: i64,
    rate: i64,
}

impl<'a> TransactionOutput<'a> {
    pub(in crate::http) fn new(transaction: &'a Transaction) -> Self {
        let amounts = &transaction.amounts;
        Self {
            id: transaction.id,
            merchant_id: transaction.merchant,
            test: transaction.test,
            created: transaction.created,
            currency: transaction.currency.code(),
            amount: amounts.amount,
            descriptor: transaction.descriptor.as_str(),
            pending_amount: amounts.pending(),
            captured_amount: amounts.captured,
            refunded_amount: amounts.refunded,
            voided_amount: amounts.voided,
            disputed_amount: amounts.disputed,
            card: transaction.card.as_ref().map(CardOutput::new),
            custom: transaction.custom.as_ref(),
            tds: transaction.tds.name(),
            recurring: transaction.recurring,
            successful: transaction.error.is_none(),
            error: transaction.error,
            trail: transaction.trail.iter().map(StepOutput::new).collect(),
        }
    }
}

impl<'a> CardOutput<'a> {
    fn new(card: &'a Card) -> Self {
        Self {
            bin: card.known_bin(),
            last4: &card.last4,
            expiry: card.expiry.end(),
            scheme: card.scheme.public_name(),
            code: CodeOutput { present: card.code_present },
        }
    }
}

impl<'a> StepOutput<'a> {
    fn new(step: &'a Step) -> Self {
        let is = |movement| (step.movement == movement).then_some(true);
        let Fee { flat, rate } = step.fee;
        Self {
            capture: is(Movement::Capture),
            refund: is(Movement::Refund),
            void: is(Movement::Void),
            dispute: step.dispute.map(|id| DisputeOutput {
                id,
                won: is(Movement::Won),
                lost: is(Movement::Lost),
            }),
            created: step.created,
            amount: step.amount,
            balance: step.balance,
            fee: FeeOutput { flat, rate },
            descriptor: step.descriptor.as_ref().map(Descriptor::as_str),
            line_id: step.line.map(|line| line.to_string()),
        }
    }
}

/// Writes `false`, or the error.
fn false_or_error<S: Serializer>(
    error: &Option<ProcessingError>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match *error {
        None => serializer.serialize_bool(false),
        Some(error) => ProcessingErrorOutput::new(error).serialize(serializer),
    }
}

impl Item for Transaction {
    /// Custom data and trails may be long.
    const FIRST_PIECE: u32 = 20;

    fn id(&self) -> Id {
        self.id
    }

    fn write_json(&self, json: &mut Vec<u8>) -> serde_json::Result<()> {
        serde_json::to_writer(json, &TransactionOutput::new(self))
    }
}
