//! Durable captures of one merchant and of 100, on SQLite and on PostgreSQL, compared with pgbench.

use anyhow::Result;

use crate::{
    figures::Bench,
    load::{
        self, Job,
        exchange::Exchange,
        line::{Call, PLACEHOLDER},
    },
    peers::{self, postgres::Postgres, server::Server, shop::Shop},
    report::{Round, Table, rate},
};

const CONNECTIONS: u64 = 64;
const MERCHANTS: usize = 100;

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    on(bench, None, table).await?;
    if let Some(postgres) = Postgres::start(bench, table).await? {
        on(bench, Some(&postgres), table).await?;
    }
    Ok(())
}

async fn on(bench: &Bench, postgres: Option<&Postgres>, table: &mut Table) -> Result<()> {
    let shop = peers::payments(bench, postgres, None).await?;
    let one = shop.pay(&shop.merchants(1).await?, bench.scale.captured).await?;
    let many = shop.pay(&shop.merchants(MERCHANTS).await?, bench.scale.captured).await?;
    let receiver = peers::bare(bench, 2).await?;
    let webhook = shop.webhook(&receiver).await?;
    let load = |server: &Server, ids: &[String]| {
        let exchange = bench.exchange(server, capture(&shop), CONNECTIONS);
        Job::Exchange(Exchange { names: ids.to_vec(), keys: bench.scale.captured, ..exchange })
    };
    let (of_one, of_many) = (load(&shop.server, &one), load(&shop.server, &many));
    let beside = match postgres {
        Some(postgres) => {
            postgres.number_transactions().await?;
            let replica = peers::payments(bench, Some(postgres), None).await?.server;
            Some((postgres, load(&replica, &many), replica))
        }
        None => None,
    };

    let [mut single, mut spread, mut with_webhook] = <[Vec<Round>; 3]>::default();
    let [mut together, mut pgbench] = <[Vec<Round>; 2]>::default();
    for _ in 0..bench.scale.rounds {
        spread.extend(load::run(&of_many).await?);
        single.extend(load::run(&of_one).await?);
        shop.enable(&webhook, true).await?;
        with_webhook.extend(load::run(&of_many).await?);
        shop.enable(&webhook, false).await?;
        if let Some((postgres, of_replica, _)) = &beside {
            pgbench.push(postgres.pgbench(bench, CONNECTIONS).await?);
            let (own, other) = tokio::try_join!(load::run(&of_many), load::run(of_replica))?;
            let pairs = own.iter().zip(&other);
            together.extend(pairs.map(|(own, other)| Round {
                rate: own.rate + other.rate,
                latency: None,
                others: own.others,
            }));
        }
    }

    let engine = if postgres.is_some() { "PostgreSQL" } else { "SQLite" };
    let title = format!("Durable captures on {engine}, {CONNECTIONS} connections");
    let who = format!("payments-svc, {MERCHANTS} merchants");
    table.row(&title, &who, &spread);
    table.row(&title, "payments-svc, one merchant", &single);
    table.row(&title, &format!("{who}, one webhook"), &with_webhook);
    if beside.is_some() {
        table.row(&title, &format!("2 replicas × {CONNECTIONS} connections"), &together);
        let row = table.row(&title, "pgbench, the same statements", &pgbench);
        row.ours = false;
        row.ratio = Some(rate(&spread) / rate(&pgbench));
    }
    Ok(())
}

/// The capture of a part of the transaction with the number of the request.
pub(super) fn capture(shop: &Shop) -> Call {
    let headers = format!("Authorization: {}\r\n", shop.credentials);
    Call::post(&format!("/transactions/{PLACEHOLDER}/captures"), headers, r#"{"amount":100}"#)
}
