//! Delivery across restarts and crashes, and beyond the log.

use blackbox::{
    objstore::{Event, Key, Object, Service, revision},
    process::DEADLINE,
};
use tokio::time::Instant;

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
async fn what_was_not_acknowledged_comes_again_after_a_kill() {
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

#[tokio::test]
async fn answering_the_close_frame_of_a_stopping_service_acknowledges() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let mut socket = client.socket().await;
    socket.mute().await;
    client.set(&object).await;
    socket.next_push().await;
    service.process().terminate().await;
    assert_eq!(socket.closed().await, 1001);
    socket.agree().await;
    let service = service.ended().await.start().await;
    let client = client.at(&service);
    no_more_pushes(&client, &mut client.socket().await).await;
}

#[tokio::test]
async fn leaving_the_close_frame_of_a_stopping_service_unanswered_acknowledges_nothing() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let mut socket = client.socket().await;
    socket.mute().await;
    client.set(&object).await;
    socket.next_push().await;
    service.process().terminate().await;
    assert_eq!(socket.closed().await, 1001);
    drop(socket);
    let service = service.ended().await.start().await;
    let client = client.at(&service);
    assert_eq!(client.socket().await.next_push().await, object);
}

/// Sets objects in turn, until the log has lost what it held at `since`.
async fn outgrow_the_log(service: &Service, since: u64) -> Vec<Object> {
    let client = service.client().await;
    let key = Key::fresh();
    let filler = "x".repeat(16 * 1024);
    let started = Instant::now();
    loop {
        let mut latest = Vec::new();
        for name in ["a", "b", "c"] {
            for number in 0..8 {
                let object =
                    Object::new(&key.named(name), format!(r#"{{"n":{number},"x":"{filler}"}}"#));
                client.set(&object).await;
                latest.retain(|one: &Object| one.key != object.key);
                latest.push(object);
            }
        }
        client.watch(&key).await;
        let mut socket = client.socket_with(&format!("?events=true&since={since}")).await;
        client.set(&Object::new(&key, "{}")).await;
        if matches!(socket.next_event().await, Event::Reset(_)) {
            return latest;
        }
        assert!(started.elapsed() < DEADLINE, "the log holds more than it may");
    }
}

fn small_log() -> [(&'static str, &'static str); 1] {
    [("OBJSTORE_LOG_SIZE", "64KiB")]
}

#[tokio::test]
async fn a_client_behind_the_log_gets_the_current_objects_and_what_follows() {
    let service = Service::with(&small_log()).await;
    let client = service.client().await;
    client.watch(&Key::new("", "", "a")).await;
    client.watch(&Key::new("", "", "c")).await;
    let overwritten = Object::fresh();
    client.watch(&overwritten.key).await;
    client.set(&overwritten).await;
    let since = revision(&client.set(&overwritten.numbered(1)).await);
    let latest = outgrow_the_log(&service, since).await;

    let mut socket = client.socket().await;
    let last = latest[0].numbered(99);
    client.set(&last).await;
    let mut received = Vec::new();
    while received.last() != Some(&last) {
        received.push(socket.next_push().await);
    }
    for object in [&latest[0], &latest[2], &overwritten.numbered(1)] {
        assert!(received.contains(object), "{:?} is missing", object.key);
    }
    assert!(received.iter().all(|object| object.key.name != "b"));
    assert!(!received.contains(&overwritten));
    socket.acknowledge().await;
    socket.close().await;
    no_more_pushes(&client, &mut client.socket().await).await;
}

#[tokio::test]
async fn events_since_a_revision_beyond_the_log_begin_with_a_reset() {
    let service = Service::with(&small_log()).await;
    let client = service.client().await;
    let (kept, deleted) = (Object::fresh(), Object::fresh());
    client.watch(&kept.key).await;
    client.watch(&deleted.key).await;
    let since = revision(&client.set(&deleted).await);
    client.set(&kept).await;
    let kept_at = revision(&client.set(&kept.numbered(1)).await);
    client.delete(&deleted.key).await;
    outgrow_the_log(&service, since).await;

    let mut socket = client.socket_with(&format!("?events=true&since={since}")).await;
    let Event::Reset(reset) = socket.next_event().await else { panic!("no reset") };
    assert!(reset > kept_at);
    assert_eq!(socket.next_event().await, Event::Set(kept_at, kept.numbered(1)));
    let next = revision(&client.set(&kept.numbered(2)).await);
    assert!(next > reset);
    assert_eq!(socket.next_event().await, Event::Set(next, kept.numbered(2)));
}
