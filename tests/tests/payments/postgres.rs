//! The store on PostgreSQL: differences from the embedded engine.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    time::Duration,
};

use blackbox::{
    payments::{Acquirer, App, Move, SECRET, Service, Stopped, email},
    postgres::Cluster,
    process::{self, DEADLINE},
    rereading::{SettingFile, follows_database},
};
use futures_util::{StreamExt as _, future::join_all, stream};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

/// Starts a service on a new database.
async fn service() -> Service {
    Stopped::on(Some(Cluster::shared().database()), &[]).start().await
}

#[tokio::test]
async fn an_unavailable_database_is_503_until_it_returns() {
    let cluster = Cluster::start();
    let service = Stopped::on(Some(cluster.database()), &[]).start().await;
    let merchant = service.merchant().await;
    let transaction = merchant.pay("EUR", 1000).await;
    transaction.capture(100).await;

    cluster.stop();
    let path = transaction.path();
    let _ = merchant.app.get(&path).await.expect(503);
    let capture = json!({ "amount": 100 });
    let _ = merchant.app.post(&format!("{path}/captures"), &capture).await.expect(503);
    is_ready(&service, 503).await;
    let _ = service.fetch("/health").await.expect(200);
    let of_job = |line: &str| line.contains(r#""job":"counting the backlog""#);
    let is_failure = |line: &str| of_job(line) && line.contains("job not done");
    service.process().logged(is_failure).await;

    cluster.resume();
    is_ready(&service, 200).await;
    let is_end = |line: &str| of_job(line) && line.contains("job done again");
    service.process().logged(is_end).await;
    let log = service.process().log();
    let end: Value = serde_json::from_str(log.iter().find(|line| is_end(line)).unwrap()).unwrap();
    let failures = log.iter().filter(|line| is_failure(line)).count();
    assert!(end["failures"].as_u64() >= Some(1), "{end}");
    assert!(Some(failures as u64) <= end["seconds"].as_u64().map(|seconds| 1 + seconds / 60));
    let captured = transaction.capture(100).await;
    assert_eq!(captured["capturedAmount"], 200);
    service.stop().await.agrees().await;
}

/// Waits until `/ready` answers with this status.
pub(crate) async fn is_ready(service: &Service, status: u16) {
    let answered = async {
        while service.fetch("/ready").await.status != status {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(DEADLINE, answered).await.unwrap();
}

#[tokio::test]
async fn tls_requires_a_trusted_database_certificate() {
    let (cluster, certificate) = Cluster::secured();
    let database = cluster.database();
    let url = database.tcp_url();
    let known = tempfile::NamedTempFile::new().unwrap();
    fs::write(known.path(), certificate).unwrap();
    let known = known.path().to_str().unwrap();
    for mode in [
        "",
        "?sslmode=prefer",
        "?sslmode=require",
        "?sslmode=verify-ca",
        "?sslmode=verify-full&sslrootcert=system",
    ] {
        let place = Stopped::on(None, &[]).with("PAYMENTS_DATABASE_URL", &format!("{url}{mode}"));
        let stderr = process::failure_line(place.command()).await;
        assert!(stderr.contains("certificate"), "{mode}: {stderr}");

        let service = place.with("PAYMENTS_DATABASE_CA_FILE", known).start().await;
        service.merchant().await;
        let encrypted = "SELECT count(*) > 0 AND bool_and(ssl) FROM pg_stat_ssl
                         JOIN pg_stat_activity USING (pid) WHERE application_name = 'payments-svc'";
        assert_eq!(database.run(encrypted), "t", "{mode}");
        service.stop().await.passes_check().await;
    }
    let plain = Stopped::on(None, &[]);
    let plain = plain.with("PAYMENTS_DATABASE_URL", &format!("{url}?sslmode=disable"));
    plain.start().await.merchant().await;
}

#[tokio::test]
async fn new_connections_use_a_new_user_and_ca() {
    let (cluster, certificate) = Cluster::secured();
    let database = cluster.database();
    let url = SettingFile::new("PAYMENTS_DATABASE_URL_FILE", &database.tcp_url());
    let ca = SettingFile::new("PAYMENTS_DATABASE_CA_FILE", &certificate);
    let service = Stopped::on(None, &[url.variable(), ca.variable()]).start().await;
    follows_database(service.process(), (&database, &certificate), (&url, &ca)).await;
    service.merchant().await.pay("EUR", 1000).await;
    service.stop().await;
}

#[tokio::test]
async fn sessions_that_the_database_ends_are_replaced() {
    let service = service().await;
    let transaction = service.merchant().await.pay("EUR", 1000).await;
    transaction.capture(100).await;
    let database = service.data().database().unwrap();
    database.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
    let captured = async {
        while transaction.app.get(&transaction.path()).await.status != 200 {}
        transaction.capture(100).await
    };
    assert_eq!(timeout(DEADLINE, captured).await.unwrap()["capturedAmount"], 200);
}

#[tokio::test]
async fn a_long_table_lock_causes_503_until_it_ends() {
    let service = Stopped::on(Some(Cluster::apart().database()), &[]).start().await;
    let merchant = service.merchant().await;
    let transaction = merchant.pay("EUR", 1_000_000).await;
    let database = service.data().database().unwrap().clone();
    let holder = tokio::task::spawn_blocking(move || {
        database.run("BEGIN; LOCK TABLE transactions; SELECT pg_sleep(6); COMMIT")
    });
    let capture = json!({ "amount": 1 });
    let path = format!("{}/captures", transaction.path());
    let refused = async { while merchant.app.post(&path, &capture).await.status != 503 {} };
    timeout(DEADLINE, refused).await.unwrap();
    holder.await.unwrap();
    transaction.capture(100).await;
    service.stop().await.agrees().await;
}

/// docs/operations/configure.md and the Kubernetes files rely on this number. While a table is locked,
/// requests wait for one another, so that each one needs another connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_opens_a_fixed_number_of_connections_besides_its_pool() {
    const POOL: usize = 2;
    const ALL: usize = POOL + 5;
    let database = Cluster::shared().database();
    let settings = [("PAYMENTS_DATABASE_CONNECTIONS", &*POOL.to_string())];
    let service = Stopped::on(Some(database.clone()), &settings).start().await;
    let merchant = service.merchant().await;
    let opened = async || {
        let database = database.clone();
        let locked = database.clone();
        let lock = "BEGIN; LOCK TABLE transactions; SELECT pg_sleep(1); COMMIT";
        let locked = tokio::task::spawn_blocking(move || locked.run(lock));
        let _ = join_all((0..40).map(async |n| {
            sleep(Duration::from_millis(20 * n)).await;
            let transaction = merchant.pay("EUR", 1000).await;
            merchant.app.get(&transaction.path()).await.expect(200)
        }))
        .await;
        locked.await.unwrap();
        database.connections("payments-svc")
    };
    let all = async { while opened().await < ALL {} };
    timeout(DEADLINE, all).await.unwrap();
    for _ in 0..5 {
        assert_eq!(opened().await, ALL);
    }
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn backup_refers_to_pg_dump() {
    let place = service().await.stop().await;
    let mut command = place.command();
    command.args(["backup", "--to", "copy.db"]);
    let stderr = process::failure_line(command).await;
    assert!(stderr.contains("pg_dump"), "{stderr}");
}

#[tokio::test]
async fn an_unusable_database_url_is_reported_without_its_password() {
    for (url, reason) in [
        ("postgres://ann:xyzzy@127.0.0.1:1/none", "refused"),
        ("postgres://ann:xyzzy@127.0.0.1:1/none?sslmode=maybe", "sslmode must be"),
        ("postgres://ann:xyzzy@127.0.0.1:1/none?sslrootcert=/x", "PAYMENTS_DATABASE_CA_FILE"),
        ("postgres//ann:xyzzy@127.0.0.1:1/none", "postgres://"),
        ("ann:xyzzy", "postgres://"),
        ("postgres://ann:xyzzy@127.0.0.1:none/none", "port"),
    ] {
        for subcommand in ["", "check", "seed"] {
            let place = Stopped::on(None, &[]).with("PAYMENTS_DATABASE_URL", url);
            let mut command = place.command();
            command.args(Some(subcommand).filter(|name| !name.is_empty()));
            let stderr = process::failure_line(command).await;
            assert!(
                stderr.contains("PAYMENTS_DATABASE_URL") && stderr.contains(reason),
                "{stderr}"
            );
            assert!(!stderr.contains("xyzzy"), "{stderr}");
        }
    }
}

#[tokio::test]
async fn no_write_scans_a_whole_table() {
    let place = Stopped::on(Some(Cluster::shared().database()), &[SECRET]);
    let place = place.start().await.stop().await;
    let database = place.database().unwrap();
    // Otherwise the planner scans small tables despite their indexes.
    database.set("enable_seqscan = off");
    database.run("SELECT pg_stat_reset()");
    let service = place.start().await;
    write_everything(&service).await;
    write_webhooks(&service.app().await).await;
    // Sessions report their statistics when they end.
    let place = service.stop().await;
    // `clock`, `expiry` and `leases` have at most five rows. The history is read at the start.
    let read = "SELECT coalesce(string_agg(relname, ', '), 'none') FROM pg_stat_user_tables
                WHERE seq_scan > 0 AND relname NOT IN
                    ('clock', 'expiry', 'leases', 'refinery_schema_history')";
    let written = "SELECT count(*) FROM pg_stat_user_tables WHERE n_tup_ins > 0 AND idx_scan > 0";
    let database = place.database().unwrap();
    assert_eq!(database.run(read), "none");
    let written: u32 = database.run(written).parse().unwrap();
    assert!(written >= 15, "only {written} tables were written and read");
    place.agrees().await;
}

#[tokio::test]
async fn a_service_that_stops_ends_its_leases() {
    let database = Cluster::shared().database();
    let leases = || database.run("SELECT count(*) FROM leases");
    let service = Stopped::on(Some(database.clone()), &[]).start().await;
    let held = async {
        while leases() != "7" {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(DEADLINE, held).await.unwrap();
    service.stop().await;
    assert_eq!(leases(), "0");
}

/// The planner works with outdated statistics: the database updates the row counts of its tables
/// only every few minutes, and the trail grows in between.
#[tokio::test]
async fn no_capture_reads_the_trails_of_other_transactions() {
    const TRANSACTIONS: usize = 200;
    let database = Cluster::shared().database();
    let service = Stopped::on(Some(database.clone()), &[]).start().await;
    let merchant = service.merchant().await;
    let more = stream::repeat(()).take(TRANSACTIONS).map(|()| merchant.pay("EUR", 1000));
    let transactions: Vec<_> = more.buffer_unordered(16).collect().await;
    database.run("VACUUM ANALYZE");
    for _ in 0..3 {
        stream::iter(&transactions)
            .for_each(async |transaction| drop(transaction.capture(1).await))
            .await;
    }
    service.stop().await;
    for index in ["trail_pkey", "captures_pkey", "transactions_pkey", "transactions_of_merchants"] {
        let read =
            format!("SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = '{index}'");
        let read: usize = database.run(&read).parse().unwrap();
        assert!(read < TRANSACTIONS * 3 * 20, "{index}: {read}");
    }
}

/// Makes a write of each kind, with a key where keys are accepted, and some rejected writes.
pub(crate) async fn write_everything(service: &Service) {
    let (merchant, other) = (service.merchant().await, service.app().await);
    let app = &merchant.app;
    let transaction = merchant.pay("EUR", 1000).await;
    let (users, apps) = (merchant.path("/users"), merchant.path("/apps"));
    let repeat = json!({ "transactionId": transaction.id, "currency": "EUR", "amount": 5 });
    for round in 0..2 {
        for (number, (path, body)) in [
            (users.clone(), json!({ "email": "ann@shop.example" })),
            (apps.clone(), json!({ "appId": other.id })),
            (merchant.path("/transactions"), repeat.clone()),
            (merchant.path("/cards"), json!({ "transactionId": transaction.id })),
            (transaction.path_of(Move::Capture), json!({ "amount": 100 })),
            (transaction.path_of(Move::Refund), json!({ "amount": 50 })),
            (transaction.path_of(Move::Void), json!({ "amount": 9 })),
        ]
        .into_iter()
        .enumerate()
        {
            let _ = app.post_once(&format!("{number}"), &path, &body).await.expect(201);
            let fresh = format!("{number} {round}");
            let _ = app.post_once(&fresh, &path, &body).await.expect(201);
        }
    }
    let _ = app.put(&merchant.path(""), &json!({ "email": email() })).await.expect(204);
    let user = merchant.ids("/users?limit=1").await.remove(0);
    for path in [format!("{users}/{user}"), format!("{apps}/{}", other.id)] {
        let _ = app.delete(&path).await.expect(204);
        let _ = app.delete(&path).await.expect(403);
    }
    let acquirer = Acquirer(service);
    for how in ["won", "lost"] {
        let dispute = acquirer.open(&transaction, 20).await;
        acquirer.end(&transaction, &dispute, how).await;
        acquirer.end(&transaction, "not opened", how).await;
    }
    let _ = app.post("/sandbox/clock", &json!({ "advance": "1d" })).await.expect(201);
    let fraud = Acquirer::event("fraud.reported", &transaction, json!({}));
    let _ = acquirer.notify(&fraud).await.expect(204);
    merchant.fail(10).await;
}

/// Creates two webhooks, and changes and deletes one of them.
async fn write_webhooks(app: &App) {
    let _ = app.webhook().await;
    let webhook = format!("/webhooks/{}", app.webhook().await);
    let _ = app.post_once("key", &format!("{webhook}/rotate"), &json!({})).await.expect(201);
    let _ = app.put(&webhook, &json!({ "enabled": false })).await.expect(204);
    let _ = app.get(&webhook).await.expect(200);
    assert_eq!(app.list("/webhooks?limit=9").await.len(), 2);
    let _ = app.delete(&webhook).await.expect(204);
}

/// The server keeps a plan of each prepared statement, and strangers can send any filters.
#[tokio::test]
async fn a_connection_keeps_few_prepared_statements() {
    let cluster = Cluster::start();
    let database = cluster.database();
    database.set("log_statement = 'all'");
    let settings = [("PAYMENTS_DATABASE_CONNECTIONS", "1")];
    let service = Stopped::on(Some(database.clone()), &settings).start().await;
    let merchant = service.merchant().await;
    let begun = database.server_log().len();
    let filters = [
        "filter[reference]=a",
        "filter[last4]=4242",
        "filter[amount]=1",
        "filter[currency]=EUR",
        "filter[created][from]=2026-01-01T00:00:00Z",
        "filter[created][to]=2027-01-01T00:00:00Z",
        "filter[successful]=yes",
        "after=000000000000000000000000",
    ];
    for chosen in 0..1_u32 << filters.len() {
        let chosen = (0..).zip(filters).filter(|(bit, _)| chosen >> bit & 1 == 1);
        let query: Vec<_> = chosen.map(|(_, filter)| filter).chain(["limit=1"]).collect();
        assert!(merchant.list(&format!("/transactions?{}", query.join("&"))).await.is_empty());
    }
    let log = &database.server_log()[begun..];
    // By connection: each statement's names.
    let mut names = BTreeMap::<_, BTreeSet<_>>::new();
    for (before, entry) in log.split("LOG:  execute ").zip(log.split("LOG:  execute ").skip(1)) {
        let connection = before.lines().last().and_then(|line| line.split(['[', ']']).nth(1));
        let Some((name, rest)) = entry.split_once(": ") else { continue };
        let statement = rest.split("\n2").next().unwrap_or_default();
        names.entry((connection, statement)).or_default().insert(name);
    }
    assert!(names.values().any(|names| names.len() > 1), "no statement was prepared again");
}
