//! Invitations: each mail is sent once, despite failures of the mail server and of the service.

use std::time::{Duration, Instant};

use blackbox::{
    mail::MailServer,
    payments::{Merchant, Service, Stopped, email, minimal},
    postgres::Cluster,
    process::{self, DEADLINE},
};
use futures_util::future::join_all;
use serde_json::json;
use tokio::time::{sleep, timeout};

const FROM: &str = "Payments <payments@service.example>";

/// A service that sends its mail to this server. It logs everything, except the statements of the
/// database driver.
fn place(server: &MailServer) -> Stopped {
    sending(Stopped::new(&[("RUST_LOG", "trace,tokio_postgres=info")]), server)
}

fn sending(place: Stopped, server: &MailServer) -> Stopped {
    place.with("PAYMENTS_SMTP_URL", &server.url()).with("PAYMENTS_MAIL_FROM", FROM)
}

/// A unique address. `way` selects the behaviour of the mail server.
fn address(way: &str) -> String {
    format!("{way}-{}", email())
}

/// Stops a service, and checks that no invitation is left.
async fn stop_empty(service: Service) {
    timeout(DEADLINE, pending(&service, 0)).await.unwrap();
    let place = service.stop().await;
    assert_eq!(place.change("DELETE FROM mails"), 0);
}

/// Waits until `count` invitations are pending.
async fn pending(service: &Service, count: u32) {
    let line = format!("payments_mails_waiting {count}");
    while !service.fetch("/metrics").await.text().lines().any(|found| found == line) {
        sleep(Duration::from_millis(100)).await;
    }
}

fn assert_unlogged(service: &Service, addresses: &[&str]) {
    let log = service.process().log();
    for secret in addresses.iter().chain(&["p:w", "p%3Aw"]) {
        assert_eq!(log.iter().find(|line| line.contains(secret)), None);
    }
}

#[tokio::test]
async fn an_invitation_sends_one_mail_that_names_the_merchant() {
    let server = MailServer::start().await;
    let service = place(&server).start().await;
    let mut body = minimal();
    body["name"] = "Søren's \"shop\", Århus".into();
    let named = service.app().await.merchant_with(&body).await;
    let unnamed = service.merchant().await;
    let to = address("fine");
    for (merchant, title) in [(named, "Søren's \"shop\", Århus"), (unnamed, "https://shop.example")]
    {
        let before = server.mail_to(&to).len();
        assert!(!merchant.invite(&to).await);
        let mail = server.received(&to, before + 1).await.remove(before);
        let headers = &mail["headers"];
        assert_eq!(headers["from"], FROM);
        assert_eq!(headers["to"], to);
        assert_eq!(headers["subject"], format!("Invitation til {title}"));
        assert!(headers["date"].is_string(), "{mail}");
        assert_eq!(headers["mime-version"], "1.0");
        assert_eq!(headers["auto-submitted"], "auto-generated");
        assert_eq!(mail["hello"], "service.example");
        assert_eq!(mail["text"].as_str().unwrap().matches(title).count(), 2, "{mail}");
        let id = headers["message-id"].as_str().unwrap();
        assert!(id.starts_with('<') && id.ends_with("@service.example>"), "{id}");
        assert_eq!(id.len(), 1 + 24 + "@service.example>".len(), "{id}");
    }
    assert_unlogged(&service, &[&to]);
    stop_empty(service).await;
    let ids = server.mail_to(&to).into_iter().map(|mail| mail["headers"]["message-id"].clone());
    let ids: Vec<_> = ids.collect();
    assert!(ids.len() == 2 && ids[0] != ids[1], "{ids:?}");
}

#[tokio::test]
async fn who_has_not_accepted_gets_a_mail_at_each_invitation() {
    let server = MailServer::start().await;
    let service = place(&server).start().await;
    let (merchant, to) = (service.merchant().await, address("again"));
    for count in 1..=3 {
        assert_eq!(merchant.invite(&to).await, count > 1);
        server.received(&to, count).await;
    }
}

