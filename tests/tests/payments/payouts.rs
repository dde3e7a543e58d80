//! `payout`: transfers the balances of merchants to their bank accounts, exactly once.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use blackbox::{
    payments::{Merchant, Refusal as _, Service, Stopped, int, minimal},
    process::{self, until},
    soak::rounds,
};
use jiff::{ToSpan as _, civil::Date};
use serde_json::{Value, json};
use tokio::{
    task::JoinSet,
    time::{Duration, sleep},
};

use crate::{books::FIRST, live::standing};

pub(crate) const DANISH: &str = "DK5000400440116243";
pub(crate) const GERMAN: &str = "DE89370400440532013000";

/// Creates a test merchant with this currency, name and bank account.
pub(crate) async fn merchant(
    service: &Service,
    currency: &str,
    name: Option<&str>,
    iban: Option<&str>,
) -> Merchant {
    let mut body = minimal();
    body["test"] = true.into();
    body["currency"] = currency.into();
    body["name"] = name.into();
    if let Some(iban) = iban {
        body["bank"] = json!({ "iban": iban });
    }
    service.app().await.merchant_with(&body).await
}

/// Creates a merchant with a balance of `995 - 25 - 25` cents.
pub(crate) async fn funded(service: &Service, iban: Option<&str>) -> Merchant {
    let merchant = merchant(service, "EUR", Some("Corner shop"), iban).await;
    merchant.pay("EUR", 995).await.capture(995).await;
    merchant
}

/// The settings of the account that pays.
pub(crate) const DEBTOR: [(&str, &str); 3] = [
    ("PAYMENTS_PAYOUT_NAME", "Example Payments Ltd."),
    ("PAYMENTS_PAYOUT_IBAN", "ie64 irce 9205 0112 3456 78"),
    ("PAYMENTS_PAYOUT_BIC", "irceie2d"),
];

/// The path of the payout file, beside the data.
fn file(place: &Stopped) -> PathBuf {
    place.data().join("transfers.csv")
}

/// Runs a payout, which must succeed, and returns the content of its file.
pub(crate) async fn pay_out(place: &Stopped, options: &[&str]) -> String {
    let (succeeded, stderr) = try_to_pay_out(place, options, "--csv", &file(place)).await;
    assert!(succeeded, "{stderr}");
    fs::read_to_string(file(place)).unwrap()
}

/// `format` is the option that names the file. Returns whether it succeeded, and standard error.
pub(crate) async fn try_to_pay_out(
    place: &Stopped,
    options: &[&str],
    format: &str,
    to: &Path,
) -> (bool, String) {
    let mut command = place.command();
    command.arg("payout").args(options).arg(format).arg(to);
    let ended = process::run(command).await;
    (ended.status.success(), String::from_utf8(ended.stderr).unwrap())
}

/// Parses the transfers in a file into objects with a member for each column.
pub(crate) fn transfers(file: &str) -> Vec<Value> {
    let mut reader = csv::Reader::from_reader(file.as_bytes());
    let names = reader.headers().unwrap().clone();
    let expected = ["id", "merchant", "name", "iban", "currency", "amount", "reference"];
    assert_eq!(names, expected[..]);
    let row = |row: csv::StringRecord| {
        let columns = names.iter().zip(row.iter());
        columns.map(|(name, value)| (name.to_owned(), Value::from(value))).collect::<Value>()
    };
    reader.records().map(|record| row(record.unwrap())).collect()
}

/// As in a container, whose `/dev/stdout` is a pipe of the client.
#[tokio::test]
async fn the_file_can_be_a_pipe() {
    let service = Service::with(&[]).await;
    funded(&service, Some(DANISH)).await;
    for paid in [1, 1, 0] {
        let mut command = service.data().command();
        let day = if paid == 0 { "2026-01-02" } else { "2026-01-01" };
        command.args(["payout", "--test", "--day", day, "--csv", "/proc/self/fd/1"]);
        let ended = process::run(command).await;
        assert!(ended.status.success(), "{}", process::output(&ended));
        assert_eq!(transfers(str::from_utf8(&ended.stdout).unwrap()).len(), paid);
    }
}

