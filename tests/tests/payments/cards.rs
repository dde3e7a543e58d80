//! Saved cards, a deprecated feature.

use blackbox::{
    clock::Clock,
    payments::{Card, EXPIRY, Link, Merchant, Refusal as _, Service, next},
};
use jiff::{Timestamp, ToSpan as _, tz::TimeZone};
use serde_json::{Value, json};

fn id(answer: &Value) -> String {
    answer["card"]["id"].as_str().unwrap().to_owned()
}

async fn fetch(merchant: &Merchant, id: &str) -> Value {
    merchant.app.get(&format!("/cards/{id}")).await.expect(200).json()["card"].clone()
}

#[tokio::test]
async fn the_card_of_a_transaction_can_be_saved_and_fetched() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    for (card, scheme) in Card::GOOD {
        let transaction = merchant.pay_with(card, "EUR", 100).await;
        for notes in [json!("Ben's second card"), Value::Null] {
            let body = json!({ "transactionId": transaction.id, "notes": notes });
            let id = id(&merchant.post("/cards", &body).await.expect(201).json());
            let fetched = fetch(&merchant, &id).await;
            assert_eq!(
                fetched,
                json!({
                    "id": id,
                    "merchantId": merchant.id,
                    "created": fetched["created"],
                    "bin": card.bin(),
                    "last4": card.last4(),
                    "expiry": EXPIRY,
                    "scheme": scheme,
                    "notes": notes,
                    "deleted": null,
                })
            );
        }
    }
}

#[tokio::test]
async fn absent_notes_are_null() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let transaction = merchant.pay("EUR", 100).await;
    let saved = merchant.save_card(&transaction).await;
    assert_eq!(fetch(&merchant, &saved).await["notes"], Value::Null);
    let body = json!({ "transactionId": transaction.id, "notes": "" });
    let saved = id(&merchant.post("/cards", &body).await.expect(201).json());
    assert_eq!(fetch(&merchant, &saved).await["notes"], Value::Null);
}

#[tokio::test]
async fn only_cards_of_successful_originals_can_be_saved() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let original = merchant.pay("EUR", 100).await;
    let (failed, repeated) = (merchant.fail(100).await, merchant.repeat(&original, 100).await);
    for id in [json!(failed.id), json!(repeated.id), json!(merchant.id), json!(1), Value::Null] {
        let body = json!({ "transactionId": id });
        merchant.post("/cards", &body).await.names(&["transactionId"]);
    }
    merchant.post("/cards", &json!({ "notes": "x" })).await.names(&["transactionId"]);
    let body = json!({ "transactionId": original.id, "notes": "a\u{202d}b" });
    merchant.post("/cards", &body).await.names(&["notes"]);
}

#[tokio::test]
async fn a_saved_card_can_be_charged() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let original = merchant.pay_with(Card::MASTERCARD, "EUR", 100).await;
    let body = json!({
        "cardId": merchant.save_card(&original).await,
        "currency": "EUR",
        "amount": 995,
        "descriptor": "By card",
        "custom": { "n": 1 },
    });
    let answer = merchant.post("/transactions", &body).await.expect(201);
    let fetched = merchant.transaction(&answer).fetch().await;
    assert_eq!((&fetched["recurring"], &fetched["pendingAmount"]), (&json!(true), &json!(995)));
    assert_eq!(fetched["descriptor"], "By card");
    assert_eq!(fetched["custom"], json!({ "n": 1 }));
    let mut card = original.fetch().await["card"].clone();
    card["code"]["present"] = fetched["card"]["code"]["present"].clone();
    assert_eq!(fetched["card"], card);
}

#[tokio::test]
async fn only_cards_of_the_same_merchant_can_be_charged() {
    let service = Service::any().await;
    let app = service.app().await;
    let (merchant, other) = (app.merchant("EUR").await, app.merchant("EUR").await);
    let saved = other.save_card(&other.pay("EUR", 100).await).await;
    for id in [json!(saved), json!("ffffffffffffffffffffffff"), json!("x"), json!(7)] {
        let body = json!({ "cardId": id, "currency": "EUR", "amount": 100 });
        merchant.post("/transactions", &body).await.names(&["cardId"]);
    }
    assert!(merchant.list("/transactions?limit=1").await.is_empty());
}

