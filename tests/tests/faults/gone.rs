//! Clients that vanish without a word.

use std::time::Duration;

use blackbox::objstore::{Key, Object, Service};

use crate::{answer::Answer, eventually::eventually, peer::Peer, resident::holds};

/// Objects that are together more than the system buffers for one connection.
const OBJECTS: usize = 100;

/// Bytes of each.
const FILLER: usize = 128 * 1024;

/// By when the service has let go of a peer: two pings missed, and what it takes to notice.
const CUT: Duration = Duration::from_secs(75);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_stops_is_cut_off_whatever_it_was_doing_and_loses_nothing() {
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
        eventually("the service lets go of who is gone", CUT, async || {
            (!holds(&service, port)).then_some(())
        })
        .await;
    }
    assert!(finding.breaks_off().await, "an answer that was cut off looks complete");
    drop((idle_peer, reading_peer));
    assert!(reader.socket().await.next_pushes(OBJECTS).await == objects);
}

#[tokio::test]
async fn a_client_that_vanished_gets_everything_on_its_next_socket_while_the_old_one_still_stands()
{
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
async fn when_two_sockets_of_a_client_die_the_next_starts_after_what_either_acknowledged() {
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
    let left = [6, 7, 8].map(|number| object.numbered(number));
    let mut next = Peer::connect(&service, &client).await;
    for object in &left {
        assert_eq!(next.next_push().await, *object);
    }
    drop(next);
    let service = service.stop().await.start().await;
    let mut next = Peer::connect(&service, &client).await;
    for object in &left {
        assert_eq!(next.next_push().await, *object, "after a restart");
    }
}
