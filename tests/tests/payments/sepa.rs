//! `payout --pain001`: SEPA credit transfers, validated by the published schema.

use std::{
    fs,
    path::{Path, PathBuf},
};

use blackbox::{
    payments::{Service, Stopped},
    process,
    project::root,
};
use roxmltree::{Document, Node};
use serde_json::Value;
use tokio::process::Command;

use crate::{
    broken::define,
    payouts::{DANISH, DEBTOR, GERMAN, funded, merchant, pay_out, transfers, try_to_pay_out},
};

const BRAZILIAN: &str = "BR1800360305000010009795493C1";

fn file(place: &Stopped) -> PathBuf {
    place.data().join("transfers.xml")
}

/// Runs a payout, which must succeed. Returns the content of the file, and standard error.
pub(crate) async fn pay_by_sepa(place: &Stopped, options: &[&str]) -> (String, String) {
    let options = [&["--test"], options].concat();
    let (succeeded, stderr) = try_to_pay_out(place, &options, "--pain001", &file(place)).await;
    assert!(succeeded, "{stderr}");
    validate(&file(place), "sepaxml/schemas/pain.001.001.09.xsd").await;
    (fs::read_to_string(file(place)).unwrap(), stderr)
}

/// Panics unless the file agrees with the schema that ISO 20022 publishes, from a Python package.
pub(crate) async fn validate(file: &Path, schema: &str) {
    let python = root().join("target/tools/python");
    let validator = python.join("bin/xmlschema-validate");
    assert!(validator.exists(), "xmlschema is missing; install it with: scripts/install test");
    let mut versions = fs::read_dir(python.join("lib")).unwrap();
    let packages = versions.next().unwrap().unwrap().path().join("site-packages");
    let mut command = Command::new(validator);
    command.arg("--schema").arg(packages.join(schema)).arg(file);
    let ended = process::run(command).await;
    assert!(ended.status.success(), "{ended:?}");
}

/// The texts of all elements with this path, which begins anywhere.
pub(crate) fn texts<'a>(document: &'a Document<'_>, path: &str) -> Vec<&'a str> {
    let names: Vec<_> = path.rsplit('/').collect();
    let is_at = |node: &Node<'_, '_>| {
        let ancestors: Vec<_> = node.ancestors().map(|node| node.tag_name().name()).collect();
        ancestors.starts_with(&names)
    };
    let found = document.descendants().filter(|node| node.is_element() && is_at(node));
    found.map(|node| node.text().unwrap()).collect()
}

