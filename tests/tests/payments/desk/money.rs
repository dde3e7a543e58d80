//! Captures, refunds and voids at the desk.

use blackbox::{
    mail::MailServer,
    payments::{
        Merchant, Transaction,
        desk::{Browser, Page},
    },
    process,
};
use futures_util::future::{join, join_all};
use reqwest::Method;
use tokio::time::{Duration, sleep, timeout};

use super::users::{address, invited, named, set_up, signed_in, start};

/// A payment, as a user sees it.
pub(super) struct Shown<'a> {
    payment: &'a Transaction,
    path: String,
}

impl<'a> Shown<'a> {
    pub(super) fn of(merchant: &Merchant, payment: &'a Transaction) -> Self {
        Self { payment, path: format!("/merchants/{}/payments/{}", merchant.id, payment.id) }
    }

    /// The page that asks to confirm the movement.
    pub(super) async fn ask(&self, browser: &mut Browser, movement: &str, amount: &str) -> Page {
        browser.get(&format!("{}/{movement}?amount={amount}", self.path)).await
    }

    /// Sends the form of this page.
    pub(super) async fn confirm(&self, browser: &mut Browser, movement: &str, page: &Page) -> Page {
        let (steps, amount) = (hidden(page, "steps"), hidden(page, "amount"));
        let form = [("steps", &*steps), ("amount", &*amount)];
        browser.post(&format!("{}/{movement}", self.path), &form).await
    }

    /// Captured, refunded and released.
    async fn amounts(&self) -> [i64; 3] {
        let fetched = self.payment.fetch().await;
        ["capturedAmount", "refundedAmount", "voidedAmount"]
            .map(|name| fetched[name].as_i64().unwrap_or_else(|| panic!("{name}: {fetched}")))
    }
}

