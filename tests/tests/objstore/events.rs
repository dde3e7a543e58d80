//! `GET /socket?events=true`.

use blackbox::objstore::{Event, Key, Object, Service, revision};

use crate::fence::no_more_events;

#[tokio::test]
async fn events_report_sets_and_deletions_with_their_revisions() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let mut socket = client.socket_with("?events=true").await;
    let first = revision(&client.set(&object).await);
    let second = revision(&client.set(&object.numbered(2)).await);
    client.delete(&object.key).await;
    let fourth = revision(&client.set(&object).await);
    assert_eq!(socket.next_event().await, Event::Set(first, object.clone()));
    assert_eq!(socket.next_event().await, Event::Set(second, object.numbered(2)));
    let Event::Delete(third, deleted) = socket.next_event().await else { panic!("no deletion") };
    assert_eq!(deleted, object.numbered(2));
    assert!(second < third && third < fourth);
    assert_eq!(socket.next_event().await, Event::Set(fourth, object));
}

#[tokio::test]
async fn deletion_events_have_the_owner_and_value_as_written() {
    let service = Service::any().await;
    let client = service.client().await;
    let object =
        Object { owner: "é".to_owned(), ..Object::new(&Key::fresh(), r#"{"a":1.0,"a":1e400}"#) };
    client.set(&object).await;
    client.watch(&object.key).await;
    client.delete(&object.key).await;
    let mut socket = client.socket_with("?events=true").await;
    let Event::Delete(_, deleted) = socket.next_event().await else { panic!("no deletion") };
    assert_eq!(deleted, object);
}

#[tokio::test]
async fn a_rejected_deletion_sends_no_event() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let mut socket = client.socket_with("?events=true").await;
    client.post("/delete", object.body()).await.refused(422, "object_not_found");
    no_more_events(&client, &mut socket).await;
}

#[tokio::test]
async fn events_false_equals_the_default() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let mut socket = client.socket_with("?events=false").await;
    client.set(&object).await;
    client.delete(&object.key).await;
    client.set(&object.numbered(1)).await;
    assert_eq!(socket.next_pushes(2).await, [object.clone(), object.numbered(1)]);
}

#[tokio::test]
async fn sockets_with_and_without_events_share_the_delivery_position() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let mut events = client.socket_with("?events=true").await;
    let first = revision(&client.set(&object).await);
    assert_eq!(events.next_event().await, Event::Set(first, object.clone()));
    events.acknowledge().await;
    events.close().await;
    let second = revision(&client.set(&object.numbered(1)).await);
    let mut pushes = client.socket().await;
    pushes.mute().await;
    assert_eq!(pushes.next_push().await, object.numbered(1));
    drop(pushes);
    let mut events = client.socket_with("?events=true").await;
    assert_eq!(events.next_event().await, Event::Set(second, object.numbered(1)));
}

#[tokio::test]
async fn acknowledged_sets_and_deletions_are_not_repeated() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let mut socket = client.socket_with("?events=true").await;
    client.set(&object).await;
    client.delete(&object.key).await;
    socket.next_event().await;
    socket.next_event().await;
    socket.acknowledge().await;
    socket.close().await;
    let mut socket = client.socket_with("?events=true").await;
    no_more_events(&client, &mut socket).await;
}

#[tokio::test]
async fn since_overrides_the_acknowledged_position() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let mut revisions = Vec::new();
    for number in 0..5 {
        revisions.push(revision(&client.set(&object.numbered(number)).await));
    }
    let mut socket = client.socket().await;
    socket.next_pushes(5).await;
    socket.acknowledge().await;
    socket.close().await;
    for from in [0, 1, 3] {
        let mut socket =
            client.socket_with(&format!("?events=true&since={}", revisions[from])).await;
        for (number, &revision) in revisions.iter().enumerate().skip(from + 1) {
            let expected = Event::Set(revision, object.numbered(number));
            assert_eq!(socket.next_event().await, expected);
        }
    }
    let newest = format!("?events=true&since={}", revisions[4]);
    let mut socket = client.socket_with(&newest).await;
    no_more_events(&client, &mut socket).await;
}

#[tokio::test]
async fn since_excludes_changes_made_before_the_watch() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    let before = revision(&client.set(&object).await);
    client.set(&object.numbered(1)).await;
    client.watch(&object.key).await;
    let after = revision(&client.set(&object.numbered(2)).await);
    let mut socket = client.socket_with(&format!("?events=true&since={before}")).await;
    assert_eq!(socket.next_event().await, Event::Set(after, object.numbered(2)));
}

#[tokio::test]
async fn since_a_future_revision_starts_with_a_reset() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let first = revision(&client.set(&object).await);
    let ahead = first + 1_000_000_000;
    let mut socket = client.socket_with(&format!("?events=true&since={ahead}")).await;
    let Event::Reset(reset) = socket.next_event().await else { panic!("no reset") };
    assert!(reset >= first && reset < ahead);
    assert_eq!(socket.next_event().await, Event::Set(first, object.clone()));
    let next = revision(&client.set(&object.numbered(1)).await);
    assert_eq!(socket.next_event().await, Event::Set(next, object.numbered(1)));
}

#[tokio::test]
async fn changes_skipped_by_since_are_not_acknowledged() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let skipped = revision(&client.set(&object).await);
    let sent = revision(&client.set(&object.numbered(1)).await);
    let mut ahead = client.socket_with(&format!("?events=true&since={skipped}")).await;
    assert_eq!(ahead.next_event().await, Event::Set(sent, object.numbered(1)));
    ahead.acknowledge().await;
    ahead.close().await;
    assert_eq!(client.socket().await.next_pushes(2).await, [object.clone(), object.numbered(1)]);
}
