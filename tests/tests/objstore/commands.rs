//! Subcommands that may take long: they stop where nothing is half done.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use blackbox::{
    objstore::{Client, Object, PROGRAM, Stopped},
    postgres::{Cluster, Database},
    process::{DEADLINE, output, run, send, until},
    stopping::{INTERRUPTED, hang_up_import, stop_backup, stop_often},
};
use futures_util::future::join;
use tokio::{process::Child, time::timeout};

/// Enough objects for a command of about a second.
const MANY: u32 = 200_000;

/// A stopped service with many objects in SQLite.
async fn large() -> Stopped {
    let service = Stopped::on(None, &[]).start().await;
    service.client().await.set(&Object::fresh()).await;
    let place = service.stop().await;
    let added = place.change(&format!(
        "WITH RECURSIVE numbers (number) AS (
             SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < {MANY}
         ) INSERT INTO objects (type, namespace, name, value, owner, revision)
         SELECT 'many', 'objects', number, value, owner, revision
         FROM numbers, (SELECT value, owner, revision FROM objects LIMIT 1)"
    ));
    assert_eq!(added, MANY as usize);
    place
}

#[tokio::test]
async fn a_backup_that_is_stopped_leaves_no_file() {
    let place = large().await;
    let backup = || {
        let mut command = place.command();
        command.arg("backup");
        command
    };
    stop_backup(backup, |copy| {
        let count = "SELECT count(*) FROM objects";
        let count: u32 = copy.query_row(count, [], |row| row.get(0)).unwrap();
        assert_eq!(count, MANY + 1);
    })
    .await;
}

/// A backup that is frozen, of a service that has stopped.
struct Frozen {
    place: Stopped,
    client: Client,
    file: PathBuf,
    backup: Child,
}

impl Frozen {
    async fn new() -> Self {
        let service = large().await.start().await;
        let client = service.client().await;
        let file = service.data().data().join("copy.db");
        let mut command = service.data().command();
        let backup = command.arg("backup").arg("--to").arg(&file).spawn().unwrap();
        let directory = service.data().data();
        until(async || partial(directory).iter().any(|copy| copy.metadata().unwrap().len() > 0))
            .await;
        send(backup.id().unwrap(), "STOP").await;
        assert!(!file.exists(), "the backup was too fast: the test shows nothing");
        // The log has more than the backup reads.
        client.set(&Object::fresh()).await;
        Self { place: service.stop().await, client, file, backup }
    }
}

/// Lets a frozen backup end.
async fn thaw(backup: Child) -> Output {
    send(backup.id().unwrap(), "CONT").await;
    backup.wait_with_output().await.unwrap()
}

/// The files of backups that are not complete.
fn partial(directory: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(directory).unwrap().map(|file| file.unwrap().path());
    files.filter(|file| file.extension().is_some_and(|end| end == "partial")).collect()
}

/// Whether a service waits for others that read the database in this directory.
fn waits(directory: &Path) -> bool {
    fs::metadata(directory.join("lock")).unwrap().len() > 0
}

#[tokio::test]
async fn a_service_that_starts_ends_a_backup() {
    let Frozen { place, client, file, backup } = Frozen::new().await;
    let directory = place.data().to_owned();
    let ended = async {
        until(async || waits(&directory)).await;
        thaw(backup).await
    };
    let (service, ended) = join(place.start(), ended).await;
    let printed = output(&ended);
    assert_eq!(ended.status.code(), Some(INTERRUPTED), "{printed}");
    assert!(printed.contains("needs its log: run the command again"), "{printed}");
    assert!(!waits(&directory) && !file.exists() && partial(&directory).is_empty());
    client.at(&service).set(&Object::fresh()).await;
}

#[tokio::test]
async fn a_service_that_ends_while_it_starts_ends_no_backup() {
    for (signal, code) in [("TERM", Some(0)), ("KILL", None)] {
        let Frozen { place, file, backup, .. } = Frozen::new().await;
        let service = place.command().spawn().unwrap();
        until(async || waits(place.data())).await;
        send(service.id().unwrap(), signal).await;
        let ended = timeout(DEADLINE, service.wait_with_output()).await.unwrap().unwrap();
        assert_eq!(ended.status.code(), code, "{}", output(&ended));
        let ended = thaw(backup).await;
        assert!(ended.status.success() && file.exists(), "{}", output(&ended));
    }
}

#[tokio::test]
async fn one_of_two_backups_to_the_same_file_is_complete() {
    let Frozen { place, file, backup, .. } = Frozen::new().await;
    let mut second = place.command();
    second.arg("backup").arg("--to").arg(&file);
    let second = run(second).await;
    assert!(second.status.success(), "{}", output(&second));
    let first = thaw(backup).await;
    assert!(!first.status.success() && output(&first).contains("already exists"), "{first:?}");
    assert!(partial(place.data()).is_empty());
    let copy = rusqlite::Connection::open(&file).unwrap();
    let count = copy.query_row("SELECT count(*) FROM objects", [], |row| row.get(0));
    assert_eq!(count, Ok(MANY + 2));
}

#[tokio::test]
async fn an_import_that_is_stopped_leaves_nothing() {
    let place = large().await;
    let database = Cluster::shared().database();
    let import = || {
        let mut command = Stopped::on(Some(database.clone()), &[]).command();
        command.arg("import").arg("--from").arg(place.data());
        command
    };
    stop_often(import, "interrupted: nothing was imported", async |stopped| {
        if stopped {
            assert!(is_empty(&database));
        } else {
            let count = database.run("SELECT count(*) FROM objects");
            assert_eq!(count, (MANY + 1).to_string());
            database.run(
                "TRUNCATE clients, sessions, watches, objects, log;
                 UPDATE store SET epoch = NULL, revision = 0, bytes_through = 0, clients = 0",
            );
        }
    })
    .await;
}

#[tokio::test]
async fn sighup_stops_an_import_but_not_under_nohup() {
    let place = Stopped::on(None, &[]).start().await.stop().await;
    let database = Cluster::shared().database();
    let mut import = Stopped::on(Some(database.clone()), &[]).command();
    import.arg("import").arg("--from").arg(place.data());
    hang_up_import(import, &database, PROGRAM).await;
}

/// Whether the database is new, or has no table yet.
fn is_empty(database: &Database) -> bool {
    let store = "SELECT to_regclass('store') IS NULL";
    database.run(store) == "t"
        || database.run(
            "SELECT NOT EXISTS (SELECT FROM clients) AND NOT EXISTS (SELECT FROM objects)
                 AND NOT EXISTS (SELECT FROM log)
                 AND (SELECT epoch IS NULL AND revision = 0 FROM store)",
        ) == "t"
}