#[tokio::test]
async fn only_merchants_with_money_and_an_account_are_paid() {
    let service = Service::with(&[]).await;
    let paid = funded(&service, Some("dk50 0040 0440 1162 43")).await;
    let other = funded(&service, Some(GERMAN)).await;
    let without_account = funded(&service, None).await;
    let without_money = merchant(&service, "EUR", None, Some(GERMAN)).await;
    let in_debt = merchant(&service, "EUR", None, Some(GERMAN)).await;
    in_debt.pay("EUR", 10).await.capture(10).await;

    let rows = transfers(&pay_out(service.data(), &["--test"]).await);
    assert_eq!(rows.len(), 2, "{rows:?}");
    for (row, merchant, iban) in [(&rows[0], &paid, DANISH), (&rows[1], &other, GERMAN)] {
        assert_eq!(merchant.balance().await, 0);
        let line = merchant.list("/lines?limit=1").await.remove(0);
        let expected = json!({
            "id": line["id"],
            "created": line["created"],
            "merchantId": merchant.id,
            "test": true,
            "balance": -945,
            "fee": 0,
            "amount": { "currency": "EUR", "amount": -945 },
            "payout": true,
        });
        assert_eq!(line, expected);
        let path = format!("/lines/{}", line["id"].as_str().unwrap());
        assert_eq!(merchant.app.get(&path).await.expect(200).json(), line);
        merchant.sum_of_lines().await;

        assert_eq!(row["merchant"], merchant.id);
        assert_eq!((&row["iban"], &row["currency"]), (&json!(iban), &json!("EUR")));
        assert_eq!((&row["amount"], &row["name"]), (&json!("9.45"), &json!("Corner shop")));
        assert!(row["reference"].as_str().unwrap().ends_with(line["id"].as_str().unwrap()));
    }
    for (merchant, balance) in [(&without_account, 945), (&without_money, 0), (&in_debt, -15)] {
        assert_eq!(merchant.sum_of_lines().await, balance);
    }
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn test_and_live_merchants_are_never_in_one_file() {
    let service = Service::with(&[]).await;
    let [test, live] = [funded(&service, Some(DANISH)).await, funded(&service, Some(GERMAN)).await];
    let place = service.stop().await;
    let id = place.bytes(&live.id);
    let yes = if place.database().is_some() { "false" } else { "0" };
    assert_eq!(place.change(&format!("UPDATE merchants SET test = {yes} WHERE id = {id}")), 1);
    for (options, merchant) in [(&[][..], &live), (&["--test"], &test), (&[], &live)] {
        let rows = transfers(&pay_out(&place, options).await);
        assert_eq!(rows.len(), 1, "{rows:?}");
        assert_eq!(rows[0]["merchant"], merchant.id);
    }
    place.agrees().await;
}

#[tokio::test]
async fn a_second_run_pays_nothing_and_writes_the_same_file() {
    let service = Service::with(&[]).await;
    let merchant = funded(&service, Some(DANISH)).await;
    let first = pay_out(service.data(), &["--test"]).await;
    assert_eq!(transfers(&first).len(), 1);
    let mode = fs::metadata(file(service.data())).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    // Later captures and a new name belong to the payout of another day.
    merchant.pay("EUR", 995).await.capture(995).await;
    let _ = merchant.app.put(&merchant.path(""), &json!({ "name": "New" })).await.expect(204);
    funded(&service, Some(GERMAN)).await;
    for _ in 0..2 {
        fs::remove_file(file(service.data())).unwrap();
        assert_eq!(pay_out(service.data(), &["--test"]).await, first);
    }
    assert_eq!(merchant.balance().await, 945);
    let day = "2026-01-01";
    let rows = transfers(&pay_out(service.data(), &["--test", "--day", day]).await);
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert!(rows[0]["reference"].as_str().unwrap().starts_with(&format!("Payout {day} ")));
    assert_eq!(rows[0]["name"], "New");
    assert_eq!(merchant.balance().await, 0);
    assert_eq!(merchant.list("/lines?limit=10").await.len(), 4);
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn concurrent_runs_pay_once_and_write_the_same_file() {
    let service = Service::with(&[]).await;
    for _ in 0..5 {
        funded(&service, Some(DANISH)).await;
    }
    let place = service.data();
    let files: Vec<_> = (0..4).map(|number| place.data().join(format!("{number}.csv"))).collect();
    let runs =
        files.iter().map(async |file| try_to_pay_out(place, &["--test"], "--csv", file).await);
    for (succeeded, stderr) in futures_util::future::join_all(runs).await {
        assert!(succeeded, "{stderr}");
    }
    let written: Vec<_> = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    assert_eq!(transfers(&written[0]).len(), 5);
    assert!(written.iter().all(|file| *file == written[0]), "{written:?}");
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn the_next_request_shows_a_payout() {
    let service = Service::with(&[]).await;
    let merchant = funded(&service, Some(DANISH)).await;
    let transaction = merchant.pay("EUR", 1_000_000).await;
    let begin: Date = "2020-01-01".parse().unwrap();
    for day in 0..i64::try_from(rounds(10, 1000)).unwrap() {
        transaction.capture(100).await;
        let day = (begin + day.days()).to_string();
        pay_out(service.data(), &["--test", "--day", &day]).await;
        let line = merchant.list("/lines?limit=1").await.remove(0);
        assert_eq!((&line["payout"], merchant.balance().await), (&json!(true), 0));
        let path = format!("/lines/{}", line["id"].as_str().unwrap());
        assert_eq!(merchant.app.get(&path).await.expect(200).json(), line);
    }
    service.stop().await.agrees().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn captures_during_a_payout_are_not_lost() {
    let service = Service::with(&[]).await;
    let mut merchants = Vec::new();
    for _ in 0..8 {
        merchants.push(funded(&service, Some(DANISH)).await);
    }
    let mut captures = JoinSet::new();
    for merchant in &merchants {
        let transaction = merchant.pay("EUR", 1_000_000).await;
        captures.spawn(async move {
            for _ in 0..60 {
                transaction.capture(1000).await;
            }
        });
    }
    let days = ["2026-01-01", "2026-01-02", "2026-01-03"];
    let mut paid = vec![0; merchants.len()];
    for day in days {
        let rows = transfers(&pay_out(service.data(), &["--test", "--day", day]).await);
        for row in rows {
            let number = merchants.iter().position(|merchant| row["merchant"] == merchant.id);
            let amount = row["amount"].as_str().unwrap().replace('.', "");
            paid[number.unwrap()] += amount.parse::<i64>().unwrap();
        }
    }
    captures.join_all().await;
    for (merchant, paid) in merchants.iter().zip(paid) {
        assert!(paid >= 945, "{paid}");
        assert_eq!(merchant.balance().await, 945 + 60 * 950 - paid);
        let lines = merchant.list("/lines?limit=1000").await;
        let ids: Vec<_> = lines.iter().map(|line| line["id"].as_str().unwrap()).collect();
        assert!(
            ids.windows(2).all(|pair| pair[0] > pair[1]),
            "ids are not unique and newest first"
        );
        let payouts = lines.iter().filter(|line| line["payout"] == true);
        assert_eq!(payouts.map(|line| -int(&line["balance"])).sum::<i64>(), paid);
        merchant.sum_of_lines().await;
    }
    service.data().agrees().await;
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn booked_payouts_of_a_killed_run_are_written_next_time() {
    let service = Service::with(&[]).await;
    for _ in 0..20 {
        funded(&service, Some(DANISH)).await;
    }
    let place = service.stop().await;
    let day = "2026-01-02";
    for wait in [10, 20, 40, 80] {
        let mut command = place.command();
        command.args(["payout", "--test", "--day", day, "--csv"]).arg(file(&place));
        let mut killed = command.spawn().unwrap();
        sleep(Duration::from_millis(wait)).await;
        killed.kill().await.unwrap();
        place.agrees().await;
    }
    let rows = transfers(&pay_out(&place, &["--test", "--day", day]).await);
    assert_eq!(rows.len(), 20);
    place.agrees().await;
}

#[tokio::test]
async fn a_payout_without_a_writable_file_books_nothing() {
    let service = Service::with(&DEBTOR).await;
    let merchant = funded(&service, Some(DANISH)).await;
    let place = service.stop().await;
    let directory = place.data().join("directory");
    fs::create_dir(&directory).unwrap();
    for format in ["--csv", "--pain001"] {
        for nowhere in [&place.data().join("no/such/file"), &directory, Path::new("/proc/file")] {
            let (succeeded, stderr) = try_to_pay_out(&place, &["--test"], format, nowhere).await;
            assert!(!succeeded && stderr.contains(nowhere.to_str().unwrap()), "{stderr}");
        }
    }
    assert_eq!(place.number("SELECT count(*) FROM payout_runs"), 0);
    assert_eq!(place.number("SELECT count(*) FROM payouts"), 0);
    let service = place.start().await;
    assert_eq!(merchant.by(&merchant.app.at(&service)).balance().await, 945);
}

/// Makes all balance lines and payouts two hours older.
pub(crate) fn age(place: &Stopped) {
    age_by(place, 2);
}

/// Makes all balance lines and payouts older. The service counts the lines of each day again.
fn age_by(place: &Stopped, hours: i64) {
    let by = hours * 3_600_000;
    place.define(&format!(
        "BEGIN;
         UPDATE lines SET created = created - {by};
         UPDATE payouts SET created = created - {by}, held_since = held_since - {by};
         DELETE FROM day_totals;
         UPDATE day_cursors SET number = number + 1, through = {};
         COMMIT",
        place.bytes(FIRST)
    ));
}

/// The payouts of a merchant, newest first. Checks that the lines of each one have its sum, that no
/// line is paid twice, and that the others have the sum of the balance.
pub(crate) async fn payouts_of(merchant: &Merchant) -> Vec<Value> {
    let path = format!("/payouts?limit=100&filter[merchantId]={}", merchant.id);
    let payouts = merchant.app.list(&path).await;
    let mut unpaid = merchant.list("/lines?limit=1000").await;
    unpaid.retain(|line| line["payout"] != true || line["returned"] == true);
    for payout in &payouts {
        let path = format!("/payouts/{}/lines", payout["id"].as_str().unwrap());
        let lines = merchant.app.list(&format!("{path}?limit=1000")).await;
        let sum: i64 = lines.iter().map(|line| int(&line["balance"])).sum();
        assert_eq!(sum, int(&payout["amount"]["amount"]), "{payout}: {lines:#?}");
        assert!(lines.is_sorted_by(|left, right| left["id"].as_str() > right["id"].as_str()));
        for line in lines {
            let at = unpaid.iter().position(|one| *one == line);
            unpaid.remove(at.unwrap_or_else(|| panic!("paid twice: {line}")));
        }
        let own = format!("/lines/{}", payout["lineId"].as_str().unwrap());
        let own = merchant.app.get(&own).await.expect(200).json();
        assert_eq!(own["balance"], -int(&payout["amount"]["amount"]));
        assert_eq!((&own["payout"], &own["created"]), (&true.into(), &payout["created"]));
    }
    let unpaid: i64 = unpaid.iter().map(|line| int(&line["balance"])).sum();
    assert_eq!(unpaid, merchant.balance().await);
    payouts
}

#[tokio::test]
async fn payouts_are_listed_with_the_lines_that_they_paid() {
    let service = Service::with(&[]).await;
    let merchant = funded(&service, Some(DANISH)).await;
    assert_eq!(payouts_of(&merchant).await, [] as [Value; 0]);
    for day in ["2026-01-01", "2026-01-02", "2026-01-03"] {
        let transaction = merchant.pay("EUR", 5000).await;
        transaction.capture(2000).await;
        transaction.capture(3000).await;
        transaction.refund(400).await;
        pay_out(service.data(), &["--test", "--day", day]).await;
    }
    merchant.pay("EUR", 5000).await.capture(5000).await;
    let payouts = payouts_of(&merchant).await;
    assert_eq!(payouts.len(), 3);
    let first = &payouts[2];
    let event = &merchant.app.list("/events?limit=1&filter[type]=payout.booked").await[0];
    assert_eq!(event["data"]["payout"], payouts[0]);
    assert_eq!((&first["iban"], &first["test"]), (&json!(DANISH), &json!(true)));
    assert_eq!(first["merchantId"], *merchant.id);

    // Both lists have pages.
    let of_merchant = format!("/payouts?filter[merchantId]={}&", merchant.id);
    let lines = format!("/payouts/{}/lines?", first["id"].as_str().unwrap());
    for list in [of_merchant, lines] {
        let all = merchant.app.list(&format!("{list}limit=10")).await;
        let id = |at: usize| all[at]["id"].as_str().unwrap();
        let older = merchant.app.list(&format!("{list}limit=1&before={}", id(0))).await;
        assert_eq!(older, all[1..2]);
        merchant.app.settle(&list).await;
        let newer = merchant.app.list(&format!("{list}limit=9&after={}", id(all.len() - 1))).await;
        assert!(newer.iter().rev().eq(&all[..all.len() - 1]), "{newer:#?}");
    }
}

#[tokio::test]
async fn payouts_of_others_are_forbidden() {
    let service = Service::with(&[]).await;
    let merchant = funded(&service, Some(DANISH)).await;
    pay_out(service.data(), &["--test"]).await;
    let payout = payouts_of(&merchant).await.remove(0);
    let stranger = service.app().await;
    let lines = format!("/payouts/{}/lines", payout["id"].as_str().unwrap());
    let list = format!("/payouts?limit=1&filter[merchantId]={}", merchant.id);
    stranger.get(&format!("{lines}?limit=1")).await.refused(403, "forbidden");
    stranger.get(&list).await.refused(403, "forbidden");
    merchant.app.get(&lines).await.names(&["limit"]);
    merchant.app.get("/payouts?limit=1").await.names(&["filter.merchantId"]);
    let unknown = format!("/payouts?limit=1&filter[merchantId]={}", "1".repeat(24));
    merchant.app.get(&unknown).await.names(&["filter.merchantId"]);
    let unknown = format!("/payouts/{}/lines?limit=1", merchant.id);
    merchant.app.get(&unknown).await.refused(404, "not_found");
}

#[tokio::test]
async fn captures_younger_than_the_delay_are_held_back() {
    let service = Service::with(&[("PAYMENTS_PAYOUT_DELAY", "1h")]).await;
    let merchant = funded(&service, Some(DANISH)).await;
    let day = |day: &'static str| ["--test", "--day", day];
    let paid = async |date| {
        let rows = transfers(&pay_out(service.data(), &day(date)).await);
        rows.iter().map(|row| row["amount"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(paid("2026-01-01").await, [""; 0]);
    assert_eq!(merchant.balance().await, 945);
    age(service.data());

    // The young capture is held, and its refund reduces the payout of the old one.
    let young = merchant.pay("EUR", 2000).await;
    young.capture(2000).await;
    young.refund(500).await;
    assert_eq!(merchant.balance().await, 945 + 1925 - 487);
    assert_eq!(paid("2026-01-02").await, ["4.58"]);
    assert_eq!(merchant.balance().await, 1925);
    merchant.sum_of_lines().await;
    assert_eq!(payouts_of(&merchant).await.len(), 1);

    // A refund of more than the old captures: nothing is paid, and nothing is negative.
    young.refund(500).await;
    assert_eq!(paid("2026-01-03").await, [""; 0]);
    age(service.data());
    assert_eq!(paid("2026-01-04").await, ["14.37"]);
    assert_eq!(merchant.balance().await, 0);

    // A young capture that costs more than it brings does not increase a payout.
    merchant.pay("EUR", 995).await.capture(995).await;
    age(service.data());
    merchant.pay("EUR", 10).await.capture(10).await;
    assert_eq!(merchant.balance().await, 945 - 15);
    assert_eq!(paid("2026-01-05").await, ["9.30"]);
    assert_eq!(payouts_of(&merchant).await.len(), 3);
    service.data().agrees().await;
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn the_delay_of_a_running_service_counts() {
    let service = Stopped::on(None, &[("PAYMENTS_PAYOUT_DELAY", "1h")]).start().await;
    let merchant = funded(&service, Some(DANISH)).await;
    let mut command = service.data().command();
    command.args(["payout", "--test", "--csv", "/dev/null"]).env("PAYMENTS_PAYOUT_DELAY", "0s");
    let ended = process::run(command).await;
    assert!(ended.status.success(), "{}", process::output(&ended));
    assert_eq!(merchant.balance().await, 945);
}

/// Of the first day that is held back, lines are added up. Later days have totals.
#[tokio::test]
async fn captures_are_held_back_for_days() {
    let mut service = Service::with(&[("PAYMENTS_PAYOUT_DELAY", "50h")]).await;
    let mut merchant = merchant(&service, "EUR", Some("Corner shop"), Some(DANISH)).await;
    let uncounted = "SELECT count(*) FROM lines WHERE id > (SELECT through FROM day_cursors)";
    let mut captures = Vec::new();
    for day in 1..=8 {
        age_by(service.data(), 20);
        let before = merchant.balance().await;
        merchant.pay("EUR", 2000).await.capture(1000 + day).await;
        captures.push(merchant.balance().await - before);
        // It counts them when it starts, and then rarely.
        service = service.stop().await.start().await;
        merchant = merchant.by(&merchant.app.at(&service));
        let place = service.data();
        until(async || place.number(uncounted) == 0).await;
        // The last three captures are 0, 20 and 40 hours old.
        let held: i64 = captures.iter().rev().take(3).sum();
        let rest = merchant.balance().await - held;
        let rows =
            transfers(&pay_out(place, &["--test", "--day", &format!("2026-01-0{day}")]).await);
        assert_eq!(merchant.balance().await, held);
        assert_eq!(rows.len(), usize::from(rest > 0), "{rows:?}");
        assert!(rest == 0 || rest == captures[captures.len() - 4]);
    }
    assert_eq!(payouts_of(&merchant).await.len(), 5);
    service.stop().await.agrees().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn held_captures_are_exact_while_captures_are_booked() {
    let service = Service::with(&[("PAYMENTS_PAYOUT_DELAY", "1h")]).await;
    let mut merchants = Vec::new();
    for _ in 0..4 {
        merchants.push(funded(&service, Some(DANISH)).await);
    }
    age(service.data());
    let mut captures = JoinSet::new();
    for merchant in &merchants {
        let transaction = merchant.pay("EUR", 1_000_000).await;
        captures.spawn(async move {
            for _ in 0..60 {
                transaction.capture(1000).await;
            }
        });
    }
    for (day, count) in [("2026-01-01", 4), ("2026-01-02", 0), ("2026-01-03", 0)] {
        let rows = transfers(&pay_out(service.data(), &["--test", "--day", day]).await);
        assert!(rows.iter().all(|row| row["amount"] == "9.45"), "{rows:?}");
        assert_eq!(rows.len(), count);
    }
    captures.join_all().await;
    for merchant in &merchants {
        assert_eq!(merchant.sum_of_lines().await, 60 * 950);
    }
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn a_run_says_what_it_did_and_closes_no_day_on_which_nobody_is_paid() {
    let service = Service::with(&[]).await;
    let run = async || {
        let options = ["--test", "--day", "2026-11-20"];
        let (succeeded, stderr) =
            try_to_pay_out(service.data(), &options, "--csv", &file(service.data())).await;
        assert!(succeeded, "{stderr}");
        stderr
    };
    assert_eq!(run().await, "payout: 2026-11-20, csv: nobody is paid, and the day stays open\n");
    let nameless = merchant(&service, "EUR", None, Some(DANISH)).await;
    nameless.pay("EUR", 995).await.capture(995).await;
    let held = funded(&service, Some(DANISH)).await;
    let arguments = ["hold", &held.id, "--payouts", "--reason", "x"];
    let _ = standing::run(service.data(), &arguments).await;
    let others = format!(
        "payout: merchants whose payouts are held: 1\n\
         payout: merchants whose account has no name, which set-bank gives it: {}\n",
        nameless.id
    );
    let nobody =
        format!("payout: 2026-11-20, csv: nobody is paid, and the day stays open\n{others}");
    assert_eq!(run().await, nobody);
    let _ = [funded(&service, Some(DANISH)).await, funded(&service, Some(GERMAN)).await];
    assert_eq!(run().await, format!("payout: 2026-11-20, csv: 2 transfers, EUR 18.90\n{others}"));
    let late = funded(&service, Some(DANISH)).await;
    let closed = "payout: 2026-11-20, csv: closed before with 2 transfers, EUR 18.90; merchants that \
                  wait for another day: 1\n";
    assert_eq!(run().await, format!("{closed}{others}"));
    assert_eq!(late.balance().await, 945);
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn a_file_without_room_names_the_day_to_repeat() {
    let service = Service::with(&[]).await;
    let _ = funded(&service, Some(DANISH)).await;
    let options = ["--test", "--day", "2026-11-20"];
    let (succeeded, stderr) =
        try_to_pay_out(service.data(), &options, "--csv", Path::new("/dev/full")).await;
    assert!(!succeeded && stderr.contains("again with --day 2026-11-20"), "{stderr}");
    assert_eq!(transfers(&pay_out(service.data(), &options).await).len(), 1);
}

#[tokio::test]
async fn names_and_amounts_are_written_unchanged_but_never_as_formulas() {
    let service = Service::with(&[]).await;
    let names = [
        ("Ann & Søn, \"the\" shop; 'new'", "Ann & Søn, \"the\" shop; 'new'"),
        ("=HYPERLINK(\"http://x\")", "'=HYPERLINK(\"http://x\")"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("＝1", "'＝1"),
        ("＋1", "'＋1"),
        ("－1", "'－1"),
        ("＠SUM(A1)", "'＠SUM(A1)"),
    ];
    for (name, _) in names {
        let merchant = merchant(&service, "EUR", Some(name), Some(DANISH)).await;
        merchant.pay("EUR", 995).await.capture(995).await;
    }
    let currencies = ["HUF", "DKK", "USD"];
    let mut balances = Vec::new();
    for currency in currencies {
        let merchant = merchant(&service, currency, Some("Corner shop"), Some(DANISH)).await;
        merchant.pay("JPY", 995).await.capture(995).await;
        balances.push(merchant.balance().await);
    }
    let place = service.stop().await;
    let rows = transfers(&pay_out(&place, &["--test"]).await);
    assert_eq!(rows.len(), names.len() + currencies.len());
    for (row, (_, written)) in rows.iter().zip(names) {
        assert_eq!((&row["name"], &row["amount"]), (&json!(written), &json!("9.45")));
    }
    for (row, (currency, balance)) in
        rows[names.len()..].iter().zip(currencies.iter().zip(balances))
    {
        let major = format!("{}.{:02}", balance / 100, balance % 100);
        assert_eq!((&row["currency"], &row["amount"]), (&json!(currency), &json!(major)));
    }
    place.agrees().await;
}

#[tokio::test]
async fn a_payout_requires_a_store_and_a_started_day() {
    let service = Service::with(&[]).await;
    let to = file(service.data());
    for (options, reason) in [
        (&["--day", "2999-01-01"][..], "2999-01-01"),
        (&["--day", "21.11.2026"], "must be a day such as 2026-11-21"),
        (&["--day", "2026-02-30"], "--day"),
    ] {
        let (succeeded, stderr) = try_to_pay_out(service.data(), options, "--csv", &to).await;
        assert!(!succeeded && stderr.contains(reason), "{stderr}");
        assert_eq!(stderr.trim_end().lines().count(), 1, "{stderr}");
    }
    let empty = Stopped::on(None, &[]);
    let (succeeded, stderr) = try_to_pay_out(&empty, &[], "--csv", &file(&empty)).await;
    assert!(!succeeded && stderr.contains("there is no database at"), "{stderr}");
    assert_eq!(stderr.trim_end().lines().count(), 1, "{stderr}");
    assert_eq!(fs::read_dir(empty.data()).unwrap().count(), 0, "the failed run created a file");
}

#[tokio::test]
async fn changed_payouts_are_found() {
    let service = Service::with(&[]).await;
    let merchant = funded(&service, Some(DANISH)).await;
    let transaction = merchant.pay("EUR", 100).await;
    let place = service.stop().await;
    pay_out(&place, &["--test"]).await;
    place.agrees().await;
    for (change, back) in [
        ("payouts SET amount = amount + 1", "payouts SET amount = amount - 1"),
        ("postings SET account = 'fees' WHERE account = 'bank'", ""),
    ] {
        assert_eq!(place.change(&format!("UPDATE {change}")), 1);
        let (agrees, report) = place.check().await;
        assert!(!agrees, "{change} was not found: {report}");
        let back = if back.is_empty() {
            "postings SET account = 'bank' WHERE account = 'fees' AND amount = 945"
        } else {
            back
        };
        assert_eq!(place.change(&format!("UPDATE {back}")), 1);
        place.agrees().await;
    }
    let id = if place.database().is_some() { "'\\x" } else { "x'" };
    let of = format!("{id}{}'", transaction.id);
    place.change(&format!("UPDATE lines SET \"transaction\" = {of} WHERE kind = 'payout'"));
    assert!(!place.check().await.0);
    place.change("UPDATE lines SET \"transaction\" = NULL WHERE kind = 'payout'");
    place.agrees().await;
    assert_eq!(place.change("DELETE FROM payouts"), 1);
    assert!(!place.check().await.0);
}
