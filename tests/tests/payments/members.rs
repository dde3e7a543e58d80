//! The users and apps of a merchant.

use blackbox::payments::{Refusal as _, Service, email, ids};
use serde_json::{Value, json};

fn user_of<'a>(users: &'a [Value], email: &str) -> Option<&'a Value> {
    users.iter().find(|user| user["email"] == email)
}

#[tokio::test]
async fn an_invited_user_is_a_member() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let email = email();
    assert!(!merchant.invite(&email).await);
    assert!(merchant.invite(&email).await);
    let users = merchant.list("/users?limit=10").await;
    assert_eq!(users.len(), 1, "{users:?}");
    assert!(user_of(&users, &email).is_some());
}

#[tokio::test]
async fn a_user_may_be_a_member_of_several_merchants() {
    let service = Service::any().await;
    let (first, second) = (service.merchant().await, service.merchant().await);
    let email = email();
    assert!(!first.invite(&email).await);
    assert!(!second.invite(&email).await);
    let [one, other] = [first.ids("/users?limit=2").await, second.ids("/users?limit=2").await];
    let path = first.path(&format!("/users/{}", one[0]));
    let _ = first.app.delete(&path).await.expect(204);
    assert!(first.list("/users?limit=2").await.is_empty());
    assert_eq!(second.ids("/users?limit=2").await, other);
}

#[tokio::test]
async fn a_revoked_user_can_be_invited_again() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let (kept, revoked) = (email(), email());
    merchant.invite(&kept).await;
    merchant.invite(&revoked).await;
    let users = merchant.list("/users?limit=10").await;
    let id = user_of(&users, &revoked).unwrap()["id"].as_str().unwrap();
    let _ = merchant.app.delete(&merchant.path(&format!("/users/{id}"))).await.expect(204);
    let users = merchant.list("/users?limit=10").await;
    assert!(user_of(&users, &revoked).is_none() && user_of(&users, &kept).is_some());
    assert!(!merchant.invite(&revoked).await);
    assert!(merchant.invite(&revoked).await);
}

#[tokio::test]
async fn an_invitation_requires_exactly_one_address() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    for body in [
        json!({}),
        json!({ "email": null }),
        json!({ "email": "" }),
        json!({ "email": "nobody" }),
        json!({ "email": "a@shop.example, b@shop.example" }),
        json!({ "email": 1 }),
        json!({ "email": ["a@shop.example"] }),
    ] {
        merchant.post("/users", &body).await.names(&["email"]);
    }
    assert!(merchant.list("/users?limit=1").await.is_empty());
}

#[tokio::test]
async fn an_added_app_has_full_access() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let app = service.app().await;
    let other = merchant.by(&app);
    let _ = other.get("").await.expect(403);
    merchant.add(&app).await;
    other.fetch().await;
    let _ = app.put(&other.path(""), &json!({ "name": "Ours" })).await.expect(204);
    other.pay("EUR", 100).await.capture(100).await;
    assert_eq!(ids(&app.list(&app.merchants("?limit=10")).await), [merchant.id.as_str()]);
    other.add(&service.app().await).await;
    assert_eq!(merchant.list("/apps?limit=10").await.len(), 3);
}

#[tokio::test]
async fn adding_an_app_again_changes_nothing() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let app = service.app().await;
    for _ in 0..2 {
        let answer = merchant.post("/apps", &json!({ "appId": app.id })).await.expect(201);
        assert!(answer.body.is_empty());
    }
    merchant.add(&merchant.app).await;
    assert_eq!(merchant.list("/apps?limit=10").await.len(), 2);
}

#[tokio::test]
async fn the_creator_is_the_first_app() {
    let service = Service::any().await;
    let app = service.app_named("Creator").await;
    let merchant = app.merchant("EUR").await;
    let apps = merchant.list("/apps?limit=10").await;
    let identity = app.get("/me").await.json()["identity"].clone();
    assert_eq!(apps, [identity]);
}

#[tokio::test]
async fn only_existing_apps_can_be_added() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    for body in [
        json!({}),
        json!({ "appId": null }),
        json!({ "appId": "" }),
        json!({ "appId": "nobody" }),
        json!({ "appId": "ffffffffffffffffffffffff" }),
        json!({ "appId": merchant.id }),
        json!({ "appId": merchant.app.key }),
        json!({ "appId": 1 }),
        json!({ "appId": {} }),
    ] {
        merchant.post("/apps", &body).await.names(&["appId"]);
    }
    assert_eq!(merchant.list("/apps?limit=10").await.len(), 1);
}

#[tokio::test]
async fn a_revoked_app_loses_access_at_once() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let app = service.app().await;
    merchant.add(&app).await;
    let transaction = merchant.by(&app).pay("EUR", 100).await;
    transaction.capture(10).await;
    let path = merchant.path(&format!("/apps/{}", app.id));
    let _ = merchant.app.delete(&path).await.expect(204);
    let _ = app.get(&transaction.path()).await.expect(403);
    let _ = app.get(&merchant.path("")).await.expect(403);
    assert!(app.list(&app.merchants("?limit=1")).await.is_empty());
    assert_eq!(merchant.ids("/apps?limit=10").await, [merchant.app.id.as_str()]);
    let _ = app.get("/me").await.expect(200);
    merchant.add(&app).await;
    let _ = app.get(&transaction.path()).await.expect(200);
}

#[tokio::test]
async fn an_app_may_revoke_itself() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let other = service.app().await;
    merchant.add(&other).await;
    let path = merchant.path(&format!("/apps/{}", merchant.app.id));
    let _ = merchant.app.delete(&path).await.expect(204);
    let _ = merchant.get("").await.expect(403);
    assert_eq!(merchant.by(&other).ids("/apps?limit=10").await, [other.id.as_str()]);
}

#[tokio::test]
async fn lists_of_apps_never_show_a_key() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let app = service.app().await;
    merchant.add(&app).await;
    let answer = merchant.get("/apps?limit=10").await.expect(200);
    for key in [&app.key, &merchant.app.key] {
        assert!(!answer.text().contains(key.as_str()));
    }
}
