//! Reads of single transactions and of pages, among a million transactions.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::{
    figures::Bench,
    load::{
        self,
        exchange::{Exchange, Exchanged},
        line::{Call, Line, PLACEHOLDER, Template},
    },
    peers::{self, server::Server},
    report::{Rounds, Row, Table, count},
};

const CONNECTIONS: u64 = 64;
/// Connections that read pages. There are few, because a page costs as much as a hundred reads.
const READERS: u64 = 4;
const LIMIT: u32 = 100;
/// Target: ratio of rates.
const TARGET_OF_BARE: f64 = 0.75;
/// Target: p99 of a page at any depth divided by the p99 of the first page.
const TARGET_OF_FIRST: f64 = 2.0;

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let shop = peers::payments(bench).await?;
    let merchants = shop.merchants(1).await?;
    let merchant = &merchants.first().context("no merchant")?.id;
    let ids = shop.pay(&merchants, bench.scale.transactions).await?;
    let get = |path: String| Call::Get { path, headers: shop.credentials.clone() };
    let load = async |server: &Server, call: &Call, connections| -> Result<Exchanged> {
        let exchange = Exchange {
            keys: bench.scale.transactions,
            names: Some(ids.clone()),
            ..bench.exchange(server, call.clone(), connections)
        };
        load::run_in_child(&exchange, Duration::from_secs(60)).await
    };

    let read = get(format!("/transactions/{PLACEHOLDER}"));
    let template = Template::new(&read, Some(&ids))?;
    let bytes = Line::open(shop.server.address).await?.exchange(&template, 0).await?;
    let bare = peers::bare(bench, bytes).await?;
    let constant = get("/health".to_owned());
    let list = format!("/merchants/{merchant}/transactions?limit={LIMIT}");
    let (first, deep) = (get(list.clone()), get(format!("{list}&before={PLACEHOLDER}")));
    let [mut ours, mut theirs, mut first_pages, mut deep_pages] = <[Rounds; 4]>::default();
    for _ in 0..bench.scale.rounds {
        ours.add(load(&shop.server, &read, CONNECTIONS).await?);
        theirs.add(load(&bare, &constant, CONNECTIONS).await?);
        first_pages.add(load(&shop.server, &first, READERS).await?);
        deep_pages.add(load(&shop.server, &deep, READERS).await?);
    }
    let among = format!("{} transactions", count(bench.scale.transactions as f64));
    let figure = format!("GET /transactions/<id>, {among}, {CONNECTIONS} connections");
    table.row(Row::ours(figure.clone(), "payments-svc").exchanges(&ours));
    let ratio = ours.rate.median() / theirs.rate.median();
    let row = Row::peer(figure, "bare axum route").exchanges(&theirs);
    table.row(row.ratio(ratio, TARGET_OF_BARE));
    let figure = format!("Pages of {LIMIT} of {among}, {READERS} connections");
    table.row(Row::ours(figure.clone(), "payments-svc, first page").exchanges(&first_pages));
    let row = Row::ours(figure, "payments-svc, any page").exchanges(&deep_pages);
    let times = deep_pages.p99() / first_pages.p99();
    table.row(row.at_most(times, TARGET_OF_FIRST, " × p99 of the first page"));
    Ok(())
}
