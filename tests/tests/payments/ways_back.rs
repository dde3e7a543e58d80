//! The pages in place of a payment: they name the shop, and lead back to it.

use blackbox::{
    http::Answer,
    payments::{Card, Link, Merchant, Service, UNREACHABLE, live_merchant, minimal, next},
    raw::Connection,
};
use reqwest::Method;
use serde_json::json;

use crate::live::standing;

/// What browsers accept.
const HTML: &str = "text/html,application/xhtml+xml,*/*;q=0.8";

const SHOP: &str = "https://shop.example";
const REDIRECT: &str = "https://shop.example/cart?order=5";
/// A page that a stranger puts into a link.
const STRANGER: &str = "https://stranger.example/";

/// Reads a page as browsers do.
async fn browse(service: &Service, method: Method, path: &str) -> Answer {
    let request = service.pos(method, path);
    request.header("accept", HTML).send_undescribed().await
}

/// Checks that a page names the shop in the customer's language, and where its way back leads.
#[track_caller]
fn leads(page: &Answer, (status, heading): (u16, &str), back: Option<&str>) {
    assert_eq!(page.status, status, "{page:?}");
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"), "{page:?}");
    let html = page.text();
    for shown in [
        "<html lang=\"da\">",
        &format!("<title>{heading} – Corner shop</title>"),
        "<p class=\"shop\" dir=\"auto\">Corner shop</p>",
        "Spørgsmål",
        "href=\"mailto:ann@shop.example\"",
    ] {
        assert!(html.contains(shown), "{shown} is missing: {html}");
    }
    assert!(!html.contains(STRANGER), "{html}");
    let (before, link) = html.split_once("Tilbage til butikken</a>").unzip();
    let url = before.and_then(|before| before.rsplit("href=\"").next()?.split('"').next());
    assert_eq!((url, link.is_some()), (back, back.is_some()), "{html}");
}

async fn named(service: &Service, website: &str) -> Merchant {
    let mut details = minimal();
    details["test"] = json!(true);
    details["name"] = json!("Corner shop");
    details["website"] = json!(website);
    service.app().await.merchant_with(&details).await
}

/// A Danish link to a merchant, with a way back.
fn link(merchant: &Merchant, redirect: &str) -> Link {
    Link::to(merchant).with("locale", "da").with("redirect", redirect)
}

#[tokio::test]
async fn a_signed_link_leads_back_to_its_redirect() {
    let service = Service::with(&[]).await;
    let merchant = named(&service, SHOP).await;
    let secret = merchant.link_secret().await;
    let signed =
        async |name, value| link(&merchant, REDIRECT).with(name, value).sign(&secret).await;
    let used = (410, "Linket er allerede brugt");

    let past = signed("expires", "1700000000").await;
    let expired = browse(&service, Method::GET, &past.path()).await;
    leads(&expired, (410, "Betalingslinket er udløbet"), Some(REDIRECT));

    let once = signed("once", "y").await;
    let form = service.open(&once).await;
    let html = service.show(&form).await.expect(200);
    let cancel =
        format!("<nav><a class=\"button second\" href=\"{REDIRECT}\">Tilbage til butikken");
    assert!(html.text().contains(&cancel), "{html:?}");
    let _ = next(&service.send_card(&form, Card::VISA).await);
    leads(&browse(&service, Method::GET, &once.path()).await, used, Some(REDIRECT));
    let other = service.in_browser("");
    leads(&browse(&other, Method::GET, &form).await, used, Some(REDIRECT));

    let open = signed("reference", "5011").await;
    let _ = standing::run(service.data(), &["hold", &merchant.id, "--reason", "x"]).await;
    let held = browse(&service, Method::GET, &open.path()).await;
    leads(&held, (503, "Betaling er ikke mulig i øjeblikket"), Some(REDIRECT));
}

