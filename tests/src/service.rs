//! A service with a store, running or stopped.

use std::{
    collections::BTreeMap,
    fs::OpenOptions,
    io::Write as _,
    marker::PhantomData,
    path::Path,
    sync::{Mutex, PoisonError},
    thread,
};

use tempfile::TempDir;
use tokio::{net::TcpStream, process::Command, runtime::Runtime};

use crate::{
    http,
    postgres::{Cluster, Database},
    process::{self, Process},
};

/// Says how a service differs from the other. A value is what a running one has beside its base URL.
pub trait Program: Sized {
    const NAME: &str;
    /// Setting of the data directory.
    const DATA_DIR: &str;
    /// Setting of the URL of PostgreSQL.
    const DATABASE_URL: &str;
    /// The file of the database in the data directory.
    const FILE: &str;
    /// Variable of these tests: `postgres`, or by default the embedded engine.
    const ENGINE: &str;
    /// Variable of these tests: the base URL of a service that runs already.
    const URL: &str;
    /// Settings of every process.
    const SETTINGS: &[(&str, &str)];

    fn of(process: &Process) -> Self;

    /// Of the service at [`Program::URL`]. `None` if a variable is missing.
    fn of_variables() -> Option<Self>;
}

/// A running service.
#[derive(Debug)]
pub struct Service<P> {
    pub(crate) url: String,
    pub(crate) http: reqwest::Client,
    pub(crate) program: P,
    pub(crate) own: Option<(Process, Stopped<P>)>,
}

