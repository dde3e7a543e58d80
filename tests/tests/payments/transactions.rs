//! Transactions that a merchant's server creates from an original.

use blackbox::payments::{Card, Merchant, Move, Refusal as _, Service, Transaction};
use serde_json::{Value, json};

/// The body that creates a transaction from an original.
fn from(original: &Transaction) -> Value {
    json!({ "transactionId": original.id, "currency": "EUR", "amount": 100 })
}

/// Creates a transaction and fetches it.
async fn created(merchant: &Merchant, body: &Value) -> Value {
    let answer = merchant.post("/transactions", body).await.expect(201);
    merchant.transaction(&answer).fetch().await
}

#[tokio::test]
async fn a_transaction_is_made_from_an_original_and_is_recurring() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let original = merchant.pay("EUR", 1000).await;
    let fetched = created(&merchant, &from(&original)).await;
    let before = original.fetch().await;
    assert_eq!((&fetched["recurring"], &fetched["successful"]), (&json!(true), &json!(true)));
    assert_eq!((&fetched["amount"], &fetched["pendingAmount"]), (&json!(100), &json!(100)));
    for member in ["bin", "last4", "expiry", "scheme"] {
        assert_eq!(fetched["card"][member], before["card"][member]);
    }
    assert_eq!((&fetched["custom"], &fetched["tds"]), (&Value::Null, &json!("none")));
    assert_eq!(original.fetch().await, before, "the original has changed");
}

#[tokio::test]
async fn an_original_may_be_called_an_authorization() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let original = merchant.pay("EUR", 1000).await;
    let body = json!({ "authorizationId": original.id, "currency": "EUR", "amount": 100 });
    assert_eq!(created(&merchant, &body).await["recurring"], true);
}

#[tokio::test]
async fn extra_members_of_published_clients_are_ignored() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let mut body = from(&merchant.pay("EUR", 1000).await);
    for (member, value) in [
        ("cardId", json!(false)),
        ("authorizationId", Value::Null),
        ("descriptor", json!("")),
        ("custom", Value::Null),
        ("recurring", json!({ "any": "thing" })),
    ] {
        body[member] = value;
    }
    assert_eq!(created(&merchant, &body).await["descriptor"], "Corner shop");
    body["descriptor"] = "   ".into();
    assert_eq!(created(&merchant, &body).await["descriptor"], "Corner shop");
}

#[tokio::test]
async fn originals_must_be_successful_customer_payments_of_the_merchant() {
    let service = Service::any().await;
    let app = service.app().await;
    let (merchant, other) = (app.merchant("EUR").await, app.merchant("EUR").await);
    let original = merchant.pay("EUR", 1000).await;
    let unusable = [
        ("of the server", json!(merchant.repeat(&original, 100).await.id)),
        ("failed", json!(merchant.fail(100).await.id)),
        ("of another merchant", json!(other.pay("EUR", 100).await.id)),
        ("unknown", json!("ffffffffffffffffffffffff")),
        ("of another kind", json!(merchant.id)),
        ("no id", json!("x")),
        ("a number", json!(1)),
        ("an object", json!({ "id": original.id })),
    ];
    let before = merchant.ids("/transactions?limit=100").await;
    for (label, id) in unusable {
        for field in ["transactionId", "authorizationId"] {
            println!("{field}: {label}");
            let mut body = json!({ "currency": "EUR", "amount": 100 });
            body[field] = id.clone();
            merchant.post("/transactions", &body).await.names(&[field]);
        }
    }
    assert_eq!(merchant.ids("/transactions?limit=100").await, before);
}

#[tokio::test]
async fn all_missing_or_invalid_members_are_named() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let original = merchant.pay("EUR", 1000).await;
    merchant.post("/transactions", &json!({})).await.names(&[
        "transactionId",
        "currency",
        "amount",
    ]);
    let body = json!({
        "transactionId": original.id,
        "currency": "XXX",
        "amount": 0,
        "descriptor": "twenty-three characters",
        "custom": "text",
    });
    let wrong = ["currency", "amount", "descriptor", "custom"];
    merchant.post("/transactions", &body).await.names(&wrong);
    let ids = ["transactionId", "authorizationId", "cardId"];
    let body = json!({ ids[0]: 1, ids[1]: "x", ids[2]: {}, "currency": "EUR", "amount": 100 });
    merchant.post("/transactions", &body).await.names(&ids);
}

