//! Payments on the payment page, from opening a link to returning to the shop.

mod dead_ends;
mod receipt;
mod screen;
mod typing;

use blackbox::{
    browser::{Page, visit, visit_and_leave},
    payments::{BROWSER, Card, Link, Merchant, Service, group_of},
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

/// Enters a card and submits the form.
async fn pay(page: &Page, card: Card) {
    page.write("#number", card.0).await;
    // A date stays in the form when another field was wrong.
    page.run("$('#expiry').value = ''").await;
    page.write("#expiry", "0248").await;
    page.write("#code", "739").await;
    page.click("button").await;
}

/// Waits until the page shows that the payment succeeded, or failed with this code.
async fn comes_out(page: &Page, code: Option<i64>) {
    match code {
        None => page.until("$('.paid')").await,
        Some(code) => {
            let group = group_of(code);
            page.until(&format!("$('.failed')?.dataset.group === '{group}'")).await;
        }
    }
}

/// The values of the fields: number, expiry and code.
async fn typed(page: &Page) -> Value {
    page.run("return [$('#number').value, $('#expiry').value, $('#code').value]").await
}

async fn made(merchant: &Merchant) -> usize {
    merchant.list("/transactions?limit=100").await.len()
}

#[tokio::test]
async fn good_and_challenged_cards_have_their_documented_outcome() {
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
async fn bad_cards_are_declined_and_another_can_be_tried() {
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
        assert_eq!(typed(page).await, json!(["", "02 / 48", ""]));
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
async fn a_missing_amount_and_currency_are_entered_first() {
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
async fn going_back_and_reloading_never_pays_twice() {
    let (service, merchant) = customer().await;
    let start = format!("{}/page.css", service.pos_url());
    let link = address(&service, &Link::to(&merchant));
    visit(&start, async |page| {
        page.go(&link).await;
        pay(page, Card::VISA).await;
        comes_out(page, None).await;
        page.back().await;
        // Form and result share an address, which the history of a browser has once or twice.
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
        // Submits twice without delay, and bypasses the handlers of the script.
        page.run("HTMLFormElement.prototype.submit.call($('#card')); HTMLFormElement.prototype.submit.call($('#card'))")
            .await;
        comes_out(page, None).await;
        assert_eq!(made(&merchant).await, 2);
    })
    .await;
}

#[tokio::test]
async fn customers_return_to_the_shop() {
    let (service, merchant) = customer().await;
    let start = format!("{}/page.css", service.pos_url());
    let shop = format!("{}/health?order=5&note=a%20b+c#done", service.url());
    let link = Link::to(&merchant).with("redirect", &shop);
    visit_and_leave(&address(&service, &link), &[service.url()], async |page| {
        pay(page, Card::DECLINED).await;
        comes_out(page, Some(8)).await;
        page.click("nav a.second").await;
        page.until(&format!("location.href === '{shop}'")).await;

        for card in [Card::VISA, Card::CHALLENGED[0].0] {
            page.go(&start).await;
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
            // Going back shows the receipt, which does not lead to the shop again.
            page.back().await;
            page.until("$('.paid')").await;
            assert_eq!(page.run("return $('meta[http-equiv=refresh]')").await, Value::Null);
        }
    })
    .await;
}

#[tokio::test]
async fn a_pending_payment_is_shown_until_its_outcome() {
    let service = Service::with(&[("PAYMENTS_SANDBOX_DELAY", "5s")]).await;
    let merchant = service.merchant().await;
    let form = service.open(&Link::to(&merchant)).await;
    let address = format!("{}{form}", service.pos_url());
    let sent = service.send_card(&form, Card::VISA);
    let watched = async |has_scripts: bool| {
        visit(&address, async |page| {
            page.set_cookie(&address, "browser", BROWSER).await;
            if !has_scripts {
                page.without_scripts().await;
            }
            page.go(&address).await;
            page.until("$('.pending') || $('.paid')").await;
            comes_out(page, None).await;
        })
        .await;
    };
    let (_, (), ()) = tokio::join!(sent, watched(true), watched(false));
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
        // The cookie that recognizes the browser.
        assert_eq!(page.cookies().await, 1);
        let shown = page.run("return location.href + document.documentElement.outerHTML").await;
        let shown = shown.to_string();
        assert!(!shown.contains(Card::LATER_EMPTY.0) && !shown.contains("739\\\""), "{shown}");
    })
    .await;
}
