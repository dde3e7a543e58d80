//! Callers that disconnect during a request, with unread bytes behind that request.

use std::time::Duration;

use blackbox::{
    authsvc::Site,
    raw::{Connection, get, post},
};
use demo_portal::{Behaviour, Delivery, Operation, Outcome};
use serde_json::json;

use crate::subject::eventually;

/// A caller sends a sign-in that hangs, then `behind`, and disconnects.
async fn disconnect_is_noticed(behind: &str) {
    let site = Site::with(&[]).await;
    let student = site.student();
    site.portal.script(&student.username, Operation::Login, Behaviour::from(Delivery::Hang));
    let body = json!({ "username": student.username, "password": student.password }).to_string();
    let mut caller = Connection::open(site.process().address()).await;
    caller.send(post("/authenticate", "", &body) + behind).await;
    site.until(|portal| portal.received(&student.username).len() == 1).await;
    drop(caller);
    site.until(|portal| portal.received(&student.username)[0].outcome == Outcome::Abandoned).await;
    let scrape = eventually("the request has ended", async || {
        let scrape = site.scrape().await;
        (scrape.abandoned() == 1).then_some(scrape)
    })
    .await;
    assert_eq!(scrape.count("/upstream/login/cancelled"), 1);
    assert_eq!(scrape.count("/httpClients/created"), scrape.count("/httpClients/closed"));
    assert_eq!(scrape.sum("/errorsByType"), 0);
}

#[tokio::test]
async fn a_disconnect_after_an_extra_empty_line_is_noticed() {
    disconnect_is_noticed("\r\n").await;
}

#[tokio::test]
async fn a_disconnect_after_a_pipelined_request_is_noticed() {
    disconnect_is_noticed(&get("/health")).await;
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let site = Site::with(&[]).await;
    let student = site.student();
    // Longer than the interval of the service's checks for disconnected callers.
    let delayed = Behaviour::honest().after(Duration::from_millis(700));
    site.portal.script(&student.username, Operation::Login, delayed);
    let body = json!({ "username": student.username, "password": student.password }).to_string();
    let mut caller = Connection::open(site.process().address()).await;
    caller.send(post("/authenticate", "", &body) + &get("/health")).await;
    let [first, second] = [caller.reply().await, caller.reply().await];
    assert_eq!((first.status, second.status), (200, 200), "{first:?} {second:?}");
    assert!(first.body.contains("accepted"), "{first:?}");
}
