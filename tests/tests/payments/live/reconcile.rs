//! `reconcile`: the settlement file of demo-acquirer against the books, with every kind of fault.

use std::{fs, process::Output};

use blackbox::{
    acquirer::today,
    payments::{Acquirer as Notifier, Stopped, Transaction},
    process::{self, DEADLINE},
};
use jiff::Timestamp;
use serde_json::json;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader},
    time::timeout,
};

use super::Live;
use crate::rates::published_of;

mod faults;
mod stripe;

pub(crate) const HEADER: &str = "operation,type,transactionId,currency,amount,fee,settled";

/// The columns of a settlement file.
const OPERATION: usize = 0;
const TYPE: usize = 1;
const TRANSACTION: usize = 2;
const CURRENCY: usize = 3;
const AMOUNT: usize = 4;
const FEE: usize = 5;
const SETTLED: usize = 6;

type Row = [String; 7];

/// The tariff of demo-acquirer.
const TARIFF: [&str; 2] = ["--acquirer-fee-rate", "0.01"];

/// The key that the tests give to a capture at the sandbox.
const SANDBOX: &str = "ffffffffffffffffffffffff";

/// The rows of [`Settled::rows`].
const CAPTURE: usize = 0;
const REFUND: usize = 1;
const OTHER: usize = 2;
const YEN: usize = 3;

/// A live merchant, and what its acquirer has settled.
struct Settled {
    live: Live,
    _rates: TempDir,
    /// The correct file: a capture of 6.00 EUR and its refund of 2.50, one of 20.00 EUR, one of 1000
    /// JPY.
    rows: Vec<Row>,
    /// A capture that the acquirer settled before it refused it.
    refused: Row,
    /// A capture that is settled but not confirmed.
    unconfirmed: Row,
    void: Row,
    sandbox: Row,
}

/// The result of `reconcile`.
#[derive(Debug)]
pub(crate) struct Compared {
    pub(crate) code: Option<i32>,
    /// The differences, without the header.
    differences: Vec<Vec<String>>,
    stderr: String,
}

/// Runs the command on a file with this content.
pub(crate) async fn reconcile(
    place: &Stopped,
    file: impl AsRef<[u8]>,
    options: &[&str],
) -> Compared {
    let path = place.data().join("settlement.csv");
    fs::write(&path, file).unwrap();
    let mut command = place.command();
    command.arg("reconcile").arg("--from").arg(&path).args(options);
    let Output { status, stdout, stderr } = process::run(command).await;
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(&*stdout);
    let rows = reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect());
    let mut differences: Vec<Vec<String>> = rows.collect();
    if !differences.is_empty() {
        let header = differences.remove(0);
        assert_eq!(header, ["kind", "line", "operation", "transaction", "here", "there"]);
    }
    let stderr = String::from_utf8(stderr).unwrap();
    Compared { code: status.code(), differences, stderr }
}

fn csv(rows: &[Row]) -> String {
    let rows = rows.iter().map(|row| format!("{}\r\n", row.join(",")));
    format!("{HEADER}\r\n{}", rows.collect::<String>())
}

/// A row of the file with this index, as an expected difference.
fn difference(kind: &str, index: usize, row: &Row, values: [&str; 2]) -> Vec<String> {
    let line = (index + 2).to_string();
    let [here, there] = values;
    [kind, &line, &row[OPERATION], &row[TRANSACTION], here, there].map(str::to_owned).to_vec()
}

fn described(row: &Row) -> String {
    format!("{} {} {}", row[TYPE], row[CURRENCY], row[AMOUNT])
}

