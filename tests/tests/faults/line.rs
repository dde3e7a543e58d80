//! Requests to a service that may be killed before it answers.

use blackbox::{
    http,
    objstore::{Client, Service, revision},
};
use reqwest::{
    Body,
    header::{ETAG, RETRY_AFTER},
};

/// An HTTP client with a session.
#[derive(Clone)]
pub(crate) struct Line {
    http: reqwest::Client,
    url: String,
    cookie: String,
}

/// A complete answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) revision: Option<u64>,
    pub(crate) retry_after: Option<String>,
    pub(crate) body: String,
}

impl Line {
    pub(crate) fn new(service: &Service, client: &Client) -> Self {
        let cookie = format!("token={}", client.token());
        Self { http: http::client(), url: service.url().to_owned(), cookie }
    }

    /// Posts a JSON body. `None` if the answer is not complete.
    pub(crate) async fn post(&self, path: &str, body: impl Into<Body>) -> Option<Reply> {
        let request = self.http.post(format!("{}{path}", self.url)).header("cookie", &self.cookie);
        let response = request.body(body).send().await.ok()?;
        let header = |name| Some(response.headers().get(name)?.to_str().unwrap().to_owned());
        let (tag, retry_after) = (header(ETAG), header(RETRY_AFTER));
        Some(Reply {
            status: response.status().as_u16(),
            revision: tag.as_deref().map(revision),
            retry_after,
            body: response.text().await.ok()?,
        })
    }
}