#[tokio::test]
async fn a_mail_names_the_inviting_app_in_the_language_of_the_country() {
    let server = MailServer::start().await;
    let service = place(&server).with("PAYMENTS_MAIL_HELLO", "mx.service.example").start().await;
    let [till, nameless] = [service.app_named("Ταμείο").await, service.app_named("").await];
    for (app, country, subject, texts) in [
        (
            &till,
            "GR",
            "Πρόσκληση: Γωνία",
            ["Η εφαρμογή Ταμείο σάς προσκαλεί", "Ταμείο has invited you to help manage"],
        ),
        (
            &nameless,
            "GR",
            "Πρόσκληση: Γωνία",
            ["Έχετε προσκληθεί", "You have been invited to help"],
        ),
        (&till, "DE", "Einladung zu Γωνία", ["Ταμείο hat", "Ταμείο has invited"]),
        (&till, "JP", "You are invited to Γωνία", ["Ταμείο has invited", "the payments of Γωνία."]),
    ] {
        let mut body = minimal();
        body["name"] = "Γωνία".into();
        body["company"]["country"] = country.into();
        let to = address("fine");
        app.merchant_with(&body).await.invite(&to).await;
        let mail = server.received(&to, 1).await.remove(0);
        assert_eq!(
            (&mail["headers"]["subject"], &mail["hello"]),
            (&json!(subject), &json!("mx.service.example"))
        );
        let text = mail["text"].as_str().unwrap();
        let places = texts.map(|part| text.find(part).unwrap_or_else(|| panic!("{part}: {text}")));
        assert!(places[0] < places[1], "{text}");
        assert_eq!(text.matches("----------").count(), usize::from(country != "JP"), "{text}");
    }
    stop_empty(service).await;
}

#[tokio::test]
async fn failed_mails_are_retried_without_delaying_others() {
    let server = MailServer::start().await;
    let service = place(&server).start().await;
    let merchant = service.merchant().await;
    let [never, later, dropped, fine] = ["never", "later", "dropped", "fine"].map(address);
    let started = Instant::now();
    for address in [&never, &later, &dropped, &fine] {
        merchant.invite(address).await;
    }
    server.received(&fine, 1).await;
    assert!(server.mail_to(&later).is_empty(), "the others delayed it");
    for address in [&later, &dropped] {
        server.received(address, 1).await;
        assert!(started.elapsed() > Duration::from_secs(14), "{address} was not retried");
    }
    service.process().logged(|line| line.contains("rejected the mail with code 550")).await;
    service.process().logged(|line| line.contains("rejected the mail with code 451")).await;
    assert_unlogged(&service, &[&never, &later, &dropped, &fine]);
    timeout(DEADLINE, pending(&service, 1)).await.unwrap();
    let place = service.stop().await;
    assert_eq!(place.change("DELETE FROM mails WHERE attempts BETWEEN 1 AND 3"), 1);
    for (address, mails) in [(never, 0), (later, 1), (dropped, 1), (fine, 1)] {
        assert_eq!(server.mail_to(&address).len(), mails, "{address}");
    }
}

#[tokio::test]
async fn an_invitation_is_deleted_after_its_last_attempt() {
    let server = MailServer::start().await;
    let idle = Stopped::new(&[]).start().await;
    let never = address("never");
    idle.merchant().await.invite(&never).await;
    let idle = idle.stop().await;
    assert_eq!(idle.change("UPDATE mails SET attempts = 16"), 1);
    let service = sending(idle, &server).start().await;
    service.process().logged(|line| line.contains("mail not sent, no attempts left")).await;
    assert_unlogged(&service, &[&never]);
    stop_empty(service).await;
}

#[tokio::test]
async fn a_silent_mail_server_delays_no_request() {
    let server = MailServer::start().await;
    let service = place(&server).start().await;
    let merchant = service.merchant().await;
    let slow = address("slow");
    merchant.invite(&slow).await;
    server.never_answer(&slow).await;
    for _ in 0..20 {
        merchant.pay("EUR", 100).await.capture(100).await;
        merchant.invite(&address("fine")).await;
    }
    assert!(server.mail_to(&slow).is_empty(), "requests wait for the timeout of a mail");
    assert_eq!(server.received(&slow, 1).await.len(), 1);
    service.process().logged(|line| line.contains("did not answer in time")).await;
    stop_empty(service).await;
}

#[tokio::test]
async fn after_a_kill_a_mail_is_repeated_with_its_id() {
    let server = MailServer::start().await;
    let service = place(&server).start().await;
    let (mute, fine) = (address("mute"), address("fine"));
    let merchant = service.merchant().await;
    merchant.invite(&mute).await;
    server.received(&mute, 1).await;
    let service = service.kill().await.start().await;
    merchant.by(&merchant.app.at(&service)).invite(&fine).await;
    server.received(&fine, 1).await;
    let mails = server.received(&mute, 2).await;
    assert_eq!(mails[0]["headers"]["message-id"], mails[1]["headers"]["message-id"]);
    stop_empty(service).await;
    assert_eq!((server.mail_to(&mute).len(), server.mail_to(&fine).len()), (2, 1));
}

#[tokio::test]
async fn a_mail_under_way_at_a_stop_is_sent_once() {
    let server = MailServer::start().await;
    let service = place(&server).start().await;
    let tardy = address("tardy");
    service.merchant().await.invite(&tardy).await;
    server.received(&tardy, 1).await;
    let place = service.stop().await;
    assert_eq!(place.change("DELETE FROM mails"), 0);
}

