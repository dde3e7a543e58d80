//! The limits of the size and the depth of a body.

use std::slice::from_ref;

use blackbox::objstore::{Key, Object, Service};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const PATHS: [&str; 7] = ["/register", "/get", "/set", "/find", "/delete", "/watch", "/unwatch"];

/// An object whose body has this many bytes.
fn sized(bytes: usize) -> Object {
    let empty = Object::new(&Key::fresh(), r#"{"a":""}"#);
    let filler = "x".repeat(bytes - empty.body().len());
    Object { value: format!(r#"{{"a":"{filler}"}}"#), ..empty }
}

/// An object whose body nests this many levels; the body is the first, the value the second.
fn nested(levels: usize) -> Object {
    let arrays = levels - 2;
    let value = format!(r#"{{"a":{}{}}}"#, "[".repeat(arrays), "]".repeat(arrays));
    Object::new(&Key::fresh(), value)
}

#[tokio::test]
async fn a_body_has_at_most_one_mebibyte() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let largest = sized(1 << 20);
    client.set(&largest).await;
    assert_eq!(client.get(&largest.key).await, largest);
    client.post("/set", sized((1 << 20) + 1).body()).await.refused(413, "body_too_large");
}

#[tokio::test]
async fn the_configured_body_limit_holds_on_every_endpoint() {
    let service = Service::with(&[("OBJSTORE_MAX_BODY", "2KiB")]).await;
    let client = service.client().await;
    client.set(&sized(2048)).await;
    for path in PATHS {
        client.post(path, sized(2049).body()).await.refused(413, "body_too_large");
        client.post(path, " ".repeat(2049)).await.refused(413, "body_too_large");
    }
}

#[tokio::test]
async fn the_body_limit_holds_for_chunked_bodies() {
    let service = Service::with(&[("OBJSTORE_MAX_BODY", "2KiB")]).await;
    let token = service.client().await.token().to_owned();
    for (bytes, expected) in [(2048, "204"), (2049, "413")] {
        let body = sized(bytes).body();
        let request = format!(
            "POST /set HTTP/1.1\r\nHost: localhost\r\nCookie: token={token}\r\nConnection: close\r\n\
             Transfer-Encoding: chunked\r\n\r\n{bytes:x}\r\n{body}\r\n0\r\n\r\n"
        );
        let mut connection = service.connect().await;
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {expected} ")), "{answer}");
    }
}

#[tokio::test]
async fn a_body_nests_at_most_128_levels() {
    let service = Service::any().await;
    let client = service.client().await;
    let deepest = nested(128);
    client.set(&deepest).await;
    assert_eq!(client.get(&deepest.key).await, deepest);
    assert_eq!(client.find(&deepest.key).await, from_ref(&deepest));
    client.watch(&deepest.key).await;
    client.set(&deepest).await;
    assert_eq!(client.socket().await.next_push().await, deepest);
    for path in PATHS {
        client.post(path, nested(129).body()).await.refused(400, "invalid_body");
    }
}

#[tokio::test]
async fn extremely_deep_bodies_are_400() {
    let service = Service::any().await;
    let client = service.client().await;
    // `/register` is left out, because it rejects these bodies for their length first.
    for path in &PATHS[1..] {
        client.post(path, nested(100_000).body()).await.refused(400, "invalid_body");
        client.post(path, "[".repeat(1_000_000)).await.refused(400, "invalid_body");
        client.post(path, r#"{"Key":"#.repeat(100_000)).await.refused(400, "invalid_body");
    }
}

#[tokio::test]
async fn brackets_in_strings_and_siblings_do_not_add_depth() {
    let service = Service::any().await;
    let client = service.client().await;
    let brackets = "[{".repeat(200);
    let pairs = "[{}],".repeat(200);
    for value in [
        format!(r#"{{"a":"{brackets}"}}"#),
        format!(r#"{{"{brackets}":1}}"#),
        format!(r#"{{"a":"\"{brackets}\\"}}"#),
        format!(r#"{{"a":[{pairs}[]]}}"#),
    ] {
        let object = Object::new(&Key::fresh(), value);
        client.set(&object).await;
        assert_eq!(client.get(&object.key).await, object);
    }
}
