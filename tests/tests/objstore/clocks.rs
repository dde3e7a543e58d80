//! Timeouts, pings and lifetimes. These tests wait in real time, because they test time. The name
//! of the module sorts early, so that the other tests run meanwhile.

use std::time::Duration;

use blackbox::{
    clock::Clock,
    objstore::{Object, Service},
    process::DEADLINE,
};
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

/// Seconds that a session lives without use.
const LIFETIME: i64 = 600;

/// A service whose sessions live for [`LIFETIME`].
async fn short_lived(clock: &Clock) -> Service {
    Service::with(&[&[("OBJSTORE_SESSION_TTL", "10m")], &clock.variables()[..]].concat()).await
}

#[tokio::test]
async fn an_unused_session_expires() {
    let clock = Clock::new();
    let service = short_lived(&clock).await;
    let client = service.client().await;
    clock.set(LIFETIME + 1);
    client.post("/find", Object::fresh().body()).await.refused(401, "unauthenticated");
    client.fetch("/socket").await.refused(401, "unauthenticated");
}

#[tokio::test]
async fn use_extends_a_session_and_renews_the_cookie() {
    let clock = Clock::new();
    let service = short_lived(&clock).await;
    let client = service.client().await;
    let body = Object::fresh().key.body();
    let renewal = format!("token={}; ", client.token());
    for third in 1..=6 {
        clock.set(third * LIFETIME / 3);
        let answer = client.post("/find", body.clone()).await.expect(200);
        let cookie = answer.header("set-cookie").map(str::to_owned);
        // A use after half of the lifetime renews the session.
        assert_eq!(cookie.is_some(), third % 2 == 0, "{third}: {cookie:?}");
        if let Some(cookie) = cookie {
            assert!(cookie.starts_with(&renewal), "{cookie}");
            assert!(cookie.split("; ").any(|attribute| attribute == "Max-Age=600"), "{cookie}");
        }
    }
}

#[tokio::test]
async fn an_open_socket_extends_its_session() {
    let service = Service::with(&[("OBJSTORE_SESSION_TTL", "40s")]).await;
    let client = service.client().await;
    let _socket = client.socket().await;
    let expires = || service.data().number("SELECT expires FROM sessions");
    let begun = expires();
    let extended = async {
        while expires() <= begun {
            sleep(Duration::from_millis(500)).await;
        }
    };
    timeout(DEADLINE, extended).await.expect("the socket extends the session");
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
    let service = Service::with(&[("OBJSTORE_MAX_CLIENTS", "1")]).await;
    let gone = service.client().await;
    gone.watch(&Object::fresh().key).await;
    let stopped = service.stop().await;
    assert_eq!(stopped.change("UPDATE sessions SET expires = 1"), 1);
    // The service removes clients at its start, and then every minute.
    let service = stopped.start().await;
    let next = service.stranger();
    let registration = format!(r#"{{"ID":"{}"}}"#, Uuid::new_v4());
    let deadline = Instant::now() + 2 * DEADLINE;
    while next.post("/register", registration.clone()).await.status != 200 {
        assert!(Instant::now() < deadline, "the client limit is still reached");
        sleep(Duration::from_millis(50)).await;
    }
}
