//! A client of objstore-svc with a session.

use reqwest::Method;
use uuid::Uuid;

use super::{
    DOCUMENT, Key, Object, Part, Service, Socket, StateStream, batch, revision, stream_path,
};
use crate::http::{Answer, Request};

/// A client, registered or not.
///
/// Methods with the name of an endpoint expect success. For other outcomes, use [`Client::post`]
/// and [`Client::request`].
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    url: String,
    id: Uuid,
    token: Option<String>,
}

impl Client {
    pub(super) fn anonymous(http: &reqwest::Client, url: &str, id: Uuid) -> Self {
        Self { http: http.clone(), url: url.to_owned(), id, token: None }
    }

    pub fn id(&self) -> Uuid {
        self.id
    }

    /// The session token. The client has to be registered.
    pub fn token(&self) -> &str {
        self.token.as_deref().expect("a registered client")
    }

    #[must_use]
    pub fn with_token(&self, token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..self.clone() }
    }

    /// The same client and session at the address of a restarted service.
    #[must_use]
    pub fn at(&self, service: &Service) -> Self {
        Self { url: service.url().to_owned(), ..self.clone() }
    }

    /// A request with only the session cookie. `path` may have a query.
    pub fn request(&self, method: Method, path: &str) -> Request {
        let builder = self.http.request(method, format!("{}{path}", self.url));
        let request = Request::new(builder, &DOCUMENT);
        match &self.token {
            Some(token) => request.header("cookie", format!("token={token}")),
            None => request,
        }
    }

    /// Sends a JSON body.
    pub async fn post(&self, path: &str, body: impl Into<Vec<u8>>) -> Answer {
        let request = self.request(Method::POST, path).header("content-type", "application/json");
        request.body(body).send().await
    }

    /// Sends a GET.
    pub async fn fetch(&self, path: &str) -> Answer {
        self.request(Method::GET, path).send().await
    }

    /// Registers and keeps the session token.
    pub async fn register(&mut self) -> Answer {
        let answer = self.post("/register", format!(r#"{{"ID":"{}"}}"#, self.id)).await.expect(200);
        let cookie = answer.header("set-cookie").expect("a cookie");
        let token = cookie.split(';').next().and_then(|pair| pair.strip_prefix("token="));
        self.token = Some(token.expect("a token").to_owned());
        answer
    }

    pub async fn get(&self, key: &Key) -> Object {
        Object::parse(self.post("/get", key.body()).await.expect(200).text())
    }

    /// The entity tag of an existing object.
    pub async fn etag(&self, key: &Key) -> String {
        let answer = self.post("/get", key.body()).await.expect(200);
        answer.header("etag").expect("an entity tag").to_owned()
    }

    /// Stores an object and returns its entity tag.
    pub async fn set(&self, object: &Object) -> String {
        let answer = self.post("/set", object.body()).await.expect(204);
        answer.header("etag").expect("an entity tag").to_owned()
    }

    /// Stores an object with a query, such as `?ttl=1s`, and returns its entity tag.
    pub async fn set_with(&self, query: &str, object: &Object) -> String {
        let answer = self.post(&format!("/set{query}"), object.body()).await.expect(204);
        answer.header("etag").expect("an entity tag").to_owned()
    }

    /// Sends a batch, and returns the revision of its first change.
    pub async fn batch(&self, operations: &[String]) -> u64 {
        let answer = self.post("/batch", batch(operations)).await.expect(200).json();
        let results = answer["Results"].as_array().expect("results");
        assert_eq!(results.len(), operations.len());
        let tags = results
            .iter()
            .map(|result| result.get("ETag").map(|tag| revision(tag.as_str().expect("a tag"))));
        let firsts = (0..).zip(tags).filter_map(|(index, tag)| Some(tag? - index));
        let mut firsts: Vec<_> = firsts.collect();
        firsts.dedup();
        assert_eq!(firsts.len(), 1, "revisions follow each other: {answer}");
        firsts[0]
    }

    /// The objects that match a pattern.
    pub async fn find(&self, pattern: &Key) -> Vec<Object> {
        Object::parse_all(self.post("/find", pattern.body()).await.expect(200).text())
    }

    pub async fn delete(&self, key: &Key) {
        let _ = self.post("/delete", key.body()).await.expect(204);
    }

    pub async fn watch(&self, pattern: &Key) {
        let _ = self.post("/watch", pattern.body()).await.expect(204);
    }

    pub async fn unwatch(&self, pattern: &Key) {
        let _ = self.post("/unwatch", pattern.body()).await.expect(204);
    }

    /// One response of the stream of a pattern, without `live` or with `live=long-poll`.
    pub async fn part(&self, pattern: &Key, query: &str) -> Part {
        Part::of(&self.fetch(&format!("{}{query}", stream_path(pattern))).await)
    }

    /// Opens the stream of a pattern with `live=sse`.
    pub async fn stream(&self, pattern: &Key, offset: &str) -> StateStream {
        let path = format!("{}?live=sse&offset={offset}", stream_path(pattern));
        let response = self.request(Method::GET, &path).stream().await;
        StateStream::new(response.expect("a stream"))
    }

    /// Opens the socket, without a query.
    pub async fn socket(&self) -> Socket {
        self.socket_with("").await
    }

    /// Opens the socket with a query, such as `?events=true`.
    pub async fn socket_with(&self, query: &str) -> Socket {
        self.try_socket(query).await.expect("a socket")
    }

    /// Opens the socket with a query.
    ///
    /// # Errors
    ///
    /// The answer, if the service does not open it.
    pub async fn try_socket(&self, query: &str) -> Result<Socket, Answer> {
        let upgraded = self.request(Method::GET, &format!("/socket{query}")).upgrade().await?;
        Ok(Socket::new(upgraded).await)
    }
}
