//! The object store on PostgreSQL, side by side with pgbench on the same one, and several replicas of it.

use std::time::Duration;

use anyhow::Result;

use crate::{
    figures::{Bench, push_latency},
    load::{
        self,
        exchange::{Exchange, Exchanged, Fill},
        line::Call,
        object,
    },
    peers::{
        self,
        postgres::{Postgres, Script},
        server::Server,
    },
    report::{Rounds, Row, Spread, Table},
};

const SETTING: u64 = 256;
const GETTING: u64 = 64;
/// What a set has to reach of pgbench's upsert, and several replicas together of one.
const OF_UPSERT: f64 = 1.0;
/// What a get has to reach of pgbench's select.
const OF_SELECT: f64 = 0.5;
/// Longest that a push through another replica may take, in milliseconds.
const PUSH: f64 = 30.0;

/// Measures sets, gets and pushes.
pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let Some(postgres) = Postgres::start(bench).await? else {
        table.note("PostgreSQL is left out: install Debian's postgresql.");
        return Ok(());
    };
    let start = || peers::objstore_on(bench, &postgres);
    let replicas = [start().await?, start().await?, start().await?];
    let cookie = replicas[0].session().await?;
    sets(bench, table, &postgres, &replicas, &cookie).await?;
    gets(bench, table, &postgres, &replicas[0], &cookie).await?;
    push_latency::across(bench, table, &replicas, PUSH).await
}

async fn sets(
    bench: &Bench,
    table: &mut Table,
    postgres: &Postgres,
    replicas: &[Server; 3],
    cookie: &str,
) -> Result<()> {
    let call = object::set_call(cookie);
    let (mut one, mut three, mut more, mut upserts) =
        (Rounds::default(), Spread::default(), Spread::default(), Rounds::default());
    for _ in 0..bench.scale.rounds {
        one.add(exchange(bench, postgres, &replicas[0], &call, SETTING).await?);
        three.add(together(bench, postgres, replicas, &call, SETTING / 3).await?);
        more.add(together(bench, postgres, replicas, &call, SETTING).await?);
        upserts.add_transacted(&postgres.pgbench(bench, Script::Upsert, SETTING).await?);
    }
    let figure = format!("Durable set on PostgreSQL, 256 B, {SETTING} connections");
    table.row(Row::ours(figure.clone(), "objstore-svc set").exchanges(&one));
    let row = Row::ours(figure.clone(), &format!("3 replicas × {} connections", SETTING / 3))
        .rate(&three);
    table.row(row.at_least(three.median() / one.rate.median(), OF_UPSERT, " × one replica"));
    let row = Row::ours(figure.clone(), &format!("3 replicas × {SETTING} connections")).rate(&more);
    table.row(row.at_least(more.median() / one.rate.median(), OF_UPSERT, " × one replica"));
    let row = Row::peer(figure, "pgbench upsert").exchanges(&upserts);
    table.row(row.ratio(one.rate.median() / upserts.rate.median(), OF_UPSERT));
    Ok(())
}

async fn gets(
    bench: &Bench,
    table: &mut Table,
    postgres: &Postgres,
    server: &Server,
    cookie: &str,
) -> Result<()> {
    let fill = Fill {
        address: server.address,
        call: object::set_call(cookie),
        connections: SETTING,
        count: bench.scale.keys,
        names: None,
    };
    load::elsewhere(&fill, Duration::from_secs(120)).await?;
    let call = object::get_call(cookie);
    let (mut ours, mut theirs) = (Rounds::default(), Rounds::default());
    for _ in 0..bench.scale.rounds {
        ours.add(exchange(bench, postgres, server, &call, GETTING).await?);
        theirs.add_transacted(&postgres.pgbench(bench, Script::Select, GETTING).await?);
    }
    let figure = format!("Get on PostgreSQL, 256 B, {GETTING} connections");
    table.row(Row::ours(figure.clone(), "objstore-svc get").exchanges(&ours));
    let row = Row::peer(figure, "pgbench select").exchanges(&theirs);
    table.row(row.ratio(ours.rate.median() / theirs.rate.median(), OF_SELECT));
    Ok(())
}

/// What several replicas do in a second, each with so many connections.
async fn together(
    bench: &Bench,
    postgres: &Postgres,
    [a, b, c]: &[Server; 3],
    call: &Call,
    connections: u64,
) -> Result<f64> {
    let each = |replica| exchange(bench, postgres, replica, call, connections);
    let (a, b, c) = tokio::try_join!(each(a), each(b), each(c))?;
    Ok(a.rate + b.rate + c.rate)
}

async fn exchange(
    bench: &Bench,
    postgres: &Postgres,
    server: &Server,
    call: &Call,
    connections: u64,
) -> Result<Exchanged> {
    let exchange = Exchange {
        upstream: Some(postgres.pid()),
        ..bench.exchange(server, call.clone(), connections)
    };
    load::elsewhere(&exchange, Duration::from_secs(30)).await
}
