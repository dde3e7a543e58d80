//! Requests of customers: `POST /transactions` and `POST /cards` on the origin of the payment page.

use blackbox::payments::{Card, EXPIRY, Merchant, Refusal as _, Service, minimal};
use reqwest::Method;
use serde_json::{Value, json};

/// A payment with one member changed. `path` names the member, for example `card.code`.
fn with(merchant: &Merchant, path: &str, value: Value) -> Value {
    let mut body = merchant.payment(Card::VISA, "EUR", 1000);
    *body.pointer_mut(&format!("/{}", path.replace('.', "/"))).unwrap() = value;
    body
}

#[tokio::test]
async fn a_good_card_is_charged_and_the_transaction_is_complete() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    for (card, scheme) in Card::GOOD {
        let transaction = merchant.pay_with(card, "EUR", 995).await;
        let fetched = transaction.fetch().await;
        assert_eq!(
            fetched,
            json!({
                "id": transaction.id,
                "merchantId": merchant.id,
                "test": true,
                "created": fetched["created"],
                "currency": "EUR",
                "amount": 995,
                "descriptor": "Corner shop",
                "pendingAmount": 995,
                "capturedAmount": 0,
                "refundedAmount": 0,
                "voidedAmount": 0,
                "disputedAmount": 0,
                "card": {
                    "bin": card.bin(),
                    "last4": card.last4(),
                    "expiry": EXPIRY,
                    "scheme": scheme,
                    "code": { "present": true },
                },
                "custom": null,
                "tds": "none",
                "recurring": false,
                "successful": true,
                "error": false,
                "trail": [],
            })
        );
    }
}

#[tokio::test]
async fn a_declined_payment_is_kept_as_a_failed_transaction() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    for (card, code) in Card::BAD {
        println!("{card:?}");
        let answer = merchant.charge(&merchant.payment(card, "EUR", 995)).await;
        answer.declined(code);
        let mut error = answer.json();
        error.as_object_mut().unwrap().remove("transaction");
        let fetched = merchant.transaction(&answer).fetch().await;
        assert_eq!((&fetched["successful"], &fetched["error"]), (&json!(false), &error));
        assert_eq!((&fetched["amount"], &fetched["pendingAmount"]), (&json!(995), &json!(0)));
        assert_eq!(fetched["card"]["last4"], card.last4());
        assert_eq!((&fetched["recurring"], &fetched["trail"]), (&json!(false), &json!([])));
    }
    let kept = merchant.list("/transactions?limit=100&filter[successful]=no").await;
    assert_eq!(kept.len(), Card::BAD.len());
}

#[tokio::test]
async fn a_decline_shows_who_may_be_at_fault() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    for (number, client, for_merchant) in
        [("4100000000000007", true, false), ("4100000000000011", true, true)]
    {
        let answer = merchant.charge(&with(&merchant, "card.number", json!(number))).await;
        let body = answer.expect(400).json();
        assert_eq!((&body["client"], &body["merchant"]), (&json!(client), &json!(for_merchant)));
    }
}

#[tokio::test]
async fn a_payment_with_an_expired_card_is_declined_and_kept() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let body = with(&merchant, "card.expiry", json!({ "month": 2, "year": 2020 }));
    let answer = merchant.charge(&body).await;
    answer.declined(6);
    let fetched = merchant.transaction(&answer).fetch().await;
    assert_eq!(fetched["card"]["expiry"], "2020-02-29T23:59:59.999Z");
}

#[tokio::test]
async fn missing_members_are_all_named_and_nothing_is_kept() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let card = ["card.number", "card.expiry.month", "card.expiry.year", "card.code"];
    let all = [&["key", "currency", "amount"], &card[..]].concat();
    for body in [json!({}), json!([]), json!({ "card": {} }), json!({ "card": { "expiry": {} } })] {
        merchant.charge(&body).await.names(&all);
    }
    let mut body = merchant.payment(Card::VISA, "EUR", 1000);
    body["card"] = json!({ "number": null, "expiry": { "month": null }, "code": "" });
    merchant.charge(&body).await.names(&card);
    let mut body = merchant.payment(Card::VISA, "EUR", 1000);
    (body["custom"], body["text"], body["reference"]) = (json!("x"), json!({}), json!([]));
    merchant.charge(&body).await.names(&["custom", "text", "reference"]);
    assert!(merchant.list("/transactions?limit=1").await.is_empty());
}

