//! Sign-ins are isolated: they share no connection, TLS session, cookie or profile.

use blackbox::authsvc::Site;
use demo_portal::{Behaviour, Operation};
use futures_util::future::join_all;
use serde_json::Value;

#[tokio::test]
async fn each_sign_in_opens_its_own_tls_session() {
    let site = Site::with(&[]).await;
    let known = site.student();
    for _ in 0..5 {
        let _ = site.profile(&known).await.expect(200);
    }
    site.until(|portal| portal.counters().open == 0).await;
    let counters = site.portal.counters();
    assert_eq!((counters.connections, counters.handshakes), (5, 5));
    assert_eq!(counters.resumptions, 0);
}

#[tokio::test]
async fn cookies_are_dropped_and_redirects_are_not_followed() {
    let site = Site::with(&[]).await;
    let known = site.student();
    let cookie = Behaviour::honest().header("set-cookie", "session=1; Path=/");
    site.portal.script(&known.username, Operation::Login, cookie);
    let _ = site.profile(&known).await.expect(200);
    let _ = site.profile(&known).await.expect(200);
    let received = site.portal.received(&known.username);
    assert_eq!(received.len(), 4);
    assert!(received.iter().all(|call| call.header("cookie").is_none()), "{received:?}");

    site.portal.script(&known.username, Operation::Login, Behaviour::redirect(Operation::Login));
    let _ = site.sign_in(&known).await.expect(502);
    assert_eq!(site.portal.received(&known.username).len(), 5);
}

#[tokio::test]
async fn proxy_variables_of_the_environment_are_ignored() {
    let proxy = "http://127.0.0.1:9";
    let names = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    let site = Site::with(&names.map(|name| (name, proxy))).await;
    let _ = site.sign_in(&site.student()).await.expect(200);
}

#[tokio::test]
async fn concurrent_sign_ins_each_get_their_own_profile() {
    let site = Site::with(&[]).await;
    let sign_ins = (0..40).map(|number| {
        let site = &site;
        async move {
            let srn = format!("SRN-{number}");
            let known = site.student_with(|student| student.info("SRN", srn.as_str()));
            let answer = site.profile(&known).await.expect(200);
            let body: Value = serde_json::from_str(answer.text()).unwrap();
            assert_eq!(body["profile"]["srn"], srn);
        }
    });
    join_all(sign_ins).await;
    let scrape = site.scrape().await;
    assert_eq!(scrape.count("/authenticationResults/success"), 40);
    assert_eq!(scrape.count("/httpClients/closed"), 40);
}
