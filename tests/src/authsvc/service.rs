//! A running authsvc.

use reqwest::Method;
use serde_json::Value;
use tokio::{net::TcpStream, process::Command};

use super::{DOCUMENT, PROGRAM, Scrape};
use crate::{
    http::{self, Answer, Request},
    process::{self, Process},
};

/// A service that runs.
#[derive(Debug)]
pub struct Service {
    url: String,
    http: reqwest::Client,
    own: Option<Process>,
}

impl Service {
    /// The service that `AUTHSVC_URL` names, or a new process with the default settings.
    #[expect(clippy::disallowed_methods, reason = "the one variable of these tests")]
    pub async fn any() -> Self {
        match std::env::var("AUTHSVC_URL") {
            Ok(url) => {
                Self { url: url.trim_end_matches('/').to_owned(), http: http::client(), own: None }
            }
            Err(_) => Self::with(&[]).await,
        }
    }

    /// A new process with these settings.
    pub async fn with(settings: &[(&str, &str)]) -> Self {
        Self::wrapped(settings, |command| command).await
    }

    /// The same, started by the command that `wrap` makes of its own.
    pub async fn wrapped(settings: &[(&str, &str)], wrap: impl FnOnce(Command) -> Command) -> Self {
        let settings = [&[("PORT", "0")], settings].concat();
        let process = Process::start(wrap(process::command(PROGRAM, &settings))).await;
        let url = format!("http://{}", process.address());
        Self { url, http: http::client(), own: Some(process) }
    }

    /// The address all its paths start with.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The process.
    ///
    /// # Panics
    ///
    /// When the service is not ours.
    pub fn process(&self) -> &Process {
        self.own.as_ref().expect("a service that the test started")
    }

    /// Stops the service with SIGTERM; it has to end well, and in time.
    ///
    /// # Panics
    ///
    /// When the service is not ours.
    pub async fn stop(self) {
        let process = self.own.expect("a service that the test started");
        process.terminate().await;
        process.ended().await;
    }

    /// A bare connection, for what no HTTP client sends.
    ///
    /// # Panics
    ///
    /// When there is none.
    pub async fn connect(&self) -> TcpStream {
        let address = self.url.trim_start_matches("http://");
        TcpStream::connect(address).await.expect("a connection")
    }

    /// A request; `path` may have a query.
    pub fn request(&self, method: Method, path: &str) -> Request {
        Request::new(self.http.request(method, format!("{}{path}", self.url)), &DOCUMENT)
    }

    /// The answer to a plain GET.
    pub async fn fetch(&self, path: &str) -> Answer {
        self.request(Method::GET, path).send().await
    }

    /// The answer to a GET of what the document leaves out.
    pub async fn page(&self, path: &str) -> Answer {
        self.request(Method::GET, path).send_undescribed().await
    }

    /// The answer to a JSON body.
    pub async fn authenticate(&self, body: impl Into<Vec<u8>>) -> Answer {
        let request = self.request(Method::POST, "/authenticate");
        request.header("content-type", "application/json").body(body).send().await
    }

    /// The answer to a username, a password and what else the body holds.
    pub async fn sign_in(&self, username: &str, password: &str, rest: Value) -> Answer {
        let mut body = rest;
        body["username"] = username.into();
        body["password"] = password.into();
        self.authenticate(body.to_string()).await
    }

    /// The counters, as JSON.
    ///
    /// # Panics
    ///
    /// When they break one of the rules that hold at every scrape.
    pub async fn scrape(&self) -> Scrape {
        Scrape::parse(self.fetch("/metrics?fmt=json").await.expect(200).text())
    }
}
