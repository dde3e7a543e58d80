//! The pages in place of a payment, and those for another browser than the one that paid.

use blackbox::{
    axe,
    browser::visit,
    payments::{Card, Link, Service, next},
    process,
};

use super::{
    address, pay,
    screen::{SCREENS, is_laid_out},
};

#[tokio::test]
async fn axe_finds_nothing_where_no_payment_is_possible() {
    let service = Service::with(&[]).await;
    let (merchant, held) = (service.merchant().await, service.merchant().await);
    let secret = merchant.link_secret().await;
    let link = Link::to(&merchant).with("locale", "fi").with("redirect", "https://shop.example/");
    let expired = link.clone().with("expires", "1700000000").sign(&secret).await;
    let once = link.clone().with("once", "y").sign(&secret).await;
    let paid = service.open(&once).await;
    let _ = next(&service.send_card(&paid, Card::VISA).await);
    let mut hold = service.data().command();
    hold.args(["hold", &held.id, "--reason", "stolen cards"]);
    assert!(process::run(hold).await.status.success());
    let pages = [
        ("expired", address(&service, &expired)),
        ("used", address(&service, &once)),
        ("form of another browser", format!("{}{paid}", service.pos_url())),
        ("changed", address(&service, &once.with("value", "1"))),
        ("held", address(&service, &Link::to(&held).with("locale", "fi"))),
        ("missing", address(&service, &link).replace("/?", "/pay?")),
        ("missing, without a shop", format!("{}/pay?locale=fi", service.pos_url())),
        ("changed receipt", format!("{}/receipt?link=0", service.pos_url())),
    ];
    let axe = axe::script();
    visit(&pages[0].1, async |page| {
        for (width, scheme) in SCREENS {
            page.show_on(width, scheme).await;
            for (name, url) in &pages {
                page.go(url).await;
                let label = format!("{name}, {width}, {scheme}");
                assert_eq!(page.run("return Boolean($('.failed h1'))").await, true, "{label}");
                is_laid_out(page, &label).await;
                axe::finds_nothing(&axe, page, &label).await;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn axe_finds_nothing_in_the_errors_of_a_form_without_scripts() {
    let (service, merchant) = super::customer().await;
    let form = address(&service, &Link::to(&merchant).with("locale", "fi"));
    let axe = axe::script();
    visit(&form, async |page| {
        for (width, scheme) in SCREENS {
            page.show_on(width, scheme).await;
            page.go(&form).await;
            page.write("#number", "4100").await;
            page.write("#expiry", "0220").await;
            page.write("#code", "73").await;
            // Bypasses the handlers of the script.
            page.run("HTMLFormElement.prototype.submit.call($('#card'))").await;
            page.until("$('#errors').children[0]?.children.length === 3").await;
            let label = format!("{width}, {scheme}");
            is_laid_out(page, &label).await;
            axe::finds_nothing(&axe, page, &label).await;
        }
        pay(page, Card::VISA).await;
        page.until("$('.paid')").await;
    })
    .await;
}
