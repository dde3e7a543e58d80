//! Durable writes, compared with etcd and Redis.

use std::time::Duration;

use anyhow::Result;

use crate::{
    figures::Bench,
    load::{self, exchange::Exchanged, line::Call, object},
    peers::{self, server::Server},
    report::{Rounds, Row, Table},
};

const CONNECTIONS: [u64; 2] = [64, 256];
/// Target: ratio of rates.
const TARGET_OF_ETCD: f64 = 2.5;
/// Target: ratio of rates.
const TARGET_OF_REDIS: f64 = 0.6;

struct Contender {
    name: &'static str,
    server: Server,
    call: Call,
    /// Target for the rate of the service divided by that of this peer. `None` for the service.
    target: Option<f64>,
}

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let contenders = contenders(bench, table).await?;
    for connections in CONNECTIONS {
        let mut rounds: Vec<Rounds> = contenders.iter().map(|_| Rounds::default()).collect();
        for _ in 0..bench.scale.rounds {
            for (contender, rounds) in contenders.iter().zip(&mut rounds) {
                rounds.add(load(bench, contender, connections).await?);
            }
        }
        for (contender, measured) in contenders.iter().zip(&rounds) {
            let title = format!("Durable set, 256 B, {connections} connections");
            table.row(match contender.target {
                Some(target) => Row::peer(title, contender.name)
                    .exchanges(measured)
                    .ratio(rounds[0].rate.median() / measured.rate.median(), target),
                None => Row::ours(title, contender.name).exchanges(measured),
            });
        }
    }
    Ok(())
}

async fn contenders(bench: &Bench, table: &mut Table) -> Result<Vec<Contender>> {
    let server = peers::objstore(bench).await?;
    let call = object::set_call(&server.session().await?);
    let mut contenders = vec![Contender { name: "objstore-svc set", server, call, target: None }];
    #[cfg(feature = "etcd")]
    match peers::etcd(bench).await? {
        Some(server) => contenders.push(Contender {
            name: "etcd put",
            server,
            call: object::etcd_call(),
            target: Some(TARGET_OF_ETCD),
        }),
        None => table.note("etcd is left out: install Debian's etcd-server."),
    }
    #[cfg(not(feature = "etcd"))]
    table.note(format!(
        "etcd (target {TARGET_OF_ETCD} ×) is left out: install Debian's etcd-server, protobuf-compiler and libprotobuf-dev, and build with `--features etcd`."
    ));
    match peers::redis(bench).await? {
        Some(server) => contenders.push(Contender {
            name: "Redis SET",
            server,
            call: object::redis_call(),
            target: Some(TARGET_OF_REDIS),
        }),
        None => table.note("Redis is left out: install Debian's redis-server."),
    }
    Ok(contenders)
}

async fn load(bench: &Bench, contender: &Contender, connections: u64) -> Result<Exchanged> {
    let exchange = bench.exchange(&contender.server, contender.call.clone(), connections);
    load::run_in_child(&exchange, Duration::from_secs(30)).await
}
