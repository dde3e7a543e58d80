//! Sign-ins at demo-portal, compared with the bare relay.

use anyhow::Result;

use crate::{
    figures::{Bench, Contender},
    load::{exchange::Exchange, line::Call},
    peers::{self, server::Server, stand_in::StandIn},
    report::Table,
};

const CONNECTIONS: u64 = 64;
/// Sign-ins per second at the steady rate, which leaves the machine mostly idle.
const RATE: u64 = 200;
/// A student of demo-portal.
const CREDENTIALS: &str = r#"{"username":"QLV1UG23CS217","password":"demo-asha"}"#;

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let portal = StandIn::portal(bench).await?;
    let ours = peers::authsvc(bench, &portal).await?;
    let relay = peers::relay(bench, &portal).await?;
    let call = Call::post("/authenticate", String::new(), CREDENTIALS);
    let fast = |server: &Server| bench.exchange(server, call.clone(), CONNECTIONS);
    let steady = |server: &Server| Exchange {
        rate: Some(RATE),
        measured: bench.scale.measured * 4,
        ..fast(server)
    };
    let pair =
        |ours, relay| [Contender::ours("authsvc", ours), Contender::peer("bare relay", relay)];
    let title = format!("POST /authenticate, {CONNECTIONS} connections");
    bench.compare(table, &title, &pair(fast(&ours), fast(&relay))).await?;
    let title = format!("POST /authenticate, {RATE} a second");
    bench.compare(table, &title, &pair(steady(&ours), steady(&relay))).await
}
