//! payments-svc, running or stopped.

use std::{path::Path, process::Output, time::Duration};

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    process::Command,
    time::{sleep, timeout},
};

use super::{API, App, Merchant, POS, PROGRAM};
use crate::{
    http::{self, Answer, Request},
    postgres::{Cluster, Database},
    process::{self, DEADLINE, Process},
};

/// The cookie by which the payment page recognizes a browser. Every test has the same browser, also
/// after a restart and at every replica.
pub const BROWSER: &str = "6f6f7c1e-7d0a-4a53-9d0c-3c5f8c2a9b11";
const COOKIES: &str = "browser=6f6f7c1e-7d0a-4a53-9d0c-3c5f8c2a9b11";

/// A running service, with one listener for apps and one for customers.
#[derive(Debug)]
pub struct Service {
    url: String,
    pos: String,
    http: reqwest::Client,
    /// The cookies of the browser that opens the payment page.
    cookies: &'static str,
    own: Option<(Process, Stopped)>,
}

impl Service {
    /// The service at `PAYMENTS_URL` and `PAYMENTS_POS_URL`, or a new process with default
    /// settings.
    #[expect(clippy::disallowed_methods, reason = "the variables of these tests")]
    pub async fn any() -> Self {
        match (std::env::var("PAYMENTS_URL"), std::env::var("PAYMENTS_POS_URL")) {
            (Ok(url), Ok(pos)) => {
                let [url, pos] = [url, pos].map(|url| url.trim_end_matches('/').to_owned());
                Self { url, pos, http: http::client(), cookies: COOKIES, own: None }
            }
            _ => Self::with(&[]).await,
        }
    }

    /// A new process with these settings and an empty data directory.
    pub async fn with(settings: &[(&str, &str)]) -> Self {
        Stopped::new(settings).start().await
    }

    /// The same service, with requests from this local address.
    #[must_use]
    pub fn seen_from(&self, address: [u8; 4]) -> Self {
        let http = http::client_from(Some(address.into()));
        Self { url: self.url.clone(), pos: self.pos.clone(), http, cookies: COOKIES, own: None }
    }

