//! A running payments-svc with merchants and transactions.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context, Result};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use reqwest::{Client, RequestBuilder, header::AUTHORIZATION};
use serde_json::{Value, json};

use crate::{
    load::{
        api,
        exchange::fill,
        line::{Call, PLACEHOLDER},
    },
    peers::server::Server,
};

/// Page size for reading ids.
const PAGE: usize = 1000;
/// Connections that create transactions.
const CONNECTIONS: u64 = 64;
/// A card of test merchants.
const TEST_CARD: &str = "4100000000000000";

pub(crate) struct Shop {
    pub(crate) server: Server,
    /// Address of the pos port.
    pub(crate) pos: SocketAddr,
    /// Value of the Authorization header of the app.
    pub(crate) credentials: String,
    http: Client,
}

pub(crate) struct Merchant {
    id: String,
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
    Call::post("/transactions", String::new(), body.to_string())
}

impl Shop {
    /// Wraps a seeded service. `keys` is the content of `demo.env`, which the seed wrote.
    pub(crate) fn new(server: Server, pos: u16, keys: &str) -> Result<Self> {
        let mut keys = keys.lines().filter_map(|line| line.strip_prefix("PAYMENTS_API_KEY="));
        let key = keys.next().context("the seed wrote no key")?;
        Ok(Self {
            server,
            pos: SocketAddr::from((Ipv4Addr::LOCALHOST, pos)),
            credentials: format!("Basic {}", STANDARD.encode(format!(":{key}"))),
            http: api::client()?,
        })
    }

    /// Creates test merchants.
    pub(crate) async fn merchants(&self, count: usize) -> Result<Vec<Merchant>> {
        let mut merchants = Vec::new();
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
        let request = self.http.post(self.url("/merchants")).json(&details);
        let created: Value = serde_json::from_str(&self.send(request).await?)?;
        let text = |name: &str| created["merchant"][name].as_str().map(str::to_owned);
        let (id, key) = text("id").zip(text("key")).context("a new merchant has no id or key")?;
        Ok(Merchant { id, key })
    }

    /// Creates `count` transactions, spread evenly over the merchants. Returns the ids of all
    /// transactions of these merchants.
    pub(crate) async fn pay(&self, merchants: &[Merchant], count: u64) -> Result<Vec<String>> {
        let keys = merchants.iter().map(|merchant| merchant.key.clone()).collect();
        let call = payment(PLACEHOLDER, TEST_CARD);
        fill(self.pos, &call, keys, CONNECTIONS, count).await.context("creating transactions")?;
        self.ids(merchants).await
    }

    /// The ids of all transactions of these merchants.
    pub(crate) async fn ids(&self, merchants: &[Merchant]) -> Result<Vec<String>> {
        let mut ids = Vec::new();
        for merchant in merchants {
            let mut before = String::new();
            loop {
                let path = format!("/merchants/{}/transactions?limit={PAGE}{before}", merchant.id);
                let page = self.send(self.http.get(self.url(&path))).await?;
                // Each item is one line, which begins with the id.
                let items = page.lines().filter_map(|line| line.strip_prefix(r#"{"id":""#));
                let known = ids.len();
                ids.extend(items.filter_map(|item| item.get(..24)).map(str::to_owned));
                match ids.last() {
                    Some(last) if ids.len() == known + PAGE => before = format!("&before={last}"),
                    _ => break,
                }
            }
        }
        Ok(ids)
    }

    /// The outbox entries that the acquirer has not confirmed.
    pub(crate) async fn unconfirmed(&self) -> Result<u64> {
        let metrics = self.send(self.http.get(self.url("/metrics"))).await?;
        let name = "payments_outbox_entries ";
        let value = metrics.lines().find_map(|line| line.strip_prefix(name));
        Ok(value.context("no metric of the outbox")?.trim().parse()?)
    }

    /// Creates a disabled webhook that sends all events to `receiver`. Returns its path.
    pub(crate) async fn webhook(&self, receiver: &Server) -> Result<String> {
        let url = json!({ "url": format!("http://{}/get", receiver.address) });
        let request = self.http.post(self.url("/webhooks")).json(&url);
        let created: Value = serde_json::from_str(&self.send(request).await?)?;
        let id = created["webhook"]["id"].as_str().context("a new webhook has no id")?;
        let path = format!("/webhooks/{id}");
        self.enable(&path, false).await?;
        Ok(path)
    }

    /// Enables or disables a webhook.
    pub(crate) async fn enable(&self, webhook: &str, enabled: bool) -> Result<()> {
        let request = self.http.put(self.url(webhook)).json(&json!({ "enabled": enabled }));
        self.send(request).await.map(drop)
    }

    async fn send(&self, request: RequestBuilder) -> Result<String> {
        let sent = request.header(AUTHORIZATION, &self.credentials).send();
        Ok(sent.await?.error_for_status()?.text().await?)
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.server.address)
    }
}
