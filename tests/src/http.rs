//! One request and its answer, held against the document of the service.

use std::{fmt, net::IpAddr, time::Duration};

use reqwest::{
    Method, RequestBuilder, StatusCode,
    header::{
        CONNECTION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT,
        SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
    },
};
use serde_json::Value;
use tokio_tungstenite::tungstenite::handshake::{client::generate_key, derive_accept_key};

use crate::openapi::Document;

/// A client that follows no redirect, keeps no cookie and goes through no proxy.
///
/// # Panics
///
/// When no client can be made.
pub fn client() -> reqwest::Client {
    client_from(None)
}

/// The same, which connects from this address of the machine.
///
/// # Panics
///
/// When no client can be made.
pub fn client_from(address: Option<IpAddr>) -> reqwest::Client {
    // Built together with authsvc, the client's library has TLS and wants to know whose. An error
    // says that it knows already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(Duration::from_secs(60))
        .local_address(address)
        .build()
        .expect("a client can be made")
}

/// A request on its way.
#[derive(Debug)]
pub struct Request {
    builder: RequestBuilder,
    document: &'static Document,
}

impl Request {
    /// A request to a service described by `document`.
    pub fn new(builder: RequestBuilder, document: &'static Document) -> Self {
        Self { builder, document }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(self, name: impl AsRef<str>, value: impl AsRef<[u8]>) -> Self {
        let name = HeaderName::from_bytes(name.as_ref().as_bytes()).expect("a header name");
        let value = HeaderValue::from_bytes(value.as_ref()).expect("a header value");
        Self { builder: self.builder.header(name, value), ..self }
    }

    /// Gives the request a body.
    #[must_use]
    pub fn body(self, body: impl Into<Vec<u8>>) -> Self {
        Self { builder: self.builder.body(body.into()), ..self }
    }

    /// Gives the request a body of this type.
    #[must_use]
    pub fn body_of(self, media: &str, body: impl Into<Vec<u8>>) -> Self {
        self.header(CONTENT_TYPE, media).body(body)
    }

    /// Gives the request a JSON body.
    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        self.body_of("application/json", body.to_string())
    }

    /// Gives the request a name and a password.
    #[must_use]
    pub fn basic_auth(self, username: &str, password: &str) -> Self {
        Self { builder: self.builder.basic_auth(username, Some(password)), ..self }
    }

    /// Sends the request and reads the whole answer.
    ///
    /// # Panics
    ///
    /// When there is no whole answer, or the document does not describe it.
    pub async fn send(self) -> Answer {
        let (sent, response) = Self::exchange(self.builder).await;
        let answer = Answer::read(sent, response).await;
        self.document.check(&answer);
        answer
    }

    /// The same at a service that may end meanwhile: nothing, when there is no whole answer.
    ///
    /// # Panics
    ///
    /// When the document does not describe the answer.
    pub async fn attempt(self) -> Option<Answer> {
        let (sent, response) = Self::try_exchange(self.builder).await;
        let answer = Answer::try_read(sent, response.ok()?).await.ok()?;
        self.document.check(&answer);
        Some(answer)
    }

    /// The same at a proxy, whose own answers the document leaves out.
    pub async fn attempt_undescribed(self) -> Option<Answer> {
        let (sent, response) = Self::try_exchange(self.builder).await;
        Answer::try_read(sent, response.ok()?).await.ok()
    }

    /// The same for what the document leaves out, such as pages for people.
    ///
    /// # Panics
    ///
    /// When there is no whole answer.
    pub async fn send_undescribed(self) -> Answer {
        let (sent, response) = Self::exchange(self.builder).await;
        Answer::read(sent, response).await
    }

