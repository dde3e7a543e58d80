//! Checks that something is *not* pushed, without waiting.

use blackbox::objstore::{Client, Event, Object, Socket};

/// Checks that nothing else is pushed: sets a marker, which must be the next push.
pub(crate) async fn no_more_pushes(client: &Client, socket: &mut Socket) {
    let marker = Object::fresh();
    client.watch(&marker.key).await;
    client.set(&marker).await;
    assert_eq!(socket.next_push().await, marker);
}

/// Like `no_more_pushes`, for a socket with `events=true`.
pub(crate) async fn no_more_events(client: &Client, socket: &mut Socket) {
    let marker = Object::fresh();
    client.watch(&marker.key).await;
    client.set(&marker).await;
    match socket.next_event().await {
        Event::Set(_, object) => assert_eq!(object, marker),
        event => panic!("{event:?} came before the marker"),
    }
}
