//! Payment links: each parameter of the URL.

use blackbox::{
    http::Answer,
    payments::{Link, Merchant, Service, minimal, next},
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
        ("recurring", &["x", "", "2"]),
        ("form", &["x", "1", "4b1f0a4e-6f0f-4d53-9f0c-0d6f8c2a9b1"]),
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
    let (service, test) = customer().await;
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
        "\u{202e}desrever\u{202c} \u{200b}",
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
    for typed in ["0", "ten", "9.999", "-5", "1.000,00", "99999999999"] {
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
    let wrong = both.with("typed[value]", "9.95").with("typed[currency]", "euro");
    let page = service.show(&wrong.path()).await.expect(400);
    assert!(page.text().contains("id=\"currency-error\""), "{page:?}");
    assert!(!page.text().contains("id=\"value-error\""), "{page:?}");

    let named = Link::to(&merchant).without("currency");
    let page = service.show(&named.path()).await.expect(200);
    assert!(!page.text().contains("name=\"typed[value]\""), "{page:?}");
    let page = service.show(&named.with("typed[currency]", "JPY").path()).await.expect(400);
    assert!(page.text().contains("id=\"currency-error\""), "{page:?}");
}