#[tokio::test]
async fn the_descriptor_defaults_to_the_merchants() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let original = merchant.pay("EUR", 1000).await;
    let mut body = from(&original);
    body["descriptor"] = "Own #1".into();
    assert_eq!(created(&merchant, &body).await["descriptor"], "Own #1");
    let change = json!({ "descriptor": "Changed" });
    let _ = merchant.app.put(&merchant.path(""), &change).await.expect(204);
    assert_eq!(created(&merchant, &from(&original)).await["descriptor"], "Changed");
    assert_eq!(
        original.fetch().await["descriptor"],
        "Corner shop",
        "an existing transaction has changed"
    );
}

#[tokio::test]
async fn a_declined_repeat_leaves_a_failed_transaction() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let original = merchant.pay_with(Card::LATER_EMPTY, "EUR", 1000).await;
    let answer = merchant.post("/transactions", &from(&original)).await;
    answer.declined(7);
    let failed = merchant.transaction(&answer);
    let fetched = failed.fetch().await;
    assert_eq!((&fetched["successful"], &fetched["recurring"]), (&json!(false), &json!(true)));
    assert_eq!((&fetched["error"]["code"], &fetched["pendingAmount"]), (&json!(7), &json!(0)));
    for movement in Move::ALL {
        failed.ask(movement, &json!({ "amount": 1 })).await.names(&["amount"]);
    }
    assert_eq!(failed.fetch().await, fetched);
    original.capture(1000).await;
}

#[tokio::test]
async fn custom_data_is_returned_as_sent() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let original = merchant.pay("EUR", 1000).await;
    for custom in [
        "{}",
        r#"{"b":1,"a":[1.0,1e2,-0,{"x":null}],"":{}}"#,
        r#"{"large":123456789012345678901234567890,"small":1e-400}"#,
        r#"{"text":"é \u00e9 \" \\ / \/ \n 😀","yes":true}"#,
    ] {
        let body = format!(
            r#"{{"transactionId":"{}","currency":"EUR","amount":1,"custom":{custom}}}"#,
            original.id
        );
        let request = merchant.app.request(reqwest::Method::POST, &merchant.path("/transactions"));
        let answer = request.body_of("application/json", body).send().await.expect(201);
        let fetched = merchant.app.get(&merchant.transaction(&answer).path()).await.expect(200);
        assert!(fetched.text().contains(&format!(r#""custom":{custom}"#)), "{fetched:?}");
        let listed = merchant.get("/transactions?limit=1").await.expect(200);
        assert!(listed.text().contains(&format!(r#""custom":{custom}"#)), "{listed:?}");
    }
}

/// An object with `count` keys.
fn keys(count: usize) -> Value {
    (0..count).map(|number| (format!("key-{number}"), json!(number))).collect()
}

/// An object with `levels` levels.
fn nested(levels: usize) -> Value {
    (1..levels).fold(json!({}), |inner, _| json!({ "a": inner }))
}

#[tokio::test]
async fn custom_data_is_limited_in_keys_levels_and_size() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let mut body = from(&merchant.pay("EUR", 1000).await);
    let sized = |bytes: usize| json!({ "a": "x".repeat(bytes - r#"{"a":""}"#.len()) });
    for (label, custom) in
        [("keys", keys(99)), ("levels", nested(9)), ("size", sized(50_000)), ("none", json!({}))]
    {
        println!("{label}");
        body["custom"] = custom.clone();
        assert_eq!(created(&merchant, &body).await["custom"], custom);
    }
    for (label, custom) in [
        ("keys", keys(100)),
        ("levels", nested(10)),
        ("size", sized(51_201)),
        ("text", json!("a")),
        ("array", json!([1])),
        ("number", json!(1)),
        ("boolean", json!(true)),
    ] {
        println!("{label}");
        body["custom"] = custom;
        merchant.post("/transactions", &body).await.names(&["custom"]);
    }
}
