//! Limits on sign-ins: concurrent ones, and rejections per username and per client address.

use std::{net::Ipv4Addr, time::Duration};

use blackbox::{
    authsvc::{Credentials, Site},
    raw::{Connection, Reply, local, post},
};
use demo_portal::{Behaviour, Delivery, Operation, Script};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::subject::{eventually, scrape};

/// A sign-in request.
fn request(username: &str, password: &str, headers: &str) -> String {
    let body = json!({ "username": username, "password": password });
    post("/authenticate", headers, &body.to_string())
}

/// Sends a request from this address.
async fn ask_from(site: &Site, source: Ipv4Addr, request: String) -> Reply {
    Connection::from(source, site.process().address()).await.ask(request).await
}

async fn sign_in(site: &Site, username: &str, password: &str) -> Reply {
    ask_from(site, local(1), request(username, password, "")).await
}

fn is_limited(reply: &Reply) {
    assert_eq!(reply.status, 429, "{reply:?}");
    let wait: u64 = reply.header("retry-after").expect("a retry-after header").parse().unwrap();
    assert!((1..=3_600).contains(&wait), "{reply:?}");
    let body: Value = serde_json::from_str(&reply.body).unwrap();
    assert_eq!(body["status"], false, "{reply:?}");
}

/// Checks that the log at level info does not contain these names.
fn log_omits(site: &Site, names: &[&str]) {
    for line in site.process().log() {
        assert!(!names.iter().any(|name| line.contains(name)), "{line}");
    }
}

#[tokio::test]
async fn sign_ins_above_the_concurrency_limit_are_rejected() {
    let site = Site::with(&[("MAX_SIGN_INS", "2")]).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let known = site.student();
        site.portal.script(&known.username, Operation::Login, Behaviour::from(Delivery::Hang));
        let mut caller = Connection::open(site.process().address()).await;
        caller.send(request(&known.username, &known.password, "")).await;
        site.until(|portal| portal.received(&known.username).len() == 1).await;
        held.push(caller);
    }
    let known = site.student();
    let rejected = sign_in(&site, &known.username, &known.password).await;
    assert_eq!((rejected.status, rejected.header("retry-after")), (503, Some("1")), "{rejected:?}");
    let scrape = scrape(&site).await;
    assert_eq!(scrape.json()["errorsByType"], json!({ "OverloadError": 1 }));
    assert_eq!(scrape.count("/authentication/total"), 2, "a sign-in above the limit is no attempt");
    assert!(site.portal.received(&known.username).is_empty());
    drop(held);
    eventually("a sign-in is accepted again", async || {
        let answer = sign_in(&site, &known.username, &known.password).await;
        (answer.status == 200).then_some(())
    })
    .await;
}

#[tokio::test]
async fn rejections_per_username_are_limited() {
    let site = Site::with(&[("SIGN_IN_LIMIT_USERNAME", "3/1h")]).await;
    let (known, other) = (site.student(), site.student());
    let upper = known.username.to_uppercase();
    for name in [&known.username, &upper, &known.username] {
        assert_eq!(sign_in(&site, name, "wrong").await.status, 401);
    }
    is_limited(&sign_in(&site, &upper, "wrong").await);
    is_limited(&sign_in(&site, &known.username, &known.password).await);
    assert_eq!(sign_in(&site, &other.username, &other.password).await.status, 200);
    let scrape = scrape(&site).await;
    let errors = json!({ "AuthenticationError": 3, "RateLimitError": 2 });
    assert_eq!(scrape.json()["errorsByType"], errors);
    assert_eq!(scrape.count("/authentication/total"), 4, "a limited sign-in is no attempt");
    assert_eq!(scrape.sum("/validationErrorsByField"), 0);
    log_omits(&site, &[&known.username, &upper]);
}

