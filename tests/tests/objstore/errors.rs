//! Unknown paths, wrong methods, and request ids.

use blackbox::objstore::{Client, Object, Service};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
};

const POSTED: [&str; 8] =
    ["/register", "/get", "/set", "/find", "/delete", "/batch", "/watch", "/unwatch"];
const FETCHED: [&str; 7] =
    ["/watches", "/socket", "/streams", "/health", "/ready", "/metrics", "/openapi.json"];

#[tokio::test]
async fn an_unknown_path_is_404_with_or_without_a_session() {
    let service = Service::any().await;
    for client in [service.stranger(), service.client().await] {
        for path in [
            "/get/",
            "//get",
            "//metrics",
            "/metrics/",
            "/GET",
            "/get/x",
            "/objects",
            "/.git/config",
            "/%00",
            "/socket/",
            "/*",
        ] {
            client.fetch(path).await.refused(404, "not_found");
            client.post(path, "{}").await.refused(404, "not_found");
        }
    }
}

async fn is_not_allowed(client: &Client, method: &Method, path: &str, allowed: &str) {
    let answer = client.request(method.clone(), path).send().await.expect(405);
    let allow = answer.header("allow").unwrap();
    assert!(allow.split(',').any(|method| method.trim() == allowed), "{answer:?}");
    assert!(!allow.contains(method.as_str()), "{answer:?}");
    if method != Method::HEAD {
        answer.refused(405, "method_not_allowed");
    }
}

#[tokio::test]
async fn unknown_and_repeated_parameters_are_refused() {
    let service = Service::any().await;
    let (client, object) = (service.client().await, Object::fresh());
    for (path, queries) in [
        ("/set", &["tll=5s", "TTL=5s", "Presence=true", "ttl=5s&ttl=6s", "ttl=%FF"][..]),
        ("/find", &["limits=1", "limit=1&limit=1", "after=%FF", "%FF=1"]),
        ("/get", &["x=1", "ttl=5s"]),
        ("/delete", &["x"]),
        ("/batch", &["ttl=5s"]),
        ("/watch", &["x=1"]),
        ("/unwatch", &["x=1"]),
        ("/register", &["x=1"]),
        ("/logout", &["x=1"]),
    ] {
        for query in queries {
            let path = format!("{path}?{query}");
            let body = match path.as_str() {
                _ if path.starts_with("/set") => object.body(),
                _ if path.starts_with("/register") => json!({ "ID": client.id() }).to_string(),
                _ => object.key.body(),
            };
            client.post(&path, body).await.refused(400, "invalid_query");
            if !path.starts_with("/register") {
                service.stranger().post(&path, "{}").await.refused(401, "unauthenticated");
            }
        }
    }
    for path in ["/watches?x=1", "/streams?offset=%FF", "/streams/a?x=1", "/streams?live=sse"] {
        client.fetch(path).await.refused(400, "invalid_query");
    }
    for query in ["?event=true", "?events=true&mark=true", "?events=true&events=true"] {
        let Err(answer) = client.try_socket(query).await else { panic!("{query}") };
        answer.refused(500, "not_upgraded");
    }
    for path in ["/health?x=1", "/ready?x=1", "/openapi.json?x=1"] {
        let answer = client.request(Method::GET, path).send_undescribed().await;
        assert_eq!(answer.status, 200, "{path}");
    }
    client.post("/get", object.key.body()).await.refused(422, "object_not_found");
}

#[tokio::test]
async fn a_wrong_method_is_405_with_an_allow_header() {
    let service = Service::any().await;
    let unusual = Method::from_bytes(b"BREW").unwrap();
    for client in [service.stranger(), service.client().await] {
        for method in [
            Method::OPTIONS,
            Method::PUT,
            Method::DELETE,
            Method::PATCH,
            Method::TRACE,
            unusual.clone(),
        ] {
            for path in POSTED {
                is_not_allowed(&client, &method, path, "POST").await;
            }
            for path in FETCHED {
                is_not_allowed(&client, &method, path, "GET").await;
            }
        }
        for path in POSTED {
            is_not_allowed(&client, &Method::GET, path, "POST").await;
            is_not_allowed(&client, &Method::HEAD, path, "POST").await;
        }
        for path in FETCHED {
            is_not_allowed(&client, &Method::POST, path, "GET").await;
        }
    }
}

