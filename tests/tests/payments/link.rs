//! Payment links: each parameter of the URL.

use blackbox::{
    http::Answer,
    payments::{Card, Link, Merchant, Service, UNREACHABLE, minimal, next},
};

/// Checks that the link is rejected with a page that names only this parameter.
#[track_caller]
fn refused(page: &Answer, parameter: &str) {
    assert_eq!(page.status, 400, "{page:?}");
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let named: Vec<_> = page.text().split("<li><code>").skip(1).collect();
    assert_eq!(named.len(), 1, "{page:?}");
    assert!(named[0].starts_with(&format!("{parameter}</code>")), "{page:?}");
}

async fn customer() -> (Service, Merchant) {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    (service, merchant)
}

#[tokio::test]
async fn invalid_parameters_are_named_on_a_page() {
    let (service, merchant) = customer().await;
    let link = Link::to(&merchant);
    for (name, values) in [
        ("key", &["", "x", "4b1f0a4e-6f0f-4d53-9f0c-0d6f8c2a9b11", &merchant.id][..]),
        ("test", &["", "0", "2", "yes", "true"]),
        ("currency", &["eur", "EURO", "XXX", "XAU", "978", "€"]),
        ("value", &["0", "0.00", "-1", "+1", "9.999", "9,95", "1e3", "ten", "9.", ".5", " 1", "٩"]),
        ("value", &["10000000000.01", "99999999999999999999", "1 000", "1,000.00", "0x10", "NaN"]),
        ("redirect", &["shop.example", "/done", "//shop.example", "javascript:alert(1)", "x:y"]),
        ("redirect", &["data:text/html,x", "https://a@shop.example/", "https://"]),
        ("text", &["Total \u{202e}00.01"]),
        ("reference", &["\u{2067}5011"]),
        ("recurring", &["x", "", "2"]),
        ("form", &["x", "1", "4b1f0a4e-6f0f-4d53-9f0c-0d6f8c2a9b1"]),
        ("expires", &["x", "-1", "1.5", "1900000000"]),
        ("once", &["x", "y"]),
        ("signature", &["x", &"0".repeat(64)]),
    ] {
        for value in values {
            println!("{name}={value}");
            refused(&service.show(&link.clone().with(name, value).path()).await, name);
        }
    }
    refused(&service.show(&link.clone().without("key").path()).await, "key");
    refused(&service.show(&link.without("test").path()).await, "test");
}

#[tokio::test]
async fn all_invalid_parameters_are_named() {
    let (service, merchant) = customer().await;
    let link = Link::to(&merchant);
    for (link, parameters) in [
        (link.clone().without("test").with("value", "9.999"), &["test", "value"][..]),
        (
            link.with("currency", "euro").with("value", "x").with("redirect", "y").without("key"),
            &["key", "currency", "value", "redirect"],
        ),
    ] {
        let page = service.show(&link.path()).await.expect(400);
        let named = page.text().split("<li><code>").skip(1);
        let named: Vec<_> = named.map(|row| row.split('<').next().unwrap()).collect();
        assert_eq!(named, parameters);
    }
}

#[tokio::test]
async fn decimal_places_depend_on_the_currency() {
    let (service, merchant) = customer().await;
    for (currency, value, is_right) in [
        ("JPY", "995", true),
        ("JPY", "9.95", false),
        ("JPY", "9.0", false),
        ("EUR", "9.5", true),
        ("EUR", "9.950", false),
        ("BHD", "9.955", true),
        ("BHD", "9.9555", false),
        ("EUR", "10000000000", true),
    ] {
        let link = Link::to(&merchant).with("currency", currency).with("value", value);
        let page = service.show(&link.path()).await;
        if is_right {
            assert_eq!(page.status, 303, "{value} {currency}");
        } else {
            refused(&page, "value");
        }
    }
}

#[tokio::test]
async fn a_link_must_match_a_test_or_live_merchant() {
    let service = Service::with(&UNREACHABLE).await;
    let test = service.merchant().await;
    let live = test.app.merchant_with(&minimal()).await;
    refused(&service.show(&Link::to(&live).path()).await, "test");
    refused(&service.show(&Link::to(&test).without("test").path()).await, "test");
    let _ = service.open(&Link::to(&live).without("test")).await;
    let no_rate = Link::to(&live).without("test").with("currency", "DKK");
    refused(&service.show(&no_rate.path()).await, "currency");
}

#[tokio::test]
async fn duplicate_or_unreadable_parameters_are_rejected() {
    let (service, merchant) = customer().await;
    let link = Link::to(&merchant).path();
    for (rest, parameter) in
        [("&value=1", "value"), ("&text=%FF", ""), ("&text=%00", ""), ("&text=%zz", "")]
    {
        refused(&service.show(&format!("{link}{rest}")).await, parameter);
    }
    for path in ["/", "/?", "/?&&"] {
        refused(&service.show(path).await, "key");
    }
}

