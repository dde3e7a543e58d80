//! Reads of single transactions and of pages, among a million transactions, compared with a bare
//! route.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::{
    figures::Bench,
    load::{
        self,
        exchange::{Exchange, Exchanged},
        line::{Call, Line, PLACEHOLDER, Template},
    },
    peers::{self, server::Server, shop::Shop},
    report::{Rounds, Row, Table, count},
};

const CONNECTIONS: u64 = 64;
/// Connections that read pages. There are few, because a page costs as much as a hundred reads.
const READERS: u64 = 4;
const LIMIT: u32 = 100;
/// Transactions that fit into the cache.
const CACHED: u64 = 10_000;
/// The cache of a service whose transactions are all read from the database.
const NO_CACHE: &str = "0";
/// A cache of a hundredth of the transactions.
const SMALL_CACHE: &str = "10MiB";

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let shop = peers::payments(bench).await?;
    let merchants = shop.merchants(1).await?;
    let merchant = &merchants.first().context("no merchant")?.id;
    let ids = shop.pay(&merchants, bench.scale.transactions).await?;
    let get = |path: String| Call::Get { path, headers: shop.credentials.clone() };
    let all = bench.scale.transactions;
    let load = async |server: &Server, call: &Call, connections, keys| -> Result<Exchanged> {
        let exchange = Exchange {
            keys,
            names: Some(ids.clone()),
            ..bench.exchange(server, call.clone(), connections)
        };
        load::run_in_child(&exchange, Duration::from_secs(60)).await
    };

    let read = read(&shop);
    let template = Template::new(&read, Some(&ids))?;
    let bytes = Line::open(shop.server.address).await?.exchange(&template, 0).await?;
    let bare = peers::bare(bench, bytes).await?;
    let constant = get("/health".to_owned());
    let list = format!("/merchants/{merchant}/transactions?limit={LIMIT}");
    let (first, deep) = (get(list.clone()), get(format!("{list}&before={PLACEHOLDER}")));
    let small = peers::payments_like(bench, &shop, SMALL_CACHE).await?;
    let uncached = peers::payments_like(bench, &shop, NO_CACHE).await?;
    let [mut hits, mut theirs, mut misses, mut reads] = <[Rounds; 4]>::default();
    let [mut first_pages, mut deep_pages] = <[Rounds; 2]>::default();
    for _ in 0..bench.scale.rounds {
        hits.add(load(&shop.server, &read, CONNECTIONS, CACHED).await?);
        theirs.add(load(&bare, &constant, CONNECTIONS, CACHED).await?);
        misses.add(load(&small, &read, CONNECTIONS, all).await?);
        reads.add(load(&uncached, &read, CONNECTIONS, all).await?);
        first_pages.add(load(&shop.server, &first, READERS, all).await?);
        deep_pages.add(load(&shop.server, &deep, READERS, all).await?);
    }
    let among = format!("{} transactions", count(all as f64));
    let some = count(CACHED as f64);
    let figure = format!("GET /transactions/<id>, {some} of {among}, {CONNECTIONS} connections");
    table.row(Row::ours(figure.clone(), "payments-svc").exchanges(&hits));
    let ratio = hits.rate.median() / theirs.rate.median();
    let row = Row::peer(figure, "bare axum route").exchanges(&theirs);
    table.row(row.ratio(ratio));
    let figure = format!("GET /transactions/<id>, {among}, {CONNECTIONS} connections");
    table.row(Row::ours(figure.clone(), "payments-svc, no cache").exchanges(&reads));
    let who = format!("payments-svc, cache of {SMALL_CACHE}");
    let ratio = misses.rate.median() / reads.rate.median();
    table.row(Row::ours(figure, &who).exchanges(&misses).ratio(ratio));
    let figure = format!("Pages of {LIMIT} of {among}, {READERS} connections");
    table.row(Row::ours(figure.clone(), "payments-svc, first page").exchanges(&first_pages));
    table.row(Row::ours(figure, "payments-svc, any page").exchanges(&deep_pages));
    Ok(())
}

/// Reads the transaction whose ID has the number of the request.
pub(super) fn read(shop: &Shop) -> Call {
    let path = format!("/transactions/{PLACEHOLDER}");
    Call::Get { path, headers: shop.credentials.clone() }
}
