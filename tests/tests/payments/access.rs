//! Access rights, and the order of the checks of a request.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use blackbox::{
    http::Answer,
    payments::{App, Card, Merchant, Refusal as _, Service, email, ids},
    raw::{Connection, head},
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    disputes::until_disputed,
    evidence::{PDF, form},
};

/// The size of a body that exceeds the limit by one byte.
const TOO_LARGE: usize = 100 * 1024 + 1;

/// Unknown ids and malformed ids.
const UNKNOWN: [&str; 8] = [
    "ffffffffffffffffffffffff",
    "000000000000000000000000",
    "6b016ea0000000000000000",
    "6b016ea000000000000000012",
    "6b016ea0000000000000000g",
    "1",
    "%20",
    "%00",
];

/// A merchant with one resource of each kind.
struct Shop {
    merchant: Merchant,
    user: String,
    line: String,
    transaction: String,
    card: String,
    webhook: String,
    dispute: String,
    file: String,
}

impl Shop {
    async fn new(service: &Service) -> Self {
        let merchant = service.merchant().await;
        merchant.invite(&email()).await;
        let transaction = merchant.pay("EUR", 1000).await;
        transaction.capture(100).await;
        merchant.pay_with(Card("4100000000000102"), "EUR", 1000).await.capture(1000).await;
        let dispute = ids(&until_disputed(&merchant).await).remove(0);
        let (media, body) = form(None, &[("a.pdf", PDF)]);
        let evidence = merchant.app.request(Method::POST, &format!("/disputes/{dispute}/evidence"));
        let evidence = evidence.body_of(&media, body).send().await.expect(201).json();
        Self {
            file: evidence["evidence"]["files"][0]["id"].as_str().unwrap().to_owned(),
            dispute,
            user: merchant.ids("/users?limit=1").await.remove(0),
            line: merchant.ids("/lines?limit=1").await.remove(0),
            card: merchant.save_card(&transaction).await,
            webhook: merchant.app.webhook().await,
            transaction: transaction.id,
            merchant,
        }
    }

    /// All methods and paths with ids. Each id is valid and in braces.
    fn paths(&self) -> Vec<(Method, String)> {
        let Self { merchant, user, line, transaction, card, webhook, dispute, file } = self;
        let (app, merchant) = (&merchant.app.id, &merchant.id);
        vec![
            // The first key has the id of its app.
            (Method::DELETE, format!("/apps/me/keys/{{{app}}}")),
            (Method::GET, format!("/identities/{{{app}}}/merchants?limit=1")),
            (Method::PUT, format!("/merchants/{{{merchant}}}")),
            (Method::GET, format!("/merchants/{{{merchant}}}")),
            (Method::POST, format!("/merchants/{{{merchant}}}/link-secret")),
            (Method::POST, format!("/merchants/{{{merchant}}}/users")),
            (Method::GET, format!("/merchants/{{{merchant}}}/users?limit=1")),
            (Method::DELETE, format!("/merchants/{{{merchant}}}/users/{{{user}}}")),
            (Method::POST, format!("/merchants/{{{merchant}}}/apps")),
            (Method::GET, format!("/merchants/{{{merchant}}}/apps?limit=1")),
            (Method::DELETE, format!("/merchants/{{{merchant}}}/apps/{{{app}}}")),
            (Method::GET, format!("/merchants/{{{merchant}}}/lines?limit=1")),
            (Method::GET, format!("/lines/{{{line}}}")),
            (Method::POST, format!("/merchants/{{{merchant}}}/transactions")),
            (Method::GET, format!("/merchants/{{{merchant}}}/transactions?limit=1")),
            (Method::GET, format!("/transactions/{{{transaction}}}")),
            (Method::POST, format!("/transactions/{{{transaction}}}/captures")),
            (Method::POST, format!("/transactions/{{{transaction}}}/refunds")),
            (Method::POST, format!("/transactions/{{{transaction}}}/voids")),
            (Method::POST, format!("/merchants/{{{merchant}}}/cards")),
            (Method::GET, format!("/cards/{{{card}}}")),
            (Method::GET, format!("/webhooks/{{{webhook}}}")),
            (Method::PUT, format!("/webhooks/{{{webhook}}}")),
            (Method::DELETE, format!("/webhooks/{{{webhook}}}")),
            (Method::POST, format!("/webhooks/{{{webhook}}}/rotate")),
            (Method::POST, format!("/webhooks/{{{webhook}}}/test")),
            (Method::POST, format!("/webhooks/{{{webhook}}}/replay")),
            (Method::GET, format!("/webhooks/{{{webhook}}}/deliveries")),
            (Method::GET, format!("/disputes/{{{dispute}}}")),
            (Method::GET, format!("/disputes/{{{dispute}}}/evidence")),
            (Method::GET, format!("/disputes/{{{dispute}}}/evidence/files/{{{file}}}")),
            (Method::POST, format!("/disputes/{{{dispute}}}/evidence/submit")),
            (Method::POST, format!("/disputes/{{{dispute}}}/accept")),
        ]
    }
}

