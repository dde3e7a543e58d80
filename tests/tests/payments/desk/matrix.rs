//! Every page of the desk, and everybody who may not use it.

use std::{collections::BTreeSet, time::Duration};

use blackbox::{
    mail::MailServer,
    payments::{
        Stopped,
        desk::{Browser, Page},
    },
    postgres::{Cluster, Database},
};
use reqwest::Method;
use tokio::time::sleep;

use super::users::{command, invited, named, set_up, signed_in, start, with_desk};

/// Longer than the pauses between what the service does by itself.
const IDLE: Duration = Duration::from_secs(5);

/// The pages of a merchant, with names in braces.
fn routes() -> Vec<&'static str> {
    let routes = include_str!("../../../../crates/payments-svc/src/desk.rs").split('"');
    let routes: Vec<_> = routes.filter(|text| text.starts_with("/merchants/{")).collect();
    assert!(routes.len() >= 12, "{routes:?}");
    routes
}

/// The answers to `GET` and `POST` of every page.
async fn all(browser: &mut Browser, merchant: &str, payment: &str) -> Vec<Page> {
    let mut pages = Vec::new();
    for route in routes() {
        let path = route.replace("{merchant}", merchant).replace("{payment}", payment);
        let names = ["{dispute}", "{user}", "{app}", "{key}", "{webhook}"].into_iter();
        let path = names.fold(path, |path, name| path.replace(name, &"1".repeat(24)));
        let path = path.replace("{movement}", "refund").replace(['{', '}'], "");
        for method in [Method::GET, Method::POST] {
            pages.push(browser.send(method, &path, &[]).await);
        }
    }
    pages
}

/// Whether each page leads to this path, or is a method that the page does not have.
fn lead(pages: &[Page], path: &str) -> bool {
    let leads = |page: &Page| page.location.as_deref().is_some_and(|to| to.starts_with(path));
    let no_method = |page: &&Page| !leads(page) && page.status == 404;
    let count = pages.iter().filter(|page| leads(page)).count();
    count + pages.iter().filter(no_method).count() == pages.len() && count >= pages.len() / 2
}

#[tokio::test]
async fn nobody_else_sees_a_page_of_a_merchant() {
    let server = MailServer::start().await;
    let mut service = start(&server).await;
    let (merchant, other) = (named(&service, "Corner shop").await, named(&service, "Other").await);
    let paid = merchant.pay("EUR", 1000).await;
    paid.capture(1000).await;
    let (shop, payment) = (&*merchant.id, &*paid.id);

    assert!(lead(&all(&mut Browser::at(&service), shop, payment).await, "/sign-in"));
    // A merchant of others looks as if it did not exist.
    let mut eve = signed_in(&server, &service, &other).await;
    let missing = all(&mut eve, &"1".repeat(24), payment).await;
    assert!(missing.iter().all(|page| page.status == 404), "{missing:?}");
    assert_eq!(all(&mut eve, shop, payment).await, missing);
    // So do payments of others.
    for page in ["", "/refund"] {
        let path = format!("/merchants/{}/payments/{payment}{page}", other.id);
        assert_eq!(eve.get(&path).await.status, 404, "{path}");
    }

    let ann = "fine-ann@shop.example";
    let mut browser = Browser::at(&service);
    browser.use_link(&invited(&server, &merchant, ann).await).await;
    let _ = set_up(&mut browser, "").await;
    let (_, link) = command(service.data(), "sign-in-link", ann).await;
    let mut no_code = Browser::at(&service);
    no_code.use_link(link.trim_start_matches("http://desk.example")).await;
    assert!(lead(&all(&mut no_code, shop, payment).await, "/code"));
    for route in routes() {
        let path = route.replace("{merchant}", shop).replace("{payment}", payment);
        let other_origin = [("sec-fetch-site", "cross-site")];
        let page = browser.send_with(Method::POST, &path, &[], &other_origin).await;
        assert_eq!(page.status, 403, "{path}");
    }
    assert_eq!(
        browser.get(&format!("/merchants/{shop}/payments/{payment}/refund")).await.status,
        200
    );

    for (column, minutes, asks) in [("verified", 11, "/code?next="), ("used", 31, "/sign-in")] {
        let place = service.stop().await;
        place.change(&format!("UPDATE sessions SET {column} = {column} - {}", minutes * 60_000));
        service = place.start().await;
        browser.desk = Browser::at(&service).desk;
        let refund = format!("/merchants/{shop}/payments/{payment}/refund");
        let page = browser.get(&refund).await;
        assert!(page.location.as_deref().unwrap().starts_with(asks), "{page:?}");
        let page = browser.post(&refund, &[]).await;
        let expected = if column == "verified" { (403, None) } else { (303, Some(asks)) };
        assert_eq!((page.status, page.location.as_deref()), expected);
    }
    assert!(lead(&all(&mut browser, shop, payment).await, "/sign-in"));
    assert_eq!(service.data().number("SELECT refunded FROM transactions"), 0);
}

/// All statements so far, without their values.
fn statements(database: &Database) -> Vec<String> {
    let log = database.server_log();
    let entries = log.split("LOG:  execute ").skip(1);
    let texts = entries.filter_map(|entry| entry.split_once(": ")?.1.split("\n2").next());
    texts.map(str::to_owned).collect()
}

#[tokio::test]
async fn a_merchant_of_others_costs_the_statements_of_a_missing_one() {
    let server = MailServer::start().await;
    let cluster = Cluster::start();
    let database = cluster.database();
    database.set("log_statement = 'all'");
    let place = with_desk(&server, Stopped::on(Some(database.clone()), &[]));
    let service = place.start().await;
    let (merchant, other) = (named(&service, "Corner shop").await, named(&service, "Other").await);
    let paid = merchant.pay("EUR", 1000).await;
    let mut eve = signed_in(&server, &service, &other).await;
    let missing = "1".repeat(24);
    // Caches are filled, and the session is marked as used.
    let _ = all(&mut eve, &merchant.id, &paid.id).await;
    let before = statements(&database).len();
    sleep(IDLE).await;
    let by_itself: BTreeSet<_> = statements(&database).into_iter().skip(before).collect();
    let mut caused = Vec::new();
    for merchant in [&merchant.id, &missing] {
        let before = statements(&database).len();
        let _ = all(&mut eve, merchant, &paid.id).await;
        let since = statements(&database).into_iter().skip(before);
        caused.push(since.filter(|text| !by_itself.contains(text)).collect::<Vec<_>>());
    }
    assert!(caused[0].len() >= routes().len(), "{caused:?}");
    assert_eq!(caused[0], caused[1]);
}
