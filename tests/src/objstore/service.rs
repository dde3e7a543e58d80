//! A running objstore-svc, and one that rests.

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

/// A service that runs.
#[derive(Debug)]
pub struct Service {
    url: String,
    http: reqwest::Client,
    own: Option<(Process, Idle)>,
}

impl Service {
    /// The service that `OBJSTORE_URL` names, or a new process with the default settings.
    #[expect(clippy::disallowed_methods, reason = "one of the variables of these tests")]
    pub async fn any() -> Self {
        match std::env::var("OBJSTORE_URL") {
            Ok(url) => {
                Self { url: url.trim_end_matches('/').to_owned(), http: http::client(), own: None }
            }
            Err(_) => Self::with(&[]).await,
        }
    }

    /// A new process with these settings, on an empty directory.
    pub async fn with(settings: &[(&str, &str)]) -> Self {
        Idle::new(settings).start().await
    }

    /// The address all its paths start with.
    pub fn url(&self) -> &str {
        &self.url
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

    /// A client with an identity of its own and a session.
    pub async fn client(&self) -> Client {
        self.client_with(Uuid::new_v4()).await
    }

    /// A client with this identity and a new session.
    pub async fn client_with(&self, id: Uuid) -> Client {
        let mut client = Client::anonymous(&self.http, &self.url, id);
        client.register().await;
        client
    }

    /// A client that has not registered.
    pub fn stranger(&self) -> Client {
        Client::anonymous(&self.http, &self.url, Uuid::new_v4())
    }

    /// Stops the service with SIGTERM; it has to end well, and in time.
    ///
    /// # Panics
    ///
    /// When the service is not ours.
    pub async fn stop(self) -> Idle {
        self.process().terminate().await;
        self.ended().await
    }

    /// Waits until a service that was told to stop has ended well.
    ///
    /// # Panics
    ///
    /// When the service is not ours.
    pub async fn ended(self) -> Idle {
        let (process, place) = self.own.expect("a service that the test started");
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

/// A service that does not run: its settings and its data.
#[derive(Debug)]
pub struct Idle {
    settings: Vec<(String, String)>,
    data: TempDir,
    database: Option<Database>,
}

impl Idle {
    /// A service with these settings and no data, on the engine that `OBJSTORE_TEST_ENGINE` names:
    /// `postgres`, or else the embedded one.
    #[expect(clippy::disallowed_methods, reason = "one of the variables of these tests")]
    pub fn new(settings: &[(&str, &str)]) -> Self {
        let postgres = std::env::var("OBJSTORE_TEST_ENGINE").is_ok_and(|name| name == "postgres");
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
            ("OBJSTORE_DATA_DIR", &directory),
            // Tests make more requests than a stranger may.
            ("OBJSTORE_REGISTER_LIMIT", "off"),
            ("OBJSTORE_DATABASE_URL", database.as_ref().map_or("", Database::url)),
        ];
        let settings =
            own.iter().chain(settings).map(|&(name, value)| (name.to_owned(), value.to_owned()));
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
            return self.file().execute(sql, []).expect("the statement can be run");
        };
        let said = database.run(sql);
        let rows = said.rsplit(' ').next().and_then(|rows| rows.parse().ok());
        rows.unwrap_or_else(|| panic!("{sql}: {said}"))
    }

    /// The one number that a query of its data returns.
    ///
    /// # Panics
    ///
    /// When it returns anything else.
    pub fn number(&self, sql: &str) -> i64 {
        match &self.database {
            Some(database) => database.run(sql).parse().expect("a number"),
            None => self.file().query_row(sql, [], |row| row.get(0)).expect("a number"),
        }
    }

    fn file(&self) -> rusqlite::Connection {
        let file = rusqlite::Connection::open(self.data().join("objstore.db"));
        file.expect("there is a database")
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
            http: http::client(),
            own: Some((process, self)),
        }
    }
}