impl Settled {
    async fn new() -> Self {
        let begin = today();
        let directory = tempfile::tempdir().unwrap();
        let rates = published_of(&[("JPY", "170")], &directory, 0, Timestamp::now());
        let live = Live::with(&[("PAYMENTS_RATES_FILE", &rates)]).await;
        let paid = live.pay(1000).await;
        paid.capture(600).await;
        paid.refund(250).await;
        paid.void(400).await;
        live.pay(2000).await.capture(2000).await;
        let mut yen = live.payment(blackbox::acquirer::card::VISA, 1000);
        yen["currency"] = json!("JPY");
        let yen = live.merchant.charge(&yen).await.expect(201);
        live.merchant.transaction(&yen).capture(1000).await;
        let refused = live.pay(300).await;
        refused.capture(300).await;
        live.settled().await;
        live.acquirer.rules(json!([{ "kind": "capture", "fault": "drop" }])).await;
        let unconfirmed = live.pay(700).await;
        unconfirmed.capture(700).await;
        let key = |book: &serde_json::Value, kind: &str, transaction: &Transaction| {
            let operations = book["operations"].as_array().unwrap().iter();
            let mut known = operations.filter(|known| known["kind"] == kind);
            let is_done = |known: &&serde_json::Value| {
                known["transactionId"] == json!(transaction.id) && known["executed"] == 1
            };
            let known = known.find(is_done)?;
            Some(known["key"].as_str().unwrap().to_owned())
        };
        live.acquirer.until(|book| key(book, "capture", &unconfirmed).is_some()).await;

        let file = live.acquirer.settlement_since(begin).await;
        let lines = file.lines().skip(1).map(|line| line.split(',').map(str::to_owned));
        let rows = lines.map(|line| Row::try_from(line.collect::<Vec<_>>()).unwrap());
        let mut rows: Vec<_> = rows.collect();
        rows.sort_by_key(|row| (row[TRANSACTION].clone(), row[TYPE].clone()));
        let [unconfirmed, refused] = [&unconfirmed, &refused].map(|transaction| {
            let row = rows.pop().unwrap();
            assert_eq!(row[TRANSACTION], transaction.id);
            (row, transaction.clone())
        });
        let unconfirmed = unconfirmed.0;
        let (refused, transaction) = refused;
        let members = json!({ "operation": refused[OPERATION], "reason": "the account is closed" });
        let event = Notifier::event("operation.refused", &transaction, members);
        let _ = Notifier(&live.service).notify(&event).await.expect(204);

        let void = key(&live.acquirer.book().await, "void", &paid).unwrap();
        let mut void = with(&rows[CAPTURE], OPERATION, &void);
        void[AMOUNT] = "4.00".to_owned();
        let tested = live.merchant.app.merchant("EUR").await.pay("EUR", 600).await;
        tested.capture(600).await;
        let place = live.service.data();
        let [key, id] = [SANDBOX, &tested.id].map(|digits| place.bytes(digits));
        place
            .change(&format!("UPDATE trail SET acquirer_key = {key} WHERE \"transaction\" = {id}"));
        let sandbox = with(&with(&rows[CAPTURE], OPERATION, SANDBOX), TRANSACTION, &tested.id);
        Self { live, _rates: directory, rows, refused, unconfirmed, void, sandbox }
    }

    /// Runs the command on a file with this content.
    async fn reconcile(&self, file: impl AsRef<[u8]>, options: &[&str]) -> Compared {
        reconcile(self.live.service.data(), file, options).await
    }

    /// Checks that the file has exactly these differences.
    async fn finds(&self, name: &str, file: impl AsRef<[u8]>, expected: &[Vec<String>]) {
        let compared = self.reconcile(&file, &TARIFF).await;
        assert_eq!(compared.code, Some(1), "{name}: {compared:?}");
        assert_eq!(compared.differences, expected, "{name}");
        let count = format!("reconcile: {} differences, ", expected.len());
        assert!(compared.stderr.starts_with(&count), "{name}: {compared:?}");
    }

    /// The correct rows with one value changed.
    fn changed(&self, index: usize, column: usize, value: &str) -> Vec<Row> {
        let mut rows = self.rows.clone();
        rows[index][column] = value.to_owned();
        rows
    }

    /// The correct rows and a further one.
    fn and(&self, row: &Row) -> Vec<Row> {
        [&*self.rows, std::slice::from_ref(row)].concat()
    }
}

/// A row with one value changed.
fn with(row: &Row, column: usize, value: &str) -> Row {
    let mut row = row.clone();
    row[column] = value.to_owned();
    row
}

