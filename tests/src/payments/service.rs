//! A running payments-svc, and one that rests.

use std::{path::Path, process::Output};

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use super::{API, App, Merchant, POS, PROGRAM};
use crate::{
    http::{self, Answer, Request},
    postgres::{Cluster, Database},
    process::{self, Process},
};

/// A service that runs: a listener for apps and one for customers.
#[derive(Debug)]
pub struct Service {
    url: String,
    pos: String,
    http: reqwest::Client,
    own: Option<(Process, Idle)>,
}

impl Service {
    /// The service that `PAYMENTS_URL` and `PAYMENTS_POS_URL` name, or a new process with the
    /// default settings.
    #[expect(clippy::disallowed_methods, reason = "the variables of these tests")]
    pub async fn any() -> Self {
        match (std::env::var("PAYMENTS_URL"), std::env::var("PAYMENTS_POS_URL")) {
            (Ok(url), Ok(pos)) => {
                let [url, pos] = [url, pos].map(|url| url.trim_end_matches('/').to_owned());
                Self { url, pos, http: http::client(), own: None }
            }
            _ => Self::with(&[]).await,
        }
    }

    /// A new process with these settings, on an empty directory.
    pub async fn with(settings: &[(&str, &str)]) -> Self {
        Idle::new(settings).start().await
    }

    /// The same service, to which requests come from this address of the machine.
    #[must_use]
    pub fn seen_from(&self, address: [u8; 4]) -> Self {
        let http = http::client_from(Some(address.into()));
        Self { url: self.url.clone(), pos: self.pos.clone(), http, own: None }
    }

    /// The process.
    ///
    /// # Panics
    ///
    /// When the service is not ours.
    pub fn process(&self) -> &Process {
        let (process, _) = self.own.as_ref().expect("a service that the test started");
        process
    }

    /// Its directory and settings.
    ///
    /// # Panics
    ///
    /// When the service is not ours.
    pub fn place(&self) -> &Idle {
        let (_, place) = self.own.as_ref().expect("a service that the test started");
        place
    }

    /// The address that paths of the listener for apps start with.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A request without credentials to the listener for apps; `path` may have a query.
    pub fn request(&self, method: Method, path: &str) -> Request {
        Request::new(self.http.request(method, format!("{}{path}", self.url)), &API)
    }

    /// The answer to a plain GET without credentials.
    pub async fn fetch(&self, path: &str) -> Answer {
        self.request(Method::GET, path).send().await
    }

    /// A metric without labels.
    ///
    /// # Panics
    ///
    /// When there is none with this name.
    pub async fn metric(&self, name: &str) -> u64 {
        let scraped = self.fetch("/metrics").await.expect(200);
        let value =
            scraped.text().lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        value.unwrap_or_else(|| panic!("no metric {name}"))
    }

    /// The address that paths of the listener for customers start with.
    pub fn pos_url(&self) -> &str {
        &self.pos
    }

    /// A request to the listener for customers.
    pub fn pos(&self, method: Method, path: &str) -> Request {
        Request::new(self.http.request(method, format!("{}{path}", self.pos)), &POS)
    }

    /// The answer of the listener for customers to a JSON body.
    pub async fn pay(&self, path: &str, body: &Value) -> Answer {
        self.pos(Method::POST, path).json(body).send().await
    }

    /// An app of its own.
    pub async fn app(&self) -> App {
        self.app_named("a test").await
    }

    /// An app with this name.
    pub async fn app_named(&self, name: &str) -> App {
        let request = self.request(Method::POST, "/apps").json(&json!({ "name": name }));
        App::from(request.send().await.expect(201), &self.http, &self.url, &self.pos)
    }

    /// A test merchant that is funded in euros, with an app of its own.
    pub async fn merchant(&self) -> Merchant {
        self.app().await.merchant("EUR").await
    }

    /// The addresses that the paths of its two listeners start with.
    pub(super) fn address(&self) -> (&str, &str) {
        (&self.url, &self.pos)
    }

    /// Stops the service with SIGTERM; it has to end well, and in time.
    ///
    /// # Panics
    ///
    /// When the service is not ours.
    pub async fn stop(self) -> Idle {
        let (process, place) = self.own.expect("a service that the test started");
        process.terminate().await;
        process.ended().await;
        place
    }

    /// Kills the service as kill -9 does.
    ///
    /// # Panics
    ///
    /// When the service is not ours.
    pub async fn kill(self) -> Idle {
        let (process, place) = self.own.expect("a service that the test started");
        process.kill().await;
        place
    }
}

/// The limits on what strangers may repeat, off: tests send more than strangers may.
const NO_LIMITS: [(&str, &str); 5] = [
    ("PAYMENTS_ATTEMPT_LIMIT", "off"),
    ("PAYMENTS_DECLINE_LIMIT", "off"),
    ("PAYMENTS_CARD_LIMIT", "off"),
    ("PAYMENTS_APP_LIMIT", "off"),
    ("PAYMENTS_INVITATION_LIMIT", "off"),
];

