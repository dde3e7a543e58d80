//! `check`: the program recalculates the books and reports disagreements.

use std::time::{Duration, Instant};

use blackbox::{
    payments::{Acquirer, Merchant, Move, SECRET, Service, Stopped, Transaction, minimal},
    process::{self, until},
};
use futures_util::future::join_all;
use rusqlite::Connection;
use serde_json::json;

use crate::returns::return_all;

/// The smallest id.
pub(crate) const FIRST: &str = "000000000000000000000000";

/// Books every kind of entry. Returns the merchant and a transaction that can be captured.
pub(crate) async fn book(service: &Service) -> (Merchant, Transaction) {
    let mut body = minimal();
    body["test"] = true.into();
    body["currency"] = "DKK".into();
    body["bank"] = json!({ "iban": "DK5000400440116243", "holder": "Ann" });
    let merchant = service.app().await.merchant_with(&body).await;
    let acquirer = Acquirer(service);
    for currency in ["EUR", "DKK"] {
        let transaction = merchant.pay(currency, 1000).await;
        let captures = (0..20).map(async |_| transaction.capture(40).await);
        join_all(captures).await;
        transaction.refund(333).await;
        transaction.void(100).await;
        let too_much = transaction.ask(Move::Capture, &json!({ "amount": 500 })).await;
        let _ = too_much.expect(400);
        for (amount, end) in [(50, Some("won")), (30, Some("lost")), (20, None), (900, None)] {
            let dispute = acquirer.open(&transaction, amount).await;
            if let Some(end) = end {
                acquirer.end(&transaction, &dispute, end).await;
            }
        }
    }
    // The amount is so large that the smallest difference of a rate is visible.
    let transaction = merchant.pay("EUR", 1_000_000_000).await;
    transaction.capture(900_000_000).await;
    merchant.fail(100).await;
    (merchant, transaction)
}

/// A stopped service with every kind of entry in its books.
async fn booked() -> Stopped {
    let service = Service::with(&[SECRET]).await;
    book(&service).await;
    service.data().agrees().await;
    let place = service.stop().await;
    pay_out(&place).await;
    return_all(&place, &place.data().join("transfers.csv")).await;
    if place.database().is_some() {
        // Slices end at an ID that is a minute old.
        place.change("SELECT setval('id_seconds', last_value + 60) FROM id_seconds");
    }
    place
}

pub(crate) async fn pay_out(place: &Stopped) {
    let mut command = place.command();
    command.args(["payout", "--test", "--csv"]).arg(place.data().join("transfers.csv"));
    assert!(process::run(command).await.status.success());
}

#[tokio::test]
async fn correct_books_agree() {
    let place = booked().await;
    place.agrees().await;
    for options in [&["--slice", "4"][..], &["--since", FIRST], &["--since", FIRST, "--slice", "3"]]
    {
        let (agrees, report) = place.check_with(options).await;
        assert!(agrees, "{options:?}: {report}");
    }
}

