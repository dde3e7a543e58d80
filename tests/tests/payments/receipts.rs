//! Receipts: links that payers get by mail, and that every browser opens for 18 months.

use std::time::Duration;

use blackbox::{
    http::client,
    mail::MailServer,
    payments::{Card, Link, Merchant, Service, Stopped, Transaction, email, next},
    process::{self, DEADLINE},
};
use reqwest::Response;
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};

/// A service that sends receipts through this mail server, and logs everything, except the
/// statements of the database driver.
fn place(server: &MailServer) -> Stopped {
    Stopped::new(&[("RUST_LOG", "trace,tokio_postgres=info")])
        .with("PAYMENTS_SMTP_URL", &server.url())
        .with("PAYMENTS_MAIL_FROM", "Payments <payments@service.example>")
        .with("PAYMENTS_DESK_KEY", &"0f".repeat(32))
        .with("PAYMENTS_RECEIPTS", "true")
}

/// Pays at a link, and asks for a receipt. Returns the path of the form.
async fn pay(service: &Service, link: &Link, card: Card, payer: &str) -> String {
    let form = service.open(link).await;
    let body = format!("number={}&expiry=02+%2F+48&code=739&email={payer}", card.0);
    let outcome = next(&service.send_form(&form, &body).await);
    assert_eq!(outcome, form);
    form
}

/// Opens a link in a browser that has paid nothing.
async fn open(url: &str) -> Response {
    let request = client().get(url).header("Accept-Language", "fr");
    request.send().await.unwrap()
}

async fn shown(url: &str) -> String {
    let answer = open(url).await;
    assert_eq!(answer.status(), 200);
    answer.text().await.unwrap()
}

/// The only payment of a merchant.
async fn only(merchant: &Merchant) -> Transaction {
    let made = merchant.list("/transactions?limit=2").await;
    assert_eq!(made.len(), 1, "{made:?}");
    Transaction { app: merchant.app.clone(), id: made[0]["id"].as_str().unwrap().to_owned() }
}

