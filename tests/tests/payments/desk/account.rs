//! Authenticators, recovery codes and the sessions of an account.

use blackbox::{
    authenticator::Authenticator,
    mail::MailServer,
    payments::{
        Merchant, Service,
        desk::{Browser, Page},
    },
};

use super::users::{address, between, command, invited, link_of, named, place, set_up, start};

/// A form that the desk refuses, and why.
fn refusal(page: &Page) -> (u16, String) {
    let error = between(&page.text, "class=\"error\">", "<");
    (page.status, error.first().copied().unwrap_or_default().to_owned())
}

fn leads(page: &Page) -> Option<&str> {
    page.location.as_deref()
}

/// A user of a new merchant, with an authenticator.
struct Ann {
    email: String,
    merchant: Merchant,
    browser: Browser,
    app: Authenticator,
    recovery_codes: Vec<String>,
}

impl Ann {
    async fn at(server: &MailServer, service: &Service) -> Self {
        let (merchant, email) = (named(service, "Corner shop").await, address());
        let mut browser = Browser::at(service);
        browser.use_link(&invited(server, &merchant, &email).await).await;
        let (app, recovery_codes) = set_up(&mut browser, "").await;
        Self { email, merchant, browser, app, recovery_codes }
    }

    /// Signs in with another link, but no code.
    async fn sign_in(&self, server: &MailServer, service: &Service) -> Browser {
        let mut browser = Browser::at(service);
        let before = server.mail_to(&self.email).len();
        assert_eq!(browser.ask(&self.email).await.status, 200);
        browser.use_link(&link_of(&server.received(&self.email, before + 1).await[before])).await;
        browser
    }
}

async fn enter(browser: &mut Browser, code: &str) -> Page {
    browser.post("/code", &[("code", code)]).await
}

