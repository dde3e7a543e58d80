//! `GET /events`, and one event.

use axum::{http::StatusCode, response::Response};
use jiff::Timestamp;
use payments_domain::{Event, EventData, Id, Transaction};
use serde::Serialize;

use super::{
    access::{Caller, Permitted},
    disputes::DisputeOutput,
    frauds::FraudOutput,
    list::{Item, Query},
    output::{BankOutput, HeldOutput, TransactionOutput},
    payouts::PayoutOutput,
};
use crate::{
    app::EventFilter,
    web::{Error, Fields, Reported, as_date, as_text, envelope},
};

/// The events of all merchants of the app, or of one merchant.
pub(super) async fn list(Caller(caller): Caller, query: Query) -> Result<Response, Error> {
    let (page_query, filter) = query.read(filter)?;
    let events = query.payments.events(&caller, filter).await?;
    query.page(page_query, events).await
}

fn filter(filter: &mut Fields<'_>) -> Result<EventFilter, Reported> {
    let merchant = filter.given("merchantId", str::parse);
    let event_type = filter.given("type", str::parse);
    Ok(EventFilter { merchant: merchant?, event_type: event_type? })
}

pub(super) async fn get(event: Permitted<Event>) -> Response {
    envelope(StatusCode::OK, "event", EventOutput::new(&event.resource))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EventOutput<'a> {
    #[serde(serialize_with = "as_text")]
    id: Id,
    #[serde(serialize_with = "as_date")]
    created: Timestamp,
    #[serde(rename = "type")]
    event_type: &'static str,
    #[serde(serialize_with = "as_text")]
    merchant_id: Id,
    test: bool,
    actor: ActorOutput<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction_id: Option<String>,
    data: DataOutput<'a>,
}

#[derive(Serialize)]
struct ActorOutput<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum DataOutput<'a> {
    Transaction(TransactionOutput<'a>),
    Dispute(DisputeOutput<'a>),
    Fraud(FraudOutput),
    Payout(PayoutOutput<'a>),
    Held(HeldOutput<'a>),
    Bank(BankOutput<'a>),
}

impl<'a> EventOutput<'a> {
    fn new(event: &'a Event) -> Self {
        Self {
            id: event.id,
            created: event.created,
            event_type: event.event_type.name(),
            merchant_id: event.merchant,
            test: event.test,
            actor: ActorOutput {
                kind: event.actor.kind.name(),
                id: event.actor.id.map(|id| id.to_string()),
                name: event.actor_name.as_deref(),
            },
            transaction_id: event.transaction().map(|id| id.to_string()),
            data: match &event.data {
                EventData::Transaction(transaction) => {
                    DataOutput::Transaction(TransactionOutput::new(transaction))
                }
                EventData::Dispute(dispute) => DataOutput::Dispute(DisputeOutput::new(dispute)),
                EventData::Fraud(alert) => DataOutput::Fraud(FraudOutput::new(alert)),
                EventData::Payout(payout) => DataOutput::Payout(PayoutOutput::new(payout)),
                EventData::Hold(hold) => DataOutput::Held(HeldOutput::of(hold)),
                EventData::Bank(change) => DataOutput::Bank(BankOutput::of(change)),
            },
        }
    }
}

/// An event in JSON, as `GET /events/<id>` shows it and as webhooks contain it.
pub(crate) fn event_json(event: &Event) -> Vec<u8> {
    // Texts, numbers and flags never fail to serialize.
    serde_json::to_vec(&EventOutput::new(event)).unwrap_or_default()
}

impl Item for Event {
    /// Most events contain a transaction.
    const FIRST_PIECE: u32 = Transaction::FIRST_PIECE;

    fn id(&self) -> Id {
        self.id
    }

    fn write_json(&self, json: &mut Vec<u8>) -> serde_json::Result<()> {
        serde_json::to_writer(json, &EventOutput::new(self))
    }
}
