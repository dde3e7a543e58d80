//! `POST /watch`, `POST /unwatch` and `GET /watches`.

use std::time::Duration;

use blackbox::{
    objstore::{Client, Key, Object, Service},
    process::DEADLINE,
};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::fence::no_more_pushes;

#[tokio::test]
async fn every_pattern_shape_watches_exactly_its_matches() {
    let service = Service::any().await;
    let writer = service.client().await;
    for given in 1..8 {
        let (matching, other) = (Object::fresh(), Object::fresh());
        let mut pattern = matching.key.clone();
        let mut differing = matching.key.clone();
        let parts = [
            (&mut pattern.r#type, &mut differing.r#type, &other.key.r#type),
            (&mut pattern.namespace, &mut differing.namespace, &other.key.namespace),
            (&mut pattern.name, &mut differing.name, &other.key.name),
        ];
        for (index, (part, differing, other)) in parts.into_iter().enumerate() {
            if given & (1 << index) == 0 {
                part.clear();
            } else {
                differing.clone_from(other);
            }
        }
        let client = service.client().await;
        client.watch(&pattern).await;
        let mut socket = client.socket().await;
        writer.set(&Object::new(&differing, "{}")).await;
        writer.set(&other).await;
        writer.set(&matching).await;
        assert_eq!(socket.next_push().await, matching, "{pattern:?}");
    }
}

#[tokio::test]
async fn the_empty_pattern_watches_every_object() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    client.watch(&Key::new("", "", "")).await;
    let mut socket = client.socket().await;
    for _ in 0..5 {
        let object = Object::fresh();
        client.set(&object).await;
        assert_eq!(socket.next_push().await, object);
    }
}

#[tokio::test]
async fn objects_set_before_the_watch_are_not_pushed() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.set(&object).await;
    client.watch(&object.key).await;
    let mut socket = client.socket().await;
    client.watch(&object.key.named("")).await;
    no_more_pushes(&client, &mut socket).await;
}

#[tokio::test]
async fn a_repeated_watch_has_no_effect() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    client.watch(&object.key).await;
    let mut socket = client.socket().await;
    client.set(&object).await;
    assert_eq!(socket.next_push().await, object);
    client.unwatch(&object.key).await;
    client.set(&object.numbered(1)).await;
    no_more_pushes(&client, &mut socket).await;
}

#[tokio::test]
async fn a_change_that_several_patterns_match_is_pushed_once() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    client.watch(&object.key.named("")).await;
    client.watch(&Key::new("", &object.key.namespace, "")).await;
    client.watch(&Key::new("", "", &object.key.name)).await;
    let mut socket = client.socket().await;
    client.set(&object).await;
    assert_eq!(socket.next_push().await, object);
    no_more_pushes(&client, &mut socket).await;
}

#[tokio::test]
async fn unwatched_objects_are_not_pushed() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let mut socket = client.socket().await;
    client.set(&object).await;
    assert_eq!(socket.next_push().await, object);
    client.unwatch(&object.key).await;
    client.set(&object.numbered(1)).await;
    no_more_pushes(&client, &mut socket).await;
}

#[tokio::test]
async fn unwatching_one_pattern_leaves_the_others() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    let (by_type, by_name) = (object.key.named(""), Key::new("", "", &object.key.name));
    client.watch(&by_type).await;
    client.watch(&by_name).await;
    client.unwatch(&object.key).await;
    client.unwatch(&by_type).await;
    client.set(&object).await;
    assert_eq!(client.socket().await.next_push().await, object);
}

#[tokio::test]
async fn unwatching_an_unknown_pattern_succeeds() {
    let service = Service::any().await;
    let client = service.client().await;
    client.unwatch(&Key::fresh()).await;
    client.unwatch(&Key::new("", "", "")).await;
}

#[tokio::test]
async fn a_watch_matches_only_changes_made_during_it() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    let mut number = 0;
    for watched in [false, true, false, true] {
        if watched {
            client.watch(&object.key).await;
        } else {
            client.unwatch(&object.key).await;
        }
        for _ in 0..3 {
            client.set(&object.numbered(number)).await;
            number += 1;
        }
    }
    let mut socket = client.socket().await;
    let expected = [3, 4, 5, 9, 10, 11].map(|number| object.numbered(number));
    assert_eq!(socket.next_pushes(6).await, expected);
    no_more_pushes(&client, &mut socket).await;
}

#[tokio::test]
async fn watches_may_change_while_a_socket_is_open() {
    let service = Service::any().await;
    let client = service.client().await;
    let mut socket = client.socket().await;
    for number in 0..10 {
        let object = Object::fresh().numbered(number);
        client.set(&object).await;
        client.watch(&object.key).await;
        client.set(&object).await;
        assert_eq!(socket.next_push().await, object);
        client.unwatch(&object.key).await;
        client.set(&object).await;
    }
    no_more_pushes(&client, &mut socket).await;
}

async fn rejects_new_watches(client: &Client) {
    client.post("/watch", Key::fresh().body()).await.refused(422, "too_many_watches");
}

