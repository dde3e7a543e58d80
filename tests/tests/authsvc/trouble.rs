//! A failing portal: the answer has the documented status and comes before the timeout. The service
//! leaks no client and no request.

use std::time::Duration;

use blackbox::authsvc::{Credentials, Service, Site};
use demo_portal::{Behaviour, Delivery, Operation, Tls};
use serde_json::json;
use tokio::time::Instant;

/// A site whose calls to the portal time out after one second.
async fn site() -> (Site, Credentials) {
    let site = Site::with(&[("PORTAL_TIMEOUT", "1s")]).await;
    let known = site.student();
    (site, known)
}

/// Checks that all clients are closed and that only the scrape is in flight.
async fn is_at_rest(service: &Service) {
    let scrape = service.scrape().await;
    assert_eq!(scrape.count("/httpClients/created"), scrape.count("/httpClients/closed"));
    assert_eq!(scrape.count("/requestsInFlight"), 1);
    assert_eq!(scrape.abandoned(), 0);
}

#[tokio::test]
async fn a_login_that_gets_no_answer_is_an_error() {
    let (site, known) = site().await;
    for delivery in [
        Delivery::Hang,
        Delivery::ResetBefore,
        Delivery::CloseBefore,
        Delivery::NotHttp,
        Delivery::Drip,
    ] {
        let before = site.scrape().await;
        site.portal.script(&known.username, Operation::Login, Behaviour::from(delivery));
        let begun = Instant::now();
        let _ = site.sign_in(&known).await.expect(502);
        assert!(begun.elapsed() < Duration::from_secs(5), "{delivery:?}: {:?}", begun.elapsed());
        let after = site.scrape().await;
        let grown = |pointer: &str| after.count(pointer) - before.count(pointer);
        assert_eq!(grown("/upstream/login/error"), 1, "{delivery:?}");
        assert_eq!(grown("/errorsByType/UpstreamError"), 1, "{delivery:?}");
        assert_eq!(after.sum("/upstream/login/responsesByStatus"), 0, "{delivery:?}");
    }
    is_at_rest(&site).await;
}

#[tokio::test]
async fn truncated_or_endless_login_answers_are_502() {
    let (site, known) = site().await;
    for delivery in [Delivery::ResetMidway, Delivery::CloseEarly, Delivery::Flood] {
        let before = site.scrape().await;
        site.portal.script(&known.username, Operation::Login, Behaviour::from(delivery));
        let _ = site.sign_in(&known).await.expect(502);
        let after = site.scrape().await;
        let grown = |pointer: &str| after.count(pointer) - before.count(pointer);
        assert_eq!(grown("/upstream/login/success"), 1, "{delivery:?}");
        assert_eq!(grown("/upstream/login/responsesByStatus/200"), 1, "{delivery:?}");
        assert_eq!(grown("/errorsByType/UpstreamError"), 1, "{delivery:?}");
    }
    is_at_rest(&site).await;
}

#[tokio::test]
async fn an_unanswered_profile_call_is_a_profile_fetch_error() {
    let (site, known) = site().await;
    for delivery in [Delivery::Hang, Delivery::ResetBefore, Delivery::NotHttp, Delivery::Drip] {
        let before = site.scrape().await;
        site.portal.script(&known.username, Operation::Profile, Behaviour::from(delivery));
        let _ = site.profile(&known).await.expect(502);
        let after = site.scrape().await;
        let grown = |pointer: &str| after.count(pointer) - before.count(pointer);
        assert_eq!(grown("/upstream/profile_fetch/error"), 1, "{delivery:?}");
        assert_eq!(grown("/errorsByType/ProfileFetchError"), 1, "{delivery:?}");
    }
    is_at_rest(&site).await;
}

#[tokio::test]
async fn truncated_or_endless_profiles_are_422() {
    let (site, known) = site().await;
    for delivery in [Delivery::ResetMidway, Delivery::CloseEarly, Delivery::Flood] {
        site.portal.script(&known.username, Operation::Profile, Behaviour::from(delivery));
        let _ = site.profile(&known).await.expect(422);
    }
    let scrape = site.scrape().await;
    assert_eq!(scrape.count("/profileParseErrors/response_structure"), 3);
    assert_eq!(scrape.count("/upstream/profile_fetch/success"), 3);
    is_at_rest(&site).await;
}

#[tokio::test]
async fn sign_ins_need_a_valid_tls_handshake_with_the_portal() {
    let (site, known) = site().await;
    for tls in
        [Tls::Expired, Tls::OtherHost, Tls::UnknownAuthority, Tls::Refuse, Tls::Hang, Tls::Reset]
    {
        site.portal.script_tls(tls);
        let _ = site.sign_in(&known).await.expect(502);
    }
    assert_eq!(site.portal.received(&known.username), []);
    let scrape = site.scrape().await;
    assert_eq!(scrape.count("/upstream/login/error"), 6);
    is_at_rest(&site).await;
    site.portal.script_tls(Tls::Valid);
    let _ = site.sign_in(&known).await.expect(200);
}

#[tokio::test]
async fn an_unreachable_portal_is_502_at_once() {
    let service = Service::with(&[("PORTAL_URL", "https://127.0.0.1:9")]).await;
    let begun = Instant::now();
    let answer = service.sign_in("u", "p", json!({})).await.expect(502);
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert!(answer.text().contains("could not be reached"));
    assert_eq!(service.scrape().await.count("/upstream/login/error"), 1);
    is_at_rest(&service).await;
}

#[tokio::test]
async fn a_slow_portal_call_does_not_delay_other_sign_ins() {
    let (site, known) = site().await;
    site.portal.script(&known.username, Operation::Login, Behaviour::from(Delivery::Hang));
    let slow = futures_util::future::join_all((0..50).map(|_| site.sign_in(&known)));
    let others = async {
        let other = site.student();
        for _ in 0..20 {
            let begun = Instant::now();
            let _ = site.sign_in(&other).await.expect(200);
            assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
        }
    };
    let (slow, ()) = futures_util::future::join(slow, others).await;
    assert!(slow.iter().all(|answer| answer.status == 502));
    is_at_rest(&site).await;
}