/// The value of a hidden field.
pub(super) fn hidden(page: &Page, name: &str) -> String {
    let (_, rest) = page
        .text
        .split_once(&format!("name=\"{name}\" value=\""))
        .unwrap_or_else(|| panic!("no {name}: {page:?}"));
    rest.split('"').next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_user_captures_refunds_and_releases() {
    let server = MailServer::start().await;
    let service = start(&server).await;
    let merchant = named(&service, "Corner shop").await;
    let paid = merchant.pay("EUR", 3000).await;
    let shown = Shown::of(&merchant, &paid);
    let mut browser = signed_in(&server, &service, &merchant).await;
    for (movement, typed, sums, done) in [
        ("capture", "20", ["€30.00", "€20.00", "€10.00"], "Captured: €20.00"),
        ("refund", "%E2%82%AC5.5", ["€20.00", "€5.50", "€14.50"], "Refunded: €5.50"),
        ("void", "10.00", ["€10.00", "€10.00", "€0.00"], "Released: €10.00"),
    ] {
        let page = shown.ask(&mut browser, movement, typed).await;
        for sum in sums {
            assert!(page.text.contains(&format!("<dd>{sum}</dd>")), "{sum}: {}", page.text);
        }
        let moved = shown.confirm(&mut browser, movement, &page).await;
        let next = moved.location.unwrap();
        assert_eq!((moved.status, &*next), (303, &*format!("{}?done", shown.path)));
        assert!(browser.get(&next).await.text.contains(done), "{done}");
    }
    assert_eq!(shown.amounts().await, [2000, 550, 1000]);
    // Nothing can be captured or released any more.
    for (movement, status) in [("capture", 303), ("void", 303), ("refund", 200), ("pay", 404)] {
        let page = browser.get(&format!("{}/{movement}", shown.path)).await;
        assert_eq!(page.status, status, "{movement}");
    }
    for (typed, is_right) in [
        ("14.50", true),
        ("14.51", false),
        ("0", false),
        ("-1", false),
        ("1.234", false),
        ("x", false),
    ] {
        let page = shown.ask(&mut browser, "refund", typed).await;
        assert_eq!(page.status, if is_right { 200 } else { 400 }, "{typed}");
        assert_eq!(page.text.contains("aria-invalid"), !is_right, "{typed}");
    }
    let users = merchant.list("/users?limit=9").await;
    let events = merchant.app.list("/events?limit=9").await;
    let by_user = events.iter().filter(|event| event["actor"]["id"] == users[0]["id"]);
    assert_eq!(by_user.count(), 3, "{events:?}");
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn a_code_in_between_does_not_change_the_amount() {
    let server = MailServer::start().await;
    let service = start(&server).await;
    let merchant = named(&service, "Corner shop").await;
    let paid = merchant.pay("EUR", 3000).await;
    paid.capture(3000).await;
    let shown = Shown::of(&merchant, &paid);
    let mut browser = Browser::at(&service);
    browser.use_link(&invited(&server, &merchant, &address()).await).await;
    let (_, codes) = set_up(&mut browser, "").await;
    let page = shown.ask(&mut browser, "refund", "5.50").await;
    let place = service.stop().await;
    place.change("UPDATE sessions SET verified = verified - 660000");
    let service = place.start().await;
    browser.desk = Browser::at(&service).desk;
    let asks = shown.confirm(&mut browser, "refund", &page).await;
    let done = browser.enter_code(&asks, &codes[0]).await;
    assert_eq!(done.location, Some(format!("{}?done", shown.path)));
    let refunded = service.data().number("SELECT refunded FROM transactions");
    assert_eq!(refunded, 550);
}

#[tokio::test]
async fn a_form_acts_once_however_often_it_is_sent() {
    let server = MailServer::start().await;
    let mut service = start(&server).await;
    let merchant = named(&service, "Corner shop").await;
    let paid = merchant.pay("EUR", 3000).await;
    paid.capture(3000).await;
    let shown = Shown::of(&merchant, &paid);
    let mut ann = signed_in(&server, &service, &merchant).await;
    let mut ben = signed_in(&server, &service, &merchant).await;

    // A double click, and a colleague with the same form.
    let page = shown.ask(&mut ann, "refund", "10").await;
    let clicks = [&ann, &ann, &ben].map(|browser| {
        let (mut browser, shown, page) = (browser.clone(), &shown, &page);
        async move { shown.confirm(&mut browser, "refund", page).await.status }
    });
    assert_eq!(join_all(clicks).await, [303; 3]);
    assert_eq!(shown.amounts().await[1], 1000);
    // Back and reload, and another tab that was opened before.
    let back = shown.confirm(&mut ann, "refund", &page).await;
    assert_eq!(back.status, 303);
    let other = page.text.replace("value=\"1000\"", "value=\"500\"");
    let other = Page { text: other, ..page };
    let stale = shown.confirm(&mut ben, "refund", &other).await;
    assert!(stale.status == 409 && stale.text.contains("has changed in the meantime"), "{stale:?}");
    assert_eq!(shown.amounts().await[1], 1000);

    // The service is killed before it answers, and the user sends the form again.
    for (wait, left) in [(0, 1500), (1, 1000), (3, 500)] {
        let wait = Duration::from_millis(wait);
        let page = shown.ask(&mut ann, "refund", "5").await;
        let (steps, amount) = (hidden(&page, "steps"), hidden(&page, "amount"));
        let form = [("steps", &*steps), ("amount", &*amount)];
        let sent = ann.request(Method::POST, &format!("{}/refund", shown.path), &form, &[]).send();
        // In one turn before, in one after the service has read it.
        let (_cut_off, place) = join(timeout(wait, sent), async {
            sleep(wait).await;
            service.kill().await
        })
        .await;
        service = place.start().await;
        ann.desk = Browser::at(&service).desk;
        let again = shown.confirm(&mut ann, "refund", &page).await;
        assert_eq!(again.status, 303, "{again:?}");
        assert_eq!(service.data().number("SELECT captured - refunded FROM transactions"), left);
    }
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn who_may_not_move_money_moves_none() {
    let server = MailServer::start().await;
    let service = start(&server).await;
    let (merchant, other) = (named(&service, "Corner shop").await, named(&service, "Other").await);
    let paid = merchant.pay("EUR", 3000).await;
    let shown = Shown::of(&merchant, &paid);
    let mut ann = signed_in(&server, &service, &merchant).await;
    let mut eve = signed_in(&server, &service, &other).await;
    let page = shown.ask(&mut ann, "capture", "10").await;
    let form = [("steps", "0"), ("amount", "1000")];
    let post = async |browser: &mut Browser, path: &str| {
        let page = browser.post(&format!("{path}/capture"), &form).await;
        (page.status, page.location, page.text)
    };
    let foreign = format!("/merchants/{}/payments/{}", other.id, paid.id);
    let missing = post(&mut ann, &format!("/merchants/{}/payments/x", merchant.id)).await;
    assert_eq!(missing.0, 404);
    assert_eq!(post(&mut eve, &shown.path).await, missing);
    assert_eq!(post(&mut eve, &foreign).await, missing);
    let (status, location, _) = post(&mut Browser::at(&service), &shown.path).await;
    assert_eq!((status, location.as_deref()), (303, Some("/sign-in")));
    let path = format!("{}/capture", shown.path);
    let other_origin = [("sec-fetch-site", "cross-site")];
    assert_eq!(ann.send_with(Method::POST, &path, &form, &other_origin).await.status, 403);
    for form in [&[][..], &form[..1], &[("steps", "0"), ("amount", "x")]] {
        assert_eq!(ann.post(&path, form).await.status, 400, "{form:?}");
    }

    let hold = async |name: &str, arguments: &[&str]| {
        let mut command = service.data().command();
        command.args([name, &merchant.id]).args(arguments);
        assert!(process::run(command).await.status.success());
    };
    hold("hold", &["--payments", "--reason", "papers are missing"]).await;
    let held = shown.confirm(&mut ann, "capture", &page).await;
    assert!(held.status == 409 && held.text.contains("papers are missing"), "{held:?}");
    hold("release", &[]).await;
    // Revoked while the form is open.
    let user = merchant.list("/users?limit=9").await.remove(0);
    let path = merchant.path(&format!("/users/{}", user["id"].as_str().unwrap()));
    let _ = merchant.app.delete(&path).await.expect(204);
    let (status, location, _) = post(&mut ann, &shown.path).await;
    assert_eq!((status, location.as_deref()), (303, Some("/sign-in")));
    assert_eq!(shown.amounts().await, [0, 0, 0]);
}