#[tokio::test]
async fn a_saved_card_may_be_declined_later() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let original = merchant.pay_with(Card::LATER_EMPTY, "EUR", 100).await;
    let saved = merchant.save_card(&original).await;
    let body = json!({ "cardId": saved, "currency": "EUR", "amount": 100 });
    merchant.post("/transactions", &body).await.declined(7);
}

#[tokio::test]
async fn a_customer_can_save_a_card_without_paying() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let body = json!({ "key": merchant.key, "card": Card::VISA.details(), "notes": "mine" });
    let answer = service.pay("/cards", &body).await.expect(201);
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    let saved = id(&answer.json());
    let fetched = fetch(&merchant, &saved).await;
    assert_eq!((&fetched["last4"], &fetched["expiry"]), (&json!("0000"), &json!(EXPIRY)));
    let body = json!({ "cardId": saved, "currency": "EUR", "amount": 100 });
    let answer = merchant.post("/transactions", &body).await.expect(201);
    assert_eq!(merchant.transaction(&answer).fetch().await["recurring"], true);
}

/// The code that replaces another of its group in answers to callers without credentials.
fn representative(code: i64) -> i64 {
    match code {
        2..=5 => 2,
        7 | 25 => 7,
        8..=11 | 30 => 8,
        code => code,
    }
}

#[tokio::test]
async fn a_declined_card_is_not_saved() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    for (card, code) in Card::BAD {
        let body = json!({ "key": merchant.key, "card": card.details() });
        let answer = service.pay("/cards", &body).await.expect(400);
        assert_eq!(answer.json()["code"], representative(code), "{answer:?}");
    }
    assert!(merchant.list("/transactions?limit=1").await.is_empty());
}

#[tokio::test]
async fn invalid_members_of_a_card_to_save_are_named() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let card = ["card.number", "card.expiry.month", "card.expiry.year", "card.code"];
    let all = [&["key"], &card[..]].concat();
    service.pay("/cards", &json!({})).await.names(&all);
    service.pay("/cards", &json!({ "key": merchant.key })).await.names(&card);
    let unknown = json!({ "key": merchant.id, "card": Card::VISA.details() });
    service.pay("/cards", &unknown).await.names(&["key"]);
}

/// The card of [`Card::VISA`] that ends with the current month, and the seconds until the month ends
/// in UTC.
fn ending_card() -> (Value, i64) {
    let now = Timestamp::now();
    let month = now.to_zoned(TimeZone::UTC).date().first_of_month();
    let next = (month + 1.month()).to_zoned(TimeZone::UTC).unwrap().timestamp();
    let expiry = json!({ "month": month.month(), "year": month.year() });
    let card = json!({ "number": Card::VISA.0, "expiry": expiry, "code": "739" });
    (card, next.duration_since(now).as_secs())
}

#[tokio::test]
async fn a_card_is_valid_until_its_month_has_ended_everywhere() {
    const HOUR: i64 = 3600;
    let clock = Clock::new();
    let service = Service::with(&clock.variables()).await;
    let merchant = service.merchant().await;
    let (card, end) = ending_card();
    let typed =
        format!("{:02}/{}", card["expiry"]["month"].as_i64().unwrap(), card["expiry"]["year"]);
    let form = format!("number={}&expiry={typed}&code=739", Card::VISA.0);
    let to_save = json!({ "key": merchant.key, "card": card });
    let mut payment = merchant.payment(Card::VISA, "EUR", 100);
    payment["card"] = card;

    clock.set(end + 11 * HOUR);
    let _ = merchant.charge(&payment).await.expect(201);
    let saved = id(&service.pay("/cards", &to_save).await.expect(201).json());
    let page = service.open(&Link::to(&merchant)).await;
    assert_eq!(next(&service.send_form(&page, &form).await), page);
    assert_eq!(merchant.list("/transactions?limit=10").await.len(), 2);

    clock.set(end + 13 * HOUR);
    merchant.charge(&payment).await.declined(6);
    assert_eq!(service.pay("/cards", &to_save).await.expect(400).json()["code"], 6);
    let page = service.open(&Link::to(&merchant)).await;
    let refused = service.send_form(&page, &form).await.expect(400);
    assert!(refused.text().contains("This card has expired"), "{refused:?}");
    // The acquirer decides about a stored card: banks renew cards, and tokens stay.
    let body = json!({ "cardId": saved, "currency": "EUR", "amount": 100 });
    let _ = merchant.post("/transactions", &body).await.expect(201);
}