    /// The same service, with another browser. Empty cookies: a browser that keeps none.
    #[must_use]
    pub fn in_browser(&self, cookies: &'static str) -> Self {
        let (url, pos) = (self.url.clone(), self.pos.clone());
        Self { url, pos, http: self.http.clone(), cookies, own: None }
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

    /// The base URL of the listener for apps, without a trailing slash.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A request to the listener for apps, without credentials. `path` may have a query.
    pub fn request(&self, method: Method, path: &str) -> Request {
        Request::new(self.http.request(method, format!("{}{path}", self.url)), &API)
    }

    /// Sends a GET to the listener for apps, without credentials.
    pub async fn fetch(&self, path: &str) -> Answer {
        self.request(Method::GET, path).send().await
    }

    /// The value of a metric without labels.
    pub async fn metric(&self, name: &str) -> u64 {
        let scraped = self.fetch("/metrics").await.expect(200);
        let value =
            scraped.text().lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        value.unwrap_or_else(|| panic!("no metric {name}"))
    }

    /// Waits until the acquirers have answered everything: no payment and no outbox entry waits.
    /// Both can wait up to a minute for a retry.
    pub async fn settled(&self) {
        let settled = async {
            while self.metric("payments_instructions_waiting").await > 0
                || self.metric("payments_operations_waiting").await > 0
            {
                sleep(Duration::from_millis(50)).await;
            }
        };
        // The gauges are counted each second: what was booked before is counted afterwards.
        sleep(Duration::from_millis(1200)).await;
        timeout(2 * DEADLINE, settled).await.expect("the acquirers answer in time");
    }

    /// The base URL of the listener for customers, without a trailing slash.
    pub fn pos_url(&self) -> &str {
        &self.pos
    }

    pub fn pos(&self, method: Method, path: &str) -> Request {
        let request = Request::new(self.http.request(method, format!("{}{path}", self.pos)), &POS);
        match self.cookies {
            "" => request,
            cookies => request.header("cookie", cookies),
        }
    }

    /// Posts a JSON body to the listener for customers.
    pub async fn pay(&self, path: &str, body: &Value) -> Answer {
        self.pos(Method::POST, path).json(body).send().await
    }

    /// Creates an app with a default name.
    pub async fn app(&self) -> App {
        self.app_named("a test").await
    }

    /// Creates an app.
    pub async fn app_named(&self, name: &str) -> App {
        let request = self.request(Method::POST, "/apps").json(&json!({ "name": name }));
        App::from(request.send().await.expect(201), &self.http, &self.url, &self.pos)
    }

    /// Creates an app and a test merchant funded in euros.
    pub async fn merchant(&self) -> Merchant {
        self.app().await.merchant("EUR").await
    }

    /// The base URLs of both listeners: apps, then customers.
    pub(super) fn address(&self) -> (&str, &str) {
        (&self.url, &self.pos)
    }

    /// Stops the service with SIGTERM. It has to end in time and with success.
    pub async fn stop(self) -> Stopped {
        let (process, place) = self.own.expect("a service that the test started");
        process.terminate().await;
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

/// Turns off the rate limits for strangers, because the tests send more requests than these allow.
const NO_LIMITS: [(&str, &str); 6] = [
    ("PAYMENTS_ATTEMPT_LIMIT", "off"),
    ("PAYMENTS_DECLINE_LIMIT", "off"),
    ("PAYMENTS_CARD_LIMIT", "off"),
    ("PAYMENTS_APP_LIMIT", "off"),
    ("PAYMENTS_INVITATION_LIMIT", "off"),
    ("PAYMENTS_WEBHOOK_TEST_LIMIT", "off"),
];

/// The defaults of the limits in `NO_LIMITS`.
pub const DEFAULT_LIMITS: [(&str, &str); 6] = [
    ("PAYMENTS_ATTEMPT_LIMIT", "60/1m"),
    ("PAYMENTS_DECLINE_LIMIT", "30/1m"),
    ("PAYMENTS_CARD_LIMIT", "5/1h"),
    ("PAYMENTS_APP_LIMIT", "30/1m"),
    ("PAYMENTS_INVITATION_LIMIT", "100/1d"),
    ("PAYMENTS_WEBHOOK_TEST_LIMIT", "30/1m"),
];

/// Counts facts that do not have exactly one event, events without a fact, and events of a
/// transaction that are not in the order of its trail. A refused void is in no table but `events`.
pub const WRONG_EVENTS: &str = "SELECT (SELECT count(*) FROM (
         SELECT 1 FROM (
             SELECT CASE WHEN error IS NULL THEN 'transaction.created'
                 ELSE 'transaction.failed' END AS type, id, 0 AS steps, 1 AS facts FROM transactions
             UNION ALL SELECT CASE WHEN reverses IS NOT NULL THEN 'acquirer.refused'
                 WHEN movement = 'capture' THEN 'transaction.captured'
                 WHEN movement = 'refund' THEN 'transaction.refunded' ELSE 'transaction.voided' END,
                 \"transaction\", step + 1, 1 FROM trail WHERE dispute IS NULL
             UNION ALL SELECT 'dispute.' || movement, dispute, 0, 1
                 FROM trail WHERE dispute IS NOT NULL
             UNION ALL SELECT 'dispute.opened', id, 0, 1 FROM disputes
             UNION ALL SELECT 'fraud.reported', id, 0, 1 FROM frauds
             UNION ALL SELECT 'payout.booked', id, 0, 1 FROM payouts
             UNION ALL SELECT type, coalesce(object, \"transaction\"), coalesce(steps, 0), 0
                 FROM events WHERE type <> 'acquirer.refused' OR EXISTS (
                     SELECT 1 FROM trail WHERE trail.\"transaction\" = events.\"transaction\"
                         AND step + 1 = steps AND reverses IS NOT NULL)
         ) AS rows GROUP BY type, id, steps HAVING sum(facts) <> 1 OR count(*) <> 2
     ) AS unequal) + (SELECT count(*) FROM (
         SELECT steps - lag(steps) OVER (PARTITION BY \"transaction\" ORDER BY id) AS more
         FROM events WHERE steps IS NOT NULL AND type <> 'acquirer.refused'
     ) AS ordered WHERE more <= 0)";

/// A stopped service: its settings and its data.
#[derive(Debug)]
pub struct Stopped {
    program: String,
    settings: Vec<(String, String)>,
    data: TempDir,
    database: Option<Database>,
}

impl Stopped {
    /// A service with these settings and no data, on the engine in `PAYMENTS_TEST_ENGINE`:
    /// `postgres`, or by default the embedded one.
    #[expect(clippy::disallowed_methods, reason = "one of the variables of these tests")]
    pub fn new(settings: &[(&str, &str)]) -> Self {
        let postgres = std::env::var("PAYMENTS_TEST_ENGINE").is_ok_and(|name| name == "postgres");
        Self::on(postgres.then(|| Cluster::shared().database()), settings)
    }

    /// A service with these settings, on this database, or on the embedded engine.
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

    /// The results of a query on the data that returns one column of text, sorted.
    pub fn texts(&self, sql: &str) -> Vec<String> {
        let mut texts: Vec<_> = match &self.database {
            Some(database) => database.run(sql).lines().map(str::to_owned).collect(),
            None => {
                let file = self.file();
                let mut query = file.prepare(sql).expect("a query");
                let rows = query.query_map([], |row| row.get(0)).expect("can be run");
                rows.map(|text| text.expect("text")).collect()
            }
        };
        texts.sort();
        texts
    }

    fn file(&self) -> rusqlite::Connection {
        let mut settings = self.settings.iter().rev();
        let directory = settings.find(|(name, _)| name == "PAYMENTS_DATA_DIR");
        let (_, directory) = directory.expect("a directory");
        let file = rusqlite::Connection::open(Path::new(directory).join("payments.db"));
        file.expect("there is a database")
    }

    /// The SQL literal of hexadecimal bytes, for the engine in use.
    pub fn bytes(&self, digits: &str) -> String {
        match self.database {
            Some(_) => format!("'\\x{digits}'"),
            None => format!("x'{digits}'"),
        }
    }

    /// The SQL expression of bytes as hexadecimal digits, for the engine in use.
    pub fn digits(&self, bytes: &str) -> String {
        match self.database {
            Some(_) => format!("encode({bytes}, 'hex')"),
            None => format!("lower(hex({bytes}))"),
        }
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
            pos: format!("http://{}", process.address_of("pos.address")),
            http: http::client(),
            cookies: COOKIES,
            own: Some((process, self)),
        }
    }

    /// [`Self::passes_check`]. Also, each fact must have one event, and the events of a transaction
    /// must have the order of its trail.
    pub async fn agrees(&self) {
        self.passes_check().await;
        assert_eq!(self.number(WRONG_EVENTS), 0, "events differ from the facts");
    }

    /// Runs the subcommand `check`, which recomputes journal, balances, counters and trails. They
    /// have to agree.
    pub async fn passes_check(&self) {
        let (agrees, output) = self.check().await;
        assert!(agrees, "{output}");
    }

    /// The subcommand `check`: whether journal, balances, counters and trails agree, and its
    /// output.
    pub async fn check(&self) -> (bool, String) {
        self.check_with(&[]).await
    }

    /// [`Self::check`] of only the changes after the line with this id.
    pub async fn check_since(&self, line: &str) -> (bool, String) {
        self.check_with(&["--since", line]).await
    }

    async fn check_with(&self, options: &[&str]) -> (bool, String) {
        let mut command = self.command();
        command.arg("check").args(options);
        let Output { status, stdout, stderr } = process::run(command).await;
        let output = String::from_utf8_lossy(&stdout) + String::from_utf8_lossy(&stderr);
        (status.success(), output.into_owned())
    }
}
