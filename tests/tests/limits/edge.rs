//! Requests whose host or transfer coding is malformed, and requests to other host names.

use std::net::SocketAddr;

use blackbox::{
    objstore, payments,
    process::Process,
    raw::{Connection, Reply},
};

use crate::subject::{Kind, Subject, scrape};

const ONLY_LOCALHOST: [(&str, &str); 1] = [("ALLOWED_HOSTS", "localhost")];

async fn ask(to: SocketAddr, request: &str) -> Reply {
    Connection::open(to).await.ask(request).await
}

/// A GET request to this host.
fn get(path: &str, host: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n")
}

/// The listeners of a service.
fn listeners(subject: &Subject) -> Vec<SocketAddr> {
    let process = subject.process();
    let pos = matches!(subject, Subject::Payments(..)).then(|| process.address_of("pos.address"));
    [process.address()].into_iter().chain(pos).collect()
}

/// Checks the error body of the service.
#[track_caller]
fn is_refused(reply: &Reply, kind: Kind, status: u16, name: &str) {
    assert_eq!(reply.status, status, "{kind:?}: {reply:?}");
    let body: serde_json::Value = serde_json::from_str(&reply.body).unwrap();
    if kind == Kind::Authsvc {
        assert_eq!(body["status"], false, "{reply:?}");
        assert!(body["timestamp"].is_string(), "{reply:?}");
        assert_eq!(reply.header("x-error-code"), Some(name), "{reply:?}");
    } else {
        assert_eq!(body["error"], name, "{kind:?}: {reply:?}");
    }
    assert!(reply.header("x-request-id").is_some(), "{reply:?}");
    assert_eq!(body["message"].as_str().unwrap().contains("ALLOWED_HOSTS"), status == 421);
}

#[tokio::test]
async fn a_request_has_one_valid_host() {
    for kind in Kind::ALL {
        let subject = Subject::with(kind, &[]).await;
        for request in [
            "GET /health HTTP/1.1\r\n\r\n".to_owned(),
            "GET http://localhost/health HTTP/1.1\r\n\r\n".to_owned(),
            "GET /health HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n".to_owned(),
            "GET /health HTTP/1.0\r\nHost: localhost\r\nHost: other\r\n\r\n".to_owned(),
            "GET /health HTTP/1.0\r\nHost: a/b\r\n\r\n".to_owned(),
            get("http://user@localhost/health", "localhost"),
            get("/health", ""),
            get("/health", "a/b?c"),
            get("/health", "user@localhost"),
            get("/health", "local host"),
            get("/health", "localhost:http"),
            get("/health", "::1"),
        ] {
            for to in listeners(&subject) {
                is_refused(&ask(to, &request).await, kind, 400, "invalid_host");
            }
        }
        for request in [
            "GET /health HTTP/1.0\r\n\r\n".to_owned(),
            "GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n".to_owned(),
            get("http://localhost:1/health", "other"),
            get("/health", "localhost:"),
            get("/health", "[::1]:1"),
        ] {
            let reply = ask(subject.address(), &request).await;
            assert_eq!(reply.status, 200, "{kind:?}, {request}: {reply:?}");
        }
    }
}

/// A path that only its host makes unreachable, and its status otherwise.
fn ordinary(kind: Kind) -> (&'static str, u16) {
    match kind {
        Kind::Authsvc => ("/readme", 308),
        Kind::Objstore => ("/watches", 401),
        Kind::Payments => ("/me", 401),
    }
}

