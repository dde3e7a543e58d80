//! The largest permitted number of watches, and the largest permitted value.

use std::sync::Arc;

use blackbox::objstore::{Key, Object, Service};
use tokio::task::JoinSet;

use crate::line::Line;

/// The limit of watches per client.
const WATCHES: usize = 10_000;

/// Concurrent requests.
const AT_ONCE: usize = 50;

/// The limit of a body in bytes.
const LARGEST: usize = 1 << 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_may_have_ten_thousand_watches_but_not_more() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let key = Arc::new(Key::fresh());
    let name = |number: usize| format!("{number:05}");
    let line = Line::new(&service, &client);
    let mut watching = JoinSet::new();
    for first in 0..AT_ONCE {
        let (line, key) = (line.clone(), Arc::clone(&key));
        watching.spawn(async move {
            for number in (first..WATCHES).step_by(AT_ONCE) {
                let reply = line.post("/watch", key.named(&name(number)).body()).await;
                assert_eq!(reply.expect("an answer").status, 204);
            }
        });
    }
    watching.join_all().await;
    client.post("/watch", key.named("more").body()).await.refused(422, "too_many_watches");
    client.watch(&key.named(&name(17))).await;

    let mut socket = client.socket().await;
    let missed = Object::new(&key.named("more"), "{}");
    client.set(&missed).await;
    for number in [0, 1, WATCHES / 2, WATCHES - 1] {
        let object = Object::new(&key.named(&name(number)), "{}");
        client.set(&object).await;
        assert_eq!(socket.next_push().await, object);
    }
    client.unwatch(&key.named(&name(17))).await;
    client.watch(&missed.key).await;
}

#[tokio::test]
async fn a_value_of_maximum_size_is_stored_found_and_pushed() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let small = Object::new(&Key::fresh(), r#"{"x":""}"#);
    let piece = "é€𝄞\\n";
    let text = piece.repeat((LARGEST - small.body().len()) / piece.len());
    let object = Object { value: format!(r#"{{"x":"{text}"}}"#), ..small };
    let length = object.body().len();
    assert!((LARGEST - piece.len()..=LARGEST).contains(&length), "{length}");
    client.watch(&object.key).await;
    let mut socket = client.socket().await;
    client.set(&object).await;
    assert!(client.get(&object.key).await == object);
    assert!(client.find(&object.key).await == [object.clone()]);
    assert!(socket.next_push().await == object);
}
