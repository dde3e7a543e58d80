//! `POST /set?presence=true`. These tests wait in real time, because they test time.

use std::time::Duration;

use blackbox::{
    objstore::{Client, Event, Object, Service, Socket, Stopped},
    postgres::Cluster,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    time::{Instant, sleep},
};

use crate::fence::no_more_events;

const GRACE: Duration = Duration::from_secs(5);

const SETTINGS: [(&str, &str); 1] = [("OBJSTORE_PRESENCE_GRACE", "5s")];

/// So much shorter than [`GRACE`] that a client on a busy machine returns in time.
const SHORT: Duration = Duration::from_secs(1);

/// Longer than a presence lasts that no replica extends: the grace time and the lease of a killed
/// replica.
const LONG: Duration = Duration::from_secs(12);

/// Another client, which sees the events of an object.
async fn watcher(service: &Service, object: &Object) -> (Client, Socket) {
    let client = service.client().await;
    client.watch(&object.key).await;
    let socket = client.socket_with("?events=true").await;
    (client, socket)
}

/// Waits until the object is deleted with the cause `gone`. Sets may come before.
async fn gone(socket: &mut Socket, object: &Object) {
    loop {
        match socket.next_event().await {
            Event::Set(..) => {}
            Event::Ended(_, ended, cause) => {
                assert_eq!((&ended, &*cause), (object, "gone"));
                return;
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn an_object_goes_once_after_the_last_socket_of_its_client() {
    let service = Service::with(&SETTINGS).await;
    let object = Object::fresh();
    let (other, mut events) = watcher(&service, &object).await;
    let client = service.client().await;
    let (first, last) = (client.socket().await, client.socket().await);
    client.set_with("?presence=true", &object).await;
    first.close().await;
    sleep(LONG).await;
    assert_eq!(other.get(&object.key).await, object);
    let left = Instant::now();
    last.close().await;
    gone(&mut events, &object).await;
    assert!(left.elapsed() >= GRACE, "gone after {:?}", left.elapsed());
    no_more_events(&other, &mut events).await;
    let presences = "SELECT count(*) FROM presences";
    while service.data().number(presences) > 0 {
        sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn an_object_of_a_client_without_a_socket_goes() {
    let service = Service::with(&SETTINGS).await;
    let object = Object::fresh();
    let (_, mut events) = watcher(&service, &object).await;
    let begun = Instant::now();
    service.client().await.set_with("?presence=true", &object).await;
    gone(&mut events, &object).await;
    assert!(begun.elapsed() >= GRACE, "gone after {:?}", begun.elapsed());
}

#[tokio::test]
async fn a_vanished_client_is_gone_without_a_close_frame() {
    let service = Service::with(&SETTINGS).await;
    let object = Object::fresh();
    let (_, mut events) = watcher(&service, &object).await;
    let client = service.client().await;
    let socket = client.socket().await;
    client.set_with("?presence=true", &object).await;
    drop(socket);
    gone(&mut events, &object).await;
}

#[tokio::test]
async fn an_object_survives_reconnects_within_the_grace_time() {
    let service = Service::with(&SETTINGS).await;
    let object = Object::fresh();
    let (other, mut events) = watcher(&service, &object).await;
    let client = service.client().await;
    let mut socket = client.socket().await;
    client.set_with("?presence=true", &object).await;
    assert!(matches!(events.next_event().await, Event::Set(..)));
    for _ in 0..8 {
        socket.close().await;
        sleep(SHORT).await;
        socket = client.socket().await;
        sleep(SHORT).await;
    }
    no_more_events(&other, &mut events).await;
}

#[tokio::test]
async fn a_live_stream_is_presence() {
    let service = Service::with(&SETTINGS).await;
    let object = Object::fresh();
    let (other, mut events) = watcher(&service, &object).await;
    let client = service.client().await;
    let token = client.token();
    let mut stream = service.connect().await;
    let request = format!(
        "GET /streams?live=sse&offset=now HTTP/1.1\r\nHost: localhost\r\nCookie: token={token}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut status = [0; 15];
    stream.read_exact(&mut status).await.unwrap();
    assert_eq!(&status, b"HTTP/1.1 200 OK");
    client.set_with("?presence=true", &object).await;
    sleep(LONG).await;
    assert_eq!(other.get(&object.key).await, object);
    drop(stream);
    gone(&mut events, &object).await;
}

#[tokio::test]
async fn a_plain_set_and_another_client_end_the_presence() {
    let service = Service::with(&SETTINGS).await;
    let client = service.client().await;
    let other = service.client().await;
    let _socket = other.socket().await;
    let [plain, taken, fence] = [Object::fresh(), Object::fresh(), Object::fresh()];
    for object in [&plain, &taken, &fence] {
        client.set_with("?presence=true", object).await;
    }
    client.set_with("?presence=false", &plain).await;
    other.set_with("?presence=true", &taken).await;
    let (_, mut events) = watcher(&service, &fence).await;
    gone(&mut events, &fence).await;
    assert_eq!(client.get(&plain.key).await, plain);
    assert_eq!(client.get(&taken.key).await, taken);
}

#[tokio::test]
async fn a_time_to_live_counts_beside_the_presence() {
    let service = Service::with(&SETTINGS).await;
    let client = service.client().await;
    let [expiring, going] = [Object::fresh(), Object::fresh()];
    let (_, mut expiries) = watcher(&service, &expiring).await;
    let (_, mut departures) = watcher(&service, &going).await;
    client.set_with("?presence=true&ttl=1h", &going).await;
    gone(&mut departures, &going).await;
    let _socket = client.socket().await;
    client.set_with("?presence=true&ttl=1s", &expiring).await;
    assert!(matches!(expiries.next_event().await, Event::Set(..)));
    let Event::Ended(_, _, cause) = expiries.next_event().await else { panic!("no expiry") };
    assert_eq!(cause, "expired");
}

#[tokio::test]
async fn an_invalid_presence_is_rejected() {
    let service = Service::any().await;
    let client = service.client().await;
    for query in ["presence=perhaps", "presence=", "presence=true&presence=true"] {
        let answer = client.post(&format!("/set?{query}"), Object::fresh().body()).await;
        answer.refused(400, "invalid_query");
    }
}

/// Clients may reconnect within the grace time after a start, however long the service was down.
async fn clients_return(down: impl AsyncFnOnce(Service) -> Stopped) {
    let service = Service::with(&SETTINGS).await;
    let [returning, absent] = [service.client().await, service.client().await];
    let [staying, going] = [Object::fresh(), Object::fresh()];
    let _sockets = (returning.socket().await, absent.socket().await);
    returning.set_with("?presence=true", &staying).await;
    absent.set_with("?presence=true", &going).await;
    let place = down(service).await;
    sleep(LONG).await;
    let started = Instant::now();
    let service = place.start().await;
    let (_, mut events) = watcher(&service, &going).await;
    sleep(SHORT).await;
    let _socket = returning.at(&service).socket().await;
    gone(&mut events, &going).await;
    assert!(started.elapsed() >= GRACE, "gone after {:?}", started.elapsed());
    sleep(LONG).await;
    assert_eq!(returning.at(&service).get(&staying.key).await, staying);
}

#[tokio::test]
async fn clients_can_return_after_a_restart() {
    clients_return(async |service| service.stop().await).await;
}

#[tokio::test]
async fn clients_can_return_after_a_kill() {
    clients_return(async |service| service.kill().await).await;
}

#[tokio::test]
async fn a_presence_moves_between_replicas_and_ends_with_a_killed_one() {
    let database = Cluster::shared().database();
    let start = async || Stopped::on(Some(database.clone()), &SETTINGS).start().await;
    let (staying, doomed) = (start().await, start().await);
    let object = Object::fresh();
    let (other, mut events) = watcher(&staying, &object).await;
    let client = staying.client().await;
    let socket = client.socket().await;
    client.set_with("?presence=true", &object).await;
    assert!(matches!(events.next_event().await, Event::Set(..)));
    socket.close().await;
    sleep(SHORT).await;
    let _socket = client.at(&doomed).socket().await;
    sleep(LONG).await;
    no_more_events(&other, &mut events).await;
    let killed = Instant::now();
    let _place = doomed.kill().await;
    gone(&mut events, &object).await;
    assert!(killed.elapsed() >= GRACE, "gone after {:?}", killed.elapsed());
    no_more_events(&other, &mut events).await;
}
