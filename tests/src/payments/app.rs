//! An app, which authenticates with its key.

use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::{Duration, sleep, timeout};

use super::{API, Merchant, POS, Service, ids, items, minimal};
use crate::{
    http::{Answer, Request},
    process::DEADLINE,
};

#[derive(Clone)]
pub struct App {
    http: reqwest::Client,
    url: String,
    pos: String,
    pub id: String,
    pub key: String,
}

impl App {
    /// The app in an answer to `POST /apps`.
    pub(super) fn from(answer: Answer, http: &reqwest::Client, url: &str, pos: &str) -> Self {
        let app = &answer.json()["app"];
        Self {
            http: http.clone(),
            url: url.to_owned(),
            pos: pos.to_owned(),
            id: text(&app["id"]),
            key: text(&app["key"]),
        }
    }

    /// The same app at the address of a restarted service.
    #[must_use]
    pub fn at(&self, service: &Service) -> Self {
        let (url, pos) = service.address();
        Self { url: url.to_owned(), pos: pos.to_owned(), ..self.clone() }
    }

    /// Creates a further key. Returns its id, and the same app with this key.
    pub async fn further_key(&self, name: &str) -> (String, Self) {
        let body = json!({ "name": name });
        let answer = self.post("/apps/me/keys", &body).await.expect(201);
        let created = &answer.json()["key"];
        (text(&created["id"]), self.with_key(&text(&created["key"])))
    }

    /// The same app with another key.
    #[must_use]
    pub fn with_key(&self, key: &str) -> Self {
        Self { key: key.to_owned(), ..self.clone() }
    }

    /// Deletes one of the keys of this app.
    pub async fn delete_key(&self, id: &str) -> Answer {
        self.delete(&format!("/apps/me/keys/{id}")).await
    }

    /// A request with only the key of the app. `path` may have a query.
    pub fn request(&self, method: Method, path: &str) -> Request {
        let builder = self.http.request(method, format!("{}{path}", self.url));
        Request::new(builder, &API).basic_auth("", &self.key)
    }

    /// A customer's POST to the origin of the payment page.
    pub fn customer(&self, path: &str) -> Request {
        Request::new(self.http.post(format!("{}{path}", self.pos)), &POS)
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.request(Method::GET, path).send().await
    }

    /// Posts a JSON body.
    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.request(Method::POST, path).json(body).send().await
    }

    pub async fn post_form(&self, path: &str, body: &str) -> Answer {
        let request = self.request(Method::POST, path);
        request.body_of("application/x-www-form-urlencoded", body).send().await
    }

    /// Posts a JSON body with an `Idempotency-Key`.
    pub async fn post_once(&self, key: &str, path: &str, body: &Value) -> Answer {
        let request = self.request(Method::POST, path).header("idempotency-key", key);
        request.json(body).send().await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.request(Method::PUT, path).json(body).send().await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.request(Method::DELETE, path).send().await
    }

    /// The items of a list. Checks the framing, as [`items`].
    pub async fn list(&self, path: &str) -> Vec<Value> {
        items(&self.get(path).await.expect(200))
    }

    /// Waits until requests with `after` show all items of a list. `list` ends with `?` or `&`. On
    /// PostgreSQL such a request shows no items that are newer than the oldest open transaction of
    /// the server, which can be that of another test.
    pub async fn settle(&self, list: &str) {
        let newest = ids(&self.list(&format!("{list}limit=1")).await);
        let (zero, end) = ("0".repeat(24), "f".repeat(24));
        let settled = async {
            let path = format!("{list}limit=1&after={zero}&before={end}");
            while ids(&self.list(&path).await) != newest {
                sleep(Duration::from_millis(50)).await;
            }
        };
        timeout(DEADLINE, settled).await.expect("transactions of the server end");
    }

    /// The path of the list of this app's merchants. `query` starts with `?` or is empty.
    pub fn merchants(&self, query: &str) -> String {
        format!("/identities/{}/merchants{query}", self.id)
    }

    /// Creates a test merchant funded in this currency.
    pub async fn merchant(&self, currency: &str) -> Merchant {
        let mut body = minimal();
        body["currency"] = currency.into();
        body["test"] = true.into();
        self.merchant_with(&body).await
    }

    /// All events after this id, oldest first.
    pub async fn events_after(&self, id: &str) -> Vec<Value> {
        let (mut events, mut after) = (Vec::new(), id.to_owned());
        loop {
            let page = self.list(&format!("/events?limit=1000&after={after}")).await;
            let Some(last) = page.last() else { return events };
            after = text(&last["id"]);
            events.extend(page);
        }
    }

    /// Creates a webhook and returns its id.
    pub async fn webhook(&self) -> String {
        let body = serde_json::json!({ "url": "https://shop.example/events" });
        let answer = self.post("/webhooks", &body).await.expect(201);
        text(&answer.json()["webhook"]["id"])
    }

    /// Creates a merchant from this body.
    pub async fn merchant_with(&self, body: &Value) -> Merchant {
        let answer = self.post("/merchants", body).await.expect(201);
        let merchant = &answer.json()["merchant"];
        Merchant { app: self.clone(), id: text(&merchant["id"]), key: text(&merchant["key"]) }
    }
}

/// The value as a string.
pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}
