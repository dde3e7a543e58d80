//! Reads of single objects among a million, compared with a bare route.

use std::time::Duration;

use anyhow::Result;

use crate::{
    figures::Bench,
    load::{
        self,
        api::Api,
        exchange::{Exchange, Exchanged},
        line::PLACEHOLDER,
        object,
    },
    peers::{self, server::Server},
    report::{Rounds, Row, Table, count},
};

const CONNECTIONS: u64 = 64;
/// Target: ratio of rates.
const TARGET_OF_BARE: f64 = 0.7;
/// Target: ratio of the rate with access rules to that without.
const TARGET_OF_RULES: f64 = 0.97;

/// Access rules, of which the last one allows the gets.
const RULES: usize = 100;

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let filled = bench.filled().await?;
    let first = object::key(object::TYPE, object::NAMESPACE, &"0".repeat(PLACEHOLDER.len()));
    let bytes =
        Api::connect(filled.server.address).await?.post("/get", &filled.cookie, first).await?;
    let bare = peers::bare(bench, bytes).await?;
    let ruled = peers::objstore_with_rules(bench, &filled.server, &rules()).await?;
    let [mut ours, mut limited, mut theirs] = <[Rounds; 3]>::default();
    for _ in 0..bench.scale.rounds {
        ours.add(load(bench, &filled.server, &filled.cookie).await?);
        limited.add(load(bench, &ruled, &filled.cookie).await?);
        theirs.add(load(bench, &bare, &filled.cookie).await?);
    }
    let figure = format!(
        "Get, 256 B, {} objects, {CONNECTIONS} connections",
        count(bench.scale.objects as f64)
    );
    table.row(Row::ours(figure.clone(), "objstore-svc get").exchanges(&ours));
    table.row(
        Row::ours(figure.clone(), &format!("objstore-svc get, {RULES} access rules"))
            .exchanges(&limited)
            .ratio(limited.rate.median() / ours.rate.median(), TARGET_OF_RULES),
    );
    table.row(
        Row::peer(figure, "bare axum route")
            .exchanges(&theirs)
            .ratio(ours.rate.median() / theirs.rate.median(), TARGET_OF_BARE),
    );
    Ok(())
}

/// Rules of many types, and at last the one of the objects.
fn rules() -> String {
    let types = (1..RULES).map(|number| format!("other-{number}"));
    let rules = types.chain([object::TYPE.to_owned()]).map(|kind| {
        format!("[[rule]]\nwho = [\"*\"]\nmay = [\"get\", \"set\"]\nType = \"{kind}\"\n")
    });
    rules.collect()
}

async fn load(bench: &Bench, server: &Server, cookie: &str) -> Result<Exchanged> {
    let exchange = Exchange {
        keys: bench.scale.objects,
        ..bench.exchange(server, object::get_call(cookie), CONNECTIONS)
    };
    load::run_in_child(&exchange, Duration::from_secs(30)).await
}
