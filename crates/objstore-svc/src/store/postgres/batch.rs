//! One transaction: what a batch is about is read with the row of the store locked, in one round
//! trip; what it changes is written and committed in another. A batch that needs to know nothing is
//! begun, written and committed in one.

use std::collections::HashSet;

use common::postgres::{Asked, Error, ask_all};
use deadpool_postgres::ClientWrapper;
use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

use super::{
    fold::{Fold, Head, Known, Operation, Watching},
    read, statements,
    writes::Writes,
};
use crate::domain::{ClientId, Key, Pattern, Revision, WatchCounts};

/// What has to be known of the store to fold some operations.
#[derive(Default)]
pub(super) struct Needs<'a> {
    keys: HashSet<&'a Key>,
    clients: HashSet<ClientId>,
    watches: HashSet<(ClientId, &'a Pattern)>,
    /// Watches that may end.
    ends: u64,
}

impl<'a> Needs<'a> {
    pub(super) fn of(operations: impl Iterator<Item = &'a Operation>) -> Self {
        let mut needs = Self::default();
        for operation in operations {
            match operation {
                Operation::Set { intent, .. } if intent.precondition.is_empty() => {}
                Operation::Set { object, .. } => drop(needs.keys.insert(&object.key)),
                Operation::Delete { key, .. } => drop(needs.keys.insert(key)),
                Operation::Register { client, .. } => drop(needs.clients.insert(*client)),
                Operation::Watch { client, pattern } | Operation::Unwatch { client, pattern } => {
                    needs.clients.insert(*client);
                    needs.watches.insert((*client, pattern));
                    needs.ends += u64::from(matches!(operation, Operation::Unwatch { .. }));
                }
            }
        }
        needs
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.clients.is_empty() && self.watches.is_empty()
    }
}

/// The store when its row was locked.
#[derive(Clone, Copy)]
pub(super) struct Locked {
    pub(super) head: Head,
    pub(super) backend: BackendPid,
}

/// The number of a session's process in the database, which signs its notifications.
pub(super) type BackendPid = i32;

/// How a transaction begins.
const BEGIN: [Asked<'_>; 2] = [("BEGIN", &[]), (statements::LOCK, &[])];

/// Begins a transaction and reads what is needed.
pub(super) async fn begin(
    session: &ClientWrapper,
    needs: &Needs<'_>,
    max_watches: u64,
) -> Result<(Known, Locked), Error> {
    let keys = Keys::of(needs.keys.iter().map(|key| key.parts()));
    let clients: Vec<Uuid> = needs.clients.iter().map(|client| *client.uuid()).collect();
    let watchers: Vec<Uuid> = needs.watches.iter().map(|(client, _)| *client.uuid()).collect();
    let patterns = Keys::of(needs.watches.iter().map(|(_, pattern)| pattern.parts()));

    let of_keys: [&(dyn ToSql + Sync); 3] = [&keys.kinds, &keys.namespaces, &keys.names];
    // Watches that end in this batch may reach the limit in it.
    let counted_from = i64::try_from(max_watches.saturating_sub(needs.ends)).unwrap_or(i64::MAX);
    let of_clients: [&(dyn ToSql + Sync); 2] = [&clients, &counted_from];
    let of_watches: [&(dyn ToSql + Sync); 4] =
        [&watchers, &patterns.kinds, &patterns.namespaces, &patterns.names];
    let mut asked = BEGIN.to_vec();
    if !needs.keys.is_empty() {
        asked.push((read::OBJECTS, &of_keys));
    }
    if !needs.clients.is_empty() {
        asked.push((statements::CLIENTS, &of_clients));
    }
    if !needs.watches.is_empty() {
        asked.push((statements::WATCHES, &of_watches));
    }
    let answers = ask_all(session, &asked).await?;
    let locked = locked(&answers)?;
    let mut answers = answers.into_iter().skip(BEGIN.len());
    let mut rows_if = |asked: bool| asked.then(|| answers.next()).flatten().unwrap_or_default();

    let objects = read::objects(&rows_if(!needs.keys.is_empty()))?;
    let clients = rows_if(!needs.clients.is_empty());
    let clients = clients.iter().map(|row| Ok((read::client_id(row, 0)?, watching(row)?)));
    let clients = clients.collect::<Result<_, Error>>()?;
    let watches = rows_if(!needs.watches.is_empty());
    let watches = watches.iter().map(|row| {
        Ok(((read::client_id(row, 0)?, read::pattern(row, 1)?), read::revision(row, 4)?))
    });
    let watches = watches.collect::<Result<_, Error>>()?;
    Ok((Known { head: locked.head, objects, clients, watches }, locked))
}

/// What [`BEGIN`] is answered.
fn locked(answers: &[Vec<Row>]) -> Result<Locked, Error> {
    let row = answers.get(1).and_then(|rows| rows.first()).ok_or(Error::NoRow)?;
    let head =
        Head { revision: read::revision(row, 0)?, bytes: row.try_get(1)?, clients: count(row, 2)? };
    Ok(Locked { head, backend: row.try_get(3)? })
}

/// Reads what [`statements::CLIENTS`] selects.
fn watching(row: &Row) -> Result<Watching, Error> {
    let counts = WatchCounts { open: count(row, 1)?, ended: count(row, 2)? };
    Ok(Watching { counts, is_counted: row.try_get(3)? })
}

fn count(row: &Row, column: usize) -> Result<u64, Error> {
    Ok(row.try_get::<_, i64>(column)?.cast_unsigned())
}

/// Writes what a batch changes, and positions, and commits what was begun, or begins it as well.
/// Where a write fails, the database makes a roll-back of the commit.
pub(super) async fn commit(
    session: &ClientWrapper,
    begun: Option<Locked>,
    fold: &Fold<'_>,
    positions: &[(ClientId, Revision)],
) -> Result<Locked, Error> {
    let writes = Writes::of(fold, positions);
    let parameters = writes.parameters();
    let mut asked = if begun.is_some() { Vec::new() } else { BEGIN.to_vec() };
    asked.extend(writes.0.iter().zip(&parameters).map(|((sql, _), values)| (*sql, &values[..])));
    asked.push(("COMMIT", &[]));
    let answers = ask_all(session, &asked).await?;
    begun.map_or_else(|| locked(&answers), Ok)
}

/// What came of a transaction, rolled back where it failed.
pub(super) async fn or_roll_back<T>(
    session: &ClientWrapper,
    transaction: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let done = transaction.await;
    if done.is_err() {
        // Where even this fails, the session has ended.
        let _ = session.batch_execute("ROLLBACK").await;
    }
    done
}

/// Keys, or patterns, by their parts.
pub(super) struct Keys<'a> {
    pub(super) kinds: Vec<&'a str>,
    pub(super) namespaces: Vec<&'a str>,
    pub(super) names: Vec<&'a str>,
}

impl<'a> Keys<'a> {
    pub(super) fn of(parts: impl Iterator<Item = [&'a str; 3]>) -> Self {
        let mut keys = Self { kinds: Vec::new(), namespaces: Vec::new(), names: Vec::new() };
        for [kind, namespace, name] in parts {
            keys.kinds.push(kind);
            keys.namespaces.push(namespace);
            keys.names.push(name);
        }
        keys
    }
}
