//! The payment page without a browser: its content, its single payment per form, and its headers.

use std::collections::BTreeSet;

use blackbox::{
    http::Answer,
    payments::{Card, EXPIRY, Link, Merchant, Service, UNREACHABLE, group_of, minimal, next},
    process::DEADLINE,
};
use futures_util::future::join_all;
use jiff::{SignedDuration, Timestamp};
use reqwest::{Method, Url};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use uuid::{NoContext, Timestamp as UuidTime, Uuid};

async fn customer() -> (Service, Merchant) {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    (service, merchant)
}

async fn only(merchant: &Merchant) -> Value {
    let mut made = merchant.list("/transactions?limit=10").await;
    assert_eq!(made.len(), 1, "{made:?}");
    made.remove(0)
}

/// The group of the decline on the page. `None` if the payment succeeded.
#[track_caller]
fn group(page: &Answer) -> Option<&str> {
    assert!(!page.text().contains("data-code"), "{page:?}");
    let (_, rest) = page.text().split_once("data-group=\"")?;
    rest.split('"').next()
}

#[tokio::test]
async fn paying_with_a_good_card_creates_a_transaction() {
    let (service, merchant) = customer().await;
    let link = Link::to(&merchant).with("text", "Two mugs").with("reference", "5011");
    let form = service.open(&link).await;
    let page = service.show(&form).await.expect(200);
    for shown in ["https://shop.example", "€9.95", "Two mugs", "name=\"number\""] {
        assert!(page.text().contains(shown), "{shown} is missing: {page:?}");
    }
    assert!(!page.text().contains("5011\""), "{page:?}");
    assert_eq!(next(&service.send_card(&form, Card::VISA).await), form);
    let page = service.show(&form).await.expect(200);
    let paid = only(&merchant).await;
    assert!(page.text().contains(paid["id"].as_str().unwrap()), "{page:?}");
    assert_eq!((group(&page), &paid["successful"]), (None, &json!(true)));
    assert_eq!((&paid["amount"], &paid["currency"]), (&json!(995), &json!("EUR")));
    assert_eq!(paid["custom"], json!({ "text": "Two mugs", "reference": "5011" }));
    assert_eq!((&paid["descriptor"], &paid["recurring"]), (&json!("Corner shop"), &json!(false)));
    assert_eq!((&paid["card"]["expiry"], &paid["tds"]), (&json!(EXPIRY), &json!("none")));
}

#[tokio::test]
async fn a_decline_shows_its_group_and_allows_another_try() {
    let (service, merchant) = customer().await;
    let link = Link::to(&merchant);
    let mut texts = BTreeSet::new();
    for (card, expected) in Card::BAD.into_iter().filter(|(_, code)| *code != 30) {
        let (form, page) = service.pay_at(&link, card).await;
        let page = page.expect(200);
        assert_eq!(group(&page), Some(group_of(expected)), "{card:?}");
        let reason = page.text().split("</h1>").nth(1).unwrap().split("</p>").next().unwrap();
        texts.insert(reason.trim().to_owned());
        let again = format!("href=\".{}\"", link.path().replace('&', "&#38;"));
        assert!(page.text().contains(&again), "{again} is missing: {page:?}");
        assert_ne!(service.open(&link).await, form);
    }
    assert_eq!(texts.len(), 6, "{texts:?}");
    let failed = merchant.list("/transactions?limit=100&filter[successful]=no").await;
    assert_eq!(failed.len(), Card::BAD.len() - 2);
}

#[tokio::test]
async fn a_form_pays_once_however_often_it_is_sent() {
    let service = Service::with(&[("PAYMENTS_SANDBOX_DELAY", "500ms")]).await;
    let merchant = service.merchant().await;
    let form = service.open(&Link::to(&merchant)).await;
    let cards = [Card::VISA, Card::VISA, Card::MASTERCARD, Card::DECLINED, Card::VISA];
    let sent = join_all(cards.map(|card| service.send_card(&form, card))).await;
    assert!(sent.iter().all(|answer| next(answer) == form), "{sent:?}");
    let page = settled(&service, &form).await;
    let made = only(&merchant).await;
    assert!(page.text().contains(made["id"].as_str().unwrap()), "{page:?}");
    assert_eq!(next(&service.send_card(&form, Card::VISA).await), form);
    assert_eq!(only(&merchant).await, made);
}

