//! An HTTP client of the services, for requests outside of the measured loops.

use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    client::conn::http1::{SendRequest, handshake},
    header,
};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, task::JoinSet};
use uuid::Uuid;

/// One keep-alive connection.
pub(crate) struct Api {
    sender: SendRequest<Full<Bytes>>,
}

impl Api {
    pub(crate) async fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        // The task ends when `sender` is dropped.
        tokio::spawn(connection);
        Ok(Self { sender })
    }

    /// Sends a request. Returns the head of the answer and its unread body. Fails if the status is
    /// not 2xx.
    pub(crate) async fn send(
        &mut self,
        method: Method,
        path: &str,
        cookie: &str,
        body: String,
    ) -> Result<Response<Incoming>> {
        let response = self.send_any(method, path, cookie, body).await?;
        ensure!(response.status().is_success(), "{path}: {}", response.status());
        Ok(response)
    }

    /// Sends a request and accepts an answer with any status.
    pub(crate) async fn send_any(
        &mut self,
        method: Method,
        path: &str,
        cookie: &str,
        body: String,
    ) -> Result<Response<Incoming>> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "127.0.0.1")
            .header(header::COOKIE, cookie)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::from(body))?;
        self.sender.ready().await?;
        Ok(self.sender.send_request(request).await?)
    }

    /// Registers a new client. Returns the value of its Cookie header.
    pub(crate) async fn register(&mut self) -> Result<String> {
        let response = self
            .send(Method::POST, "/register", "", format!(r#"{{"ID":"{}"}}"#, Uuid::new_v4()))
            .await?;
        let cookie = response
            .headers()
            .get(header::SET_COOKIE)
            .context("the answer sets no cookie")?
            .to_str()?;
        let cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        response.into_body().collect().await?;
        Ok(cookie)
    }

    /// Posts and returns the size of the answer's body in bytes.
    pub(crate) async fn post(&mut self, path: &str, cookie: &str, body: String) -> Result<usize> {
        Ok(self
            .send(Method::POST, path, cookie, body)
            .await?
            .into_body()
            .collect()
            .await?
            .to_bytes()
            .len())
    }
}

/// Registers a new client on a new connection. Returns the value of its Cookie header.
pub(crate) async fn session(address: SocketAddr) -> Result<String> {
    Api::connect(address).await?.register().await
}

/// Whether `GET /ready` answers 200.
pub(crate) async fn is_ready(address: SocketAddr) -> bool {
    let Ok(mut api) = Api::connect(address).await else { return false };
    api.send(Method::GET, "/ready", "", String::new())
        .await
        .is_ok_and(|answer| answer.status() == StatusCode::OK)
}

/// Registers one client per pattern, which watches that pattern. Returns the cookies in the order
/// of the patterns.
pub(crate) async fn enroll(address: SocketAddr, patterns: Vec<String>) -> Result<Vec<String>> {
    const CONNECTIONS: usize = 32;
    let mut workers: JoinSet<Result<Vec<(usize, String)>>> = JoinSet::new();
    let mut shares = vec![Vec::new(); CONNECTIONS];
    for (index, pattern) in patterns.into_iter().enumerate() {
        shares[index % CONNECTIONS].push((index, pattern));
    }
    for share in shares {
        workers.spawn(async move {
            let mut api = Api::connect(address).await?;
            let mut cookies = Vec::with_capacity(share.len());
            for (index, pattern) in share {
                let cookie = api.register().await?;
                api.post("/watch", &cookie, pattern).await?;
                cookies.push((index, cookie));
            }
            Ok(cookies)
        });
    }
    let mut cookies = Vec::new();
    while let Some(share) = workers.join_next().await {
        cookies.extend(share??);
    }
    cookies.sort_unstable();
    Ok(cookies.into_iter().map(|(_, cookie)| cookie).collect())
}
