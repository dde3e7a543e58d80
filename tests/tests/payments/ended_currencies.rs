//! A currency ends: its payments and merchants can still be read and go on, and nothing new is
//! accepted in it.

use blackbox::{
    payments::{
        Acquirer, Card, Link, Merchant, Move, Refusal as _, SECRET, Service, Stopped, Transaction,
        minimal,
    },
    postgres::Cluster,
    process,
};
use serde_json::{Value, json};

use crate::{
    import,
    payouts::{DANISH, pay_out, transfers},
};

/// All columns with a currency.
const COLUMNS: [(&str, &str); 8] = [
    ("authorizations", "currency"),
    ("lines", "currency"),
    ("merchants", "currency"),
    ("merchants", "fee_dispute_currency"),
    ("merchants", "fee_flat_currency"),
    ("pending_payments", "currency"),
    ("postings", "currency"),
    ("transactions", "currency"),
];

/// Replaces RON by a currency that has ended. As the service accepts only RON, this is a service
/// for which that currency ends.
fn end(place: &Stopped, code: &str) {
    for (table, column) in COLUMNS {
        place.change(&format!("UPDATE {table} SET {column} = '{code}' WHERE {column} = 'RON'"));
    }
}

/// A payment that is partly captured.
async fn paid(merchant: &Merchant) -> Transaction {
    let transaction = merchant.pay("RON", 100_000).await;
    transaction.capture(60_000).await;
    transaction
}

fn are_in(code: &str, items: &[Value], count: usize) {
    assert_eq!(items.len(), count, "{items:?}");
    assert!(items.iter().all(|item| item["currency"] == code), "{items:?}");
}

/// Continues a payment, and reads it in every way.
async fn goes_on(service: &Service, merchant: &Merchant, transaction: &Transaction, code: &str) {
    assert_eq!(transaction.fetch().await["currency"], code);
    transaction.refund(100).await;
    transaction.void(50).await;
    transaction.make(Move::Capture, &json!({ "amount": 10, "currency": code })).await;
    let acquirer = Acquirer(service);
    let dispute = acquirer.open(transaction, 200).await;
    acquirer.end(transaction, &dispute, "won").await;
    are_in(code, &[transaction.fetch().await], 1);
    are_in(code, &merchant.list("/transactions?limit=10").await, 1);

    let lines = merchant.list("/lines?limit=10").await;
    let amounts: Vec<_> = lines.iter().map(|line| line["amount"].clone()).collect();
    are_in(code, &amounts, 5);
    let line = format!("/lines/{}", lines[0]["id"].as_str().unwrap());
    assert_eq!(merchant.app.get(&line).await.expect(200).json(), lines[0]);
    let disputes = format!("/disputes?limit=10&filter[merchantId]={}", merchant.id);
    assert_eq!(merchant.app.list(&disputes).await.len(), 1);
}

async fn accepts_nothing_new(service: &Service, merchant: &Merchant, code: &str) {
    merchant.charge(&merchant.payment(Card::VISA, code, 100)).await.names(&["currency"]);
    let link = service.show(&Link::to(merchant).with("currency", code).path()).await;
    assert_eq!(link.status, 400, "{link:?}");
    let mut body = minimal();
    body["currency"] = code.into();
    merchant.app.post("/merchants", &body).await.names(&["currency"]);
}

async fn is_survived(code: &str) {
    let service = Service::with(&[SECRET, ("PAYMENTS_FEE_FLAT", "RON:25")]).await;
    let app = service.app().await;
    let mut body = minimal();
    body["test"] = true.into();
    body["currency"] = "RON".into();
    body["bank"] = json!({ "iban": DANISH, "holder": "Ann" });
    let merchants = [app.merchant("EUR").await, app.merchant_with(&body).await];
    let transactions = [paid(&merchants[0]).await, paid(&merchants[1]).await];
    let place = service.stop().await;
    end(&place, code);
    let service = place.start().await;
    let app = app.at(&service);
    for (merchant, transaction) in merchants.iter().zip(&transactions) {
        let (merchant, transaction) = (merchant.by(&app), transaction.by(&app));
        goes_on(&service, &merchant, &transaction, code).await;
        accepts_nothing_new(&service, &merchant, code).await;
    }
    assert_eq!(merchants[1].by(&app).fetch().await["currency"], code);
    let listed = app.list(&app.merchants("?limit=10")).await;
    are_in(code, &[listed[0].clone()], 1);
    assert_eq!(listed.len(), 2);
    let events = app.events_after(&"0".repeat(24)).await;
    assert!(events.len() >= 12, "{events:?}");
    let place = service.stop().await;
    place.agrees().await;
    are_in(code, &transfers(&pay_out(&place, &["--test"]).await), 1);
    place.agrees().await;
    if place.database().is_none() {
        let database = Cluster::apart().database();
        let imported = process::run(import::command(&place, &database)).await;
        assert!(imported.status.success(), "{imported:?}");
    }
}

#[tokio::test]
async fn payments_and_merchants_of_an_ended_currency_go_on() {
    for code in ["BGN", "HRK"] {
        is_survived(code).await;
    }
}
