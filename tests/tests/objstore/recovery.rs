//! Delivery after restarts and crashes, and to clients that are behind the log.

use std::{collections::BTreeSet, time::Duration};

use blackbox::{
    objstore::{Client, Event, Key, Object, Service, Socket, revision},
    process::DEADLINE,
};
use futures_util::future::join_all;
use tokio::time::{Instant, sleep};

use crate::fence::no_more_pushes;

#[tokio::test]
async fn a_delivery_position_survives_a_restart() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let mut socket = client.socket().await;
    client.set(&object).await;
    socket.next_push().await;
    socket.acknowledge().await;
    socket.close().await;
    client.set(&object.numbered(1)).await;
    let service = service.stop().await.start().await;
    let client = client.at(&service);
    let mut socket = client.socket().await;
    assert_eq!(socket.next_push().await, object.numbered(1));
    no_more_pushes(&client, &mut socket).await;
}

#[tokio::test]
async fn unacknowledged_pushes_are_repeated_after_a_kill() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let mut socket = client.socket().await;
    socket.mute().await;
    for number in 0..3 {
        client.set(&object.numbered(number)).await;
    }
    socket.next_pushes(3).await;
    let service = service.kill().await.start().await;
    let client = client.at(&service);
    let mut socket = client.socket().await;
    let expected = [0, 1, 2].map(|number| object.numbered(number));
    assert_eq!(socket.next_pushes(3).await, expected);
    no_more_pushes(&client, &mut socket).await;
}

/// A client, an object that was pushed to it but not acknowledged, and its mute socket.
async fn unacknowledged(service: &Service) -> (Client, Object, Socket) {
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let mut socket = client.socket().await;
    socket.mute().await;
    client.set(&object).await;
    socket.next_push().await;
    (client, object, socket)
}

#[tokio::test]
async fn a_close_frame_acknowledges_nothing_while_the_service_stops() {
    let service = Service::with(&[]).await;
    let (client, object, mut socket) = unacknowledged(&service).await;
    service.process().terminate().await;
    assert_eq!(socket.closed().await, 1001);
    // The service cannot know whether the client sent this frame before it saw the service's frame.
    socket.agree().await;
    let service = service.ended().await.start().await;
    let client = client.at(&service);
    assert_eq!(client.socket().await.next_push().await, object);
}

#[tokio::test]
async fn answering_the_last_ping_of_a_stopping_service_acknowledges() {
    let service = Service::with(&[]).await;
    let (client, _, mut socket) = unacknowledged(&service).await;
    service.process().terminate().await;
    socket.unmute().await;
    assert_eq!(socket.closed().await, 1001);
    let service = service.ended().await.start().await;
    let client = client.at(&service);
    no_more_pushes(&client, &mut client.socket().await).await;
}

#[tokio::test]
async fn an_unanswered_close_frame_of_the_service_acknowledges_nothing() {
    let service = Service::with(&[]).await;
    let (client, object, mut socket) = unacknowledged(&service).await;
    service.process().terminate().await;
    assert_eq!(socket.closed().await, 1001);
    drop(socket);
    let service = service.ended().await.start().await;
    let client = client.at(&service);
    assert_eq!(client.socket().await.next_push().await, object);
}

