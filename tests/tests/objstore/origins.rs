//! Requests of pages of other origins, with the headers that browsers send.

use blackbox::{
    objstore::{Client, DOCUMENT, Key, Object, Service, batch},
    raw::{Connection, Reply},
};
use serde_json::Value;

/// The host that the requests name.
const HOST: &str = "localhost:5001";

/// An origin that the services of these tests list.
const LISTED: &str = "http://app.localhost:8080";

/// Headers of programs, and of pages of the service itself and of [`LISTED`].
const ADMITTED: [&str; 8] = [
    "",
    "Origin: http://localhost:5001\r\n",
    "Origin: https://LOCALHOST:5001\r\n",
    "Sec-Fetch-Site: same-origin\r\n",
    "Sec-Fetch-Site: same-origin\r\nOrigin: http://localhost:5001\r\n",
    "Sec-Fetch-Site: none\r\n",
    "Origin: http://app.localhost:8080\r\n",
    "Sec-Fetch-Site: same-site\r\nOrigin: http://app.localhost:8080\r\n",
];

/// Headers of pages of other origins.
const REFUSED: [&str; 12] = [
    "Sec-Fetch-Site: cross-site\r\n",
    "Sec-Fetch-Site: same-site\r\n",
    "Sec-Fetch-Site: cross-site\r\nOrigin: http://localhost:5001\r\n",
    "Sec-Fetch-Site: same-site\r\nOrigin: http://localhost:5002\r\n",
    "Sec-Fetch-Site: cross-site\r\nOrigin: null\r\n",
    "Sec-Fetch-Site: else\r\n",
    "Origin: http://localhost:5002\r\n",
    "Origin: http://localhost\r\n",
    "Origin: http://sibling.localhost:5001\r\n",
    "Origin: http://app.localhost:8081\r\n",
    "Origin: https://evil.example\r\n",
    "Origin: null\r\n",
];

/// `/register`, and every operation for which the document requires the cookie.
fn routes() -> Vec<(String, String)> {
    let paths = DOCUMENT.at("/paths").as_object().unwrap().iter();
    let operations = paths.flat_map(|(path, item)| {
        item.as_object().unwrap().iter().map(move |(method, operation)| (path, method, operation))
    });
    let guarded = operations
        .filter(|(path, _, operation)| *path == "/register" || operation.get("security").is_none())
        // Its answers have no body, and the same guard as those to `GET`.
        .filter(|(_, method, _)| *method != "head");
    let routes: Vec<_> =
        guarded.map(|(path, method, _)| (method.to_uppercase(), path.clone())).collect();
    assert!(routes.len() >= 11, "{routes:?}");
    routes
}

fn cookie(client: &Client) -> String {
    format!("Cookie: token={}\r\n", client.token())
}

