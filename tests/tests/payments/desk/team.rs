//! The people and apps of a merchant, and the log.

use blackbox::{
    mail::MailServer,
    payments::{
        Merchant, Service,
        desk::{Browser, Page},
        email,
    },
    raw::{Connection, head},
};
use reqwest::Method;
use serde_json::json;

use super::users::{address, invited, link_of, named, set_up, start};

/// Lets a new user join the merchant who has an authenticator. Returns the e-mail address, too.
pub(super) async fn joined(
    server: &MailServer,
    service: &Service,
    merchant: &Merchant,
) -> (Browser, String) {
    let (mut browser, email) = (Browser::at(service), address());
    browser.use_link(&invited(server, merchant, &email).await).await;
    set_up(&mut browser, "").await;
    (browser, email)
}

/// The value of the first hidden key after this text.
pub(super) fn key_after(page: &Page, text: &str) -> String {
    let (_, rest) = page.text.split_once(text).unwrap_or_else(|| panic!("{text}: {page:?}"));
    let (_, rest) = rest.split_once("name=\"key\" value=\"").unwrap();
    rest.split('"').next().unwrap().to_owned()
}

/// The ID of the user with this address, as the API shows it.
pub(super) async fn user(merchant: &Merchant, email: &str) -> String {
    let users = merchant.list("/users?limit=9").await;
    let user = users.iter().find(|user| user["email"] == *email).unwrap();
    user["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn members_invite_renew_and_remove() {
    let server = MailServer::start().await;
    let service = start(&server).await;
    let (merchant, bob) = (named(&service, "Corner shop").await, address());
    let (mut browser, ann) = joined(&server, &service, &merchant).await;
    let people = format!("/merchants/{}/people", merchant.id);
    let page = browser.get(&people).await;
    assert!(page.text.contains(&ann) && page.text.contains("Member since"), "{page:?}");
    let key = key_after(&page, "<h2>Invite<");
    for wrong in ["", "bob"] {
        let page = browser.post(&people, &[("key", &key), ("email", wrong)]).await;
        assert!(page.status == 400 && page.text.contains("aria-invalid"), "{page:?}");
    }
    // A double click and another tab with the form send one mail.
    let form = [("key", &*key), ("email", &*bob)];
    let mut second = browser.clone();
    let both = tokio::join!(browser.post(&people, &form), second.post(&people, &form));
    for page in [both.0, both.1, browser.post(&people, &form).await] {
        assert_eq!((page.status, page.location.as_deref()), (303, Some(&*people)));
    }
    let first = link_of(&server.received(&bob, 1).await[0]);
    let page = browser.get(&people).await;
    assert!(page.text.contains(&bob) && page.text.contains("Invited: the link works"), "{page:?}");

    assert!(page.text.contains(&format!("aria-label=\"Remove: {bob}\"")), "{page:?}");
    let id = user(&merchant, &bob).await;
    let renew = format!("{people}/{id}/renew");
    let form = [("key", &*key_after(&page, &renew))];
    for _ in 0..2 {
        assert_eq!(browser.post(&renew, &form).await.status, 303);
    }
    let renewed = link_of(&server.received(&bob, 2).await[1]);
    let mut other = Browser::at(&service);
    assert_eq!(other.post(&first, &[]).await.status, 410);
    other.use_link(&renewed).await;
    set_up(&mut other, "").await;
    assert_eq!(browser.post(&renew, &[("key", "new")]).await.status, 404);

    // The last member stays, also if two remove each other at once.
    let remove = async |email: &str| format!("{people}/{}/revoke", user(&merchant, email).await);
    let (ann_path, bob_path) = (remove(&ann).await, remove(&bob).await);
    assert!(browser.get(&bob_path).await.text.contains(&format!("Remove {bob}?")));
    assert!(browser.get(&ann_path).await.text.contains("Remove yourself?"));
    let form = [("key", "1")];
    let both = tokio::join!(browser.post(&bob_path, &form), other.post(&ann_path, &form));
    let mut statuses = [both.0.status, both.1.status];
    statuses.sort_unstable();
    assert!([[303, 404], [303, 303], [303, 409]].contains(&statuses), "{statuses:?}");
    assert_eq!(merchant.list("/users?limit=9").await.len(), 1);
    let is_ann = merchant.list("/users?limit=9").await[0]["email"] == *ann;
    let (mut left, path) = if is_ann { (browser, ann_path) } else { (other, bob_path) };
    let page = left.post(&path, &[("key", "2")]).await;
    assert!(page.status == 409 && page.text.contains("The last member"), "{page:?}");
    // Who removes themselves is led to the first page.
    let (mut third, own) = joined(&server, &service, &merchant).await;
    let path = remove(&own).await;
    assert_eq!(third.post(&path, &form).await.location.as_deref(), Some("/"));
    assert_eq!(third.merchants().await, None);

    let developers = format!("/merchants/{}/developers", merchant.id);
    let app = format!("{developers}/{}/revoke", merchant.app.id);
    assert!(left.get(&developers).await.text.contains(&app));
    assert!(left.get(&app).await.text.contains("ends at once"));
    assert_eq!(left.post(&app, &[("key", "4")]).await.status, 303);
    let _ = merchant.get("").await.expect(403);
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn strangers_change_no_people() {
    let server = MailServer::start().await;
    let service = start(&server).await;
    let (merchant, other) = (named(&service, "Corner shop").await, named(&service, "Other").await);
    let (mut browser, _) = joined(&server, &service, &merchant).await;
    let ann = address();
    invited(&server, &other, &ann).await;
    let id = user(&other, &ann).await;
    let own = format!("/merchants/{}/people", merchant.id);
    let foreign = format!("/merchants/{}/people", other.id);
    let app = |merchant: &Merchant| {
        format!("/merchants/{}/developers/{}/revoke", merchant.id, other.app.id)
    };
    for (method, path) in [
        (Method::GET, foreign.clone()),
        (Method::POST, foreign.clone()),
        (Method::POST, format!("{foreign}/{id}/renew")),
        (Method::POST, format!("{foreign}/{id}/revoke")),
        (Method::POST, app(&other)),
        (Method::GET, format!("{own}/{id}/revoke")),
        (Method::POST, format!("{own}/{id}/renew")),
        (Method::GET, format!("{own}/x/revoke")),
        (Method::GET, app(&merchant)),
    ] {
        let page = browser.send(method.clone(), &path, &[("email", "bob@shop.example")]).await;
        assert_eq!(page.status, 404, "{method} {path}");
    }
    let page = browser.post(&format!("{own}/{id}/revoke"), &[("key", "1")]).await;
    assert_eq!(page.status, 404, "{page:?}");
    assert_eq!(other.list("/users?limit=9").await.len(), 1);
}

#[tokio::test]
async fn the_log_says_what_happened_and_who_did_it() {
    let server = MailServer::start().await;
    let service = start(&server).await;
    let (merchant, other) = (named(&service, "Corner shop").await, named(&service, "Other").await);
    let bob = address();
    let (mut browser, ann) = joined(&server, &service, &merchant).await;
    let payment = merchant.pay("EUR", 995).await;
    payment.capture(995).await;
    let at = |section: &str| format!("/merchants/{}/{section}", merchant.id);
    let app = format!("developers/{}", merchant.app.id);
    let id = async || user(&merchant, &bob).await;
    for (path, form) in [
        (at("people"), vec![("email", &*bob)]),
        (at(&format!("{app}/keys")), vec![("name", "Server")]),
        (at(&format!("{app}/webhooks")), vec![("url", "https://shop.example/")]),
    ] {
        let page = browser.post(&path, &form).await;
        assert!(page.status < 400, "{path}: {page:?}");
    }
    let form = [("key", "1")];
    for action in ["renew", "revoke"] {
        let path = at(&format!("people/{}/{action}", id().await));
        assert_eq!(browser.post(&path, &form).await.status, 303);
    }
    let page = browser.get(&at("log")).await;
    let lines = page.text.split("<li>").skip(1).map(|line| {
        let line = line.split("</li>").next().unwrap().replace("</", "<");
        let texts = line.split('<').filter_map(|part| part.split_once('>'));
        texts
            .map(|(_, text)| text.trim())
            .filter(|text| !text.is_empty())
            .skip(1)
            .collect::<Vec<_>>()
            .join(" ")
    });
    let lines: Vec<String> = lines.skip_while(|line| !line.contains(&bob)).collect();
    let payment_id = &payment.id;
    let expected = [format!("Member removed: {bob} {ann}"), format!("Invited again: {bob} {ann}")];
    assert_eq!(lines[..2], expected, "{lines:?}");
    assert!(lines[2].starts_with("Webhook created: ") && lines[2].ends_with(&ann), "{lines:?}");
    assert!(lines[3].starts_with("API key created: ") && lines[3].ends_with(&ann), "{lines:?}");
    let expected = [
        format!("Invited: {bob} {ann}"),
        format!("Captured: {payment_id} a test"),
        format!("Authorized: {payment_id} Automatically"),
        format!("Invitation accepted: {ann} {ann}"),
        format!("Invited: {ann} a test"),
    ];
    assert_eq!(lines[4..], expected, "{lines:?}");
    assert!(page.text.contains(&at(&format!("payments/{payment_id}"))));

    // What belongs to apps of other merchants is for their members.
    other.add(&merchant.app).await;
    assert!(!browser.get(&at("log")).await.text.contains("Webhook created"));
    assert_eq!(browser.get(&format!("/merchants/{}/log", other.id)).await.status, 404);
    for _ in 0..26 {
        merchant.pay("EUR", 100).await.void(100).await;
        merchant.invite(&address()).await;
    }
    let (mut query, mut sizes) = (String::new(), Vec::new());
    loop {
        let page = browser.get(&format!("{}{query}", at("log"))).await;
        sizes.push(page.text.matches("<li><time").count());
        let Some((_, rest)) = page.text.split_once("href=\"?before=") else { break };
        query = format!("?before={}", &rest[..24]);
    }
    assert_eq!(sizes, [50, 3 * 26 + 7 - 50]);
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn a_user_who_is_removed_while_a_form_arrives_changes_nothing() {
    let server = MailServer::start().await;
    let service = start(&server).await;
    let merchant = named(&service, "Corner shop").await;
    let (browser, ann) = joined(&server, &service, &merchant).await;
    let cookies = browser.cookies.iter().map(|(name, value)| format!("{name}={value}"));
    let headers = format!(
        "Expect: 100-continue\r\nSec-Fetch-Site: same-origin\r\nCookie: {}\r\n",
        cookies.collect::<Vec<_>>().join("; ")
    );
    let body = json!({ "key": "1", "email": email() }).to_string();
    let path = format!("/merchants/{}/people", merchant.id);
    let head = head(&path, &headers, body.len()).replace("localhost", "desk.example");
    let address = browser.desk.trim_start_matches("http://").parse().unwrap();
    let mut connection = Connection::open(address).await;
    assert_eq!(connection.ask(head).await.status, 100);
    let id = user(&merchant, &ann).await;
    let _ = merchant.app.delete(&merchant.path(&format!("/users/{id}"))).await.expect(204);
    let reply = connection.ask(body).await;
    assert!([303, 404].contains(&reply.status), "{reply:?}");
    assert_eq!(merchant.list("/users?limit=9").await.len(), 0);
}
