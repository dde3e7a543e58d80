//! Bodies in the format of HTML forms.

use blackbox::payments::{App, Refusal as _, Service};
use serde_json::{Value, json};

/// The smallest form that creates a merchant.
const MINIMAL: &str = "currency=EUR&email=ann%40shop.example&website=test.com&descriptor=Corner+shop&company[country]=DK";

/// Creates a merchant from a form.
async fn created(app: &App, form: &str) -> Value {
    app.post_form("/merchants", form).await.expect(201).json()["merchant"].clone()
}

#[tokio::test]
async fn a_form_creates_the_same_merchant_as_json() {
    let service = Service::any().await;
    let app = service.app().await;
    let form =
        format!("{MINIMAL}&name=%C3%86r%C3%B8+%26+more&test=yes&company[number]=1&bank[iban]=");
    let by_form = created(&app, &form).await;
    let body = json!({
        "name": "Ærø & more",
        "currency": "EUR",
        "test": true,
        "email": "ann@shop.example",
        "website": "test.com",
        "descriptor": "Corner shop",
        "company": { "country": "DK", "number": "1" },
    });
    let mut by_json = app.merchant_with(&body).await.fetch().await;
    for member in ["id", "key", "created"] {
        by_json[member] = by_form[member].clone();
    }
    assert_eq!(by_form, by_json);
}

#[tokio::test]
async fn brackets_may_be_percent_encoded_in_either_case() {
    let service = Service::any().await;
    let app = service.app().await;
    for (open, close) in [("[", "]"), ("%5B", "%5D"), ("%5b", "%5d"), ("%5B", "]"), ("[", "%5d")] {
        let form = MINIMAL.replace('[', open).replace(']', close);
        assert_eq!(created(&app, &form).await["company"]["country"], "DK", "{form}");
    }
}

#[tokio::test]
async fn only_the_known_names_of_booleans_are_accepted() {
    let service = Service::any().await;
    let app = service.app().await;
    for (names, value) in [(["yes", "y", "1", "true"], true), (["no", "n", "0", "false"], false)] {
        for name in names {
            let merchant = created(&app, &format!("{MINIMAL}&test={name}")).await;
            assert_eq!(merchant["test"], value, "{name}");
        }
    }
    for name in ["", "on", "off", "2", "t", "f", "maybe", "null", "yes+", "%20"] {
        app.post_form("/merchants", &format!("{MINIMAL}&test={name}")).await.names(&["test"]);
    }
}

#[tokio::test]
async fn numbers_are_plain_digits() {
    let service = Service::any().await;
    let transaction = service.merchant().await.pay("EUR", 1000).await;
    let path = format!("{}/captures", transaction.path());
    for amount in [
        "1.0",
        "1e2",
        "-1",
        "%2B1",
        "0",
        "+1",
        "1+",
        "0x10",
        "1,000",
        "ten",
        "",
        "1000000000001",
        "99999999999999999999999999",
        "%D9%A1",
    ] {
        println!("{amount}");
        let answer = transaction.app.post_form(&path, &format!("amount={amount}")).await;
        answer.names(&["amount"]);
    }
    assert_eq!(transaction.fetch().await["capturedAmount"], 0);
    let answer = transaction.app.post_form(&path, "amount=100").await.expect(201);
    assert_eq!(answer.json()["transaction"]["capturedAmount"], 100);
}

#[tokio::test]
async fn duplicate_or_conflicting_keys_are_400() {
    let service = Service::any().await;
    let app = service.app().await;
    for more in [
        "currency=EUR",
        "currency=USD",
        "company[country]=DK",
        "company%5Bcountry%5D=SE",
        "company=DK",
        "company[country][code]=DK",
        "bank=x&bank[iban]=",
        "name=a&name=b",
    ] {
        println!("{more}");
        for form in [format!("{MINIMAL}&{more}"), format!("{more}&{MINIMAL}")] {
            let answer = app.post_form("/merchants", &form).await.expect(400);
            assert!(answer.json().is_array(), "{answer:?}");
        }
    }
    assert!(app.list(&app.merchants("?limit=1")).await.is_empty());
}

#[tokio::test]
async fn unknown_members_of_any_shape_are_ignored() {
    let service = Service::any().await;
    let app = service.app().await;
    for more in ["tags[]=a&tags[]=b", "note=a&note=b", "note=a&note[b]=c", "company[tags][]=a"] {
        assert_eq!(created(&app, &format!("{MINIMAL}&{more}")).await["currency"], "EUR", "{more}");
    }
    for (more, field) in [("name[]=a", "name"), ("company[]=DK", "company"), ("test[]=yes", "test")]
    {
        app.post_form("/merchants", &format!("{MINIMAL}&{more}")).await.names(&[field]);
    }
}

#[tokio::test]
async fn malformed_text_is_400() {
    let service = Service::any().await;
    let app = service.app().await;
    for wrong in ["name=%ff", "name=%00", "name=%C3", "%ff=x", "name=%ED%A0%80"] {
        let answer = app.post_form("/merchants", &format!("{MINIMAL}&{wrong}")).await.expect(400);
        assert!(answer.json().is_array(), "{answer:?}");
    }
    assert!(app.list(&app.merchants("?limit=1")).await.is_empty());
}

#[tokio::test]
async fn all_missing_members_are_named() {
    let service = Service::any().await;
    let app = service.app().await;
    let required = ["currency", "email", "website", "descriptor", "company.country"];
    app.post_form("/merchants", "name=x").await.names(&required);
    app.post_form("/merchants", "currency=&email=&company[country]=").await.names(&required);
}

#[tokio::test]
async fn other_requests_accept_forms() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let original = merchant.pay("EUR", 1000).await;
    let app = &merchant.app;
    let other = service.app().await;
    let _ = app.post_form(&merchant.path("/users"), "email=ben%40shop.example").await.expect(201);
    let _ =
        app.post_form(&merchant.path("/apps"), &format!("appId={}", other.id)).await.expect(201);
    let form = format!("transactionId={}&notes=second+card", original.id);
    let _ = app.post_form(&merchant.path("/cards"), &form).await.expect(201);
    let form = format!(
        "transactionId={}&cardId=&currency=EUR&amount=50&descriptor=&custom[order]=5011&custom[by][name]=Ann",
        original.id
    );
    let answer = app.post_form(&merchant.path("/transactions"), &form).await.expect(201);
    let repeated = merchant.transaction(&answer).fetch().await;
    assert_eq!(repeated["custom"], json!({ "order": "5011", "by": { "name": "Ann" } }));
    let path = original.path();
    let form = "amount=100&currency=EUR&descriptor=By+form";
    let _ = app.post_form(&format!("{path}/captures"), form).await.expect(201);
    let _ = app.post_form(&format!("{path}/refunds"), "amount=10").await.expect(201);
    let _ = app.post_form(&format!("{path}/voids"), "amount=900").await.expect(201);
    assert_eq!(original.fetch().await["trail"][0]["descriptor"], "By form");
    let change = app.request(reqwest::Method::PUT, &merchant.path(""));
    let change = change.body_of("application/x-www-form-urlencoded", "name=Changed");
    let _ = change.send().await.expect(204);
    assert_eq!(merchant.fetch().await["name"], "Changed");
}
