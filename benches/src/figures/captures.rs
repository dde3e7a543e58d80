//! Durable captures: of one merchant and of a hundred, on SQLite and on PostgreSQL, side by side with pgbench.

use std::{path::Path, time::Duration};

use anyhow::Result;

use crate::{
    figures::Bench,
    load::{
        self,
        exchange::{Exchange, Exchanged},
        line::{Call, HOLE},
    },
    peers::{
        self,
        postgres::{Postgres, Script},
        shop::Shop,
    },
    report::{Rounds, Row, Table},
};

const CONNECTIONS: u64 = 64;
const MERCHANTS: usize = 100;
/// Captures a second there have to be.
const RATE: f64 = 10_000.0;
/// What one merchant has to reach of a hundred.
const OF_MANY: f64 = 0.9;
/// What captures on SQLite have to reach of those on PostgreSQL, and these of pgbench.
const OF_POSTGRES: f64 = 2.0;
const OF_PGBENCH: f64 = 1.0;

/// Measures captures a second.
pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let shop = peers::payments(bench).await?;
    let (single, many) = (shop.merchants(1).await?, shop.merchants(MERCHANTS).await?);
    let one = shop.pay(&single, bench.scale.captured).await?;
    let hundred = shop.pay(&many, bench.scale.captured).await?;
    let (mut of_one, mut of_many) = (Rounds::default(), Rounds::default());
    for _ in 0..bench.scale.rounds {
        of_one.add(load(bench, &shop, None, &one).await?);
        of_many.add(load(bench, &shop, None, &hundred).await?);
    }
    let figure = format!("Durable captures on SQLite, {CONNECTIONS} connections");
    let (rate, ratio) = (of_many.rate.median(), of_one.rate.median() / of_many.rate.median());
    let who = format!("payments-svc, {MERCHANTS} merchants");
    table.row(Row::ours(figure.clone(), &who).exchanges(&of_many).at_least(rate, RATE, "/s"));
    let row = Row::ours(figure, "payments-svc, one merchant").exchanges(&of_one);
    table.row(row.at_least(ratio, OF_MANY, " × 100 merchants"));
    drop(shop);
    on_postgres(bench, table, rate).await
}

async fn on_postgres(bench: &Bench, table: &mut Table, on_sqlite: f64) -> Result<()> {
    let Some(postgres) = Postgres::start(bench).await? else {
        table.note("PostgreSQL is left out: install Debian's postgresql.");
        return Ok(());
    };
    let shop = peers::payments_on(bench, &postgres).await?;
    let merchants = shop.merchants(MERCHANTS).await?;
    let ids = shop.pay(&merchants, bench.scale.captured).await?;
    postgres.number_transactions().await?;
    let (mut ours, mut theirs) = (Rounds::default(), Rounds::default());
    for _ in 0..bench.scale.rounds {
        ours.add(load(bench, &shop, Some(&postgres), &ids).await?);
        theirs.add_transacted(&postgres.pgbench(bench, Script::Capture, CONNECTIONS).await?);
    }
    let figure = format!("Durable captures on PostgreSQL, {CONNECTIONS} connections");
    let rate = ours.rate.median();
    let row = Row::ours(figure.clone(), "payments-svc").exchanges(&ours);
    table.row(row.at_least(on_sqlite / rate, OF_POSTGRES, " × as many on SQLite"));
    let row = Row::peer(figure, "pgbench, the same statements").exchanges(&theirs);
    table.row(row.ratio(rate / theirs.rate.median(), OF_PGBENCH));
    Ok(())
}

async fn load(bench: &Bench, shop: &Shop, on: Option<&Postgres>, ids: &Path) -> Result<Exchanged> {
    let call = Call::Http {
        path: format!("/transactions/{HOLE}/captures"),
        headers: shop.credentials.clone(),
        body: r#"{"amount":100}"#.to_owned(),
    };
    let exchange = Exchange {
        upstream: on.map(Postgres::pid),
        keys: bench.scale.captured,
        names: Some(ids.to_owned()),
        ..bench.exchange(&shop.server, call, CONNECTIONS)
    };
    load::elsewhere(&exchange, Duration::from_secs(30)).await
}
