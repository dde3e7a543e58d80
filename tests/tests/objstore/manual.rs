//! `ack=manual`: the client acknowledges when it has worked on a change.

use std::collections::BTreeSet;

use blackbox::{
    objstore::{Client, Event, Object, Service, Socket, revision},
    soak::{rounds, seed},
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use tokio_tungstenite::tungstenite::Message;

const MANUAL: &str = "?events=true&ack=manual";

async fn acknowledge(socket: &mut Socket, revision: u64) {
    socket.send(Message::text(format!("{{\"Ack\": {revision}}}"))).await;
}

/// A client that watches an object, and the revisions of three sets.
async fn three_sets(service: &Service) -> (Client, Object, [u64; 3]) {
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let mut sets = [0; 3];
    for (number, set) in sets.iter_mut().enumerate() {
        *set = revision(&client.set(&object.numbered(number)).await);
    }
    (client, object, sets)
}

#[tokio::test]
async fn only_messages_acknowledge() {
    let service = Service::any().await;
    let (client, object, sets) = three_sets(&service).await;
    let mut socket = client.socket_with(MANUAL).await;
    for (number, set) in sets.into_iter().enumerate() {
        assert_eq!(socket.next_event().await, Event::Set(set, object.numbered(number)));
    }
    // This socket answers the pings after the changes.
    socket.acknowledge().await;
    acknowledge(&mut socket, sets[1]).await;
    // An older revision changes nothing.
    acknowledge(&mut socket, sets[0]).await;
    socket.close().await;
    let mut socket = client.socket_with(MANUAL).await;
    assert_eq!(socket.next_event().await, Event::Set(sets[2], object.numbered(2)));
}

#[tokio::test]
async fn an_acknowledgement_of_the_future_closes_the_socket() {
    let service = Service::any().await;
    let (client, object, sets) = three_sets(&service).await;
    let malformed = [r#"{"Ack": -1}"#, r#"{"Ack": "1"}"#, r#"{"ack": 1}"#, "1", ""];
    let messages = malformed.map(str::to_owned).into_iter();
    let future = format!("{{\"Ack\": {}}}", sets[2] + 1_000_000);
    for message in messages.chain([future]) {
        let mut socket = client.socket_with(MANUAL).await;
        while socket.next_event().await.revision() < sets[2] {}
        socket.send(Message::text(message.clone())).await;
        assert_eq!(socket.closed().await, 1008, "{message}");
        socket.agree().await;
    }
    let mut socket = client.socket_with(MANUAL).await;
    assert_eq!(socket.next_event().await, Event::Set(sets[0], object.numbered(0)));
}

#[tokio::test]
async fn the_acknowledgement_of_a_current_object_covers_nothing_else() {
    let service = Service::any().await;
    let (client, object, sets) = three_sets(&service).await;
    let mut socket = client.socket_with(&format!("{MANUAL}&initial=true")).await;
    assert_eq!(socket.next_event().await, Event::Set(sets[2], object.numbered(2)));
    acknowledge(&mut socket, sets[2]).await;
    let synced = socket.next_event().await.revision();
    acknowledge(&mut socket, synced).await;
    socket.close().await;
    let last = revision(&client.set(&object).await);
    let mut socket = client.socket_with(MANUAL).await;
    assert_eq!(socket.next_event().await, Event::Set(last, object));
}

#[tokio::test]
async fn with_pongs_messages_are_ignored() {
    let service = Service::any().await;
    let (client, object, sets) = three_sets(&service).await;
    let mut socket = client.socket_with("?events=true").await;
    socket.mute().await;
    while socket.next_event().await.revision() < sets[2] {}
    drop(socket);
    let mut socket = client.socket_with("?events=true").await;
    acknowledge(&mut socket, u64::MAX).await;
    assert_eq!(socket.next_event().await, Event::Set(sets[0], object.numbered(0)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_dies_at_any_point_works_on_every_change() {
    let sets = rounds(300, 20_000);
    let seed = seed();
    println!("SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let writing = tokio::spawn({
        let (client, object) = (client.clone(), object.clone());
        async move {
            for number in 0..sets {
                client.set(&object.numbered(number)).await;
            }
        }
    });
    let mut worked_on = BTreeSet::new();
    while !worked_on.contains(&(sets - 1)) {
        let mut socket = client.socket_with(MANUAL).await;
        loop {
            let Event::Set(revision, change) = socket.next_event().await else { panic!("no set") };
            // It has received the change, and answers pings, but dies before it works.
            if rng.random_bool(0.05) {
                break;
            }
            worked_on.insert(change.number());
            if rng.random_bool(0.5) {
                acknowledge(&mut socket, revision).await;
            }
            if change.number() == sets - 1 || rng.random_bool(0.05) {
                break;
            }
        }
    }
    writing.await.unwrap();
    assert_eq!(worked_on, (0..sets).collect());
}