#[tokio::test]
async fn a_valid_request_id_is_echoed() {
    let service = Service::any().await;
    let client = service.client().await;
    for id in ["1", "a-b_c.D", &"x".repeat(128)] {
        for path in ["/health", "/nowhere", "/get"] {
            let answer = client.request(Method::GET, path).header("x-request-id", id).send().await;
            assert_eq!(answer.header("x-request-id"), Some(id));
        }
    }
}

#[tokio::test]
async fn an_invalid_request_id_is_replaced() {
    let service = Service::any().await;
    let client = service.client().await;
    let long = "x".repeat(129);
    for id in ["", "two words", "semi;colon", "new\tline", "é", "<b>", "\"", &long] {
        let answer = client.request(Method::GET, "/health").header("x-request-id", id).send().await;
        let given = answer.headers["x-request-id"].to_str().unwrap();
        assert!(!given.is_empty() && given != id, "{given}");
    }
}

#[tokio::test]
async fn a_log_line_has_the_trace_of_its_request() {
    let service = Service::with(&[("RUST_LOG", "debug"), ("LOG_FORMAT", "json")]).await;
    let client = service.client().await;
    let id = "0af7651916cd43dd8448eb211c80319c";
    let trace = |request: &'static str| {
        let log = service.process().log();
        let line = log.iter().find(|line| line.contains(request))?;
        Some(serde_json::from_str::<Value>(line).unwrap()["trace_id"].as_str().unwrap().to_owned())
    };
    for (request, header) in [("valid", "-b7ad6b7169203331-01"), ("invalid", "-b7ad6b7169203331")] {
        let sent = client.request(Method::GET, "/health").header("x-request-id", request);
        let _ = sent.header("traceparent", format!("00-{id}{header}")).send().await.expect(200);
        let name = format!(r#""request.id":"{request}""#);
        service.process().logged(|line| line.contains(&name)).await;
    }
    assert_eq!(trace(r#""valid""#).as_deref(), Some(id));
    let begun = trace(r#""invalid""#).unwrap();
    assert!(begun != id && begun.len() == 32, "{begun}");
}

#[tokio::test]
async fn requests_without_an_id_get_unique_ids() {
    let service = Service::any().await;
    let client = service.client().await;
    let (first, second) = (client.fetch("/health").await, client.fetch("/health").await);
    assert_ne!(first.header("x-request-id"), second.header("x-request-id"));
}

#[tokio::test]
async fn a_connection_survives_a_request_rejected_before_its_body() {
    let service = Service::any().await;
    let address = service.url().strip_prefix("http://").unwrap().trim_end_matches('/');
    let mut connection = BufReader::new(TcpStream::connect(address).await.unwrap());
    connection.get_mut().set_nodelay(true).unwrap();
    for _ in 0..20 {
        let head = "POST /get HTTP/1.1\r\nHost: localhost\r\nContent-Length: 64\r\n\r\n";
        connection.write_all(head.as_bytes()).await.unwrap();
        connection.write_all(&[b' '; 64]).await.unwrap();
        assert!(status_line(&mut connection).await.starts_with("HTTP/1.1 401 "));
        connection.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
        assert!(status_line(&mut connection).await.starts_with("HTTP/1.1 200 "));
    }
}

/// Reads a whole answer, and returns its status line.
async fn status_line(connection: &mut BufReader<TcpStream>) -> String {
    let mut lines = Vec::new();
    while lines.last().is_none_or(|line| line != "\r\n") {
        let mut line = String::new();
        assert_ne!(connection.read_line(&mut line).await.unwrap(), 0, "the connection has ended");
        lines.push(line);
    }
    let length = lines.iter().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.unwrap().trim().parse().unwrap()];
    connection.read_exact(&mut body).await.unwrap();
    lines.swap_remove(0)
}