#[tokio::test]
async fn a_session_can_do_nothing_before_the_code() {
    let server = MailServer::start().await;
    let service = start(&server).await;
    let mut ann = Ann::at(&server, &service).await;
    assert_eq!(ann.browser.merchants().await.unwrap(), ["Corner shop"]);
    let mut browser = ann.sign_in(&server, &service).await;
    let payments = format!("/merchants/{}/payments", ann.merchant.id);
    for path in ["/", "/account", "/account/authenticator", &payments] {
        assert_eq!(leads(&browser.get(path).await), Some("/code"), "{path}");
    }
    for path in ["authenticator", "authenticator/remove", "recovery-codes", "sessions/end"] {
        let page = browser.post(&format!("/account/{path}"), &[]).await;
        assert_eq!(leads(&page), Some("/code"), "{path}");
    }
    let page = browser.get("/code").await;
    assert!(page.status == 200 && page.text.contains("/sign-out"), "{page:?}");

    // The first step was used when the authenticator was set up.
    let wrong = refusal(&enter(&mut browser, "1234567").await);
    assert_eq!((wrong.0, wrong.1.is_empty()), (400, false));
    assert_eq!(refusal(&enter(&mut browser, &ann.app.code(0)).await), wrong);
    let mut before = browser.clone();
    assert_eq!(leads(&enter(&mut browser, &ann.app.code(1)).await), Some("/"));
    assert_eq!(browser.merchants().await.unwrap(), ["Corner shop"]);
    assert_eq!(before.merchants().await, None);
    assert_eq!(leads(&enter(&mut before, &ann.app.code(0)).await), Some("/sign-in"));

    let mut third = ann.sign_in(&server, &service).await;
    assert_eq!(refusal(&enter(&mut third, &ann.app.code(1)).await), wrong);
    let typed = ann.recovery_codes[0].to_lowercase().replace('-', "+");
    assert_eq!(leads(&enter(&mut third, &typed).await), Some("/"));
    assert_eq!(refusal(&enter(&mut third, &ann.recovery_codes[0]).await), wrong);

    let page = third.get("/account").await;
    assert_eq!(page.text.matches("Signed in 20").count(), 3, "{page:?}");
    assert!(page.text.contains("Recovery codes left: 9"), "{page:?}");
    assert_eq!(leads(&third.post("/account/sessions/end", &[]).await), Some("/account"));
    assert_eq!((ann.browser.merchants().await, browser.merchants().await), (None, None));
    assert!(third.merchants().await.is_some());
    assert_eq!(leads(&third.post("/sign-out", &[]).await), Some("/sign-in"));
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn a_code_that_a_browser_sends_twice_begins_one_session() {
    let server = MailServer::start().await;
    let service = start(&server).await;
    let ann = Ann::at(&server, &service).await;
    let mut browser = ann.sign_in(&server, &service).await;
    let (mut late, code) = (browser.clone(), ann.app.code(1));
    // At a double click, the browser never sees the first answer.
    assert_eq!(leads(&enter(&mut browser.clone(), &code).await), Some("/"));
    assert_eq!(leads(&enter(&mut browser, &code).await), Some("/"));
    assert_eq!(browser.merchants().await.unwrap(), ["Corner shop"]);
    let page = browser.get("/account").await;
    assert_eq!(page.text.matches("Signed in 20").count(), 2, "{page:?}");

    let place = service.stop().await;
    assert_eq!(place.change("UPDATE sessions SET verified = verified - 60000"), 2);
    let service = place.start().await;
    late.desk = Browser::at(&service).desk;
    assert_eq!(leads(&enter(&mut late, &code).await), Some("/sign-in"));
}

#[tokio::test]
async fn five_wrong_codes_lock_for_a_while() {
    let server = MailServer::start().await;
    let service = start(&server).await;
    let ann = Ann::at(&server, &service).await;
    let mut browser = ann.sign_in(&server, &service).await;
    let mut refusals = Vec::new();
    for _ in 0..5 {
        refusals.push(refusal(&enter(&mut browser, "000000x").await));
    }
    let locked = refusals[4].clone();
    assert!(locked.0 == 429 && refusals[..4].iter().all(|refused| refused.0 == 400));
    // The lock is stored: it holds for other sessions, too, and after a restart.
    let mut place = service.stop().await;
    for (minutes, works) in [(14, false), (1, true)] {
        let sql = format!("UPDATE authenticators SET locked = locked - {}", minutes * 60_000);
        assert_eq!(place.change(&sql), 1);
        let service = place.start().await;
        browser.desk = Browser::at(&service).desk;
        let page = enter(&mut browser, &ann.recovery_codes[minutes % 9]).await;
        assert_eq!(leads(&page), works.then_some("/"), "{page:?}");
        assert!(works || refusal(&page) == locked, "{page:?}");
        place = service.stop().await;
    }
}

#[tokio::test]
async fn changes_of_the_account_need_a_fresh_code() {
    let server = MailServer::start().await;
    let service = start(&server).await;
    let mut ann = Ann::at(&server, &service).await;
    let page = ann.browser.post("/account/recovery-codes", &[]).await;
    let codes = between(&page.text, "<code>", "<").into_iter().map(str::to_owned);
    let codes: Vec<_> = codes.collect();
    assert!(codes.len() == 10 && !codes.contains(&ann.recovery_codes[0]), "{page:?}");

    let place = service.stop().await;
    assert!(place.change("UPDATE sessions SET verified = verified - 600000") > 0);
    let service = place.start().await;
    let browser = &mut ann.browser;
    browser.desk = Browser::at(&service).desk;
    assert_eq!(browser.merchants().await.unwrap(), ["Corner shop"]);
    for path in ["/account/recovery-codes", "/account/authenticator/remove"] {
        let page = browser.post(path, &[]).await;
        assert!(page.status == 403 && page.text.contains(path), "{page:?}");
    }
    assert_eq!(enter(browser, &ann.recovery_codes[0]).await.status, 400);
    // The code that comes next does what the user asked for.
    let page = browser.post("/account/recovery-codes", &[]).await;
    let page = browser.enter_code(&page, &codes[9]).await;
    let codes = between(&page.text, "<code>", "<").into_iter().map(str::to_owned);
    let codes: Vec<_> = codes.collect();
    assert!(page.status == 200 && codes.len() == 10, "{page:?}");
    for (index, (next, expected)) in [
        ("%2Faccount", "/account"),
        ("%2Fmerchants%2F1%3Fa%3D1%26b%3D.", "/merchants/1?a=1&b=."),
        ("//evil.example", "/"),
        ("/%5Cevil.example", "/"),
        ("/%09/evil.example", "/"),
        ("http://evil.example/", "/"),
        ("", "/"),
    ]
    .into_iter()
    .enumerate()
    {
        let path = format!("/code?next={next}");
        let page = browser.post(&path, &[("code", &codes[index])]).await;
        assert_eq!(leads(&page), Some(expected), "{next}");
    }
    let page = browser.post("/account/authenticator", &[]).await;
    assert_eq!(page.status, 404, "one authenticator replaces another: {page:?}");
    let place = service.stop().await;
    assert!(place.change("UPDATE sessions SET verified = verified - 660000") > 0);
    let service = place.start().await;
    browser.desk = Browser::at(&service).desk;
    let asks = browser.get("/account/authenticator/remove").await;
    assert!(asks.status == 200 && asks.text.contains("href=\"/account\">Cancel"), "{asks:?}");
    let page = browser.post("/account/authenticator/remove", &[]).await;
    assert_eq!(leads(&browser.enter_code(&page, &codes[9]).await), Some("/account"));

    // Who has no authenticator sets one up first, and then goes on.
    let page = browser.post("/account/recovery-codes", &[]).await;
    assert_eq!(leads(&page), Some("/account?next=%2Faccount"));
    assert_eq!(leads(&browser.get("/code").await), Some("/account"));
    assert_eq!(leads(&browser.get("/account/authenticator").await), Some("/account"));
    let page = browser.get("/account?next=%2F").await;
    assert!(page.text.contains("action=\"/account/authenticator?next=%2F\""), "{page:?}");
    let _ = set_up(browser, "?next=%2F").await;
    assert_eq!(leads(&browser.get("/account/authenticator").await), Some("/account"));

    let (_, text) = command(service.data(), "reset-user", &ann.email).await;
    assert!(text.ends_with("and has no authenticator"), "{text}");
    assert_eq!(browser.merchants().await, None);
    let place = service.stop().await;
    for table in ["sessions", "authenticators", "recovery_codes"] {
        assert_eq!(place.number(&format!("SELECT count(*) FROM {table}")), 0, "{table}");
    }
}

#[tokio::test]
async fn another_key_opens_no_authenticator() {
    let server = MailServer::start().await;
    let service = place(&server).start().await;
    let ann = Ann::at(&server, &service).await;
    let mut browser = ann.sign_in(&server, &service).await;
    let place = service.stop().await;
    let service = place.with("PAYMENTS_DESK_KEY", &"0f".repeat(32)).start().await;
    browser.desk = Browser::at(&service).desk;
    for code in [&ann.app.code(1), &ann.recovery_codes[0]] {
        let page = enter(&mut browser, code).await;
        assert!(page.status == 500 && page.text.contains("not available"), "{page:?}");
        assert_eq!(leads(&browser.get("/").await), Some("/code"));
    }
    service.process().logged(|line| line.contains("PAYMENTS_DESK_KEY")).await;
}
