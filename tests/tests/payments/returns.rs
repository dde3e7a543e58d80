//! `returns`: books transfers back that the bank returned or rejected, each once.

use std::{
    fmt::Write as _,
    fs,
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use blackbox::{
    payments::{Merchant, Service, Stopped},
    process,
    soak::rounds,
    stopping::is_stopped,
};
use futures_util::future::join_all;
use roxmltree::Document;
use serde_json::{Value, json};
use tokio::{process::Command, time::sleep};

use crate::{
    live::standing::{hold, release},
    payouts::{DANISH, DEBTOR, funded, merchant, pay_out, payouts_of, transfers},
    reports::{self, CSV_HEADER, Transfer},
    sepa::{pay_by_sepa, texts, validate},
};

/// Payouts in a file that the bank has received. The service is stopped.
struct Paid {
    place: Stopped,
    merchants: Vec<Merchant>,
    /// The end-to-end IDs.
    ids: Vec<String>,
    /// The ID of the file.
    message: String,
    /// The day on which they were booked.
    day: String,
}

/// Pays each of so many merchants 9.45 EUR.
async fn paid(count: usize) -> Paid {
    let service = Service::with(&DEBTOR).await;
    let mut merchants = Vec::new();
    for _ in 0..count {
        merchants.push(funded(&service, Some(DANISH)).await);
    }
    pay(service.stop().await, merchants, "2026-01-01").await
}

async fn pay(place: Stopped, merchants: Vec<Merchant>, day: &str) -> Paid {
    let (file, _) = pay_by_sepa(&place, &["--day", day]).await;
    let document = Document::parse(&file).unwrap();
    let text = |path| texts(&document, path)[0].to_owned();
    let ids = texts(&document, "PmtId/EndToEndId");
    let ids = ids.into_iter().map(str::to_owned).collect();
    let day = text("CreDtTm").split_once('T').unwrap().0.to_owned();
    Paid { place, merchants, ids, message: text("MsgId"), day }
}

impl Paid {
    /// A CSV file of returns. Each has an ID and an amount in euros.
    fn csv(&self, rows: &[(&str, &str)]) -> String {
        let row = |(id, amount): &(&str, &str)| Transfer::new(id, "EUR", amount);
        reports::csv(&self.day, &rows.iter().map(row).collect::<Vec<_>>())
    }

    fn returned_lines(&self) -> i64 {
        self.place.number("SELECT count(*) FROM lines WHERE kind = 'returned'")
    }
}

/// A statement or notification with the return of 9.45 EUR.
fn camt(kind: &str, day: &str, id: &str) -> String {
    reports::camt(kind, day, &[Transfer::new(id, "EUR", "9.45")])
}

/// The status of the file, of its batch and of transfers.
fn pain002(paid: &Paid, group: &str, batch: &str, transfers: &[(&str, &str)]) -> String {
    let transfer = |&(id, status): &(&str, _)| (Transfer::new(id, "", ""), status);
    let transfers: Vec<_> = transfers.iter().map(transfer).collect();
    reports::pain002(&paid.day, &paid.message, [group, batch], &transfers)
}

fn write(place: &Stopped, content: &str) -> PathBuf {
    let path = place.data().join("returns");
    fs::write(&path, content).unwrap();
    path
}

fn command(place: &Stopped, file: &Path) -> Command {
    let mut command = place.command();
    command.args(["returns", "--from"]).arg(file);
    command
}

/// Runs the command. Returns its exit code, what it names, and its last lines.
async fn returns(place: &Stopped, content: &str) -> (i32, String, String) {
    let ended = process::run(command(place, &write(place, content))).await;
    let [named, summary] =
        [ended.stdout, ended.stderr].map(|text| String::from_utf8(text).unwrap());
    (ended.status.code().unwrap(), named, summary)
}

#[tokio::test]
async fn a_file_can_come_through_a_pipe() {
    let paid = paid(2).await;
    let [one, other] = [0, 1].map(|index| &*paid.ids[index]);
    let both = [one, other].map(|id| Transfer::new(id, "EUR", "9.45"));
    for (content, summary) in [
        (paid.csv(&[(one, "9.45")]), "returns: 1 booked, 0 already booked, 0 not booked\n"),
        (
            reports::camt("camt.053", &paid.day, &both),
            "returns: 1 booked, 1 already booked, 0 not booked\n",
        ),
    ] {
        let mut command = command(&paid.place, Path::new("/dev/stdin"));
        let ended = process::run_with(&mut command, &content).await;
        let output = process::output(&ended);
        assert!(ended.status.success() && output.starts_with(summary), "{output}");
    }
    let copies = fs::read_dir(paid.place.data()).unwrap().map(|file| file.unwrap().file_name());
    let copies: Vec<_> =
        copies.filter(|name| name.as_encoded_bytes().starts_with(b".tmp")).collect();
    assert!(copies.is_empty(), "{copies:?}");
}

/// Runs the command, which must explain everything. Returns the first line of its summary.
async fn explained(place: &Stopped, content: &str) -> String {
    let (code, named, summary) = returns(place, content).await;
    assert_eq!((code, &*named), (0, ""), "{summary}");
    summary.lines().next().unwrap().to_owned()
}

/// Books all payouts of a CSV file of `payout` back.
pub(crate) async fn return_all(place: &Stopped, file: &Path) {
    let rows = transfers(&fs::read_to_string(file).unwrap());
    let returned = |row: &Value| {
        let [id, currency, amount] =
            ["id", "currency", "amount"].map(|name| row[name].as_str().unwrap());
        Transfer::new(id, currency, amount)
    };
    let returns: Vec<_> = rows.iter().map(returned).collect();
    explained(place, &reports::csv("2999-12-31", &returns)).await;
}

#[tokio::test]
async fn every_format_books_a_return_once() {
    let paid = paid(4).await;
    let Paid { place, ids, day, .. } = &paid;
    let [statement, notification] =
        [("camt.053", 0), ("camt.054", 1)].map(|(kind, number)| camt(kind, day, &ids[number]));
    let report = pain002(&paid, "PART", "PART", &[(&ids[2], "RJCT"), (&ids[3], "ACSC")]);
    let csv = paid.csv(&[(&ids[3].to_uppercase(), "9.45")]);
    for (content, schema) in [(&statement, "camt.053"), (&notification, "camt.054")] {
        let schema = format!("camt053/xsd/{schema}.001.08.xsd");
        validate(&write(place, content), &schema).await;
    }
    for content in [&statement, &notification, &report, &csv] {
        let summary = explained(place, content).await;
        assert_eq!(summary, "returns: 1 booked, 0 already booked, 0 not booked");
        let summary = explained(place, content).await;
        assert_eq!(summary, "returns: 0 booked, 1 already booked, 0 not booked");
    }
    place.agrees().await;
    let reasons = ["AC04: account closed", "AC04: account closed", "AC01", "AC04"];
    let Paid { place, merchants, ids, .. } = paid;
    let service = place.start().await;
    for ((merchant, id), reason) in merchants.iter().zip(&ids).zip(reasons) {
        let merchant = merchant.by(&merchant.app.at(&service));
        assert_eq!(merchant.sum_of_lines().await, 945);
        let payout = payouts_of(&merchant).await.remove(0);
        let line = merchant.list("/lines?limit=1").await.remove(0);
        let created = &line["created"];
        let returned = json!({ "created": created, "lineId": line["id"], "reason": reason });
        assert_eq!((&payout["id"], &payout["returned"]), (&json!(id), &returned));
        let expected = json!({
            "id": line["id"],
            "created": created,
            "merchantId": merchant.id,
            "test": true,
            "balance": 945,
            "fee": 0,
            "amount": { "currency": "EUR", "amount": 945 },
            "payout": true,
            "returned": true,
        });
        assert_eq!(line, expected);
        let query = format!("/events?limit=10&filter[merchantId]={}", merchant.id);
        let events = merchant.app.list(&query).await;
        let types: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
        assert_eq!(types[..3], ["merchant.held", "payout.returned", "payout.booked"]);
        assert_eq!(events[1]["data"], json!({ "payout": payout }));
        assert_eq!(events[2]["data"]["payout"]["returned"], Value::Null);
    }
}

#[tokio::test]
async fn the_next_payout_pays_what_came_back() {
    let paid = paid(1).await;
    explained(&paid.place, &paid.csv(&[(&paid.ids[0], "9.45")])).await;
    let service = paid.place.start().await;
    let merchant = paid.merchants[0].by(&paid.merchants[0].app.at(&service));
    merchant.pay("EUR", 995).await.capture(995).await;
    // The account may be wrong.
    let held = merchant.fetch().await["held"].clone();
    assert_eq!((&held["payments"], &held["payouts"]), (&json!(false), &json!(true)));
    assert_eq!(held["reason"], format!("the bank returned payout {}", paid.ids[0]));
    let pay = ["--test", "--day", "2026-01-02"];
    assert_eq!(transfers(&pay_out(service.data(), &pay).await), Vec::<Value>::new());
    release(service.data(), &merchant).await;
    let rows = transfers(&pay_out(service.data(), &pay).await);
    assert_eq!((rows.len(), &rows[0]["amount"]), (1, &json!("18.90")));
    let payouts = payouts_of(&merchant).await;
    assert_eq!((payouts.len(), &payouts[0]["returned"]), (2, &Value::Null));
    let lines = format!("/payouts/{}/lines?limit=10", payouts[0]["id"].as_str().unwrap());
    let lines = merchant.app.list(&lines).await;
    assert_eq!((lines.len(), &lines[1]["returned"]), (2, &json!(true)), "{lines:#?}");
    // The first payout is booked back once, whatever was paid since.
    let place = service.stop().await;
    let again = format!("{CSV_HEADER}{},9.45,EUR,,{}", paid.ids[0], paid.day);
    assert_eq!(
        explained(&place, &again).await,
        "returns: 0 booked, 1 already booked, 0 not booked"
    );
    place.agrees().await;
}

#[tokio::test]
async fn a_repeated_payout_says_that_its_file_has_transfers_that_are_booked_back() {
    let paid = paid(3).await;
    let again = async || {
        let file = paid.place.data().join("transfers.xml");
        let mut command = paid.place.command();
        command.args(["payout", "--test", "--day", "2026-01-01", "--pain001"]).arg(&file);
        let ended = process::run(command).await;
        let stderr = String::from_utf8(ended.stderr).unwrap();
        (ended.status.code(), stderr, fs::read_to_string(&file).unwrap())
    };
    let closed = "payout: 2026-01-01, pain001: closed before with 3 transfers, EUR 28.35; merchants \
                  that wait for another day: 0\n";
    let (code, stderr, file) = again().await;
    assert_eq!((code, &*stderr), (Some(0), closed));
    for (id, count) in
        [(&paid.ids[0], "1 transfer, EUR 9.45"), (&paid.ids[2], "2 transfers, EUR 18.90")]
    {
        explained(&paid.place, &paid.csv(&[(id, "9.45")])).await;
        let (code, stderr, same) = again().await;
        let line =
            format!("payout: 2026-01-01, pain001: booked back: {count}; do not send this file\n");
        assert!(stderr.contains(&line), "{stderr}");
        assert_eq!((code, same), (Some(1), file.clone()));
    }
}

/// The hold of payments may have a graver reason, such as fraud.
#[tokio::test]
async fn a_return_keeps_the_reason_of_a_hold() {
    let paid = paid(1).await;
    hold(&paid.place, &paid.merchants[0], &["--payments"]).await;
    explained(&paid.place, &paid.csv(&[(&paid.ids[0], "9.45")])).await;
    let service = paid.place.start().await;
    let merchant = paid.merchants[0].by(&paid.merchants[0].app.at(&service));
    let held = merchant.fetch().await["held"].clone();
    let held = ["payments", "payouts", "reason"].map(|name| held[name].clone());
    assert_eq!(held, [json!(true), json!(true), json!("stolen cards")]);
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn what_does_not_fit_a_payout_is_named_and_not_booked() {
    let paid = paid(2).await;
    let Paid { place, ids, day, .. } = &paid;
    let [id, other] = [&*ids[0], &*ids[1]];
    let unknown = "f".repeat(24);
    let rows = [
        format!("{unknown},9.45,EUR,AC04,{day}"),
        format!("=1+1,9.45,EUR,AC04,{day}"),
        format!(",9.45,EUR,AC04,{day}"),
        format!("{id},9.44,EUR,AC04,{day}"),
        format!("{id},9.46,EUR,AC04,{day}"),
        format!("{id},9.45,USD,AC04,{day}"),
        format!("{id},9.45,EUR,AC04,2026-01-01"),
        format!("{id},9.455,EUR,AC04,{day}"),
        format!("{id},9.45,euro,AC04,{day}"),
        format!("{id},9.45,EUR,AC04,yesterday"),
        format!("{id},9.45,EUR,AC04"),
    ];
    let (code, named, summary) =
        returns(place, &format!("{CSV_HEADER}{}\n", rows.join("\n"))).await;
    assert_eq!(code, 1, "{summary}");
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(named.as_bytes());
    let named: Vec<Vec<String>> = reader.deserialize().map(Result::unwrap).collect();
    assert_eq!(named[0], ["kind", "line", "end_to_end_id", "here", "there"]);
    for (row, expected) in named[1..].iter().zip([
        ["missing-here", "2", &unknown, "", "EUR 9.45"],
        ["missing-here", "3", "\"=1+1\"", "", "EUR 9.45"],
        ["missing-here", "4", "", "", "EUR 9.45"],
        ["amount", "5", id, "EUR 9.45", "EUR 9.44"],
        ["amount", "6", id, "EUR 9.45", "EUR 9.46"],
        ["currency", "7", id, "EUR 9.45", "USD 9.45"],
        ["date", "8", id, day, "2026-01-01"],
        ["malformed-amount", "9", id, "must be", "\"9.455\""],
        ["malformed-currency", "10", id, "must be", "\"euro\""],
        ["malformed-date", "11", id, "must be", "\"yesterday\""],
        ["malformed-row", "12", "", "must have 5 columns", "\"4 columns\""],
    ]) {
        assert_eq!((&row[..3], &*row[4]), (&expected.map(str::to_owned)[..3], expected[4]));
        assert!(row[3].starts_with(expected[3]), "{row:?}");
    }
    assert_eq!((named.len(), paid.returned_lines()), (12, 0));
    assert_eq!(summary, "returns: 0 booked, 0 already booked, 11 not booked\n");

    // Of two returns in one file, the first is booked. Others of the file are booked, too.
    let twice = paid.csv(&[(id, "9.45"), (id, "9.45"), (other, "9.45"), (id, "1.00")]);
    for counts in ["2 booked, 0 already booked", "0 booked, 2 already booked"] {
        let (code, named, summary) = returns(place, &twice).await;
        assert_eq!(
            named,
            format!(
                "kind,line,end_to_end_id,here,there\ntwice,3,{id},,\namount,5,{id},EUR 9.45,EUR 1.00\n"
            )
        );
        assert_eq!((code, summary), (1, format!("returns: {counts}, 2 not booked\n")));
    }
    assert_eq!(paid.returned_lines(), 2);
    place.agrees().await;
}

#[tokio::test]
async fn a_return_before_its_payout_is_in_the_books_is_named() {
    let paid = paid(1).await;
    let Paid { place, ids, day, .. } = &paid;
    let [id, other] = [&*ids[0], &"e".repeat(24)].map(|id| place.bytes(id));
    let statement = camt("camt.053", day, &ids[0]);
    // As before the commit of the payout, or after the restore of an older backup.
    let hide = |from: &str, to: &str| {
        assert_eq!(place.change(&format!("UPDATE payouts SET id = {to} WHERE id = {from}")), 1);
    };
    hide(&id, &other);
    let (code, named, _) = returns(place, &statement).await;
    assert_eq!((code, paid.returned_lines()), (1, 0));
    assert!(named.contains(&format!("missing-here,11,{},,EUR 9.45\n", ids[0])), "{named}");
    hide(&other, &id);
    assert!(explained(place, &statement).await.contains(" 1 booked"));
    place.agrees().await;
}

#[tokio::test]
async fn a_rejected_file_rejects_all_its_transfers() {
    let Paid { place, mut merchants, ids: others, .. } = paid(1).await;
    let service = place.start().await;
    for _ in 0..2 {
        merchants.push(funded(&service, Some(DANISH)).await);
    }
    let krone = merchant(&service, "DKK", Some("Corner shop"), Some(DANISH)).await;
    krone.pay("DKK", 9950).await.capture(9950).await;
    let place = service.stop().await;
    let paid = pay(place, merchants, "2026-01-02").await;
    let Paid { place, ids, .. } = &paid;
    // Those of the CSV file of the day are in another file.
    assert_eq!(transfers(&pay_out(place, &["--test", "--day", "2026-01-02"]).await).len(), 1);
    assert_eq!(ids.len(), 2);
    let transfer = [(&*ids[1], "RJCT")];
    let group = pain002(&paid, "RJCT", "RJCT", &transfer);
    let unknown = [&*paid.message, &others[0], "20260102"]
        .map(|message| group.replace(&paid.message, &message.replace(&*ids[0], &ids[1])));
    for content in unknown {
        let without_transfers = content.split("<TxInfAndSts>").next().unwrap();
        let content =
            format!("{without_transfers}</OrgnlPmtInfAndSts></CstmrPmtStsRpt></Document>");
        let (code, named, summary) = returns(place, &content).await;
        assert_eq!((code, named.matches("missing-file,").count()), (1, 2), "{named} {summary}");
    }
    assert_eq!(paid.returned_lines(), 0);
    let batch = pain002(&paid, "PART", "RJCT", &transfer);
    for (content, counts) in [
        (&batch, "2 booked, 0 already booked"),
        (&batch, "0 booked, 2 already booked"),
        (&group, "0 booked, 2 already booked"),
    ] {
        let summary = explained(place, content).await;
        assert_eq!(summary, format!("returns: {counts}, 0 not booked"));
    }
    let reasons = "SELECT count(*) FROM payouts WHERE returned IS NOT NULL AND return_reason";
    assert_eq!(place.number(&format!("{reasons} = 'AC01'")), 1);
    assert_eq!(place.number(&format!("{reasons} IS NULL")), 1);
    let other = place.bytes(&others[0]);
    let kept = format!("SELECT count(*) FROM payouts WHERE id = {other} AND returned IS NULL");
    assert_eq!(place.number(&kept), 1);
    place.agrees().await;
}

#[tokio::test]
async fn a_file_that_is_broken_anywhere_books_nothing() {
    let paid = paid(1).await;
    let Paid { place, ids, day, .. } = &paid;
    let statement = camt("camt.053", day, &ids[0]);
    let bomb = "<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><Document";
    let missing = place.data().join("missing");
    let ended = process::run(command(place, &missing)).await;
    assert_eq!(ended.status.code(), Some(2), "{}", process::output(&ended));
    for (content, expected) in [
        (statement.replacen("<Document", bomb, 1), "it has a document type definition"),
        (statement.replace("</BkToCstmrStmt>", "&a;</BkToCstmrStmt>"), "it refers to an entity"),
        (statement.replace("</Document>", ""), "it ends too early"),
        (statement.replace("053.001.08", "053.001.02"), "it is none of camt.053.001.08"),
        (format!("{statement}{}", "x".repeat(100_000)), "longer than 65536 bytes"),
        ("a,b\n".to_owned(), "its first line is not end_to_end_id,"),
        (format!("{}\"{}", paid.csv(&[(&ids[0], "9.45")]), "x".repeat(100_000)), "a quote"),
    ] {
        let (code, named, message) = returns(place, &content).await;
        assert_eq!((code, &*named), (2, ""), "{message}");
        assert!(message.contains(expected) && message.lines().count() == 1, "{message}");
    }
    assert_eq!(paid.returned_lines(), 0);
    place.agrees().await;
}

#[tokio::test]
async fn concurrent_runs_book_a_return_once() {
    let paid = paid(8).await;
    let rows: Vec<_> = paid.ids.iter().map(|id| (&**id, "9.45")).collect();
    let file = write(&paid.place, &paid.csv(&rows));
    let runs = (0..4).map(async |_| process::run(command(&paid.place, &file)).await);
    let (mut booked, mut summaries) = (0, String::new());
    for ended in join_all(runs).await {
        let summary = String::from_utf8(ended.stderr).unwrap();
        writeln!(summaries, "{summary}").unwrap();
        match ended.status.code() {
            Some(0) => {
                let number = summary.split(' ').nth(1).unwrap();
                booked += number.parse::<usize>().unwrap();
            }
            // On SQLite, another run holds the directory.
            code => assert_eq!(code, Some(3), "{summary}"),
        }
    }
    assert_eq!(booked, 8, "{summaries}");
    assert_eq!(paid.returned_lines(), 8);
    paid.place.agrees().await;
}

/// A file of a bank with many customers: payments, and few returns.
fn large(paid: &Paid, mebibytes: usize) -> PathBuf {
    let path = paid.place.data().join("returns");
    let mut file = BufWriter::new(fs::File::create(&path).unwrap());
    let statement = camt("camt.053", &paid.day, &paid.ids[0]);
    let (begin, end) = statement.split_once("<Ntry>").unwrap();
    file.write_all(begin.as_bytes()).unwrap();
    let entries = format!("<Ntry>{}", end.split_once("<Ntry>").unwrap().0);
    let mut written = 0;
    while written < mebibytes * 1024 * 1024 {
        file.write_all(entries.as_bytes()).unwrap();
        written += entries.len();
    }
    // Returns of other services, which are named.
    for number in 0..2_000 {
        let other = camt("camt.053", &paid.day, &format!("{number:024}"));
        let returned = other.rsplit_once("<Ntry>").unwrap().1.split_once("</Ntry>").unwrap().0;
        write!(file, "<Ntry>{returned}</Ntry>").unwrap();
    }
    write!(file, "<Ntry>{end}").unwrap();
    path
}

/// Runs the command. Returns its exit code, and the peak of its memory in MiB.
async fn peak(place: &Stopped, file: &Path) -> (Option<i32>, u64) {
    let mut child = command(place, file).stdout(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id().unwrap());
    let mut peak = 0;
    loop {
        if let Some(ended) = child.try_wait().unwrap() {
            return (ended.code(), peak);
        }
        // Without this line, the process has ended.
        let status = fs::read_to_string(&status).unwrap_or_default();
        if let Some(line) = status.lines().find_map(|line| line.strip_prefix("VmHWM:")) {
            let kib: u64 = line.trim().strip_suffix(" kB").unwrap().parse().unwrap();
            peak = kib / 1024;
        }
        sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_large_file_needs_little_memory() {
    let paid = paid(1).await;
    let place = &paid.place;
    let (code, base) = peak(place, &write(place, &paid.csv(&[]))).await;
    assert_eq!(code, Some(0));
    let file = large(&paid, rounds(10, 100));
    let message = "interrupted: not every return is booked; run the command again";
    assert!(is_stopped(command(place, &file), "INT", Duration::from_millis(500), message).await);
    assert_eq!(paid.returned_lines(), 0);
    let (code, most) = peak(place, &file).await;
    assert_eq!((code, paid.returned_lines()), (Some(1), 1));
    assert!(most < base + 64, "{most} MiB, {base} MiB with an empty file");
    place.agrees().await;
}
