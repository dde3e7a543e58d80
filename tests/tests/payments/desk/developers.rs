//! API keys and webhooks at the desk.

use blackbox::{
    mail::MailServer,
    payments::{
        LOCAL, Merchant, Receiver,
        desk::{Browser, Page},
    },
    process::until,
};
use reqwest::Method;
use serde_json::json;

use super::{
    money::hidden,
    team::{joined, key_after, user},
    users::{address, invited, named, place, set_up, start},
};

/// The secret that a page shows.
pub(super) fn secret(page: &Page) -> Option<String> {
    let (_, rest) = page.text.split_once("class=\"secret\" value=\"")?;
    Some(rest.split('"').next().unwrap().to_owned())
}

#[tokio::test]
async fn a_key_is_shown_once_also_after_a_double_click() {
    let server = MailServer::start().await;
    let service = start(&server).await;
    let merchant = named(&service, "Corner shop").await;
    let (mut browser, _) = joined(&server, &service, &merchant).await;
    let app = format!("/merchants/{}/developers/{}", merchant.id, merchant.app.id);
    let list = browser.get(&format!("/merchants/{}/developers", merchant.id)).await;
    assert!(list.text.contains(&app), "{list:?}");
    let (page, keys) = (browser.get(&app).await, format!("{app}/keys"));
    let form = [("key", &*key_after(&page, &keys)), ("name", "Server+1")];
    let mut second = browser.clone();
    let both = tokio::join!(browser.post(&keys, &form), second.post(&keys, &form));
    let shown = secret(&both.0).unwrap();
    assert_eq!(secret(&both.1).as_ref(), Some(&shown));
    let own = merchant.app.list("/apps/me/keys?limit=9").await;
    assert_eq!((own.len(), &own[0]["name"]), (2, &"Server 1".into()));
    let newer = merchant.app.with_key(&shown);
    let _ = newer.get("/me").await.expect(200);
    // In another session, the form makes nothing that could be known.
    let (mut other, _) = joined(&server, &service, &merchant).await;
    let page = other.post(&keys, &form).await;
    assert!(secret(&page).is_some_and(|other| other != shown), "{page:?}");

    let place = service.stop().await;
    assert!(place.change("UPDATE idempotency SET created = created - 11000") > 0);
    let service = place.start().await;
    browser.desk = Browser::at(&service).desk;
    let page = browser.post(&keys, &form).await;
    assert!(secret(&page).is_none() && page.text.contains("It was shown once"), "{page:?}");
    let newer = newer.at(&service);
    let own = newer.list("/apps/me/keys?limit=9").await;
    assert_eq!(own.len(), 3);
    for (number, key) in own.iter().enumerate() {
        let path = format!("{keys}/{}/revoke", key["id"].as_str().unwrap());
        assert!(browser.get(&path).await.text.contains("refused at once"));
        for _ in 0..2 {
            let page = browser.post(&path, &[("key", "1")]).await;
            assert_eq!(page.status, if number < 2 { 303 } else { 400 }, "{page:?}");
            assert_eq!(page.text.contains("The last key"), number == 2);
        }
    }
    let long = "x".repeat(256);
    for (status, name) in [(400, &*long), (400, "x%0Ay"), (200, "")] {
        let page = browser.post(&keys, &[("key", name), ("name", name)]).await;
        assert_eq!(page.status, status, "{page:?}");
    }
    for number in 2..20 {
        assert_eq!(browser.post(&keys, &[("key", &*number.to_string())]).await.status, 200);
    }
    let page = browser.post(&keys, &[("key", "one+more")]).await;
    assert!(page.status == 400 && page.text.contains("the maximum"), "{page:?}");
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn webhooks_are_tested_changed_and_removed() {
    let (server, receiver) = (MailServer::start().await, Receiver::new().await);
    let (name, file) = receiver.trust();
    let place = place(&server).with(LOCAL.0, LOCAL.1).with(name, file);
    let service = place.start().await;
    let merchant = named(&service, "Corner shop").await;
    let (mut browser, _) = joined(&server, &service, &merchant).await;
    let app = format!("/merchants/{}/developers/{}", merchant.id, merchant.app.id);
    let all = format!("{app}/webhooks");
    let key = key_after(&browser.get(&app).await, &all);
    for wrong in ["", "x", "http://shop.example", "https://10.0.0.1/"] {
        let page = browser.post(&all, &[("key", &key), ("url", wrong)]).await;
        assert!(page.status == 400 && page.text.contains("aria-invalid"), "{page:?}");
    }
    let url = receiver.url("/one");
    let form = [("key", &*key), ("url", &*url), ("types[]", "transaction.created")];
    let shown = secret(&browser.post(&all, &form).await).unwrap();
    assert_eq!(secret(&browser.post(&all, &form).await), Some(shown.clone()));
    let own = merchant.app.list("/webhooks?limit=9").await;
    assert_eq!((own.len(), &own[0]["types"][0]), (1, &"transaction.created".into()));
    let webhook = format!("{all}/{}", own[0]["id"].as_str().unwrap());
    assert!(browser.get(&app).await.text.contains(&webhook));
    let page = browser.post(&format!("{webhook}/test"), &[]).await;
    assert!(page.text.contains("Delivered (204, "), "{page:?}");
    merchant.pay("EUR", 100).await;
    until(async || receiver.received().len() == 2).await;
    until(async || {
        browser.clone().get(&webhook).await.text.matches("Delivered (204, ").count() == 1
    })
    .await;
    let rotate = format!("{webhook}/rotate");
    let key = key_after(&browser.get(&webhook).await, &rotate);
    let rotated = secret(&browser.post(&rotate, &[("key", &key)]).await);
    assert!(rotated.is_some_and(|rotated| rotated != shown && rotated.starts_with("whsec_")));

    let replay = format!("{webhook}/replay");
    for (from, status) in [("x", 400), ("2099-01-01", 400), ("2026-01-01", 303)] {
        let form = [("key", "1"), ("from", from)];
        assert_eq!(browser.post(&replay, &form).await.status, status, "{from}");
    }
    until(async || receiver.received().len() == 3).await;
    let state = async || {
        let own = merchant.app.list("/webhooks?limit=9").await.remove(0);
        (own["url"].as_str().unwrap().to_owned(), own["types"].clone(), own["enabled"].clone())
    };
    let other = receiver.url("/other");
    let form = [("key", "1"), ("types[]", "payout.booked"), ("url", &*other)];
    assert_eq!(browser.post(&webhook, &form).await.status, 303);
    assert_eq!(state().await, (other.clone(), json!(["payout.booked"]), false.into()));
    assert!(browser.get(&app).await.text.contains(">Disabled<"));
    let form = [("key", "2"), ("enabled", "yes"), ("url", &*other)];
    assert_eq!(browser.post(&webhook, &form).await.status, 303);
    assert_eq!(state().await, (other, json!([]), true.into()));
    assert_eq!(browser.post(&webhook, &[("key", "3"), ("url", "x")]).await.status, 400);

    let delete = format!("{webhook}/delete");
    assert!(browser.get(&delete).await.text.contains("Nothing is sent"));
    for _ in 0..2 {
        let page = browser.post(&delete, &[("key", "1")]).await;
        assert_eq!(page.location.as_deref(), Some(&*app));
    }
    assert!(merchant.app.list("/webhooks?limit=9").await.is_empty());
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn an_app_of_other_merchants_is_managed_by_their_members_only() {
    let server = MailServer::start().await;
    let service = start(&server).await;
    let (merchant, other) = (named(&service, "Corner shop").await, named(&service, "Other").await);
    let webhook = merchant.app.webhook().await;
    let key = merchant.app.list("/apps/me/keys?limit=9").await.remove(0);
    other.add(&merchant.app).await;
    let (mut browser, ann) = joined(&server, &service, &merchant).await;
    let at = |merchant: &Merchant, app: &str| format!("/merchants/{}/developers{app}", merchant.id);
    let app = at(&merchant, &format!("/{}", merchant.app.id));
    let url = ("url", "https://shop.example/");
    let hook = format!("{app}/webhooks/{webhook}");
    let key = format!("{app}/keys/{}/revoke", key["id"].as_str().unwrap());
    let pages = [
        (Method::GET, app.clone()),
        (Method::POST, format!("{app}/keys")),
        (Method::GET, key.clone()),
        (Method::POST, key),
        (Method::POST, format!("{app}/webhooks")),
        (Method::GET, hook.clone()),
        (Method::POST, hook.clone()),
        (Method::POST, format!("{hook}/test")),
        (Method::POST, format!("{hook}/rotate")),
        (Method::POST, format!("{hook}/replay")),
        (Method::GET, format!("{hook}/delete")),
        (Method::POST, format!("{hook}/delete")),
        (Method::GET, at(&merchant, &format!("/{}", other.app.id))),
        (Method::GET, at(&other, "")),
    ];
    let before = merchant.app.list("/webhooks?limit=9").await;
    // Who is only invited is no member.
    let link = invited(&server, &other, &ann).await;
    let page = browser.get(&at(&merchant, "")).await;
    assert!(page.text.contains("shops of which you are not a member"), "{page:?}");
    assert!(!page.text.contains(&format!("{app}\"")), "{page:?}");
    for (method, path) in &pages {
        let page = browser.send(method.clone(), path, &[url, ("from", "2026-01-01")]).await;
        assert_eq!(page.status, 404, "{method} {path}");
    }
    assert_eq!(merchant.app.list("/webhooks?limit=9").await, before);
    assert_eq!(merchant.app.list("/apps/me/keys?limit=9").await.len(), 1);
    Browser::at(&service).use_link(&link).await;
    for (path, status) in [(&app, 200), (&hook, 200), (&pages[12].1, 404), (&pages[13].1, 200)] {
        assert_eq!(browser.get(path).await.status, status, "{path}");
    }
    // A webhook of another app is none of this app.
    let foreign = format!("{app}/webhooks/{}", other.app.webhook().await);
    for path in [foreign.clone(), format!("{foreign}/delete"), format!("{app}/webhooks/x")] {
        assert_eq!(browser.get(&path).await.status, 404, "{path}");
        assert_eq!(browser.post(&path, &[url]).await.status, 404, "{path}");
    }
    assert_eq!(other.app.list("/webhooks?limit=9").await.len(), 1);
}

#[tokio::test]
async fn the_overview_shows_only_webhooks_that_the_user_manages() {
    let server = MailServer::start().await;
    let service = start(&server).await;
    let (merchant, other) = (named(&service, "Corner shop").await, named(&service, "Other").await);
    let _webhook = merchant.app.webhook().await;
    let (mut browser, _) = joined(&server, &service, &merchant).await;
    let place = service.stop().await;
    assert_eq!(place.change("UPDATE webhooks SET disabled = 'failures'"), 1);
    let service = place.start().await;
    browser.desk = Browser::at(&service).desk;
    let overview = format!("/merchants/{}", merchant.id);
    assert!(browser.get(&overview).await.text.contains("Disabled webhooks"));
    other.by(&other.app.at(&service)).add(&merchant.app).await;
    assert!(!browser.get(&overview).await.text.contains("Disabled webhooks"));
}

#[tokio::test]
async fn apps_are_listed_page_by_page() {
    let server = MailServer::start().await;
    let service = start(&server).await;
    let merchant = named(&service, "Corner shop").await;
    let (mut browser, _) = joined(&server, &service, &merchant).await;
    for _ in 0..50 {
        merchant.add(&service.app().await).await;
    }
    let list = format!("/merchants/{}/developers", merchant.id);
    let first = browser.get(&list).await;
    assert_eq!(first.text.matches("/revoke\"").count(), 50);
    let (_, rest) = first.text.split_once("href=\"?before=").unwrap();
    let (before, _) = rest.split_once('"').unwrap();
    // The first app is the oldest.
    let last = browser.get(&format!("{list}?before={before}")).await;
    assert_eq!(last.text.matches("/revoke\"").count(), 1, "{last:?}");
    assert!(last.text.contains(&format!("{list}/{}/revoke", merchant.app.id)), "{last:?}");
    // Only the app that has created the merchant is managed by its members.
    assert!(last.text.contains(&format!("{list}/{}\"", merchant.app.id)), "{last:?}");
    assert_eq!(first.text.matches("shops of which you are not a member").count(), 50);
    assert!(!last.text.contains("?before="), "{last:?}");
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn people_keys_and_webhooks_need_a_fresh_code() {
    let server = MailServer::start().await;
    let service = start(&server).await;
    let merchant = named(&service, "Corner shop").await;
    let (mut browser, ann) = (Browser::at(&service), address());
    browser.use_link(&invited(&server, &merchant, &ann).await).await;
    let (_, codes) = set_up(&mut browser, "").await;
    let (id, webhook) = (user(&merchant, &ann).await, merchant.app.webhook().await);
    let app = &merchant.app.id;
    let place = service.stop().await;
    assert_eq!(place.change("UPDATE sessions SET verified = verified - 601000"), 1);
    let service = place.start().await;
    browser.desk = Browser::at(&service).desk;
    for (section, rests) in [
        ("people", vec![String::new(), format!("/{id}/renew"), format!("/{id}/revoke")]),
        (
            "developers",
            vec![
                format!("/{app}/revoke"),
                format!("/{app}/keys"),
                format!("/{app}/keys/{app}/revoke"),
            ],
        ),
        ("developers", vec![format!("/{app}/webhooks"), format!("/{app}/webhooks/{webhook}")]),
        (
            "developers",
            ["test", "rotate", "replay", "delete"]
                .map(|action| format!("/{app}/webhooks/{webhook}/{action}"))
                .into(),
        ),
    ] {
        for rest in rests {
            let path = format!("/merchants/{}/{section}{rest}", merchant.id);
            let page = browser.post(&path, &[]).await;
            assert_eq!((page.status, hidden(&page, "then")), (403, path));
        }
    }
    let merchant = merchant.by(&merchant.app.at(&service));
    assert_eq!(merchant.list("/users?limit=9").await.len(), 1);
    assert_eq!(merchant.app.list("/webhooks?limit=9").await.len(), 1);

    // After the code, the browser sends the form again. The first form is the same one.
    let path = format!("/merchants/{}/developers/{app}/webhooks", merchant.id);
    let form = [
        ("key", "1"),
        ("url", "https%3A%2F%2Fshop%2Eexample%2F%3Fa%3D%22%26then%3D%22"),
        ("types%5B%5D", "dispute%2Ewon"),
        ("types%5B%5D", "dispute%2Elost"),
    ];
    let asks = browser.post(&path, &form).await;
    let again = browser.enter_code(&asks, "1234567").await;
    assert!(again.status == 400 && again.text.contains("class=\"error\""), "{again:?}");
    let again = Page { status: 403, ..again };
    let (mut late, asked) = (browser.clone(), Page { status: 403, ..asks });
    let page = browser.enter_code(&again, &codes[0]).await;
    assert_eq!(page.status, 200, "{page:?}");
    assert_eq!(late.enter_code(&asked, &codes[0]).await, page);
    assert_eq!(browser.post(&path, &form).await, page);
    let webhooks = merchant.app.list("/webhooks?limit=9").await;
    assert_eq!(webhooks.len(), 2);
    let made = webhooks.iter().find(|made| made["id"] != *webhook).unwrap();
    assert_eq!(made["url"], "https://shop.example/?a=%22&then=%22");
    assert_eq!(made["types"], json!(["dispute.won", "dispute.lost"]));
}
