//! payments-svc for power cuts.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use blackbox::{
    http::Answer,
    payments::{Card, Merchant, Move, Service, Stopped},
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use rusqlite::{Connection, OpenFlags};
use serde_json::json;
use tokio::task::JoinSet;

use super::{
    copy::during_copy,
    record::{Record, Recording, Rows},
};
use crate::trace::traced;

/// Starts of the service in one record.
const STARTS: usize = 2;

/// Merchants with concurrent customers, so that their changes share commits.
const MERCHANTS: usize = 4;

/// Payments of each in one load.
const PAYMENTS: usize = 6;

/// Bytes of custom data, at most.
const CUSTOM: usize = 40_000;

const FILE: &str = "payments.db";

fn place(data: &Path) -> Stopped {
    // A job ends payments that the cut interrupted, but not while the test reads the store.
    let timeout = ("PAYMENTS_ACQUIRER_TIMEOUT", "1d");
    Stopped::on(None, &[("PAYMENTS_DATA_DIR", data.to_str().unwrap()), timeout])
}

/// The record of a service from its first start on an empty disk to its last stop.
pub(super) async fn record(seed: u64) -> Record {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut recording = Recording::new();
    let (mut place, file) = (place(&recording.data()), recording.data().join(FILE));
    let mut rows = HashMap::new();
    for _ in 0..STARTS {
        let command = traced(&place.command(), &recording.trace());
        let service = place.start_with(command).await;
        let (mut filled, mut fill_rng) = (Vec::new(), StdRng::seed_from_u64(rng.random()));
        let fill = async || filled.extend(load(&service, &mut fill_rng).await);
        let load = async || rows.extend(load(&service, &mut rng).await);
        during_copy(&file, fill, load).await;
        rows.extend(filled);
        place = service.stop().await;
    }
    place.agrees().await;
    let stored = self::rows(&file);
    recording.ended(rows, &stored).await
}

/// The payments of several customers at once.
async fn load(service: &Service, rng: &mut StdRng) -> Vec<(String, String)> {
    let mut customers = JoinSet::new();
    for _ in 0..MERCHANTS {
        let merchant = service.merchant().await;
        customers.spawn(pay(merchant, StdRng::seed_from_u64(rng.random())));
    }
    customers.join_all().await.concat()
}

/// Pays and moves money. Returns the row of each answered request, by request id.
async fn pay(merchant: Merchant, mut rng: StdRng) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    for _ in 0..PAYMENTS {
        let is_good = rng.random_bool(0.9);
        let amount = rng.random_range(100..10_000);
        let card = if is_good { Card::VISA } else { Card::DECLINED };
        let mut payment = merchant.payment(card, "EUR", amount);
        payment["custom"] = json!({ "filler": "x".repeat(rng.random_range(0..CUSTOM)) });
        let answer = merchant.charge(&payment).await.expect(if is_good { 201 } else { 400 });
        let transaction = merchant.transaction(&answer);
        rows.push((request(&answer), format!("{} EUR {amount}", transaction.id)));
        if !is_good {
            continue;
        }
        let captured = rng.random_range(1..amount);
        let moves = [
            (Move::Capture, captured),
            (Move::Refund, rng.random_range(1..=captured)),
            (Move::Void, amount - captured),
        ];
        for (movement, amount) in moves {
            let answer = transaction.ask(movement, &json!({ "amount": amount })).await.expect(201);
            rows.push((request(&answer), last_step(&answer)));
        }
    }
    rows
}

fn request(answer: &Answer) -> String {
    answer.header("x-request-id").unwrap().to_owned()
}

/// The row of the last step of a transaction, as in [`rows`].
fn last_step(answer: &Answer) -> String {
    let transaction = &answer.json()["transaction"];
    let trail = transaction["trail"].as_array().unwrap();
    let (number, step) = (trail.len() - 1, trail.last().unwrap());
    let movement = Move::ALL.into_iter().find(|it| step[it.name()] == true).unwrap().name();
    let [id, line] =
        [&transaction["id"], &step["lineId"]].map(|id| id.as_str().unwrap_or_default());
    format!("{id} {number} {movement} {} {line}", step["amount"])
}

fn rows(file: &Path) -> Rows {
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let health: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(health, "ok");
    let mut rows = connection
        .prepare(
            "SELECT lower(hex(id)) || ' ' || currency || ' ' || amount FROM transactions
             UNION ALL
             SELECT concat(lower(hex(\"transaction\")), ' ', step, ' ', movement, ' ', amount, ' ',
                           lower(hex(line)))
             FROM trail",
        )
        .unwrap();
    rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// Opens a rebuilt store, and returns its rows.
pub(super) async fn open(data: PathBuf) -> Rows {
    let service = place(&data).start().await;
    let rows = rows(&data.join(FILE));
    let _ = service.merchant().await.pay("EUR", 1000).await.capture(1000).await;
    service.kill().await.agrees().await;
    rows
}
