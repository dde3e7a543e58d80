//! `GET /socket`: the upgrade, its rejections, and messages from clients.

use std::time::Duration;

use blackbox::objstore::{Object, Service};
use reqwest::Method;
use tokio_tungstenite::tungstenite::Message;

use crate::fence::no_more_pushes;

const HANDSHAKE: [(&str, &str); 4] = [
    ("connection", "Upgrade"),
    ("upgrade", "websocket"),
    ("sec-websocket-version", "13"),
    ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
];

#[tokio::test]
async fn a_request_without_a_valid_upgrade_is_500() {
    let service = Service::any().await;
    let client = service.client().await;
    client.fetch("/socket").await.refused(500, "not_upgraded");
    for (changed, value) in [
        ("connection", None),
        ("connection", Some("keep-alive")),
        ("upgrade", None),
        ("upgrade", Some("h2c")),
        ("sec-websocket-version", None),
        ("sec-websocket-version", Some("12")),
        ("sec-websocket-key", None),
    ] {
        println!("{changed}: {value:?}");
        let mut request = client.request(Method::GET, "/socket");
        for (name, usual) in HANDSHAKE {
            let value = if name == changed { value } else { Some(usual) };
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        request.send().await.refused(500, "not_upgraded");
    }
}

#[tokio::test]
async fn an_invalid_query_is_500() {
    let service = Service::any().await;
    let client = service.client().await;
    for query in [
        "events=perhaps",
        "events=",
        "events=true&since=",
        "events=true&since=-1",
        "events=true&since=x",
        "events=true&since=1.5",
        "events=true&since=99999999999999999999999",
        "events=true&events=true",
    ] {
        println!("{query}");
        let upgrade = client.request(Method::GET, &format!("/socket?{query}")).upgrade().await;
        upgrade.unwrap_err().refused(500, "not_upgraded");
    }
}

#[tokio::test]
async fn only_the_own_and_listed_origins_may_connect() {
    let service =
        Service::with(&[("OBJSTORE_ORIGINS", "https://app.example,http://other.example:8080")])
            .await;
    let client = service.client().await;
    for origin in ["https://app.example", "http://other.example:8080", service.url()] {
        println!("{origin}");
        let upgrade =
            client.request(Method::GET, "/socket").header("origin", origin).upgrade().await;
        assert!(upgrade.is_ok());
    }
    for origin in [
        "https://evil.example",
        "https://app.example.evil.example",
        "https://evil.example/https://app.example",
        "https://xapp.example",
        "null",
        "",
        "https://",
        "127.0.0.1",
        "http://127.0.0.1.evil.example",
        "http://127.0.0.1@evil.example",
    ] {
        println!("{origin}");
        let upgrade =
            client.request(Method::GET, "/socket").header("origin", origin).upgrade().await;
        upgrade.unwrap_err().refused(401, "origin_not_allowed");
    }
}

#[tokio::test]
async fn without_a_list_only_the_own_origin_may_connect() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let upgrade =
        client.request(Method::GET, "/socket").header("origin", service.url()).upgrade().await;
    assert!(upgrade.is_ok());
    let upgrade = client
        .request(Method::GET, "/socket")
        .header("origin", "https://app.example")
        .upgrade()
        .await;
    upgrade.unwrap_err().refused(401, "origin_not_allowed");
}

#[tokio::test]
async fn the_session_is_checked_before_the_origin() {
    let service = Service::any().await;
    let stranger = service.stranger();
    let request = stranger.request(Method::GET, "/socket").header("origin", "https://evil.example");
    request.upgrade().await.unwrap_err().refused(401, "unauthenticated");
}

#[tokio::test]
async fn client_messages_up_to_4_kib_are_ignored() {
    let service = Service::any().await;
    let client = service.client().await;
    let mut socket = client.socket().await;
    for message in [
        Message::text(""),
        Message::text("hello"),
        Message::text("x".repeat(4096)),
        Message::binary(vec![0; 4096]),
        Message::binary(Vec::new()),
        Message::Pong(Vec::new().into()),
        Message::text(r#"{"Key":{"Type":"","Namespace":"","Name":""}}"#),
    ] {
        socket.send(message).await;
    }
    no_more_pushes(&client, &mut socket).await;
}

#[tokio::test]
async fn messages_above_4_kib_close_the_socket_and_acknowledge_nothing() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    for message in [Message::text("x".repeat(4097)), Message::binary(vec![0; 100_000])] {
        let mut socket = client.socket().await;
        socket.mute().await;
        client.set(&object).await;
        assert_eq!(socket.next_push().await, object);
        socket.unmute().await;
        socket.send(message).await;
        socket.ended(Duration::from_secs(10)).await;
    }
    assert_eq!(client.socket().await.next_pushes(2).await, [object.clone(), object]);
}

#[tokio::test]
async fn a_vanished_client_does_not_affect_other_clients() {
    let service = Service::any().await;
    let (gone, client) = (service.client().await, service.client().await);
    let object = Object::fresh();
    gone.watch(&object.key).await;
    client.watch(&object.key).await;
    let mut socket = client.socket().await;
    for _ in 0..10 {
        drop(gone.socket().await);
        client.set(&object).await;
        assert_eq!(socket.next_push().await, object);
    }
}