#[tokio::test]
async fn invalid_members_are_named_and_nothing_is_kept() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    for (path, values) in [
        ("key", vec![json!("4b1f0a4e-6f0f-4d53-9f0c-0d6f8c2a9b11"), json!("x"), json!(1)]),
        ("key", vec![json!(merchant.id), json!(merchant.app.key)]),
        ("currency", vec![json!("XXX"), json!("EURO"), json!("XAU"), json!(978)]),
        (
            "amount",
            vec![json!(0), json!(-1), json!(1.5), json!("1000"), json!(1_000_000_000_001_i64)],
        ),
        ("card.number", vec![json!("4100"), json!("4100x00000000000"), json!("1".repeat(30))]),
        ("card.expiry.month", vec![json!(0), json!(13), json!("x"), json!(-1)]),
        ("card.expiry.year", vec![json!(-1), json!("x"), json!(1.5), json!(123_456)]),
        ("card.code", vec![json!("12"), json!("12345"), json!("abc"), json!({})]),
    ] {
        for value in values {
            println!("{path}: {value}");
            merchant.charge(&with(&merchant, path, value)).await.names(&[path]);
        }
    }
    for (name, text) in [("text", "Total \u{202e}00.01"), ("reference", "\u{2067}5011")] {
        let mut body = merchant.payment(Card::VISA, "EUR", 1000);
        body[name] = text.into();
        merchant.charge(&body).await.names(&[name]);
    }
    assert!(merchant.list("/transactions?limit=1").await.is_empty());
}

#[tokio::test]
async fn a_form_pays_like_json() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let form = format!(
        "key={}&currency=EUR&amount=995&card[number]=4100000000000000&card%5Bexpiry%5D%5Bmonth%5D=2\
         &card[expiry][year]=2048&card[code]=739&descriptor=Own&custom[order][id]=5011&text=&reference=r1",
        merchant.key
    );
    let request = service.pos(Method::POST, "/transactions");
    let answer = request.body_of("application/x-www-form-urlencoded", form).send().await;
    let fetched = merchant.transaction(&answer.expect(201)).fetch().await;
    assert_eq!((&fetched["amount"], &fetched["descriptor"]), (&json!(995), &json!("Own")));
    let custom = json!({ "order": { "id": "5011" }, "reference": "r1" });
    assert_eq!(fetched["custom"], custom);
    assert_eq!(fetched["card"]["expiry"], EXPIRY);
}

#[tokio::test]
async fn text_and_reference_are_kept_in_the_custom_data() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let mut body = merchant.payment(Card::VISA, "EUR", 1000);
    body["text"] = "For <b>Ann</b>".into();
    body["reference"] = "5011".into();
    let fetched = merchant.transaction(&merchant.charge(&body).await.expect(201)).fetch().await;
    assert_eq!(fetched["custom"], json!({ "text": "For <b>Ann</b>", "reference": "5011" }));
    body["custom"] = json!({ "order": [1, 2] });
    let fetched = merchant.transaction(&merchant.charge(&body).await.expect(201)).fetch().await;
    assert_eq!(
        fetched["custom"],
        json!({ "order": [1, 2], "text": "For <b>Ann</b>", "reference": "5011" })
    );
}

#[tokio::test]
async fn a_live_merchant_without_an_acquirer_may_not_create_transactions() {
    let service = Service::with(&[]).await;
    let merchant = service.app().await.merchant_with(&minimal()).await;
    let body = merchant.payment(Card::LIVE, "EUR", 1000);
    let answer = merchant.charge(&body).await;
    answer.declined(27);
    assert_eq!(answer.json()["merchant"], true);
    let fetched = merchant.transaction(&answer).fetch().await;
    assert_eq!((&fetched["test"], &fetched["error"]["code"]), (&json!(false), &json!(27)));
}