impl<P: Program> Service<P> {
    /// The service that runs already, or a new process with default settings.
    pub async fn any() -> Self {
        note("any");
        match (variable(P::URL), P::of_variables()) {
            (Some(url), Some(program)) => Self { url, http: http::client(), program, own: None },
            _ => Self::with(&[]).await,
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

    /// Whether the test started it.
    pub fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// The process. Only for a service that the test started.
    pub fn process(&self) -> &Process {
        let (process, _) = self.own.as_ref().expect("a service that the test started");
        process
    }

    /// The directory and settings. Only for a service that the test started.
    pub fn data(&self) -> &Stopped<P> {
        let (_, place) = self.own.as_ref().expect("a service that the test started");
        place
    }

    /// Stops the service with SIGTERM. It has to end in time and with success.
    pub async fn stop(self) -> Stopped<P> {
        self.process().terminate().await;
        self.ended().await
    }

    /// Waits until a terminated service has ended with success.
    pub async fn ended(self) -> Stopped<P> {
        let (process, place) = self.own.expect("a service that the test started");
        process.ended().await;
        place
    }

    /// Kills the service with SIGKILL.
    pub async fn kill(self) -> Stopped<P> {
        let (process, place) = self.own.expect("a service that the test started");
        process.kill().await;
        place
    }
}

/// A stopped service: its settings and its data.
#[derive(Debug)]
pub struct Stopped<P> {
    name: String,
    settings: Vec<(String, String)>,
    data: TempDir,
    database: Option<Database>,
    of: PhantomData<P>,
}

impl<P: Program> Stopped<P> {
    /// A service with these settings and no data, on the engine of [`Program::ENGINE`].
    pub fn new(settings: &[(&str, &str)]) -> Self {
        note("engine");
        let postgres = variable(P::ENGINE).is_some_and(|name| name == "postgres");
        Self::on(postgres.then(Self::migrated), settings)
    }

    /// Neither the service nor `backup` nor these commands use the store any more.
    pub async fn is_imported(&self, commands: &[&[&str]]) {
        let mark = self.data().join("imported");
        let copy = self.data().join("copy.db");
        let backup = ["backup", "--to", copy.to_str().expect("text")];
        for arguments in [&[][..], &backup].iter().chain(commands) {
            let mut command = self.command();
            command.args(*arguments);
            let ended = process::run(command).await;
            let (code, output) = (ended.status.code(), process::output(&ended));
            assert_eq!(code, Some(2), "{output}");
            assert!(output.contains("was imported to PostgreSQL"), "{output}");
            assert!(output.contains(mark.to_str().expect("text")), "{output}");
        }
    }

    /// A database with the tables of the service, and without data. Only the first one is migrated; the
    /// others are copies, made in a fraction of the time.
    pub fn migrated() -> Database {
        static FIRST: Mutex<BTreeMap<&str, Database>> = Mutex::new(BTreeMap::new());
        let migrate = || {
            let database = Cluster::shared().database();
            let place = Self::on(Some(database.clone()), &[]);
            let served = async { drop(place.start().await.stop().await) };
            Runtime::new().expect("a runtime").block_on(served);
            database
        };
        let mut known = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
        // In a thread of its own: a test is in a runtime, and cannot wait for another.
        let made = || thread::scope(|scope| scope.spawn(migrate).join().expect("it is migrated"));
        Cluster::shared().copied(known.entry(P::NAME).or_insert_with(made))
    }

    /// A service with these settings, on this database, or on the embedded engine.
    pub fn on(database: Option<Database>, settings: &[(&str, &str)]) -> Self {
        let data = tempfile::tempdir().expect("a directory can be made");
        let directory = data.path().to_str().expect("a plain path").to_owned();
        let own = [
            ("PORT", "0"),
            (P::DATA_DIR, &*directory),
            (P::DATABASE_URL, database.as_ref().map_or("", Database::url)),
        ];
        let settings = own.iter().chain(P::SETTINGS).chain(settings);
        let settings = settings.map(|&(name, value)| (name.to_owned(), value.to_owned()));
        let (name, settings) = (P::NAME.to_owned(), settings.collect());
        Self { name, settings, data, database, of: PhantomData }
    }

    /// The same with one setting changed. The last value of a setting counts.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same, run by another version of the program.
    #[must_use]
    pub fn run_by(self, name: String) -> Self {
        Self { name, ..self }
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

    /// Runs a statement of SQL that changes no rows.
    pub fn define(&self, sql: &str) {
        match &self.database {
            Some(database) => drop(database.run(sql)),
            None => self.file().execute_batch(sql).expect("valid SQL"),
        }
    }

    /// Makes the database run a statement after each event, such as `INSERT ON table`.
    pub fn after(&self, event: &str, statement: &str) {
        if self.database.is_none() {
            self.define(&format!("CREATE TRIGGER test AFTER {event} BEGIN {statement}; END"));
            return;
        }
        self.define(&format!(
            "CREATE FUNCTION test() RETURNS trigger LANGUAGE plpgsql
             AS $$ BEGIN {statement}; RETURN NEW; END $$"
        ));
        self.define(&format!(
            "CREATE TRIGGER test AFTER {event} FOR EACH ROW EXECUTE FUNCTION test()"
        ));
    }

    /// Records a migration of a later version, which changes nothing.
    pub fn has_later_migration(&self, name: &str) {
        self.change(&format!(
            "INSERT INTO refinery_schema_history
             SELECT max(version) + 1, '{name}', '2030-01-01T00:00:00Z', '1'
             FROM refinery_schema_history"
        ));
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

    fn file(&self) -> rusqlite::Connection {
        let directory = self.settings.iter().rev().find(|(name, _)| name == P::DATA_DIR);
        let (_, directory) = directory.expect("a directory");
        let file = rusqlite::Connection::open(Path::new(directory).join(P::FILE));
        file.expect("there is a database")
    }

    pub fn command(&self) -> Command {
        let settings: Vec<_> =
            self.settings.iter().map(|(name, value)| (&**name, &**value)).collect();
        process::command(&self.name, &settings)
    }

    pub async fn start(self) -> Service<P> {
        let command = self.command();
        self.start_with(command).await
    }

    /// Starts the service with a command derived from [`Stopped::command`].
    pub async fn start_with(self, command: Command) -> Service<P> {
        let process = Process::start(command).await;
        Service {
            url: format!("http://{}", process.address()),
            http: http::client(),
            program: P::of(&process),
            own: Some((process, self)),
        }
    }
}

/// A variable of these tests, without a slash at the end.
#[expect(clippy::disallowed_methods, reason = "the variables of these tests")]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|value| value.trim_end_matches('/').to_owned())
}

/// Adds the name of this test to a file in the folder `TEST_NOTES`, if it is set: `any` if the test
/// can use a service that runs already, `engine` if it depends on [`Program::ENGINE`]. Later runs
/// against containers and against the other engine repeat these tests only.
pub(crate) fn note(file: &str) {
    let Some(notes) = variable("TEST_NOTES") else { return };
    let test = thread::current().name().expect("a test has a name").to_owned();
    assert_ne!(test, "main", "a test has a thread of its own if there are at least two threads");
    let path = Path::new(&notes).join(file);
    let mut file = OpenOptions::new().create(true).append(true).open(path).expect("a file");
    file.write_all(format!("{test}\n").as_bytes()).expect("the file can be written");
}
