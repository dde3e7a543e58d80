//! `GET /socket`: the upgrade, its refusals, and what keeps a socket open.

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
async fn what_asks_for_no_websocket_is_500() {
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
async fn a_query_that_means_nothing_is_500() {
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
async fn a_page_of_another_site_is_401_and_one_of_ours_or_of_the_list_is_not() {
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
async fn without_a_list_only_our_own_origin_is_let_in() {
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
async fn a_session_is_asked_for_before_the_origin() {
    let service = Service::any().await;
    let stranger = service.stranger();
    let request = stranger.request(Method::GET, "/socket").header("origin", "https://evil.example");
    request.upgrade().await.unwrap_err().refused(401, "unauthenticated");
}

#[tokio::test]
async fn what_a_client_says_is_ignored_up_to_4_kib() {
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
async fn a_message_above_4_kib_ends_the_socket_and_acknowledges_nothing() {
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
async fn a_vanished_client_disturbs_nobody() {
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