/// Waits until the page of a form shows the outcome of the payment.
async fn settled(service: &Service, form: &str) -> Answer {
    let settled = async {
        loop {
            let page = service.show(form).await;
            if !page.text().contains("http-equiv=\"refresh\"") {
                return page;
            }
            sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    timeout(DEADLINE, settled).await.unwrap()
}

#[tokio::test]
async fn an_unanswered_payment_is_pending_and_then_failed() {
    let settings = [("PAYMENTS_SANDBOX_DELAY", "1h"), ("PAYMENTS_ACQUIRER_TIMEOUT", "500ms")];
    let service = Service::with(&settings).await;
    let merchant = service.merchant().await;
    let (form, page) = service.pay_at(&Link::to(&merchant), Card::VISA).await;
    assert!(page.expect(200).text().contains("http-equiv=\"refresh\""));
    assert_eq!(group(&settled(&service, &form).await), Some("again"));
    assert_eq!(only(&merchant).await["error"]["code"], 12);
    service.process().logged(|line| line.contains("did not answer in time")).await;
}

#[tokio::test]
async fn a_form_belongs_to_one_link() {
    let (service, merchant) = customer().await;
    let link = Link::to(&merchant);
    let (form, _) = service.pay_at(&link, Card::VISA).await;
    let token = form.split("&form=").nth(1).unwrap();
    for other in [
        link.clone().with("value", "9.96"),
        link.clone().with("currency", "DKK"),
        link.clone().with("text", "x"),
        link.clone().with("redirect", "https://shop.example"),
    ] {
        let other = other.with("form", token).path();
        for answer in [service.show(&other).await, service.send_card(&other, Card::VISA).await] {
            assert!(answer.expect(410).text().contains("This link was used"));
        }
    }
    let translated = link.with("locale", "da").with("form", token).path();
    let page = service.show(&translated).await.expect(200);
    assert!(page.text().contains("Betalingen er gennemført"), "{page:?}");
    let stranger = merchant.app.merchant("EUR").await;
    let unknown = Link::to(&stranger).with("form", token).path();
    assert!(service.show(&unknown).await.expect(200).text().contains("name=\"number\""));
    let _ = only(&merchant).await;
}

#[tokio::test]
async fn an_old_form_says_so_and_keeps_nothing() {
    let (service, merchant) = customer().await;
    let link = Link::to(&merchant);
    let retry = format!("href=\".{}\"", link.path().replace('&', "&#38;"));
    // After two days, the service has forgotten whether the form has paid.
    for (hours, is_unpaid) in [(25, true), (47, true), (49, false), (9999, false)] {
        let made = Timestamp::now() - SignedDuration::from_hours(hours);
        let made = u64::try_from(made.as_second()).unwrap();
        let form = Uuid::new_v7(UuidTime::from_unix(NoContext, made, 0)).to_string();
        let old = link.clone().with("form", &form).path();
        for page in [service.show(&old).await, service.send_card(&old, Card::VISA).await] {
            let page = page.expect(410);
            assert!(page.text().contains("This page is too old"), "{page:?}");
            for shown in ["You were not charged", &retry] {
                assert_eq!(page.text().contains(shown), is_unpaid, "{shown}: {page:?}");
            }
            assert!(!page.text().contains(Card::VISA.last4()), "{page:?}");
        }
    }
    assert_eq!(next(&service.send_card(&link.path(), Card::VISA).await), link.path());
    assert!(merchant.list("/transactions?limit=1").await.is_empty());
}

#[tokio::test]
async fn forms_of_the_future_and_of_others_are_refused() {
    let (service, merchant) = customer().await;
    for foreign in ["4b1f0a4e-6f0f-4d53-9f0c-0d6f8c2a9b11", "02f2a0c0-0000-7000-8000-000000000000"]
    {
        let at = Link::to(&merchant).with("form", foreign).path();
        for page in [service.show(&at).await, service.send_card(&at, Card::VISA).await] {
            assert!(page.expect(400).text().contains("<code>form</code>"), "{foreign}");
        }
    }
    assert!(merchant.list("/transactions?limit=1").await.is_empty());
}

const STRANGER: &str = "browser=9b0f7c1e-7d0a-4a53-9d0c-3c5f8c2a9b11";

#[tokio::test]
async fn a_stranger_sees_nothing_of_a_payment() {
    let (service, merchant) = customer().await;
    let link = Link::to(&merchant).with("reference", "5011");
    for card in [Card::VISA, Card::DECLINED, Card::CHALLENGED[0].0] {
        let (form, own) = service.pay_at(&link, card).await;
        assert!(own.expect(200).text().contains(card.last4()), "{card:?}");
        let challenge = form.replace("/?", "/challenge?");
        for cookies in [STRANGER, ""] {
            let stranger = service.in_browser(cookies);
            for page in [
                stranger.show(&form).await,
                stranger.show(&format!("{form}&continue=y")).await,
                stranger.send_card(&form, Card::VISA).await,
                seen(&stranger, stranger.send_form(&challenge, "answer=confirm").await).await,
                seen(&stranger, stranger.show(&challenge).await).await,
            ] {
                let text = page.text();
                assert_eq!(page.status, 410, "{page:?}");
                assert!(text.contains("This link was used"), "{page:?}");
                assert!(text.contains("Ask the shop for a new one"), "{page:?}");
                for hidden in [card.last4(), "<button", "<form", "Transaction", "5011"] {
                    assert!(!text.contains(hidden), "{hidden}: {page:?}");
                }
            }
        }
    }
    // The stranger has not answered the challenge.
    assert_eq!(merchant.list("/transactions?limit=10").await.len(), 2);
}

/// The page that a browser shows in the end.
async fn seen(service: &Service, answer: Answer) -> Answer {
    if answer.status == 303 { service.show(&next(&answer)).await } else { answer }
}

#[tokio::test]
async fn without_cookies_the_outcome_is_shown_once() {
    let (service, merchant) = customer().await;
    let service = service.in_browser("");
    let link = Link::to(&merchant);
    for (card, answer) in [
        (Card::VISA, None),
        (Card::DECLINED, None),
        (Card::CHALLENGED[0].0, Some("confirm")),
        (Card::CHALLENGED[1].0, Some("cancel")),
    ] {
        let form = service.open(&link).await;
        let secret = hidden(&service.show(&form).await.expect(200));
        let body = format!("number={}&expiry=0248&code=739&browser={secret}", card.0);
        let mut page = service.send_form(&form, &body).await.expect(200);
        if let Some(answer) = answer {
            let body = format!("answer={answer}&browser={}", hidden(&page));
            page = service.send_form(&form.replace("/?", "/challenge?"), &body).await.expect(200);
        }
        let id = merchant.ids("/transactions?limit=1").await.remove(0);
        assert!(page.text().contains(&id), "{page:?}");
        // The same form again shows the same outcome, and pays nothing.
        assert_eq!(service.send_form(&form, &body).await.expect(200).text(), page.text());
        let page = service.show(&form).await.expect(410);
        assert!(page.text().contains("This link was used"), "{page:?}");
    }
    assert_eq!(merchant.list("/transactions?limit=10").await.len(), 4);
}

#[tokio::test]
async fn without_cookies_a_button_asks_for_the_outcome_of_a_pending_payment() {
    let settings = [("PAYMENTS_SANDBOX_DELAY", "1h"), ("PAYMENTS_ACQUIRER_TIMEOUT", "500ms")];
    let service = Service::with(&settings).await;
    let merchant = service.merchant().await;
    let service = service.in_browser("");
    let form = service.open(&Link::to(&merchant)).await;
    let (_, page) = (service.show(&form).await, service.send_card(&form, Card::VISA).await);
    let text = page.text();
    assert!(text.contains("Your payment is being processed"), "{page:?}");
    assert!(text.contains("Check again") && !text.contains("http-equiv=\"refresh\""), "{page:?}");
    let body = format!("browser={}", hidden(&page));
    let failed = async {
        while group(&service.send_form(&form, &body).await) != Some("again") {
            sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    timeout(DEADLINE, failed).await.unwrap();
    let _ = service.show(&form).await.expect(410);
}

/// The secret in the hidden field of a form.
fn hidden(page: &Answer) -> String {
    let (_, rest) = page.text().split_once("name=\"browser\" value=\"").unwrap();
    rest.split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn the_cookie_of_the_page_is_for_the_page_alone() {
    let (service, merchant) = customer().await;
    let answer = service.in_browser("").show(&Link::to(&merchant).path()).await;
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.starts_with("browser="), "{cookie}");
    for part in ["; HttpOnly", "; SameSite=Lax", "; Path=/;", "; Max-Age=172800"] {
        assert!(format!("{cookie};").contains(part), "{part} is missing: {cookie}");
    }
    // A browser that has the cookie keeps it.
    let known = service.in_browser(STRANGER).show(&Link::to(&merchant).path()).await;
    assert!(known.header("set-cookie").unwrap().starts_with(STRANGER), "{known:?}");
}

#[tokio::test]
async fn the_address_of_a_challenge_leads_to_a_page() {
    let (service, merchant) = customer().await;
    let form = service.open(&Link::to(&merchant)).await;
    assert_eq!(next(&service.show(&form.replace("/?", "/challenge?")).await), form);
    for path in ["/challenge", "/challenge?key=x"] {
        let page = service.show(path).await.expect(400);
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    }
}

#[tokio::test]
async fn a_receipt_names_what_was_paid_and_where() {
    let service = Service::with(&[
        ("PAYMENTS_TERMS_URL", "https://shop.example/terms"),
        ("PAYMENTS_PRIVACY_URL", "https://shop.example/privacy?a=b"),
        ("PAYMENTS_ACCESSIBILITY_URL", "https://shop.example/accessibility"),
    ])
    .await;
    let merchant = service.merchant().await;
    let (_, page) =
        service.pay_at(&Link::to(&merchant).with("reference", "5011"), Card::VISA).await;
    let paid = only(&merchant).await;
    let date = &paid["created"].as_str().unwrap()[..10];
    for shown in [
        "<dd>€9.95</dd>",
        "<dd dir=\"auto\">https://shop.example</dd>",
        "Visa •••• 0000",
        "<dd dir=\"auto\">5011</dd>",
        paid["id"].as_str().unwrap(),
        date,
        "mailto:",
        "<a href=\"https://shop.example\"",
        "<a href=\"https://shop.example/terms\"",
        "<a href=\"https://shop.example/privacy?a=b\"",
        "<a href=\"https://shop.example/accessibility\" rel=\"noreferrer\">Accessibility</a>",
    ] {
        assert!(page.text().contains(shown), "{shown} is missing: {page:?}");
    }
    // Pages that name no shop have these links, too.
    let broken = service.show("/?locale=mt").await.expect(400);
    assert!(broken.text().contains(">Aċċessibbiltà</a>"), "{broken:?}");
}

#[tokio::test]
async fn the_title_says_the_step_and_one_heading_has_the_focus() {
    let (service, merchant) = customer().await;
    let link = Link::to(&merchant);
    let form = service.open(&link).await;
    let wrong = service.send_form(&form, "number=1&expiry=0248&code=739").await;
    let (_, challenge) = service.pay_at(&link, Card::CHALLENGED[0].0).await;
    let (_, paid) = service.pay_at(&link, Card::VISA).await;
    let (_, failed) = service.pay_at(&link, Card::DECLINED).await;
    let open = link.clone().without("value");
    let mut titles = BTreeSet::new();
    for (page, title) in [
        (service.show(&open.path()).await, "Amount – https://shop.example"),
        (
            service.show(&open.with("typed[value]", "x").path()).await,
            "Please correct the marked fields. – https://shop.example",
        ),
        (service.show(&form).await, "Payment to https://shop.example"),
        (wrong, "Please correct the marked fields. – Payment to https://shop.example"),
        (challenge, "Confirm the payment – https://shop.example"),
        (paid, "Payment successful – https://shop.example"),
        (failed, "Payment failed – https://shop.example"),
        (service.show("/").await, "This payment link does not work"),
    ] {
        let text = page.text();
        assert!(text.contains(&format!("<title>{title}</title>")), "{title}: {page:?}");
        assert_eq!(text.matches("<h1").count(), 1, "{page:?}");
        assert_eq!(text.matches(" autofocus").count(), 1, "{page:?}");
        titles.insert(title);
    }
    assert_eq!(titles.len(), 8);
}

#[tokio::test]
async fn card_errors_are_shown_beside_fields_without_echoing_input() {
    let (service, merchant) = customer().await;
    let form = service.open(&Link::to(&merchant)).await;
    let right = [("number", "4100 0000 0000 0000"), ("expiry", "02 / 48"), ("code", "739")];
    for (field, values) in [
        ("number", &["", "4100", "x", "410000000000000", "12345678901234567890"][..]),
        ("expiry", &["", "02", "13/48", "02/20", "00/48", "2048-13", "x", "02/048"]),
        ("code", &["", "12", "1234", "12345", "abc"]),
    ] {
        for value in values {
            let typed = right.map(|(name, text)| (name, if name == field { value } else { text }));
            let body = Url::parse_with_params("http://localhost/", typed).unwrap();
            let page = service.send_form(&form, body.query().unwrap()).await.expect(400);
            let html = page.text();
            assert_eq!(html.matches("aria-invalid").count(), 1, "{field}={value}: {html}");
            let error = format!("id=\"{field}-error\" class=\"error\">");
            assert!(html.contains(&error), "{field}={value}: {html}");
            // Only the wrong field has an error text.
            assert_eq!(html.matches("-error\" class=\"error\" hidden></p>").count(), 2, "{html}");
            for typed in ["4100 0000", "41000000", "739"] {
                assert!(!html.contains(typed), "{html}");
            }
            // The date is no secret, and is kept.
            assert_eq!(html.contains("value=\"02 / 48\""), field != "expiry", "{html}");
        }
    }
    for (expiry, text) in [
        ("02/20", "This card has expired. Check the date, or use another card."),
        ("13/48", "Enter the month and year shown on the card"),
    ] {
        let body = format!("number=4100000000000000&expiry={expiry}&code=739");
        let page = service.send_form(&form, &body).await.expect(400);
        let error = format!("id=\"expiry-error\" class=\"error\">{text}");
        assert!(page.text().contains(&error), "{expiry}: {page:?}");
    }
    for body in ["", "number=%FF", "[number]=1"] {
        let page = service.send_form(&form, body).await.expect(400);
        assert_eq!(page.text().matches("aria-invalid").count(), 3, "{page:?}");
    }
    assert!(merchant.list("/transactions?limit=1").await.is_empty());
    assert_eq!(next(&service.send_card(&form, Card::VISA).await), form);
}

#[tokio::test]
async fn an_amount_error_names_the_decimal_places_of_its_currency() {
    let (service, merchant) = customer().await;
    let open = Link::to(&merchant).without("value");
    for (link, text) in [
        (open.clone().with("currency", "JPY"), "in digits, without decimal places."),
        (open.clone().with("currency", "DKK"), "with at most 2 decimal places."),
        (open.clone().without("currency").with("typed[currency]", "bhd"), "at most 3 decimal"),
        (open.without("currency").with("typed[currency]", "x"), "at most 2 decimal places."),
    ] {
        let page = service.show(&link.with("typed[value]", "1.2.3").path()).await.expect(400);
        assert!(page.text().contains(text), "{text} is missing: {page:?}");
    }
}

#[tokio::test]
async fn a_paid_customer_is_redirected_with_the_transaction_id() {
    let (service, merchant) = customer().await;
    for (redirect, before, after) in [
        ("https://shop.example", "https://shop.example/?", ""),
        (
            "http://shop.example:8080/done?order=5&x=a%20b+c#top",
            "http://shop.example:8080/done?order=5&x=a%20b+c&",
            "#top",
        ),
        ("https://shop.example/#/done?x", "https://shop.example/?", "#/done?x"),
        ("https://shop.example/?transactionId=me&a=1", "https://shop.example/?a=1&", ""),
        ("https://bücher.example/ä", "https://xn--bcher-kva.example/%C3%A4?", ""),
    ] {
        let link = Link::to(&merchant).with("redirect", redirect);
        let (form, page) = service.pay_at(&link, Card::VISA).await;
        let id = merchant.ids("/transactions?limit=1").await.remove(0);
        let expected = format!("{before}transactionId={id}{after}").replace('&', "&#38;");
        assert_eq!(service.show(&form).await.text(), page.text());
        let page = page.expect(200);
        let (refresh, button) =
            (format!("content=\"0; url={expected}\""), format!("href=\"{expected}\""));
        // The address of the form does not lead away: the customer may have come back to it.
        assert!(page.text().contains(&button) && !page.text().contains(&refresh), "{page:?}");
        let outcome = service.show(&format!("{form}&continue=y")).await.expect(200);
        assert!(
            outcome.text().contains(&button) && outcome.text().contains(&refresh),
            "{outcome:?}"
        );
    }
    let link = Link::to(&merchant).with("redirect", "https://shop.example/done?a=1");
    let (_, page) = service.pay_at(&link, Card::DECLINED).await;
    let page = page.expect(200);
    assert!(page.text().contains("href=\"https://shop.example/done?a=1\""), "{page:?}");
    assert!(!page.text().contains("http-equiv=\"refresh\""), "{page:?}");
}

#[tokio::test]
async fn every_page_has_headers_that_let_nobody_frame_keep_or_leak_it() {
    let (service, merchant) = customer().await;
    let link = Link::to(&merchant).with("redirect", "https://shop.example:8443/done");
    let (form, challenge) = service.pay_at(&link, Card::CHALLENGED[0].0).await;
    let answered = service.send_form(&form.replace("/?", "/challenge?"), "answer=cancel").await;
    let (paid, _) = service.pay_at(&link, Card::VISA).await;
    for page in [
        service.show("/").await.expect(400),
        service.show(&link.clone().without("value").path()).await.expect(200),
        service.show(&service.open(&link).await).await.expect(200),
        challenge.expect(200),
        service.show(&next(&answered)).await.expect(200),
        service.show(&paid).await.expect(200),
    ] {
        let policy = page.header("content-security-policy").unwrap();
        for part in [
            "default-src 'none';",
            "style-src 'self';",
            "script-src 'self';",
            "img-src 'self' data:;",
            "form-action 'self';",
            "base-uri 'none';",
            "frame-ancestors 'none'",
        ] {
            assert!(policy.contains(part), "{part} is missing: {policy}");
        }
        for (name, value) in [
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("content-type", "text/html; charset=utf-8"),
        ] {
            assert_eq!(page.header(name), Some(value), "{page:?}");
        }
        let shared = page.headers.keys().find(|name| name.as_str().starts_with("access-control"));
        assert_eq!(shared, None, "{page:?}");
        assert!(!page.text().contains("style=") && !page.text().contains("onclick"), "{page:?}");
    }
}

#[tokio::test]
async fn static_files_are_cacheable_under_their_version() {
    let (service, merchant) = customer().await;
    let page = service.show(&service.open(&Link::to(&merchant)).await).await;
    for (file, media) in [("page.css", "text/css"), ("page.js", "text/javascript")] {
        let (_, rest) = page.text().split_once(&format!("\"{file}?v=")).unwrap();
        let version = rest.split('"').next().unwrap();
        let file = service.show(&format!("/{file}?v={version}")).await.expect(200);
        assert_eq!(file.header("cache-control"), Some("public, max-age=31536000, immutable"));
        assert!(file.header("content-type").unwrap().starts_with(media), "{file:?}");
        assert!(version.len() == 12 && !file.text().is_empty(), "{file:?}");
    }
}

#[tokio::test]
async fn the_link_then_the_browser_determines_the_language() {
    let (service, merchant) = customer().await;
    let link = Link::to(&merchant);
    for (locale, accepted, code, amount) in [
        (Some("da"), "de", "da", "9,95\u{a0}€"),
        (Some("fr-CA"), "", "fr", "9,95\u{a0}€"),
        (Some("xx"), "sv, en;q=0.5", "sv", "9,95\u{a0}€"),
        (None, "tlh, is;q=0.9", "is", "9,95\u{a0}EUR"),
        (None, "*", "en", "€9.95"),
    ] {
        let link = locale.map_or(link.clone(), |locale| link.clone().with("locale", locale));
        let form = service.open(&link).await;
        let asked = service.pos(Method::GET, &form).header("accept-language", accepted);
        let page = asked.send_undescribed().await.expect(200);
        assert!(page.text().contains(&format!("<html lang=\"{code}\">")), "{page:?}");
        assert!(page.text().contains(amount), "{page:?}");
    }
    let broken = service.show(&link.with("locale", "pl").with("value", "x").path()).await;
    assert!(broken.expect(400).text().contains("Ten link do płatności nie działa"));
}

#[tokio::test]
async fn the_page_announces_saved_cards_and_test_payments() {
    let service = Service::with(&UNREACHABLE).await;
    let merchant = service.merchant().await;
    let kept = "Your card will be saved";
    let link = Link::to(&merchant);
    for (link, is_told) in [(link.clone().with("recurring", "y"), true), (link, false)] {
        let page = service.show(&service.open(&link).await).await.expect(200);
        assert_eq!(page.text().contains(kept), is_told, "{page:?}");
        assert!(page.text().contains("no money is moved"), "{page:?}");
    }
    let live = merchant.app.merchant_with(&minimal()).await;
    let page = service.show(&service.open(&Link::to(&live).without("test")).await).await;
    assert!(!page.expect(200).text().contains("no money is moved"));
}

#[tokio::test]
async fn invalid_bodies_are_rejected_with_a_page() {
    let (service, merchant) = customer().await;
    let form = service.open(&Link::to(&merchant)).await;
    let request = service.pos(Method::POST, &form).body_of("text/plain", "number=1");
    let hint = "You will not be charged twice";
    assert!(request.send_undescribed().await.expect(415).text().contains(hint));
    let large = format!("number={}", "1".repeat(100 * 1024));
    assert!(service.send_form(&form, &large).await.expect(413).text().contains(hint));
}

#[tokio::test]
async fn pages_are_counted_like_all_requests() {
    let service = Service::with(&[]).await;
    let merchant = service.merchant().await;
    let (form, _) = service.pay_at(&Link::to(&merchant), Card::CHALLENGED[0].0).await;
    let _ = service.send_form(&form.replace("/?", "/challenge?"), "answer=cancel").await;
    let _ = service.show("/").await.expect(400);
    let metrics = service.fetch("/metrics").await.expect(200);
    for (method, route, status) in [
        ("GET", "/", 303),
        ("POST", "/", 303),
        ("GET", "/", 200),
        ("GET", "/", 400),
        ("POST", "/challenge", 303),
    ] {
        let counted = metrics.text().lines().any(|line| {
            line.starts_with("payments_http_requests_total{")
                && line.contains(&format!("method=\"{method}\""))
                && line.contains(&format!("route=\"{route}\""))
                && line.contains(&format!("status=\"{status}\""))
                && line.ends_with("} 1")
        });
        assert!(counted, "{method} {route} {status}: {metrics:?}\n{}", metrics.text());
    }
}
