//! Payments of a live merchant through an acquirer that takes 200 ms, on SQLite and on PostgreSQL.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tokio::time::sleep;

use crate::{
    figures::{Bench, captures::capture},
    load::{
        self,
        exchange::{Exchange, Fill},
    },
    peers::{
        self,
        acquirer::Acquirer,
        postgres::Postgres,
        shop::{Merchant, Shop, payment},
    },
    process,
    report::{Rounds, Row, Table, count},
};

/// Time that the acquirer takes for a payment.
const DELAY: Duration = Duration::from_millis(200);
/// Payments in progress at once.
const AT_ONCE: [u64; 2] = [400, 800];
/// A card that demo-acquirer charges.
const CARD: &str = "4100000000000001";

/// Captures of such payments, of which each is sent to the acquirer.
const CAPTURES: u64 = 20_000;
const CONNECTIONS: u64 = 64;

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    on(bench, None, table).await?;
    let Some(postgres) = Postgres::start(bench).await? else {
        table.note("PostgreSQL is left out: install Debian's postgresql.");
        return Ok(());
    };
    on(bench, Some(&postgres), table).await
}

async fn on(bench: &Bench, postgres: Option<&Postgres>, table: &mut Table) -> Result<()> {
    let engine = if postgres.is_some() { "PostgreSQL" } else { "SQLite" };
    let mut confirmed = None;
    for at_once in AT_ONCE {
        let acquirer = Acquirer::start(bench, DELAY).await?;
        let shop = peers::payments_with(bench, postgres, Some(&acquirer)).await?;
        let merchant = shop.merchant(false).await?;
        let upstream = postgres.map(Postgres::pid).into_iter().chain([acquirer.server.pid]);
        let exchange = Exchange {
            address: shop.pos,
            upstream: upstream.collect(),
            ..bench.exchange(&shop.server, payment(&merchant.key, CARD), at_once)
        };
        process::reset_peak(shop.server.pid)?;
        let mut rounds = Rounds::default();
        for _ in 0..bench.scale.rounds {
            rounds.add(load::run_in_child(&exchange, Duration::from_secs(30)).await?);
        }
        let (rate, bound) = (rounds.rate.median(), at_once as f64 / DELAY.as_secs_f64());
        let peak = process::peak(shop.server.pid)? as f64 / 1024.0 / 1024.0;
        let figure = format!("Live payments on {engine}, acquirer takes {} ms", DELAY.as_millis());
        let row =
            Row::ours(figure, &format!("payments-svc, {at_once} at once")).exchanges(&rounds).note(
                format!("{:.2} of the bound, {}/s; peak {peak:.0} MiB", rate / bound, count(bound)),
            );
        table.row(row);
        if at_once == AT_ONCE[0] {
            let rate = captures(&shop, &merchant).await?;
            let figure = format!("Captures of live payments on {engine}, until they are confirmed");
            confirmed = Some(Row::ours(figure, "payments-svc").once(rate, "/s"));
        }
    }
    confirmed.into_iter().for_each(|row| table.row(row));
    Ok(())
}

/// Captures payments. Returns the captures per second, from the first request until the acquirer
/// has confirmed the last one.
async fn captures(shop: &Shop, merchant: &Merchant) -> Result<f64> {
    let (ids, paid) = shop.paid(merchant).await?;
    let count = CAPTURES.min(paid.try_into()?);
    let fill = Fill {
        address: shop.server.address,
        call: capture(&shop.credentials),
        connections: CONNECTIONS,
        count,
        names: Some(ids),
    };
    let started = Instant::now();
    load::run_in_child(&fill, Duration::from_secs(60)).await?;
    // Then the captures are counted.
    sleep(Duration::from_millis(1200)).await;
    while shop.unconfirmed().await? > 0 {
        ensure!(started.elapsed() < Duration::from_secs(120), "captures are not confirmed");
        sleep(Duration::from_millis(50)).await;
    }
    Ok(count as f64 / started.elapsed().as_secs_f64())
}