#[tokio::test]
async fn the_watch_limit_is_per_client_and_survives_restarts() {
    let service = Service::with(&[("OBJSTORE_MAX_WATCHES", "3")]).await;
    let (client, other) = (service.client().await, service.client().await);
    let objects: Vec<_> = (0..3).map(|_| Object::fresh()).collect();
    for object in &objects {
        client.watch(&object.key).await;
    }
    rejects_new_watches(&client).await;
    rejects_new_watches(&service.client_with(client.id()).await).await;
    client.watch(&objects[0].key).await;
    other.watch(&Key::fresh()).await;

    client.unwatch(&objects[0].key).await;
    client.watch(&Key::fresh()).await;
    rejects_new_watches(&client).await;

    let service = service.stop().await.start().await;
    let client = client.at(&service);
    rejects_new_watches(&client).await;
    client.set(&objects[1]).await;
    assert_eq!(client.socket().await.next_push().await, objects[1]);
}

/// The duration of watching and unwatching a pattern.
async fn toggling(client: &Client, pattern: &Key) -> Duration {
    let begun = Instant::now();
    client.watch(pattern).await;
    client.unwatch(pattern).await;
    begun.elapsed()
}

#[tokio::test]
async fn many_ended_watches_do_not_slow_down_watching() {
    let service = Service::with(&[("OBJSTORE_MAX_WATCHES", "1000000")]).await;
    let client = service.client().await;
    let pattern = Key::new("t", "ns", "n");
    let place = service.stop().await;
    let ended = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 300000)
         INSERT INTO watches SELECT id, 't', 'ns', 'n', -2 * n, -2 * n + 1 FROM clients, n";
    assert_eq!(place.change(ended), 300_000);
    let service = place.start().await;
    let client = client.at(&service);
    // The shortest times, of turns beside each other: the machine may be busy for a while.
    let (mut fresh, mut toggled) = (Duration::MAX, Duration::MAX);
    for _ in 0..21 {
        fresh = fresh.min(toggling(&client, &Key::fresh()).await);
        toggled = toggled.min(toggling(&client, &pattern).await);
    }
    assert!(toggled < fresh * 3 + Duration::from_millis(5), "{toggled:?} instead of {fresh:?}");
}

#[tokio::test]
async fn ended_watches_count_until_the_client_acknowledges_past_them() {
    let service = Service::with(&[("OBJSTORE_MAX_WATCHES", "3")]).await;
    let client = service.client().await;
    let (watched, toggled) = (Object::fresh(), Key::fresh());
    client.watch(&watched.key).await;
    for _ in 0..3 {
        client.watch(&toggled).await;
        client.unwatch(&toggled).await;
    }
    rejects_new_watches(&client).await;
    client.watch(&watched.key).await;
    let service = service.stop().await.start().await;
    let client = client.at(&service);
    rejects_new_watches(&client).await;

    let mut socket = client.socket().await;
    client.set(&watched).await;
    assert_eq!(socket.next_push().await, watched);
    socket.acknowledge().await;
    let begun = Instant::now();
    while client.post("/watch", toggled.body()).await.status != 204 {
        assert!(begun.elapsed() < DEADLINE, "the ended watches still count");
        sleep(Duration::from_millis(100)).await;
    }
    let ended = "SELECT count(*) FROM watches WHERE until IS NOT NULL";
    assert_eq!(service.data().number(ended), 0);
    client.unwatch(&toggled).await;
    client.watch(&toggled).await;
}

#[tokio::test]
async fn ended_watches_of_a_migrated_store_are_counted() {
    let service = Service::with(&[("OBJSTORE_MAX_WATCHES", "3")]).await;
    let client = service.client().await;
    let (watched, toggled) = (Key::fresh(), Key::fresh());
    client.watch(&watched).await;
    client.watch(&toggled).await;
    client.unwatch(&toggled).await;
    let place = service.stop().await;
    place.change("UPDATE clients SET ended = 1000000000000000");
    let service = place.start().await;
    let client = client.at(&service);
    client.watch(&toggled).await;
    assert_eq!(service.data().number("SELECT ended FROM clients"), 1);
}

#[tokio::test]
async fn the_watched_patterns_are_listed() {
    let service = Service::any().await;
    let client = service.client().await;
    let listed = async |client: &Client| client.fetch("/watches").await.expect(200).json();
    assert_eq!(listed(&client).await, json!([]));
    let (last, first) = (Key::new("watched", "\"b\"", ""), Key::new("", "a", "\u{e9}"));
    for pattern in [&last, &first, &first] {
        client.watch(pattern).await;
    }
    let of = |key: &Key| {
        let parts = json!({ "Type": key.r#type, "Namespace": key.namespace, "Name": key.name });
        json!({ "Key": parts })
    };
    assert_eq!(listed(&client).await, json!([of(&first), of(&last)]));
    let other_session = service.client_with(client.id()).await;
    assert_eq!(listed(&other_session).await, json!([of(&first), of(&last)]));
    client.unwatch(&first).await;
    assert_eq!(listed(&client).await, json!([of(&last)]));
    assert_eq!(listed(&service.client().await).await, json!([]));
}
