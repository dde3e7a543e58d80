//! `OBJSTORE_OWNER`: whether the service compares owners with client ids.

use std::slice::from_ref;

use blackbox::objstore::{Client, Object, Service};
use reqwest::Method;
use uuid::Uuid;

/// An object that this client owns.
fn owned(client: &Client) -> Object {
    Object { owner: client.id().to_string(), ..Object::fresh() }
}

async fn matching() -> Service {
    Service::with(&[("OBJSTORE_OWNER", "match")]).await
}

#[tokio::test]
async fn owners_are_not_compared_by_default_or_if_free() {
    for settings in [&[][..], &[("OBJSTORE_OWNER", "free")]] {
        let service = Service::with(settings).await;
        let (first, second) = (service.client().await, service.client().await);
        let object = owned(&first);
        second.set(&object).await;
        second.delete(&object.key).await;
    }
}

#[tokio::test]
async fn with_match_a_client_sets_only_what_it_owns() {
    let service = matching().await;
    let client = service.client().await;
    client.set(&owned(&client)).await;
    for owner in ["somebody".to_owned(), Uuid::new_v4().to_string(), format!(" {}", client.id())] {
        let object = Object { owner, ..Object::fresh() };
        client.post("/set", object.body()).await.refused(401, "not_owner");
        client.post("/get", object.body()).await.refused(422, "object_not_found");
    }
}

#[tokio::test]
async fn with_match_a_client_deletes_only_what_it_owns() {
    let service = matching().await;
    let (owner, other) = (service.client().await, service.client().await);
    let object = owned(&owner);
    owner.set(&object).await;
    let claimed = Object { owner: other.id().to_string(), ..object.clone() };
    other.post("/delete", claimed.body()).await.refused(401, "not_owner");
    assert_eq!(other.get(&object.key).await, object);
    owner.delete(&object.key).await;
}

#[tokio::test]
async fn delete_checks_the_object_then_the_owner_then_the_condition() {
    let service = matching().await;
    let (owner, other) = (service.client().await, service.client().await);
    let object = owned(&owner);
    let delete = async |client: &Client| {
        let request = client.request(Method::POST, "/delete").header("if-none-match", "*");
        request.body(object.key.body()).send().await
    };
    delete(&other).await.refused(422, "object_not_found");
    owner.set(&object).await;
    delete(&other).await.refused(401, "not_owner");
    delete(&owner).await.refused(412, "precondition_failed");
}

#[tokio::test]
async fn with_match_every_client_still_reads_finds_and_watches() {
    let service = matching().await;
    let (owner, other) = (service.client().await, service.client().await);
    let object = owned(&owner);
    other.watch(&object.key).await;
    let mut socket = other.socket().await;
    owner.set(&object).await;
    assert_eq!(other.get(&object.key).await, object);
    assert_eq!(other.find(&object.key).await, from_ref(&object));
    assert_eq!(socket.next_push().await, object);
}
