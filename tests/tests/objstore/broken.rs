//! Rows that were damaged outside the service, and rows that the database rejects.

use blackbox::objstore::{Client, Key, Object, Service, Stopped, unique};
use futures_util::future::join_all;
use reqwest::Method;

/// The number of objects that are written concurrently.
const OBJECTS: usize = 64;

async fn filled() -> (Service, Client, Vec<Object>) {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let kind = unique("kind");
    let object = |name: usize| Object::new(&Key::new(&kind, "ns", &name.to_string()), "{}");
    let objects: Vec<_> = (0..OBJECTS).map(object).collect();
    join_all(objects.iter().map(|object| client.set(object))).await;
    (service, client, objects)
}

/// Makes the database reject log rows about objects of this name.
fn reject_log_rows(place: &Stopped, name: &str) {
    match place.database() {
        Some(database) => {
            database.run(&format!("ALTER TABLE log ADD CHECK (name <> '{name}') NOT VALID"));
        }
        None => {
            place.change(&format!(
                "CREATE TRIGGER refused BEFORE INSERT ON log WHEN new.name = '{name}'
                 BEGIN SELECT RAISE(ABORT, 'refused'); END"
            ));
        }
    }
}

/// Writes all objects concurrently, and checks that only the middle one fails.
async fn all_but_the_middle_are_written(client: &Client, path: &str, objects: &[Object]) {
    let write = |object: &Object| {
        let body = if path == "/set" { object.numbered(1).body() } else { object.key.body() };
        let request = client.request(Method::POST, path).header("content-type", "application/json");
        request.header("if-match", "*").body(body).send()
    };
    let answers = join_all(objects.iter().map(write)).await;
    for (place, answer) in answers.into_iter().enumerate() {
        if place == OBJECTS / 2 {
            answer.refused(503, "storage_unavailable");
        } else {
            let _ = answer.expect(204);
        }
    }
}

#[tokio::test]
async fn an_unreadable_row_fails_only_its_own_write() {
    let (service, client, objects) = filled().await;
    let broken = format!("UPDATE objects SET owner = '' WHERE name = '{}'", OBJECTS / 2);
    assert_eq!(service.data().change(&broken), 1);
    all_but_the_middle_are_written(&client, "/delete", &objects).await;
    assert_eq!(service.data().number("SELECT count(*) FROM objects"), 1);
}

#[tokio::test]
async fn a_rejected_row_fails_only_its_own_write() {
    let (service, client, objects) = filled().await;
    reject_log_rows(service.data(), &(OBJECTS / 2).to_string());
    for _ in 0..4 {
        all_but_the_middle_are_written(&client, "/set", &objects).await;
    }
    assert_eq!(client.get(&objects[OBJECTS / 2].key).await, objects[OBJECTS / 2]);
    assert_eq!(client.get(&objects[0].key).await, objects[0].numbered(1));
}