/// The sums of the correct file.
const SUMS: [&str; 5] = [
    "reconcile: 0 differences, 4 rows",
    "reconcile: EUR here: captures 26.00, refunds 2.50, fees 0.26, net 23.24",
    "reconcile: EUR there: captures 26.00, refunds 2.50, fees 0.26, net 23.24",
    "reconcile: JPY here: captures 1000, refunds 0, fees 10, net 990",
    "reconcile: JPY there: captures 1000, refunds 0, fees 10, net 990",
];

#[tokio::test]
async fn a_correct_settlement_file_has_no_difference() {
    let settled = Settled::new().await;
    let file = csv(&settled.rows);
    let mut reversed = settled.rows.clone();
    reversed.reverse();
    let quoted = settled.rows.iter().map(|row| format!("\"{}\"\n", row.join("\",\"")));
    for file in [
        file.clone(),
        file.replace("\r\n", "\n"),
        file.replace("\r\n", "\r\n\r\n"),
        file.trim_end().to_owned(),
        format!("\u{feff}{file}"),
        csv(&reversed),
        format!("{HEADER}\n{}", quoted.collect::<String>()),
    ] {
        let compared = settled.reconcile(&file, &TARIFF).await;
        assert_eq!(compared.code, Some(0), "{file} {compared:?}");
        assert!(compared.differences.is_empty(), "{file} {compared:?}");
        assert_eq!(compared.stderr.lines().collect::<Vec<_>>(), SUMS);
    }
    let untaxed = settled.reconcile(&file, &[]).await;
    assert_eq!(untaxed.code, Some(0), "{untaxed:?}");
    assert!(untaxed.stderr.contains("EUR here: captures 26.00, refunds 2.50\n"), "{untaxed:?}");
}

#[tokio::test]
async fn the_period_says_which_operations_must_be_in_the_file() {
    let settled = Settled::new().await;
    let [yesterday, tomorrow] = [today().yesterday(), today().tomorrow()].map(Result::unwrap);
    let [before, after] = [yesterday.yesterday(), tomorrow.tomorrow()].map(Result::unwrap);
    let [yesterday, tomorrow, before, after] =
        [yesterday, tomorrow, before, after].map(|day| day.to_string());
    let all = settled.rows.len();
    for (options, missing) in [
        (&[][..], all),
        (&["--since", &yesterday], all),
        (&["--until", &tomorrow], all),
        (&["--since", &yesterday, "--until", &tomorrow], all),
        (&["--since", &after], 0),
        (&["--until", &before], 0),
        (&["--day", &before], 0),
    ] {
        let compared = settled.reconcile(csv(&[]), options).await;
        let kinds: Vec<_> = compared.differences.iter().map(|row| &*row[0]).collect();
        assert_eq!(kinds, vec!["missing-there"; missing], "{options:?}");
        // A row outside of the period is compared as every other one.
        let wrong = settled.changed(CAPTURE, AMOUNT, "6.01");
        let compared = settled.reconcile(csv(&wrong), options).await;
        let kinds: Vec<_> = compared.differences.iter().map(|row| &*row[0]).collect();
        assert_eq!(kinds, ["amount"], "{options:?}");
    }
}

#[tokio::test]
async fn a_file_that_is_no_settlement_file_is_an_error() {
    let settled = Settled::new().await;
    let rows = csv(&settled.rows);
    let columns = format!("its first line must be {HEADER}");
    let endless = format!("{rows}\"{}", "x".repeat(100_000));
    let other = rows.replace("settled", "date");
    let bare = rows.split_once("\r\n").unwrap().1;
    for (file, options, reason) in [
        ("", &[][..], &*columns),
        (bare, &[], &columns),
        (&other, &[], &columns),
        (&endless, &[], "a row is longer than 65536 bytes: look for a quote that is not closed"),
        (&rows, &["--format", "stripe"], "it must also have balance_transaction_id, created_utc"),
        (&rows, &["--format", "xml"], "--format"),
        (&rows, &["--day", "2026-11-22", "--until", "2026-11-22"], "--until"),
        (&rows, &["--acquirer-fee-rate", "1.5"], "--acquirer-fee-rate"),
        (&rows, &["--acquirer-fee-flat", "25"], "--acquirer-fee-flat"),
    ] {
        let compared = settled.reconcile(file, options).await;
        assert_eq!(compared.code, Some(2), "{options:?} {compared:?}");
        assert!(compared.stderr.starts_with("error: "), "{compared:?}");
        assert!(compared.stderr.contains(reason), "{options:?} {compared:?}");
        assert_eq!(compared.stderr.lines().count(), 1, "{compared:?}");
        assert!(compared.differences.is_empty(), "{compared:?}");
    }
    let mut command = settled.live.service.data().command();
    command.args(["reconcile", "--from", "/nowhere/settlement.csv"]);
    assert!(
        process::failure_line(command).await.contains("\"/nowhere/settlement.csv\" cannot be read")
    );
}

