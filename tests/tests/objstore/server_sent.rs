//! `GET /events`: streams as server-sent events.

use std::time::Duration;

use blackbox::objstore::{Block, Event, Key, Object, Service, revision, unique};
use tokio::time::{Instant, timeout};

#[tokio::test]
async fn the_stream_has_the_messages_of_a_socket() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let first = revision(&client.set(&object).await);
    let query = "?initial=true&marks=true";
    let mut stream = client.events(query).await;
    // A message with a current object is no place to resume.
    assert_eq!(stream.next().await, (None, Event::Set(first, object.clone())));
    let (id, synced) = stream.next().await;
    assert!(matches!(synced, Event::Synced(revision) if id == Some(revision)), "{synced:?}");
    let second = revision(&client.set(&object.numbered(2)).await);
    assert_eq!(stream.next().await, (Some(second), Event::Set(second, object.numbered(2))));
    assert!(matches!(stream.next_event().await, Event::Mark(mark) if mark >= second));
    client.delete(&object.key).await;
    let (id, Event::Delete(deleted, last)) = stream.next().await else { panic!("no deletion") };
    assert_eq!((id, last), (Some(deleted), object.numbered(2)));
}

#[tokio::test]
async fn the_stream_begins_now_or_after_the_last_event_id() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let first = revision(&client.set(&object.numbered(1)).await);
    let mut now = client.events("").await;
    let second = revision(&client.set(&object.numbered(2)).await);
    assert_eq!(now.next().await, (Some(second), Event::Set(second, object.numbered(2))));
    let expected = (Some(second), Event::Set(second, object.numbered(2)));
    assert_eq!(client.events(&format!("?since={first}")).await.next().await, expected);
    assert_eq!(client.events_after("?since=0", Some(first)).await.next().await, expected);
    // A browser that resumes sends the same query, and gets no current objects again.
    assert_eq!(client.events_after("?initial=true", Some(first)).await.next().await, expected);
    let (id, reset) = client.events(&format!("?since={}", second + 1_000_000)).await.next().await;
    assert!(id.is_none() && matches!(reset, Event::Reset(_)), "{reset:?}");
}

#[tokio::test]
async fn a_pattern_needs_no_watch() {
    let service = Service::any().await;
    let client = service.client().await;
    let kind = unique("kind");
    let object = |name: &str| Object::new(&Key::new(&kind, "home", name), "{}");
    let (watched, one, other) = (Object::fresh(), object("one"), object("other"));
    client.watch(&watched.key).await;
    let first = revision(&client.set(&one).await);
    let mut all = client.events(&format!("?type={kind}&initial=true")).await;
    let mut named = client.events(&format!("?type={kind}&namespace=home&name=other")).await;
    assert_eq!(all.next_event().await, Event::Set(first, one));
    assert!(matches!(all.next_event().await, Event::Synced(_)));
    client.set(&watched).await;
    let second = revision(&client.set(&other).await);
    assert_eq!(all.next().await, (Some(second), Event::Set(second, other.clone())));
    assert_eq!(named.next().await, (Some(second), Event::Set(second, other)));
    let listed = client.fetch("/watches").await.expect(200).json();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
}

#[tokio::test]
async fn a_stream_moves_no_position() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let mut stream = client.events("").await;
    let set = revision(&client.set(&object).await);
    assert_eq!(stream.next_event().await, Event::Set(set, object.clone()));
    drop(stream);
    assert_eq!(client.socket().await.next_push().await, object);
}

#[tokio::test]
async fn a_quiet_stream_has_a_comment_every_15_seconds() {
    let service = Service::any().await;
    let mut stream = service.client().await.events("").await;
    let begun = Instant::now();
    let block = timeout(Duration::from_secs(20), stream.next_block()).await.unwrap();
    assert_eq!(block, Some(Block::Comment));
    assert!(begun.elapsed() > Duration::from_secs(12));
}

#[tokio::test]
async fn a_logout_ends_the_streams_of_the_session() {
    let service = Service::any().await;
    let client = service.client().await;
    let other = service.client_with(client.id()).await;
    let (mut stream, mut stays) = (client.events("").await, other.events("").await);
    let _ = client.post("/logout", "").await.expect(204);
    assert_eq!(stream.next_block().await, None);
    let object = Object::fresh();
    other.watch(&object.key).await;
    let set = revision(&other.set(&object).await);
    assert_eq!(stays.next_event().await, Event::Set(set, object));
}

#[tokio::test]
async fn a_stopping_service_ends_its_streams() {
    let service = Service::with(&[]).await;
    let mut stream = service.client().await.events("").await;
    service.process().terminate().await;
    while stream.next_block().await.is_some() {}
    service.ended().await;
}

#[tokio::test]
async fn wrong_queries_are_refused() {
    let service = Service::any().await;
    let client = service.client().await;
    let long = format!("/events?type={}", "x".repeat(513));
    for path in ["/events?since=x", "/events?Type=a", "/events?initial=1", &long] {
        client.fetch(path).await.refused(400, "invalid_query");
    }
    let request = client.request(reqwest::Method::GET, "/events").header("last-event-id", "x");
    request.send().await.refused(400, "invalid_header");
}