#[tokio::test]
async fn unknown_and_empty_parameters_are_ignored() {
    let (service, merchant) = customer().await;
    let link = Link::to(&merchant);
    let form = service.open(&link).await;
    let more = link.with("utm_source", "mail").with("text", "").with("redirect", "");
    let same = service.open(&more).await;
    let plain = |path: &str| path.split("&form=").next().unwrap().to_owned();
    assert_eq!(plain(&form), plain(&same));
}

#[tokio::test]
async fn text_is_escaped_and_kept_with_the_reference() {
    let (service, merchant) = customer().await;
    let hostile = [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "' onfocus='alert(1)",
        "{{ 7 * 7 }} {% raw %} ${7*7}",
        "</title></main><h1>",
        "&lt;b&gt; &amp; &#60;",
        "\u{200f}desrever \u{200b}",
        "javascript:alert(1)",
        "日本語 ελληνικά عربى 💶",
        "a\r\nSet-Cookie: x=y",
    ];
    for text in hostile {
        let link = Link::to(&merchant).with("text", text).with("reference", text);
        let (_, page) = service.pay_at(&link, blackbox::payments::Card::VISA).await;
        let html = page.expect(200);
        let html = html.text();
        for tag in ["<script>alert", "<img", "<h1>x", "onfocus='", "<b>"] {
            assert!(!html.contains(tag), "{html}");
        }
        assert_eq!(html.matches("</title>").count(), 1, "{html}");
        let kept = &merchant.list("/transactions?limit=1").await[0];
        assert_eq!(kept["custom"], serde_json::json!({ "text": text, "reference": text }));
    }
}

#[tokio::test]
async fn open_amounts_and_currencies_are_entered_first() {
    let (service, merchant) = customer().await;
    let open = Link::to(&merchant).without("value");
    let page = service.show(&open.path()).await.expect(200);
    assert!(page.text().contains("name=\"typed[value]\""), "{page:?}");
    assert!(!page.text().contains("name=\"typed[currency]\""), "{page:?}");
    for typed in ["9.95", "9,95", " 9,95 "] {
        let settled = next(&service.show(&open.clone().with("typed[value]", typed).path()).await);
        assert!(settled.contains("&value=9.95"), "{settled}");
    }
    for (typed, value) in [("1.234,50", "1234.50"), ("1 234", "1234"), ("€5", "5"), ("5 eur", "5")]
    {
        let settled = next(&service.show(&open.clone().with("typed[value]", typed).path()).await);
        assert!(
            settled.contains(&format!("&value={value}&")) || settled.ends_with(value),
            "{settled}"
        );
    }
    for typed in ["0", "ten", "9.999", "-5", "5 kr", "99999999999"] {
        let page = service.show(&open.clone().with("typed[value]", typed).path()).await;
        assert_eq!(page.status, 400, "{typed}");
        assert!(page.text().contains("id=\"value-error\""), "{page:?}");
        assert!(page.text().contains(&format!("value=\"{typed}\"")), "{page:?}");
    }

    let both = open.without("currency").with("redirect", "https://shop.example/done");
    let page = service.show(&both.path()).await.expect(200);
    assert!(page.text().contains("name=\"typed[currency]\""), "{page:?}");
    let typed = both.clone().with("typed[value]", "995").with("typed[currency]", "jpy");
    let settled = next(&service.show(&typed.path()).await);
    assert!(settled.contains("&currency=JPY&value=995&redirect="), "{settled}");
    let wrong = both.clone().with("typed[value]", "9.95").with("typed[currency]", "euro");
    let page = service.show(&wrong.path()).await.expect(400);
    assert!(page.text().contains("id=\"currency-error\""), "{page:?}");
    assert!(!page.text().contains("id=\"value-error\""), "{page:?}");
    assert!(page.text().contains("Enter a three-letter currency code"), "{page:?}");
    let unknown = both.with("typed[value]", "9.95").with("typed[currency]", "xxx");
    let page = service.show(&unknown.path()).await.expect(400);
    assert!(page.text().contains("Payments in this currency are not possible"), "{page:?}");

    let named = Link::to(&merchant).without("currency");
    let page = service.show(&named.path()).await.expect(200);
    assert!(!page.text().contains("name=\"typed[value]\""), "{page:?}");
    let page = service.show(&named.with("typed[currency]", "JPY").path()).await.expect(400);
    assert!(page.text().contains("id=\"currency-error\""), "{page:?}");
}

