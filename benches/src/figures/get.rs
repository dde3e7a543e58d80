//! Reads of single objects among a million, compared with a bare route.

use anyhow::{Context, Result};

use crate::{
    figures::{Bench, Contender},
    load::{
        api,
        exchange::{Exchange, fill},
        line::PLACEHOLDER,
        object,
    },
    peers,
    report::{Table, count},
};

const CONNECTIONS: u64 = 64;
/// Objects that fit into the cache.
const CACHED: u64 = 10_000;
/// The default of the service.
const CACHE: &str = "64MiB";
/// The cache of a service whose gets are all read from the database.
const NO_CACHE: &str = "0";
/// A cache of a hundredth of the objects.
const SMALL_CACHE: &str = "8MiB";
/// Access rules, of which the last one allows the gets.
const RULES: usize = 100;

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let all = bench.scale.objects;
    let filled = peers::objstore(bench).await?;
    let cookie = api::session(filled.address).await?;
    let set = object::set_call(&cookie);
    fill(filled.address, &set, Vec::new(), 256, all).await.context("filling the store")?;
    let first = object::key(object::NAMESPACE, &"0".repeat(PLACEHOLDER.len()));
    let bytes = api::post(filled.address, "/get", &cookie, first).await?.len();

    let file = filled.directory().join("rules.toml");
    std::fs::write(&file, rules())?;
    let file = file.to_string_lossy();
    let copy = async |name, value| peers::objstore_copy(bench, &filled, (name, value)).await;
    let cached = copy("OBJSTORE_CACHE", CACHE).await?;
    let ruled = copy("OBJSTORE_RULES_FILE", &file).await?;
    let bare = peers::bare(bench, bytes).await?;
    let uncached = copy("OBJSTORE_CACHE", NO_CACHE).await?;
    let small = copy("OBJSTORE_CACHE", SMALL_CACHE).await?;

    let load = |server, keys| {
        let exchange = bench.exchange(server, object::get_call(&cookie), CONNECTIONS);
        Exchange { keys, ..exchange }
    };
    let [some, number] = [CACHED, all].map(|objects| count(objects as f64));
    let title = format!("Get, 256 B, {some} of {number} objects, {CONNECTIONS} connections");
    let who = format!("objstore-svc get, {RULES} access rules");
    let contenders = [
        Contender::ours("objstore-svc get", load(&cached, CACHED)),
        Contender::ours(who, load(&ruled, CACHED)),
        Contender::peer("bare axum route", load(&bare, CACHED)),
    ];
    bench.compare(table, &title, &contenders).await?;
    let title = format!("Get, 256 B, {number} objects, {CONNECTIONS} connections");
    let who = format!("objstore-svc get, cache of {SMALL_CACHE}");
    let contenders = [
        Contender::ours("objstore-svc get, no cache", load(&uncached, all)),
        Contender::ours(who, load(&small, all)),
    ];
    bench.compare(table, &title, &contenders).await
}

/// Rules of many types, and at last the one of the objects.
fn rules() -> String {
    let types = (1..RULES).map(|number| format!("other-{number}"));
    let rules = types.chain([object::TYPE.to_owned()]).map(|kind| {
        format!("[[rule]]\nwho = [\"*\"]\nmay = [\"get\", \"set\"]\nType = \"{kind}\"\n")
    });
    rules.collect()
}