/// Checks that a full check in small slices finds the change. A check since the first line must also
/// find it, unless it is a change of balances or totals, or adds a state, which only a full check reads.
async fn is_found(place: &Stopped, change: &str) {
    let (agrees, report) = place.check_with(&["--slice", "40"]).await;
    assert!(!agrees && report.contains(": stored "), "nothing found after {change}: {report}");
    if !["balances", "day_totals", "INTO transaction_states"]
        .iter()
        .any(|table| change.contains(table))
    {
        let (agrees, report) = place.check_since(FIRST).await;
        assert!(
            !agrees && report.contains(": stored "),
            "not found since after {change}: {report}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_changed_number_is_found() {
    let place = booked().await;
    for (table, number, rows) in [
        ("balances", "balance", "TRUE"),
        ("authorizations", "amount", "TRUE"),
        ("transactions", "amount", "TRUE"),
        ("transactions", "captured", "voided > 0"),
        ("transactions", "refunded", "refunded > 0"),
        ("transactions", "voided", "voided > 0"),
        ("transactions", "disputed", "TRUE"),
        ("transactions", "steps", "TRUE"),
        ("lines", "balance", "TRUE"),
        ("lines", "fee", "TRUE"),
        ("lines", "amount", "kind IN ('capture', 'refund')"),
        ("lines", "amount", "kind = 'dispute'"),
        ("lines", "amount", "kind = 'won'"),
        ("lines", "amount", "kind = 'lost'"),
        ("lines", "amount", "kind = 'payout'"),
        ("lines", "amount", "kind = 'returned'"),
        ("trail", "amount", "movement <> 'won' AND movement <> 'lost'"),
        ("trail", "amount", "movement = 'won'"),
        ("trail", "amount", "movement = 'lost'"),
        ("trail", "balance", "TRUE"),
        ("trail", "fee_flat", "TRUE"),
        ("trail", "fee_rate", "TRUE"),
        ("postings", "amount", "TRUE"),
        ("captures", "gross", "TRUE"),
        ("captures", "fee", "TRUE"),
        ("captures", "gross_returned", "amount_returned > 0"),
        ("captures", "fee_returned", "amount_returned > 0"),
        ("captures", "spread", "rate = '1/1'"),
        ("payouts", "created", "TRUE"),
        ("payouts", "returned", "TRUE"),
        ("captures", "spread", "rate <> '1/1'"),
        ("disputes", "amount", "TRUE"),
        ("slices", "amount", "again"),
        ("slices", "gross", "again"),
        ("slices", "fee", "again"),
        ("slices", "amount", "NOT again"),
        ("slices", "gross", "NOT again"),
        ("slices", "fee", "NOT again"),
        ("payouts", "amount", "TRUE"),
    ] {
        let change = format!("UPDATE {table} SET {number} = {number} + 1 WHERE {rows}");
        assert!(place.change(&change) > 0, "{change}");
        is_found(&place, &change).await;
        place.change(&format!("UPDATE {table} SET {number} = {number} - 1 WHERE {rows}"));
        place.agrees().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_changed_text_is_found() {
    let place = booked().await;
    for (table, text, [from, to], rows) in [
        ("lines", "currency", ["EUR", "USD"], "TRUE"),
        ("lines", "currency", ["DKK", "USD"], "kind = 'payout'"),
        ("lines", "currency", ["DKK", "USD"], "kind = 'returned'"),
        ("transactions", "currency", ["EUR", "USD"], "captured > 0"),
        ("merchants", "currency", ["DKK", "USD"], "TRUE"),
        ("payouts", "currency", ["DKK", "USD"], "TRUE"),
        ("postings", "currency", ["DKK", "USD"], "account = 'merchant'"),
        ("postings", "currency", ["EUR", "USD"], "account = 'acquirer'"),
        ("postings", "currency", ["EUR", "USD"], "account = 'exchange'"),
        ("captures", "rate", ["1/1", "7/1"], "TRUE"),
        ("captures", "rate", ["1/1", "2/2"], "TRUE"),
        ("captures", "rate", ["1/1", "1/0"], "TRUE"),
        ("trail", "movement", ["won", "lost"], "amount = 50"),
        ("disputes", "decision", ["lost", "won"], "amount = 30"),
        ("transaction_states", "state", ["disputed", "captured"], "TRUE"),
    ] {
        let set = |from, to| {
            format!("UPDATE {table} SET {text} = '{to}' WHERE {text} = '{from}' AND {rows}")
        };
        let change = set(from, to);
        let back = set(to, from);
        let changed = place.change(&change);
        assert!(changed > 0, "{change}");
        is_found(&place, &change).await;
        assert_eq!(place.change(&back), changed);
        place.agrees().await;
    }
}

#[tokio::test]
async fn missing_rows_are_found() {
    for missing in [
        "lines WHERE id = (SELECT id FROM lines ORDER BY id DESC LIMIT 1)",
        "postings WHERE line = (SELECT id FROM lines ORDER BY id DESC LIMIT 1) AND number = 0",
        "lines WHERE kind = 'payout'",
        "postings WHERE account = 'bank' AND amount < 0",
        "trail WHERE step = 3",
        "captures WHERE amount_returned > 0",
        "captures WHERE amount_returned = 0",
        "transactions WHERE captured > 0",
        "transaction_states WHERE state = 'failed'",
        "disputes",
        "slices WHERE number = 0",
        "payouts",
        "merchants",
    ] {
        let place = booked().await;
        assert!(place.change(&format!("DELETE FROM {missing}")) > 0);
        is_found(&place, missing).await;
    }
}

#[tokio::test]
async fn contradicting_rows_are_found() {
    for (change, rule) in [
        ("UPDATE trail SET line = NULL WHERE movement = 'refund'", "a step has a line"),
        ("UPDATE disputes SET test = NOT test", "a dispute has the merchant of its transaction"),
        ("UPDATE slices SET step = NULL WHERE NOT again", "a slice without a capture"),
        (
            "UPDATE transactions SET voided = 1 WHERE error IS NOT NULL",
            "a failed transaction is neither captured nor voided",
        ),
        (
            "INSERT INTO pending_payments
                 (id, merchant, created, currency, amount, descriptor, recurring, actor)
             SELECT pending_payment, merchant, created, currency, amount, descriptor, recurring,
                 'system'
             FROM transactions WHERE error IS NOT NULL",
            "a pending payment has no transaction",
        ),
        (
            "INSERT INTO refused_voids (\"transaction\", step)
             SELECT \"transaction\", step FROM trail WHERE movement = 'refund'",
            "a refused void is a void of the trail",
        ),
        (
            "INSERT INTO used_links (merchant, link, pending_payment)
             SELECT merchant, id, pending_payment FROM transactions WHERE error IS NOT NULL",
            "a failed payment does not use up its link",
        ),
        (
            "UPDATE payouts SET return_line = NULL, returned = NULL",
            "a line of kind payout or returned has a payout",
        ),
        (
            "UPDATE lines SET kind = 'payout' WHERE kind = 'returned'",
            "a line of kind payout or returned has a payout",
        ),
        (
            "UPDATE payouts SET return_line = line, returned = created",
            "a line of kind payout or returned has a payout",
        ),
        (
            "UPDATE transactions SET custom_reference = 'x' WHERE error IS NOT NULL",
            "the reference of a transaction is that of its custom data",
        ),
        (
            "INSERT INTO evidence (dispute, id, created, size, text) SELECT id, id, 1, 1, '' FROM disputes",
            "evidence has the size of its files",
        ),
        (
            "INSERT INTO transaction_states (merchant, state, \"transaction\")
             SELECT merchant, 'voided', id FROM transactions WHERE captured > 0",
            "a transaction has no other state",
        ),
        (
            "INSERT INTO day_totals SELECT id, 1, 1, 0, id FROM merchants",
            "the totals of a merchant's days",
        ),
        (
            "INSERT INTO day_totals SELECT id, 1, 0, 1, id FROM merchants",
            "the totals of a merchant's days",
        ),
        (
            "INSERT INTO customs (\"transaction\", custom)
             SELECT id, '{\"reference\":\"5011\"}' FROM transactions WHERE error IS NOT NULL",
            "the reference of a transaction is that of its custom data",
        ),
    ] {
        let place = booked().await;
        assert!(place.change(change) > 0);
        is_found(&place, change).await;
        let (_, report) = place.check().await;
        assert!(report.contains(rule), "{report}");
    }
}

#[tokio::test]
async fn a_value_that_the_service_cannot_read_is_found() {
    let place = booked().await;
    for (table, column, kept) in
        [("transactions", "currency", "DKK"), ("merchants", "fee_flat_currency", "EUR")]
    {
        let set =
            |from, to| format!("UPDATE {table} SET {column} = '{to}' WHERE {column} = '{from}'");
        assert!(place.change(&set(kept, "ZZZ")) > 0);
        let (agrees, report) = place.check().await;
        let found = format!(": stored {table}.{column}, expected a value that");
        assert!(!agrees && report.contains(&found), "{report}");
        place.change(&set("ZZZ", kept));
        place.agrees().await;
    }
}

#[tokio::test]
async fn totals_of_another_day_are_found() {
    // A start counts the lines.
    let service = booked().await.start().await;
    let place = service.data();
    until(async || place.number("SELECT count(*) FROM day_totals") > 0).await;
    let place = service.stop().await;
    place.agrees().await;
    let change = "UPDATE day_totals SET day = day - 1";
    place.change(change);
    is_found(&place, change).await;
}

#[tokio::test]
async fn a_wrong_outbox_entry_is_found() {
    let place = booked().await;
    let insert = "INSERT INTO outbox (id, acquirer, \"transaction\", movement, amount, step)";
    let step = "FROM trail WHERE movement = 'refund'";
    let entry = |acquirer, amount| {
        format!(
            "{insert} SELECT line, '{acquirer}', \"transaction\", movement, {amount}, step {step}"
        )
    };
    place.change(&entry("sandbox", "amount"));
    place.agrees().await;
    for wrong in [entry("sandbox", "amount + 1"), entry("http", "amount")] {
        place.change("DELETE FROM outbox");
        place.change(&wrong);
        is_found(&place, &wrong).await;
    }
}

#[tokio::test]
async fn a_check_since_a_line_reads_only_what_changed() {
    let service = Service::with(&[SECRET]).await;
    let (merchant, transaction) = book(&service).await;
    let line = merchant.list("/lines?limit=1").await.remove(0);
    let line = line["id"].as_str().unwrap();
    let place = service.data();
    let since = async || place.check_since(line).await;
    assert!(place.change("UPDATE captures SET gross = gross + 1 WHERE amount = 900000000") > 0);
    assert!(!place.check().await.0);
    let (agrees, report) = since().await;
    assert!(agrees, "unchanged transactions were read: {report}");

    merchant.pay("EUR", 500).await.capture(200).await;
    let (agrees, report) = since().await;
    assert!(agrees, "the change of another transaction was found: {report}");

    transaction.capture(1).await;
    let (agrees, report) = since().await;
    assert!(!agrees && report.contains(&transaction.id), "the change was not found: {report}");
}

#[tokio::test]
async fn an_invalid_line_id_is_rejected() {
    let place = Stopped::new(&[]);
    for id in ["", "x", &FIRST[1..]] {
        let (agrees, report) = place.check_since(id).await;
        assert!(!agrees && report.contains("24 hexadecimal digits"), "{id}: {report}");
    }
}

#[tokio::test]
async fn a_long_list_of_disagreements_is_truncated() {
    let place = booked().await;
    grow(&place, 150).await;
    place.change("UPDATE captures SET fee = fee + 1");
    let (agrees, report) = place.check().await;
    assert!(!agrees);
    let rule = "the lines of a transaction are its captures";
    assert_eq!(report.lines().filter(|line| line.starts_with(rule)).count(), 101, "{report}");
    let counted = |line: &str| line.starts_with(rule) && line.ends_with(" more");
    assert!(report.lines().any(counted), "{report}");
}

#[tokio::test]
async fn a_check_holds_no_snapshot_for_long() {
    let place = booked().await;
    grow(&place, 3000).await;
    let mut command = place.command();
    command.args(["check", "--slice", "1"]).kill_on_drop(true);
    let mut check = command.spawn().unwrap();
    if place.database().is_some() {
        let slices = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'WITH other_%'";
        process::until(async || place.number(slices) > 0).await;
        let xid = place.number("SELECT pg_current_xact_id()::text::bigint");
        let later = format!("{slices} AND backend_xmin::text::bigint > {xid}");
        process::until(async || place.number(&later) > 0).await;
    } else {
        let db = Connection::open(place.data().join("payments.db")).unwrap();
        db.busy_timeout(Duration::ZERO).unwrap();
        let change = || db.execute_batch("UPDATE clock SET turn = coalesce(turn, 0) + 1").unwrap();
        // Fails while a reader needs the log.
        let cut_log = || {
            let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
            db.query_one(sql, [], |row| row.get::<_, i32>(0)).unwrap() == 0
        };
        process::until(async || {
            change();
            !cut_log()
        })
        .await;
        process::until(async || cut_log()).await;
    }
    assert!(check.try_wait().unwrap().is_none(), "the check has ended");
}

#[tokio::test]
async fn the_time_of_a_check_does_not_grow_quadratically() {
    let grown = async |transactions| {
        let place = booked().await;
        grow(&place, transactions).await;
        place
    };
    let (small, large) = (grown(1_000).await, grown(8_000).await);
    let mut times = Vec::new();
    // Other work on the machine may delay one or two attempts. Quadratic growth delays all three.
    for _ in 0..3 {
        let few = times_of_checks(&small).await;
        let many = times_of_checks(&large).await;
        // Eight times as many transactions. Quadratic growth would take 64 times as long.
        let is_linear =
            |few: Duration, many: Duration| many < 24 * few.max(Duration::from_millis(100));
        if few.into_iter().zip(many).all(|(few, many)| is_linear(few, many)) {
            return;
        }
        times.push((few, many));
    }
    panic!("{times:?}");
}

/// Measures a full check, and a check since the first line.
async fn times_of_checks(place: &Stopped) -> [Duration; 2] {
    let begun = Instant::now();
    place.passes_check().await;
    let full = begun.elapsed();
    let (agrees, report) = place.check_since(FIRST).await;
    assert!(agrees, "{report}");
    [full, begun.elapsed() - full]
}

/// Adds copies of the largest transaction with SQL.
async fn grow(place: &Stopped, copies: u32) {
    let bytes = if place.database().is_some() { "bytea" } else { "BLOB" };
    // Ids of ASCII digits are older than all ids that a service creates.
    let id = |kind: char| {
        let digits = format!("'{kind}00000000000' || CAST(i AS TEXT)");
        let digits =
            format!("substr({digits}, 1, 12 - length(CAST(i AS TEXT))) || CAST(i AS TEXT)");
        format!("CAST({digits} AS {bytes})")
    };
    let (transaction, line) = (id('0'), id('1'));
    let copy = |table: &str, columns: &str, values: &str, rows: &str| {
        place.change(&format!(
            "WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < {copies})
             INSERT INTO {table} ({columns}) SELECT {values} FROM numbers, {rows}"
        ));
    };
    let largest = "(SELECT * FROM transactions WHERE captured = 900000000) AS model";
    let of_largest = |table: &str, key: &str| {
        let line = "SELECT line FROM trail JOIN transactions ON id = \"transaction\" WHERE captured = 900000000";
        let id = "SELECT id FROM transactions WHERE captured = 900000000";
        let ids = if key == "\"transaction\"" { id } else { line };
        format!("(SELECT * FROM {table} WHERE {key} IN ({ids})) AS model")
    };
    // Lines and postings come first: they are selected through the original transaction.
    let rest = "number, account, currency, amount";
    copy(
        "postings",
        &format!("line, {rest}"),
        &format!("{line}, {rest}"),
        &of_largest("postings", "line"),
    );
    let rest = "merchant, created, balance, fee, kind, currency, amount";
    let values = format!("{line}, {transaction}, {rest}");
    copy("lines", &format!("id, \"transaction\", {rest}"), &values, &of_largest("lines", "id"));
    let rest =
        "step, amount, gross, fee, amount_returned, gross_returned, fee_returned, rate, spread";
    let values = format!("{transaction}, {rest}");
    let key = "\"transaction\"";
    copy("captures", &format!("{key}, {rest}"), &values, &of_largest("captures", key));
    let rest = "step, created, movement, amount, balance, fee_flat, fee_rate, descriptor";
    let values = format!("{transaction}, {line}, {rest}");
    copy("trail", &format!("{key}, line, {rest}"), &values, &of_largest("trail", key));
    let values = format!("merchant, 'partly_captured', {transaction}");
    copy("transaction_states", &format!("merchant, state, {key}"), &values, largest);
    let rest = "merchant, test, pending_payment, created, currency, amount, captured, steps, \
        descriptor, tds, recurring, has_custom, captures_once, amount_step";
    copy("transactions", &format!("id, {rest}"), &format!("{transaction}, {rest}"), largest);
    let one = if place.database().is_some() { "shard = 0" } else { "TRUE" };
    place.change(&format!(
        "UPDATE balances SET balance = balance + {copies} * (SELECT max(balance) FROM lines) WHERE {one}"
    ));
    // The new lines are not counted yet.
    place.change("DELETE FROM day_totals");
    place.change(&format!("UPDATE day_cursors SET through = {}", place.bytes(FIRST)));
    place.passes_check().await;
}
