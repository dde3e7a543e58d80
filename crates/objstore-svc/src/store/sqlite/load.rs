//! Loads the rows that a batch depends on, each by its key.

use std::{
    collections::HashSet,
    sync::{Arc, LazyLock},
};

use common::sql::{Columns, Group as _};
use rusqlite::{Connection, OptionalExtension as _};

use super::read;
use crate::domain::{
    Cause, ClientId, Object, Timestamp, TokenDigest, WatchCounts,
    decide::{
        ClientWatches, DELETE_BYTES, Due, DueClient, EXPIRE_BYTES, EXPIRE_OBJECTS, Head,
        LoadedRows, Needs, REAP_CLIENTS, Reap,
    },
};

const SIZE: &str =
    "SELECT length(value) FROM objects WHERE type = ?1 AND namespace = ?2 AND name = ?3";

/// Counts the watches of a client that ended after its position.
pub(super) const COUNT_ENDED: &str =
    "SELECT count(*) FROM watches WHERE client = ?1 AND until > ?2";

/// Objects whose last millisecond is before `?1`.
pub(super) static EXPIRED: LazyLock<String> = LazyLock::new(|| {
    format!("SELECT {} FROM objects WHERE expires < ?1 ORDER BY expires", Object::of("objects"))
});

/// Presences whose last millisecond is before `?1`, each with its objects.
pub(super) static GONE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT client, {} FROM presences LEFT JOIN objects ON present = client
         WHERE until < ?1 ORDER BY until",
        Object::of("objects")
    )
});

/// `head` is the head before the batch.
pub(super) fn load(
    connection: &Connection,
    needs: &Needs<'_>,
    head: Head,
) -> rusqlite::Result<LoadedRows> {
    let mut known = LoadedRows { head, ..LoadedRows::default() };
    for &key in &needs.current {
        let current = read::current(connection, key)?;
        known.current.extend(current.map(|current| (key.clone(), current)));
    }
    let mut bytes: u64 = 0;
    for &key in &needs.objects {
        if bytes >= DELETE_BYTES {
            if let Some(current) = read::current(connection, key)? {
                let mut size = connection.prepare_cached(SIZE)?;
                let size = size.query_row(key.parts(), |row| Ok(Columns::from(row).read()?))?;
                known.unloaded.insert(key.clone(), (current, size));
            }
        } else if let Some(stored) = read::object(connection, key)? {
            bytes = bytes.saturating_add(stored.object.value.as_bytes().len() as u64);
            known.objects.insert(key.clone(), (Arc::new(stored.object), stored.revision));
        }
    }
    for &client in &needs.clients {
        if let Some(watching) = watching(connection, client, needs.recount_at)? {
            known.clients.insert(client, watching);
        }
    }
    for &(client, pattern) in &needs.watches {
        if let Some(since) = read::open_watch(connection, client, pattern)? {
            known.watches.insert((client, pattern.clone()), since);
        }
    }
    for &client in &needs.sessions {
        known.sessions.insert(client, sessions(connection, client)?);
    }
    if let Some(reap) = needs.reap {
        known.due = due(connection, reap)?;
        for &DueClient { client, .. } in &known.due.clients {
            known.sessions.insert(client, sessions(connection, client)?);
        }
    }
    if let Some(now) = needs.expired {
        known.expired = expired(connection, now)?;
        if needs.gone {
            gone(connection, now, &mut known)?;
        }
    }
    if needs.rules {
        known.rules = read::adopted_rules(connection)?.digest;
    }
    Ok(known)
}

fn watching(
    connection: &Connection,
    client: ClientId,
    recount_at: u64,
) -> rusqlite::Result<Option<ClientWatches>> {
    let id = client.uuid().as_bytes();
    let row = connection
        .prepare_cached("SELECT watches, ended, position FROM clients WHERE id = ?1")?
        .query_row([id], |row| {
            let mut columns = Columns::from(row);
            Ok((WatchCounts::read(&mut columns)?, columns.read::<i64>()?))
        })
        .optional()?;
    let Some((mut counts, position)) = row else { return Ok(None) };
    let is_exact = counts.ended >= recount_at;
    if is_exact {
        let mut count = connection.prepare_cached(COUNT_ENDED)?;
        counts.ended = count.query_row((id, position), |row| Ok(Columns::from(row).read()?))?;
    }
    Ok(Some(ClientWatches { counts, is_exact }))
}

pub(super) fn sessions(
    connection: &Connection,
    client: ClientId,
) -> rusqlite::Result<Vec<(TokenDigest, Timestamp)>> {
    connection
        .prepare_cached("SELECT digest, expires FROM sessions WHERE client = ?1")?
        .query_map([client.uuid().as_bytes()], read::row)?
        .collect()
}

/// The objects whose last millisecond is before `now`, within the limits of one write.
fn expired(connection: &Connection, now: Timestamp) -> rusqlite::Result<Vec<(Arc<Object>, Cause)>> {
    let mut statement = connection.prepare_cached(&EXPIRED)?;
    let mut found = statement.query([now])?;
    let mut expired = Vec::new();
    let mut bytes = 0;
    while expired.len() < EXPIRE_OBJECTS
        && bytes < EXPIRE_BYTES
        && let Some(row) = found.next()?
    {
        let object: Object = read::row(row)?;
        bytes += object.size();
        expired.push((Arc::new(object), Cause::Expired));
    }
    Ok(expired)
}

/// Reads the objects of presences whose last millisecond is before `now`, within the limits of one
/// write, and the clients of presences without an object.
fn gone(connection: &Connection, now: Timestamp, known: &mut LoadedRows) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(&GONE)?;
    let mut found = statement.query([now])?;
    let (mut count, mut bytes) = (0, 0);
    while count < EXPIRE_OBJECTS
        && bytes < EXPIRE_BYTES
        && let Some(row) = found.next()?
    {
        count += 1;
        let mut columns = Columns::from(row);
        let client = columns.read()?;
        match Option::<Object>::read(&mut columns)? {
            Some(object) => {
                bytes += object.size();
                known.expired.push((Arc::new(object), Cause::Gone));
            }
            None => known.absent.push(client),
        }
    }
    Ok(())
}

/// Finds clients with a session to delete, and unused clients whose removal is due.
fn due(connection: &Connection, Reap { before, now }: Reap) -> rusqlite::Result<Due> {
    let limit = i64::try_from(REAP_CLIENTS).unwrap_or(i64::MAX);
    let mut found = HashSet::new();
    let mut more = false;
    for (sql, until) in [
        ("SELECT client FROM sessions WHERE expires <= ?1 ORDER BY expires LIMIT ?2", before),
        ("SELECT id FROM clients WHERE unused_until <= ?1 ORDER BY unused_until LIMIT ?2", now),
    ] {
        let mut statement = connection.prepare_cached(sql)?;
        let clients = statement
            .query_map((until, limit), |row| Ok(Columns::from(row).read::<ClientId>()?))?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        more |= clients.len() >= REAP_CLIENTS;
        found.extend(clients);
    }
    let sql = format!("SELECT {} FROM clients WHERE id = ?1", DueClient::of("clients"));
    let mut statement = connection.prepare_cached(&sql)?;
    let clients =
        found.iter().map(|client| statement.query_row([client.uuid().as_bytes()], read::row));
    Ok(Due { clients: clients.collect::<rusqlite::Result<_>>()?, more })
}
