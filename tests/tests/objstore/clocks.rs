//! Timeouts, pings and lifetimes. These tests wait in real time, because they test time. The name
//! of the module sorts early, so that the other tests run meanwhile.

use std::time::Duration;

use blackbox::objstore::{Object, Service};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    time::{Instant, sleep, timeout},
};
use uuid::Uuid;

use crate::fence::no_more_pushes;

#[tokio::test]
async fn sockets_are_pinged_every_20_s_and_closed_if_silent() {
    let service = Service::any().await;
    let client = service.client().await;
    let (mut answering, mut mute) = (client.socket().await, client.socket().await);
    mute.mute().await;
    let living = async {
        for _ in 0..2 {
            answering.ping(Duration::from_secs(22)).await;
        }
    };
    let dying = async {
        mute.ping(Duration::from_secs(22)).await;
        mute.ping(Duration::from_secs(22)).await;
        mute.ended(Duration::from_secs(25)).await;
    };
    tokio::join!(living, dying);
    no_more_pushes(&client, &mut answering).await;
}

#[tokio::test]
async fn a_missing_body_times_out_with_408() {
    let service = Service::any().await;
    let token = service.client().await.token().to_owned();
    let head = format!(
        "POST /get HTTP/1.1\r\nHost: localhost\r\nCookie: token={token}\r\nContent-Length: 100\r\n\r\n{{"
    );
    let mut connection = service.connect().await;
    connection.write_all(head.as_bytes()).await.unwrap();
    let mut answer = vec![0; 4096];
    let read = timeout(Duration::from_secs(45), connection.read(&mut answer)).await;
    answer.truncate(read.expect("an answer in time").unwrap());
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(answer.contains(r#""error":"request_timeout""#), "{answer}");
}

async fn short_lived() -> Service {
    Service::with(&[("OBJSTORE_SESSION_TTL", "2s"), ("OBJSTORE_MAX_CLIENTS", "1")]).await
}

#[tokio::test]
async fn an_unused_session_expires() {
    let service = short_lived().await;
    let client = service.client().await;
    sleep(Duration::from_secs(3)).await;
    client.post("/find", Object::fresh().body()).await.refused(401, "unauthenticated");
    client.fetch("/socket").await.refused(401, "unauthenticated");
}

#[tokio::test]
async fn use_extends_a_session_and_renews_the_cookie() {
    let service = short_lived().await;
    let registered = Instant::now();
    let client = service.client().await;
    let body = Object::fresh().key.body();
    let mut renewals = 0;
    while registered.elapsed() < Duration::from_secs(5) {
        let answer = client.post("/find", body.clone()).await.expect(200);
        if let Some(cookie) = answer.header("set-cookie") {
            assert!(cookie.starts_with(&format!("token={};", client.token())), "{cookie}");
            assert!(cookie.split("; ").any(|attribute| attribute == "Max-Age=2"), "{cookie}");
            renewals += 1;
        }
    }
    assert!((1..=6).contains(&renewals), "the cookie was sent again {renewals} times");
}

#[tokio::test]
async fn an_open_socket_keeps_its_session() {
    let service = short_lived().await;
    let client = service.client().await;
    let mut socket = client.socket().await;
    socket.listen_until(Instant::now() + Duration::from_secs(5)).await;
    client.find(&Object::fresh().key).await;
}

#[tokio::test]
async fn the_101st_session_ends_the_longest_unused_one() {
    let service = Service::with(&[]).await;
    let first = service.client().await;
    let body = Object::fresh().key.body();
    let _ = first.post("/find", body.clone()).await.expect(200);
    // The next session ends later, by the clock's milliseconds.
    sleep(Duration::from_millis(20)).await;
    let second = service.client_with(first.id()).await;
    for _ in 2..100 {
        service.client_with(first.id()).await;
    }
    let _ = first.post("/find", body.clone()).await.expect(200);
    let last = service.client_with(first.id()).await;
    // Another replica may cache the session for a minute. The embedded engine has only one replica.
    let allowed = Duration::from_secs(if service.data().database().is_some() { 75 } else { 0 });
    let ended = Instant::now() + allowed;
    while first.post("/find", body.clone()).await.status == 200 {
        assert!(Instant::now() < ended, "the session is still valid");
        sleep(Duration::from_millis(500)).await;
    }
    for living in [&second, &last] {
        let _ = living.post("/find", body.clone()).await.expect(200);
    }
    assert_eq!(service.data().number("SELECT count(*) FROM sessions"), 100);
    let service = service.stop().await.start().await;
    first.at(&service).post("/find", body.clone()).await.refused(401, "unauthenticated");
    let _ = second.at(&service).post("/find", body).await.expect(200);
}

#[tokio::test]
async fn a_client_without_live_sessions_is_removed() {
    let service = short_lived().await;
    let gone = service.client().await;
    gone.watch(&Object::fresh().key).await;
    sleep(Duration::from_secs(5)).await;
    // The service removes clients at its start, and then every minute.
    let service = service.stop().await.start().await;
    let next = service.stranger();
    let registration = format!(r#"{{"ID":"{}"}}"#, Uuid::new_v4());
    let deadline = Instant::now() + Duration::from_secs(70);
    while next.post("/register", registration.clone()).await.status != 200 {
        assert!(Instant::now() < deadline, "the client limit is still reached");
    }
}
