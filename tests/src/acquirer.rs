//! demo-acquirer: its process, its control interface, and a client that signs as payments-svc does.

use std::sync::{Arc, LazyLock};

use jiff::{Timestamp, ToSpan as _, civil::Date, tz::TimeZone};
use reqwest::Method;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;
use uuid::Uuid;

use crate::{
    http::{Answer, Request, builder},
    openapi::Document,
    payments::{self, seconds},
    process::{self, DEADLINE, Process},
};

pub const PROGRAM: &str = "demo-acquirer";

/// The setting with the secret, which is that of [`payments::SECRET`].
pub const SECRET: (&str, &str) = ("ACQUIRER_SECRET", payments::SECRET.1);

/// The OpenAPI document of the protocol.
pub static DOCUMENT: LazyLock<Document> =
    LazyLock::new(|| Document::parse(include_str!("../../docs/acquirer-protocol.yaml")));

const SIGNATURE: &str = "acquirer-signature";

/// A number of a test card.
pub mod card {
    pub const VISA: &str = "4100000000000001";
    pub const MASTERCARD: &str = "5100000000000008";
    /// Challenges with the result `full`, fails, and challenges with the result `attempt`.
    pub const FULL: &str = "4100000000000308";
    pub const FAILS: &str = "4100000000000316";
    pub const ATTEMPT: &str = "4100000000000324";
    /// Declined with code 7 when the merchant uses it again.
    pub const LATER_EMPTY: &str = "4100000000000704";
    /// Passes the Luhn check, and is unknown.
    pub const UNKNOWN: &str = "4242424242424242";
}

/// The UTC date.
pub fn today() -> Date {
    Timestamp::now().to_zoned(TimeZone::UTC).date()
}

/// A new key of an operation.
pub fn key() -> String {
    Uuid::new_v4().simple().to_string()
}

/// A new ID of payments-svc.
pub fn id() -> String {
    key()[..24].to_owned()
}

/// The body of an authorization of 9.95 EUR by a customer with this card.
pub fn authorization(number: &str) -> Value {
    json!({
        "merchantId": id(),
        "initiator": "customer",
        "currency": "EUR",
        "amount": 995,
        "descriptor": "Corner shop",
        "card": { "number": number, "expiry": { "month": 8, "year": 2066 }, "code": "123" },
    })
}

/// A running demo-acquirer.
pub struct Acquirer {
    process: Process,
    folder: TempDir,
    http: reqwest::Client,
}

impl Acquirer {
    pub async fn start() -> Self {
        Self::with(&[]).await
    }

    /// A process with these settings.
    pub async fn with(settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let ca_file = folder.path().join("ca.pem");
        let mut command = process::command(PROGRAM, &[SECRET, ("PORT", "0")]);
        command.env("DEMO_ACQUIRER_CONTROL_PORT", "0").env("DEMO_ACQUIRER_CA_FILE", &ca_file);
        command.envs(settings.iter().copied());
        let process = Process::start(command).await;
        let ca = CertificateDer::from_pem_file(&ca_file).expect("the certificate is written");
        Self { process, folder, http: client(ca) }
    }

    pub fn process(&self) -> &Process {
        &self.process
    }

    pub fn into_process(self) -> Process {
        self.process
    }

    pub fn port(&self) -> u16 {
        self.process.address().port()
    }

