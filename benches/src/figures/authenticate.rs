//! Sign-ins at the demo portal, side by side with a relay that does nothing else.

use std::time::Duration;

use anyhow::Result;

use crate::{
    figures::Bench,
    load::{self, exchange::Exchange, sign_in},
    peers::{self, portal::Portal, server::Server},
    report::{Rounds, Row, Table, count},
};

const CONNECTIONS: u64 = 64;
/// What a sign-in has to reach of the relay.
const OF_RELAY: f64 = 0.8;
/// Sign-ins that leave the machine mostly idle.
const A_SECOND: u64 = 200;
/// What authsvc may add to the relay's 99th percentile at that rate, in milliseconds.
const ADDED: f64 = 1.0;

/// Measures sign-ins a second, and how long they take at a steady rate.
pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let portal = Portal::start(bench, Duration::ZERO).await?;
    let ours = peers::authsvc(bench, Some(&portal)).await?;
    let relay = peers::relay(bench, &portal).await?;
    let round = |server: &Server| Exchange {
        upstream: Some(portal.server.pid),
        ..bench.exchange(server, sign_in::accepted(), CONNECTIONS)
    };
    let steady = |server: &Server| Exchange {
        rate: Some(A_SECOND),
        measured: bench.scale.measured * 4,
        ..round(server)
    };

    let (own, theirs) = compare(bench, [round(&ours), round(&relay)]).await?;
    let figure = format!("POST /authenticate, {CONNECTIONS} connections");
    table.row(Row::ours(figure.clone(), "authsvc").exchanges(&own));
    let ratio = own.rate.median() / theirs.rate.median();
    table.row(Row::peer(figure, "bare relay").exchanges(&theirs).ratio(ratio, OF_RELAY));

    let (own, theirs) = compare(bench, [steady(&ours), steady(&relay)]).await?;
    let figure = format!("POST /authenticate, {} a second", count(A_SECOND as f64));
    let added = own.p99() - theirs.p99();
    table.row(Row::ours(figure.clone(), "authsvc").exchanges(&own).steady().at_most(
        added,
        ADDED,
        " ms added to the p99 of the relay",
    ));
    table.row(Row::peer(figure, "bare relay").exchanges(&theirs).steady());
    Ok(())
}

/// Measures both, round by round.
async fn compare(bench: &Bench, [ours, theirs]: [Exchange; 2]) -> Result<(Rounds, Rounds)> {
    let mut rounds = (Rounds::default(), Rounds::default());
    for _ in 0..bench.scale.rounds {
        rounds.0.add(load::elsewhere(&ours, Duration::from_secs(60)).await?);
        rounds.1.add(load::elsewhere(&theirs, Duration::from_secs(60)).await?);
    }
    Ok(rounds)
}