#[tokio::test]
async fn a_sepa_file_is_valid_and_names_every_transfer() {
    let service = Service::with(&DEBTOR).await;
    let mut paid = Vec::new();
    let long = "Ö".repeat(255);
    let names =
        [("Søn & \"Ko\" <Γωνία>", "Son + Ko Gonia"), ("\u{10ffff}", ""), (&long, &"O".repeat(70))];
    for ((name, _), iban) in names.iter().zip([DANISH, GERMAN, DANISH]) {
        let merchant = merchant(&service, "EUR", Some(name), Some(iban)).await;
        merchant.pay("EUR", 995).await.capture(995).await;
        paid.push(merchant);
    }
    let day = "2026-01-01";
    let (file, stderr) = pay_by_sepa(service.data(), &["--day", day]).await;
    assert_eq!(stderr, "payout: 2026-01-01, pain001: 3 transfers, EUR 28.35\n");
    let document = Document::parse(&file).unwrap();
    let texts = |path| texts(&document, path);
    let ids = texts("PmtId/EndToEndId");
    assert_eq!(texts("NbOfTxs"), ["3", "3"]);
    assert_eq!(texts("CtrlSum"), ["28.35", "28.35"]);
    assert_eq!(texts("MsgId"), [format!("{}-{}", day.replace('-', ""), ids[0])]);
    // A run for a past day is paid on the day of its booking.
    let booked = texts("CreDtTm")[0].split_once('T').unwrap().0;
    assert!(booked > day);
    assert_eq!(texts("ReqdExctnDt/Dt"), [booked]);
    assert_eq!(texts("Dbtr/Nm"), ["Example Payments Ltd."]);
    assert_eq!(texts("DbtrAcct/Id/IBAN"), ["IE64IRCE92050112345678"]);
    assert_eq!(texts("FinInstnId/BICFI"), ["IRCEIE2D"]);
    assert_eq!(texts("InstdAmt"), ["9.45"; 3]);
    assert_eq!(texts("CdtrAcct/Id/IBAN"), [DANISH, GERMAN, DANISH]);
    let nameless = format!("Merchant {}", paid[1].id);
    assert_eq!(texts("Cdtr/Nm"), [names[0].1, &nameless, names[2].1]);
    for (merchant, reference) in paid.iter().zip(texts("RmtInf/Ustrd")) {
        assert_eq!(merchant.balance().await, 0);
        let line = merchant.list("/lines?limit=1").await.remove(0);
        assert_eq!(reference, format!("Payout {day} {}", line["id"].as_str().unwrap()));
    }
    let id = service.data().bytes(ids[2]);
    let found = service.data().number(&format!("SELECT count(*) FROM payouts WHERE id = {id}"));
    assert_eq!(found, 1, "an end-to-end ID is the ID of a payout");

    // Later captures do not change the file of the day.
    paid[0].pay("EUR", 995).await.capture(995).await;
    assert_eq!(pay_by_sepa(service.data(), &["--day", day]).await.0, file);
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn merchants_that_sepa_does_not_reach_are_reported_and_paid_by_csv() {
    let service = Service::with(&DEBTOR).await;
    let euro = funded(&service, Some(DANISH)).await;
    let brazilian = funded(&service, Some(BRAZILIAN)).await;
    let krone = merchant(&service, "DKK", Some("Corner shop"), Some(DANISH)).await;
    krone.pay("EUR", 995).await.capture(995).await;
    let place = service.data();

    let (file, stderr) = pay_by_sepa(place, &[]).await;
    for text in [
        "merchants with a balance that SEPA does not reach: 2.",
        "not EUR: DKK.",
        "EPC409-09 v8.0 of 24 December 2025: BR.",
    ] {
        assert!(stderr.contains(text), "{stderr}");
    }
    assert_eq!(texts(&Document::parse(&file).unwrap(), "InstdAmt"), ["9.45"]);
    for (merchant, is_paid) in [(&euro, true), (&brazilian, false), (&krone, false)] {
        assert_eq!(merchant.balance().await == 0, is_paid);
    }
    // Captures of the same day do not bring a paid merchant into the other file.
    euro.pay("EUR", 995).await.capture(995).await;
    let rows = transfers(&pay_out(place, &["--test"]).await);
    let merchants: Vec<_> = rows.iter().map(|row| &row["merchant"]).collect();
    assert_eq!(merchants, [&Value::from(&*brazilian.id), &Value::from(&*krone.id)]);
    assert_eq!(pay_by_sepa(place, &[]).await.0, file);
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn one_run_writes_the_files_of_both_formats() {
    let service = Service::with(&DEBTOR).await;
    let euro = funded(&service, Some(DANISH)).await;
    let brazilian = funded(&service, Some(BRAZILIAN)).await;
    let place = service.data();
    let (csv, xml) = (place.data().join("transfers.csv"), file(place));
    let nowhere = place.data().join("no/such/file");
    let run = async |csv: &Path, xml: &Path| {
        let options = ["--test", "--day", "2026-01-01", "--pain001", xml.to_str().unwrap()];
        try_to_pay_out(place, &options, "--csv", csv).await
    };
    for (csv, xml) in [(&nowhere, &xml), (&csv, &nowhere)] {
        let (succeeded, stderr) = run(csv, xml).await;
        assert!(!succeeded && stderr.contains("no/such/file"), "{stderr}");
    }
    assert_eq!(place.number("SELECT count(*) FROM payouts"), 0);

    let first = "payout: 2026-01-01, pain001: 1 transfer, EUR 9.45\n\
                 payout: 2026-01-01, csv: 1 transfer, EUR 9.45\n";
    let closed = "payout: 2026-01-01, pain001: closed before with 1 transfer, EUR 9.45; merchants \
                  that wait for another day: 0\n\
                  payout: 2026-01-01, csv: closed before with 1 transfer, EUR 9.45; merchants \
                  that wait for another day: 0\n";
    for expected in [first, closed] {
        assert_eq!(run(&csv, &xml).await, (true, expected.to_owned()));
        let document = fs::read_to_string(&xml).unwrap();
        let document = Document::parse(&document).unwrap();
        assert_eq!(texts(&document, "CdtrAcct/Id/IBAN"), [DANISH]);
        let rows = transfers(&fs::read_to_string(&csv).unwrap());
        assert_eq!(rows.iter().map(|row| &row["iban"]).collect::<Vec<_>>(), [BRAZILIAN]);
    }
    for merchant in [euro, brazilian] {
        assert_eq!(merchant.balance().await, 0);
    }
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn a_run_that_fails_leaves_the_finished_file_and_is_named_until_it_is_complete() {
    let service = Service::with(&DEBTOR).await;
    let _ = funded(&service, Some(DANISH)).await;
    let [paid, refused] =
        [funded(&service, Some(BRAZILIAN)).await, funded(&service, Some(BRAZILIAN)).await];
    let place = service.data();
    let (csv, xml) = (place.data().join("transfers.csv"), file(place));
    let run = async |day: &str| {
        let options = ["--test", "--day", day, "--pain001", xml.to_str().unwrap()];
        try_to_pay_out(place, &options, "--csv", &csv).await
    };
    let id = place.bytes(&refused.id);
    define(
        place,
        &format!("ALTER TABLE payouts ADD CONSTRAINT no CHECK (merchant <> {id})"),
        &format!(
            "CREATE TRIGGER no BEFORE INSERT ON payouts WHEN new.merchant = {id}
             BEGIN SELECT RAISE(ABORT, 'no'); END"
        ),
    );
    let (succeeded, stderr) = run("2026-01-01").await;
    let again = "run the same command again with --day 2026-01-01\n";
    assert!(!succeeded && stderr.ends_with(again), "{stderr}");
    assert!(stderr.starts_with("payout: 2026-01-01, pain001: 1 transfer, EUR 9.45\n"), "{stderr}");
    let document = fs::read_to_string(&xml).unwrap();
    let document = Document::parse(&document).unwrap();
    assert_eq!(texts(&document, "CdtrAcct/Id/IBAN"), [DANISH]);
    assert!(!csv.exists());
    assert_eq!(paid.balance().await, 0);

    define(place, "ALTER TABLE payouts DROP CONSTRAINT no", "DROP TRIGGER no");
    let _ = funded(&service, Some(BRAZILIAN)).await;
    let interrupted = "payout: 2026-01-01, csv: interrupted, so payouts may be in no file: run the \
                       same command with --day 2026-01-01, too\n";
    for (day, is_named) in [("2026-01-02", true), ("2026-01-01", false), ("2026-01-02", false)] {
        let (succeeded, stderr) = run(day).await;
        assert!(succeeded, "{stderr}");
        assert_eq!(stderr.contains(interrupted), is_named, "{day}: {stderr}");
        assert_eq!(stderr.matches("interrupted").count(), usize::from(is_named), "{stderr}");
        if day == "2026-01-01" {
            let rows = transfers(&fs::read_to_string(&csv).unwrap());
            assert_eq!(rows[0]["merchant"], paid.id);
        }
    }
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn both_formats_are_not_written_to_one_file() {
    let service = Service::with(&DEBTOR).await;
    let _ = funded(&service, Some(DANISH)).await;
    let place = service.data();
    let run = async |xml: &Path, csv: &Path| {
        let mut command = place.command();
        command.args(["payout", "--test", "--pain001"]).arg(xml).arg("--csv").arg(csv);
        process::run(command).await
    };
    let other = place.data().join("other");
    fs::create_dir(&other).unwrap();
    for csv in [file(place), other.join("../transfers.xml")] {
        let ended = run(&file(place), &csv).await;
        let stderr = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("must not be the file of --pain001"), "{stderr}");
    }
    assert_eq!(place.number("SELECT count(*) FROM payout_runs"), 0);
    let stdout = Path::new("/proc/self/fd/1");
    let ended = run(stdout, stdout).await;
    let written = String::from_utf8(ended.stdout).unwrap();
    assert!(ended.status.success() && written.contains(DANISH), "{written}");
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn concurrent_runs_of_both_formats_list_each_transfer_once() {
    let service = Service::with(&DEBTOR).await;
    let mut merchants = Vec::new();
    for _ in 0..8 {
        merchants.push(funded(&service, Some(DANISH)).await.id);
    }
    let place = service.data();
    let (csv, xml) = (place.data().join("transfers.csv"), file(place));
    let (one, other) = tokio::join!(
        try_to_pay_out(place, &["--test"], "--csv", &csv),
        try_to_pay_out(place, &["--test"], "--pain001", &xml)
    );
    assert!(one.0 && other.0, "{one:?} {other:?}");
    let rows = transfers(&fs::read_to_string(csv).unwrap());
    let mut listed: Vec<_> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    let xml = fs::read_to_string(xml).unwrap_or_else(|_| "<none/>".to_owned());
    let document = Document::parse(&xml).unwrap();
    listed.extend(texts(&document, "EndToEndId"));
    listed.sort_unstable();
    listed.dedup();
    assert_eq!(listed.len(), merchants.len());
    assert_eq!(place.number("SELECT count(*) FROM payouts"), 8);
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn without_transfers_there_is_no_sepa_file() {
    let service = Service::with(&DEBTOR).await;
    fs::write(file(service.data()), "yesterday").unwrap();
    let place = service.stop().await;
    for _ in 0..2 {
        let (succeeded, stderr) =
            try_to_pay_out(&place, &["--test"], "--pain001", &file(&place)).await;
        assert!(succeeded && stderr.contains("nobody is paid, and the day stays open"), "{stderr}");
        assert!(!file(&place).exists());
    }
}

#[tokio::test]
async fn a_sepa_file_requires_the_account_that_pays() {
    for (missing, _) in DEBTOR {
        let settings: Vec<_> = DEBTOR.into_iter().filter(|(name, _)| *name != missing).collect();
        let service = Service::with(&settings).await;
        let merchant = funded(&service, Some(DANISH)).await;
        let place = service.data();
        let (succeeded, stderr) =
            try_to_pay_out(place, &["--test"], "--pain001", &file(place)).await;
        assert!(!succeeded && stderr.contains(missing), "{stderr}");
        assert_eq!(stderr.trim_end().lines().count(), 1, "{stderr}");
        assert_eq!(merchant.balance().await, 945);
    }
}