/// Sets objects named a, b and c until the log has dropped revision `since` and the next one, and
/// returns the last of each. Restarts the service, because its memory may reach further back than
/// its log.
async fn outgrow_the_log(service: Service, since: u64) -> (Service, [Object; 3]) {
    let client = service.client().await;
    let key = Key::fresh();
    let filler = "x".repeat(16 * 1024);
    let started = Instant::now();
    loop {
        let objects = ["a", "b", "c"].map(|name| {
            let number = started.elapsed().as_millis();
            Object::new(&key.named(name), format!(r#"{{"n":{number},"x":"{filler}"}}"#))
        });
        for object in objects.iter().cycle().take(12) {
            client.set(object).await;
        }
        let oldest = service.data().number("SELECT min(revision) FROM log");
        if oldest.cast_unsigned() > since + 1 {
            return (service.stop().await.start().await, objects);
        }
        assert!(started.elapsed() < DEADLINE, "the log exceeds its limit");
        sleep(Duration::from_millis(50)).await;
    }
}

/// Settings that make the log drop its records soon.
const SHORT_LOG: [(&str, &str); 2] =
    [("OBJSTORE_LOG_SIZE", "64KiB"), ("OBJSTORE_LOG_RETENTION", "1s")];

#[tokio::test]
async fn a_client_behind_the_log_gets_current_objects_then_changes() {
    for setting in SHORT_LOG {
        println!("{setting:?}");
        let service = Service::with(&[setting]).await;
        let client = service.client().await;
        client.watch(&Key::new("", "", "a")).await;
        client.watch(&Key::new("", "", "c")).await;
        let overwritten = Object::fresh();
        client.watch(&overwritten.key).await;
        client.set(&overwritten).await;
        let since = revision(&client.set(&overwritten.numbered(1)).await);
        let (service, latest) = outgrow_the_log(service, since).await;
        let client = client.at(&service);

        let mut socket = client.socket().await;
        let last = Object::new(&Key::fresh().named("a"), "{}");
        client.set(&last).await;
        let expected = [&latest[0], &latest[2], &overwritten.numbered(1), &last];
        let mut received = Vec::new();
        while !expected.iter().all(|object| received.contains(*object)) {
            received.push(socket.next_push().await);
        }
        assert!(received.iter().all(|object| object.key.name != "b"));
        assert!(!received.contains(&overwritten));
        // An acknowledgement during the pass over the current objects acknowledges none of them. This
        // change comes after the pass.
        let after = last.numbered(1);
        client.set(&after).await;
        while socket.next_push().await != after {}
        socket.acknowledge().await;
        socket.close().await;
        no_more_pushes(&client, &mut client.socket().await).await;
    }
}

#[tokio::test]
async fn an_interrupted_pass_over_current_objects_loses_none() {
    const COUNT: usize = 1000;
    let service = Service::with(&SHORT_LOG[..1]).await;
    let client = service.client().await;
    let key = Key::fresh();
    client.watch(&key.named("")).await;
    let since = revision(&client.set(&Object::new(&key.named("0"), "{}")).await);
    // Large enough that the client answers pings during the pass.
    let value = format!(r#"{{"x":"{}"}}"#, "x".repeat(8 * 1024));
    let named = |number: usize| Object::new(&key.named(&number.to_string()), value.clone());
    let objects: Vec<_> = (0..COUNT).map(named).collect();
    join_all(objects.iter().map(|object| client.set(object))).await;
    let (service, _) = outgrow_the_log(service, since).await;
    let client = client.at(&service);

    let mut received = BTreeSet::new();
    for count in [1, 100, 300] {
        if received.len() < COUNT {
            let mut socket = client.socket().await;
            let mut pushes = socket.next_pushes(count).await;
            socket.acknowledge().await;
            pushes.append(&mut socket.unread());
            received.extend(pushes.into_iter().map(|push| push.key.name));
            socket.close().await;
        }
    }
    let changed = objects[0].numbered(1);
    let mut socket = client.socket().await;
    client.set(&changed).await;
    let mut change_seen = false;
    while !change_seen || received.len() < COUNT {
        let push = socket.next_push().await;
        change_seen |= push == changed;
        received.insert(push.key.name);
    }
}

#[tokio::test]
async fn since_a_revision_beyond_the_log_starts_with_a_reset() {
    let service = Service::with(&SHORT_LOG[..1]).await;
    let client = service.client().await;
    let (kept, deleted) = (Object::fresh(), Object::fresh());
    client.watch(&kept.key).await;
    client.watch(&deleted.key).await;
    let since = revision(&client.set(&deleted).await);
    client.set(&kept).await;
    let kept_at = revision(&client.set(&kept.numbered(1)).await);
    client.delete(&deleted.key).await;
    let (service, _) = outgrow_the_log(service, since).await;
    let client = client.at(&service);

    let mut socket = client.socket_with(&format!("?events=true&since={since}")).await;
    let Event::Reset(reset) = socket.next_event().await else { panic!("no reset") };
    assert!(reset > kept_at);
    assert_eq!(socket.next_event().await, Event::Set(kept_at, kept.numbered(1)));
    let next = revision(&client.set(&kept.numbered(2)).await);
    assert!(next > reset);
    assert_eq!(socket.next_event().await, Event::Set(next, kept.numbered(2)));
}