/// The same limits as they are by default.
pub const DEFAULT_LIMITS: [(&str, &str); 5] = [
    ("PAYMENTS_ATTEMPT_LIMIT", "60/1m"),
    ("PAYMENTS_DECLINE_LIMIT", "30/1m"),
    ("PAYMENTS_CARD_LIMIT", "5/1h"),
    ("PAYMENTS_APP_LIMIT", "30/1m"),
    ("PAYMENTS_INVITATION_LIMIT", "100/1d"),
];

/// A service that does not run: its settings and its data.
#[derive(Debug)]
pub struct Idle {
    settings: Vec<(String, String)>,
    data: TempDir,
    database: Option<Database>,
}

impl Idle {
    /// A service with these settings and no data, on the engine that `PAYMENTS_TEST_ENGINE` names:
    /// `postgres`, or else the embedded one.
    #[expect(clippy::disallowed_methods, reason = "one of the variables of these tests")]
    pub fn new(settings: &[(&str, &str)]) -> Self {
        let postgres = std::env::var("PAYMENTS_TEST_ENGINE").is_ok_and(|name| name == "postgres");
        Self::on(postgres.then(|| Cluster::shared().database()), settings)
    }

    /// A service with these settings, on this database or else the embedded engine.
    ///
    /// # Panics
    ///
    /// When there is no place for its directory.
    pub fn on(database: Option<Database>, settings: &[(&str, &str)]) -> Self {
        let data = tempfile::tempdir().expect("a directory can be made");
        let directory = data.path().to_str().expect("a plain path").to_owned();
        let own = [
            ("PORT", "0"),
            ("PAYMENTS_POS_PORT", "0"),
            ("PAYMENTS_DATA_DIR", &directory),
            ("PAYMENTS_DATABASE_URL", database.as_ref().map_or("", Database::url)),
        ];
        let settings = own.iter().chain(&NO_LIMITS).chain(settings);
        let settings = settings.map(|&(name, value)| (name.to_owned(), value.to_owned()));
        Self { settings: settings.collect(), data, database }
    }

    /// The same with one setting changed.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The directory with its data.
    pub fn data(&self) -> &Path {
        self.data.path()
    }

    /// Its database, if it is not on the embedded engine.
    pub fn database(&self) -> Option<&Database> {
        self.database.as_ref()
    }

    /// Changes its data behind its back, and returns how many rows.
    ///
    /// # Panics
    ///
    /// When it cannot.
    pub fn change(&self, sql: &str) -> usize {
        let Some(database) = &self.database else {
            let file = self.data().join("payments.db");
            let connection = rusqlite::Connection::open(file).expect("there is a database");
            return connection.execute(sql, []).expect("the statement can be run");
        };
        let said = database.run(sql);
        let rows = said.rsplit(' ').next().and_then(|rows| rows.parse().ok());
        rows.unwrap_or_else(|| panic!("{sql}: {said}"))
    }

    /// Bytes, given in hexadecimal digits, in the SQL of its engine.
    pub fn bytes(&self, digits: &str) -> String {
        match self.database {
            Some(_) => format!("'\\x{digits}'"),
            None => format!("x'{digits}'"),
        }
    }

    /// The command that runs the program with these settings.
    pub fn command(&self) -> Command {
        let settings: Vec<_> =
            self.settings.iter().map(|(name, value)| (&**name, &**value)).collect();
        process::command(PROGRAM, &settings)
    }

    /// Starts the service and waits until it listens.
    pub async fn start(self) -> Service {
        let command = self.command();
        self.start_with(command).await
    }

    /// Starts the service by a command of one's own, made from [`Idle::command`].
    pub async fn start_with(self, command: Command) -> Service {
        let process = Process::start(command).await;
        Service {
            url: format!("http://{}", process.address()),
            pos: format!("http://{}", process.address_of("pos.address")),
            http: http::client(),
            own: Some((process, self)),
        }
    }

    /// Has the program recompute journal, balances, counters and trails: they have to agree.
    ///
    /// # Panics
    ///
    /// When they do not.
    pub async fn agrees(&self) {
        let (agrees, said) = self.check().await;
        assert!(agrees, "{said}");
    }

    /// Whether journal, balances, counters and trails agree, and what the program says of it.
    pub async fn check(&self) -> (bool, String) {
        self.check_with(&[]).await
    }

    /// The same of what changed after a line.
    pub async fn check_since(&self, line: &str) -> (bool, String) {
        self.check_with(&["--since", line]).await
    }

    async fn check_with(&self, options: &[&str]) -> (bool, String) {
        let mut command = self.command();
        command.arg("check").args(options);
        let Output { status, stdout, stderr } = process::run(command).await;
        let said = String::from_utf8_lossy(&stdout) + String::from_utf8_lossy(&stderr);
        (status.success(), said.into_owned())
    }
}
