//! The payment page: paying with a card, from a link to the way back to the shop.

mod screen;

use blackbox::{
    browser::{Page, visit, visit_and_leave},
    payments::{Card, Link, Merchant, Service, group_of},
};
use serde_json::{Value, json};

async fn customer() -> (Service, Merchant) {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    (service, merchant)
}

fn address(service: &Service, link: &Link) -> String {
    format!("{}{}", service.pos_url(), link.path())
}

/// Types a card in and sends it.
async fn pay(page: &Page, card: Card) {
    page.write("#number", card.0).await;
    page.write("#expiry", "0248").await;
    page.write("#code", "739").await;
    page.click("button").await;
}

/// Waits until the page says that this is paid, or why not.
async fn comes_out(page: &Page, code: Option<i64>) {
    match code {
        None => page.until("$('.paid')").await,
        Some(code) => {
            let group = group_of(code);
            page.until(&format!("$('.failed')?.dataset.group === '{group}'")).await;
        }
    }
}

/// What stands in the form.
async fn typed(page: &Page) -> Value {
    page.run("return [$('#number').value, $('#expiry').value, $('#code').value]").await
}

async fn made(merchant: &Merchant) -> usize {
    merchant.list("/transactions?limit=100").await.len()
}

#[tokio::test]
async fn every_card_that_is_good_or_challenged_comes_out_as_the_table_says() {
    let (service, merchant) = customer().await;
    let link = address(&service, &Link::to(&merchant));
    visit(&link, async |page| {
        for (card, _) in Card::GOOD {
            page.go(&link).await;
            pay(page, card).await;
            comes_out(page, None).await;
        }
        for (card, tds) in Card::CHALLENGED {
            page.go(&link).await;
            pay(page, card).await;
            page.until("$('.bank')").await;
            assert!(page.text(".bank").await.contains(card.last4()));
            page.click("button[value=confirm]").await;
            comes_out(page, tds.map_or(Some(31), |_| None)).await;
        }
        page.go(&link).await;
        pay(page, Card::CHALLENGED[0].0).await;
        page.until("$('.bank')").await;
        page.click("button[value=cancel]").await;
        comes_out(page, Some(31)).await;
    })
    .await;
    assert_eq!(made(&merchant).await, Card::GOOD.len() + Card::CHALLENGED.len() + 1);
}

#[tokio::test]
async fn every_card_that_is_bad_comes_out_as_the_table_says_and_another_can_be_tried() {
    let (service, merchant) = customer().await;
    visit(&address(&service, &Link::to(&merchant)), async |page| {
        for (card, code) in Card::BAD.into_iter().filter(|(_, code)| *code != 30) {
            page.until("$('#number')").await;
            pay(page, card).await;
            comes_out(page, Some(code)).await;
            page.click("nav a").await;
        }
        page.until("$('#number')").await;
        pay(page, Card::MASTERCARD).await;
        comes_out(page, None).await;
    })
    .await;
    assert_eq!(made(&merchant).await, Card::BAD.len() - 2 + 1);
}

#[tokio::test]
async fn without_javascript_everything_works() {
    let (service, merchant) = customer().await;
    let open = address(&service, &Link::to(&merchant).without("value").with("locale", "de"));
    visit(&open, async |page| {
        page.without_scripts().await;
        page.go(&open).await;
        page.write("#value", "zehn").await;
        page.click("button").await;
        page.until("$('#value-error')").await;
        page.run("$('#value').value = ''").await;
        page.write("#value", "12,5").await;
        page.click("button").await;
        page.until("$('#number')").await;
        assert!(page.text(".amount").await.contains("12,50"));

        pay(page, Card("4100")).await;
        page.until("$('#number').getAttribute('aria-invalid')").await;
        assert_eq!(page.run("return document.activeElement.id").await, "number");
        assert_eq!(typed(page).await, json!(["", "", ""]));
        assert_eq!(page.run("return $('#code-error').hidden").await, true);

        pay(page, Card::CHALLENGED[0].0).await;
        page.until("$('.bank')").await;
        page.click("button[value=confirm]").await;
        comes_out(page, None).await;
    })
    .await;
    let made = merchant.list("/transactions?limit=10").await;
    assert_eq!(
        (made.len(), &made[0]["amount"], &made[0]["tds"]),
        (1, &json!(1250), &json!("full"))
    );
}

#[tokio::test]
async fn an_amount_and_a_currency_are_entered_where_the_link_has_none() {
    let (service, merchant) = customer().await;
    let open = Link::to(&merchant).without("value").without("currency");
    visit(&address(&service, &open), async |page| {
        assert_eq!(page.run("return $('#currency').value").await, "EUR");
        page.run("$('#currency').value = ''").await;
        page.write("#currency", "jpy").await;
        page.write("#value", "1234").await;
        page.click("button").await;
        page.until("$('#number')").await;
        assert!(page.text(".amount").await.contains("1,234"));
        pay(page, Card::VISA).await;
        comes_out(page, None).await;
    })
    .await;
    let made = &merchant.list("/transactions?limit=10").await[0];
    assert_eq!((&made["currency"], &made["amount"]), (&json!("JPY"), &json!(1234)));
}

