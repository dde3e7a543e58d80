//! Answers to disputes at the desk.

use blackbox::{
    mail::MailServer,
    payments::{Acquirer, Card, Merchant, SECRET, Service, Transaction, desk::Browser, ids},
};
use reqwest::Method;
use serde_json::json;

use super::{
    money::hidden,
    users::{between, named, place, signed_in},
};
use crate::evidence::{PDF, form};

/// A merchant with an open dispute, and the path of its page.
async fn disputed(server: &MailServer) -> (Service, Merchant, Transaction, String) {
    let service = place(server).with(SECRET.0, SECRET.1).start().await;
    let merchant = named(&service, "Corner shop").await;
    let mut payment = merchant.payment(Card::VISA, "EUR", 1000);
    payment["custom"] = json!({ "reference": "Order 7" });
    let payment = merchant.transaction(&merchant.charge(&payment).await.expect(201));
    payment.capture(1000).await;
    Acquirer(&service).open(&payment, 600).await;
    let list = format!("/disputes?limit=1&filter[merchantId]={}", merchant.id);
    let dispute = ids(&merchant.app.list(&list).await).remove(0);
    let path = format!("/merchants/{}/disputes/{dispute}", merchant.id);
    (service, merchant, payment, path)
}

/// Opens the page that asks, and confirms as often as given.
async fn confirm(browser: &mut Browser, path: &str, times: usize) {
    let page = browser.get(path).await;
    let key = hidden(&page, "key");
    for _ in 0..times {
        let sent = browser.post(path, &[("key", &key)]).await;
        assert_eq!(
            (sent.status, sent.location.as_deref()),
            (303, path.rsplit_once('/').map(|it| it.0))
        );
    }
}

#[tokio::test]
async fn a_user_saves_and_submits_evidence() {
    let server = MailServer::start().await;
    let (service, merchant, payment, path) = disputed(&server).await;
    let mut browser = signed_in(&server, &service, &merchant).await;
    let page = browser.get(&path).await.text;
    let back = format!("/merchants/{}/payments/{}", merchant.id, payment.id);
    assert!(page.contains(&format!("href=\"{back}\"")) && page.contains("Days left"), "{page}");
    assert!(page.contains("<dt>Until</dt>") && !page.contains("<dt>Date</dt>"), "{page}");
    assert!(browser.get(&back).await.text.contains(&format!("href=\"{path}\"")));
    for list in [path.rsplit_once('/').unwrap().0, path.split_once("/disputes").unwrap().0] {
        let list = browser.get(list).await.text;
        assert!(list.contains("Order 7"), "{list}");
    }
    let submit = format!("{path}/submit");
    assert!(!page.contains(&submit));

    let wrong = browser.upload(&path, form(Some("<b>why"), &[("a.gif", b"GIF")])).await;
    assert_eq!((wrong.status, wrong.text.contains("aria-invalid")), (400, true), "{wrong:?}");
    assert!(wrong.text.contains("&#60;b&#62;why"), "{wrong:?}");
    let huge = vec![0; 6_000_000];
    let large = browser.upload(&path, form(None, &[("a.pdf", &huge)])).await;
    assert_eq!((large.status, large.text.contains("aria-invalid")), (400, true), "{large:?}");
    let saved = browser.upload(&path, form(Some("my text"), &[("a.pdf", PDF), ("", b"")])).await;
    assert_eq!((saved.status, saved.location.as_deref()), (303, Some(&*path)));
    let large = browser.upload(&path, form(Some("other"), &[("a.pdf", &huge)])).await.text;
    assert!(large.contains("other</textarea>"), "{large}");
    let large = browser.upload(&path, form(None, &[("a.pdf", &huge)])).await.text;
    assert!(large.contains("my text</textarea>"), "{large}");
    let page = browser.get(&path).await.text;
    assert!(page.contains("my text</textarea>"), "{page}");
    let link = page.split("href=\"").find(|rest| rest.contains(">a.pdf</a>")).unwrap();
    let file = link.split('"').next().unwrap().to_owned();
    assert!(file.starts_with(&format!("{path}/files/")), "{page}");
    let answer = browser.request(Method::GET, &file, &[], &[]).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "application/pdf");
    assert!(answer.headers()["content-disposition"].to_str().unwrap().starts_with("attachment;"));
    assert_eq!(answer.bytes().await.unwrap(), PDF);

    confirm(&mut browser, &submit, 2).await;
    let page = browser.get(&path).await.text;
    assert!(page.contains("Evidence submitted") && page.contains("a.pdf"), "{page}");
    assert!(!page.contains("<form method=\"post\" action=\"/merchants"), "{page}");
    // Nothing can be answered any more.
    for rest in ["/submit", "/accept"] {
        assert_eq!(browser.get(&format!("{path}{rest}")).await.status, 303);
    }
    assert_eq!(browser.upload(&path, form(Some("late"), &[])).await.status, 400);
    let list = browser.get(path.rsplit_once('/').unwrap().0).await.text;
    assert!(list.contains("Evidence submitted"), "{list}");
    let events = merchant.app.list("/events?limit=1&filter[type]=dispute.evidence").await;
    assert_eq!(events[0]["actor"]["type"], "user");
    let log = browser.get(&format!("/merchants/{}/log", merchant.id)).await.text;
    assert!(log.contains("Evidence submitted"), "{log}");
}

