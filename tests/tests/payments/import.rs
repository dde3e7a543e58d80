//! `import`: copies an embedded store into PostgreSQL.

use std::{collections::BTreeMap, fs, process::Output, time::Duration};

use blackbox::{
    payments::{
        Acquirer, App, Card, Link, Merchant, Move, Receiver, Reply, SECRET, Service, Stopped, ids,
        minimal,
    },
    postgres::{Cluster, Database},
    process::{self, DEADLINE},
    tables::Tables,
};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::{
    process::Command,
    time::{sleep, timeout},
};

use crate::{
    books::{book, pay_out},
    evidence::{PDF, form},
    live::{reconcile::HEADER, standing},
    postgres::write_everything,
    returns::return_all,
};

/// The subcommand that imports a store into a database.
pub(crate) fn command(place: &Stopped, database: &Database) -> Command {
    let mut command = Stopped::on(Some(database.clone()), &[]).command();
    command.arg("import").arg("--from").arg(place.data());
    command
}

/// Imports the store of `place` into a database. Returns whether this succeeded, and the output.
async fn import(place: &Stopped, database: &Database) -> (bool, String) {
    let Output { status, stdout, stderr } = process::run(command(place, database)).await;
    let output = String::from_utf8_lossy(&stdout) + String::from_utf8_lossy(&stderr);
    (status.success(), output.into_owned())
}

/// Imports a store that must be complete, and returns it with the settings of the tests.
async fn imported(place: &Stopped) -> Stopped {
    let database = Cluster::apart().database();
    let (succeeded, output) = import(place, &database).await;
    assert!(succeeded, "{output}");
    Stopped::on(Some(database), &SETTINGS)
}

async fn is_rejected(place: &Stopped, database: &Database, reason: &str) {
    let (succeeded, output) = import(place, database).await;
    assert!(!succeeded && output.contains(reason), "{reason}: {output}");
}

/// A database with tables and without rows.
pub(crate) async fn migrated() -> Database {
    let database = Cluster::apart().database();
    Stopped::on(Some(database.clone()), &[]).start().await.stop().await;
    // A job that was interrupted by the stop may have taken a lease.
    database.run("DELETE FROM leases");
    database
}

/// Whether no table has a row, except for the first rows of `expiry` and `day_cursors`.
pub(crate) fn is_empty(database: &Database) -> bool {
    let tables = Tables::of_postgres(database);
    // A service that only migrated has looked at its clock.
    let names = tables.names().filter(|name| *name != "clock");
    let mut rows = names.flat_map(|name| tables.rows(name, &tables));
    let first = [
        r#"{"ended":0,"only":1,"through":"000000000000000000000000"}"#,
        r#"{"number":0,"through":"000000000000000000000000"}"#,
    ];
    rows.all(|row| first.contains(&&*row))
}

/// With these settings, a payment that waits for its acquirer stays pending.
const SETTINGS: [(&str, &str); 2] = [SECRET, ("PAYMENTS_ACQUIRER_TIMEOUT", "1h")];

fn embedded() -> Stopped {
    Stopped::on(None, &SETTINGS)
}

/// A store with rows in every table.
struct Filled {
    place: Stopped,
    merchants: Vec<Merchant>,
    /// Answers to requests without a body, by path.
    shown: BTreeMap<String, String>,
    /// Requests with an `Idempotency-Key`: the key, the path, the body, the answer.
    answered: Vec<(String, String, Value, String)>,
    /// The form of a payment that waits for the answer to a challenge.
    form: String,
    /// An app with a key that was deleted, and the same app with its other key.
    keys: [App; 2],
}

