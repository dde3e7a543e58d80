//! Interrupted sign-ins: the caller disconnects, or the service stops.

use std::time::Duration;

use blackbox::{
    authsvc::{Credentials, Scrape, Site},
    process::DEADLINE,
};
use demo_portal::{Behaviour, Delivery, Operation, Outcome};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{Instant, sleep, timeout},
};

/// Starts a sign-in that hangs in the given portal call, and returns its open connection.
async fn hanging_sign_in(site: &Site, operation: Operation) -> (Credentials, TcpStream) {
    let known = site.student();
    site.portal.script(&known.username, operation, Behaviour::from(Delivery::Hang));
    let mut caller = site.connect().await;
    let body = json!({
        "username": known.username, "password": known.password, "profile": true
    })
    .to_string();
    let head = format!(
        "POST /authenticate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    caller.write_all((head + &body).as_bytes()).await.unwrap();
    let calls = if operation == Operation::Login { 1 } else { 2 };
    site.until(|portal| portal.received(&known.username).len() == calls).await;
    (known, caller)
}

/// Scrapes until the condition holds.
async fn eventually(site: &Site, condition: impl Fn(&Scrape) -> bool) -> Scrape {
    let begun = Instant::now();
    loop {
        let scrape = site.scrape().await;
        if condition(&scrape) {
            return scrape;
        }
        assert!(begun.elapsed() < DEADLINE, "{scrape:?}");
        sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_disconnecting_caller_cancels_the_portal_call() {
    let site = Site::with(&[]).await;
    for (operation, name) in [(Operation::Login, "login"), (Operation::Profile, "profile_fetch")] {
        let before = site.scrape().await;
        let (known, caller) = hanging_sign_in(&site, operation).await;
        let during = site.scrape().await;
        assert_eq!(during.count("/requestsInFlight"), 2);
        let open = during.count("/httpClients/created") - during.count("/httpClients/closed");
        assert_eq!(open, 1, "one open client, of the hanging sign-in");
        let underway = during.count("/authentication/total") - during.sum("/authenticationResults");
        assert_eq!(underway, 1);
        drop(caller);
        let abandoned = |portal: &demo_portal::Controller| {
            portal.received(&known.username).last().unwrap().outcome == Outcome::Abandoned
        };
        site.until(abandoned).await;
        let after = eventually(&site, |scrape| scrape.count("/requestsInFlight") == 1).await;
        assert_eq!(after.abandoned(), before.abandoned() + 1);
        let cancelled = format!("/upstream/{name}/cancelled");
        assert_eq!(after.count(&cancelled), before.count(&cancelled) + 1);
        assert_eq!(after.count("/httpClients/created"), after.count("/httpClients/closed"));
        let failures = "/authenticationResults/failure";
        assert_eq!(after.count(failures), before.count(failures) + 1);
        assert_eq!(after.sum("/errorsByType"), 0);
        assert_eq!(after.count("/authentication/total"), after.sum("/authenticationResults"));
    }
}

#[tokio::test]
async fn a_disconnect_during_the_body_counts_as_abandoned() {
    let site = Site::with(&[]).await;
    for framing in ["Content-Length: 50\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n5\r\n{"] {
        let mut caller = site.connect().await;
        let head =
            "POST /authenticate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json";
        caller.write_all(format!("{head}\r\n{framing}").as_bytes()).await.unwrap();
        eventually(&site, |scrape| scrape.count("/requestsInFlight") == 2).await;
    }
    let after = eventually(&site, |scrape| scrape.abandoned() == 2).await;
    assert_eq!(after.count("/requests/failed"), 0);
    assert_eq!(after.sum("/validationErrorsByField"), 0);
    assert_eq!(after.sum("/errorsByType"), 0);
    let mut caller = site.connect().await;
    let head = "POST /authenticate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json";
    let wrong = format!("{head}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n");
    caller.write_all(wrong.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    caller.read_exact(&mut answer).await.unwrap();
    assert_eq!(
        &answer, b"HTTP/1.1 400",
        "malformed framing is answered: the caller is still connected"
    );
}

#[tokio::test]
async fn a_half_closed_connection_counts_as_disconnected() {
    let site = Site::with(&[]).await;
    let (_, mut caller) = hanging_sign_in(&site, Operation::Login).await;
    caller.shutdown().await.unwrap();
    let after = eventually(&site, |scrape| scrape.abandoned() == 1).await;
    assert_eq!(after.json()["upstream"]["login"]["cancelled"], 1);
}

#[tokio::test]
async fn every_scrape_adds_up_while_callers_come_and_go() {
    let site = Site::with(&[]).await;
    let site = &site;
    let known = site.student();
    let staying = async {
        for _ in 0..30 {
            let _ = site.profile(&known).await.expect(200);
        }
    };
    let leaving = async {
        for _ in 0..20 {
            drop(hanging_sign_in(site, Operation::Login).await);
        }
    };
    let scraping = async {
        for _ in 0..100 {
            site.scrape().await;
        }
    };
    futures_util::future::join3(staying, leaving, scraping).await;
    let after = eventually(site, |scrape| scrape.count("/requestsInFlight") == 1).await;
    assert_eq!(after.abandoned(), 20);
    assert_eq!(after.json()["authenticationResults"], json!({ "success": 30, "failure": 20 }));
    assert_eq!(after.count("/httpClients/closed"), 50);
}

#[tokio::test]
async fn a_slow_request_body_is_rejected_with_400() {
    let site = Site::with(&[]).await;
    let mut caller = site.connect().await;
    let head = "POST /authenticate HTTP/1.1\r\nHost: localhost\r\n\
                Content-Type: application/json\r\nContent-Length: 50\r\n\r\n{";
    caller.write_all(head.as_bytes()).await.unwrap();
    let mut first = [0; 1024];
    let read = timeout(DEADLINE, caller.read(&mut first)).await.unwrap().unwrap();
    let answer = String::from_utf8(first[..read].to_vec()).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert!(answer.contains("the body must arrive within 30 seconds"), "{answer}");
}

#[tokio::test]
async fn a_stopping_service_finishes_open_sign_ins() {
    let site = Site::with(&[]).await;
    let known = site.student();
    let late = Behaviour::honest().after(Duration::from_millis(700));
    site.portal.script(&known.username, Operation::Login, late);
    let (answer, ()) = futures_util::future::join(site.sign_in(&known), async {
        site.until(|portal| !portal.received(&known.username).is_empty()).await;
        site.process().terminate().await;
    })
    .await;
    let body: Value = serde_json::from_str(answer.expect(200).text()).unwrap();
    assert_eq!(body["status"], true);
}

#[tokio::test]
async fn a_stopping_service_waits_at_most_the_drain_timeout() {
    let site = Site::with(&[("DRAIN_TIMEOUT", "500ms")]).await;
    let (_, _caller) = hanging_sign_in(&site, Operation::Login).await;
    let begun = Instant::now();
    site.stop().await;
    // The default is 10 s.
    assert!(begun.elapsed() < Duration::from_secs(9), "{:?}", begun.elapsed());
}
