use reqwest::Method;
use serde_json::Value;
use tokio::{net::TcpStream, process::Command};

use super::{DOCUMENT, PROGRAM, Scrape};
use crate::{
    http::{self, Answer, Request},
    process::{self, Process},
    service::{note, variable},
};

/// A running service.
#[derive(Debug)]
pub struct Service {
    url: String,
    http: reqwest::Client,
    own: Option<Process>,
}

impl Service {
    /// The service at `AUTHSVC_URL`, or a new process with default settings.
    pub async fn any() -> Self {
        note("any");
        match variable("AUTHSVC_URL") {
            Some(url) => Self { url, http: http::client(), own: None },
            None => Self::with(&[]).await,
        }
    }

    pub async fn with(settings: &[(&str, &str)]) -> Self {
        Self::wrapped(settings, |command| command).await
    }

    /// A new process with these settings. `wrap` may change the command that starts it.
    pub async fn wrapped(settings: &[(&str, &str)], wrap: impl FnOnce(Command) -> Command) -> Self {
        let settings = [&[("PORT", "0")], settings].concat();
        let process = Process::start(wrap(process::command(PROGRAM, &settings))).await;
        let url = format!("http://{}", process.address());
        Self { url, http: http::client(), own: Some(process) }
    }

    /// The base URL, without a trailing slash.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The process. Only for a service that the test started.
    pub fn process(&self) -> &Process {
        self.own.as_ref().expect("a service that the test started")
    }

    /// Stops the service with SIGTERM. It has to end in time and with success.
    pub async fn stop(self) {
        let process = self.own.expect("a service that the test started");
        process.terminate().await;
        process.ended().await;
    }

    /// A TCP connection, for requests that no HTTP client sends.
    pub async fn connect(&self) -> TcpStream {
        let address = self.url.trim_start_matches("http://");
        TcpStream::connect(address).await.expect("a connection")
    }

    /// `path` may have a query.
    pub fn request(&self, method: Method, path: &str) -> Request {
        Request::new(self.http.request(method, format!("{}{path}", self.url)), &DOCUMENT)
    }

    /// Sends a GET.
    pub async fn fetch(&self, path: &str) -> Answer {
        self.request(Method::GET, path).send().await
    }

    /// Sends a GET to an undocumented path.
    pub async fn page(&self, path: &str) -> Answer {
        self.request(Method::GET, path).send_undescribed().await
    }

    /// Posts a JSON body to `/authenticate`.
    pub async fn authenticate(&self, body: impl Into<Vec<u8>>) -> Answer {
        let request = self.request(Method::POST, "/authenticate");
        request.header("content-type", "application/json").body(body).send().await
    }

    /// Posts `rest`, a JSON object, with this username and password to `/authenticate`.
    pub async fn sign_in(&self, username: &str, password: &str, rest: Value) -> Answer {
        let mut body = rest;
        body["username"] = username.into();
        body["password"] = password.into();
        self.authenticate(body.to_string()).await
    }

    /// The metrics in the JSON format, checked as in [`Scrape::parse`].
    pub async fn scrape(&self) -> Scrape {
        Scrape::parse(self.fetch("/metrics?fmt=json").await.expect(200).text())
    }
}
