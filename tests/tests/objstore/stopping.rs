//! The stop after SIGTERM.

use std::time::Duration;

use blackbox::objstore::{Object, Service};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    time::Instant,
};

#[tokio::test]
async fn an_idle_service_does_not_wait_for_the_drain_timeout() {
    let service = Service::with(&[("DRAIN_TIMEOUT", "1h")]).await;
    service.client().await;
    service.stop().await;
}

#[tokio::test]
async fn open_sockets_are_closed_with_1001() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let mut sockets = Vec::new();
    for _ in 0..5 {
        sockets.push(client.socket().await);
    }
    service.process().terminate().await;
    for mut socket in sockets {
        assert_eq!(socket.closed().await, 1001);
        socket.agree().await;
    }
    service.ended().await;
}

#[tokio::test]
async fn a_silent_socket_does_not_block_the_stop() {
    let service = Service::with(&[("DRAIN_TIMEOUT", "500ms")]).await;
    let mut socket = service.client().await.socket().await;
    socket.mute().await;
    let begun = Instant::now();
    service.stop().await;
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    socket.ended(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn an_open_request_is_finished_before_the_stop() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let object = Object::fresh();
    let body = object.body();
    let head = format!(
        "POST /set HTTP/1.1\r\nHost: localhost\r\nCookie: token={}\r\nContent-Length: {}\r\n\
         Expect: 100-continue\r\n\r\n",
        client.token(),
        body.len()
    );
    let mut connection = service.connect().await;
    connection.write_all(head.as_bytes()).await.unwrap();
    let mut interim = [0; 25];
    connection.read_exact(&mut interim).await.unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    service.process().terminate().await;
    connection.write_all(body.as_bytes()).await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 204 "), "{answer}");
    let service = service.ended().await.start().await;
    assert_eq!(client.at(&service).get(&object.key).await, object);
}