    pub fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.port())
    }

    /// The path of the CA certificate.
    pub fn ca_file(&self) -> String {
        let path = self.folder.path().join("ca.pem");
        path.into_os_string().into_string().expect("a plain path")
    }

    /// A request without a signature, such as that of a customer's browser.
    pub fn plain(&self, method: Method, path: &str) -> Request {
        Request::new(self.http.request(method, self.url(path)), &DOCUMENT)
    }

    /// Sends a call. Checks the answer and its signature against the description.
    pub async fn send(&self, call: &Call) -> Answer {
        let answer = self.request(call).send_undescribed().await;
        DOCUMENT.check_description(&answer);
        call.check_signature(&answer);
        answer
    }

    /// Sends a call whose answer may be missing, or be signed wrongly.
    pub async fn attempt(&self, call: &Call) -> Option<Answer> {
        self.request(call).attempt_undescribed().await
    }

    pub async fn post(&self, path: &str, key: &str, body: &Value) -> Answer {
        self.send(&Call::post(path, key, body)).await
    }

    /// Posts a request that has an outcome, and returns the outcome.
    pub async fn outcome(&self, path: &str, key: &str, body: &Value) -> Value {
        self.post(path, key, body).await.expect(200).json()
    }

    /// Authorizes 9.95 EUR, and returns the key.
    pub async fn authorize(&self) -> String {
        let key = key();
        let outcome = self.outcome("/authorizations", &key, &authorization(card::VISA)).await;
        assert_eq!(outcome["status"], "approved", "{outcome}");
        key
    }

    /// Asks for an operation. The answer is 200 or 404.
    pub async fn ask(&self, key: &str) -> Answer {
        self.send(&Call::get(&format!("/operations/{key}"))).await
    }

    /// Sends a request to the control interface, and returns the body.
    pub async fn control(&self, method: Method, path: &str, body: &Value, status: u16) -> Vec<u8> {
        let address = self.process.address_of("control.address");
        let request = self.http.request(method, format!("http://{address}{path}"));
        let request = Request::new(request, &DOCUMENT).json(body);
        request.send_undescribed().await.expect(status).body
    }

    /// Adds rules.
    pub async fn rules(&self, rules: Value) {
        let _ = self.control(Method::POST, "/faults", &rules, 204).await;
    }

    /// Removes all rules.
    pub async fn clear_rules(&self) {
        let _ = self.control(Method::DELETE, "/faults", &Value::Null, 204).await;
    }

    /// The settings of a payments-svc whose live merchants have this acquirer.
    pub fn of_payments(&self) -> [(&'static str, String); 4] {
        let secret = payments::SECRET;
        [
            (secret.0, secret.1.to_owned()),
            ("PAYMENTS_ACQUIRER", "http".to_owned()),
            ("PAYMENTS_ACQUIRER_URL", self.url("")),
            ("PAYMENTS_ACQUIRER_CA_FILE", self.ca_file()),
        ]
    }

    /// Adds a notification to the queue.
    pub async fn notify(&self, notification: Value) {
        let _ = self.control(Method::POST, "/notifications", &notification, 202).await;
    }

    /// Adds these to later approvals.
    pub async fn capabilities(&self, capabilities: Value) {
        let _ = self.control(Method::POST, "/capabilities", &capabilities, 204).await;
    }

    pub async fn delay(&self, ms: u64) {
        let _ = self.control(Method::POST, "/delay", &json!({ "ms": ms }), 204).await;
    }

    pub async fn settlement(&self, date: &str) -> String {
        let path = format!("/settlement?date={date}");
        let file = self.control(Method::GET, &path, &Value::Null, 200).await;
        String::from_utf8(file).expect("text")
    }

    /// The settlement files from this UTC date until today, as one file.
    pub async fn settlement_since(&self, first: Date) -> String {
        let mut file = self.settlement(&first.to_string()).await;
        for date in first.series(1.day()).skip(1).take_while(|date| *date <= today()) {
            let next = self.settlement(&date.to_string()).await;
            let (_, rows) = next.split_once('\n').expect("a header");
            file.push_str(rows);
        }
        file
    }

    pub async fn book(&self) -> Value {
        let book = self.control(Method::GET, "/book", &Value::Null, 200).await;
        serde_json::from_slice(&book).expect("JSON")
    }

    /// The operations of the book.
    pub async fn operations(&self) -> Vec<Value> {
        let operations = self.book().await["operations"].take();
        serde_json::from_value(operations).expect("a list")
    }

    /// The operation of the book with this key.
    pub async fn operation(&self, key: &str) -> Value {
        let operations = self.operations().await;
        let found = operations.into_iter().find(|operation| operation["key"] == key);
        found.unwrap_or_else(|| panic!("{key} is not in the book"))
    }

    /// Waits until the book satisfies a condition.
    pub async fn until(&self, condition: impl Fn(&Value) -> bool) {
        let waiting = async {
            while !condition(&self.book().await) {
                tokio::task::yield_now().await;
            }
        };
        timeout(DEADLINE, waiting).await.expect("the book changes in time");
    }

    fn request(&self, call: &Call) -> Request {
        let request = self.plain(call.method.clone(), &call.path);
        let request = request.header("acquirer-protocol", call.version);
        let request = match &call.signature {
            Some(signature) => request.header(SIGNATURE, signature),
            None => request,
        };
        let request = match &call.key {
            Some(key) => request.header("idempotency-key", key),
            None => request,
        };
        if call.method == Method::GET {
            return request;
        }
        request.body_of("application/json", call.body.as_str())
    }
}

/// A signed request.
#[derive(Debug, Clone)]
pub struct Call {
    pub method: Method,
    pub path: String,
    pub key: Option<String>,
    pub body: String,
    pub version: &'static str,
    /// The header. `None` leaves it out.
    pub signature: Option<String>,
}

impl Call {
    pub fn post(path: &str, key: &str, body: &Value) -> Self {
        Self::new(Method::POST, path, Some(key), body.to_string()).signed()
    }

    pub fn get(path: &str) -> Self {
        Self::new(Method::GET, path, None, String::new()).signed()
    }

    fn new(method: Method, path: &str, key: Option<&str>, body: String) -> Self {
        let (path, key) = (path.to_owned(), key.map(str::to_owned));
        Self { method, path, key, body, version: "1", signature: None }
    }

    /// The same request with a valid signature of the current time.
    #[must_use]
    pub fn signed(self) -> Self {
        self.signed_with(SECRET.1, seconds())
    }

    #[must_use]
    pub fn signed_with(self, secret: &str, seconds: i64) -> Self {
        let Self { method, path, key, body, .. } = &self;
        let key = key.as_deref().unwrap_or_default();
        let signature =
            payments::signature(secret, seconds, &format!("{method}.{path}.{key}.{body}"));
        Self { signature: Some(signature), ..self }
    }

    /// Checks the signature of the answer, if there is one.
    #[track_caller]
    pub fn check_signature(&self, answer: &Answer) {
        let Some(signature) = answer.header(SIGNATURE) else { return };
        let seconds = signature.split(['=', ',']).nth(1).expect("a time");
        let seconds: i64 = seconds.parse().expect("a number");
        assert!((seconds - payments::seconds()).abs() <= 300, "{signature} is too old");
        let tag = self.signature.as_deref().and_then(|own| own.split_once(",v1="));
        let (_, tag) = tag.expect("a signed request");
        let text = format!("{}.{tag}.{}", answer.status.as_u16(), answer.text());
        assert_eq!(signature, payments::signature(SECRET.1, seconds, &text), "{answer:?}");
    }
}

/// A client that trusts only this CA.
fn client(ca: CertificateDer<'_>) -> reqwest::Client {
    let mut roots = RootCertStore::empty();
    roots.add(ca).expect("a CA certificate");
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has them")
        .with_root_certificates(roots)
        .with_no_client_auth();
    builder().tls_backend_preconfigured(tls).build().expect("a client can be made")
}
