//! Requests through the files of `deploy/proxy`: what the proxies block does not reach a service, in
//! whatever way the path is written, and everything else does.

use std::net::Ipv4Addr;

use blackbox::{
    authsvc, objstore, payments,
    process::DEADLINE,
    raw::{self, Connection, Reply},
};
use futures_util::{StreamExt as _, future::select_all};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    net::TcpListener,
    time::timeout,
};
use tokio_tungstenite::{client_async, tungstenite::client::IntoClientRequest as _};

use crate::proxy::{Kind, NAMES, PERMITTED, Proxy};

const STRANGER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 9);
const AUTH: &str = NAMES[0];
const OBJECTS: &str = NAMES[1];
const API: &str = NAMES[2];
const POS: &str = NAMES[3];

/// A proxy with the services behind it, which answer to the names in its file.
struct Site {
    proxy: Proxy,
    payments: payments::Service,
    _auth: authsvc::Service,
    _objects: objstore::Service,
}

impl Site {
    async fn start(kind: Kind) -> Self {
        let settings = |hosts| [("ALLOWED_HOSTS", hosts), ("TRUSTED_PROXIES", "127.0.0.1")];
        let auth = authsvc::Service::with(&settings(AUTH)).await;
        let objects = objstore::Service::with(&settings(OBJECTS)).await;
        let payments = payments::Service::with(&settings(&format!("{API},{POS}"))).await;
        let addresses = [
            auth.process().address(),
            objects.process().address(),
            payments.process().address(),
            payments.process().address_of("pos.address"),
        ];
        let proxy = Proxy::start(kind, addresses).await;
        Self { proxy, payments, _auth: auth, _objects: objects }
    }

    async fn get(&self, name: &str, path: &str) -> Reply {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {name}\r\n\r\n");
        self.proxy.ask(STRANGER, name, &request).await
    }

    async fn post(&self, from: Ipv4Addr, name: &str, path: &str, body: &str) -> Reply {
        let request =
            raw::post(path, "", body).replace("Host: localhost", &format!("Host: {name}"));
        self.proxy.ask(from, name, &request).await
    }
}

/// Ways to write a path that some proxies and services take for the same one.
fn spellings(path: &str) -> [String; 14] {
    let name = &path[1..];
    let encoded: String = name.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let first = &encoded[..3];
    [
        path.to_owned(),
        format!("/{path}"),
        format!("//{path}"),
        format!("{path}/"),
        format!("/{path}/"),
        format!("/{first}{}", &name[1..]),
        format!("/{encoded}"),
        format!("/%2f{name}"),
        format!("%2f{name}"),
        format!("/.{path}"),
        format!("/a/..{path}"),
        format!("/%2e{path}"),
        format!("/a/%2E%2e{path}"),
        format!("/;{path}"),
    ]
}

/// Whether a service has answered, and not the proxy.
fn is_from_service(reply: &Reply) -> bool {
    reply.header("x-request-id").is_some()
}

