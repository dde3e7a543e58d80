//! objstore-svc, running or stopped.

use std::path::Path;

use tempfile::TempDir;
use tokio::{net::TcpStream, process::Command};
use uuid::Uuid;

use super::{Client, PROGRAM};
use crate::{
    http,
    postgres::{Cluster, Database},
    process::{self, Process},
};

/// A running service.
#[derive(Debug)]
pub struct Service {
    url: String,
    http: reqwest::Client,
    own: Option<(Process, Stopped)>,
}

impl Service {
    /// The service at `OBJSTORE_URL`, or a new process with default settings.
    #[expect(clippy::disallowed_methods, reason = "one of the variables of these tests")]
    pub async fn any() -> Self {
        match std::env::var("OBJSTORE_URL") {
            Ok(url) => {
                Self { url: url.trim_end_matches('/').to_owned(), http: http::client(), own: None }
            }
            Err(_) => Self::with(&[]).await,
        }
    }

    /// A new process with these settings and an empty data directory.
    pub async fn with(settings: &[(&str, &str)]) -> Self {
        Stopped::new(settings).start().await
    }

    /// The base URL, without a trailing slash.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A TCP connection, for requests that no HTTP client sends.
    pub async fn connect(&self) -> TcpStream {
        let address = self.url.trim_start_matches("http://");
        TcpStream::connect(address).await.expect("a connection")
    }

    /// The process. Only for a service that the test started.
    pub fn process(&self) -> &Process {
        let (process, _) = self.own.as_ref().expect("a service that the test started");
        process
    }

    /// The directory and settings. Only for a service that the test started.
    pub fn data(&self) -> &Stopped {
        let (_, place) = self.own.as_ref().expect("a service that the test started");
        place
    }

    /// A client with a new id and a session.
    pub async fn client(&self) -> Client {
        self.client_with(Uuid::new_v4()).await
    }

    /// A client with this id and a new session.
    pub async fn client_with(&self, id: Uuid) -> Client {
        let mut client = Client::anonymous(&self.http, &self.url, id);
        client.register().await;
        client
    }

    /// A client with a new id, not registered.
    pub fn stranger(&self) -> Client {
        Client::anonymous(&self.http, &self.url, Uuid::new_v4())
    }

    /// Stops the service with SIGTERM. It has to end in time and with success.
    pub async fn stop(self) -> Stopped {
        self.process().terminate().await;
        self.ended().await
    }

    /// Waits until a terminated service has ended with success.
    pub async fn ended(self) -> Stopped {
        let (process, place) = self.own.expect("a service that the test started");
        process.ended().await;
        place
    }

    /// Kills the service with SIGKILL.
    pub async fn kill(self) -> Stopped {
        let (process, place) = self.own.expect("a service that the test started");
        process.kill().await;
        place
    }
}

/// A stopped service: its settings and its data.
#[derive(Debug)]
pub struct Stopped {
    program: String,
    settings: Vec<(String, String)>,
    data: TempDir,
    database: Option<Database>,
}

impl Stopped {
    /// A service with these settings and no data, on the engine in `OBJSTORE_TEST_ENGINE`:
    /// `postgres`, or by default the embedded one.
    #[expect(clippy::disallowed_methods, reason = "one of the variables of these tests")]
    pub fn new(settings: &[(&str, &str)]) -> Self {
        let postgres = std::env::var("OBJSTORE_TEST_ENGINE").is_ok_and(|name| name == "postgres");
        Self::on(postgres.then(|| Cluster::shared().database()), settings)
    }

    /// A service with these settings, on this database, or on the embedded engine.
    pub fn on(database: Option<Database>, settings: &[(&str, &str)]) -> Self {
        let data = tempfile::tempdir().expect("a directory can be made");
        let directory = data.path().to_str().expect("a plain path").to_owned();
        let own = [
            ("PORT", "0"),
            ("OBJSTORE_DATA_DIR", &directory),
            // The tests register more clients from one address than the default allows.
            ("OBJSTORE_REGISTER_LIMIT", "off"),
            ("OBJSTORE_DATABASE_URL", database.as_ref().map_or("", Database::url)),
        ];
        let settings =
            own.iter().chain(settings).map(|&(name, value)| (name.to_owned(), value.to_owned()));
        Self { program: PROGRAM.to_owned(), settings: settings.collect(), data, database }
    }

    /// The same with one setting changed. The last value of a setting counts.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same, run by another version of the program.
    #[must_use]
    pub fn run_by(self, program: String) -> Self {
        Self { program, ..self }
    }

    /// The data directory.
    pub fn data(&self) -> &Path {
        self.data.path()
    }

    /// `None` on the embedded engine.
    pub fn database(&self) -> Option<&Database> {
        self.database.as_ref()
    }

    /// Runs SQL on the data directly and returns the number of changed rows.
    pub fn change(&self, sql: &str) -> usize {
        let Some(database) = &self.database else {
            return self.file().execute(sql, []).expect("the statement can be run");
        };
        let output = database.run(sql);
        let rows = output.rsplit(' ').next().and_then(|rows| rows.parse().ok());
        rows.unwrap_or_else(|| panic!("{sql}: {output}"))
    }

    /// The result of a query on the data that returns one number.
    pub fn number(&self, sql: &str) -> i64 {
        match &self.database {
            Some(database) => database.run(sql).parse().expect("a number"),
            None => self.file().query_row(sql, [], |row| row.get(0)).expect("a number"),
        }
    }

    /// The rows of a query on the data that returns one text.
    pub fn texts(&self, sql: &str) -> Vec<String> {
        if let Some(database) = &self.database {
            return database.run(sql).lines().map(str::to_owned).collect();
        }
        let file = self.file();
        let mut statement = file.prepare(sql).expect("a query");
        let rows = statement.query_map([], |row| row.get(0)).expect("the query can be run");
        rows.map(|text| text.expect("a text")).collect()
    }

    /// What writes change: the newest revision, and the numbers of clients, sessions and watches.
    pub fn writes(&self) -> Vec<String> {
        self.texts(
            "SELECT 'revision ' || max(revision) FROM log
             UNION ALL SELECT 'clients ' || count(*) FROM clients
             UNION ALL SELECT 'sessions ' || count(*) FROM sessions
             UNION ALL SELECT 'watches ' || count(*) FROM watches",
        )
    }

    fn file(&self) -> rusqlite::Connection {
        let file = rusqlite::Connection::open(self.data().join("objstore.db"));
        file.expect("there is a database")
    }

    pub fn command(&self) -> Command {
        let settings: Vec<_> =
            self.settings.iter().map(|(name, value)| (&**name, &**value)).collect();
        process::command(&self.program, &settings)
    }

    pub async fn start(self) -> Service {
        let command = self.command();
        self.start_with(command).await
    }

    /// Starts the service with a command derived from [`Stopped::command`].
    pub async fn start_with(self, command: Command) -> Service {
        let process = Process::start(command).await;
        Service {
            url: format!("http://{}", process.address()),
            http: http::client(),
            own: Some((process, self)),
        }
    }
}
