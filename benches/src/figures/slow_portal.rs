//! The effect of sign-ins that wait for a slow portal on requests that do not need the portal.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use http_body_util::BodyExt;
use hyper::Method;
use serde::Deserialize;
use tokio::time::sleep;

use crate::{
    figures::Bench,
    load::{self, api::Api, exchange::Exchange, sign_in},
    peers::{self, portal::Portal, server::Server},
    process,
    report::{Rounds, Row, Table, count},
};

const CONNECTIONS: u64 = 16;
const RATE: u64 = 500;

/// Measures `GET /health` at a steady rate while sign-ins wait. The starts of the sign-ins are
/// spread over the delay of the portal. Each connection signs in again after its answer. There are
/// 10 % more connections than sign-ins that must wait, because some have just got their answer.
pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let (waiting, delay) = (bench.scale.waiting, bench.scale.delay);
    let portal = Portal::start(bench, delay).await?;
    let server = peers::authsvc(bench, Some(&portal)).await?;
    let callers = waiting + waiting / 10;
    let sign_ins = Exchange {
        rate: Some(callers / delay.as_secs().max(1)),
        // The end of the measurement stops this load.
        measured: Duration::from_secs(300),
        ..bench.exchange(&server, sign_in::accepted(), callers)
    };
    let measured = tokio::select! {
        ended = load::run_in_child(&sign_ins, Duration::from_secs(120)) => {
            ended.and(Err(anyhow!("the sign-ins ended")))
        }
        measured = health(bench, &server, &portal) => measured,
    };
    let (rounds, least) = measured?;
    let figure = format!(
        "GET /health, {RATE} a second, while {} sign-ins wait for {} s",
        count(waiting as f64),
        delay.as_secs()
    );
    let resident = process::resident(server.pid)? as f64 / 1024.0 / 1024.0;
    table.row(
        Row::ours(figure, "authsvc")
            .exchanges(&rounds)
            .steady()
            .note(format!("at least {least} sign-ins in flight; resident {resident:.1} MiB")),
    );
    Ok(())
}

/// Returns the rounds, and the lowest number of sign-ins in flight before, between and after them.
async fn health(bench: &Bench, server: &Server, portal: &Portal) -> Result<(Rounds, u64)> {
    let required = bench.scale.waiting;
    let started = Instant::now();
    let mut least = in_flight(server).await?;
    while least < required {
        ensure!(started.elapsed() < bench.scale.delay * 6, "only {least} sign-ins are in flight");
        sleep(Duration::from_millis(50)).await;
        least = in_flight(server).await?;
    }
    let exchange = Exchange {
        upstream: vec![portal.server.pid],
        rate: Some(RATE),
        ..bench.exchange(server, sign_in::health(), CONNECTIONS)
    };
    let mut rounds = Rounds::default();
    for _ in 0..bench.scale.rounds {
        rounds.add(load::run_in_child(&exchange, Duration::from_secs(30)).await?);
        least = least.min(in_flight(server).await?);
    }
    ensure!(least >= required, "only {least} sign-ins were in flight");
    Ok((rounds, least))
}

/// Returns the requests in flight, without the one that reads the metrics.
async fn in_flight(server: &Server) -> Result<u64> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Metrics {
        requests_in_flight: u64,
    }

    let mut api = Api::connect(server.address).await?;
    let answer = api.send(Method::GET, "/metrics?fmt=json", "", String::new()).await?;
    let body = answer.into_body().collect().await?.to_bytes();
    let metrics: Metrics = serde_json::from_slice(&body).context("parsing the metrics")?;
    Ok(metrics.requests_in_flight.saturating_sub(1))
}
