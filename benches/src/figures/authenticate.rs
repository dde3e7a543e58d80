//! Sign-ins at demo-portal, compared with the bare relay.

use std::time::Duration;

use anyhow::Result;

use crate::{
    figures::Bench,
    load::{self, exchange::Exchange, sign_in},
    peers::{self, portal::Portal, server::Server},
    report::{Rounds, Row, Table, count},
};

const CONNECTIONS: u64 = 64;
/// Sign-ins per second at the steady rate, which leaves the machine mostly idle.
const RATE: u64 = 200;

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let portal = Portal::start(bench, Duration::ZERO).await?;
    let ours = peers::authsvc(bench, Some(&portal)).await?;
    let relay = peers::relay(bench, &portal).await?;
    let round = |server: &Server| Exchange {
        upstream: vec![portal.server.pid],
        ..bench.exchange(server, sign_in::accepted(), CONNECTIONS)
    };
    let steady = |server: &Server| Exchange {
        rate: Some(RATE),
        measured: bench.scale.measured * 4,
        ..round(server)
    };

    let (own, theirs) = compare(bench, [round(&ours), round(&relay)]).await?;
    let figure = format!("POST /authenticate, {CONNECTIONS} connections");
    table.row(Row::ours(figure.clone(), "authsvc").exchanges(&own));
    let ratio = own.rate.median() / theirs.rate.median();
    table.row(Row::peer(figure, "bare relay").exchanges(&theirs).ratio(ratio));

    let (own, theirs) = compare(bench, [steady(&ours), steady(&relay)]).await?;
    let figure = format!("POST /authenticate, {} a second", count(RATE as f64));
    table.row(Row::ours(figure.clone(), "authsvc").exchanges(&own).steady());
    table.row(Row::peer(figure, "bare relay").exchanges(&theirs).steady());
    Ok(())
}

/// Measures both, in interleaved rounds.
async fn compare(bench: &Bench, [ours, theirs]: [Exchange; 2]) -> Result<(Rounds, Rounds)> {
    let mut rounds = (Rounds::default(), Rounds::default());
    for _ in 0..bench.scale.rounds {
        rounds.0.add(load::run_in_child(&ours, Duration::from_secs(60)).await?);
        rounds.1.add(load::run_in_child(&theirs, Duration::from_secs(60)).await?);
    }
    Ok(rounds)
}