/// Invites two users at a service without a mail server, and stops the service.
async fn waiting(idle: Stopped) -> (Stopped, Merchant, [String; 2]) {
    let service = idle.start().await;
    service.process().logged(|line| line.contains("PAYMENTS_SMTP_URL is not set")).await;
    let merchant = service.merchant().await;
    let users = [address("fine"), address("fine")];
    for user in &users {
        merchant.invite(user).await;
    }
    timeout(DEADLINE, pending(&service, 2)).await.unwrap();
    assert_unlogged(&service, &[&users[0], &users[1]]);
    (service.stop().await, merchant, users)
}

#[tokio::test]
async fn invitations_wait_until_a_mail_server_is_configured() {
    let server = MailServer::start().await;
    let (idle, _, users) = waiting(Stopped::new(&[])).await;
    let service = sending(idle, &server).start().await;
    let mut connections = Vec::new();
    for user in &users {
        connections.push(server.received(user, 1).await[0]["connection"].clone());
    }
    assert_eq!(connections[0], connections[1]);
    stop_empty(service).await;
    assert!(users.iter().all(|user| server.mail_to(user).len() == 1));
}

#[tokio::test]
async fn a_user_revoked_before_sending_gets_no_mail() {
    let server = MailServer::start().await;
    let (idle, merchant, [kept, revoked]) = waiting(Stopped::new(&[])).await;
    let service = idle.start().await;
    let merchant = merchant.by(&merchant.app.at(&service));
    let users = merchant.list("/users?limit=2").await;
    let user = users.iter().find(|user| user["email"] == revoked.as_str()).unwrap();
    let path = merchant.path(&format!("/users/{}", user["id"].as_str().unwrap()));
    let _ = merchant.app.delete(&path).await.expect(204);
    let service = sending(service.stop().await, &server).start().await;
    server.received(&kept, 1).await;
    stop_empty(service).await;
    assert!(server.mail_to(&revoked).is_empty());
}

#[tokio::test]
async fn two_services_on_one_database_send_each_mail_once() {
    let server = MailServer::start().await;
    let database = Cluster::shared().database();
    let start = || sending(Stopped::on(Some(database.clone()), &[]), &server).start();
    let [one, other] = [start().await, start().await];
    let merchant = one.merchant().await;
    let merchants = [merchant.clone(), merchant.by(&merchant.app.at(&other))];
    let users: Vec<_> = (0..60).map(|_| address("fine")).collect();
    let invite = async |(number, user): (usize, &String)| merchants[number % 2].invite(user).await;
    join_all(users.iter().enumerate().map(invite)).await;
    for user in &users {
        server.received(user, 1).await;
    }
    other.stop().await;
    stop_empty(one).await;
    assert!(users.iter().all(|user| server.mail_to(user).len() == 1));
}

#[tokio::test]
async fn mail_settings_are_checked_without_printing_the_password() {
    for (url, from, reason) in [
        ("smtp://ann:xyzzy@mail.example", "", "PAYMENTS_MAIL_FROM (--mail-from)"),
        ("smtp://ann:xyzzy@mail.example", "nobody", "PAYMENTS_MAIL_FROM (--mail-from)"),
        ("http://ann:xyzzy@mail.example", FROM, "PAYMENTS_SMTP_URL"),
        ("ann:xyzzy", FROM, "PAYMENTS_SMTP_URL"),
        ("smtp://ann:xyzzy@mail.example?tls=xyzzy", FROM, "PAYMENTS_SMTP_URL"),
    ] {
        let settings = [("PAYMENTS_SMTP_URL", url), ("PAYMENTS_MAIL_FROM", from)];
        let ended = process::run(Stopped::on(None, &settings).command()).await;
        let stderr = String::from_utf8(ended.stderr).unwrap();
        assert!(!ended.status.success() && stderr.contains(reason), "{url}: {stderr}");
        assert!(!stderr.contains("xyzzy"), "{url}: {stderr}");
        assert_eq!(stderr.trim_end().lines().count(), 1, "{url}: {stderr}");
    }
    let server = MailServer::start().await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), server.url()).unwrap();
    let place = Stopped::new(&[("PAYMENTS_SMTP_URL_FILE", file.path().to_str().unwrap())]);
    let service = place.with("PAYMENTS_MAIL_FROM", FROM).start().await;
    let to = json!(address("fine"));
    service.merchant().await.invite(to.as_str().unwrap()).await;
    server.received(to.as_str().unwrap(), 1).await;
}
