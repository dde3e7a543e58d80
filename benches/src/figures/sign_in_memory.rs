//! Resident memory of authsvc after all kinds of requests.

use std::time::Duration;

use anyhow::Result;

use crate::{
    figures::Bench,
    load::{self, exchange::Fill, line::Call, sign_in},
    peers::{self, portal::Portal},
    process,
    report::{Row, Table, count},
};

const CONNECTIONS: u64 = 64;

/// One of 25 requests is a valid sign-in. One half of the others is `GET /health`, the other half
/// invalid sign-ins.
pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let portal = Portal::start(bench, Duration::ZERO).await?;
    let server = peers::authsvc(bench, Some(&portal)).await?;
    let started = process::resident(server.pid)?;
    let fill = |call: Call, count: u64| Fill {
        address: server.address,
        call,
        connections: CONNECTIONS,
        count,
        names: None,
    };
    let sign_ins = bench.scale.requests / 25;
    let others = bench.scale.requests - sign_ins;
    let health = fill(sign_in::health(), others / 2);
    let refused = fill(sign_in::refused(), others - others / 2);
    let accepted = fill(sign_in::accepted(), sign_ins);
    let limit = Duration::from_secs(60);
    tokio::try_join!(
        load::run_in_child(&health, limit),
        load::run_in_child(&refused, limit),
        load::run_in_child(&accepted, limit),
    )?;
    let mib = |bytes: u64| bytes as f64 / 1024.0 / 1024.0;
    let (after, peak) = (mib(process::resident(server.pid)?), mib(process::peak(server.pid)?));
    let figure = format!(
        "Resident memory after {} requests, {} of them sign-ins",
        count(bench.scale.requests as f64),
        count(sign_ins as f64)
    );
    table.row(
        Row::ours(figure, "authsvc")
            .once(after, " MiB")
            .note(format!("before {:.1}, peak {peak:.1} MiB", mib(started))),
    );
    Ok(())
}
