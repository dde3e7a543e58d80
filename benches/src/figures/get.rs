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
/// Objects that fit into the cache.
const CACHED: u64 = 10_000;
/// The cache of a service whose gets are all read from the database.
const NO_CACHE: &str = "0";
/// A cache of a hundredth of the objects.
const SMALL_CACHE: &str = "8MiB";
/// The default of the service.
const CACHE: &str = "64MiB";

/// Access rules, of which the last one allows the gets.
const RULES: usize = 100;

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let filled = bench.filled().await?;
    let first = object::key(object::TYPE, object::NAMESPACE, &"0".repeat(PLACEHOLDER.len()));
    let bytes =
        Api::connect(filled.server.address).await?.post("/get", &filled.cookie, first).await?;
    let bare = peers::bare(bench, bytes).await?;
    let like = async |rules, cache| peers::objstore_like(bench, &filled.server, rules, cache).await;
    let rules = rules();
    let (cached, ruled) = (like(None, CACHE).await?, like(Some(&rules), CACHE).await?);
    let (small, uncached) = (like(None, SMALL_CACHE).await?, like(None, NO_CACHE).await?);
    let all = bench.scale.objects;
    let load = async |server, keys| load(bench, server, &filled.cookie, keys).await;
    let [mut hits, mut limited, mut theirs, mut misses, mut reads] = <[Rounds; 5]>::default();
    for _ in 0..bench.scale.rounds {
        hits.add(load(&cached, CACHED).await?);
        limited.add(load(&ruled, CACHED).await?);
        theirs.add(load(&bare, CACHED).await?);
        misses.add(load(&small, all).await?);
        reads.add(load(&uncached, all).await?);
    }
    let [some, all] = [CACHED, all].map(|objects| count(objects as f64));
    let figure = format!("Get, 256 B, {some} of {all} objects, {CONNECTIONS} connections");
    table.row(Row::ours(figure.clone(), "objstore-svc get").exchanges(&hits));
    table.row(
        Row::ours(figure.clone(), &format!("objstore-svc get, {RULES} access rules"))
            .exchanges(&limited)
            .ratio(limited.rate.median() / hits.rate.median()),
    );
    table.row(
        Row::peer(figure, "bare axum route")
            .exchanges(&theirs)
            .ratio(hits.rate.median() / theirs.rate.median()),
    );
    let figure = format!("Get, 256 B, {all} objects, {CONNECTIONS} connections");
    table.row(Row::ours(figure.clone(), "objstore-svc get, no cache").exchanges(&reads));
    table.row(
        Row::ours(figure, &format!("objstore-svc get, cache of {SMALL_CACHE}"))
            .exchanges(&misses)
            .ratio(misses.rate.median() / reads.rate.median()),
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

/// Gets of the first `keys` objects.
async fn load(bench: &Bench, server: &Server, cookie: &str, keys: u64) -> Result<Exchanged> {
    let exchange =
        Exchange { keys, ..bench.exchange(server, object::get_call(cookie), CONNECTIONS) };
    load::run_in_child(&exchange, Duration::from_secs(30)).await
}
