//! Answers of the portal that are almost right: what a proxy, a firewall or another server changes
//! on the way must not keep students out.

use std::{io::Write as _, net::TcpListener};

use blackbox::{
    authsvc::{Credentials, Service, Site},
    http::Answer,
};
use demo_portal::{ANYONE, Behaviour, Delivery, Operation, Script, Tls};
use flate2::{
    Compression,
    write::{GzEncoder, ZlibEncoder},
};
use serde_json::json;

const LOGIN: &str = r#"{"mobileJsonObject":{"login":"SUCCESS"},"accessToken":"t"}"#;
const PROFILE: &str = r#"{"MESSAGE":"SUCCESS","STUDENT_INFO":{"SRN":"s"}}"#;

/// Scripts both answers, and asks for the SRN. The portal has not issued the token of [`LOGIN`], and
/// does not know its user on a new connection.
async fn ask_srn(site: &Site, known: &Credentials, [login, profile]: [Behaviour; 2]) -> Answer {
    site.portal.script(&known.username, Operation::Login, login);
    for user in [ANYONE, &known.username] {
        site.portal.script(user, Operation::Profile, profile.clone());
    }
    site.ask(known, json!({ "profile": true, "fields": ["srn"] })).await
}

fn has_srn(answer: Answer) {
    let answer = answer.expect(200);
    assert!(answer.text().contains(r#""profile":{"srn":"s"}"#), "{answer:?}");
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn deflate(text: &str) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn a_compressed_answer_is_decoded_although_nobody_asked_for_it() {
    let site = Site::with(&[]).await;
    let known = site.student();
    for (coding, compress) in
        [("gzip", gzip as fn(&str) -> Vec<u8>), ("x-gzip", gzip), ("deflate", deflate)]
    {
        let compressed =
            |text| Behaviour::answer(200, compress(text)).header("content-encoding", coding);
        has_srn(ask_srn(&site, &known, [LOGIN, PROFILE].map(compressed)).await);
    }
    for call in site.portal.received(&known.username) {
        assert_eq!(call.header("accept-encoding"), Some("identity"));
    }
}

#[tokio::test]
async fn a_compressed_answer_that_cannot_be_read_is_named_in_the_log() {
    let site = Site::with(&[("PORTAL_MAX_RESPONSE", "1MiB")]).await;
    let known = site.student();
    let bomb = gzip(&format!(r#"{{"x":"{}"}}"#, " ".repeat(1 << 20)));
    assert!(bomb.len() < 4096);
    for (coding, body, cause) in [
        ("br", b"\x0b\x02\x80{}\x03".to_vec(), "a content coding other than gzip and deflate"),
        ("gzip", LOGIN.into(), "the compressed answer is damaged"),
        ("gzip", gzip(LOGIN)[..20].to_vec(), "the compressed answer is damaged"),
        ("gzip", bomb, "longer than PORTAL_MAX_RESPONSE"),
    ] {
        let answer = Behaviour::answer(200, body).header("content-encoding", coding);
        site.portal.script(&known.username, Operation::Login, answer);
        let _ = site.sign_in(&known).await.expect(502);
        site.process().logged(|line| line.contains(cause)).await;
    }
    let scrape = site.scrape().await;
    assert_eq!(scrape.count("/upstream/login/responsesByStatus/200"), 4);
}

/// A whole response with these lines in its head.
fn raw(lines: &str, body: &str) -> Behaviour {
    let length = body.len();
    Behaviour::raw(format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: {length}\r\n\r\n{body}"))
}

#[tokio::test]
async fn odd_heads_are_read_as_browsers_read_them() {
    let site = Site::with(&[]).await;
    let known = site.student();
    let many = |count: usize| (0..count).map(|n| format!("X-{n}: {n}\r\n")).collect::<String>();
    for (case, lines) in [
        ("101 headers", many(101)),
        ("900 headers", many(900)),
        ("a folded header", "X-Folded: one\r\n two\r\n\tthree\r\n".to_owned()),
        ("a name with a space", "Not A Name: 1\r\n".to_owned()),
        ("a name with other characters", "X(1): 1\r\nX@: 1\r\n\u{e9}: 1\r\n".to_owned()),
        ("no name", ": 1\r\n".to_owned()),
        ("no colon", "nothing\r\n".to_owned()),
        ("a space before the colon", "X-Space : 1\r\n".to_owned()),
        ("a value that is not UTF-8 text", "X-Value: \u{e9}\u{80}\r\n".to_owned()),
    ] {
        let answers = [LOGIN, PROFILE].map(|body| raw(&lines, body));
        let answer = ask_srn(&site, &known, answers).await;
        assert_eq!(answer.status, 200, "{case}");
        has_srn(answer);
    }
    let too_many = raw(&many(1_001), LOGIN);
    site.portal.script(&known.username, Operation::Login, too_many);
    let _ = site.sign_in(&known).await.expect(502);
}

#[tokio::test]
async fn a_401_that_is_not_the_portals_locks_nobody_out() {
    let limits = [("SIGN_IN_LIMIT_USERNAME", "1/1h"), ("SIGN_IN_LIMIT_ADDRESS", "1/1h")];
    let site = Site::with(&limits).await;
    let known = site.student();
    let page = "<html><body>Access denied by policy</body></html>";
    let cut_off = Behaviour::answer(401, json!({ "status": 401 })).delivered(Delivery::CloseEarly);
    let html = Behaviour::answer(401, page).header("content-type", "text/html");
    for answer in [
        html.clone(),
        html.header("content-type", "application/json"),
        Behaviour::answer(401, ""),
        Behaviour::answer(401, json!("Unauthorized")),
        Behaviour::answer(401, json!([])),
        cut_off,
    ] {
        site.portal.script(&known.username, Operation::Login, answer);
        let answer = site.sign_in(&known).await.expect(401);
        assert_eq!(answer.header("x-error-code"), Some("credentials_rejected"));
    }
    site.portal.script(&known.username, Operation::Login, Behaviour::honest());
    let _ = site.sign_in(&known).await.expect(200);
    let scrape = site.scrape().await;
    assert_eq!(scrape.count("/errorsByType/AuthenticationError"), 6);
    assert_eq!(scrape.count("/upstream/login/responsesByStatus/401"), 6);

    let is_drift = |line: &str| line.contains("a 401 differs from the portal's");
    site.process().logged(|line| is_drift(line) && line.contains("not a JSON object")).await;
    let log = site.process().log();
    let drift: Vec<_> = log.iter().filter(|line| is_drift(line)).collect();
    assert_eq!(drift.len(), 1, "{drift:#?}");
    assert!(drift[0].contains("WARN") && !log.join("").contains("Access denied"), "{drift:#?}");

    // The portal's own 401 counts.
    let rejected = Behaviour::answer(401, json!({ "error": "Unauthorized" }));
    site.portal.script(&known.username, Operation::Login, rejected);
    let _ = site.sign_in(&known).await.expect(401);
    let _ = site.sign_in(&known).await.expect(429);
}

#[tokio::test]
async fn a_401_without_an_end_is_401_when_the_time_is_up() {
    let site = Site::with(&[("PORTAL_TIMEOUT", "2s")]).await;
    let known = site.student();
    let endless = Behaviour::raw("HTTP/1.1 401 Unauthorized\r\nContent-Length: 9\r\n\r\n");
    let dripping = Behaviour::answer(401, json!({ "error": "Unauthorized" }));
    for answer in [endless, dripping.delivered(Delivery::Drip)] {
        site.portal.script(&known.username, Operation::Login, answer);
        let _ = site.sign_in(&known).await.expect(401);
    }
    assert_eq!(site.scrape().await.count("/upstream/login/success"), 2);
}

#[tokio::test]
async fn callers_get_the_pause_that_the_portal_asks_for() {
    let site = Site::with(&[]).await;
    let known = site.student();
    for (status, value, expected) in [
        (503, Some("60"), Some("60")),
        (429, Some("1"), Some("1")),
        (503, Some("0"), Some("1")),
        (429, Some("86400"), Some("300")),
        (503, Some("Tue, 31 Dec 2199 23:59:59 GMT"), Some("300")),
        (503, Some("Thu, 01 Jan 1998 00:00:00 GMT"), Some("1")),
        (503, Some("soon"), None),
        (503, None, None),
        (500, Some("60"), None),
        (302, Some("60"), None),
    ] {
        let mut busy = Behaviour::answer(status, "later");
        if let Some(value) = value {
            busy = busy.header("retry-after", value);
        }
        for operation in [Operation::Login, Operation::Profile] {
            site.portal.script(&known.username, operation, Script::queue([busy.clone()]));
            let answer = site.profile(&known).await.expect(502);
            assert_eq!(answer.header("retry-after"), expected, "{status} {value:?}");
        }
    }
    site.portal.script(&known.username, Operation::Login, Behaviour::answer(200, "{}"));
    assert_eq!(site.profile(&known).await.expect(502).header("retry-after"), None);
}

#[tokio::test]
async fn a_log_line_begins_with_a_short_cause() {
    let starts_with = |cause: &str| {
        let start = format!("request answered cause={cause}");
        move |line: &str| line.contains(&start) && line.contains("request.id=")
    };
    let site = Site::with(&[("PORTAL_TIMEOUT", "3s"), ("LOG_FORMAT", "text")]).await;
    let known = site.student();
    for (delivery, cause) in [
        (Delivery::ResetBefore, "connection reset: "),
        (Delivery::CloseBefore, "connection closed: "),
        (Delivery::NotHttp, "not HTTP: "),
        (Delivery::Hang, "no answer in time "),
    ] {
        site.portal.script(&known.username, Operation::Login, Behaviour::from(delivery));
        let _ = site.sign_in(&known).await.expect(502);
        site.process().logged(starts_with(cause)).await;
    }
    site.portal.script(&known.username, Operation::Login, Behaviour::answer(503, ""));
    let _ = site.sign_in(&known).await.expect(502);
    site.process().logged(starts_with("status 503 ")).await;
    for (tls, cause) in
        [(Tls::UnknownAuthority, "certificate refused: "), (Tls::Refuse, "TLS handshake failed: ")]
    {
        site.portal.script_tls(tls);
        let _ = site.sign_in(&known).await.expect(502);
        site.process().logged(starts_with(cause)).await;
    }

    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (url, cause) in [
        (format!("https://{free}"), "connection refused: "),
        ("https://nobody.invalid".to_owned(), "name not found: "),
    ] {
        let service = Service::with(&[("PORTAL_URL", &url), ("LOG_FORMAT", "text")]).await;
        let _ = service.sign_in("zoe", "opensesame", json!({})).await.expect(502);
        let host = url.trim_start_matches("https://").to_owned();
        let begins = starts_with(cause);
        service.process().logged(|line| begins(line) && line.contains(&host)).await;
    }
}
