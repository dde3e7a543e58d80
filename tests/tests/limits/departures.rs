//! Callers that leave, with bytes behind their request that nobody has read.

use std::time::Duration;

use blackbox::{
    authsvc::Site,
    raw::{Connection, get, post},
};
use demo_portal::{Behaviour, Delivery, Operation, Outcome};
use serde_json::json;
use tokio::time::Instant;

use crate::subject::eventually;

/// Within what time it is noticed.
const SOON: Duration = Duration::from_secs(2);

/// A caller whose sign-in hangs leaves `behind` on its connection and goes.
async fn is_noticed(behind: &str) {
    let site = Site::with(&[]).await;
    let known = site.student();
    site.portal.script(&known.username, Operation::Login, Behaviour::from(Delivery::Hang));
    let body = json!({ "username": known.username, "password": known.password }).to_string();
    let mut caller = Connection::open(site.process().address()).await;
    caller.send(post("/authenticate", "", &body) + behind).await;
    site.until(|portal| portal.received(&known.username).len() == 1).await;
    let left = Instant::now();
    drop(caller);
    site.until(|portal| portal.received(&known.username)[0].outcome == Outcome::Abandoned).await;
    assert!(left.elapsed() < SOON, "noticed after {:?}", left.elapsed());
    let scrape = eventually("the request is over", async || {
        let scrape = site.scrape().await;
        (scrape.abandoned() == 1).then_some(scrape)
    })
    .await;
    assert!(left.elapsed() < SOON, "over after {:?}", left.elapsed());
    assert_eq!(scrape.count("/upstream/login/cancelled"), 1);
    assert_eq!(scrape.count("/httpClients/created"), scrape.count("/httpClients/closed"));
    assert_eq!(scrape.sum("/errorsByType"), 0);
}

#[tokio::test]
async fn a_caller_that_left_an_empty_line_is_noticed() {
    is_noticed("\r\n").await;
}

#[tokio::test]
async fn a_caller_that_left_another_request_is_noticed() {
    is_noticed(&get("/health")).await;
}

#[tokio::test]
async fn requests_sent_together_are_answered_in_turn() {
    let site = Site::with(&[]).await;
    let known = site.student();
    // Longer than it takes to look for those who left.
    let late = Behaviour::honest().after(Duration::from_millis(700));
    site.portal.script(&known.username, Operation::Login, late);
    let body = json!({ "username": known.username, "password": known.password }).to_string();
    let mut caller = Connection::open(site.process().address()).await;
    caller.send(post("/authenticate", "", &body) + &get("/health")).await;
    let [first, second] = [caller.reply().await, caller.reply().await];
    assert_eq!((first.status, second.status), (200, 200), "{first:?} {second:?}");
    assert!(first.body.contains("accepted"), "{first:?}");
}
