//! The store on PostgreSQL, where it differs from the embedded engine.

use std::{fs, time::Duration};

use blackbox::{
    objstore::{Client, Key, Object, Service, Stopped, Writers, unique},
    postgres::{Address, Cluster, Database},
    process::{self, DEADLINE},
    rereading::{SettingFile, follows_database},
    soak::rounds,
};
use futures_util::future::join_all;
use tokio::time::{sleep, timeout};

use crate::witness::Witness;

/// A service on a new database.
async fn service() -> Service {
    Stopped::on(Some(Cluster::shared().database()), &[]).start().await
}

fn database(service: &Service) -> &Database {
    service.data().database().unwrap()
}

/// Waits until `/ready` answers with this status.
async fn until_ready_answers(client: &Client, status: u16) {
    let answered = async {
        while client.fetch("/ready").await.status != status {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(DEADLINE, answered).await.unwrap();
}

#[tokio::test]
async fn a_service_survives_an_outage_of_its_database() {
    let cluster = Cluster::start();
    let service = Stopped::on(Some(cluster.database()), &[]).start().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let mut socket = client.socket().await;
    client.set(&object).await;
    assert_eq!(socket.next_push().await, object);

    cluster.stop();
    let body = object.key.body();
    client.post("/set", object.body()).await.refused(503, "storage_unavailable");
    client.post("/delete", body.clone()).await.refused(503, "storage_unavailable");
    client.post("/watch", body.clone()).await.refused(503, "storage_unavailable");
    client.post("/get", body.clone()).await.refused(503, "storage_unavailable");
    client.post("/find", body.clone()).await.refused(503, "storage_unavailable");
    let stranger = client.with_token(&"a".repeat(43));
    stranger.post("/get", body).await.refused(503, "storage_unavailable");
    client.fetch("/socket").await.refused(500, "not_upgraded");
    stranger.fetch("/socket").await.refused(500, "not_upgraded");
    until_ready_answers(&client, 503).await;
    let _ = client.fetch("/health").await.expect(200);

    cluster.resume();
    until_ready_answers(&client, 200).await;
    client.set(&object.numbered(1)).await;
    assert_eq!(socket.next_push().await, object.numbered(1));
    service.stop().await;
}

#[tokio::test]
async fn a_server_that_is_silent_after_a_login_stops_no_later_write() {
    let cluster = Cluster::shared();
    let (database, address) = (cluster.database(), Address::of(cluster).await);
    let url = database.url_on(&address.host());
    let place = Stopped::on(Some(database), &[]).with("OBJSTORE_DATABASE_URL", &url);
    let service = place.start().await;
    let (client, object) = (service.client().await, Object::fresh());
    client.set(&object).await;
    address.hang_after_login(cluster);
    let refused = client.post("/set", object.numbered(1).body()).await;
    assert_eq!(refused.status, 503, "{refused:?}");
    address.lead_to(cluster);
    until_ready_answers(&client, 200).await;
    client.set(&object.numbered(2)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn database_restarts_under_load_lose_no_writes_and_no_pushes() {
    let cluster = Cluster::start();
    let database = cluster.database();
    let service = Stopped::on(Some(database.clone()), &[]).start().await;
    let mut writers = Writers::new(&service).await;
    let witness = Witness::new(&service, &writers).await;
    let socket = witness.open(&service).await;
    let listening = tokio::spawn(witness.listen(socket));
    for round in 0..rounds(4, 50) {
        let shift = writers.start(&[&service]);
        shift.wrote(200).await;
        if round % 2 == 0 {
            cluster.stop()
        } else {
            cluster.crash()
        }
        cluster.resume();
        shift.wrote(200).await;
        writers = shift.stop().await;
        writers.check(&database);
    }
    let sets = writers.check(&database);
    let service = service.stop().await.start().await;
    listening.await.unwrap().saw(&service, &sets).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn terminated_database_sessions_lose_no_acknowledged_writes() {
    let service = service().await;
    let writers = Writers::new(&service).await;
    let witness = Witness::new(&service, &writers).await;
    let socket = witness.open(&service).await;
    let listening = tokio::spawn(witness.listen(socket));
    let shift = writers.start(&[&service]);
    for _ in 0..rounds(20, 1000) {
        shift.wrote(20).await;
        database(&service).run(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        );
    }
    shift.wrote(100).await;
    let sets = shift.stop().await.check(database(&service));
    let service = service.stop().await.start().await;
    listening.await.unwrap().saw(&service, &sets).await;
}

#[tokio::test]
async fn a_change_without_a_notification_is_still_pushed_soon() {
    let service = service().await;
    let client = service.client().await;
    let object = Object::new(&Key::new("t", "ns", &unique("name")), r#"{"n":1}"#);
    client.watch(&object.key).await;
    let mut socket = client.socket().await;
    let Key { r#type: kind, namespace, name } = &object.key;
    let row = format!("'{kind}', '{namespace}', '{name}', '{{\"n\":1}}', 'somebody'");
    database(&service).run(&format!(
        "WITH head AS (UPDATE store SET revision = revision + 1 RETURNING *),
              object AS (INSERT INTO objects SELECT {row}, revision FROM head)
         INSERT INTO log SELECT revision, 0, bytes_through, 1, {row} FROM head"
    ));
    assert_eq!(socket.next_push().await, object);
}

#[tokio::test]
async fn writes_recover_after_a_long_lock_on_the_store_row() {
    let service = service().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.set(&object).await;
    let held = database(&service).clone();
    let holder = tokio::task::spawn_blocking(move || {
        held.run("BEGIN; SELECT FROM store FOR UPDATE; SELECT pg_sleep(6); COMMIT")
    });
    let refused = async {
        loop {
            let answer = client.post("/set", object.body()).await;
            if answer.status == 503 {
                break answer;
            }
        }
    };
    timeout(DEADLINE, refused).await.unwrap().refused(503, "store_busy");
    let names_holder = |line: &str| {
        line.contains("holds a lock") && line.contains(r#""holder.application":"psql""#)
    };
    service.process().logged(names_holder).await;
    assert_eq!(client.get(&object.key).await, object);
    holder.await.unwrap();
    client.set(&object).await;
}

#[tokio::test]
async fn every_find_reads_only_slightly_more_rows_than_it_returns() {
    let service = service().await;
    let client = service.client().await;
    let database = database(&service);
    database.run(
        "INSERT INTO objects SELECT 't' || n % 10, 'ns' || n % 100, 'name' || n, '{}', 'o', 1
         FROM generate_series(1, 20000) AS n",
    );
    let scans = "SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'objects'";
    let scanned = database.run(scans);
    let read = || -> usize {
        let read = "SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'objects'";
        database.run(read).parse().unwrap()
    };
    let (before, mut all) = (read(), 0);
    for (pattern, found) in [
        (["", "", ""], 20000),
        (["t1", "", ""], 2000),
        (["", "ns1", ""], 200),
        (["t1", "ns1", ""], 200),
        (["", "", "name1"], 1),
        (["t1", "", "name1"], 1),
        (["", "ns1", "name1"], 1),
        (["t1", "ns1", "name1"], 1),
    ] {
        let [kind, namespace, name] = pattern;
        assert_eq!(client.find(&Key::new(kind, namespace, name)).await.len(), found);
        all += found;
    }
    // PostgreSQL sessions report their statistics late, and all at once.
    let reported = async {
        while read() < before + all {
            sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(DEADLINE, reported).await.unwrap();
    assert!(read() - before < all + all / 10, "{} were read for {all}", read() - before);
    assert_eq!(database.run(scans), scanned);
}

#[tokio::test]
async fn tls_requires_a_trusted_certificate_of_the_database() {
    let (cluster, certificate) = Cluster::secured();
    let database = cluster.database();
    let url = database.tcp_url();
    let known = tempfile::NamedTempFile::new().unwrap();
    fs::write(known.path(), certificate).unwrap();
    let place = Stopped::on(None, &[]).with("OBJSTORE_DATABASE_URL", &url);
    let output = process::failure_line(place.command()).await;
    assert!(output.contains("certificate"), "{output}");

    let known = known.path().to_str().unwrap();
    let service = place.with("OBJSTORE_DATABASE_CA_FILE", known).start().await;
    service.client().await.set(&Object::fresh()).await;
    let encrypted = "SELECT count(*) > 0 AND bool_and(ssl) FROM pg_stat_ssl
                     JOIN pg_stat_activity USING (pid) WHERE application_name = 'objstore-svc'";
    assert_eq!(database.run(encrypted), "t");
    service.stop().await;
}

#[tokio::test]
async fn new_connections_use_a_new_user_and_ca() {
    let (cluster, certificate) = Cluster::secured();
    let database = cluster.database();
    let url = SettingFile::new("OBJSTORE_DATABASE_URL_FILE", &database.tcp_url());
    let ca = SettingFile::new("OBJSTORE_DATABASE_CA_FILE", &certificate);
    let service = Stopped::on(None, &[url.variable(), ca.variable()]).start().await;
    follows_database(service.process(), (&database, &certificate), (&url, &ca)).await;
    service.client().await.set(&Object::fresh()).await;
    service.stop().await;
}

#[tokio::test]
async fn an_unusable_database_fails_at_start_without_leaking_the_password() {
    for (url, reason) in [
        ("postgres://ann:xyzzy@127.0.0.1:1/none", "refused"),
        ("postgres://ann:xyzzy@127.0.0.1:1/none?sslmode=maybe", "sslmode"),
        ("ann:xyzzy", "postgres://"),
    ] {
        for arguments in [&[][..], &["import", "--from", "."]] {
            let place = Stopped::on(None, &[]).start().await.stop().await;
            let place = place.with("OBJSTORE_DATABASE_URL", url);
            let mut command = place.command();
            command.args(arguments).current_dir(place.data());
            let output = process::failure_line(command).await;
            assert!(
                output.contains("OBJSTORE_DATABASE_URL") && output.contains(reason),
                "{output}"
            );
            assert!(!output.contains("xyzzy"), "{output}");
        }
    }
}

/// docs/operations/configure.md and the Kubernetes files rely on this number.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_opens_a_fixed_number_of_connections_besides_its_pool() {
    const POOL: usize = 2;
    const ALL: usize = POOL + 3;
    let database = Cluster::shared().database();
    let settings = [("OBJSTORE_DATABASE_CONNECTIONS", &*POOL.to_string())];
    let service = Stopped::on(Some(database.clone()), &settings).start().await;
    let (client, pattern) = (service.client().await, Key::new(&unique("kind"), "", ""));
    let shift = Writers::new(&service).await.start(&[&service]);
    let opened = async || {
        let _ = join_all((0..8).map(|_| client.find(&pattern))).await;
        database.connections("objstore-svc")
    };
    let all = async { while opened().await < ALL {} };
    timeout(DEADLINE, all).await.unwrap();
    for _ in 0..20 {
        assert_eq!(opened().await, ALL);
    }
    shift.stop().await.check(&database);
}

#[tokio::test]
async fn backup_refers_to_pg_dump() {
    let place = service().await.stop().await;
    let mut command = place.command();
    command.args(["backup", "--to", "copy.db"]);
    let output = process::failure_line(command).await;
    assert!(output.contains("pg_dump"), "{output}");
}

#[tokio::test]
async fn concurrent_registrations_fill_exactly_the_client_limit() {
    let database = Cluster::shared().database();
    let settings = [("OBJSTORE_MAX_CLIENTS", "10")];
    let start = |_| Stopped::on(Some(database.clone()), &settings).start();
    let services = join_all((0..2).map(start)).await;
    let register = |index: usize| {
        let stranger = services[index % 2].stranger();
        let body = format!(r#"{{"ID":"{}"}}"#, stranger.id());
        async move { stranger.post("/register", body).await.status }
    };
    let statuses = join_all((0..30).map(register)).await;
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 10, "{statuses:?}");
    assert_eq!(database.run("SELECT count(*) FROM clients"), "10");
}
