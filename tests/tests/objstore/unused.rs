//! Clients that registered and were never used.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use blackbox::{
    objstore::{Client, Key, Object, Service, Stopped},
    process::DEADLINE,
};
use tokio::time::{Instant, sleep};

const MINUTE: i64 = 60_000;

/// Counts the clients that are never removed as unused.
const USED: &str = "SELECT count(*) FROM clients WHERE unused_until IS NULL";

#[expect(clippy::disallowed_methods, reason = "rows are compared with the clock")]
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

/// Lets the deadlines of all unused clients pass, and starts the service.
async fn start_later(place: Stopped) -> Service {
    place.change("UPDATE clients SET unused_until = 1 WHERE unused_until IS NOT NULL");
    place.start().await
}

async fn is_removed(client: &Client) {
    let begun = Instant::now();
    while client.post("/find", Key::fresh().body()).await.status != 401 {
        assert!(begun.elapsed() < DEADLINE, "the client is still there");
        sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn clients_that_set_watched_or_connected_are_not_removed() {
    let service = Service::with(&[("OBJSTORE_MAX_CLIENTS", "4")]).await;
    let clients = [
        service.client().await,
        service.client().await,
        service.client().await,
        service.client().await,
    ];
    let [setting, watching, listening, reading] = &clients;
    let object = Object::fresh();
    setting.set(&object).await;
    watching.watch(&object.key).await;
    listening.socket().await.close().await;
    reading.get(&object.key).await;
    reading.find(&object.key).await;
    reading.post("/set", "{").await.refused(400, "invalid_body");
    reading.unwatch(&object.key).await;
    assert_eq!(service.data().number(USED), 3);

    let service = start_later(service.stop().await).await;
    let [setting, watching, listening, reading] = clients.map(|client| client.at(&service));
    // A request before the removal would postpone it.
    let begun = Instant::now();
    while service.data().number("SELECT count(*) FROM clients") > 3 {
        assert!(begun.elapsed() < DEADLINE, "the client is still there");
        sleep(Duration::from_millis(50)).await;
    }
    is_removed(&reading).await;
    for client in [&setting, &watching, &listening] {
        assert_eq!(client.get(&object.key).await, object);
    }
    service.client().await;
}

#[tokio::test]
async fn a_request_postpones_the_removal_of_an_unused_client() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let place = service.stop().await;
    let recent = now() + 62 * MINUTE;
    place.change(&format!("UPDATE clients SET unused_until = {recent}"));
    let service = place.start().await;
    client.at(&service).find(&Key::fresh()).await;
    let until = "SELECT unused_until FROM clients";
    assert_eq!(
        service.data().number(until),
        recent,
        "a request wrote, although the deadline is more than an hour away"
    );

    let place = service.stop().await;
    place.change(&format!("UPDATE clients SET unused_until = {}", now() + 59 * MINUTE));
    let service = place.start().await;
    let client = client.at(&service);
    let begun = now();
    client.post("/get", Key::fresh().body()).await.refused(422, "object_not_found");
    assert!(service.data().number(until) >= begun + 60 * MINUTE);
    client.set(&Object::fresh()).await;
    assert_eq!(service.data().number(USED), 1);
}

#[tokio::test]
async fn registering_again_postpones_the_removal_by_an_hour() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let place = service.stop().await;
    place.change(&format!("UPDATE clients SET unused_until = {}", now() + MINUTE));
    let service = place.start().await;
    let begun = now();
    service.client_with(client.id()).await;
    assert!(service.data().number("SELECT unused_until FROM clients") >= begun + 60 * MINUTE);
}
