//! Payments of a live merchant through an acquirer that takes 200 ms, on SQLite and on PostgreSQL.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tokio::time::sleep;

use crate::{
    figures::{Bench, Contender, captures::capture},
    load::exchange::{Exchange, fill},
    peers::{
        self,
        postgres::Postgres,
        shop::{Merchant, Shop, payment},
        stand_in::StandIn,
    },
    report::{Round, Table},
};

/// Time that the acquirer takes for a payment.
const DELAY: Duration = Duration::from_millis(200);
/// Payments in progress at once.
const AT_ONCE: [u64; 2] = [400, 800];
/// A card that demo-acquirer charges.
const CARD: &str = "4100000000000001";
/// Captures of such payments, of which each is sent to the acquirer.
const CAPTURES: usize = 20_000;
const CONNECTIONS: u64 = 64;

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    on(bench, None, table).await?;
    if let Some(postgres) = Postgres::start(bench, table).await? {
        on(bench, Some(&postgres), table).await?;
    }
    Ok(())
}

async fn on(bench: &Bench, postgres: Option<&Postgres>, table: &mut Table) -> Result<()> {
    let engine = if postgres.is_some() { "PostgreSQL" } else { "SQLite" };
    let title = format!("Live payments on {engine}, acquirer takes {} ms", DELAY.as_millis());
    let mut confirmed = Vec::new();
    for at_once in AT_ONCE {
        // demo-acquirer has room for 100,000 payments and captures.
        let acquirer = StandIn::acquirer(bench, DELAY).await?;
        let shop = peers::payments(bench, postgres, Some(&acquirer)).await?;
        let merchant = shop.merchant(false).await?;
        let exchange = bench.exchange(&shop.server, payment(&merchant.key, CARD), at_once);
        let load = Exchange { address: shop.pos, ..exchange };
        let who = format!("payments-svc, {at_once} at once");
        bench.compare(table, &title, &[Contender::ours(who, load)]).await?;
        if confirmed.is_empty() {
            let rate = captures(&shop, merchant).await?;
            confirmed.push(Round { rate, latency: None, others: 0.0 });
        }
    }
    let title = format!("Captures of live payments on {engine}, until they are confirmed");
    table.row(&title, "payments-svc", &confirmed);
    Ok(())
}

/// Captures payments. Returns the captures per second, from the first request until the acquirer
/// has confirmed the last one.
async fn captures(shop: &Shop, merchant: Merchant) -> Result<f64> {
    let mut ids = shop.ids(&[merchant]).await?;
    ids.truncate(CAPTURES);
    let count = ids.len();
    let started = Instant::now();
    fill(shop.server.address, &capture(shop), ids, CONNECTIONS, count.try_into()?).await?;
    // The service counts what is unconfirmed each second.
    sleep(Duration::from_millis(1200)).await;
    while shop.unconfirmed().await? > 0 {
        ensure!(started.elapsed() < Duration::from_secs(120), "captures are not confirmed");
        sleep(Duration::from_millis(50)).await;
    }
    Ok(count as f64 / started.elapsed().as_secs_f64())
}
