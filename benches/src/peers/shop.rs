//! A payments service with merchants and transactions to measure with.

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
        line::{Call, HOLE},
    },
    peers::server::Server,
};

/// Items of the pages that ids are read by.
const PAGE: usize = 1000;

/// Connections that fill it.
const CONNECTIONS: u64 = 64;

/// A running service, and what is known of it.
pub(crate) struct Shop {
    /// The service.
    pub(crate) server: Server,
    /// The line of a head with the app's credentials.
    pub(crate) credentials: String,
    pos: SocketAddr,
    key: String,
    http: Client,
    /// What the names of its files begin with.
    names: PathBuf,
}

/// A merchant.
pub(crate) struct Merchant {
    /// Its id.
    pub(crate) id: String,
    /// Its public key.
    key: String,
}

impl Shop {
    /// A service that was seeded with these keys.
    pub(crate) fn new(server: Server, pos: u16, keys: &str, names: PathBuf) -> Result<Self> {
        // One that is installed already serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let key = |name| {
            let mut values = keys.lines().filter_map(|line| line.strip_prefix(name));
            values.next().with_context(|| format!("the seed has no {name}"))
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

    /// New test merchants.
    pub(crate) async fn merchants(&self, count: usize) -> Result<Vec<Merchant>> {
        let details = json!({
            "currency": "EUR", "test": true, "email": "shop@example.com",
            "website": "shop.example.com", "descriptor": "Bench", "company": { "country": "DK" },
        });
        let mut merchants = Vec::with_capacity(count);
        for _ in 0..count {
            let request = self.http.post(self.url("/merchants")).basic_auth("", Some(&self.key));
            let made: Value =
                request.json(&details).send().await?.error_for_status()?.json().await?;
            let text = |name: &str| made["merchant"][name].as_str().map(str::to_owned);
            let (id, key) = (text("id").context("no id")?, text("key").context("no key")?);
            merchants.push(Merchant { id, key });
        }
        Ok(merchants)
    }

    /// Pays as many transactions, spread evenly over the merchants, and gives a file of their ids.
    pub(crate) async fn pay(&self, merchants: &[Merchant], count: u64) -> Result<PathBuf> {
        let first = merchants.first().context("no merchant")?;
        let file = |what: &str| self.names.with_extension(format!("{}-{what}", first.id));
        let keys: Vec<_> = merchants.iter().map(|merchant| merchant.key.as_str()).collect();
        fs::write(file("keys"), keys.join("\n"))?;
        let body = json!({
            "key": HOLE, "currency": "EUR", "amount": 1_000_000,
            "card": {
                "number": "4100000000000000", "expiry": { "month": 8, "year": 2066 }, "code": "123",
            },
        });
        let call = Call::Http {
            path: "/transactions".to_owned(),
            headers: String::new(),
            body: body.to_string(),
        };
        let names = Some(file("keys"));
        let fill = Fill { address: self.pos, call, connections: CONNECTIONS, count, names };
        load::elsewhere(&fill, Duration::from_secs(600)).await.context("paying")?;
        let mut ids = Vec::new();
        for merchant in merchants {
            self.read_ids(merchant, &mut ids).await?;
        }
        fs::write(file("ids"), ids.join("\n"))?;
        Ok(file("ids"))
    }

    async fn read_ids(&self, merchant: &Merchant, ids: &mut Vec<String>) -> Result<()> {
        let mut before = String::new();
        loop {
            let path = format!("/merchants/{}/transactions?limit={PAGE}{before}", merchant.id);
            let request = self.http.get(self.url(&path)).basic_auth("", Some(&self.key));
            let page = request.send().await?.error_for_status()?.text().await?;
            // Each item is a line of its own that begins with its id.
            let items = page.lines().filter_map(|line| line.strip_prefix(r#"{"id":""#));
            let known = ids.len();
            ids.extend(items.filter_map(|item| item.get(..24)).map(str::to_owned));
            match ids.last() {
                Some(last) if ids.len() == known + PAGE => before = format!("&before={last}"),
                _ => return Ok(()),
            }
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.server.address)
    }
}
