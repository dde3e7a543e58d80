//! At-least-once delivery: acknowledgements, and repeated pushes.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use blackbox::{
    objstore::{Client, Key, Object, Service, Socket},
    process::DEADLINE,
};
use tokio::time::sleep;
use tokio_tungstenite::tungstenite::{Bytes, Message};

use crate::fence::no_more_pushes;

/// A client that watches an object, with an open socket that answers nothing.
async fn mute_watcher(service: &Service) -> (Client, Object, Socket) {
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let mut socket = client.socket().await;
    socket.mute().await;
    (client, object, socket)
}

#[tokio::test]
async fn changes_without_an_open_socket_are_sent_on_connect() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let mut socket = client.socket().await;
    client.set(&object).await;
    assert_eq!(socket.next_push().await, object);
    socket.acknowledge().await;
    socket.close().await;
    client.set(&object.numbered(1)).await;
    client.set(&object.numbered(2)).await;
    let mut socket = client.socket().await;
    assert_eq!(socket.next_pushes(2).await, [object.numbered(1), object.numbered(2)]);
}

#[tokio::test]
async fn acknowledged_pushes_are_not_repeated() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let mut socket = client.socket().await;
    for number in 0..5 {
        client.set(&object.numbered(number)).await;
    }
    socket.next_pushes(5).await;
    socket.acknowledge().await;
    socket.close().await;
    no_more_pushes(&client, &mut client.socket().await).await;
}