#[tokio::test]
async fn a_signed_link_cannot_be_changed() {
    let (service, merchant) = customer().await;
    let secret = merchant.link_secret().await;
    let link = Link::to(&merchant)
        .with("reference", "a&b=ü ~")
        .with("redirect", "https://shop.example")
        .with("recurring", "y");
    let signed = link.clone().sign(&secret).await;
    let form = service.open(&signed).await;
    let _ = service.show(&form).await.expect(200);
    for changed in [
        signed.clone().with("value", "9.94"),
        signed.clone().with("reference", "other"),
        signed.clone().with("text", "x"),
        signed.clone().with("locale", "da"),
        signed.clone().without("recurring"),
        link.clone().sign("another secret").await,
    ] {
        refused(&service.show(&changed.path()).await, "signature");
        refused(&service.send_card(&changed.path(), Card::VISA).await, "signature");
    }
    for open in ["currency", "value"] {
        let open = link.clone().without(open).sign(&secret).await;
        refused(&service.show(&open.path()).await, "signature");
    }
    // A new secret ends the links of the old one.
    let _ = merchant.link_secret().await;
    refused(&service.show(&signed.path()).await, "signature");
    assert!(merchant.list("/transactions?limit=1").await.is_empty());
}

#[tokio::test]
async fn an_expired_link_starts_no_payment() {
    let (service, merchant) = customer().await;
    let secret = merchant.link_secret().await;
    let later = Link::to(&merchant).with("expires", "4102444800").sign(&secret).await;
    let (form, page) = service.pay_at(&later, Card::VISA).await;
    assert!(page.expect(200).text().contains("Payment successful"), "{form}");
    let unused = service.open(&later).await;
    let past = Link::to(&merchant).with("expires", "1700000000").sign(&secret).await;
    let form = past.clone().with("form", unused.split("&form=").nth(1).unwrap());
    for page in
        [service.show(&past.path()).await, service.send_card(&form.path(), Card::VISA).await]
    {
        assert_eq!(page.status, 410, "{page:?}");
    }
    let page = service.show(&past.path()).await;
    assert!(page.text().contains("This payment link has expired"), "{page:?}");
    assert_eq!(merchant.list("/transactions?limit=10").await.len(), 1);
}

#[tokio::test]
async fn a_link_with_once_pays_once_and_a_decline_does_not_count() {
    let service = Service::with(&[]).await;
    let merchant = service.merchant().await;
    let secret = merchant.link_secret().await;
    let link = Link::to(&merchant).with("reference", "5011").with("once", "y").sign(&secret).await;
    let other = service.open(&link).await;
    let (_, page) = service.pay_at(&link, Card::DECLINED).await;
    assert!(page.expect(200).text().contains("data-group=\"bank\""));
    let (form, page) = service.pay_at(&link, Card::CHALLENGED[0].0).await;
    assert!(page.expect(200).text().contains("action=\"challenge?"));
    // Nobody else pays while the customer answers the bank.
    let is_used = |page: &Answer| page.status == 410 && page.text().contains("This link was used");
    assert!(is_used(&service.send_card(&other, Card::VISA).await));
    let challenge = form.replace("/?", "/challenge?");
    let _ = service.send_form(&challenge, "answer=cancel").await.expect(303);
    let (form, page) = service.pay_at(&link, Card::VISA).await;
    assert!(page.expect(200).text().contains("Payment successful"));
    for path in [link.path(), other.clone()] {
        assert!(is_used(&service.show(&path).await), "{path}");
    }
    assert!(is_used(&service.send_card(&other, Card::VISA).await));
    let _ = service.show(&form).await.expect(200);
    let next = Link::to(&merchant).with("reference", "5012").with("once", "y");
    let _ = service.open(&next.sign(&secret).await).await;
    let made = merchant.list("/transactions?limit=10").await;
    let paid = made.iter().filter(|made| made["successful"] == true).count();
    assert_eq!((made.len(), paid), (3, 1));
    service.data().agrees().await;
}

#[tokio::test]
async fn a_repeated_request_returns_the_current_link_secret() {
    let (_service, merchant) = customer().await;
    let path = merchant.path("/link-secret");
    let first = merchant.app.post_once("key", &path, &serde_json::json!({})).await.expect(201);
    let repeat = merchant.app.post_once("key", &path, &serde_json::json!({})).await.expect(201);
    assert_eq!(repeat.header("idempotent-replayed"), Some("true"));
    assert_eq!(first.json(), repeat.json());
    let newer = merchant.link_secret().await;
    assert_ne!(first.json()["linkSecret"], newer);
    let repeat = merchant.app.post_once("key", &path, &serde_json::json!({})).await.expect(201);
    assert_eq!(repeat.json()["linkSecret"], newer);
}
