//! The field for the payer's address, and the receipt that the link of the mail opens.

use blackbox::{
    axe,
    browser::visit,
    mail::MailServer,
    payments::{Card, Link, Service, Stopped, email, next},
};
use serde_json::json;

use super::{
    address, comes_out, pay,
    screen::{SCREENS, is_laid_out},
};

async fn start(server: &MailServer) -> Service {
    let place = Stopped::new(&[("PAYMENTS_RECEIPTS", "true")]);
    let place = place.with("PAYMENTS_SMTP_URL", &server.url());
    let place = place.with("PAYMENTS_MAIL_FROM", "payments@service.example");
    place.with("PAYMENTS_DESK_KEY", &"0f".repeat(32)).start().await
}

#[tokio::test]
async fn axe_finds_nothing_in_the_field_and_in_the_receipt() {
    let server = MailServer::start().await;
    let service = start(&server).await;
    let (merchant, payer) = (service.merchant().await, email());
    let form = service.open(&Link::to(&merchant).with("reference", "5011")).await;
    let body = format!("number={}&expiry=02+%2F+48&code=739&email={payer}", Card::VISA.0);
    let _ = next(&service.send_form(&form, &body).await);
    let receipt = server.link_to(&payer).await;
    let axe = axe::script();
    visit(&receipt, async |page| {
        for (width, scheme) in SCREENS {
            page.show_on(width, scheme).await;
            let label = format!("receipt without refunds, {width}, {scheme}");
            is_laid_out(page, &label).await;
            axe::finds_nothing(&axe, page, &label).await;
        }
    })
    .await;
    let made = merchant.list("/transactions?limit=1").await.remove(0);
    for action in ["capture", "refund"] {
        let path = format!("/transactions/{}/{action}s", made["id"].as_str().unwrap());
        let _ = merchant.app.post(&path, &json!({ "amount": 400 })).await.expect(201);
    }
    visit(&address(&service, &Link::to(&merchant)), async |page| {
        for (width, scheme) in SCREENS {
            page.show_on(width, scheme).await;
            let check = async |state: &str| {
                let state = format!("{state}, {width}, {scheme}");
                is_laid_out(page, &state).await;
                axe::finds_nothing(&axe, page, &state).await;
            };
            page.go(&address(&service, &Link::to(&merchant))).await;
            page.write("#email", "ann").await;
            pay(page, Card::VISA).await;
            page.until("!$('#email-error').hidden").await;
            assert_eq!(page.run("return document.activeElement.id").await, "email");
            check("wrong address").await;
            page.go(&receipt).await;
            check("receipt").await;
        }
        let shown = page.text("main").await;
        for part in ["Receipt", "€9.95", "5011", "Refunded", "€4.00", "0000"] {
            assert!(shown.contains(part), "{part} is missing: {shown}");
        }
    })
    .await;
}

#[tokio::test]
async fn without_javascript_a_wrong_address_is_shown_and_corrected() {
    let server = MailServer::start().await;
    let service = start(&server).await;
    let (merchant, payer) = (service.merchant().await, email());
    visit(&address(&service, &Link::to(&merchant)), async |page| {
        page.without_scripts().await;
        page.go(&address(&service, &Link::to(&merchant))).await;
        page.write("#email", "ann").await;
        pay(page, Card::VISA).await;
        page.until("$('#email').getAttribute('aria-invalid')").await;
        assert_eq!(page.run("return $('#email').value").await, "ann");
        page.run("$('#email').value = ''").await;
        page.write("#email", &payer).await;
        pay(page, Card::VISA).await;
        comes_out(page, None).await;
    })
    .await;
    visit(&server.link_to(&payer).await, async |page| {
        assert_eq!(page.text("h1").await, "Receipt");
    })
    .await;
}