#[tokio::test]
async fn a_payer_gets_a_link_to_the_receipt_that_shows_later_refunds() {
    let server = MailServer::start().await;
    let service = place(&server).start().await;
    let (merchant, payer) = (service.merchant().await, email());
    let link = Link::to(&merchant).with("reference", "5011").with("locale", "da");
    pay(&service, &link, Card::VISA, &payer).await;
    let mail = server.received(&payer, 1).await.remove(0);
    assert_eq!(mail["headers"]["subject"], "Kvittering – https://shop.example");
    let text = mail["text"].as_str().unwrap();
    assert!(text.contains("9,95") && text.contains("https://shop.example"), "{text}");
    let url = server.link_to(&payer).await;

    let answer = open(&url).await;
    for (name, value) in [("cache-control", "no-store"), ("referrer-policy", "no-referrer")] {
        assert_eq!(answer.headers()[name], value);
    }
    let page = shown(&url).await;
    let paid = only(&merchant).await;
    for part in
        ["lang=\"da\"", "noindex", "Kvittering", "9,95", "•••• 0000", "5011", " UTC", &paid.id]
    {
        assert!(page.contains(part), "{part} is missing: {page}");
    }
    assert!(!page.contains("Refunderet") && !page.contains("kan lukke"), "{page}");

    paid.capture(995).await;
    paid.refund(400).await;
    let page = shown(&url).await;
    assert!(page.contains("Refunderet") && page.contains("4,00"), "{page}");

    let answers = [
        paid.fetch().await.to_string(),
        Value::from(merchant.app.list("/events?limit=100").await).to_string(),
        page,
    ];
    assert!(answers.iter().all(|answer| !answer.contains(&payer)), "{answers:?}");
    let log = service.process().log();
    assert_eq!(log.iter().find(|line| line.contains(&payer)), None);
    let signature = url.rsplit('=').next().unwrap();
    assert_eq!(log.iter().find(|line| line.contains(signature)), None);
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn a_changed_link_shows_nothing() {
    let server = MailServer::start().await;
    let service = place(&server).start().await;
    let payer = email();
    let merchant = service.merchant().await;
    pay(&service, &Link::to(&merchant), Card::VISA, &payer).await;
    let url = server.link_to(&payer).await;
    let (page, link) = url.split_once('=').unwrap();
    for at in [0, 23, 24, link.len() - 1] {
        let other = if &link[at..=at] == "0" { "1" } else { "0" };
        let changed = format!("{page}={}{other}{}", &link[..at], &link[at + 1..]);
        let answer = open(&changed).await;
        assert_eq!(answer.status(), 404, "{changed}");
        let text = answer.text().await.unwrap();
        assert!(text.contains("Cette page n’existe pas"), "{text}");
    }
    for wrong in
        [page, &format!("{page}="), &url[..url.len() - 1], &format!("{page}={}", &link[..24])]
    {
        assert_eq!(open(wrong).await.status(), 404, "{wrong}");
    }
    shown(&url).await;
}

#[tokio::test]
async fn after_18_months_a_job_deletes_the_address_and_the_link_ends() {
    let server = MailServer::start().await;
    let service = place(&server).start().await;
    let merchant = service.merchant().await;
    let [old, young] = [email(), email()];
    pay(&service, &Link::to(&merchant), Card::VISA, &old).await;
    let paid = only(&merchant).await;
    pay(&service, &Link::to(&merchant), Card::VISA, &young).await;
    let mut urls = Vec::new();
    for payer in [&old, &young] {
        urls.push(server.link_to(payer).await);
    }
    let place = service.stop().await;
    // IDs begin with their time. Decades are older than 18 months.
    let prefix = if place.database().is_some() { "'\\x" } else { "x'" };
    let (known, aged) = (format!("{prefix}{}'", paid.id), format!("{prefix}00{}'", &paid.id[2..]));
    let change =
        format!("UPDATE receipts SET \"transaction\" = {aged} WHERE \"transaction\" = {known}");
    assert_eq!(place.change(&change), 1);
    let service = place.start().await;
    let deleted = async {
        while service.data().number("SELECT count(*) FROM receipts") > 1 {
            sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(DEADLINE, deleted).await.unwrap();
    let kept = service.data().texts("SELECT email FROM receipts");
    assert_eq!(kept, [young]);
    let base =
        |url: &str| format!("{}{}", service.pos_url(), &url[url.find("/receipt").unwrap()..]);
    let answer = open(&base(&urls[0])).await;
    assert_eq!(answer.status(), 410);
    assert!(answer.text().await.unwrap().contains("expiré"));
    shown(&base(&urls[1])).await;
}

#[tokio::test]
async fn only_a_payment_that_succeeds_has_a_receipt() {
    let server = MailServer::start().await;
    let service = place(&server).start().await;
    let merchant = service.merchant().await;
    let [declined, challenged] = [email(), email()];
    pay(&service, &Link::to(&merchant), Card::DECLINED, &declined).await;
    let form = pay(&service, &Link::to(&merchant), Card::CHALLENGED[0].0, &challenged).await;
    assert!(server.mail_to(&challenged).is_empty());
    let answered = service.send_form(&form.replace("/?", "/challenge?"), "answer=confirm").await;
    assert_eq!(next(&answered), form);
    server.received(&challenged, 1).await;
    let place = service.stop().await;
    assert_eq!(place.texts("SELECT email FROM receipts"), [challenged]);
    assert_eq!(place.number("SELECT count(*) FROM pending_payments"), 0);
    assert!(server.mail_to(&declined).is_empty());
}

#[tokio::test]
async fn a_wrong_address_is_an_error_and_too_many_mails_are_not_sent() {
    let server = MailServer::start().await;
    let service = place(&server).start().await;
    let merchant = service.merchant().await;
    let form = service.open(&Link::to(&merchant)).await;
    let body = format!("number={}&expiry=02+%2F+48&code=739&email=ann%40shop", Card::VISA.0);
    let page = service.send_form(&form, &body).await.expect(400);
    for part in ["value=\"ann@shop\"", "id=\"email-error\"", "Enter your e-mail address"] {
        assert!(page.text().contains(part), "{part} is missing: {page:?}");
    }
    let payer = email();
    for _ in 0..6 {
        pay(&service, &Link::to(&merchant), Card::VISA, &payer).await;
    }
    server.received(&payer, 5).await;
    let place = service.stop().await;
    let receipts = "SELECT count(*) FROM receipts";
    assert_eq!(place.number(receipts), 5);
    assert_eq!(place.number("SELECT count(*) FROM mails"), 0);
}

/// Whoever pays nothing could send mails to many strangers.
#[tokio::test]
async fn of_test_payments_a_client_address_gets_few_receipts() {
    let server = MailServer::start().await;
    let service = place(&server).start().await;
    let merchant = service.merchant().await;
    let begun = Instant::now();
    for _ in 0..30 {
        pay(&service, &Link::to(&merchant), Card::VISA, &email()).await;
    }
    // One more is allowed each 45 s.
    let more = i64::try_from(begun.elapsed().as_secs() / 45).unwrap();
    let place = service.stop().await;
    let receipts = place.number("SELECT count(*) FROM receipts");
    assert!((20..=(20 + more).min(29)).contains(&receipts), "{receipts}");
}

#[tokio::test]
async fn receipts_are_off_by_default_and_need_a_mail_server_and_a_key() {
    let service = Service::with(&[]).await;
    let merchant = service.merchant().await;
    let form = service.open(&Link::to(&merchant)).await;
    assert!(!service.show(&form).await.expect(200).text().contains("name=\"email\""));
    let payer = email();
    pay(&service, &Link::to(&merchant), Card::VISA, &payer).await;
    let known = format!("SELECT count(*) FROM receipts WHERE email = '{payer}'");
    assert_eq!(service.data().number(&known), 0);
    let _ = service.show(&format!("/receipt?link={}", "0".repeat(88))).await.expect(404);

    let server = MailServer::start().await;
    for missing in ["PAYMENTS_SMTP_URL", "PAYMENTS_DESK_KEY"] {
        let stderr = process::failure_line(place(&server).with(missing, "").command()).await;
        assert!(stderr.contains(&format!("{missing} is not set: PAYMENTS_RECEIPTS")), "{stderr}");
    }
}
