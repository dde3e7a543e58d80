//! `import`: copies an embedded store into PostgreSQL.

use std::{fs, process::Output, time::Duration};

use blackbox::{
    objstore::{Client, Event, Key, Object, Service, Stopped, revision},
    postgres::{Cluster, Database},
    process,
    tables::Tables,
};
use reqwest::Method;
use tokio::time::sleep;

use crate::fence::no_more_pushes;

/// Imports the store of `place` into a database. Returns whether this succeeded, and the output.
async fn import(place: &Stopped, database: &Database) -> (bool, String) {
    let target = Stopped::on(Some(database.clone()), &[]);
    let mut command = target.command();
    command.arg("import").arg("--from").arg(place.data());
    let Output { status, stdout, stderr } = process::run(command).await;
    let output = String::from_utf8_lossy(&stdout) + String::from_utf8_lossy(&stderr);
    (status.success(), output.into_owned())
}

async fn embedded() -> Service {
    Stopped::on(None, &[]).start().await
}

#[tokio::test]
async fn an_imported_store_keeps_objects_watches_and_positions() {
    let service = embedded().await;
    let client = service.client().await;
    let (object, unwatched) = (Object::fresh(), Object::fresh());
    client.watch(&Key::new(&object.key.r#type, "", "")).await;
    client.watch(&unwatched.key).await;
    let mut socket = client.socket().await;
    client.set(&object).await;
    assert_eq!(socket.next_push().await, object);
    socket.acknowledge().await;
    socket.close().await;
    let since = revision(&client.set(&object.numbered(1)).await);
    client.set(&unwatched).await;
    client.unwatch(&unwatched.key).await;
    client.set(&unwatched.numbered(1)).await;
    let gone = object.key.named("gone");
    client.set(&Object::new(&gone, "{}")).await;
    client.delete(&gone).await;
    let tag = client.etag(&object.key).await;
    let all = client.find(&Key::new("", "", "")).await;

    let place = service.stop().await;
    // Litestream leaves two tables.
    place.change("CREATE TABLE _litestream_lock (id INTEGER)");
    place.change("CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)");
    let database = Cluster::shared().database();
    let (succeeded, output) = import(&place, &database).await;
    assert!(succeeded, "{output}");
    let service = Stopped::on(Some(database), &[]).start().await;
    let client = client.at(&service);
    assert_eq!(client.find(&Key::new("", "", "")).await, all);
    assert_eq!(client.etag(&object.key).await, tag);
    let mut socket = client.socket().await;
    assert_eq!(socket.next_push().await, object.numbered(1));
    assert_eq!(socket.next_push().await, unwatched);
    assert_eq!(socket.next_push().await, Object::new(&gone, "{}"));
    no_more_pushes(&client, &mut socket).await;
    let mut events = client.socket_with(&format!("?events=true&since={}", since - 1)).await;
    assert_eq!(events.next_event().await, Event::Set(since, object.numbered(1)));
    let request = client.request(Method::POST, "/set").header("if-match", tag);
    let _ = request.body(object.numbered(2).body()).send().await.expect(204);
    assert!(revision(&client.etag(&object.key).await) > since);
}

#[tokio::test]
async fn every_column_of_every_row_is_imported() {
    let directory = tempfile::tempdir().unwrap();
    let rules = directory.path().join("rules.toml");
    let may = r#"may = ["get", "find", "watch", "set", "delete"]"#;
    fs::write(&rules, format!("[[rule]]\nwho = [\"owner\", \"*\"]\n{may}")).unwrap();
    let place = Stopped::on(None, &[("OBJSTORE_RULES_FILE", rules.to_str().unwrap())]);
    let service = place.start().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    client.set(&object).await;
    client.set(&Object { owner: "another".to_owned(), ..object.clone() }).await;
    client.unwatch(&object.key).await;
    client.batch(&[Object::fresh().operation(""), Object::fresh().operation("")]).await;
    client.set_with("?ttl=1h", &Object::fresh()).await;
    client.set_with("?ttl=1s", &Object::fresh()).await;
    for by_itself in [
        "SELECT count(*) FROM log WHERE cause IS NOT NULL",
        "SELECT count(*) FROM store WHERE rules IS NOT NULL",
    ] {
        while service.data().number(by_itself) == 0 {
            sleep(Duration::from_millis(50)).await;
        }
    }
    client.set_with("?presence=true", &object).await;
    let _unused = service.client().await;
    let place = service.stop().await;
    let database = Cluster::shared().database();
    let (succeeded, output) = import(&place, &database).await;
    assert!(succeeded, "{output}");
    let sqlite = Tables::of_sqlite(&place.data().join("objstore.db"));
    let postgres = Tables::of_postgres(&database);
    // A new column must be copied, or belong to one of these lists for a reason: rows of SQLite have
    // numbers, and PostgreSQL keeps in `store` what the process with the SQLite files counts, and
    // which server began the epoch.
    assert_eq!(sqlite.columns_not_in(&postgres), ["objects.id"]);
    assert_eq!(
        postgres.columns_not_in(&sqlite),
        ["store.revision", "store.bytes_through", "store.clients", "store.origin"]
    );
    // A copy of nulls would prove nothing.
    let unused = sqlite.unused_columns();
    assert_eq!(unused, ["clock.expected", "clock.jump"], "only after a jump");
    // The clock of a database is another one.
    for name in sqlite.names().filter(|name| *name != "clock") {
        assert_eq!(postgres.rows(name, &sqlite), sqlite.rows(name, &postgres), "{name}");
    }
}

#[tokio::test]
async fn nobody_uses_an_imported_store_again() {
    let place = Stopped::on(None, &[]).start().await.stop().await;
    let (succeeded, output) = import(&place, &Cluster::apart().database()).await;
    assert!(succeeded, "{output}");
    place.is_imported(&[&["new-epoch"]]).await;
    // An import may be repeated.
    let (succeeded, output) = import(&place, &Cluster::apart().database()).await;
    assert!(succeeded, "{output}");
    fs::remove_file(place.data().join("imported")).unwrap();
    place.start().await.stop().await;
}

#[tokio::test]
async fn import_rejects_a_database_that_a_service_has_used() {
    let place = embedded().await.stop().await;
    let database = Cluster::shared().database();
    Stopped::on(Some(database.clone()), &[]).start().await.stop().await;
    let (succeeded, output) = import(&place, &database).await;
    assert!(!succeeded && output.contains("OBJSTORE_DATABASE_URL"), "{output}");
    assert_eq!(output.trim_end().lines().count(), 1, "{output}");
}

#[tokio::test]
async fn import_rejects_a_store_in_use_and_a_missing_store() {
    let database = Cluster::shared().database();
    let service = embedded().await;
    let nowhere = Stopped::on(None, &[]);
    for (place, reason) in [(service.data(), "in use"), (&nowhere, "contains no objstore.db")] {
        let (succeeded, output) = import(place, &database).await;
        assert!(!succeeded && output.contains(reason), "{output}");
        assert_eq!(output.trim_end().lines().count(), 1, "{output}");
    }
    let mut command = nowhere.command();
    command.args(["import", "--from", "."]);
    let output = String::from_utf8(process::run(command).await.stderr).unwrap();
    assert!(output.contains("OBJSTORE_DATABASE_URL"), "{output}");
    let place = service.stop().await;
    let (succeeded, output) = import(&place, &database).await;
    assert!(succeeded, "{output}");
}

#[tokio::test]
async fn a_failed_import_leaves_no_rows() {
    let service = embedded().await;
    let client: Client = service.client().await;
    client.set(&Object::fresh()).await;
    let place = service.stop().await;
    let database = Cluster::shared().database();
    Stopped::on(Some(database.clone()), &[]).start().await.stop().await;
    database.run("UPDATE store SET epoch = NULL, revision = 0");
    database.run("ALTER TABLE log ADD CHECK (revision < 0)");
    let (succeeded, output) = import(&place, &database).await;
    assert!(!succeeded, "{output}");
    for table in ["clients", "sessions", "watches", "objects", "log"] {
        assert_eq!(database.run(&format!("SELECT count(*) FROM {table}")), "0", "{table}");
    }
    let place = place.start().await.stop().await;
    database.run("ALTER TABLE log DROP CONSTRAINT log_revision_check");
    let (succeeded, output) = import(&place, &database).await;
    assert!(succeeded, "{output}");
    Stopped::on(Some(database), &[]).start().await;
}
