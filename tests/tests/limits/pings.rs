//! Clients that send pings: endlessly, and during the close handshake.

use std::time::Duration;

use blackbox::objstore::{Key, Object, Service};
use tokio::{io::AsyncWriteExt as _, time::sleep};

use crate::sockets::{CLOSE, PING, PONG, deaf_socket, frame, next_frame, ping};

/// Limit in bytes for the growth of the service.
const GROWTH: u64 = 16 * 1024 * 1024;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_socket_that_pings_and_never_reads_costs_little() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let socket = deaf_socket(service.process().address(), client.token()).await;
    let resident = || service.process().resident().expect("the service runs");
    let (before, mut most) = (resident(), 0);
    tokio::select! {
        () = ping(socket, Duration::from_secs(5)) => {}
        () = async { loop { most = most.max(resident()); sleep(Duration::from_millis(20)).await } } => {}
    }
    assert!(most.saturating_sub(before) < GROWTH, "from {before} to {most} bytes");
    let object = Object::fresh();
    client.set(&object).await;
    assert_eq!(client.get(&object.key).await, object);
}

#[tokio::test]
async fn pings_during_the_close_handshake_lose_no_acknowledgement() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&Key::new(&object.key.r#type, "", "")).await;
    let mut socket = deaf_socket(service.process().address(), client.token()).await;
    client.set(&object).await;
    let (_, pushed) = next_frame(&mut socket).await;
    assert_eq!(Object::parse(std::str::from_utf8(&pushed).unwrap()), object);
    service.process().terminate().await;
    let mut mark = Vec::new();
    let close_frame = loop {
        match next_frame(&mut socket).await {
            (PING, payload) => mark = payload,
            (CLOSE, payload) => break payload,
            other => panic!("unexpected frame: {other:?}"),
        }
    };
    let pings = frame(PING, b"are you there?").repeat(3);
    let answer = [pings, frame(PONG, &mark), frame(CLOSE, &close_frame[..2])].concat();
    socket.write_all(&answer).await.unwrap();
    let service = service.ended().await.start().await;
    let client = client.at(&service);
    let next = Object::new(&object.key.named("next"), "{}");
    client.set(&next).await;
    assert_eq!(client.socket().await.next_push().await, next, "an acknowledged push is repeated");
}
