//! A bookkeeper's day, with the keyboard only.

use blackbox::{
    authenticator::Authenticator,
    browser::{Page, visit},
    mail::MailServer,
    payments::{Acquirer, Card, Receiver, Webhook, minimal},
};
use fantoccini::key::Key;
use serde_json::json;

use super::{link, pay_out, start_with};
use crate::keyboard::tab_to;

/// Moves to a link or a button with Tab, and presses Enter.
async fn press(page: &Page, selector: &str) {
    tab_to(page, selector).await;
    page.press(Key::Enter.into()).await;
}

/// Moves to a field with Tab, and types.
async fn fill(page: &Page, selector: &str, text: &str) {
    tab_to(page, selector).await;
    for letter in text.chars() {
        page.press(letter).await;
    }
}

#[tokio::test]
async fn seven_tasks_need_no_mouse_and_no_script() {
    let (server, receiver) = (MailServer::start().await, Receiver::new().await);
    let settings = [receiver.trust(), ("PAYMENTS_WEBHOOK_NETWORKS", "127.0.0.0/8")];
    let (service, desk) = start_with(&server, &settings).await;
    let mut body = minimal();
    body["name"] = "A shop".into();
    body["test"] = true.into();
    body["bank"] = json!({ "iban": "DK5000400440116243" });
    let app = service.app().await;
    let _webhook = Webhook::at(&app, &receiver).await;
    let merchant = app.merchant_with(&body).await;
    let mut order = merchant.payment(Card::VISA, "EUR", 250_000);
    order["custom"] = json!({ "reference": "Order 5011" });
    let paid = merchant.transaction(&merchant.charge(&order).await.expect(201));
    paid.capture(250_000).await;
    merchant.fail(700).await;
    Acquirer(&service).open(&paid, 300).await;
    pay_out(service.data()).await;
    let ann = "ann@shop.example";
    assert!(!merchant.invite(ann).await);
    let mail = server.received(ann, 1).await.remove(0);
    visit(&format!("{desk}{}", link(&mail).unwrap()), async |page| {
        // Sign in after the invitation, and set an authenticator up.
        press(page, "main form button").await;
        page.until("$('.merchants')").await;
        press(page, ".merchants a").await;
        page.until("$('.plot')").await;

        // Find a payment by its reference, refund a part, and see why another one failed.
        press(page, ".sections a[href$=payments]").await;
        page.until("$('.search')").await;
        fill(page, "#reference", "Order 5011").await;
        page.press(Key::Enter.into()).await;
        page.until("document.querySelectorAll('.payments a').length === 1").await;
        press(page, ".payments a").await;
        page.until("$('.history')").await;
        press(page, ".actions a[href$=refund]").await;
        press(page, "main form button").await;
        page.until("$('.qr svg')").await;
        let authenticator = Authenticator::new(&page.text("main code").await);
        fill(page, "#code", &authenticator.code(0)).await;
        page.press(Key::Enter.into()).await;
        page.until("$('.codes')").await;
        press(page, "main a.button").await;
        page.until("$('#amount')").await;
        fill(page, "#amount", "10").await;
        page.press(Key::Enter.into()).await;
        page.until("$('[name=steps]')").await;
        press(page, "main form button").await;
        page.until("$('.done')").await;
        press(page, ".sections a[href$=payments]").await;
        page.until("document.querySelectorAll('.payments a').length === 2").await;
        press(page, ".payments li:first-child a").await;
        page.until("$('.history .booked')").await;

        // The balance, what is in a payout, and the statement of a month. Enter would load the files.
        press(page, ".sections a[href$=balance]").await;
        page.until("$('form[action$=\"balance.csv\"]')").await;
        tab_to(page, "form[action$=\"balance.csv\"] button").await;
        press(page, "a[href*=\"/balance/payouts/\"]").await;
        page.until("$('a[href$=\"lines.csv\"]')").await;
        tab_to(page, "a[href$=\"lines.csv\"]").await;

        // Answer a dispute.
        press(page, ".sections a[href$=disputes]").await;
        page.until("$('.payments a')").await;
        press(page, ".payments a").await;
        page.until("$('textarea')").await;
        fill(page, "textarea", "Signed.").await;
        press(page, "main form button").await;
        page.until("$('.actions a[href$=submit]')").await;
        press(page, ".actions a[href$=submit]").await;
        press(page, "main form button").await;
        page.until("!$('textarea') && $('.said')").await;

        // Rotate a key, look at the deliveries of a webhook, and send events again.
        press(page, ".sections a[href$=developers]").await;
        page.until("$('.rows a')").await;
        press(page, ".rows a").await;
        page.until("$('form[action$=keys]')").await;
        fill(page, "form[action$=keys] input[name=name]", "Shop").await;
        page.press(Key::Enter.into()).await;
        page.until("$('.secret')").await;
        press(page, "main a.button").await;
        page.until("document.querySelectorAll('a[href$=revoke]').length === 2").await;
        press(page, "a[href$=revoke]").await;
        page.until("location.pathname.endsWith('revoke')").await;
        press(page, "main form button").await;
        page.until("document.querySelectorAll('a[href$=revoke]').length === 1").await;
        press(page, "a[href*=\"/webhooks/\"]").await;
        page.until("$('form[action$=replay]') && $('.rows li')").await;
        let before = receiver.received().len();
        let today = "const [year, month, day] = new Date().toISOString().slice(0, 10).split('-');
            return month + day + year";
        fill(page, "#from", page.run(today).await.as_str().unwrap()).await;
        press(page, "form[action$=replay] button").await;
        receiver.until(|received| received.len() > before).await;
    })
    .await;
    service.stop().await.agrees().await;
}
