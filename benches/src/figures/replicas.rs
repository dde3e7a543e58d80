//! objstore-svc on PostgreSQL, compared with pgbench on the same PostgreSQL, and three replicas
//! compared with one.

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

const SET_CONNECTIONS: u64 = 256;
const GET_CONNECTIONS: u64 = 64;

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
    push_latency::across(bench, table, &replicas).await
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
        one.add(exchange(bench, postgres, &replicas[0], &call, SET_CONNECTIONS).await?);
        three.add(together(bench, postgres, replicas, &call, SET_CONNECTIONS / 3).await?);
        more.add(together(bench, postgres, replicas, &call, SET_CONNECTIONS).await?);
        upserts.add_transacted(&postgres.pgbench(bench, Script::Upsert, SET_CONNECTIONS).await?);
    }
    let figure = format!("Durable set on PostgreSQL, 256 B, {SET_CONNECTIONS} connections");
    table.row(Row::ours(figure.clone(), "objstore-svc set").exchanges(&one));
    table.row(
        Row::ours(figure.clone(), &format!("3 replicas × {} connections", SET_CONNECTIONS / 3))
            .rate(&three),
    );
    table.row(
        Row::ours(figure.clone(), &format!("3 replicas × {SET_CONNECTIONS} connections"))
            .rate(&more),
    );
    let row = Row::peer(figure, "pgbench upsert").exchanges(&upserts);
    table.row(row.ratio(one.rate.median() / upserts.rate.median()));
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
        connections: SET_CONNECTIONS,
        count: bench.scale.keys,
        names: None,
    };
    load::run_in_child(&fill, Duration::from_secs(120)).await?;
    let call = object::get_call(cookie);
    let (mut ours, mut theirs) = (Rounds::default(), Rounds::default());
    for _ in 0..bench.scale.rounds {
        ours.add(exchange(bench, postgres, server, &call, GET_CONNECTIONS).await?);
        theirs.add_transacted(&postgres.pgbench(bench, Script::Select, GET_CONNECTIONS).await?);
    }
    let figure = format!("Get on PostgreSQL, 256 B, {GET_CONNECTIONS} connections");
    table.row(Row::ours(figure.clone(), "objstore-svc get").exchanges(&ours));
    let row = Row::peer(figure, "pgbench select").exchanges(&theirs);
    table.row(row.ratio(ours.rate.median() / theirs.rate.median()));
    Ok(())
}

/// Measures three replicas at the same time, each with `connections`. Returns the sum of their
/// rates.
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
        upstream: vec![postgres.pid()],
        ..bench.exchange(server, call.clone(), connections)
    };
    load::run_in_child(&exchange, Duration::from_secs(30)).await
}