#[tokio::test]
async fn a_success_clears_the_rejections_of_a_name() {
    let site = Site::with(&[("SIGN_IN_LIMIT_USERNAME", "3/1h")]).await;
    let Credentials { username, password } = site.student();
    for _ in 0..2 {
        assert_eq!(sign_in(&site, &username, "wrong").await.status, 401);
    }
    assert_eq!(sign_in(&site, &username, &password).await.status, 200);
    for _ in 0..3 {
        assert_eq!(sign_in(&site, &username, "wrong").await.status, 401);
    }
    is_limited(&sign_in(&site, &username, "wrong").await);
}

#[tokio::test]
async fn concurrent_guesses_do_not_pass_the_limit() {
    let site = Site::with(&[("SIGN_IN_LIMIT_USERNAME", "3/1h")]).await;
    let known = site.student();
    let answers = join_all((0..50).map(|_| sign_in(&site, &known.username, "wrong"))).await;
    let rejected = answers.iter().filter(|answer| answer.status == 401).count();
    assert_eq!(rejected, 3);
    assert_eq!(answers.iter().filter(|answer| answer.status == 429).count(), 47);
    assert_eq!(site.portal.received(&known.username).len(), 3);
}

#[tokio::test]
async fn portal_failures_are_not_counted_as_rejections() {
    let site = Site::with(&[("SIGN_IN_LIMIT_USERNAME", "3/1h")]).await;
    let Credentials { username, password } = site.student();
    let failing = (0..5).map(|_| Behaviour::answer(503, "come back later"));
    site.portal.script(&username, Operation::Login, Script::queue(failing));
    for _ in 0..5 {
        assert_eq!(sign_in(&site, &username, &password).await.status, 502);
    }
    assert_eq!(sign_in(&site, &username, &password).await.status, 200);
}

#[tokio::test]
async fn rejections_per_client_address_are_limited() {
    let settings = [("SIGN_IN_LIMIT_ADDRESS", "3/1h"), ("TRUSTED_PROXIES", "127.0.0.9")];
    let site = Site::with(&settings).await;
    let wrong = async |source: u8, forwarded: &str| {
        let headers = format!("X-Forwarded-For: {forwarded}\r\n");
        let known = site.student();
        ask_from(&site, local(source), request(&known.username, "wrong", &headers)).await
    };
    for _ in 0..3 {
        assert_eq!(wrong(9, "203.0.113.1").await.status, 401);
    }
    is_limited(&wrong(9, "203.0.113.1").await);
    is_limited(&wrong(9, "198.51.100.1, 203.0.113.1").await);
    assert_eq!(wrong(9, "203.0.113.2").await.status, 401, "another client of the proxy");
    for number in 0..3 {
        let claimed = format!("203.0.113.{number}");
        assert_eq!(
            wrong(8, &claimed).await.status,
            401,
            "an untrusted caller counts by its own address"
        );
    }
    is_limited(&wrong(8, "203.0.113.99").await);
    let scrape = scrape(&site).await;
    assert_eq!(scrape.count("/authentication/total"), 7);
    assert_eq!(scrape.count("/errorsByType/RateLimitError"), 3);
    log_omits(&site, &["203.0.113.", "198.51.100.", "127.0.0.8", "127.0.0.9"]);
}

#[tokio::test]
async fn concurrent_rejections_of_an_address_delay_its_next_sign_in() {
    let site = Site::with(&[("SIGN_IN_LIMIT_ADDRESS", "3/1h")]).await;
    let guess = async |_| {
        let Credentials { username, .. } = site.student();
        let slow = Behaviour::honest().after(Duration::from_secs(2));
        site.portal.script(&username, Operation::Login, slow);
        sign_in(&site, &username, "wrong").await.status
    };
    let answers = join_all((0..10).map(guess)).await;
    let rejected = answers.into_iter().filter(|&status| status == 401).count();
    assert!(rejected > 3, "a sign-in counts when the portal has rejected it");
    let limited = sign_in(&site, &site.student().username, "wrong").await;
    assert_eq!(limited.status, 429, "{limited:?}");
    let wait: usize = limited.header("retry-after").unwrap().parse().unwrap();
    // One is forgotten every 20 minutes.
    let most = (rejected - 2) * 1200;
    assert!((most - 60..=most).contains(&wait), "{rejected} rejections, {limited:?}");
}