/// Replaces the last id of a path, or keeps it if `id` is `None`. Removes the braces.
fn with_id(path: &str, id: Option<&str>) -> String {
    let (start, end) = (path.rfind('{').unwrap(), path.rfind('}').unwrap());
    let id = id.unwrap_or(&path[start + 1..end]);
    format!("{}{id}{}", &path[..start], &path[end + 1..]).replace(['{', '}'], "")
}

/// Sends a body that is too large, of an unsupported type and malformed.
async fn send_invalid(app: &App, method: &Method, path: &str) -> Answer {
    let request = app.request(method.clone(), path);
    if method == Method::GET || method == Method::DELETE {
        request.send().await
    } else {
        request.body_of("text/plain", "x".repeat(TOO_LARGE)).send().await
    }
}

#[tokio::test]
async fn resources_of_another_app_are_403_before_other_errors() {
    let service = Service::any().await;
    let shop = Shop::new(&service).await;
    let stranger = service.app().await;
    for (method, path) in shop.paths() {
        println!("{method} {path}");
        let answer = send_invalid(&stranger, &method, &with_id(&path, None)).await;
        answer.refused(403, "forbidden");
        let bare = stranger.request(method, &with_id(&path, None)).send().await;
        bare.refused(403, "forbidden");
    }
    let users = shop.merchant.ids("/users?limit=10").await;
    assert_eq!(users, [shop.user], "a rejected request has changed the users");
}

#[tokio::test]
async fn unknown_ids_are_404_before_other_errors() {
    let service = Service::any().await;
    let shop = Shop::new(&service).await;
    for (method, path) in shop.paths() {
        for id in UNKNOWN {
            println!("{method} {path} {id}");
            let path = with_id(&path, Some(id));
            send_invalid(&shop.merchant.app, &method, &path).await.refused(404, "not_found");
        }
    }
}

#[tokio::test]
async fn an_id_of_another_kind_is_404() {
    let service = Service::any().await;
    let shop = Shop::new(&service).await;
    let app = &shop.merchant.app;
    for (path, id) in [
        ("/merchants/", &shop.transaction),
        ("/transactions/", &shop.merchant.id),
        ("/lines/", &shop.transaction),
        ("/cards/", &shop.transaction),
        ("/webhooks/", &shop.transaction),
        ("/disputes/", &shop.transaction),
    ] {
        app.get(&format!("{path}{id}")).await.refused(404, "not_found");
    }
    let path = format!("/identities/{}/merchants?limit=1", shop.merchant.id);
    app.get(&path).await.refused(404, "not_found");
}

#[tokio::test]
async fn members_of_another_merchant_cannot_be_revoked() {
    let service = Service::any().await;
    let shop = Shop::new(&service).await;
    let own = service.merchant().await;
    for path in [format!("/users/{}", shop.user), format!("/apps/{}", shop.merchant.app.id)] {
        own.app.delete(&own.path(&path)).await.refused(403, "forbidden");
    }
    assert_eq!(shop.merchant.ids("/users?limit=10").await, [shop.user.as_str()]);
    shop.merchant.fetch().await;
}

#[tokio::test]
async fn an_app_lists_only_its_own_merchants() {
    let service = Service::any().await;
    let (first, second) = (service.merchant().await, service.merchant().await);
    first.add(&second.app).await;
    let list = first.app.merchants("?limit=10");
    second.app.get(&list).await.refused(403, "forbidden");
    assert_eq!(first.app.list(&list).await.len(), 1);
    assert_eq!(second.app.list(&second.app.merchants("?limit=10")).await.len(), 2);
}

#[tokio::test]
async fn missing_credentials_are_401_before_other_errors() {
    let service = Service::any().await;
    let shop = Shop::new(&service).await;
    for (method, path) in shop.paths() {
        for id in [None, Some(UNKNOWN[0]), Some("1")] {
            let path = with_id(&path, id);
            let request = service.request(method.clone(), &path);
            let request = request.body_of("text/plain", "x".repeat(TOO_LARGE));
            request.send().await.refused(401, "unauthenticated");
        }
    }
}

