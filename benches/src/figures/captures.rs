//! Durable captures, all of one merchant or of a hundred.

use std::{path::Path, time::Duration};

use anyhow::Result;

use crate::{
    figures::Bench,
    load::{
        self,
        exchange::{Exchange, Exchanged},
        line::{Call, HOLE},
    },
    peers::{self, shop::Shop},
    report::{Rounds, Row, Table},
};

const CONNECTIONS: u64 = 64;
const MERCHANTS: usize = 100;
/// Captures a second there have to be.
const RATE: f64 = 10_000.0;
/// What one merchant has to reach of a hundred.
const OF_MANY: f64 = 0.9;

/// Measures captures a second.
pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let shop = peers::payments(bench).await?;
    let (single, many) = (shop.merchants(1).await?, shop.merchants(MERCHANTS).await?);
    let one = shop.pay(&single, bench.scale.captured).await?;
    let hundred = shop.pay(&many, bench.scale.captured).await?;
    let (mut of_one, mut of_many) = (Rounds::default(), Rounds::default());
    for _ in 0..bench.scale.rounds {
        of_one.add(load(bench, &shop, &one).await?);
        of_many.add(load(bench, &shop, &hundred).await?);
    }
    let figure = format!("durable captures, embedded engine, {CONNECTIONS} connections");
    let (rate, ratio) = (of_many.rate.median(), of_one.rate.median() / of_many.rate.median());
    let who = format!("payments-svc, {MERCHANTS} merchants");
    table.row(Row::new(figure.clone(), &who).exchanges(&of_many).at_least(rate, RATE, "/s"));
    let row = Row::new(figure, "payments-svc, one merchant").exchanges(&of_one);
    table.row(row.ratio(ratio, OF_MANY).note("the ratio is to a hundred".to_owned()));
    Ok(())
}

async fn load(bench: &Bench, shop: &Shop, ids: &Path) -> Result<Exchanged> {
    let call = Call::Http {
        path: format!("/transactions/{HOLE}/captures"),
        headers: shop.credentials.clone(),
        body: r#"{"amount":100}"#.to_owned(),
    };
    let exchange = Exchange {
        keys: bench.scale.captured,
        names: Some(ids.to_owned()),
        ..bench.exchange(&shop.server, call, CONNECTIONS)
    };
    load::elsewhere(&exchange, Duration::from_secs(30)).await
}
