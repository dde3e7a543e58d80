//! Durable captures of one merchant and of 100, on SQLite and on PostgreSQL, compared with pgbench.

use std::{path::Path, time::Duration};

use anyhow::Result;

use crate::{
    figures::Bench,
    load::{
        self,
        exchange::{Exchange, Exchanged},
        line::{Call, PLACEHOLDER},
    },
    peers::{
        self,
        postgres::{Postgres, Script},
        server::Server,
    },
    report::{Rounds, Row, Spread, Table},
};

const CONNECTIONS: u64 = 64;
const MERCHANTS: usize = 100;
/// Target: captures per second on SQLite.
const TARGET_RATE: f64 = 10_000.0;
/// Target: rate of one merchant divided by the rate of 100.
const TARGET_OF_MANY: f64 = 0.9;
/// Target: rate on PostgreSQL divided by the rate of pgbench.
const TARGET_OF_PGBENCH: f64 = 4.0;
/// Target: rate of two replicas divided by the rate of one.
const TARGET_OF_ONE: f64 = 1.0;
/// Target: rate while a webhook receives all events, divided by the rate without.
const TARGET_OF_NO_WEBHOOK: f64 = 0.75;
/// Target: p99 on PostgreSQL in milliseconds.
const TARGET_P99: f64 = 60.0;

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let shop = peers::payments(bench).await?;
    let (single, many) = (shop.merchants(1).await?, shop.merchants(MERCHANTS).await?);
    let one = shop.pay(&single, bench.scale.captured).await?;
    let hundred = shop.pay(&many, bench.scale.captured).await?;
    let receiver = peers::bare(bench, 2).await?;
    let webhook = shop.webhook(&receiver).await?;
    let load = |ids| load(bench, None, (&shop.server, &shop.credentials), ids);
    let (mut of_one, mut of_many) = (Rounds::default(), Rounds::default());
    let mut with_webhook = Rounds::default();
    for _ in 0..bench.scale.rounds {
        of_one.add(load(&one).await?);
        of_many.add(load(&hundred).await?);
        shop.enable(&webhook, true).await?;
        with_webhook.add(load(&hundred).await?);
        shop.enable(&webhook, false).await?;
    }
    let figure = format!("Durable captures on SQLite, {CONNECTIONS} connections");
    let (rate, ratio) = (of_many.rate.median(), of_one.rate.median() / of_many.rate.median());
    let who = format!("payments-svc, {MERCHANTS} merchants");
    table.row(Row::ours(figure.clone(), &who).exchanges(&of_many).at_least(
        rate,
        TARGET_RATE,
        "/s",
    ));
    let row = Row::ours(figure.clone(), "payments-svc, one merchant").exchanges(&of_one);
    table.row(row.at_least(ratio, TARGET_OF_MANY, " × 100 merchants"));
    table.row(with_webhook_row(figure, &with_webhook, &of_many));
    drop(shop);
    on_postgres(bench, table).await
}

async fn on_postgres(bench: &Bench, table: &mut Table) -> Result<()> {
    let Some(postgres) = Postgres::start(bench).await? else {
        table.note("PostgreSQL is left out: install Debian's postgresql.");
        return Ok(());
    };
    let shop = peers::payments_on(bench, &postgres).await?;
    let replica = peers::payments_on(bench, &postgres).await?.server;
    let (single, many) = (shop.merchants(1).await?, shop.merchants(MERCHANTS).await?);
    let one = shop.pay(&single, bench.scale.captured).await?;
    let hundred = shop.pay(&many, bench.scale.captured).await?;
    postgres.number_transactions().await?;
    let receiver = peers::bare(bench, 2).await?;
    let webhook = shop.webhook(&receiver).await?;
    let load = |server, ids| load(bench, Some(&postgres), (server, &shop.credentials), ids);
    let (mut of_one, mut of_many) = (Rounds::default(), Rounds::default());
    let mut with_webhook = Rounds::default();
    let (mut together, mut theirs) = (Spread::default(), Rounds::default());
    for _ in 0..bench.scale.rounds {
        of_many.add(load(&shop.server, &hundred).await?);
        shop.enable(&webhook, true).await?;
        with_webhook.add(load(&shop.server, &hundred).await?);
        shop.enable(&webhook, false).await?;
        theirs.add_transacted(&postgres.pgbench(bench, Script::Capture, CONNECTIONS).await?);
        let other = load(&replica, &hundred);
        let (first, second) = tokio::try_join!(load(&shop.server, &hundred), other)?;
        together.add(first.rate + second.rate);
        of_one.add(load(&shop.server, &one).await?);
    }
    let figure = format!("Durable captures on PostgreSQL, {CONNECTIONS} connections");
    let rate = of_many.rate.median();
    let who = format!("payments-svc, {MERCHANTS} merchants");
    let row = Row::ours(figure.clone(), &who).exchanges(&of_many);
    table.row(row.at_most(of_many.p99(), TARGET_P99, " ms p99"));
    let row = Row::ours(figure.clone(), "payments-svc, one merchant").exchanges(&of_one);
    table.row(row.at_least(of_one.rate.median() / rate, TARGET_OF_MANY, " × 100 merchants"));
    table.row(with_webhook_row(figure.clone(), &with_webhook, &of_many));
    let who = format!("2 replicas × {CONNECTIONS} connections");
    let row = Row::ours(figure.clone(), &who).rate(&together);
    table.row(row.at_least(together.median() / rate, TARGET_OF_ONE, " × one replica"));
    let row = Row::peer(figure, "pgbench, the same statements").exchanges(&theirs);
    table.row(row.ratio(rate / theirs.rate.median(), TARGET_OF_PGBENCH));
    Ok(())
}

/// The row of captures while a webhook receives events as fast as it can.
fn with_webhook_row(figure: String, with_webhook: &Rounds, without: &Rounds) -> Row {
    let ratio = with_webhook.rate.median() / without.rate.median();
    let who = format!("payments-svc, {MERCHANTS} merchants, one webhook");
    let row = Row::ours(figure, &who).exchanges(with_webhook);
    row.at_least(ratio, TARGET_OF_NO_WEBHOOK, " × without webhook")
}

/// Runs one round of captures of the transactions in the file `ids`.
async fn load(
    bench: &Bench,
    postgres: Option<&Postgres>,
    (server, credentials): (&Server, &str),
    ids: &Path,
) -> Result<Exchanged> {
    let exchange = Exchange {
        upstream: postgres.map(Postgres::pid).into_iter().collect(),
        keys: bench.scale.captured,
        names: Some(ids.to_owned()),
        ..bench.exchange(server, capture(credentials), CONNECTIONS)
    };
    load::run_in_child(&exchange, Duration::from_secs(30)).await
}

/// The capture of a part of a transaction.
pub(super) fn capture(credentials: &str) -> Call {
    Call::Http {
        path: format!("/transactions/{PLACEHOLDER}/captures"),
        headers: credentials.to_owned(),
        body: r#"{"amount":100}"#.to_owned(),
    }
}