#[tokio::test]
async fn what_a_proxy_blocks_reaches_no_service() {
    for kind in Kind::ALL {
        let site = Site::start(kind).await;
        for path in spellings("/apps") {
            let reply = site.post(STRANGER, API, &path, r#"{"name":"a stranger"}"#).await;
            is_blocked(kind, &path, &reply);
        }
        let reply = site.post(STRANGER, API, "/apps/me/keys/%zz", "{}").await;
        is_blocked(kind, "%zz", &reply);
        for name in [AUTH, OBJECTS, API] {
            for path in spellings("/metrics") {
                is_blocked(kind, &path, &site.get(name, &path).await);
            }
        }
        assert_eq!(site.payments.stop().await.number("SELECT count(*) FROM apps"), 0, "{kind:?}");
    }
}

/// A way of writing that neither the proxy nor the service resolves may pass: it is no route.
#[track_caller]
fn is_blocked(kind: Kind, path: &str, reply: &Reply) {
    assert!([400, 403, 404].contains(&reply.status), "{kind:?}, {path}: {reply:?}");
    let is_unresolved = path.contains(';') || !path.starts_with('/');
    assert!(is_unresolved || !is_from_service(reply), "{kind:?}, {path}: {reply:?}");
}

#[tokio::test]
async fn what_a_proxy_permits_reaches_the_services() {
    for kind in Kind::ALL {
        let site = Site::start(kind).await;
        for path in ["/apps", "/apps/"] {
            let reply = site.post(PERMITTED, API, path, r#"{"name":"a shop"}"#).await;
            assert_eq!(reply.status, 201, "{kind:?}, {path}: {reply:?}");
        }
        for (name, path, status) in [
            (AUTH, "/health", 200),
            (AUTH, "/readme", 308),
            (OBJECTS, "/watches", 401),
            (API, "/me", 401),
            (API, "/me/", 401),
            (API, "/apps/me/keys", 401),
            (API, "/apps/me/keys/6b016ea00000000000000001", 405),
            (API, "/merchants/6b016ea00000000000000001/apps", 401),
            (POS, "/page.css", 200),
            (POS, "/?redirect=https://shop.example/a/../%2fb", 400),
        ] {
            let reply = site.get(name, path).await;
            assert!(is_from_service(&reply), "{kind:?}, {name}{path}: {reply:?}");
            assert_eq!(reply.status, status, "{kind:?}, {name}{path}: {reply:?}");
        }
    }
}

#[tokio::test]
async fn a_websocket_passes_both_proxies() {
    for kind in Kind::ALL {
        let site = Site::start(kind).await;
        let id = r#"{"ID":"4b1f0a4e-6f0f-4d53-9f0c-0d6f8c2a9b11"}"#;
        let registered = site.post(STRANGER, OBJECTS, "/register", id).await;
        assert_eq!(registered.status, 200, "{kind:?}: {registered:?}");
        let cookie = registered.header("set-cookie").unwrap().split(';').next().unwrap();
        let send = async |path, body| {
            let cookie = format!("Host: {OBJECTS}\r\nCookie: {cookie}");
            let request = raw::post(path, "", body).replace("Host: localhost", &cookie);
            site.proxy.ask(STRANGER, OBJECTS, &request).await
        };
        let key = r#"{"Key":{"Type":"a","Namespace":"b","Name":"c"}}"#;
        let watched = send("/watch", key).await;
        assert_eq!(watched.status, 204, "{kind:?}: {watched:?}");

        let mut request = format!("wss://{OBJECTS}/socket").into_client_request().unwrap();
        request.headers_mut().insert("cookie", cookie.parse().unwrap());
        request.headers_mut().insert("origin", format!("https://{OBJECTS}").parse().unwrap());
        let stream = site.proxy.connect(STRANGER, OBJECTS).await;
        let (mut socket, _) = client_async(request, stream).await.unwrap();

        let object =
            r#"{"Key":{"Type":"a","Namespace":"b","Name":"c"},"Value":{"n":7},"Owner":"d"}"#;
        let stored = send("/set", object).await;
        assert_eq!(stored.status, 204, "{kind:?}: {stored:?}");
        let push = async {
            loop {
                let message = socket.next().await.unwrap().unwrap();
                if message.is_text() {
                    return message.into_text().unwrap();
                }
            }
        };
        let push = timeout(DEADLINE, push).await.unwrap();
        assert!(push.contains(r#"{"n":7}"#), "{kind:?}: {push}");
    }
}

#[tokio::test]
async fn too_many_requests_get_an_answer_that_programs_can_read() {
    for kind in Kind::ALL {
        let site = Site::start(kind).await;
        for name in NAMES {
            let request = format!("GET /nothing HTTP/1.1\r\nHost: {name}\r\n\r\n");
            let limited = async |connection: &mut Connection<_>| {
                loop {
                    let reply = connection.ask(&request).await;
                    if reply.status == 429 {
                        return reply;
                    }
                }
            };
            // One connection is too slow for the limit on a busy machine.
            let connect = async || Connection::over(site.proxy.connect(STRANGER, name).await);
            let mut connections = Vec::new();
            for _ in 0..8 {
                connections.push(connect().await);
            }
            let first = select_all(connections.iter_mut().map(|it| Box::pin(limited(it))));
            let (reply, ..) = timeout(DEADLINE, first).await.expect("a limit");
            assert_eq!(reply.header("retry-after"), Some("1"), "{kind:?}: {reply:?}");
            assert_eq!(reply.header("content-type"), Some("application/json"), "{kind:?}");
            let body: Value = serde_json::from_str(&reply.body).unwrap();
            assert_eq!(body["error"], "rate_limited", "{kind:?}: {reply:?}");
        }
    }
}

#[tokio::test]
async fn the_checks_of_haproxy_name_their_host() {
    let services = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = services.local_addr().unwrap();
    let _proxy = Proxy::start(Kind::Haproxy, [address; 4]).await;
    for _ in 0..4 {
        let (stream, _) = timeout(DEADLINE, services.accept()).await.unwrap().unwrap();
        let mut lines = BufReader::new(stream).lines();
        let mut head = Vec::new();
        while let Some(line) = timeout(DEADLINE, lines.next_line()).await.unwrap().unwrap()
            && !line.is_empty()
        {
            head.push(line.to_lowercase());
        }
        assert!(head[0].ends_with(" http/1.1"), "{head:?}");
        let hosts: Vec<_> = head.iter().filter_map(|line| line.strip_prefix("host: ")).collect();
        assert!(matches!(hosts[..], [host] if NAMES.contains(&host)), "{head:?}");
    }
}
