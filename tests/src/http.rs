//! Requests and answers, checked against the OpenAPI document of the service.

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

use crate::{openapi::Document, process::DEADLINE};

/// A client that follows no redirects, keeps no cookies and uses no proxy.
pub fn client() -> reqwest::Client {
    client_from(None)
}

/// [`client`], connecting from this local address.
pub fn client_from(address: Option<IpAddr>) -> reqwest::Client {
    // In a build together with authsvc, reqwest has TLS and needs a crypto provider. An error means
    // that a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    builder().local_address(address).build().expect("a client can be made")
}

/// The options of all clients: no proxy, no redirects, no trusted authorities, and a timeout.
pub fn builder() -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .no_proxy()
        // Reading the certificates of the machine takes longer than many a test.
        .tls_certs_only([])
        .redirect(reqwest::redirect::Policy::none())
        .timeout(DEADLINE)
        // A request on a connection that the server is just closing has no answer. The services
        // close a connection that is idle for a minute, the stand-ins after half a minute.
        .pool_idle_timeout(Duration::from_secs(10))
}

/// Time until the end of a body that is a stream.
const STREAM_TIMEOUT: Duration = DEADLINE.saturating_mul(2);

/// A request being built.
#[derive(Debug)]
pub struct Request {
    builder: RequestBuilder,
    document: &'static Document,
}

impl Request {
    /// A request to the service that `document` describes.
    pub fn new(builder: RequestBuilder, document: &'static Document) -> Self {
        Self { builder, document }
    }

    #[must_use]
    pub fn header(self, name: impl AsRef<str>, value: impl AsRef<[u8]>) -> Self {
        let name = HeaderName::from_bytes(name.as_ref().as_bytes()).expect("a header name");
        let value = HeaderValue::from_bytes(value.as_ref()).expect("a header value");
        Self { builder: self.builder.header(name, value), ..self }
    }

    #[must_use]
    pub fn body(self, body: impl Into<Vec<u8>>) -> Self {
        Self { builder: self.builder.body(body.into()), ..self }
    }

    /// Sets the body and its content type.
    #[must_use]
    pub fn body_of(self, media: &str, body: impl Into<Vec<u8>>) -> Self {
        self.header(CONTENT_TYPE, media).body(body)
    }

    /// Sets a JSON body and its content type.
    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        self.body_of("application/json", body.to_string())
    }

    #[must_use]
    pub fn basic_auth(self, username: &str, password: &str) -> Self {
        Self { builder: self.builder.basic_auth(username, Some(password)), ..self }
    }

    /// Sends the request, reads the whole answer and checks it.
    pub async fn send(self) -> Answer {
        let (sent, response) = Self::exchange(self.builder).await;
        let answer = Answer::read(sent, response).await;
        self.document.check(&answer);
        answer
    }

    /// [`Self::send`] to a service that may end meanwhile. `None` if the answer is not complete.
    pub async fn attempt(self) -> Option<Answer> {
        let (sent, response) = Self::try_exchange(self.builder).await;
        let answer = Answer::try_read(sent, response.ok()?).await.ok()?;
        self.document.check(&answer);
        Some(answer)
    }

    /// [`Self::attempt`] without the check, for proxies: the document does not describe their
    /// answers.
    pub async fn attempt_undescribed(self) -> Option<Answer> {
        let (sent, response) = Self::try_exchange(self.builder).await;
        Answer::try_read(sent, response.ok()?).await.ok()
    }

    /// [`Self::send`] without the check, for undocumented paths such as HTML pages.
    pub async fn send_undescribed(self) -> Answer {
        let (sent, response) = Self::exchange(self.builder).await;
        Answer::read(sent, response).await
    }

    /// Sends the request and returns its answer before the body has arrived. Checks only answers
    /// other than 200.
    ///
    /// # Errors
    ///
    /// The answer, if its status is not 200.
    pub async fn stream(self) -> Result<reqwest::Response, Answer> {
        let (sent, response) = Self::exchange(self.builder.timeout(STREAM_TIMEOUT)).await;
        if response.status() == StatusCode::OK {
            return Ok(response);
        }
        let answer = Answer::read(sent, response).await;
        self.document.check(&answer);
        Err(answer)
    }

    /// [`Self::stream`] to a service that may end meanwhile. `None` if there is no answer.
    pub async fn try_stream(self) -> Option<reqwest::Response> {
        let (_, response) = Self::try_exchange(self.builder.timeout(STREAM_TIMEOUT)).await;
        response.ok().filter(|response| response.status() == StatusCode::OK)
    }

    /// Requests an upgrade to a websocket.
    ///
    /// # Errors
    ///
    /// The answer, if its status is not 101.
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

/// The parts of a request that the document describes.
pub struct Sent {
    pub method: Method,
    pub path: String,
    /// Decoded.
    pub query: Vec<(String, String)>,
    /// The `Content-Type`.
    pub media: Option<String>,
    pub body: Vec<u8>,
}

/// A complete answer.
pub struct Answer {
    /// The request.
    pub sent: Sent,
    pub status: StatusCode,
    pub headers: HeaderMap,
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

    /// Checks the status.
    #[must_use]
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{self:?}");
        self
    }

    /// Checks that this is an error with this status and `error` member.
    #[track_caller]
    pub fn refused(&self, status: u16, code: &str) {
        assert_eq!(self.status.as_u16(), status, "{self:?}");
        let body: Value = serde_json::from_slice(&self.body).expect("failures are JSON");
        assert_eq!(body["error"], code, "{self:?}");
    }

    /// The value of a header, which must not be repeated.
    #[track_caller]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        let value = values.next()?;
        assert!(values.next().is_none(), "{name} is repeated: {self:?}");
        Some(value.to_str().expect("headers are text"))
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

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
