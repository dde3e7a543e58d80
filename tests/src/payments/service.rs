//! payments-svc, running or stopped.

use std::{process::Output, time::Duration};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::{API, App, Merchant, POS, PROGRAM};
use crate::{
    http::{self, Answer, Request},
    process::{self, DEADLINE, Process},
    service::{self, Program, variable},
};

/// The cookie by which the payment page recognizes a browser. Every test has the same browser, also
/// after a restart and at every replica.
pub const BROWSER: &str = "6f6f7c1e-7d0a-4a53-9d0c-3c5f8c2a9b11";
const COOKIES: &str = "browser=6f6f7c1e-7d0a-4a53-9d0c-3c5f8c2a9b11";

pub type Service = service::Service<Payments>;
pub type Stopped = service::Stopped<Payments>;

/// The listener for customers of a running service, and the browser of a customer.
#[derive(Debug)]
pub struct Payments {
    /// The base URL, without a trailing slash.
    pos: String,
    /// The cookies of the browser that opens the payment page.
    cookies: &'static str,
}

impl Program for Payments {
    const NAME: &str = PROGRAM;
    const DATA_DIR: &str = "PAYMENTS_DATA_DIR";
    const DATABASE_URL: &str = "PAYMENTS_DATABASE_URL";
    const FILE: &str = "payments.db";
    const ENGINE: &str = "PAYMENTS_TEST_ENGINE";
    const URL: &str = "PAYMENTS_URL";
    // The tests send more requests than the rate limits for strangers allow, and approve nobody.
    const SETTINGS: &[(&str, &str)] = &[
        ("PAYMENTS_APPROVAL", "none"),
        ("PAYMENTS_POS_PORT", "0"),
        ("PAYMENTS_ATTEMPT_LIMIT", "off"),
        ("PAYMENTS_DECLINE_LIMIT", "off"),
        ("PAYMENTS_CARD_LIMIT", "off"),
        ("PAYMENTS_APP_LIMIT", "off"),
        ("PAYMENTS_INVITATION_LIMIT", "off"),
        ("PAYMENTS_WEBHOOK_TEST_LIMIT", "off"),
    ];

    fn of(process: &Process) -> Self {
        let pos = format!("http://{}", process.address_of("pos.address"));
        Self { pos, cookies: COOKIES }
    }

    fn of_variables() -> Option<Self> {
        Some(Self { pos: variable("PAYMENTS_POS_URL")?, cookies: COOKIES })
    }
}

impl Service {
    /// The same service, with requests from this local address.
    #[must_use]
    pub fn seen_from(&self, address: [u8; 4]) -> Self {
        self.through(http::client_from(Some(address.into())), COOKIES)
    }

    /// The same service, with another browser. Empty cookies: a browser that keeps none.
    #[must_use]
    pub fn in_browser(&self, cookies: &'static str) -> Self {
        self.through(self.http.clone(), cookies)
    }

