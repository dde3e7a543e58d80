//! Durable writes, compared with etcd and Redis.

use anyhow::Result;

use crate::{
    figures::{Bench, Contender},
    load::{api, line::Call, object},
    peers::{self, server::Server},
    report::Table,
};

const CONNECTIONS: [u64; 2] = [64, 256];

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let server = peers::objstore(bench).await?;
    let call = object::set_call(&api::session(server.address).await?);
    let peers = peers(bench, table).await?;
    for connections in CONNECTIONS {
        let load = |server, call: &Call| bench.exchange(server, call.clone(), connections);
        let mut contenders = vec![Contender::ours("objstore-svc set", load(&server, &call))];
        for (who, server, call) in &peers {
            contenders.push(Contender::peer(*who, load(server, call)));
        }
        let title = format!("Durable set, 256 B, {connections} connections");
        bench.compare(table, &title, &contenders).await?;
    }
    Ok(())
}

/// Starts the peers that are installed.
async fn peers(bench: &Bench, table: &mut Table) -> Result<Vec<(&'static str, Server, Call)>> {
    let mut peers = Vec::new();
    #[cfg(feature = "etcd")]
    match peers::etcd(bench).await? {
        Some(server) => peers.push(("etcd put", server, object::etcd_call())),
        None => table.note("etcd is left out: install Debian's etcd-server."),
    }
    #[cfg(not(feature = "etcd"))]
    table.note(
        "etcd is left out: install Debian's etcd-server, protobuf-compiler and libprotobuf-dev, and build with `--features etcd`.",
    );
    match peers::redis(bench).await? {
        Some(server) => peers.push(("Redis SET", server, object::redis_call())),
        None => table.note("Redis is left out: install Debian's redis-server."),
    }
    Ok(peers)
}
