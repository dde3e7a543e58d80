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
    let who = format!("payments-svc, {MERCHANTS} merchants");
    table.row(Row::ours(figure.clone(), &who).exchanges(&of_many));
    table.row(Row::ours(figure.clone(), "payments-svc, one merchant").exchanges(&of_one));
    table.row(with_webhook_row(figure, &with_webhook));
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
    let who = format!("payments-svc, {MERCHANTS} merchants");
    table.row(Row::ours(figure.clone(), &who).exchanges(&of_many));
    table.row(Row::ours(figure.clone(), "payments-svc, one merchant").exchanges(&of_one));
    table.row(with_webhook_row(figure.clone(), &with_webhook));
    let who = format!("2 replicas × {CONNECTIONS} connections");
    table.row(Row::ours(figure.clone(), &who).rate(&together));
    let row = Row::peer(figure, "pgbench, the same statements").exchanges(&theirs);
    table.row(row.ratio(of_many.rate.median() / theirs.rate.median()));
    Ok(())
}

/// The row of captures while a webhook receives events as fast as it can.
fn with_webhook_row(figure: String, with_webhook: &Rounds) -> Row {
    let who = format!("payments-svc, {MERCHANTS} merchants, one webhook");
    Row::ours(figure, &who).exchanges(with_webhook)
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
