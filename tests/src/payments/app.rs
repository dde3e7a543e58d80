//! A caller with a key.

use reqwest::Method;
use serde_json::Value;

use super::{API, Merchant, POS, Service, items, minimal};
use crate::http::{Answer, Request};

/// An app. Its requests carry its key.
#[derive(Clone)]
pub struct App {
    http: reqwest::Client,
    url: String,
    pos: String,
    /// Its id.
    pub id: String,
    /// Its key.
    pub key: String,
}

impl App {
    /// The app that an answer of `POST /apps` shows.
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

    /// The same app at another address: that of a service that was restarted.
    #[must_use]
    pub fn at(&self, service: &Service) -> Self {
        let (url, pos) = service.address();
        Self { url: url.to_owned(), pos: pos.to_owned(), ..self.clone() }
    }

    /// A request with its key and nothing else; `path` may have a query.
    pub fn request(&self, method: Method, path: &str) -> Request {
        let builder = self.http.request(method, format!("{}{path}", self.url));
        Request::new(builder, &API).basic_auth("", &self.key)
    }

    /// A request of a customer to the origin of the payment page.
    pub fn customer(&self, path: &str) -> Request {
        Request::new(self.http.post(format!("{}{path}", self.pos)), &POS)
    }

    /// The answer to a plain GET.
    pub async fn get(&self, path: &str) -> Answer {
        self.request(Method::GET, path).send().await
    }

    /// The answer to a JSON body.
    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.request(Method::POST, path).json(body).send().await
    }

    /// The answer to a form.
    pub async fn post_form(&self, path: &str, body: &str) -> Answer {
        let request = self.request(Method::POST, path);
        request.body_of("application/x-www-form-urlencoded", body).send().await
    }

    /// The answer to a JSON body under an idempotency key.
    pub async fn post_once(&self, key: &str, path: &str, body: &Value) -> Answer {
        let request = self.request(Method::POST, path).header("idempotency-key", key);
        request.json(body).send().await
    }

    /// The answer to a change.
    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.request(Method::PUT, path).json(body).send().await
    }

    /// The answer to a revocation.
    pub async fn delete(&self, path: &str) -> Answer {
        self.request(Method::DELETE, path).send().await
    }

    /// The items of a list, whose framing has to be right.
    pub async fn list(&self, path: &str) -> Vec<Value> {
        items(&self.get(path).await.expect(200))
    }

    /// Its own merchants: the path of their list, `query` included.
    pub fn merchants(&self, query: &str) -> String {
        format!("/identities/{}/merchants{query}", self.id)
    }

    /// A test merchant that is funded in this currency.
    pub async fn merchant(&self, currency: &str) -> Merchant {
        let mut body = minimal();
        body["currency"] = currency.into();
        body["test"] = true.into();
        self.merchant_with(&body).await
    }

    /// A merchant made from this.
    pub async fn merchant_with(&self, body: &Value) -> Merchant {
        let answer = self.post("/merchants", body).await.expect(201);
        let merchant = &answer.json()["merchant"];
        Merchant { app: self.clone(), id: text(&merchant["id"]), key: text(&merchant["key"]) }
    }
}

/// A text of an answer.
pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}