/// Sends a request with these header lines. Its body has no type, as that of a `Blob`.
async fn ask(service: &Service, line: &str, headers: &str, body: &str) -> Reply {
    let length = body.len();
    let request = format!(
        "{line} HTTP/1.1\r\nHost: {HOST}\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    );
    Connection::open(service.process().address()).await.ask(request).await
}

/// Sends a valid request to a route.
async fn call(service: &Service, (method, path): &(String, String), headers: &str) -> Reply {
    let body = match path.as_str() {
        "/register" => format!(r#"{{"ID":"{}"}}"#, uuid::Uuid::new_v4()),
        "/set" => Object::fresh().body(),
        "/batch" => batch(&[Object::fresh().operation("")]),
        "/get" | "/delete" | "/find" | "/watch" | "/unwatch" => Key::fresh().body(),
        _ => String::new(),
    };
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let headers =
        if path == "/socket" { format!("{upgrade}{headers}") } else { headers.to_owned() };
    ask(service, &format!("{method} {path}"), &headers, &body).await
}

/// The name of an error, or an empty text.
fn error(reply: &Reply) -> String {
    let body: Option<Value> = serde_json::from_str(&reply.body).ok();
    body.and_then(|body| Some(body.get("error")?.as_str()?.to_owned())).unwrap_or_default()
}

async fn service() -> Service {
    Service::with(&[("OBJSTORE_ORIGINS", LISTED)]).await
}

#[tokio::test]
async fn a_page_of_another_origin_reads_and_writes_nothing() {
    let service = service().await;
    let victim = service.client().await;
    let kept = Object::fresh();
    victim.set(&kept).await;
    let before = service.data().writes();
    for headers in REFUSED {
        for route in routes() {
            for cookie in [cookie(&victim), String::new()] {
                let reply = call(&service, &route, &format!("{headers}{cookie}")).await;
                let expected = match (route.1.as_str(), cookie.as_str()) {
                    ("/socket", "") => (401, "unauthenticated"),
                    ("/socket", _) => (401, "origin_not_allowed"),
                    _ => (403, "cross_origin"),
                };
                let found = error(&reply);
                assert_eq!((reply.status, &*found), expected, "{headers:?} {route:?} {cookie}");
                assert!(reply.header("set-cookie").is_none(), "{headers:?} {route:?} {cookie}");
                is_not_shared(&reply);
            }
        }
    }
    assert_eq!(service.data().writes(), before);
    assert_eq!(victim.find(&Key::new("", "", "")).await, [kept]);
    assert_eq!(victim.fetch("/watches").await.expect(200).text(), "[]");
}

#[tokio::test]
async fn programs_and_admitted_pages_need_only_the_cookie() {
    let service = service().await;
    for headers in ADMITTED {
        for route in routes() {
            // A new one each time, because `/logout` ends the session.
            let client = service.client().await;
            let reply = call(&service, &route, &format!("{headers}{}", cookie(&client))).await;
            let expected = match route.1.as_str() {
                "/register" | "/find" | "/batch" | "/watches" => 200,
                path if path.starts_with("/streams") => 200,
                "/get" | "/delete" => 422,
                "/socket" => 101,
                _ => 204,
            };
            assert_eq!(reply.status, expected, "{headers:?} {route:?} {reply:?}");
            let reply = call(&service, &route, headers).await;
            let expected = if route.1 == "/register" { 200 } else { 401 };
            assert_eq!(reply.status, expected, "{headers:?} {route:?} {reply:?}");
        }
    }
}

#[tokio::test]
async fn another_origin_is_refused_before_the_body_arrives() {
    let service = service().await;
    let cookie = cookie(&service.client().await);
    for (method, path) in routes().into_iter().filter(|(method, _)| method == "POST") {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {HOST}\r\n{cookie}Sec-Fetch-Site: same-site\r\n\
             Content-Type: text/plain\r\nContent-Length: 1000000000\r\n\r\n"
        );
        let reply = Connection::open(service.process().address()).await.ask(head).await;
        assert_eq!((reply.status, &*error(&reply)), (403, "cross_origin"), "{path}");
    }
}

#[tokio::test]
async fn routes_without_a_cookie_answer_every_page() {
    let service = service().await;
    for path in ["/health", "/ready", "/metrics", "/openapi.json", "/", "/docs", "/page.js"] {
        for headers in REFUSED {
            let reply = ask(&service, &format!("GET {path}"), headers, "").await;
            assert_eq!(reply.status, 200, "{path} {headers:?}");
            is_not_shared(&reply);
        }
    }
}

/// Checks that the answer has no header that lets a page of another origin read it.
#[track_caller]
fn is_not_shared(reply: &Reply) {
    let cors = reply.head.iter().find(|line| line.starts_with("access-control-"));
    assert_eq!(cors, None, "{reply:?}");
    let varies = reply.head.iter().any(|line| line.eq_ignore_ascii_case("vary: origin"));
    assert!(!varies, "{reply:?}");
}

/// Checks that the answer has exactly the headers with which a page of [`LISTED`] can read it.
#[track_caller]
fn is_shared(reply: &Reply) {
    let cors = reply.head.iter().filter(|line| line.starts_with("access-control-"));
    let mut cors: Vec<&str> = cors.map(String::as_str).collect();
    cors.sort_unstable();
    let expected = [
        "access-control-allow-credentials: true",
        "access-control-allow-origin: http://app.localhost:8080",
        "access-control-expose-headers: ETag, Next-Cursor, Object-Expires, Object-Presence, \
         Retry-After, Stream-Next-Offset, Stream-Cursor, Stream-Up-To-Date",
    ];
    assert_eq!(cors, expected, "{reply:?}");
    assert!(reply.head.iter().any(|line| line.eq_ignore_ascii_case("vary: origin")), "{reply:?}");
}

#[tokio::test]
async fn every_answer_is_shared_with_a_listed_origin_only() {
    let settings = [
        ("OBJSTORE_ORIGINS", "https://app.example,http://app.localhost:8080"),
        ("OBJSTORE_REGISTER_LIMIT", "3/1h"),
    ];
    let service = Service::with(&settings).await;
    let cookie = &cookie(&service.client().await);
    let object = Object::fresh();
    let (key, body) = (&*object.key.body(), &*object.body());
    let id = &*format!(r#"{{"ID":"{}"}}"#, uuid::Uuid::new_v4());
    let unmet = &*format!("{cookie}If-Match: \"0000000000000000-1\"\r\n");
    let origin = format!("Origin: {LISTED}\r\n");
    for (status, line, headers, body) in [
        (200, "POST /register", "", id),
        (429, "POST /register", "", id),
        (204, "POST /set", cookie, body),
        (200, "POST /get", cookie, key),
        (200, "POST /find", cookie, key),
        (200, "GET /streams", cookie, ""),
        (400, "POST /set", cookie, "{"),
        (401, "POST /get", "", key),
        (401, "GET /socket", "", ""),
        (412, "POST /set", unmet, body),
        (422, "POST /delete", cookie, &*Key::fresh().body()),
        (500, "GET /socket", cookie, ""),
        (405, "GET /set", cookie, ""),
        (404, "GET /nowhere", cookie, ""),
        (200, "GET /openapi.json", "", ""),
        (200, "GET /health", "", ""),
    ] {
        let reply = ask(&service, line, &format!("{headers}{origin}"), body).await;
        assert_eq!(reply.status, status, "{line} {reply:?}");
        is_shared(&reply);
        for unlisted in
            ["", "Origin: http://localhost:5001\r\n", "Origin: https://evil.example\r\n"]
        {
            is_not_shared(&ask(&service, line, &format!("{headers}{unlisted}"), body).await);
        }
    }
}

#[tokio::test]
async fn a_preflight_of_a_listed_origin_succeeds() {
    let service = service().await;
    let preflight = "Access-Control-Request-Method: POST\r\n\
                     Access-Control-Request-Headers: content-type,if-match\r\n";
    for (_, path) in routes() {
        let line = format!("OPTIONS {path}");
        let listed = format!("Sec-Fetch-Site: same-site\r\nOrigin: {LISTED}\r\n{preflight}");
        let mut reply = ask(&service, &line, &listed, "").await;
        assert_eq!((reply.status, &*reply.body), (204, ""), "{reply:?}");
        for (name, value) in [
            ("access-control-allow-methods", "GET, HEAD, POST"),
            (
                "access-control-allow-headers",
                "Content-Type, Authorization, If-Match, If-None-Match, Last-Event-ID, Traceparent",
            ),
            ("access-control-max-age", "600"),
        ] {
            assert_eq!(reply.header(name), Some(value), "{reply:?}");
            reply.head.retain(|line| !line.starts_with(name));
        }
        is_shared(&reply);
        for unlisted in ["Origin: https://evil.example\r\n", "Origin: null\r\n", ""] {
            let reply = ask(&service, &line, &format!("{unlisted}{preflight}"), "").await;
            assert_eq!((reply.status, &*error(&reply)), (405, "method_not_allowed"));
            is_not_shared(&reply);
        }
    }
    let unknown = format!("Origin: {LISTED}\r\n{preflight}");
    let reply = ask(&service, "OPTIONS /nowhere", &unknown, "").await;
    assert_eq!(reply.status, 404);
    is_shared(&reply);
}