/// Writes rows to every table and kills the service, as a crash would.
async fn filled() -> Filled {
    let receiver = Receiver::new().await;
    let (setting, ca_file) = receiver.trust();
    let place = embedded().with(setting, ca_file).with("PAYMENTS_WEBHOOK_NETWORKS", "127.0.0.1");
    let service = place.start().await;
    write_everything(&service).await;
    let (merchant, transaction) = book(&service).await;
    let app = &merchant.app;
    receiver.reply(Reply::Later(503, "60"));
    let failing = app.post("/webhooks", &json!({ "url": receiver.url("/") })).await.expect(201);
    let other = service.app().await;
    let acquirer = Acquirer(&service);
    let reason = json!({ "code": 1040, "title": "Other fraud" });
    for (kind, members) in [
        ("dispute.opened", json!({ "disputeId": "dp", "amount": 1, "reason": reason })),
        ("dispute.opened", json!({ "disputeId": "accepted", "amount": 1 })),
        ("dispute.won", json!({ "disputeId": "not opened yet" })),
        ("fraud.reported", json!({ "reason": 8, "reported": "2026-11-20T09:08:07.000Z" })),
    ] {
        let event = Acquirer::event(kind, &transaction, members);
        let _ = acquirer.notify(&event).await.expect(204);
    }
    let disputes = format!("/disputes?limit=2&filter[merchantId]={}", merchant.id);
    let disputes = ids(&app.list(&disputes).await);
    let path = |index: usize, rest: &str| format!("/disputes/{}/{rest}", disputes[index]);
    let (media, body) = form(Some("text"), &[("a.pdf", PDF)]);
    let request = app.request(Method::POST, &path(1, "evidence")).body_of(&media, body);
    let _ = request.send().await.expect(201);
    let _ = app.post(&path(1, "evidence/submit"), &json!({})).await.expect(201);
    let _ = app.post(&path(0, "accept"), &json!({})).await.expect(204);
    let mut payment = merchant.payment(Card::VISA, "DKK", 500);
    payment["custom"] = json!({ "reference": "17" });
    let custom = merchant.transaction(&merchant.charge(&payment).await.expect(201));

    let mut answered = Vec::new();
    let mut named = minimal();
    named["name"] = "Ann & Søn".into();
    named["company"]["number"] = "12345678".into();
    let repeat = json!({ "transactionId": transaction.id, "currency": "EUR", "amount": 5 });
    let card = json!({ "transactionId": transaction.id, "notes": "Ben's card" });
    let capture = json!({ "amount": 3, "descriptor": "Third mug" });
    for (number, (path, body)) in [
        ("/merchants".to_owned(), named),
        (merchant.path("/users"), json!({ "email": "Ann@shop.example" })),
        (merchant.path("/apps"), json!({ "appId": other.id })),
        (merchant.path("/transactions"), repeat.clone()),
        (merchant.path("/cards"), card),
        (custom.path_of(Move::Capture), capture),
        (custom.path_of(Move::Refund), json!({ "amount": 2 })),
        (custom.path_of(Move::Void), json!({ "amount": 1 })),
    ]
    .into_iter()
    .enumerate()
    {
        let key = format!("key {number}");
        let answer = app.post_once(&key, &path, &body).await.expect(201);
        answered.push((key, path, body, answer.text().to_owned()));
    }
    // The acquirer refuses the capture, which a further step then reverses, and the void.
    for key in ["key 5", "key 7"] {
        let operation = Sha256::new().chain_update(&app.id).chain_update(key).finalize();
        let operation = json!({ "operation": hex::encode(operation) });
        let refusal = Acquirer::event("operation.refused", &custom, operation);
        let _ = acquirer.notify(&refusal).await.expect(204);
    }
    let all = json!({
        "url": "https://shop.example",
        "types": ["payout.booked"],
        "description": "Books",
    });
    let webhook = app.post("/webhooks", &all).await.expect(201);
    let webhook = format!("/webhooks/{}", webhook.json()["webhook"]["id"].as_str().unwrap());
    let _ = app.post(&format!("{webhook}/rotate"), &json!({})).await.expect(201);
    let _ = app.put(&webhook, &json!({ "enabled": false })).await.expect(204);
    let failing = failing.json();
    let failing_id = failing["webhook"]["id"].as_str().unwrap();
    while app.list(&format!("/webhooks/{failing_id}/deliveries?limit=1")).await.is_empty() {
        sleep(Duration::from_millis(50)).await;
    }
    let link = Link::to(&merchant).with("text", "Two mugs").with("once", "y");
    let link = link.sign(&merchant.link_secret().await).await;
    let (form, page) = service.pay_at(&link, Card::CHALLENGED[0].0).await;
    let _ = page.expect(200);
    pay_out(service.data()).await;
    let bank = ["set-bank", &merchant.id, "--iban", "IE29AIBK93115212345678", "--holder", "Ann"];
    let _ = standing::run(service.data(), &bank).await;
    let place = service.stop().await;
    return_all(&place, &place.data().join("transfers.csv")).await;
    let service = place.start().await;
    let (app, other) = (app.at(&service), other.at(&service));
    let merchant = merchant.by(&app);
    let (_, till) = other.further_key("till").await;
    let _ = till.delete_key(&other.id).await.expect(204);
    let keys = [other, till];
    let merchants = vec![merchant.clone(), service.merchant().await];
    let shown = show(&merchants).await;

    let place = service.stop().await.with("PAYMENTS_SANDBOX_DELAY", "1h");
    let service = place.start().await;
    let app = app.at(&service);
    let path = merchant.path("/transactions");
    let pending = app.post_once("pending", &path, &repeat);
    let is_pending = async {
        while service.metric("payments_pending_payments").await < 2 {
            sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::select! {
        answer = pending => panic!("the acquirer has answered: {answer:?}"),
        waited = timeout(DEADLINE, is_pending) => waited.unwrap(),
    }
    let place = service.kill().await;
    // The acquirer has not confirmed this refund and this evidence.
    place.change(
        "INSERT INTO outbox
             (id, acquirer, acquirer_key, \"transaction\", movement, amount, step, trace, attempts, due)
         SELECT line, 'sandbox', randomblob(32), \"transaction\", movement, amount, step, randomblob(17), 1, 0
         FROM trail
         WHERE movement = 'refund' LIMIT 1",
    );
    place.change(
        "INSERT INTO outbox (id, acquirer, \"transaction\", movement, amount, dispute)
         SELECT id, 'sandbox', \"transaction\", 'evidence', amount, id FROM disputes WHERE submitted > 0",
    );
    place.change("INSERT INTO facts_positions VALUES ('http', 'evt 1', 1)");
    place.change("UPDATE transactions SET valid_until = created * 2");
    place.change(
        "UPDATE pending_payments SET receipt_email = 'payer@shop.example', receipt_language = 'da'",
    );
    place.change("UPDATE apps SET pending_advance = id WHERE advances IS NOT NULL");
    // The sandbox needs no IDs of authorizations.
    for table in ["pending_payments", "transactions"] {
        place.change(&format!("UPDATE {table} SET \"authorization\" = hex(id)"));
    }
    assert!(place.change("UPDATE payouts SET held_since = created") > 0);
    // What users leave at the desk.
    for sql in [
        "INSERT INTO merchant_users
         SELECT merchants.id, user, 1 FROM merchants, merchant_users
         WHERE merchants.name = 'Ann & Søn' LIMIT 1",
        "INSERT INTO sign_in_links
         SELECT randomblob(32), user, 'invitation', merchant, 1, 2, randomblob(32)
         FROM merchant_users LIMIT 1",
        "INSERT INTO sessions SELECT randomblob(32), id, 1, 2, 3 FROM users LIMIT 1",
        "INSERT INTO authenticators SELECT id, randomblob(48), 1, 2, 3, 4 FROM users LIMIT 1",
        "INSERT INTO recovery_codes SELECT id, randomblob(32) FROM users LIMIT 1",
        "INSERT INTO mails (id, kind, user, actor, browser, language, created)
         SELECT id, 'sign_in', id, 'user', randomblob(32), 'en', 1 FROM users LIMIT 1",
        "UPDATE mails SET object = id WHERE browser IS NOT NULL",
        "INSERT INTO receipts SELECT id, merchant, 'payer@shop.example', 'da' FROM transactions LIMIT 1",
        "INSERT INTO mails (id, kind, object, actor, created)
         SELECT \"transaction\", 'receipt', \"transaction\", 'system', 1 FROM receipts",
        "INSERT INTO mail_choices SELECT merchant, 'payout', user FROM merchant_users LIMIT 1",
        "INSERT INTO notices SELECT id, 'payout', id, id, id FROM merchants LIMIT 1",
        "INSERT INTO day_totals SELECT id, 1, 0, 0, id FROM merchants LIMIT 1",
        "UPDATE day_cursors SET number = 7",
    ] {
        assert_eq!(place.change(sql), 1, "{sql}");
    }
    assert_eq!(place.change("UPDATE expiry SET through = (SELECT min(id) FROM transactions)"), 1);
    Filled { place, merchants, shown, answered, form, keys }
}

/// The answers to all requests without a body that show data of the merchants, by path.
async fn show(merchants: &[Merchant]) -> BTreeMap<String, String> {
    let mut shown = BTreeMap::new();
    for merchant in merchants {
        let app = &merchant.app;
        let mut paths = vec!["/me".to_owned(), app.merchants("?limit=1000"), merchant.path("")];
        for (list, item) in [
            (merchant.path("/users?limit=1000"), None),
            (merchant.path("/apps?limit=1000"), None),
            (merchant.path("/lines?limit=1000"), Some("/lines/")),
            (merchant.path("/transactions?limit=1000"), Some("/transactions/")),
            (merchant.path("/transactions?limit=9&filter[successful]=no"), None),
            (
                format!("/disputes?limit=1000&filter[merchantId]={}", merchant.id),
                Some("/disputes/"),
            ),
            (format!("/frauds?limit=1000&filter[merchantId]={}", merchant.id), Some("/frauds/")),
            ("/webhooks?limit=1000".to_owned(), Some("/webhooks/")),
        ] {
            let items = ids(&app.list(&list).await);
            paths.extend(
                item.into_iter().flat_map(|item| items.iter().map(move |id| format!("{item}{id}"))),
            );
            paths.push(list);
        }
        for path in paths {
            let answer = app.get(&path).await.expect(200);
            shown.insert(format!("{} {path}", app.id), answer.text().to_owned());
        }
    }
    shown
}

fn at(merchants: &[Merchant], service: &Service) -> Vec<Merchant> {
    merchants.iter().map(|merchant| merchant.by(&merchant.app.at(service))).collect()
}

#[tokio::test]
async fn an_imported_store_answers_every_request_as_before() {
    let Filled { place, merchants, shown, answered, form, keys } = filled().await;
    assert!(shown.len() > 60, "{shown:#?}");
    let target = imported(&place).await;
    target.agrees().await;
    let service = target.start().await;
    let merchants = at(&merchants, &service);
    assert_eq!(show(&merchants).await, shown);

    let app = &merchants[0].app;
    for (key, path, body, text) in &answered {
        let repeat = app.post_once(key, path, body).await;
        assert_eq!(repeat.header("idempotent-replayed"), Some("true"), "{repeat:?}");
        assert_eq!(repeat.text(), text, "{path}");
    }
    assert_eq!(show(&merchants).await, shown, "a repeat was executed");

    let [deleted, kept] = keys.map(|app| app.at(&service));
    let _ = deleted.get("/me").await.expect(401);
    assert_eq!(kept.list("/apps/me/keys?limit=2").await.len(), 1);
    let _ = service.app().await.get("/me").await.expect(200);

    let confirm = form.replace("/?", "/challenge?");
    let newest = |shown: &[Value]| shown[0]["id"].as_str().unwrap().to_owned();
    let before = newest(&merchants[0].list("/transactions?limit=1").await);
    let _ = service.send_form(&confirm, "answer=confirm").await.expect(303);
    let paid = merchants[0].list("/transactions?limit=1").await;
    assert!(newest(&paid) > before, "{paid:?}");
    assert_eq!((&paid[0]["tds"], &paid[0]["successful"]), (&json!("full"), &json!(true)));
    for merchant in &merchants {
        merchant.pay("EUR", 1000).await.capture(900).await;
        merchant.sum_of_lines().await;
    }
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn every_column_of_every_row_is_imported() {
    let Filled { place, .. } = filled().await;
    let target = imported(&place).await;
    let sqlite = Tables::of_sqlite(&place.data().join("payments.db"));
    let mut postgres = Tables::of_postgres(target.database().unwrap());
    // A new column must be copied, or belong to one of these lists for a reason: PostgreSQL makes
    // IDs with sequences; leases, `taken` and holders are about running processes.
    assert_eq!(sqlite.columns_not_in(&postgres), ["ids.last"]);
    let only_in_postgres = [
        "leases.job",
        "leases.holder",
        "leases.until",
        "outbox.taken",
        "webhook_progress.holder",
        "webhook_progress.until",
    ];
    assert_eq!(postgres.columns_not_in(&sqlite), only_in_postgres);
    // A copy of nulls would prove nothing.
    let unused = sqlite.unused_columns();
    assert_eq!(unused, ["clock.expected", "clock.jump"], "only after a jump");
    // The other rows of a balance are empty.
    let rows = |tables: &Tables| tables.rows("balances", tables).len();
    assert_eq!(rows(&postgres), 16 * rows(&sqlite));
    postgres.retain("balances", "shard", &0.into());
    for name in sqlite.names().filter(|name| !["ids", "clock"].contains(name)) {
        assert_eq!(postgres.rows(name, &sqlite), sqlite.rows(name, &postgres), "{name}");
    }
}

#[tokio::test]
async fn a_column_that_only_sqlite_has_is_not_lost_silently() {
    let place = embedded().start().await.stop().await;
    place.change("ALTER TABLE apps ADD COLUMN colour TEXT");
    let database = Cluster::apart().database();
    is_rejected(&place, &database, "colour").await;
    assert!(is_empty(&database));
    database.run("ALTER TABLE apps ADD COLUMN colour text");
    let (succeeded, output) = import(&place, &database).await;
    assert!(succeeded, "{output}");
}

#[tokio::test]
async fn outbox_entries_are_sent_after_an_import() {
    let Filled { place, .. } = filled().await;
    let target = imported(&place).await;
    let database = target.database().unwrap().clone();
    assert_eq!(database.run("SELECT count(*) FROM outbox"), "2");
    let _service = target.start().await;
    let sent = async {
        while database.run("SELECT count(*) FROM outbox") != "0" {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(DEADLINE, sent).await.unwrap();
}

#[tokio::test]
async fn a_payment_without_an_answer_fails_after_an_import() {
    let Filled { place, merchants, .. } = filled().await;
    let target = imported(&place).await.with("PAYMENTS_ACQUIRER_TIMEOUT", "100ms");
    let service = target.start().await;
    let merchants = at(&merchants, &service);
    let path = merchants[0].path("/transactions?limit=1&filter[successful]=no");
    let app: &App = &merchants[0].app;
    let failed = async {
        while app.list(&path).await[0]["amount"] != 5 {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(DEADLINE, failed).await.unwrap();
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn new_ids_are_greater_than_imported_ones() {
    let service = embedded().start().await;
    let merchant = service.merchant().await;
    merchant.pay("EUR", 1000).await;
    let place = service.stop().await;
    // The clock of the old machine was wrong: the last ID is from the year 2100.
    let last = "f48657000000000000000001";
    assert_eq!(place.change(&format!("UPDATE ids SET last = x'{last}'")), 1);
    let service = imported(&place).await.start().await;
    let merchant = merchant.by(&merchant.app.at(&service));
    let newer = merchant.pay("EUR", 1000).await;
    assert!(*newer.id > *last, "{}", newer.id);
    assert_eq!(merchant.ids("/transactions?limit=1").await, [newer.id]);
}

#[tokio::test]
async fn nobody_uses_an_imported_store_again() {
    let place = Stopped::on(None, &[]).start().await.stop().await;
    let (succeeded, output) = import(&place, &Cluster::apart().database()).await;
    assert!(succeeded, "{output}");
    let settlement = place.data().join("settlement.csv");
    fs::write(&settlement, HEADER).unwrap();
    let reconcile = ["reconcile", "--from", settlement.to_str().unwrap()];
    place.is_imported(&[&["approve", &"0".repeat(24)], &["check"], &reconcile]).await;
    // An import may be repeated.
    let (succeeded, output) = import(&place, &Cluster::apart().database()).await;
    assert!(succeeded, "{output}");
    fs::remove_file(place.data().join("imported")).unwrap();
    place.start().await.stop().await;
}

#[tokio::test]
async fn import_rejects_a_used_database() {
    let service = embedded().start().await;
    service.app().await;
    let place = service.stop().await;
    let database = Cluster::apart().database();
    let service = Stopped::on(Some(database.clone()), &[]).start().await;
    let held = async {
        while database.run("SELECT count(*) FROM leases") == "0" {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(DEADLINE, held).await.unwrap();
    let reason = "a service uses the database of PAYMENTS_DATABASE_URL: stop it";
    is_rejected(&place, &database, reason).await;
    let reason = "the database of PAYMENTS_DATABASE_URL is not empty: create a new one";
    service.app().await;
    service.stop().await;
    database.run("DELETE FROM leases");
    is_rejected(&place, &database, reason).await;
    assert_eq!(database.run("SELECT count(*) FROM apps"), "1");

    let once = imported(&place).await;
    is_rejected(&place, once.database().unwrap(), reason).await;
}

#[tokio::test]
async fn import_rejects_a_store_in_use_and_a_missing_store() {
    let database = Cluster::apart().database();
    let service = embedded().start().await;
    let nowhere = Stopped::on(None, &[]);
    for (place, reason) in [(service.data(), "in use"), (&nowhere, "contains no payments.db")] {
        is_rejected(place, &database, reason).await;
    }
    let mut command = nowhere.command();
    command.args(["import", "--from", "."]);
    let stderr = process::failure_line(command).await;
    assert!(stderr.contains("PAYMENTS_DATABASE_URL"), "{stderr}");
    assert_eq!(std::fs::read_dir(nowhere.data()).unwrap().count(), 0, "a file was created");
    imported(&service.stop().await).await;
}

#[tokio::test]
async fn an_import_with_an_invalid_row_leaves_nothing() {
    let service = embedded().start().await;
    let (merchant, _) = book(&service).await;
    merchant.invite("ann@shop.example").await;
    let place = service.stop().await;
    let database = Cluster::apart().database();
    for (damage, repair, reason) in [
        (
            "lines SET balance = balance + 1 WHERE kind = 'capture'",
            "lines SET balance = balance - 1 WHERE kind = 'capture'",
            "a merchant's balance is the sum of its lines",
        ),
        (
            "transactions SET expiry_year = 100000 WHERE expiry_year = 2048",
            "transactions SET expiry_year = 2048 WHERE expiry_year = 100000",
            "table transactions, column expiry_year: a value is invalid",
        ),
        (
            "merchants SET test = 2",
            "merchants SET test = 1",
            "table merchants, column test: a value is invalid",
        ),
        (
            "users SET email = CAST(x'616e6eff' AS TEXT)",
            "users SET email = 'ann@shop.example'",
            "table users, column email: a value is invalid",
        ),
        (
            "merchants SET website = 'https://shop.example' || char(0)",
            "merchants SET website = 'https://shop.example'",
            "table merchants: the database of PAYMENTS_DATABASE_URL returned an error: ",
        ),
    ] {
        assert!(place.change(&format!("UPDATE {damage}")) > 0, "{damage}");
        is_rejected(&place, &database, reason).await;
        assert!(is_empty(&database), "{damage}");
        assert!(place.change(&format!("UPDATE {repair}")) > 0, "{repair}");
    }
    let place = place.start().await.stop().await;
    place.agrees().await;
    let (succeeded, output) = import(&place, &database).await;
    assert!(succeeded, "{output}");
    Stopped::on(Some(database), &[]).agrees().await;
}

#[tokio::test]
async fn rows_that_a_database_drops_are_missed() {
    let service = embedded().start().await;
    let merchant = service.merchant().await;
    let place = service.stop().await;
    let database = migrated().await;
    database.run(
        "CREATE FUNCTION drop_row() RETURNS trigger LANGUAGE plpgsql
             AS $$ BEGIN RETURN NULL; END $$;
         CREATE TRIGGER drop_row BEFORE INSERT ON merchants FOR EACH ROW
             EXECUTE FUNCTION drop_row()",
    );
    is_rejected(&place, &database, "table merchants: read 1 rows but wrote 0").await;
    assert!(is_empty(&database));
    database.run("DROP TRIGGER drop_row ON merchants");
    let (succeeded, output) = import(&place, &database).await;
    assert!(succeeded, "{output}");
    let service = Stopped::on(Some(database), &[]).start().await;
    merchant.by(&merchant.app.at(&service)).fetch().await;
}