#[tokio::test]
async fn back_and_again_pays_nothing_twice() {
    let (service, merchant) = customer().await;
    let start = format!("{}/page.css", service.pos_url());
    let link = address(&service, &Link::to(&merchant));
    visit(&start, async |page| {
        page.go(&link).await;
        pay(page, Card::VISA).await;
        comes_out(page, None).await;
        page.back().await;
        // The form is at the address of the result, which a browser may keep once or twice.
        page.until("$('.paid') || !$('main')").await;
        if page.run("return Boolean($('main'))").await == true {
            page.back().await;
        }
        page.until(&format!("location.href === '{start}'")).await;
        page.run("history.forward()").await;
        comes_out(page, None).await;
        page.run("location.reload()").await;
        comes_out(page, None).await;
        assert_eq!(made(&merchant).await, 1);

        page.go(&link).await;
        page.write("#number", Card::VISA.0).await;
        page.write("#expiry", "0248").await;
        page.write("#code", "739").await;
        // As fast as two clicks can be, whatever a script would do about it.
        page.run("HTMLFormElement.prototype.submit.call($('#card')); HTMLFormElement.prototype.submit.call($('#card'))")
            .await;
        comes_out(page, None).await;
        assert_eq!(made(&merchant).await, 2);
    })
    .await;
}

#[tokio::test]
async fn who_has_paid_goes_back_to_the_shop_and_who_has_not_may() {
    let (service, merchant) = customer().await;
    let shop = format!("{}/health?order=5&note=a%20b+c#done", service.url());
    let link = Link::to(&merchant).with("redirect", &shop);
    visit_and_leave(&address(&service, &link), &[service.url()], async |page| {
        pay(page, Card::DECLINED).await;
        comes_out(page, Some(8)).await;
        page.click("nav a.second").await;
        page.until(&format!("location.href === '{shop}'")).await;

        for card in [Card::VISA, Card::CHALLENGED[0].0] {
            page.go(&address(&service, &link)).await;
            pay(page, card).await;
            if card != Card::VISA {
                page.until("$('.bank')").await;
                page.click("button[value=confirm]").await;
            }
            page.until("location.pathname === '/health'").await;
            let id = merchant.ids("/transactions?limit=1").await.remove(0);
            let expected = shop.replace('#', &format!("&transactionId={id}#"));
            assert_eq!(page.run("return location.href").await, expected);
            assert_eq!(page.run("return document.referrer").await, "");
            // Back at the form, it is paid, and leads on again; but nobody is caught there.
            let mut backs = 0;
            while page.run("return location.href").await == expected {
                backs += 1;
                assert!(backs <= 3, "there is no way back");
                let _ = page.run("window.isBefore = true").await;
                page.back().await;
                page.until("!window.isBefore && !$('meta[http-equiv=refresh]')").await;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_payment_under_way_is_shown_until_it_is_made() {
    let service = Service::with(&[("PAYMENTS_SANDBOX_DELAY", "3s")]).await;
    let merchant = service.merchant().await;
    let form = service.open(&Link::to(&merchant)).await;
    let address = format!("{}{form}", service.pos_url());
    let sent = service.send_card(&form, Card::VISA);
    let watched = visit(&address, async |page| {
        page.go(&address).await;
        page.until("$('meta[http-equiv=refresh]') || $('.paid')").await;
        comes_out(page, None).await;
    });
    let (_, ()) = tokio::join!(sent, watched);
    assert_eq!(made(&merchant).await, 1);
}

#[tokio::test]
async fn nothing_of_a_card_stays_in_the_browser() {
    let (service, merchant) = customer().await;
    visit(&address(&service, &Link::to(&merchant)), async |page| {
        pay(page, Card::LATER_EMPTY).await;
        comes_out(page, None).await;
        let kept = page.run(
            "return Promise.all([
                localStorage.length, sessionStorage.length, document.cookie, window.name,
                history.state, navigator.serviceWorker.getRegistrations(),
            ])",
        );
        assert_eq!(kept.await, json!([0, 0, "", "", null, []]));
        assert_eq!(page.cookies().await, 0);
        let shown = page.run("return location.href + document.documentElement.outerHTML").await;
        let shown = shown.to_string();
        assert!(!shown.contains(Card::LATER_EMPTY.0) && !shown.contains("739\\\""), "{shown}");
    })
    .await;
}