    fn through(&self, http: reqwest::Client, cookies: &'static str) -> Self {
        let program = Payments { pos: self.program.pos.clone(), cookies };
        Self { url: self.url.clone(), http, program, own: None }
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

    /// See [`Stopped::settled`].
    pub async fn settled(&self) {
        self.data().settled().await;
    }

    /// The base URL of the listener for customers, without a trailing slash.
    pub fn pos_url(&self) -> &str {
        &self.program.pos
    }

    pub fn pos(&self, method: Method, path: &str) -> Request {
        let request =
            Request::new(self.http.request(method, format!("{}{path}", self.program.pos)), &POS);
        match self.program.cookies {
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
        App::from(request.send().await.expect(201), &self.http, &self.url, &self.program.pos)
    }

    /// Creates an app and a test merchant funded in euros.
    pub async fn merchant(&self) -> Merchant {
        self.app().await.merchant("EUR").await
    }

    /// The base URLs of both listeners: apps, then customers.
    pub(super) fn address(&self) -> (&str, &str) {
        (&self.url, &self.program.pos)
    }
}

impl Stopped {
    /// Waits until the acquirers have answered everything: no payment and no outbox entry waits.
    /// Both can wait up to a minute for a retry.
    pub async fn settled(&self) {
        let waiting =
            "SELECT (SELECT count(*) FROM outbox) + (SELECT count(*) FROM pending_payments)";
        let settled = async {
            while self.number(waiting) > 0 {
                sleep(Duration::from_millis(100)).await;
            }
        };
        timeout(2 * DEADLINE, settled).await.expect("the acquirers answer in time");
    }
}

/// The defaults of the limits that the tests turn off.
pub const DEFAULT_LIMITS: [(&str, &str); 6] = [
    ("PAYMENTS_ATTEMPT_LIMIT", "60/1m"),
    ("PAYMENTS_DECLINE_LIMIT", "30/1m"),
    ("PAYMENTS_CARD_LIMIT", "5/1h"),
    ("PAYMENTS_APP_LIMIT", "30/1m"),
    ("PAYMENTS_INVITATION_LIMIT", "100/1d"),
    ("PAYMENTS_WEBHOOK_TEST_LIMIT", "30/1m"),
];

/// Counts facts that do not have exactly one event, events without a fact, and events of a
/// transaction that are not in the order of its trail. A refused void, an inquiry that has become a
/// dispute, and an answer to a dispute that the acquirer has refused, are in no table but `events`.
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
             UNION ALL SELECT 'dispute.opened', id, 0, 1 FROM disputes WHERE line IS NOT NULL
             UNION ALL SELECT 'dispute.inquiry', id, 0, 1 FROM disputes WHERE line IS NULL
                 OR EXISTS (SELECT 1 FROM events WHERE object = disputes.id
                     AND type = 'dispute.inquiry')
             UNION ALL SELECT 'fraud.reported', id, 0, 1 FROM fraud_alerts
             UNION ALL SELECT 'payout.booked', id, 0, 1 FROM payouts
             UNION ALL SELECT 'payout.returned', id, 0, 1 FROM payouts WHERE returned IS NOT NULL
             UNION ALL SELECT CASE WHEN payments OR payouts THEN 'merchant.held'
                 ELSE 'merchant.released' END, id, 0, 1 FROM holds
             UNION ALL SELECT 'bank.changed', id, 0, 1 FROM bank_changes
             UNION ALL SELECT type, coalesce(object, \"transaction\"), coalesce(steps, 0), 0
                 FROM events WHERE type NOT IN (
                     'acquirer.refused', 'dispute.evidence', 'dispute.accepted'
                 ) OR EXISTS (
                     SELECT 1 FROM trail WHERE trail.\"transaction\" = events.\"transaction\"
                         AND step + 1 = steps AND reverses IS NOT NULL)
         ) AS rows GROUP BY type, id, steps HAVING sum(facts) <> 1 OR count(*) <> 2
     ) AS unequal) + (SELECT count(*) FROM (
         SELECT steps - lag(steps) OVER (PARTITION BY \"transaction\" ORDER BY id) AS more
         FROM events WHERE steps IS NOT NULL AND type <> 'acquirer.refused'
     ) AS ordered WHERE more <= 0)";

impl Stopped {
    /// The SQL literal of hexadecimal bytes, for the engine in use.
    pub fn bytes(&self, digits: &str) -> String {
        match self.database() {
            Some(_) => format!("'\\x{digits}'"),
            None => format!("x'{digits}'"),
        }
    }

    /// The SQL expression of bytes as hexadecimal digits, for the engine in use.
    pub fn digits(&self, bytes: &str) -> String {
        match self.database() {
            Some(_) => format!("encode({bytes}, 'hex')"),
            None => format!("lower(hex({bytes}))"),
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

    /// [`Self::check`] with these options.
    pub async fn check_with(&self, options: &[&str]) -> (bool, String) {
        let mut command = self.command();
        command.arg("check").args(options);
        let Output { status, stdout, stderr } = process::run(command).await;
        let output = String::from_utf8_lossy(&stdout) + String::from_utf8_lossy(&stderr);
        (status.success(), output.into_owned())
    }
}
