//! objstore-svc for power cuts.

use std::{
    collections::{HashMap, VecDeque},
    path::{Path, PathBuf},
    time::Duration,
};

use blackbox::{
    objstore::{Client, Key, Object, Service, Stopped, batch, revision},
    process::DEADLINE,
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use rusqlite::{Connection, OpenFlags, Row};
use tokio::{task::JoinSet, time::timeout};

use super::{
    copy::{ATTEMPTS, during_copy},
    record::{Record, Recording, Rows},
};
use crate::{
    database::{Database, FILE},
    eventually::eventually,
    trace::traced,
    writers::value,
};

/// Starts of the service in one record.
const STARTS: usize = 2;

/// Concurrent clients, so that their changes share commits.
const CLIENTS: usize = 4;

/// Sets and deletions of each client, in each of the two loads after a start.
const CHANGES: usize = 30;

/// Keys of each client.
const KEYS: usize = 4;

/// Bytes of a value that makes the service copy the write-ahead log into the database.
const LARGE: usize = 1_100_000;

/// Time for a copy.
const PATIENCE: Duration = Duration::from_secs(2);

/// The event of the change log that each path makes.
const EVENTS: [(&str, u8); 4] = [("/set", 1), ("/delete", 2), ("/watch", 3), ("/unwatch", 4)];

/// The ids of answered requests, with their changes. The changes of each key are in order.
type Changes = Vec<(String, String)>;

fn place(data: &Path) -> Stopped {
    let data = data.to_str().unwrap();
    Stopped::on(None, &[("OBJSTORE_DATA_DIR", data), ("OBJSTORE_MAX_BODY", "2MiB")])
}

/// The record of a service from its first start on an empty disk to its last stop.
pub(super) async fn record(seed: u64) -> Record {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut recording = Recording::new();
    let (mut place, file) = (place(&recording.data()), recording.data().join(FILE));
    let mut changes = Changes::new();
    let mut rows = HashMap::new();
    for _ in 0..STARTS {
        let command = traced(&place.command(), &recording.trace());
        let service = place.start_with(command).await;
        let client = register(&service, &mut rows).await;
        let mut large = Changes::new();
        let fill = async || large.push(set_large(&client).await);
        let load_during = async || changes.extend(load(&service, &mut rows, &mut rng).await);
        during_copy(&file, fill, load_during).await;
        changes.extend(large);
        // The copy becomes complete, and the load begins the log anew.
        changes.extend(copy_log(&client, &file).await);
        changes.extend(load(&service, &mut rows, &mut rng).await);
        place = service.stop().await;
    }
    let mut revisions = HashMap::<_, VecDeque<_>>::new();
    for (revision, change) in log(&file) {
        revisions.entry(change).or_default().push_back(revision);
    }
    for (request, change) in changes {
        let revision = revisions.get_mut(&change).and_then(VecDeque::pop_front);
        let revision = revision.unwrap_or_else(|| panic!("is not in the log: {change:.200}"));
        rows.insert(request, format!("{revision} {change}"));
    }
    recording.ended(rows, &self::rows(&file)).await
}

async fn register(service: &Service, rows: &mut HashMap<String, String>) -> Client {
    let mut client = service.stranger();
    let answer = client.register().await;
    let request = answer.header("x-request-id").unwrap();
    rows.insert(request.to_owned(), format!("client {}", client.id().simple()));
    client
}

/// The changes of several clients at once.
async fn load(service: &Service, rows: &mut HashMap<String, String>, rng: &mut StdRng) -> Changes {
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let client = register(service, rows).await;
        clients.spawn(changes(client, StdRng::seed_from_u64(rng.random())));
    }
    clients.join_all().await.concat()
}

async fn changes(client: Client, mut rng: StdRng) -> Changes {
    let pattern = Key::fresh().named("");
    let mut objects = [(); KEYS].map(|()| (Key::fresh(), false));
    let mut changes = vec![change(&client, "/watch", &pattern, pattern.body(), "").await];
    for _ in 0..CHANGES {
        let (key, exists) = &mut objects[rng.random_range(0..KEYS)];
        *exists = !*exists || rng.random_bool(0.7);
        changes.push(if *exists {
            let object = Object::new(key, value(rng.random()));
            change(&client, "/set", key, object.body(), &object.value).await
        } else {
            change(&client, "/delete", key, key.body(), "").await
        });
        if rng.random_bool(0.2) {
            changes.push(group(&client, rng.random_range(2..20), &mut rng).await);
        }
    }
    changes.push(change(&client, "/unwatch", &pattern, pattern.body(), "").await);
    changes
}

