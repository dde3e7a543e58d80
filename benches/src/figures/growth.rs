//! Rates in stores of several sizes: whether they stay flat while a store grows.

use std::time::Duration;

use anyhow::Result;

use crate::{
    figures::{Bench, Filled, captures, transactions},
    load::{self, exchange::Exchange, line::Call, object},
    peers::{self, shop::Shop},
    report::{Rounds, Row, Table, count},
};

const CONNECTIONS: u64 = 64;

/// A load on a store of this size.
type Sized = (u64, Exchange);

/// Sets and gets of uniformly drawn objects.
pub(crate) async fn of_objects(bench: &Bench, table: &mut Table) -> Result<()> {
    let mut stores = Vec::new();
    for &size in bench.scale.sizes {
        stores.push((size, bench.store_of(size).await?));
    }
    let each = |call: fn(&str) -> Call| -> Vec<Sized> {
        let load = |(size, store): &(u64, Filled)| {
            let exchange = bench.exchange(&store.server, call(&store.cookie), CONNECTIONS);
            (*size, Exchange { keys: *size, ..exchange })
        };
        stores.iter().map(load).collect()
    };
    let title = format!("Get, 256 B, {CONNECTIONS} connections, by size of the store");
    compare(bench, table, &title, "objects", &each(object::get_call)).await?;
    let title = format!("Durable set, 256 B, {CONNECTIONS} connections, by size of the store");
    compare(bench, table, &title, "objects", &each(object::set_call)).await
}

/// Reads and captures of uniformly drawn transactions.
pub(crate) async fn of_transactions(bench: &Bench, table: &mut Table) -> Result<()> {
    let mut stores = Vec::new();
    for &size in bench.scale.sizes {
        let shop = peers::payments(bench).await?;
        let merchants = shop.merchants(1).await?;
        let ids = shop.pay(&merchants, size).await?;
        stores.push((size, shop, ids));
    }
    let each = |call: fn(&Shop) -> Call| -> Vec<Sized> {
        let load = |(size, shop, ids): &(u64, Shop, _)| {
            let exchange = bench.exchange(&shop.server, call(shop), CONNECTIONS);
            (*size, Exchange { keys: *size, names: Some(Clone::clone(ids)), ..exchange })
        };
        stores.iter().map(load).collect()
    };
    let title = format!("GET /transactions/<id>, {CONNECTIONS} connections, by size of the store");
    compare(bench, table, &title, "transactions", &each(transactions::read)).await?;
    let title = format!("Durable captures, {CONNECTIONS} connections, by size of the store");
    let capture = |shop: &Shop| captures::capture(&shop.credentials);
    compare(bench, table, &title, "transactions", &each(capture)).await
}

/// Measures the same load on each store.
async fn compare(
    bench: &Bench,
    table: &mut Table,
    title: &str,
    unit: &str,
    loads: &[Sized],
) -> Result<()> {
    let mut rounds: Vec<_> = loads.iter().map(|_| Rounds::default()).collect();
    for _ in 0..bench.scale.rounds {
        for ((_, exchange), rounds) in loads.iter().zip(&mut rounds) {
            rounds.add(load::run_in_child(exchange, Duration::from_secs(90)).await?);
        }
    }
    let name = |size: u64| format!("{} {unit}", count(size as f64));
    for ((size, _), rounds) in loads.iter().zip(&rounds) {
        table.row(Row::ours(title, &name(*size)).exchanges(rounds));
    }
    Ok(())
}