#[tokio::test]
async fn saved_files_are_kept_until_others_replace_them_or_the_user_removes_them() {
    let server = MailServer::start().await;
    let (service, merchant, _, path) = disputed(&server).await;
    let mut browser = signed_in(&server, &service, &merchant).await;
    let removes = "name=\"remove\"";
    assert!(!browser.get(&path).await.text.contains(removes));
    for (files, text, expected) in [
        (&[("a.pdf", PDF)][..], "first", "a.pdf"),
        (&[("", b"")], "second", "a.pdf"),
        (&[], "", "a.pdf"),
        (&[("b.pdf", PDF)], "third", "b.pdf"),
    ] {
        let saved = browser.upload(&path, form(Some(text), files)).await;
        assert_eq!(saved.status, 303, "{saved:?}");
        let page = browser.get(&path).await.text;
        assert!(page.contains(&format!("{text}</textarea>")) && page.contains(removes), "{page}");
        let names = between(&page, "/files/", "<").into_iter();
        let names: Vec<_> = names.filter_map(|link| link.split_once('>')).collect();
        assert!(names.len() == 1 && names[0].1 == expected, "{page}");
    }
    let remove = |text| {
        let (media, body) = form(Some(text), &[("", b"")]);
        let body = String::from_utf8(body).unwrap();
        (
            media,
            body.replace("name=\"file\"; filename=\"\"", removes)
                .replace("plain\r\n\r\n", "plain\r\n\r\nyes"),
        )
    };
    for (text, status) in [("", 400), ("alone", 303), ("", 400)] {
        let (media, body) = remove(text);
        let saved = browser.upload(&path, (media, body.into_bytes())).await;
        assert_eq!(saved.status, status, "{saved:?}");
    }
    let page = browser.get(&path).await.text;
    assert!(page.contains("alone</textarea>") && !page.contains("/files/"), "{page}");
    let wrong = browser.upload(&path, form(Some(""), &[])).await;
    assert_eq!((wrong.status, wrong.text.matches("aria-invalid").count()), (400, 1), "{wrong:?}");
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn a_user_accepts_a_loss() {
    let server = MailServer::start().await;
    let (service, merchant, payment, path) = disputed(&server).await;
    let mut browser = signed_in(&server, &service, &merchant).await;
    confirm(&mut browser, &format!("{path}/accept"), 2).await;
    service.settled().await;
    let fetched = payment.fetch().await;
    assert_eq!(fetched["trail"][1]["dispute"]["lost"], json!(true), "{fetched}");
    assert!(browser.get(&path).await.text.contains("Dispute lost"));
    let accepted = merchant.app.list("/events?limit=9&filter[type]=dispute.accepted").await;
    assert_eq!(accepted.len(), 1);
}

#[tokio::test]
async fn disputes_of_others_do_not_exist_and_money_needs_a_fresh_code() {
    let server = MailServer::start().await;
    let (service, merchant, _, path) = disputed(&server).await;
    let other = named(&service, "Other").await;
    let mut eve = signed_in(&server, &service, &other).await;
    let foreign = path.replace(&merchant.id, &other.id);
    for path in [&path, &foreign] {
        assert_eq!(eve.get(path).await.status, 404);
        assert_eq!(eve.upload(path, form(Some("text"), &[])).await.status, 404);
        for rest in ["/submit", "/accept"] {
            let page = eve.post(&format!("{path}{rest}"), &[("key", "1")]).await;
            assert_eq!(page.status, 404);
        }
    }
    let mut ann = signed_in(&server, &service, &merchant).await;
    let place = service.stop().await;
    place.change("UPDATE sessions SET verified = verified - 660000");
    let service = place.start().await;
    ann.desk = Browser::at(&service).desk;
    assert_eq!(ann.upload(&path, form(Some("text"), &[])).await.status, 303);
    for rest in ["/submit", "/accept"] {
        let path = format!("{path}{rest}");
        let page = ann.get(&path).await;
        assert!(page.location.as_deref().is_some_and(|to| to.starts_with("/code")), "{page:?}");
        let page = ann.post(&path, &[]).await;
        assert_eq!((page.status, hidden(&page, "then")), (403, path));
    }
}