    /// Asks for a websocket, and gets the connection or the refusal.
    ///
    /// # Errors
    ///
    /// The answer, when it is not 101.
    ///
    /// # Panics
    ///
    /// When there is no whole answer, or the document does not describe it.
    pub async fn upgrade(self) -> Result<reqwest::Upgraded, Answer> {
        let key = generate_key();
        let builder = self
            .builder
            .header(CONNECTION, "Upgrade")
            .header(UPGRADE, "websocket")
            .header(SEC_WEBSOCKET_VERSION, "13")
            .header(SEC_WEBSOCKET_KEY, &key);
        let (sent, response) = Self::exchange(builder).await;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            let answer = Answer::read(sent, response).await;
            self.document.check(&answer);
            return Err(answer);
        }
        let answer = Answer {
            sent,
            status: response.status(),
            headers: response.headers().clone(),
            body: Vec::new(),
        };
        self.document.check(&answer);
        assert_eq!(answer.headers[SEC_WEBSOCKET_ACCEPT], derive_accept_key(key.as_bytes()));
        Ok(response.upgrade().await.expect("a connection after 101"))
    }

    async fn exchange(builder: RequestBuilder) -> (Sent, reqwest::Response) {
        match Self::try_exchange(builder).await {
            (sent, Ok(response)) => (sent, response),
            (sent, Err(error)) => panic!("{sent:?} has no answer: {error:?}"),
        }
    }

    async fn try_exchange(
        builder: RequestBuilder,
    ) -> (Sent, Result<reqwest::Response, reqwest::Error>) {
        let (http, request) = builder.build_split();
        let request = request.expect("a well-formed request");
        let media = request.headers().get(CONTENT_TYPE).and_then(|media| media.to_str().ok());
        let sent = Sent {
            method: request.method().clone(),
            path: request.url().path().to_owned(),
            query: request.url().query_pairs().into_owned().collect(),
            media: media.map(str::to_owned),
            body: request.body().and_then(|body| body.as_bytes()).unwrap_or_default().to_vec(),
        };
        (sent, http.execute(request).await)
    }
}

/// What of a request the document speaks about.
pub struct Sent {
    /// Its method.
    pub method: Method,
    /// Its path.
    pub path: String,
    /// Its query, decoded.
    pub query: Vec<(String, String)>,
    /// The type of its body, if it says one.
    pub media: Option<String>,
    /// Its body.
    pub body: Vec<u8>,
}

/// A whole answer.
pub struct Answer {
    /// What was asked.
    pub sent: Sent,
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    async fn read(sent: Sent, response: reqwest::Response) -> Self {
        Self::try_read(sent, response).await.unwrap_or_else(|problem| panic!("{problem}"))
    }

    async fn try_read(sent: Sent, response: reqwest::Response) -> Result<Self, String> {
        let status = response.status();
        let headers = response.headers().clone();
        match response.bytes().await {
            Ok(body) => Ok(Self { sent, status, headers, body: body.into() }),
            Err(error) => Err(format!("{sent:?} answered {status} and broke off: {error:?}")),
        }
    }

    /// The answer, which has to have this status.
    ///
    /// # Panics
    ///
    /// When it has another.
    #[must_use]
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{self:?}");
        self
    }

    /// Checks that this is the failure with this status and this code.
    ///
    /// # Panics
    ///
    /// When it is not.
    #[track_caller]
    pub fn refused(&self, status: u16, code: &str) {
        assert_eq!(self.status.as_u16(), status, "{self:?}");
        let body: Value = serde_json::from_slice(&self.body).expect("failures are JSON");
        assert_eq!(body["error"], code, "{self:?}");
    }

    /// A header that is there at most once.
    ///
    /// # Panics
    ///
    /// When it is there more than once, or is no text.
    #[track_caller]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        let value = values.next()?;
        assert!(values.next().is_none(), "{name} is repeated: {self:?}");
        Some(value.to_str().expect("headers are text"))
    }

    /// The body as JSON.
    ///
    /// # Panics
    ///
    /// When it is none.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The body as text.
    ///
    /// # Panics
    ///
    /// When it is not UTF-8.
    #[track_caller]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("bodies are UTF-8")
    }
}

impl fmt::Debug for Sent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, path, query, media: _, body } = self;
        write!(formatter, "{method} {path} {query:?} {:?}", excerpt(body))
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sent, status, headers, body } = self;
        write!(formatter, "{sent:?} answered {status} {headers:?} {:?}", excerpt(body))
    }
}

fn excerpt(body: &[u8]) -> String {
    String::from_utf8_lossy(body.get(..400).unwrap_or(body)).into_owned()
}
