//! People, keys, webhooks, payment links and the log.

use blackbox::{
    authenticator::Authenticator, axe, browser::visit, mail::MailServer, payments::minimal,
};

use super::{link_for, looks_right, start};

#[tokio::test]
async fn members_work_without_a_program() {
    let server = MailServer::start().await;
    let (service, desk) = start(&server).await;
    let (ann, mut body) = ("ann@a-shop-with-a-long-name.example", minimal());
    body["test"] = true.into();
    let merchant = service.app().await.merchant_with(&body).await;
    merchant.link_secret().await;
    merchant.pay("EUR", 100).await;
    assert!(!merchant.invite(ann).await);
    let axe = axe::script();
    visit(&link_for(&service, &desk, ann).await, async |page| {
        page.click("button").await;
        page.until("$('.merchants')").await;
        page.go(&format!("{desk}/account")).await;
        page.click("main form button").await;
        page.until("$('.qr svg')").await;
        let app = Authenticator::new(&page.text("main code").await);
        page.write("#code", &app.code(0)).await;
        page.click("main form button").await;
        page.until("$('.codes')").await;
        let at = |path: &str| format!("{desk}/merchants/{}{path}", merchant.id);
        for language in ["en", "de", "el"] {
            page.speaks(language).await;
            let shows = async |condition: &str| {
                page.until(condition).await;
                looks_right(page, &axe, &format!("{language}, {condition}")).await;
            };
            page.go(&at("/people")).await;
            page.write("#email", "bob").await;
            page.click("main form[action$=people] button").await;
            shows("$('[aria-invalid]')").await;
            page.run("$('#email').value = ''").await;
            page.write("#email", &format!("bob-{language}@shop.example")).await;
            page.click("main form[action$=people] button").await;
            shows("$('form[action$=renew]')").await;
            page.click("a[href$=revoke]").await;
            shows(
                "$('main h1').textContent.includes('?') || $('main h1').textContent.includes(';')",
            )
            .await;
            page.click("main form button").await;
            page.until("$('.rows')").await;

            page.go(&at("/developers")).await;
            shows("$('.rows a.what')").await;
            page.click(".rows a.what").await;
            shows("$('fieldset')").await;
            page.write("[name=name]", "Server").await;
            page.click("form[action$=keys] button").await;
            shows("$('.secret')").await;
            page.click("main a.button").await;
            page.write("#url", "https://shop.example/events?token=4ac5-91b7-0c8d").await;
            page.click("[value='payout.booked']").await;
            page.click("form[action$=webhooks] button").await;
            shows("$('.secret')").await;
            page.click("main a.button").await;
            shows("$('form[action$=replay]')").await;

            page.go(&at("/links")).await;
            page.click("main form button").await;
            shows("$('[aria-invalid]')").await;
            page.write("#amount", "995").await;
            page.write("#text", "Tea").await;
            page.click("[name=once]").await;
            page.click("main form button").await;
            shows("$('.qr svg')").await;
            page.go(&at("/log")).await;
            shows("$('.log')").await;
        }
    })
    .await;
    service.stop().await.agrees().await;
}
