//! How a test sees that something is *not* pushed, without waiting.

use blackbox::objstore::{Client, Event, Object, Socket};

/// Checks that nothing more is pushed: the next push is of an object set just now.
pub(crate) async fn no_more_pushes(client: &Client, socket: &mut Socket) {
    let last = Object::fresh();
    client.watch(&last.key).await;
    client.set(&last).await;
    assert_eq!(socket.next_push().await, last);
}

/// Checks the same on a socket with `events=true`.
pub(crate) async fn no_more_events(client: &Client, socket: &mut Socket) {
    let last = Object::fresh();
    client.watch(&last.key).await;
    client.set(&last).await;
    match socket.next_event().await {
        Event::Set(_, object) => assert_eq!(object, last),
        event => panic!("{event:?} comes before the last"),
    }
}