/// Sends a change. Returns the id of the request, and the change as in [`log`].
async fn change(
    client: &Client,
    path: &str,
    key: &Key,
    body: String,
    value: &str,
) -> (String, String) {
    let answer = client.post(path, body).await.expect(204);
    let Key { r#type, namespace, name } = key;
    let (_, event) = EVENTS.into_iter().find(|(it, _)| *it == path).unwrap();
    let request = answer.header("x-request-id").unwrap();
    (request.to_owned(), format!("{event} {type} {namespace} {name} {value}"))
}

/// Sets several objects at once. The change has a line for each.
async fn group(client: &Client, count: usize, rng: &mut StdRng) -> (String, String) {
    let objects: Vec<_> =
        (0..count).map(|_| Object::new(&Key::fresh(), value(rng.random()))).collect();
    let operations: Vec<_> = objects.iter().map(|object| object.operation("")).collect();
    let answer = client.post("/batch", batch(&operations)).await.expect(200);
    let lines = objects.iter().map(|object| {
        let Key { r#type, namespace, name } = &object.key;
        format!("1 {type} {namespace} {name} {}", object.value)
    });
    let request = answer.header("x-request-id").unwrap();
    (request.to_owned(), lines.collect::<Vec<_>>().join("\n"))
}

/// Makes the service copy the write-ahead log into the database.
async fn set_large(client: &Client) -> (String, String) {
    let object = Object::new(&Key::fresh(), format!(r#"{{"large":"{}"}}"#, "x".repeat(LARGE)));
    change(client, "/set", &object.key, object.body(), &object.value).await
}

/// Sets large values until the database has the whole write-ahead log. The service also commits by
/// itself: if it does so during the copy, a few pages stay.
async fn copy_log(client: &Client, file: &Path) -> Changes {
    let mut changes = Changes::new();
    while changes.len() < ATTEMPTS {
        changes.push(set_large(client).await);
        if timeout(PATIENCE, log_is_copied(file)).await.is_ok() {
            return changes;
        }
    }
    panic!("the log is not copied after {ATTEMPTS} large values");
}

async fn log_is_copied(file: &Path) {
    let connection = Connection::open(file).unwrap();
    connection.query_row("SELECT count(*) FROM store", [], |_| Ok(())).unwrap();
    eventually("the log is copied", DEADLINE, async || {
        // It only reports the pages of the log, and how many of them are copied.
        let pages = |row: &Row<'_>| Ok([row.get::<_, i64>(1)?, row.get(2)?]);
        let [pages, copied] =
            connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], pages).unwrap();
        (pages == copied).then_some(())
    })
    .await;
}

/// Revision and text of each change. A group is one change.
fn log(file: &Path) -> Vec<(i64, String)> {
    let records = select(
        file,
        "SELECT revision, concat(event, ' ', type, ' ', namespace, ' ', name, ' ',
                                 CASE event WHEN 1 THEN CAST(value AS TEXT) END,
                                 CASE WHEN joins_next THEN char(10) END)
         FROM log ORDER BY revision",
    );
    let mut changes = Vec::<(i64, String)>::new();
    for (revision, text) in records {
        match changes.last_mut() {
            Some((_, group)) if group.ends_with('\n') => group.push_str(&text),
            _ => changes.push((revision, text)),
        }
    }
    changes
}

fn rows(file: &Path) -> Rows {
    let changes = log(file).into_iter().map(|(revision, change)| format!("{revision} {change}"));
    let clients = select(file, "SELECT 0, 'client ' || lower(hex(id)) FROM clients");
    changes.chain(clients.into_iter().map(|(_, client)| client)).collect()
}

fn select(file: &Path, sql: &str) -> Vec<(i64, String)> {
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Opens a rebuilt store, and returns its rows.
pub(super) async fn open(data: PathBuf) -> Rows {
    let service = place(&data).start().await;
    let file = data.join(FILE);
    let database = Database::read(&file);
    database.is_whole();
    let rows = rows(&file);
    let tag = service.client().await.set(&Object::fresh()).await;
    assert_eq!(revision(&tag), database.revision() + 1);
    service.kill().await;
    rows
}
