//! Streams with `initial` and `marks`, on sockets.

use std::time::Duration;

use blackbox::objstore::{Event, Key, Object, Service, Socket, revision, unique};
use tokio::time::{Instant, timeout};

const STREAM: &str = "?events=true&initial=true&marks=true";

/// Reads to the next `synced` or `mark`. Returns the events before it, and its revision.
pub(crate) async fn until_state(socket: &mut Socket) -> (Vec<Event>, u64) {
    let mut events = Vec::new();
    loop {
        match socket.next_event().await {
            Event::Synced(revision) | Event::Mark(revision) => return (events, revision),
            event => events.push(event),
        }
    }
}

#[tokio::test]
async fn current_objects_come_once_and_before_the_changes() {
    let service = Service::any().await;
    let client = service.client().await;
    let kind = unique("kind");
    let object = |name: &str| Object::new(&Key::new(&kind, "home", name), "{}");
    let mut stored = Vec::new();
    for name in ["a", "b", "c"] {
        let set = revision(&client.set(&object(name)).await);
        stored.push(Event::Set(set, object(name)));
    }
    client.set(&Object::fresh()).await;
    // Both patterns match `b`.
    client.watch(&Key::new(&kind, "", "")).await;
    client.watch(&object("b").key).await;
    let mut socket = client.socket_with(STREAM).await;
    let (mut events, synced) = until_state(&mut socket).await;
    events.sort_by_key(Event::revision);
    assert_eq!(events, stored);
    let changed = revision(&client.set(&object("a")).await);
    client.delete(&object("b").key).await;
    let (mut events, mut at) = until_state(&mut socket).await;
    if events.len() == 1 {
        let (more, later) = until_state(&mut socket).await;
        events.extend(more);
        at = later;
    }
    let [set, Event::Delete(deleted, b)] = &events[..] else { panic!("{events:?}") };
    assert_eq!((set, b), (&Event::Set(changed, object("a")), &object("b")));
    assert!(synced < changed && changed < *deleted && *deleted <= at, "{synced} {at} {events:?}");
}

#[tokio::test]
async fn without_objects_synced_comes_at_once() {
    let service = Service::any().await;
    let client = service.client().await;
    client.watch(&Key::fresh()).await;
    let mut socket = client.socket_with("?events=true&initial=true").await;
    assert!(matches!(socket.next_event().await, Event::Synced(_)));
}

#[tokio::test]
async fn a_new_watch_shows_its_current_objects() {
    let service = Service::any().await;
    let client = service.client().await;
    let (one, other) = (Object::fresh(), Object::fresh());
    let set = revision(&client.set(&one).await);
    let mut socket = client.socket_with(STREAM).await;
    let (events, _) = until_state(&mut socket).await;
    assert_eq!(events, []);
    client.watch(&one.key).await;
    let (events, synced) = until_state(&mut socket).await;
    assert_eq!(events, [Event::Set(set, one)]);
    assert!(synced > set);

    // The stream resumes before this watch, so its objects are shown again.
    drop(socket);
    let set = revision(&client.set(&other).await);
    client.watch(&other.key).await;
    let mut socket = client.socket_with(&format!("{STREAM}&since={synced}")).await;
    let (events, _) = until_state(&mut socket).await;
    assert_eq!(events, [Event::Set(set, other)]);
}

#[tokio::test]
async fn a_stream_resumes_at_a_mark() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    client.set(&object).await;
    let mut socket = client.socket_with(STREAM).await;
    let (_, synced) = until_state(&mut socket).await;
    drop(socket);
    let set = revision(&client.set(&object.numbered(1)).await);
    let mut socket = client.socket_with(&format!("{STREAM}&since={synced}")).await;
    let (events, at) = until_state(&mut socket).await;
    assert_eq!(events, [Event::Set(set, object.numbered(1))]);
    assert!(at >= set);
    drop(socket);

    // A revision that the service has not reached: the client starts over.
    let later = at + 1_000_000;
    let mut socket = client.socket_with(&format!("{STREAM}&since={later}")).await;
    assert!(matches!(socket.next_event().await, Event::Reset(_)));
    let (events, _) = until_state(&mut socket).await;
    assert_eq!(events, [Event::Set(set, object.numbered(1))]);
}

#[tokio::test]
async fn a_quiet_stream_has_a_mark_within_ten_seconds() {
    let service = Service::any().await;
    let client = service.client().await;
    let mut socket = client.socket_with(STREAM).await;
    let (_, synced) = until_state(&mut socket).await;
    let begun = Instant::now();
    let set = revision(&client.set(&Object::fresh()).await);
    let (events, at) = timeout(Duration::from_secs(15), until_state(&mut socket)).await.unwrap();
    assert_eq!(events, []);
    assert!(at >= set && set > synced, "the mark includes changes that nobody watches");
    assert!(begun.elapsed() > Duration::from_secs(5));
}

#[tokio::test]
async fn other_settings_of_a_stream_need_events() {
    let service = Service::any().await;
    let client = service.client().await;
    for query in ["?initial=true", "?marks=true", "?ack=manual", "?events=true&ack=perhaps"] {
        let answer = client.try_socket(query).await.unwrap_err();
        answer.refused(500, "not_upgraded");
    }
    let _socket = client.try_socket("?initial=false&marks=false&ack=pong").await.unwrap();
}

#[tokio::test]
async fn an_initial_stream_moves_the_position_to_its_end() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    client.set(&object).await;
    let mut socket = client.socket_with(STREAM).await;
    let _ = until_state(&mut socket).await;
    socket.acknowledge().await;
    socket.close().await;
    let set = revision(&client.set(&object.numbered(1)).await);
    let mut socket = client.socket_with("?events=true").await;
    assert_eq!(socket.next_event().await, Event::Set(set, object.numbered(1)));
}