#[tokio::test]
async fn body_size_and_type_are_checked_before_the_content() {
    let service = Service::any().await;
    let shop = Shop::new(&service).await;
    let app = &shop.merchant.app;
    let with_body = |(method, _): &(Method, String)| [Method::POST, Method::PUT].contains(method);
    for (method, path) in shop.paths().into_iter().filter(with_body) {
        println!("{method} {path}");
        let path = with_id(&path, None);
        let send = async |media: &str, body: String| {
            app.request(method.clone(), &path).body_of(media, body).send().await
        };
        let large = send("application/json", "x".repeat(TOO_LARGE)).await;
        large.refused(413, "body_too_large");
        let unknown = send("text/plain", r#"{"amount":0}"#.to_owned()).await;
        unknown.refused(415, "unsupported_media_type");
        send("application/json", "nonsense".to_owned()).await.names(&[""]);
    }
}

#[tokio::test]
async fn list_parameters_are_checked_after_access() {
    let service = Service::any().await;
    let shop = Shop::new(&service).await;
    let stranger = service.app().await;
    let is_list = |(_, path): &(Method, String)| path.ends_with("?limit=1");
    let lists: Vec<_> = shop.paths().into_iter().filter(is_list).collect();
    assert_eq!(lists.len(), 5);
    for (_, path) in lists {
        let path = path.replace("limit=1", "limit=0&before=x");
        stranger.get(&with_id(&path, None)).await.refused(403, "forbidden");
        stranger.get(&with_id(&path, Some(UNKNOWN[0]))).await.refused(404, "not_found");
        shop.merchant.app.get(&with_id(&path, None)).await.names(&["limit", "before"]);
    }
}

#[tokio::test]
async fn unusable_ids_in_a_body_are_400() {
    let service = Service::any().await;
    let shop = Shop::new(&service).await;
    let own = service.merchant().await;
    for (path, field, id) in [
        ("/transactions", "transactionId", &shop.transaction),
        ("/transactions", "authorizationId", &shop.transaction),
        ("/transactions", "cardId", &shop.card),
        ("/cards", "transactionId", &shop.transaction),
    ] {
        let mut body = json!({ "currency": "EUR", "amount": 100 });
        for id in [id.as_str(), UNKNOWN[0], "1"] {
            body[field] = id.into();
            own.post(path, &body).await.names(&[field]);
        }
    }
    assert!(own.list("/transactions?limit=10").await.is_empty());
}

/// A request whose access was checked, and whose body is still to come.
async fn begin(service: &Service, app: &App, path: &str, body: &Value) -> (Connection, String) {
    let body = body.to_string();
    let credentials = STANDARD.encode(format!(":{}", app.key));
    let headers = format!("Authorization: Basic {credentials}\r\nExpect: 100-continue\r\n");
    let mut connection = Connection::over(service.connect().await);
    assert_eq!(connection.ask(head(path, &headers, body.len())).await.status, 100);
    (connection, body)
}

#[tokio::test]
async fn access_that_ends_while_the_body_arrives_gives_nothing() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let (app, other) = (service.app().await, service.app().await);
    merchant.add(&app).await;
    let (key, lost) = app.further_key("lost").await;
    let (url, name) = ("https://hook.example/", json!({ "name": "more" }));
    let (apps, users) = (merchant.path("/apps"), merchant.path("/users"));
    let secret = merchant.path("/link-secret");
    let requests = [
        (403, &app, &*apps, json!({ "appId": other.id })),
        (403, &app, &*users, json!({ "email": email() })),
        (403, &app, &*secret, json!({})),
        (401, &lost, "/apps/me/keys", name),
        (401, &lost, "/webhooks", json!({ "url": url })),
        (401, &lost, &*apps, json!({ "appId": other.id })),
    ];
    let mut begun = Vec::new();
    for (status, app, path, body) in &requests {
        begun.push((status, path, begin(&service, app, path, body).await));
    }
    let _ = merchant.app.delete(&merchant.path(&format!("/apps/{}", app.id))).await.expect(204);
    let _ = app.delete_key(&key).await.expect(204);
    for (status, path, (mut connection, body)) in begun {
        let reply = connection.ask(body).await;
        assert_eq!(reply.status, *status, "{path}: {reply:?}");
    }
    assert_eq!(merchant.list("/apps?limit=9").await.len(), 1);
    assert_eq!(merchant.list("/users?limit=9").await.len(), 0);
    assert_eq!(app.list("/apps/me/keys?limit=9").await.len(), 1);
    assert_eq!(app.list("/webhooks?limit=9").await.len(), 0);
}