#[tokio::test]
async fn a_link_that_proves_nothing_leads_back_to_the_website() {
    let service = Service::any().await;
    let merchant = named(&service, SHOP).await;
    let secret = merchant.link_secret().await;
    let signed = link(&merchant, REDIRECT).sign(&secret).await;
    let unsigned = link(&merchant, STRANGER);
    let broken = (400, "Dette betalingslink virker ikke");
    for changed in [
        signed.clone().with("redirect", STRANGER),
        signed.clone().with("value", "0.01"),
        unsigned.clone().with("signature", &"0".repeat(64)),
        unsigned.clone().with("value", "9.999"),
        unsigned.clone().with("form", "x"),
        unsigned.clone().with("redirect", "javascript:alert(1)"),
    ] {
        for method in [Method::GET, Method::POST] {
            leads(&browse(&service, method, &changed.path()).await, broken, Some(SHOP));
        }
    }

    let form = service.open(&unsigned).await;
    let page = service.show(&form).await.expect(200);
    assert!(page.text().contains(&format!("href=\"{SHOP}\">Tilbage til butikken")), "{page:?}");
    assert!(!page.text().contains("stranger.example"), "{page:?}");
    let _ = next(&service.send_card(&form, Card::VISA).await);
    let other = browse(&service.in_browser(""), Method::GET, &form).await;
    leads(&other, (410, "Linket er allerede brugt"), Some(SHOP));

    let missing = unsigned.path().replace("/?", "/pay?");
    let page = browse(&service, Method::GET, &missing).await;
    leads(&page, (404, "Siden findes ikke"), Some(SHOP));
    let page = browse(&service, Method::POST, &unsigned.path().replace("/?", "/page.css?")).await;
    leads(&page, (405, "Siden findes ikke"), Some(SHOP));
    assert_eq!(page.header("allow"), Some("GET,HEAD"));
    // Without a `redirect` the customer has not come from another page.
    let plain = service.open(&Link::to(&merchant)).await;
    assert!(!service.show(&plain).await.expect(200).text().contains("Back to the shop"));
}

#[tokio::test]
async fn without_a_shop_or_its_website_there_is_no_way_back() {
    let service = Service::any().await;
    // Not an address that browsers can open: the API accepts any text.
    let merchant = named(&service, "shop.example").await;
    let link = link(&merchant, STRANGER);
    let broken = (400, "Dette betalingslink virker ikke");
    leads(
        &browse(&service, Method::GET, &link.clone().with("value", "x").path()).await,
        broken,
        None,
    );
    let form = service.open(&link).await;
    assert!(!service.show(&form).await.expect(200).text().contains("Tilbage til"));

    for path in [link.with("key", &merchant.id).path(), "/pay?locale=da".to_owned()] {
        let page = browse(&service, Method::GET, &path).await;
        assert!(page.text().contains("<html lang=\"da\">"), "{page:?}");
        for hidden in ["mailto:", "Corner shop", "stranger.example", "<nav"] {
            assert!(!page.text().contains(hidden), "{hidden}: {page:?}");
        }
    }
    // Programs get the error body of the API.
    let program = service.pos(Method::GET, "/pay").send_undescribed().await;
    program.refused(404, "not_found");
}

#[tokio::test]
async fn a_browser_gets_a_page_where_a_program_gets_an_error_body() {
    let settings = [&UNREACHABLE[..], &[("PAYMENTS_ATTEMPT_LIMIT", "1/1d")]].concat();
    let service = Service::with(&settings).await;
    let merchant = live_merchant(&service.app().await).await;
    let (key, card) = (&merchant.key, Card::LIVE.details());
    let payment = json!({ "key": key, "currency": "EUR", "amount": 995, "card": card }).to_string();
    let post = |media: &str, body: &str| {
        let request = service.pos(Method::POST, "/transactions").body_of(media, body);
        request.header("accept", HTML).header("accept-language", "da")
    };
    let kind = "application/json";
    for (status, heading, request) in [
        (413, "Betaling er ikke mulig i øjeblikket", post(kind, &"x".repeat(200_000))),
        (415, "Betaling er ikke mulig i øjeblikket", post("text/plain", &payment)),
        (503, "Betaling er ikke mulig i øjeblikket", post(kind, &payment)),
        (429, "For mange forsøg", post(kind, &payment)),
    ] {
        let page = request.send_undescribed().await.expect(status);
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"), "{page:?}");
        assert!(page.text().contains(&format!("<title>{heading}</title>")), "{page:?}");
        assert_eq!(page.header("retry-after").is_some(), status == 429, "{page:?}");
        assert_eq!(page.header("access-control-allow-origin"), Some("*"));
        assert!(page.header("x-request-id").is_some());
    }
    let program = service.pos(Method::POST, "/transactions").body_of(kind, &*payment);
    program.send().await.refused(429, "rate_limited");
    // What is wrong with a card is for the page of the shop.
    let wrong = post(kind, "{}").send_undescribed().await.expect(400);
    assert_eq!(wrong.header("content-type"), Some("application/json"));

    let pos = service.process().address_of("pos.address");
    for (status, headers) in [
        (400, "Host: a/b"),
        (421, "Host: evil.example"),
        (501, "Host: localhost\r\nTransfer-Encoding: gzip, chunked"),
    ] {
        let request = format!(
            "POST {} HTTP/1.1\r\nAccept: {HTML}\r\n{headers}\r\n\r\n",
            Link::to(&merchant).path()
        );
        let page = Connection::open(pos).await.ask(&request).await;
        assert_eq!(page.status, status, "{page:?}");
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"), "{page:?}");
        assert!(page.body.starts_with("<!doctype html>"), "{page:?}");
        assert_eq!(page.body.contains("mailto:"), status == 400, "{page:?}");
    }
}
