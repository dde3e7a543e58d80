//! Merchants: creation, members and changes.

use blackbox::payments::{Merchant, Refusal as _, Service, minimal};
use serde_json::{Value, json};

/// A valid IBAN in lower case and with spaces.
const IBAN: &str = "dk50 0040 0440 1162 43";

fn with(member: &str, value: Value) -> Value {
    let mut body = minimal();
    body[member] = value;
    body
}

#[tokio::test]
async fn a_merchant_is_returned_with_all_its_members() {
    let service = Service::any().await;
    let app = service.app().await;
    let body = json!({
        "name": "Corner shop",
        "currency": "DKK",
        "test": true,
        "email": "ann@shop.example",
        "website": "https://shop.example",
        "descriptor": "Corner #1 (shop)",
        "company": { "country": "DK", "number": "12345678" },
        "bank": { "iban": IBAN, "holder": "Ann Larsen" },
    });
    let answer = app.post("/merchants", &body).await.expect(201);
    let merchant = answer.json()["merchant"].clone();
    assert_eq!(
        merchant,
        json!({
            "id": merchant["id"],
            "key": merchant["key"],
            "name": "Corner shop",
            "created": merchant["created"],
            "currency": "DKK",
            "test": true,
            "email": "ann@shop.example",
            "website": "https://shop.example",
            "descriptor": "Corner #1 (shop)",
            "balance": 0,
            "company": { "country": "DK", "number": "12345678" },
            "bank": { "iban": "DK5000400440116243", "holder": "Ann Larsen" },
            "approved": true,
            "held": null,
            "claim": {
                "canChargeCard": true,
                "canSaveCard": true,
                "canTransferToCard": false,
                "canCapture": true,
                "canRefund": true,
                "canVoid": true,
            },
            "pricing": {
                "rate": 0.025,
                "flat": { "currency": "EUR", "amount": 25 },
                "dispute": { "currency": "EUR", "amount": 3500 },
            },
            "tds": { "mode": "avoid" },
        })
    );
    let path = format!("/merchants/{}", merchant["id"].as_str().unwrap());
    assert_eq!(app.get(&path).await.expect(200).text(), answer.text());
    assert!(!answer.text().contains('\n'));
}

#[tokio::test]
async fn a_minimal_merchant_is_live_and_has_no_name() {
    let service = Service::any().await;
    let merchant = service.app().await.merchant_with(&minimal()).await.fetch().await;
    assert_eq!((&merchant["test"], &merchant["name"]), (&json!(false), &Value::Null));
    assert_eq!(merchant["company"], json!({ "country": "DK" }));
    assert_eq!(merchant["bank"], json!({}));
}

#[tokio::test]
async fn null_and_empty_optional_text_mean_absent() {
    let service = Service::any().await;
    let app = service.app().await;
    for (optional, bank) in
        [(Value::Null, Value::Null), (json!(""), json!({})), (Value::Null, json!({ "iban": null }))]
    {
        let mut body = with("name", optional.clone());
        body["company"]["number"] = optional;
        body["bank"] = bank;
        body["test"] = Value::Null;
        let merchant = app.merchant_with(&body).await.fetch().await;
        assert_eq!(merchant["name"], Value::Null, "{body}");
        assert_eq!(merchant["company"], json!({ "country": "DK" }), "{body}");
        assert_eq!(merchant["bank"], json!({}), "{body}");
    }
}

#[tokio::test]
async fn every_funding_currency_is_accepted() {
    let service = Service::any().await;
    let app = service.app().await;
    for currency in ["CHF", "CZK", "DKK", "EUR", "GBP", "HUF", "NOK", "PLN", "RON", "SEK", "USD"] {
        assert_eq!(app.merchant(currency).await.fetch().await["currency"], currency);
    }
}

#[tokio::test]
async fn all_missing_members_are_named() {
    let service = Service::any().await;
    let app = service.app().await;
    let required = ["currency", "email", "website", "descriptor", "company.country"];
    app.post("/merchants", &json!({})).await.names(&required);
    app.post("/merchants", &json!([])).await.names(&required);
    app.post("/merchants", &json!({ "company": {}, "bank": {} })).await.names(&required);
    let empty = json!({ "currency": "", "email": "", "website": " ", "descriptor": "",
        "company": { "country": "" } });
    app.post("/merchants", &empty).await.names(&required);
    let mut blank = minimal();
    blank["descriptor"] = "   ".into();
    app.post("/merchants", &blank).await.names(&["descriptor"]);
}

#[tokio::test]
async fn all_invalid_members_are_named() {
    let service = Service::any().await;
    let body = json!({
        "name": 1,
        "currency": "JPY",
        "test": "yes",
        "email": "nobody",
        "website": false,
        "descriptor": "twenty-three characters",
        "company": { "country": "XX", "number": [] },
        "bank": { "iban": "DK5000400440116244" },
    });
    let wrong = [
        "name",
        "currency",
        "test",
        "email",
        "website",
        "descriptor",
        "company.country",
        "company.number",
        "bank.iban",
    ];
    service.app().await.post("/merchants", &body).await.names(&wrong);
}

