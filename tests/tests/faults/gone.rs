//! Clients that vanish without closing their connections.

use std::time::Duration;

use blackbox::objstore::{Key, Object, Service};

use crate::{answer::Answer, eventually::eventually, peer::Peer, resident::holds};

/// Objects that together exceed the kernel's buffers of one connection.
const OBJECTS: usize = 100;

const FILLER: usize = 128 * 1024;

/// Timeout for the service to drop a peer: two missed pings, and the time to notice.
const CUT: Duration = Duration::from_secs(75);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_peers_are_disconnected_and_lose_nothing() {
    let service = Service::with(&[]).await;
    let writer = service.client().await;
    let (idle, reader) = (service.client().await, service.client().await);
    let kind = Key::new(&Key::fresh().r#type, "", "");
    reader.watch(&kind).await;

    let idle_peer = Peer::connect(&service, &idle).await;
    let reading_peer = Peer::connect(&service, &reader).await;
    let filler = "x".repeat(FILLER);
    let objects: Vec<_> = (0..OBJECTS)
        .map(|number| Key::new(&kind.r#type, "namespace", &format!("{number:03}")))
        .map(|key| Object::new(&key, format!(r#"{{"x":"{filler}"}}"#)))
        .collect();
    for object in &objects {
        writer.set(object).await;
    }
    let finding = Answer::to_find(&service, &writer, &kind).await;
    let ports = [idle_peer.port(), reading_peer.port(), finding.port()];
    assert!(ports.iter().all(|&port| holds(&service, port)));
    for port in ports {
        eventually("the service drops a silent connection", CUT, async || {
            (!holds(&service, port)).then_some(())
        })
        .await;
    }
    assert!(finding.breaks_off().await, "an aborted answer looks complete");
    drop((idle_peer, reading_peer));
    assert!(reader.socket().await.next_pushes(OBJECTS).await == objects);
}

#[tokio::test]
async fn a_new_socket_repeats_pushes_of_a_silent_one() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let vanished = Peer::connect(&service, &client).await;
    let objects: Vec<_> = (0..10).map(|number| object.numbered(number)).collect();
    for object in &objects {
        client.set(object).await;
    }
    let mut socket = client.socket().await;
    assert_eq!(socket.next_pushes(objects.len()).await, objects);
    socket.acknowledge().await;
    socket.close().await;
    client.set(&object).await;
    assert_eq!(client.socket().await.next_push().await, object);
    drop(vanished);
}

#[tokio::test]
async fn a_new_socket_resumes_after_the_furthest_acknowledgement() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let mut behind = Peer::connect(&service, &client).await;
    let mut ahead = Peer::connect(&service, &client).await;
    let mut marks = Vec::new();
    for round in 0..3 {
        for number in 0..3 {
            client.set(&object.numbered(3 * round + number)).await;
        }
        let mut round_marks = Vec::new();
        for peer in [&mut behind, &mut ahead] {
            for number in 0..3 {
                assert_eq!(peer.next_push().await, object.numbered(3 * round + number));
            }
            round_marks.push(peer.next_ping().await);
        }
        marks.push(round_marks);
    }
    ahead.answer(&marks[1][1]).await;
    ahead.settle().await;
    behind.answer(&marks[0][0]).await;
    behind.settle().await;
    drop((ahead, behind));
    let remaining = [6, 7, 8].map(|number| object.numbered(number));
    let mut next = Peer::connect(&service, &client).await;
    for object in &remaining {
        assert_eq!(next.next_push().await, *object);
    }
    drop(next);
    let service = service.stop().await.start().await;
    let mut next = Peer::connect(&service, &client).await;
    for object in &remaining {
        assert_eq!(next.next_push().await, *object, "after a restart");
    }
}
