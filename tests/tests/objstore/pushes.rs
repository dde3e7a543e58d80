//! The content and the order of pushes.

use blackbox::objstore::{Key, Object, Service};
use futures_util::future::join_all;

use crate::fence::no_more_pushes;

#[tokio::test]
async fn a_set_is_pushed_to_all_watchers_including_the_writer() {
    let service = Service::any().await;
    let (setting, other) = (service.client().await, service.client().await);
    let object = Object { owner: "Ünal".to_owned(), ..Object::fresh() };
    setting.watch(&object.key).await;
    other.watch(&object.key).await;
    let (mut own, mut others) = (setting.socket().await, other.socket().await);
    setting.set(&object).await;
    assert_eq!(own.next_push().await, object);
    assert_eq!(others.next_push().await, object);
}

#[tokio::test]
async fn sets_that_change_nothing_are_pushed_too() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let mut socket = client.socket().await;
    for _ in 0..3 {
        client.set(&object).await;
    }
    assert_eq!(socket.next_pushes(3).await, [object.clone(), object.clone(), object]);
    no_more_pushes(&client, &mut socket).await;
}

#[tokio::test]
async fn a_deletion_is_not_pushed() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let mut socket = client.socket().await;
    client.set(&object).await;
    client.delete(&object.key).await;
    client.set(&object.numbered(1)).await;
    assert_eq!(socket.next_pushes(2).await, [object.clone(), object.numbered(1)]);
    no_more_pushes(&client, &mut socket).await;
}

#[tokio::test]
async fn a_rejected_set_is_not_pushed() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key.named("")).await;
    let mut socket = client.socket().await;
    client.post("/set", object.key.body()).await.refused(400, "invalid_body");
    let request = client.request(reqwest::Method::POST, "/set").header("if-match", "*");
    request.body(object.body()).send().await.refused(412, "precondition_failed");
    no_more_pushes(&client, &mut socket).await;
}

#[tokio::test]
async fn changes_are_pushed_in_order_with_their_values() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let mut socket = client.socket().await;
    for number in 0..100 {
        client.set(&object.numbered(number)).await;
    }
    let expected: Vec<_> = (0..100).map(|number| object.numbered(number)).collect();
    assert_eq!(socket.next_pushes(100).await, expected);
}

#[tokio::test]
async fn overwritten_and_deleted_values_are_still_pushed() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    for number in 0..3 {
        client.set(&object.numbered(number)).await;
    }
    client.delete(&object.key).await;
    let mut socket = client.socket().await;
    let expected = [0, 1, 2].map(|number| object.numbered(number));
    assert_eq!(socket.next_pushes(3).await, expected);
}

#[tokio::test]
async fn changes_of_several_objects_keep_their_common_order() {
    let service = Service::any().await;
    let client = service.client().await;
    let key = Key::fresh();
    let objects = ["a", "b", "c"].map(|name| Object::new(&key.named(name), "{}"));
    client.watch(&objects[2].key).await;
    client.watch(&objects[0].key).await;
    client.watch(&key.named("")).await;
    let changes: Vec<_> = [2, 0, 1, 0, 2, 1, 1, 0]
        .into_iter()
        .enumerate()
        .map(|(number, index)| objects[index].numbered(number))
        .collect();
    for change in &changes {
        client.set(change).await;
    }
    assert_eq!(client.socket().await.next_pushes(changes.len()).await, changes);
}

#[tokio::test]
async fn all_sockets_of_a_client_receive_the_same_order() {
    let service = Service::any().await;
    let client = service.client().await;
    let again = service.client_with(client.id()).await;
    let key = Key::fresh();
    client.watch(&key.named("")).await;
    let mut sockets = [client.socket().await, client.socket().await, again.socket().await];
    let objects: Vec<_> =
        (0..60).map(|number| Object::new(&key.named(&number.to_string()), "{}")).collect();
    join_all(objects.iter().map(|object| client.set(object))).await;
    let mut received = Vec::new();
    for socket in &mut sockets {
        received.push(socket.next_pushes(objects.len()).await);
    }
    assert_eq!(received[0], received[1]);
    assert_eq!(received[0], received[2]);
    for object in &objects {
        assert!(received[0].contains(object), "{object:?}");
    }
}

#[tokio::test]
async fn all_watching_clients_receive_the_same_order() {
    let service = Service::any().await;
    let writer = service.client().await;
    let key = Key::fresh();
    let mut sockets = Vec::new();
    for _ in 0..8 {
        let client = service.client().await;
        client.watch(&key.named("")).await;
        sockets.push(client.socket().await);
    }
    let objects: Vec<_> =
        (0..40).map(|number| Object::new(&key.named(&number.to_string()), "{}")).collect();
    join_all(objects.iter().map(|object| writer.set(object))).await;
    let first = sockets[0].next_pushes(objects.len()).await;
    for socket in &mut sockets[1..] {
        assert_eq!(socket.next_pushes(objects.len()).await, first);
    }
}

#[tokio::test]
async fn a_slow_reader_delays_nobody_and_loses_nothing() {
    const COUNT: usize = 75;
    let service = Service::any().await;
    let (slow, quick) = (service.client().await, service.client().await);
    let key = Key::fresh();
    let filler = "x".repeat(256 * 1024);
    slow.watch(&key.named("")).await;
    quick.watch(&key.named("")).await;
    let (mut unread, mut read) = (slow.socket().await, quick.socket().await);
    for number in 0..COUNT {
        let object = Object::new(&key.named(&number.to_string()), format!(r#"{{"x":"{filler}"}}"#));
        quick.set(&object).await;
        assert!(read.next_push().await == object);
    }
    for number in 0..COUNT {
        assert_eq!(unread.next_push().await.key.name, number.to_string());
    }
    no_more_pushes(&slow, &mut unread).await;
}
