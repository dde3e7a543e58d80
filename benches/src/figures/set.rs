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

struct Contender {
    name: &'static str,
    server: Server,
    call: Call,
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
        let title = format!("Durable set, 256 B, {connections} connections");
        table.row(Row::ours(&title, contenders[0].name).exchanges(&rounds[0]));
        for (peer, measured) in contenders.iter().zip(&rounds).skip(1) {
            let ratio = rounds[0].rate.median() / measured.rate.median();
            table.row(Row::peer(&title, peer.name).exchanges(measured).ratio(ratio));
        }
    }
    Ok(())
}

async fn contenders(bench: &Bench, table: &mut Table) -> Result<Vec<Contender>> {
    let server = peers::objstore(bench).await?;
    let call = object::set_call(&server.session().await?);
    let mut contenders = vec![Contender { name: "objstore-svc set", server, call }];
    #[cfg(feature = "etcd")]
    match peers::etcd(bench).await? {
        Some(server) => {
            contenders.push(Contender { name: "etcd put", server, call: object::etcd_call() })
        }
        None => table.note("etcd is left out: install Debian's etcd-server."),
    }
    #[cfg(not(feature = "etcd"))]
    table.note(
        "etcd is left out: install Debian's etcd-server, protobuf-compiler and libprotobuf-dev, and build with `--features etcd`.",
    );
    match peers::redis(bench).await? {
        Some(server) => {
            contenders.push(Contender { name: "Redis SET", server, call: object::redis_call() })
        }
        None => table.note("Redis is left out: install Debian's redis-server."),
    }
    Ok(contenders)
}

async fn load(bench: &Bench, contender: &Contender, connections: u64) -> Result<Exchanged> {
    let exchange = bench.exchange(&contender.server, contender.call.clone(), connections);
    load::run_in_child(&exchange, Duration::from_secs(30)).await
}
