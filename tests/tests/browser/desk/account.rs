//! The account of a user: an authenticator and recovery codes.

use blackbox::{
    authenticator::Authenticator, axe, browser::visit, mail::MailServer, payments::minimal,
};

use super::{LANGUAGES, link_for, looks_right, start};

#[tokio::test]
async fn a_user_sets_an_authenticator_up() {
    let server = MailServer::start().await;
    let (service, desk) = start(&server).await;
    let ann = "fine-ann@a-shop-with-a-long-name.example";
    let merchant = service.app().await.merchant_with(&minimal()).await;
    assert!(!merchant.invite(ann).await);
    let axe = axe::script();
    for language in LANGUAGES {
        visit(&format!("{desk}/"), async |page| {
            page.speaks(language).await;
            page.go(&link_for(&service, &desk, ann).await).await;
            page.click("button").await;
            page.until("$('.merchants')").await;
            page.click(".top a[href='/account']").await;
            page.until("$('.history')").await;
            looks_right(page, &axe, language).await;
            page.click("main form button").await;
            page.until("$('.qr svg')").await;
            looks_right(page, &axe, language).await;
            let app = Authenticator::new(&page.text("main code").await);
            let enter = async |code: &str, shown: &str| {
                page.write("#code", code).await;
                page.click("main form button").await;
                page.until(shown).await;
                looks_right(page, &axe, language).await;
            };
            enter("123", "$('[aria-invalid]')").await;
            enter(&app.code(0), "$('.codes')").await;
            let code = page.text(".codes code").await;
            page.click("main a.button").await;
            page.until("$('a[href$=remove]')").await;
            looks_right(page, &axe, language).await;
            page.click(".top button").await;
            page.until("$('#email')").await;

            page.go(&link_for(&service, &desk, ann).await).await;
            page.click("button").await;
            page.until("$('#code')").await;
            looks_right(page, &axe, language).await;
            enter("123", "$('[aria-invalid]')").await;
            enter(&code, "$('.merchants')").await;
            page.click(".top a[href='/account']").await;
            page.click("a[href$=remove]").await;
            page.until("$('button[autofocus]')").await;
            looks_right(page, &axe, language).await;
            page.click("main form button").await;
            page.until("$('form[action$=authenticator]')").await;
            page.click(".top button").await;
            page.until("$('#email')").await;
        })
        .await;
    }
}
