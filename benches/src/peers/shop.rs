//! A running payments-svc with test merchants and transactions.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use anyhow::{Context, Result};
use reqwest::Client;
use serde_json::{Value, json};

use crate::{
    load::{
        self,
        exchange::Fill,
        line::{Call, PLACEHOLDER},
    },
    peers::server::Server,
};

/// Page size for reading ids.
const PAGE: usize = 1000;

/// Connections that create transactions.
const CONNECTIONS: u64 = 64;

pub(crate) struct Shop {
    pub(crate) server: Server,
    /// The Authorization header of the app, with its line end.
    pub(crate) credentials: String,
    /// Address of the pos port.
    pub(crate) pos: SocketAddr,
    /// API key of the app.
    key: String,
    http: Client,
    /// Prefix of the paths of the files with keys and ids.
    names: PathBuf,
}

pub(crate) struct Merchant {
    pub(crate) id: String,
    /// Merchant key, a field of each payment.
    pub(crate) key: String,
}

/// The payment of a customer with this card. `key` is the key of the merchant.
pub(crate) fn payment(key: &str, card: &str) -> Call {
    let expiry = json!({ "month": 8, "year": 2066 });
    let body = json!({
        "key": key, "currency": "EUR", "amount": 1_000_000,
        "card": { "number": card, "expiry": expiry, "code": "123" },
    });
    Call::Http { path: "/transactions".to_owned(), headers: String::new(), body: body.to_string() }
}

impl Shop {
    /// Wraps a seeded service. `keys` is the content of `demo.env`, which the seed wrote.
    pub(crate) fn new(server: Server, pos: u16, keys: &str, names: PathBuf) -> Result<Self> {
        // Fails if a provider is already installed, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let key = |name| {
            let mut values = keys.lines().filter_map(|line| line.strip_prefix(name));
            values.next().with_context(|| format!("the seed wrote no {name}"))
        };
        let key = key("PAYMENTS_API_KEY=")?.to_owned();
        let request = Client::builder().build()?.get("http://127.0.0.1").basic_auth("", Some(&key));
        let request = request.build()?;
        let credentials = request.headers()[reqwest::header::AUTHORIZATION].to_str()?;
        Ok(Self {
            server,
            credentials: format!("Authorization: {credentials}\r\n"),
            pos: SocketAddr::from((Ipv4Addr::LOCALHOST, pos)),
            key,
            http: Client::builder().timeout(Duration::from_secs(30)).build()?,
            names,
        })
    }

    /// Creates test merchants.
    pub(crate) async fn merchants(&self, count: usize) -> Result<Vec<Merchant>> {
        let mut merchants = Vec::with_capacity(count);
        for _ in 0..count {
            merchants.push(self.merchant(true).await?);
        }
        Ok(merchants)
    }

    /// Creates a test merchant or a live one.
    pub(crate) async fn merchant(&self, test: bool) -> Result<Merchant> {
        let details = json!({
            "currency": "EUR", "test": test, "email": "shop@example.com",
            "website": "shop.example.com", "descriptor": "Bench", "company": { "country": "DK" },
        });
        let request = self.http.post(self.url("/merchants")).basic_auth("", Some(&self.key));
        let created: Value =
            request.json(&details).send().await?.error_for_status()?.json().await?;
        let text = |name: &str| created["merchant"][name].as_str().map(str::to_owned);
        let (id, key) = (
            text("id").context("a new merchant has no id")?,
            text("key").context("a new merchant has no key")?,
        );
        Ok(Merchant { id, key })
    }

    /// Creates `count` transactions, spread evenly over the merchants. Returns a file of the ids of
    /// all transactions of these merchants, one per line.
    pub(crate) async fn pay(&self, merchants: &[Merchant], count: u64) -> Result<PathBuf> {
        let first = merchants.first().context("no merchant")?;
        let file = |content: &str| self.names.with_extension(format!("{}-{content}", first.id));
        let keys: Vec<_> = merchants.iter().map(|merchant| merchant.key.as_str()).collect();
        fs::write(file("keys"), keys.join("\n"))?;
        let call = payment(PLACEHOLDER, "4100000000000000");
        let names = Some(file("keys"));
        let fill = Fill { address: self.pos, call, connections: CONNECTIONS, count, names };
        load::run_in_child(&fill, Duration::from_secs(1200))
            .await
            .context("creating transactions")?;
        let mut ids = Vec::new();
        for merchant in merchants {
            self.read_ids(merchant, &mut ids).await?;
        }
        fs::write(file("ids"), ids.join("\n"))?;
        Ok(file("ids"))
    }

    /// The ids of all transactions of a merchant, in a file, and their number.
    pub(crate) async fn paid(&self, merchant: &Merchant) -> Result<(PathBuf, usize)> {
        let (file, mut ids) = (self.names.with_extension(&merchant.id), Vec::new());
        self.read_ids(merchant, &mut ids).await?;
        fs::write(&file, ids.join("\n"))?;
        Ok((file, ids.len()))
    }

    /// The outbox entries that the acquirer has not confirmed. The service counts them each second.
    pub(crate) async fn unconfirmed(&self) -> Result<u64> {
        let metrics = self.http.get(self.url("/metrics")).send().await?.error_for_status()?;
        let metrics = metrics.text().await?;
        let name = "payments_outbox_entries ";
        let value = metrics.lines().find_map(|line| line.strip_prefix(name));
        Ok(value.context("no metric of the outbox")?.trim().parse()?)
    }

    async fn read_ids(&self, merchant: &Merchant, ids: &mut Vec<String>) -> Result<()> {
        let mut before = String::new();
        loop {
            let path = format!("/merchants/{}/transactions?limit={PAGE}{before}", merchant.id);
            let request = self.http.get(self.url(&path)).basic_auth("", Some(&self.key));
            let page = request.send().await?.error_for_status()?.text().await?;
            // Each item is one line, which begins with the id.
            let items = page.lines().filter_map(|line| line.strip_prefix(r#"{"id":""#));
            let known = ids.len();
            ids.extend(items.filter_map(|item| item.get(..24)).map(str::to_owned));
            match ids.last() {
                Some(last) if ids.len() == known + PAGE => before = format!("&before={last}"),
                _ => return Ok(()),
            }
        }
    }

    /// Creates a disabled webhook that sends all events to `receiver`. Returns its path.
    pub(crate) async fn webhook(&self, receiver: &Server) -> Result<String> {
        let url = json!({ "url": format!("http://{}/get", receiver.address) });
        let request = self.http.post(self.url("/webhooks")).basic_auth("", Some(&self.key));
        let created: Value = request.json(&url).send().await?.error_for_status()?.json().await?;
        let id = created["webhook"]["id"].as_str().context("a new webhook has no id")?;
        let path = format!("/webhooks/{id}");
        self.enable(&path, false).await?;
        Ok(path)
    }

    /// Enables or disables a webhook.
    pub(crate) async fn enable(&self, webhook: &str, enabled: bool) -> Result<()> {
        let request = self.http.put(self.url(webhook)).basic_auth("", Some(&self.key));
        request.json(&json!({ "enabled": enabled })).send().await?.error_for_status()?;
        Ok(())
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.server.address)
    }
}