#[tokio::test]
async fn a_settlement_file_can_come_through_a_pipe() {
    let place = Stopped::new(&[]).start().await.stop().await;
    let mut command = place.command();
    command.args(["reconcile", "--from", "/dev/stdin"]);
    let ended = process::run_with(&mut command, &format!("{HEADER}\n")).await;
    assert_eq!(process::output(&ended), "reconcile: 0 differences, 0 rows\n");
}

#[tokio::test]
async fn a_reconciliation_that_is_stopped_says_so() {
    let settled = Settled::new().await;
    // More differences than a pipe holds: the command waits until somebody reads them.
    let wrong = with(&settled.rows[CAPTURE], AMOUNT, "wrong");
    let path = settled.live.service.data().data().join("settlement.csv");
    fs::write(&path, csv(&vec![wrong; 10_000])).unwrap();
    let mut command = settled.live.service.data().command();
    let mut child = command.arg("reconcile").arg("--from").arg(&path).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    timeout(DEADLINE, output.read_line(&mut line)).await.unwrap().unwrap();
    let kill = format!("kill -TERM {}", child.id().unwrap());
    assert!(
        tokio::process::Command::new("sh").args(["-c", &kill]).status().await.unwrap().success()
    );
    let mut rest = String::new();
    timeout(DEADLINE, output.read_to_string(&mut rest)).await.unwrap().unwrap();
    let ended = timeout(DEADLINE, child.wait_with_output()).await.unwrap().unwrap();
    let error = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(130), "{error}");
    assert!(error.ends_with("error: interrupted: not every operation was compared\n"), "{error}");
    assert!(rest.lines().count() < 10_000);
}

/// The captures that the tests add to the books.
const MANY: usize = 30_000;

#[tokio::test]
async fn a_settlement_file_of_many_rows_is_compared() {
    let settled = Settled::new().await;
    let (place, other) = (settled.live.service.data(), &settled.rows[OTHER]);
    let (numbers, key) = match place.database() {
        Some(_) => (
            format!("generate_series(1, {MANY}) AS numbers (number)"),
            "decode(lpad(to_hex(number), 24, '0'), 'hex')",
        ),
        None => (
            format!(
                "(WITH RECURSIVE numbers (number) AS (
                     SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < {MANY}
                 ) SELECT number FROM numbers) AS numbers"
            ),
            "unhex(printf('%024x', number))",
        ),
    };
    let added = place.change(&format!(
        "INSERT INTO trail (\"transaction\", step, created, movement, amount, balance, fee_flat,
             fee_rate, acquirer_key)
         SELECT \"transaction\", number, created, movement, 100, 0, 0, 0, {key}
         FROM trail, {numbers} WHERE \"transaction\" = {}",
        place.bytes(&other[TRANSACTION])
    ));
    assert_eq!(added, MANY);
    let mut file = csv(&settled.rows);
    for number in 1..=MANY {
        let amount = if number == 777 { "1.01" } else { "1.00" };
        let key = format!("{number:024x}");
        let row = with(&with(&with(other, OPERATION, &key), AMOUNT, amount), FEE, "0.01");
        file.push_str(&row.join(","));
        file.push('\n');
    }
    let compared = settled.reconcile(&file, &TARIFF).await;
    let wrong = with(other, OPERATION, &format!("{:024x}", 777));
    let expected = difference("amount", 3 + 777, &wrong, ["EUR 1.00", "EUR 1.01"]);
    assert_eq!(compared.differences, [expected], "{}", compared.stderr);
    assert!(compared.stderr.contains("EUR there: captures 30026.01, "), "{}", compared.stderr);
}