#[tokio::test]
async fn every_currency_can_be_charged() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    for currency in ["EUR", "USD", "JPY", "DKK", "ISK"] {
        let fetched = merchant.pay(currency, 1000).await.fetch().await;
        assert_eq!(fetched["currency"], currency);
    }
}

#[tokio::test]
async fn cross_origin_requests_are_allowed_from_any_origin() {
    let service = Service::any().await;
    for path in ["/transactions", "/cards"] {
        let preflight = service
            .pos(Method::OPTIONS, path)
            .header("origin", "https://shop.example")
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "content-type");
        let answer = preflight.send().await.expect(200);
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
        for (name, wanted) in [("methods", "post"), ("headers", "content-type")] {
            let allowed = answer.header(&format!("access-control-allow-{name}")).unwrap();
            assert!(allowed == "*" || allowed.to_lowercase().contains(wanted), "{answer:?}");
        }
        assert_eq!(answer.header("access-control-allow-credentials"), None);
        let request = service.pos(Method::POST, path).header("origin", "https://shop.example");
        let refused = request.body_of("text/plain", "x").send().await;
        refused.refused(415, "unsupported_media_type");
        assert_eq!(refused.header("access-control-allow-origin"), Some("*"));
    }
}

#[tokio::test]
async fn the_payment_origin_does_not_serve_the_app_api() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    for path in ["/me", "/apps", "/merchants", &merchant.path(""), "/openapi.json"] {
        for method in [Method::GET, Method::POST] {
            let request = service.pos(method, path).basic_auth("", &merchant.app.key);
            request.send().await.refused(404, "not_found");
        }
    }
    for path in ["/transactions", "/cards"] {
        for method in [Method::GET, Method::PUT, Method::DELETE] {
            let answer = service.pos(method, path).send().await;
            answer.refused(405, "method_not_allowed");
            assert!(answer.header("allow").unwrap().contains("POST"), "{answer:?}");
        }
    }
}

#[tokio::test]
async fn customer_requests_are_limited_to_100_kib() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    for path in ["/transactions", "/cards"] {
        let body = merchant.payment(Card::VISA, "EUR", 1000).to_string();
        let large = format!("{body}{}", " ".repeat(100 * 1024 + 1 - body.len()));
        let request = service.pos(Method::POST, path).body_of("application/json", large);
        request.send().await.refused(413, "body_too_large");
        for malformed in ["{", "1", "[1]"] {
            let request = service.pos(Method::POST, path).body_of("application/json", malformed);
            request.send().await.names(&[""]);
        }
    }
}

#[tokio::test]
async fn a_live_card_needs_the_length_and_check_digit_of_its_scheme() {
    let service = Service::any().await;
    let live = service.app().await.merchant_with(&minimal()).await;
    for (number, code, wrong) in [
        ("4000056655665557", "739", &["card.number"][..]),
        ("400005665566555", "739", &["card.number"]),
        ("4000056655665556", "7391", &["card.code"]),
        ("378282246310005", "739", &["card.code"]),
        ("378282246310006", "739", &["card.number", "card.code"]),
    ] {
        let mut body = live.payment(Card(number), "EUR", 1000);
        body["card"]["code"] = code.into();
        live.charge(&body).await.names(wrong);
        let card = json!({ "key": live.key, "card": body["card"] });
        service.pay("/cards", &card).await.names(wrong);
    }
    assert!(live.list("/transactions?limit=1").await.is_empty());
    let test = service.merchant().await;
    test.charge(&test.payment(Card("4000056655665557"), "EUR", 1000)).await.declined(29);
}

#[tokio::test]
async fn the_scheme_of_a_card_is_that_of_its_range() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    for (number, scheme) in [
        ("378282246310005", json!("amex")),
        ("6011111111111117", json!("discover")),
        ("30569309025904", json!("diners")),
        ("3530111333300000", json!("jcb")),
        ("6200000000000005", json!("unionpay")),
        ("6759649826438453", json!("maestro")),
        ("2223003122003222", json!("mastercard")),
        ("9000000000000000", json!(null)),
    ] {
        let answer = merchant.charge(&merchant.payment(Card(number), "EUR", 1000)).await;
        answer.declined(29);
        assert_eq!(merchant.transaction(&answer).fetch().await["card"]["scheme"], scheme);
    }
}