#[tokio::test]
async fn a_logout_while_pushes_are_sent_acknowledges_no_unsent_one() {
    let service = Service::any().await;
    let client = service.client().await;
    let other_session = service.client_with(client.id()).await;
    let key = Key::fresh();
    client.watch(&key.named("")).await;
    let value = format!(r#"{{"text":"{}"}}"#, "x".repeat(1000));
    let names: Vec<_> = (0..20_000).map(|number| number.to_string()).collect();
    for names in names.chunks(500) {
        let sets = names.iter().map(|name| Object::new(&key.named(name), &*value).operation(""));
        client.batch(&sets.collect::<Vec<_>>()).await;
    }
    let mut missing: BTreeSet<_> = names.into_iter().collect();
    // The service waits for the client in the middle of a burst.
    let mut socket = client.socket().await;
    missing.remove(&socket.next_push().await.key.name);
    sleep(Duration::from_secs(1)).await;
    let _ = client.post("/logout", "").await.expect(204);
    while let Ok(pushed) = socket.next_push_or_close().await {
        missing.remove(&pushed.key.name);
    }
    let mut socket = other_session.socket().await;
    while !missing.is_empty() {
        missing.remove(&socket.next_push().await.key.name);
    }
}

#[tokio::test]
async fn unacknowledged_pushes_are_repeated_on_every_new_socket() {
    let service = Service::any().await;
    let (client, object, mut socket) = mute_watcher(&service).await;
    client.set(&object).await;
    client.set(&object.numbered(1)).await;
    for _ in 0..3 {
        assert_eq!(socket.next_pushes(2).await, [object.clone(), object.numbered(1)]);
        drop(socket);
        socket = client.socket().await;
        socket.mute().await;
    }
}

#[tokio::test]
async fn a_ping_soon_follows_a_burst() {
    let service = Service::any().await;
    let (client, object, mut socket) = mute_watcher(&service).await;
    let set = Instant::now();
    client.set(&object).await;
    socket.next_push().await;
    socket.ping(DEADLINE).await;
    // The service promises a tenth of a second. A busy machine may take longer, but not the 15 s
    // after which the service pings an idle socket anyway.
    assert!(set.elapsed() < Duration::from_secs(12), "{:?}", set.elapsed());
}

#[tokio::test]
async fn a_pong_acknowledges_only_pushes_before_its_ping() {
    let service = Service::any().await;
    let (client, object, mut socket) = mute_watcher(&service).await;
    client.set(&object).await;
    socket.next_push().await;
    let mark = socket.ping(DEADLINE).await;
    client.set(&object.numbered(1)).await;
    socket.next_push().await;
    socket.ping(DEADLINE).await;
    socket.unmute().await;
    socket.send(Message::Pong(mark)).await;
    socket.close().await;
    let mut socket = client.socket().await;
    assert_eq!(socket.next_push().await, object.numbered(1));
    no_more_pushes(&client, &mut socket).await;
}

#[tokio::test]
async fn a_pong_that_answers_no_ping_acknowledges_nothing() {
    let service = Service::any().await;
    let (client, object, mut socket) = mute_watcher(&service).await;
    client.set(&object).await;
    socket.next_push().await;
    let mark = socket.ping(DEADLINE).await;
    socket.unmute().await;
    let mut longer = mark.to_vec();
    longer.push(0);
    let largest = vec![0xff; mark.len()];
    for payload in [Vec::new(), b"0".to_vec(), vec![0; 125], longer, largest] {
        socket.send(Message::Pong(Bytes::from(payload))).await;
    }
    socket.close().await;
    assert_eq!(client.socket().await.next_push().await, object);
}

#[tokio::test]
async fn the_close_frame_of_a_client_acknowledges_nothing() {
    let service = Service::any().await;
    let (client, object, mut socket) = mute_watcher(&service).await;
    client.set(&object).await;
    socket.next_push().await;
    socket.unmute().await;
    socket.close().await;
    assert_eq!(client.socket().await.next_push().await, object);
}

#[tokio::test]
async fn an_acknowledgement_counts_for_all_later_sockets() {
    let service = Service::any().await;
    let (client, object, mut mute) = mute_watcher(&service).await;
    let mut socket = client.socket().await;
    client.set(&object).await;
    assert_eq!(mute.next_push().await, object);
    assert_eq!(socket.next_push().await, object);
    socket.acknowledge().await;
    socket.close().await;
    drop(mute);
    no_more_pushes(&client, &mut client.socket().await).await;
}

#[tokio::test]
async fn an_older_acknowledgement_does_not_move_the_position_back() {
    let service = Service::any().await;
    let (client, object, mut behind) = mute_watcher(&service).await;
    let mut ahead = client.socket().await;
    client.set(&object).await;
    assert_eq!(behind.next_push().await, object);
    let mark = behind.ping(DEADLINE).await;
    client.set(&object.numbered(1)).await;
    ahead.next_pushes(2).await;
    ahead.acknowledge().await;
    ahead.close().await;
    behind.unmute().await;
    behind.send(Message::Pong(mark)).await;
    behind.close().await;
    no_more_pushes(&client, &mut client.socket().await).await;
}

#[tokio::test]
async fn a_slow_socket_still_receives_what_another_acknowledged() {
    let service = Service::any().await;
    let (client, object, mut slow) = mute_watcher(&service).await;
    let mut quick = client.socket().await;
    for number in 0..10 {
        client.set(&object.numbered(number)).await;
        assert_eq!(quick.next_push().await, object.numbered(number));
        quick.acknowledge().await;
    }
    let expected: Vec<_> = (0..10).map(|number| object.numbered(number)).collect();
    assert_eq!(slow.next_pushes(10).await, expected);
}

#[tokio::test]
async fn a_client_that_keeps_reconnecting_misses_nothing() {
    const COUNT: usize = 120;
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let writing = async {
        for number in 0..COUNT {
            client.set(&object.numbered(number)).await;
        }
    };
    let reading = async {
        let mut next = 0;
        let mut round = 0;
        while next < COUNT {
            let mut socket = client.socket().await;
            let mut received = vec![socket.next_push().await];
            for _ in 0..(7 + round % 5).min(COUNT - 1 - received[0].number()) {
                received.push(socket.next_push().await);
            }
            if round % 2 == 0 {
                socket.acknowledge().await;
                received.append(&mut socket.unread());
                socket.close().await;
            }
            let first = received[0].number();
            assert!(first <= next, "{next} was missed: the socket began with {first}");
            for (place, object) in received.iter().enumerate() {
                assert_eq!(object.number(), first + place);
            }
            next = next.max(first + received.len());
            round += 1;
        }
    };
    tokio::join!(writing, reading);
}