#[tokio::test]
async fn every_member_is_validated() {
    let service = Service::any().await;
    let app = service.app().await;
    for (member, values) in [
        ("name", vec![json!(true), json!({}), json!(["a"]), json!("a\u{202e}b")]),
        ("currency", vec![json!("JPY"), json!("ISK"), json!("XXX"), json!("EURO"), json!(978)]),
        ("test", vec![json!("true"), json!("no"), json!(1), json!(0)]),
        (
            "email",
            vec![json!("a"), json!("a@"), json!("@b.example"), json!("a@b.example,c@d.example")],
        ),
        ("website", vec![json!(""), json!("  "), json!(1), json!("\u{2066}shop.example\u{2069}")]),
        ("descriptor", vec![json!("café"), json!("a\nb"), json!("a\tb"), json!("x".repeat(23))]),
    ] {
        for value in values {
            println!("{member}: {value}");
            app.post("/merchants", &with(member, value)).await.names(&[member]);
        }
    }
    for country in [json!("XX"), json!("DNK"), json!("D"), json!("Denmark"), json!(208)] {
        let body = with("company", json!({ "country": country }));
        app.post("/merchants", &body).await.names(&["company.country"]);
    }
    for iban in ["DK5000400440116244", "DK500040044011624", "XX5000400440116243", "DK", "5000400"] {
        let body = with("bank", json!({ "iban": iban }));
        app.post("/merchants", &body).await.names(&["bank.iban"]);
    }
}

#[tokio::test]
async fn values_of_published_clients_are_accepted() {
    let service = Service::any().await;
    let app = service.app().await;
    for (member, value) in [
        ("website", json!("test.com")),
        ("email", json!("first.last+tag@mail.shop.example")),
        ("descriptor", json!("x".repeat(22))),
        ("descriptor", json!(" ~!\"#$%&'()*+,-./:;<=>")),
        ("unknown", json!({ "nested": [1, "two"] })),
        ("bank", json!({ "iban": "NO9386011117947" })),
        ("bank", json!({ "iban": "MT84MALT011000012345MTLCAST001S" })),
    ] {
        println!("{member}: {value}");
        app.merchant_with(&with(member, value)).await;
    }
}

/// Changes members of a merchant, checks that the others stay the same, and returns the merchant.
async fn changed(merchant: &Merchant, changes: &Value) -> Value {
    let before = merchant.fetch().await;
    let _ = merchant.app.put(&merchant.path(""), changes).await.expect(204);
    let after = merchant.fetch().await;
    for (member, value) in before.as_object().unwrap() {
        if changes.get(member).is_none() {
            assert_eq!(&after[member], value, "{member} has changed, too");
        }
    }
    after
}

#[tokio::test]
async fn name_email_and_descriptor_can_be_changed() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    for changes in [
        json!({ "name": "Another" }),
        json!({ "email": "ben@shop.example" }),
        json!({ "descriptor": "Another" }),
        json!({ "name": "All", "email": "all@shop.example", "descriptor": "All" }),
    ] {
        let after = changed(&merchant, &changes).await;
        for (member, value) in changes.as_object().unwrap() {
            assert_eq!(&after[member], value);
        }
    }
}

#[tokio::test]
async fn empty_changes_have_no_effect() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    changed(&merchant, &json!({ "name": "Kept" })).await;
    let before = merchant.fetch().await;
    for changes in [json!({}), json!([]), json!({ "unknown": 1 })] {
        changed(&merchant, &changes).await;
    }
    let absent = json!({ "name": null, "email": null, "descriptor": null, "currency": null });
    let _ = merchant.app.put(&merchant.path(""), &absent).await.expect(204);
    let blank = json!({ "descriptor": "   " });
    let _ = merchant.app.put(&merchant.path(""), &blank).await.expect(204);
    assert_eq!(merchant.fetch().await, before);
}

#[tokio::test]
async fn changes_of_fixed_members_are_rejected_by_name() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let before = merchant.fetch().await;
    for (member, value) in [
        ("currency", json!("EUR")),
        ("currency", json!("USD")),
        ("test", json!(false)),
        ("website", json!("https://other.example")),
        ("company", json!({ "country": "SE" })),
        ("company", json!({ "number": "1" })),
        ("bank", json!({ "iban": IBAN })),
    ] {
        let mut body = json!({ "name": "Changed" });
        body[member] = value;
        let answer = merchant.app.put(&merchant.path(""), &body).await.expect(400);
        let named = answer.json()[0]["field"].as_str().unwrap().to_owned();
        assert_eq!(named.split('.').next(), Some(member), "{answer:?}");
    }
    assert_eq!(merchant.fetch().await, before);
}

#[tokio::test]
async fn invalid_changes_are_rejected_without_effect() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let before = merchant.fetch().await;
    let body = json!({ "name": "Changed", "email": "nobody", "descriptor": "café" });
    merchant.app.put(&merchant.path(""), &body).await.names(&["email", "descriptor"]);
    merchant.app.put(&merchant.path(""), &json!({ "name": 1 })).await.names(&["name"]);
    assert_eq!(merchant.fetch().await, before);
}
