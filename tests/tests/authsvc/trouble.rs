//! A failing portal: the answer has the documented status and comes before the timeout. The service
//! leaks no client and no request.

use std::time::Duration;

use blackbox::{
    authsvc::{Credentials, Service, Site},
    rereading::SettingFile,
};
use demo_portal::{ANYONE, Behaviour, Delivery, Operation, Options, Portal, Script, Student, Tls};
use futures_util::future::join_all;
use serde_json::json;
use tokio::time::Instant;

async fn site() -> (Site, Credentials) {
    let site = Site::with(&[("PORTAL_MAX_RESPONSE", "1MiB")]).await;
    let known = site.student();
    (site, known)
}

/// A site whose calls to the portal time out early, but not before an answer on a busy machine.
async fn impatient_site() -> (Site, Credentials) {
    let site = Site::with(&[("PORTAL_TIMEOUT", "3s")]).await;
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
    let (site, known) = impatient_site().await;
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
        // The default timeout is 10 s.
        assert!(begun.elapsed() < Duration::from_secs(9), "{delivery:?}: {:?}", begun.elapsed());
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
    let (site, known) = impatient_site().await;
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

/// The connections of the calls that the portal has received from a user.
fn connections(site: &Site, known: &Credentials) -> Vec<u64> {
    site.portal.received(&known.username).iter().map(|call| call.connection).collect()
}

#[tokio::test]
async fn a_profile_call_on_a_closed_connection_is_repeated_on_a_new_one() {
    let (site, known) = site().await;
    for (round, delivery) in
        (0..30).flat_map(|_| [Delivery::CloseBefore, Delivery::ResetBefore]).enumerate()
    {
        let script = Script::queue([delivery.into()]);
        site.portal.script(&known.username, Operation::Profile, script);
        let _ = site.profile(&known).await.expect(200);
        let calls = connections(&site, &known).split_off(3 * round);
        let [login, first, second] = calls[..] else { panic!("{delivery:?}: {calls:?}") };
        assert!(login == first && first != second, "{delivery:?}: {calls:?}");
    }
    let scrape = site.scrape().await;
    assert_eq!(scrape.count("/upstream/profile_fetch/success"), 60);
    assert_eq!(scrape.count("/upstream/profile_fetch/error"), 0);
    assert_eq!(scrape.count("/httpClients/created"), 60);
    is_at_rest(&site).await;
}

#[tokio::test]
async fn a_profile_call_is_repeated_only_once_and_only_after_the_login_on_its_connection() {
    let (site, known) = site().await;
    let closed = || Behaviour::from(Delivery::CloseBefore);
    site.portal.script(&known.username, Operation::Profile, closed());
    let _ = site.profile(&known).await.expect(502);
    assert_eq!(connections(&site, &known).len(), 3);

    // The portal ends the connection of the login, so that the profile call has a new one.
    let last = Behaviour::honest().header("connection", "close");
    let other = site.student();
    site.portal.script(&other.username, Operation::Login, last);
    site.portal.script(ANYONE, Operation::Profile, closed());
    let _ = site.profile(&other).await.expect(502);
    let dispatched = site.scrape().await.count("/upstream/profile_fetch/error");
    assert_eq!(dispatched, 2);
    assert_eq!(site.portal.counters().connections, 4);
}

#[tokio::test]
async fn a_login_is_not_repeated() {
    let (site, known) = site().await;
    for delivery in [Delivery::CloseBefore, Delivery::ResetBefore] {
        let before = connections(&site, &known).len();
        let script = Script::queue([delivery.into()]);
        site.portal.script(&known.username, Operation::Login, script);
        let _ = site.profile(&known).await.expect(502);
        assert_eq!(connections(&site, &known).len(), before + 1, "{delivery:?}");
    }
}

#[tokio::test]
async fn a_new_certificate_of_the_portal_is_trusted_without_a_restart() {
    let portal = Portal::start(Options::default()).unwrap();
    let ca = SettingFile::new("PORTAL_CA_FILE", portal.ca_pem());
    let other = Portal::start(Options::default()).unwrap();
    for portal in [&portal, &other] {
        portal.enrol(Student::new("zoe", "opensesame"));
    }
    let url = other.url();
    let settings = [("PORTAL_URL", url.as_str()), ca.variable()];
    let service = Service::with(&settings).await;
    let sign_in = async || service.sign_in("zoe", "opensesame", json!({})).await;
    let _ = sign_in().await.expect(502);

    ca.refused(service.process(), "no certificate").await;
    let _ = sign_in().await.expect(502);

    // The change is seen without SIGHUP.
    ca.replace(other.ca_pem());
    let read = |line: &str| line.contains("PORTAL_CA_FILE") && line.contains("file read again");
    service.process().logged(read).await;
    let _ = sign_in().await.expect(200);
    ca.remove();
    service
        .process()
        .logged(|line| line.contains("not usable") && line.contains("No such file"))
        .await;
    let _ = sign_in().await.expect(200);
}

#[tokio::test]
async fn clients_trust_a_restarted_demo_portal() {
    let directory = tempfile::tempdir().unwrap();
    let ca_file = directory.path().join("ca.pem");
    let first = Portal::start(Options { ca_file: Some(ca_file.clone()), ..Options::default() });
    let first = first.unwrap();
    let trusted = directory.path().join("trusted.pem");
    std::fs::copy(&ca_file, &trusted).unwrap();
    let address = first.address();
    let url = first.url();
    let settings = [("PORTAL_URL", url.as_str()), ("PORTAL_CA_FILE", trusted.to_str().unwrap())];
    let service = Service::with(&settings).await;
    first.enrol(Student::new("zoe", "opensesame"));
    let _ = service.sign_in("zoe", "opensesame", json!({})).await.expect(200);
    first.stop();
    let options = Options { address, ca_file: Some(ca_file), ..Options::default() };
    let second = Portal::start(options).unwrap();
    second.enrol(Student::new("zoe", "opensesame"));
    let _ = service.sign_in("zoe", "opensesame", json!({})).await.expect(200);
}

#[tokio::test]
async fn sign_ins_need_no_thread_each() {
    let site = Site::with(&[]).await;
    let known = site.student();
    let before = site.process().threads();
    site.portal.script(&known.username, Operation::Login, Behaviour::from(Delivery::Hang));
    let sign_ins = futures_util::future::join_all((0..200).map(|_| site.sign_in(&known)));
    let all_hang = site.until(|portal| portal.received(&known.username).len() == 200);
    tokio::select! {
        _ = sign_ins => panic!("the portal answered"),
        () = all_hang => {}
    }
    // One for the look-up of the name, and one that reads PORTAL_CA_FILE.
    let now = site.process().threads();
    assert!(now <= before + 2, "{before} threads before, {now} now");
}

#[tokio::test]
async fn sign_ins_need_a_valid_tls_handshake_with_the_portal() {
    let (site, known) = impatient_site().await;
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
async fn an_unreachable_portal_is_502_before_the_timeout() {
    let settings = [("PORTAL_URL", "https://127.0.0.1:9"), ("PORTAL_TIMEOUT", "1h")];
    let service = Service::with(&settings).await;
    let answer = service.sign_in("u", "p", json!({})).await.expect(502);
    assert!(answer.text().contains("could not be reached"));
    assert_eq!(service.scrape().await.count("/upstream/login/error"), 1);
    is_at_rest(&service).await;
}

#[tokio::test]
async fn a_slow_portal_call_does_not_delay_other_sign_ins() {
    let site = Site::with(&[("PORTAL_TIMEOUT", "60s")]).await;
    let (known, other) = (site.student(), site.student());
    site.portal.script(&known.username, Operation::Login, Behaviour::from(Delivery::Hang));
    let slow = join_all((0..50).map(|_| site.sign_in(&known)));
    let others = async {
        site.until(|portal| portal.received(&known.username).len() == 50).await;
        for _ in 0..20 {
            let _ = site.sign_in(&other).await.expect(200);
        }
    };
    tokio::select! {
        answers = slow => panic!("{answers:?}"),
        () = others => {}
    }
}
