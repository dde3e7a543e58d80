//! `POST /get`, `/set` and `/delete`.

use blackbox::objstore::{Object, Service, revision};
use futures_util::future::join_all;
use reqwest::Method;

#[tokio::test]
async fn get_returns_the_whole_object_that_was_set() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object { owner: "Ünal \"the owner\"".to_owned(), ..Object::fresh() };
    client.set(&object).await;
    assert_eq!(client.get(&object.key).await, object);
}

#[tokio::test]
async fn setting_again_replaces_value_and_owner() {
    let service = Service::any().await;
    let client = service.client().await;
    let first = Object::fresh();
    let second = Object { owner: "somebody else".to_owned(), ..first.numbered(2) };
    client.set(&first).await;
    client.set(&second).await;
    assert_eq!(client.get(&first.key).await, second);
    assert_eq!(client.find(&first.key).await, [second]);
}

#[tokio::test]
async fn getting_or_deleting_a_missing_object_is_422() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.post("/get", object.body()).await.refused(422, "object_not_found");
    client.post("/delete", object.body()).await.refused(422, "object_not_found");
}

#[tokio::test]
async fn a_deleted_object_is_gone_and_can_be_set_anew() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.set(&object).await;
    client.delete(&object.key).await;
    client.post("/get", object.body()).await.refused(422, "object_not_found");
    client.post("/delete", object.body()).await.refused(422, "object_not_found");
    assert_eq!(client.find(&object.key).await, []);
    client.set(&object.numbered(1)).await;
    assert_eq!(client.get(&object.key).await, object.numbered(1));
}

#[tokio::test]
async fn delete_uses_only_the_key() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.set(&object).await;
    let other = Object { owner: "nobody".to_owned(), ..object.numbered(9) };
    let _ = client.post("/delete", other.body()).await.expect(204);
    client.post("/get", object.body()).await.refused(422, "object_not_found");
}

#[tokio::test]
async fn an_answered_set_is_visible_to_all_clients_at_once() {
    let service = Service::any().await;
    let (writer, reader) = (service.client().await, service.client().await);
    let object = Object::fresh();
    for number in 0..50 {
        writer.set(&object.numbered(number)).await;
        assert_eq!(reader.get(&object.key).await, object.numbered(number));
    }
}

#[tokio::test]
async fn get_returns_the_entity_tag_of_the_last_set() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    let first = client.set(&object).await;
    assert_eq!(client.etag(&object.key).await, first);
    let second = client.set(&object).await;
    assert_ne!(first, second);
    assert_eq!(client.etag(&object.key).await, second);
    assert!(revision(&first) < revision(&second));
    assert_eq!(first.split('-').next(), second.split('-').next(), "the epoch changed");
}

#[tokio::test]
async fn revisions_have_no_gaps_and_no_repeats() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let before = revision(&client.set(&Object::fresh()).await);
    let tags = join_all((0..64).map(|_| async { client.set(&Object::fresh()).await })).await;
    let mut revisions: Vec<_> = tags.iter().map(|tag| revision(tag)).collect();
    revisions.sort_unstable();
    assert_eq!(revisions, (before + 1..=before + 64).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_rejected_write_takes_no_revision() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let object = Object::fresh();
    let before = revision(&client.set(&object).await);
    client.post("/set", "{}").await.refused(400, "invalid_body");
    client.post("/delete", Object::fresh().body()).await.refused(422, "object_not_found");
    let request = client.request(Method::POST, "/set").header("if-none-match", "*");
    request.body(object.body()).send().await.refused(412, "precondition_failed");
    assert_eq!(revision(&client.set(&object).await), before + 1);
}

#[tokio::test]
async fn objects_survive_a_restart() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let (kept, deleted) = (Object::fresh(), Object::fresh());
    let tag = client.set(&kept).await;
    client.set(&deleted).await;
    client.delete(&deleted.key).await;
    let service = service.stop().await.start().await;
    let client = client.at(&service);
    assert_eq!(client.get(&kept.key).await, kept);
    assert_eq!(client.etag(&kept.key).await, tag);
    client.post("/get", deleted.body()).await.refused(422, "object_not_found");
}

#[tokio::test]
async fn acknowledged_writes_survive_a_kill() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let objects: Vec<_> = (0..40).map(|_| Object::fresh()).collect();
    join_all(objects.iter().map(|object| client.set(object))).await;
    client.delete(&objects[0].key).await;
    let service = service.kill().await.start().await;
    let client = client.at(&service);
    client.post("/get", objects[0].body()).await.refused(422, "object_not_found");
    for object in &objects[1..] {
        assert_eq!(client.get(&object.key).await, *object);
    }
}