#[tokio::test]
async fn only_allowed_hosts_and_addresses_are_answered() {
    for kind in Kind::ALL {
        let settings = if kind == Kind::Authsvc { &ONLY_LOCALHOST[..] } else { &[] };
        let subject = Subject::with(kind, settings).await;
        let (path, status) = ordinary(kind);
        for request in [
            get(path, "localhost"),
            get(path, "LocalHost.:99"),
            get(path, "127.0.0.1"),
            get(path, "192.0.2.7:80"),
            get(path, "[2001:db8::1]:80"),
            get(&format!("http://localhost{path}"), "evil.example"),
            format!("GET {path} HTTP/1.0\r\n\r\n"),
        ] {
            let reply = ask(subject.address(), &request).await;
            assert_eq!(reply.status, status, "{kind:?}, {request}: {reply:?}");
        }
        for request in [
            get(path, "evil.example"),
            get(path, "evil.example:80"),
            get(path, "localhost.evil.example"),
            get(path, "127.0.0.1.evil.example"),
            get(path, "2130706433"),
            get(path, "a.b.c.d.e"),
            get(&format!("http://evil.example{path}"), "localhost"),
            format!("GET {path} HTTP/1.0\r\nHost: evil.example\r\n\r\n"),
            get("/no/such/path", "evil.example"),
            format!("BREW {path} HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
            get("//health", "evil.example"),
            get("/health/", "evil.example"),
        ] {
            for to in listeners(&subject) {
                is_refused(&ask(to, &request).await, kind, 421, "host_not_allowed");
            }
        }
        for path in ["/health", "/ready", "/metrics"] {
            let reply = ask(subject.address(), &get(path, "evil.example")).await;
            let expected = if (kind, path) == (Kind::Authsvc, "/ready") { 404 } else { 200 };
            assert_eq!(reply.status, expected, "{kind:?}, {path}: {reply:?}");
        }
        warns_once(subject.process()).await;
    }
}

/// Checks that the log names the setting and the first foreign host, in one line.
async fn warns_once(process: &Process) {
    let is_warning = |line: &str| line.contains("ALLOWED_HOSTS");
    process.logged(is_warning).await;
    let log = process.log();
    let lines: Vec<_> = log.iter().filter(|line| is_warning(line)).collect();
    assert!(matches!(lines[..], [line] if line.contains("evil.example")), "{lines:?}");
}

#[tokio::test]
async fn a_page_that_rebinds_its_name_writes_and_reads_nothing() {
    let evil = "evil.example:5001";
    let store = objstore::Service::with(&[]).await;
    let post = |path, body: &str| {
        let length = body.len();
        format!(
            "POST {path} HTTP/1.1\r\nHost: {evil}\r\nOrigin: http://{evil}\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        )
    };
    let socket = format!(
        "GET /socket HTTP/1.1\r\nHost: {evil}\r\nOrigin: http://{evil}\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    let id = r#"{"ID":"4b1f0a4e-6f0f-4d53-9f0c-0d6f8c2a9b11"}"#;
    let requests =
        [post("/register", id), post("/get", "{}"), post("/set", "{}"), socket, get("/", evil)];
    for request in requests {
        let reply = ask(store.process().address(), &request).await;
        is_refused(&reply, Kind::Objstore, 421, "host_not_allowed");
        assert_eq!(reply.header("set-cookie"), None);
    }
    assert_eq!(store.stop().await.number("SELECT count(*) FROM clients"), 0);

    let service = payments::Service::with(&[]).await;
    let pos = service.process().address_of("pos.address");
    for (to, request) in [
        (service.process().address(), post("/apps", r#"{"name":"evil"}"#)),
        (service.process().address(), post("/apps/", r#"{"name":"evil"}"#)),
        (pos, get("/?token=x", evil)),
        (pos, post("/transactions", "{}")),
    ] {
        is_refused(&ask(to, &request).await, Kind::Payments, 421, "host_not_allowed");
    }
    assert_eq!(service.stop().await.number("SELECT count(*) FROM apps"), 0);
}

#[tokio::test]
async fn a_listed_host_replaces_localhost() {
    for kind in Kind::ALL {
        let settings = [
            ("ALLOWED_HOSTS", "one.example, Two.example."),
            ("PAYMENTS_POS_URL", "https://pay.example:1/shop"),
        ];
        let subject = Subject::with(kind, &settings).await;
        let (path, status) = ordinary(kind);
        let pay = if kind == Kind::Payments { status } else { 421 };
        for (host, expected) in [
            ("one.example", status),
            ("two.example", status),
            ("127.0.0.1", status),
            ("pay.example", pay),
            ("localhost", 421),
        ] {
            let reply = ask(subject.address(), &get(path, host)).await;
            assert_eq!(reply.status, expected, "{kind:?}, {host}: {reply:?}");
        }
    }
}

#[tokio::test]
async fn without_a_list_only_a_loopback_service_without_proxies_is_strict() {
    for (kind, settings) in [
        (Kind::Authsvc, &[][..]),
        (Kind::Objstore, &[("TRUSTED_PROXIES", "127.0.0.9")]),
        (Kind::Payments, &[("TRUSTED_PROXIES", "127.0.0.9")]),
        (Kind::Objstore, &[("HOST", "0.0.0.0")]),
        (Kind::Payments, &[("HOST", "0.0.0.0")]),
    ] {
        let subject = Subject::with(kind, settings).await;
        let (path, status) = ordinary(kind);
        let reply = ask(subject.address(), &get(path, "any.example")).await;
        assert_eq!(reply.status, status, "{kind:?}, {settings:?}: {reply:?}");
    }
}

/// A POST request whose body is empty, if these are read as chunked.
fn coded(path: &str, codings: &[&str]) -> String {
    let lines: String =
        codings.iter().map(|coding| format!("Transfer-Encoding: {coding}\r\n")).collect();
    format!("POST {path} HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n0\r\n\r\n")
}

#[tokio::test]
async fn a_body_is_chunked_once_or_not_at_all() {
    for kind in Kind::ALL {
        let subject = Subject::with(kind, &[]).await;
        let exchange = subject.ordinary();
        let unknown = if kind == Kind::Authsvc { 400 } else { 501 };
        for (codings, status) in [
            (&["gzip, chunked"][..], unknown),
            (&["gzip", "chunked"], unknown),
            (&["identity, chunked"], unknown),
            (&["chunked, chunked"], 400),
            (&["chunked", "chunked"], 400),
        ] {
            let mut connection = Connection::open(exchange.to).await;
            let reply = connection.ask(coded(exchange.path, codings)).await;
            is_refused(&reply, kind, status, "invalid_transfer_encoding");
            connection.ended().await;
        }
        let mut connection = Connection::open(exchange.to).await;
        let plain = connection.ask(coded(exchange.path, &["Chunked"])).await;
        assert!(![421, 501].contains(&plain.status), "{kind:?}: {plain:?}");
        assert!(!plain.body.contains("Transfer-Encoding"), "{kind:?}: {plain:?}");
        // The connection stays usable.
        let next = connection.ask(get("/health", "localhost")).await;
        assert!([200, 404].contains(&next.status), "{kind:?}: {next:?}");
    }
}

#[tokio::test]
async fn authsvc_counts_refused_requests_like_404() {
    let subject = Subject::with(Kind::Authsvc, &ONLY_LOCALHOST).await;
    let Subject::Authsvc(site, _) = &subject else { unreachable!() };
    let to = subject.address();
    let sign_in = |host| format!("POST /authenticate HTTP/1.1\r\n{host}Content-Length: 0\r\n\r\n");
    let _ = ask(to, &sign_in("Host: evil.example\r\n")).await;
    let _ = ask(to, &sign_in("")).await;
    let _ = ask(to, &coded("/authenticate", &["gzip, chunked"])).await;
    let _ = ask(to, &get("/nope", "evil.example")).await;
    let counted = scrape(site).await;
    assert_eq!(counted.count("/requests/failed"), 4);
    assert_eq!(counted.count("/failuresByFault/client"), 4);
    assert_eq!(counted.count("/responsesByStatus/421"), 2);
    assert_eq!(counted.count("/responsesByStatus/400"), 2);
    assert_eq!(counted.count("/requestsByRoute/POST ~1authenticate/requests"), 3);
    assert_eq!(counted.count("/requestsByRoute/GET <unmatched>/requests"), 1);
    assert_eq!(counted.sum("/errorsByType"), 0);
    assert_eq!(counted.sum("/validationErrorsByField"), 0);
    assert_eq!(counted.count("/authentication/total"), 0);
    assert_eq!(counted.abandoned(), 0);
}
