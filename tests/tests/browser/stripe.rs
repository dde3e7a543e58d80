//! Cards that customers type into the field of Stripe's script. The stand-in serves one, too.

use blackbox::{
    axe,
    browser::{Page, visit_and_leave},
    mail::MailServer,
    payments::{
        Card, Link, Merchant, Service, Stripe, Transaction, email, live_merchant, stripe::Request,
    },
};
use serde_json::json;

const GOOD: Card = Card("4242424242424242");

async fn shop() -> (Stripe, Service, Merchant, String) {
    shop_with(&[]).await
}

async fn shop_with(more: &[(&str, &str)]) -> (Stripe, Service, Merchant, String) {
    let stripe = Stripe::start().await;
    let script = format!("{}/js.stripe.com/v3/", stripe.url);
    let settings =
        [("PAYMENTS_STRIPE_PUBLISHABLE_KEY", "pk_test"), ("PAYMENTS_STRIPE_SCRIPT_URL", &script)];
    let service = stripe.service(&[&settings, more].concat()).await;
    let merchant = live_merchant(&service.app().await).await;
    let link = Link::to(&merchant).without("test").with("recurring", "y");
    let address = format!("{}{}", service.pos_url(), link.path());
    (stripe, service, merchant, address)
}

/// Types a card into the fields of the script, and submits the form.
async fn pay(page: &Page, number: &str) {
    page.until("$('#element input')").await;
    let fields = [("number", number), ("exp_month", "02"), ("exp_year", "48"), ("cvc", "739")];
    for (name, value) in fields {
        page.write(&format!("#element input[placeholder={name}]"), value).await;
    }
    page.click("button").await;
}

/// The requests that contain the card number.
fn with_number(stripe: &Stripe) -> Vec<Request> {
    let requests = stripe.requests("POST", "/v1/").into_iter();
    requests.filter(|request| format!("{request:?}").contains(GOOD.0)).collect()
}

#[tokio::test]
async fn only_the_script_of_stripe_sees_the_card_number() {
    let (stripe, service, merchant, address) = shop().await;
    visit_and_leave(&address, &[&stripe.url], async |page| {
        pay(page, GOOD.0).await;
        page.until("$('.paid')").await;
        assert!(page.text("dl").await.contains("4242"));
    })
    .await;
    let made = merchant.list("/transactions?limit=10").await;
    assert_eq!(made.len(), 1, "{made:?}");
    assert_eq!(
        made[0]["card"],
        json!({
            "bin": null,
            "last4": "4242",
            "expiry": "2048-02-29T23:59:59.999Z",
            "scheme": "visa",
            "code": { "present": true },
        })
    );
    let seen = with_number(&stripe);
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert_eq!((seen[0].path.as_str(), &seen[0].authorization), ("/v1/payment_methods", &None));

    let id = made[0]["id"].as_str().unwrap().to_owned();
    let transaction = Transaction { app: merchant.app.clone(), id };
    transaction.capture(995).await;
    merchant.repeat(&transaction, 100).await;

    // Forms and requests with a card number are refused.
    let form = service.open(&Link::to(&merchant).without("test")).await;
    let page = service.send_card(&form, GOOD).await.expect(400);
    assert!(page.text().contains("id=\"element\""), "{page:?}");
    let unknown = service.send_form(&form, "paymentMethod=pm_unknown").await.expect(400);
    assert!(unknown.text().contains("id=\"element\""), "{unknown:?}");
    let body = merchant.payment(GOOD, "EUR", 995);
    let refused = merchant.charge(&body).await.expect(400);
    assert_eq!(refused.json()[0]["field"], "card");
    let body = json!({ "key": merchant.key, "card": GOOD.details() });
    assert_eq!(service.pay("/cards", &body).await.expect(400).json()[0]["field"], "card");
    assert_eq!(with_number(&stripe).len(), 1);
}

#[tokio::test]
async fn a_wrong_card_can_be_corrected() {
    let (stripe, _service, merchant, address) = shop().await;
    visit_and_leave(&address, &[&stripe.url], async |page| {
        pay(page, "42").await;
        page.until("$('#errors').textContent").await;
        axe::finds_nothing(&axe::script(), page, "a wrong card").await;
        assert_eq!(page.run("return $('button').disabled").await, false);
        page.run("document.querySelectorAll('#element input').forEach((it) => it.value = '')")
            .await;
        pay(page, "4000000000000341").await;
        page.until("$('.failed')?.dataset.group === 'bank'").await;
    })
    .await;
    assert_eq!(merchant.list("/transactions?limit=10").await.len(), 1);
}

#[tokio::test]
async fn without_javascript_the_page_says_what_is_missing() {
    let (stripe, _service, _merchant, address) = shop().await;
    visit_and_leave(&address, &[&stripe.url], async |page| {
        page.without_scripts().await;
        page.go(&address).await;
        assert!(page.text("noscript").await.contains("JavaScript"));
    })
    .await;
}

#[tokio::test]
async fn test_merchants_keep_the_fields_of_the_page() {
    let (_stripe, service, merchant, _) = shop().await;
    let test = merchant.app.merchant("EUR").await;
    let address = format!("{}{}", service.pos_url(), Link::to(&test).path());
    let page = service.show(&service.open(&Link::to(&test)).await).await.expect(200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(!policy.contains("http"), "{policy}");
    assert!(page.text().contains("id=\"number\""), "{address}: {page:?}");
}

#[tokio::test]
async fn the_policy_allows_only_the_origins_of_stripe() {
    let (stripe, service, merchant, _) = shop().await;
    let form = service.open(&Link::to(&merchant).without("test")).await;
    let page = service.show(&form).await.expect(200);
    let origin = &stripe.url;
    let expected = format!(
        "default-src 'none'; style-src 'self'; script-src 'self' {origin}; img-src 'self' data:; \
         connect-src 'self' {origin}; frame-src {origin}; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'"
    );
    assert_eq!(page.header("content-security-policy"), Some(expected.as_str()));
}

#[tokio::test]
async fn a_payer_gets_a_receipt_with_the_field_of_stripe() {
    let (server, payer) = (MailServer::start().await, email());
    let (url, key) = (server.url(), "0f".repeat(32));
    let (stripe, _service, _merchant, address) = shop_with(&[
        ("PAYMENTS_SMTP_URL", &url),
        ("PAYMENTS_MAIL_FROM", "payments@service.example"),
        ("PAYMENTS_DESK_KEY", &key),
        ("PAYMENTS_RECEIPTS", "true"),
    ])
    .await;
    visit_and_leave(&address, &[&stripe.url], async |page| {
        page.write("#email", "ann").await;
        pay(page, GOOD.0).await;
        assert_eq!(page.run("return $('#email').matches(':invalid')").await, true);
        assert!(with_number(&stripe).is_empty());
        page.run("$('#email').value = ''").await;
        page.write("#email", &payer).await;
        page.click("button").await;
        page.until("$('.paid')").await;
    })
    .await;
    assert!(server.link_to(&payer).await.contains("/receipt?link="));
}
