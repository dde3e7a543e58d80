//! Answers of authsvc that do not need the portal, compared with a bare route and with FastAPI.

use std::time::Duration;

use anyhow::Result;
use http_body_util::BodyExt;
use hyper::Method;

use crate::{
    figures::Bench,
    load::{self, api::Api, exchange::Exchanged, line::Call, sign_in},
    peers::{self, server::Server},
    report::{Rounds, Row, Table},
};

const CONNECTIONS: u64 = 64;

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let ours = peers::authsvc(bench, None).await?;
    let fastapi = peers::fastapi(bench).await?;
    if fastapi.is_none() {
        table.note("FastAPI is left out: scripts/install bench.");
    }
    for (figure, call) in [
        ("GET /health", sign_in::health()),
        ("POST /authenticate that breaks rules", sign_in::refused()),
    ] {
        let bare = peers::bare(bench, size(&ours, &call).await?).await?;
        let mut peers = vec![("bare axum route", &bare)];
        peers.extend(fastapi.as_ref().map(|server| ("FastAPI, one worker", server)));
        let figure = format!("{figure}, {CONNECTIONS} connections");
        compare(bench, table, &figure, &call, &ours, &peers).await?;
    }
    Ok(())
}

/// Returns the size of the answer's body in bytes.
async fn size(server: &Server, call: &Call) -> Result<usize> {
    let (method, path, body) = match call {
        Call::Refused { path, body } => (Method::POST, path.as_str(), body.clone()),
        _ => (Method::GET, "/health", String::new()),
    };
    let answer = Api::connect(server.address).await?.send_any(method, path, "", body).await?;
    Ok(answer.into_body().collect().await?.to_bytes().len())
}

/// Measures `ours` and its peers. Each peer has a name and a server.
async fn compare(
    bench: &Bench,
    table: &mut Table,
    figure: &str,
    call: &Call,
    ours: &Server,
    peers: &[(&str, &Server)],
) -> Result<()> {
    let (mut own, mut theirs) = (Rounds::default(), Vec::new());
    theirs.resize_with(peers.len(), Rounds::default);
    for _ in 0..bench.scale.rounds {
        own.add(load(bench, ours, call).await?);
        for ((_, peer), rounds) in peers.iter().zip(&mut theirs) {
            rounds.add(load(bench, peer, call).await?);
        }
    }
    table.row(Row::ours(figure, "authsvc").exchanges(&own));
    for ((name, _), rounds) in peers.iter().zip(&theirs) {
        let ratio = own.rate.median() / rounds.rate.median();
        table.row(Row::peer(figure, name).exchanges(rounds).ratio(ratio));
    }
    Ok(())
}

async fn load(bench: &Bench, server: &Server, call: &Call) -> Result<Exchanged> {
    let exchange = bench.exchange(server, call.clone(), CONNECTIONS);
    load::run_in_child(&exchange, Duration::from_secs(30)).await
}
