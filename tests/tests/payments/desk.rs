//! The desk: invitations, links and sessions.

use blackbox::{
    mail::MailServer,
    payments::{
        Card, Transaction,
        desk::{Browser, DESK, Page},
        ids,
    },
    process,
};
use reqwest::Method;
use serde_json::{Value, json};

mod account;
mod books;
mod developers;
mod disputes;
mod links;
mod mails;
mod matrix;
mod money;
mod team;
mod users;
mod walk;

use users::{address, command, invited, link_of, named, place, signed_in, start};

#[tokio::test]
async fn an_invitation_leads_to_the_desk_once() {
    let server = MailServer::start().await;
    let service = start(&server).await;
    let (merchant, ann) = (named(&service, "Corner shop").await, address());
    let link = invited(&server, &merchant, &ann).await;
    let accepted = async || merchant.list("/users?limit=9").await[0]["accepted"].clone();
    assert_eq!(accepted().await, Value::Null);
    // Programs that scan mails open links.
    let mut scanner = Browser::at(&service);
    for method in [Method::HEAD, Method::GET, Method::GET] {
        assert_eq!(scanner.send(method, &link, &[]).await.status, 200);
    }
    assert_eq!(accepted().await, Value::Null);
    // Nobody who has not accepted gets another link.
    let mut browser = Browser::at(&service);
    assert_eq!(browser.ask(&ann).await.status, 200);

    let page = browser.get(&link).await;
    assert!(page.text.contains("the payments of Corner shop.") && page.text.contains(&ann));
    browser.use_link(&link).await;
    assert_eq!(browser.merchants().await.unwrap(), ["Corner shop"]);
    assert!(accepted().await.is_string());
    assert_eq!(browser.get(&link).await.status, 410);
    assert_eq!(scanner.get(&link).await.status, 410);
    assert_eq!(scanner.post(&link, &[]).await.status, 410);
    assert!(merchant.invite(&ann).await);
    assert_eq!(service.data().number("SELECT count(*) FROM mails"), 0);
    assert_eq!(server.mail_to(&ann).len(), 1);

    let out = browser.post("/sign-out", &[]).await;
    assert_eq!((out.status, out.location.as_deref()), (303, Some("/sign-in")));
    assert_eq!(browser.merchants().await, None);
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn a_link_works_only_in_the_browser_that_asked_for_it() {
    let server = MailServer::start().await;
    let service = start(&server).await;
    let (merchant, ann) = (named(&service, "Corner shop").await, address());
    let link = invited(&server, &merchant, &ann).await;
    Browser::at(&service).use_link(&link).await;

    let (mut browser, mut other) = (Browser::at(&service), Browser::at(&service));
    // The form already marks the browser, so that the marks of two quick requests are the same.
    assert_eq!(browser.get("/sign-in").await.status, 200);
    assert_eq!(browser.cookies[0].0, "browser");
    // The answer is the same for known and unknown addresses, whatever their case.
    let (mut answers, mut addresses) = (Vec::new(), Vec::new());
    for email in [ann.to_uppercase(), address()] {
        let Page { status, location, text } = browser.ask(&email).await;
        answers.push((status, location, text.replace(&email, "")));
        addresses.push(email);
    }
    assert_eq!(answers[0], answers[1]);
    let link = link_of(&server.received(&ann, 2).await[1]);
    assert_eq!(other.ask(&address()).await.status, 200);
    assert_eq!(other.get(&link).await.status, 410);
    assert_eq!(other.post(&link, &[]).await.status, 410);
    browser.use_link(&link).await;
    assert_eq!(browser.merchants().await.unwrap(), ["Corner shop"]);
    // A double click, whose first answer was lost: the same session.
    let session = browser.cookies.clone();
    browser.cookies.retain(|(name, _)| name == "browser");
    assert_eq!(browser.post(&link, &[]).await.location.as_deref(), Some("/"));
    assert_eq!(browser.cookies.len(), 2);
    assert!(session.iter().all(|cookie| browser.cookies.contains(cookie)));
    assert_eq!(other.post(&link, &[]).await.status, 410);
    assert_eq!(browser.post("/sign-out", &[]).await.status, 303);
    assert_eq!(browser.post(&link, &[]).await.status, 410);
    assert_eq!(server.mail_to(&addresses[1]), [] as [Value; 0]);
    for wrong in ["", "ann", "ann@", "@shop.example"] {
        let page = other.ask(wrong).await;
        assert!(page.status == 400 && page.text.contains("aria-invalid"), "{page:?}");
    }
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn links_and_sessions_end() {
    let server = MailServer::start().await;
    let mut service = start(&server).await;
    let (merchant, ann) = (named(&service, "Corner shop").await, address());
    let mut browser = Browser::at(&service);
    let link = invited(&server, &merchant, &ann).await;
    browser.use_link(&invited(&server, &named(&service, "Other").await, &ann).await).await;
    for (table, column, minutes, is_open) in [
        ("sign_in_links", "until", 72 * 60, true),
        ("sessions", "used", 28, true),
        ("sessions", "used", 31, false),
        ("sessions", "created", 12 * 60 + 1, false),
    ] {
        if browser.merchants().await.is_none() {
            let before = server.mail_to(&ann).len();
            assert_eq!(browser.ask(&ann).await.status, 200);
            browser.use_link(&link_of(&server.received(&ann, before + 1).await[before])).await;
        }
        let place = service.stop().await;
        let age = minutes * 60_000;
        assert!(place.change(&format!("UPDATE {table} SET {column} = {column} - {age}")) > 0);
        service = place.start().await;
        browser.desk = Browser::at(&service).desk;
        assert_eq!(browser.merchants().await.is_some(), is_open, "{column} {minutes}");
        assert_eq!(browser.get(&link).await.status, 410);
        assert_eq!(browser.post(&link, &[]).await.status, 410);
    }
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn who_is_revoked_sees_the_merchant_no_longer() {
    let server = MailServer::start().await;
    let service = start(&server).await;
    let (one, other, ann) =
        (named(&service, "One").await, named(&service, "Other").await, address());
    let mut browser = Browser::at(&service);
    for merchant in [&one, &other] {
        let link = invited(&server, merchant, &ann).await;
        browser.use_link(&link).await;
    }
    assert_eq!(browser.merchants().await.unwrap(), ["Other", "One"]);
    for (merchant, left) in [(&other, Some(vec!["One".to_owned()])), (&one, None)] {
        let user = merchant.list("/users?limit=9").await.remove(0);
        let path = merchant.path(&format!("/users/{}", user["id"].as_str().unwrap()));
        let _ = merchant.app.delete(&path).await.expect(204);
        assert_eq!(browser.merchants().await, left);
    }
    // A link of an invitation does not outlive it.
    let link = invited(&server, &one, &ann).await;
    let user = one.list("/users?limit=9").await.remove(0);
    let path = one.path(&format!("/users/{}", user["id"].as_str().unwrap()));
    let _ = one.app.delete(&path).await.expect(204);
    assert_eq!(browser.post(&link, &[]).await.status, 410);
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn a_user_finds_an_order_by_its_reference() {
    let server = MailServer::start().await;
    let service = start(&server).await;
    let (merchant, other) = (named(&service, "Corner shop").await, named(&service, "Other").await);
    let mut payments = Vec::new();
    for (reference, amount, card) in
        [("5011", 995, Card::VISA), ("5012", 1995, Card::VISA), ("<b>50 & 11", 2995, Card::VISA)]
    {
        let mut payment = merchant.payment(card, "EUR", amount);
        payment["custom"] = json!({ "reference": reference });
        payments.push(merchant.transaction(&merchant.charge(&payment).await.expect(201)));
    }
    payments[0].capture(995).await;
    payments[0].refund(100).await;
    payments[1].void(1995).await;
    let foreign = other.pay("EUR", 995).await;
    let mut browser = signed_in(&server, &service, &merchant).await;
    let list = format!("/merchants/{}/payments", merchant.id);
    let found = async |browser: &mut Browser, query: &str| {
        let page = browser.get(&format!("{list}?{query}")).await;
        assert_eq!(page.status, 200, "{query}: {page:?}");
        let is_shown = |payment: &&Transaction| page.text.contains(&format!("/{}\"", payment.id));
        payments.iter().filter(is_shown).map(|payment| payment.id.clone()).collect::<Vec<_>>()
    };
    let all: Vec<_> = payments.iter().map(|payment| payment.id.clone()).collect();
    for (query, expected) in [
        ("", &all[..]),
        ("reference=5011", &all[..1]),
        ("reference=+5011+&last4=0000", &all[..1]),
        ("reference=501", &[]),
        ("reference=%3Cb%3E50+%26+11", &all[2..]),
        ("amount=19.95", &all[1..2]),
        ("amount=%E2%82%AC29.95", &all[2..]),
        ("last4=0001", &[]),
        ("from=2026-01-01&to=2099-01-01", &all),
        ("to=2026-01-01", &[]),
    ] {
        assert_eq!(found(&mut browser, query).await, expected, "{query}");
    }
    let page = browser.get(&format!("{list}?last4=12&amount=x&from=x")).await;
    assert_eq!((page.status, page.text.matches("aria-invalid").count()), (400, 3));
    let page = browser.get(&list).await;
    assert!(page.text.contains("&#60;b&#62;50 &#38; 11"), "{}", page.text);
    for status in ["Partly refunded", "Released", "Authorized"] {
        assert!(page.text.contains(status), "{status}: {}", page.text);
    }

    let page = browser.get(&format!("{list}/{}", all[0])).await;
    for text in ["€9.95", "5011", "•••• 0000", "Captured", "Refunded", "€1.00"] {
        assert!(page.text.contains(text), "{text}: {}", page.text);
    }
    // What belongs to others looks as if it did not exist.
    let mut missing = Vec::new();
    for path in [
        format!("/merchants/{}/payments", other.id),
        format!("/merchants/{}/payments/{}", other.id, foreign.id),
        format!("{list}/{}", foreign.id),
        format!("{list}/{}", "1".repeat(24)),
        format!("/merchants/{}/payments", "1".repeat(24)),
        "/merchants/x/payments".to_owned(),
        format!("{list}/x"),
    ] {
        let Page { status, location, text } = browser.get(&path).await;
        assert_eq!((status, location), (404, None), "{path}");
        missing.push(text);
    }
    missing.dedup();
    assert_eq!(missing.len(), 1);
    let mut stranger = Browser::at(&service);
    for path in [list.clone(), format!("{list}/{}", all[0])] {
        assert_eq!(stranger.get(&path).await.location.as_deref(), Some("/sign-in"));
    }
}

#[tokio::test]
async fn payments_are_listed_page_by_page() {
    let server = MailServer::start().await;
    let service = start(&server).await;
    let merchant = named(&service, "Corner shop").await;
    for _ in 0..101 {
        merchant.pay("EUR", 100).await;
    }
    let mut browser = signed_in(&server, &service, &merchant).await;
    let first = format!("/merchants/{}/payments?amount=1", merchant.id);
    let (mut path, mut listed) = (first.clone(), Vec::new());
    loop {
        let page = browser.get(&path).await;
        let ids = page.text.split("/payments/").skip(1).map(|rest| rest[..24].to_owned());
        listed.extend(ids);
        let newest = page.text.contains("href=\"?amount=1\">Newest payments");
        assert_eq!(newest, path != first, "{page:?}");
        let older = page.text.split_once("href=\"?amount=1&#38;before=");
        let Some((_, older)) = older else { break };
        path = format!("{first}&before={}", &older[..24]);
    }
    let expected = merchant.list("/transactions?limit=1000").await;
    assert_eq!(listed, ids(&expected));
}

#[tokio::test]
async fn the_operator_makes_links_and_ends_sessions() {
    let server = MailServer::start().await;
    let service = start(&server).await;
    let (merchant, ann) = (named(&service, "Corner shop").await, address());
    assert!(!merchant.invite(&ann).await);
    let place = service.data();
    let (succeeded, link) = command(place, "sign-in-link", &ann).await;
    assert!(succeeded, "{link}");
    let link = format!("/{}", link.strip_prefix(DESK).unwrap());
    let (mut browser, mut other) = (Browser::at(&service), Browser::at(&service));
    assert_eq!(other.send(Method::HEAD, &link, &[]).await.status, 200);
    // Nobody can use it without having opened it.
    assert_eq!(other.post(&link, &[]).await.status, 410);
    assert_eq!(browser.get(&link).await.status, 200);
    assert_eq!(other.get(&link).await.status, 410);
    browser.use_link(&link).await;
    assert_eq!(browser.merchants().await.unwrap(), ["Corner shop"]);
    assert!(merchant.list("/users?limit=9").await[0]["accepted"].is_string());

    // A user has at most ten sessions.
    for number in 1..=10 {
        let (_, link) = command(place, "sign-in-link", &ann).await;
        other.use_link(&format!("/{}", link.strip_prefix(DESK).unwrap())).await;
        assert_eq!(browser.merchants().await.is_some(), number < 10);
    }
    assert!(other.merchants().await.is_some());

    let (succeeded, text) = command(place, "reset-user", &ann.to_uppercase()).await;
    assert!(succeeded && text.starts_with(&format!("{ann} is signed out everywhere, ")), "{text}");
    assert_eq!(other.merchants().await, None);
    for name in ["sign-in-link", "reset-user"] {
        let (succeeded, text) = command(place, name, "nobody@shop.example").await;
        assert!(!succeeded && text.ends_with("there is no user nobody@shop.example"), "{text}");
    }
    let place = service.stop().await;
    let (succeeded, text) =
        command(&place.with("PAYMENTS_DESK_URL", ""), "sign-in-link", &ann).await;
    assert!(!succeeded && text.contains("PAYMENTS_DESK_URL"), "{text}");
}

#[tokio::test]
async fn a_mail_with_a_link_is_neither_queued_twice_nor_sent_late() {
    let server = MailServer::start().await;
    let place = place(&server).with("PAYMENTS_SMTP_URL", "");
    let service = place.start().await;
    let (merchant, ann) = (named(&service, "Corner shop").await, address());
    assert!(!merchant.invite(&ann).await);
    let (_, link) = command(service.data(), "sign-in-link", &ann).await;
    let mut browser = Browser::at(&service);
    browser.use_link(&format!("/{}", link.strip_prefix(DESK).unwrap())).await;
    assert_eq!(service.data().number("SELECT count(*) FROM mails"), 0, "she has accepted");
    assert!(!named(&service, "Other").await.invite(&ann).await);
    for _ in 0..3 {
        assert_eq!(browser.ask(&ann).await.status, 200);
    }
    let place = service.stop().await;
    assert_eq!(place.number("SELECT count(*) FROM mails WHERE kind = 'sign_in'"), 1);
    place.change("UPDATE mails SET created = created - 901000");
    let service = place.with("PAYMENTS_SMTP_URL", &server.url()).start().await;
    let queued = || service.data().number("SELECT count(*) FROM mails");
    process::until(async || queued() == 0).await;
    let mails = server.received(&ann, 1).await;
    assert!(mails.len() == 1 && mails[0]["headers"]["subject"] != "Your link to sign in");
}

#[tokio::test]
async fn forms_of_other_websites_are_refused() {
    let server = MailServer::start().await;
    let service = start(&server).await;
    let (merchant, ann) = (named(&service, "Corner shop").await, address());
    let mut browser = Browser::at(&service);
    browser.use_link(&invited(&server, &merchant, &ann).await).await;
    for (header, value, status) in [
        ("sec-fetch-site", "cross-site", 403),
        ("sec-fetch-site", "same-site", 403),
        ("sec-fetch-site", "none", 403),
        ("origin", "http://evil.example", 403),
        ("origin", "null", 403),
        ("origin", "http://desk.example", 303),
    ] {
        let answer = browser.send_with(Method::POST, "/sign-out", &[], &[(header, value)]).await;
        assert_eq!(answer.status, status, "{header} {value}");
        assert_eq!(browser.merchants().await.is_some(), status == 403, "{header} {value}");
    }
    for (method, path, status) in [
        (Method::GET, "/nowhere", 404),
        (Method::PUT, "/sign-in", 404),
        (Method::GET, "/sign-out", 404),
        (Method::GET, "/link/x", 410),
    ] {
        assert_eq!(browser.send(method, path, &[]).await.status, status, "{path}");
    }
}

#[tokio::test]
async fn requests_for_links_are_limited() {
    let server = MailServer::start().await;
    let service = start(&server).await;
    let (merchant, ann) = (named(&service, "Corner shop").await, address());
    let mut browser = Browser::at(&service);
    browser.use_link(&invited(&server, &merchant, &ann).await).await;
    for email in [ann, address()] {
        for _ in 0..5 {
            assert_eq!(browser.ask(&email).await.status, 200);
        }
        assert_eq!(browser.ask(&email).await.status, 429);
    }
    let mut answers = Vec::new();
    for _ in 0..20 {
        answers.push(browser.ask(&address()).await.status);
    }
    assert_eq!(answers.iter().filter(|status| **status == 200).count(), 20 - 12);
    assert_eq!(*answers.last().unwrap(), 429);
}
