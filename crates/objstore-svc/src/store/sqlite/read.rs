//! Reads single objects, sessions, clients and the change log.

use std::sync::LazyLock;

use common::sql::{Columns, Group};
use rusqlite::{Connection, OptionalExtension as _, Row};
use uuid::Uuid;

use super::super::{ClientState, LogPage, PRESENCE_PAGE, Presence, rows};
use crate::domain::{
    AdoptedRules, ClientId, Epoch, Key, Pattern, Record, Revision, Session, StoredObject,
    Timestamp, TokenDigest, Watches, decide::CurrentObject,
};

/// Maximum number of records in a page of the change log.
const LOG_PAGE: usize = 256;

/// Bytes of records after which a page of the change log ends.
const LOG_PAGE_BYTES: usize = 64 * 1024;

/// Reads all columns of a row.
pub(super) fn row<G: Group>(row: &Row<'_>) -> rusqlite::Result<G> {
    Ok(G::read(&mut row.into())?)
}

/// Begins an epoch with the random ID `?1` if there is none: see `domain/epoch.rs`.
const BEGIN_EPOCH: &str = "UPDATE store SET epoch = ?1, epoch_start = max(
         max(epoch_start, coalesce((SELECT max(revision) FROM log), 0)) + 1048576,
         CAST(unixepoch('subsec') * 1000000 AS INTEGER)
     ) WHERE epoch IS NULL";

/// The epoch of the store. Begins one if the store is new, or a restored backup.
pub(super) fn epoch(connection: &Connection) -> rusqlite::Result<Epoch> {
    connection.execute(BEGIN_EPOCH, [rand::random_range(1..=i64::MAX)])?;
    connection.query_row(&format!("SELECT {} FROM store", Epoch::of("store")), [], row)
}

pub(super) fn session(
    connection: &Connection,
    token: TokenDigest,
) -> rusqlite::Result<Option<Session>> {
    connection
        .prepare_cached(rows::SESSION)?
        .query_row([token.as_bytes()], |row| Ok(rows::session(&mut row.into())?))
        .optional()
}

static OBJECT: LazyLock<String> = LazyLock::new(|| {
    let object = &*rows::OBJECT;
    format!("SELECT {object} FROM objects WHERE type = ?1 AND namespace = ?2 AND name = ?3")
});

pub(super) fn object(connection: &Connection, key: &Key) -> rusqlite::Result<Option<StoredObject>> {
    connection.prepare_cached(&OBJECT)?.query_row(key.parts(), row).optional()
}

/// Whether the last millisecond of an object, or if `gone` of a presence, is before `now`.
pub(super) fn is_due(
    connection: &Connection,
    gone: bool,
    now: Timestamp,
) -> rusqlite::Result<bool> {
    Ok(connection.prepare_cached(EXPIRED)?.exists([now])?
        || gone && connection.prepare_cached(GONE)?.exists([now])?)
}

pub(super) const EXPIRED: &str = "SELECT 1 FROM objects WHERE expires < ?1";

pub(super) const GONE: &str = "SELECT 1 FROM presences WHERE until < ?1";

/// The first presences after `after` that end before `before`.
pub(super) fn presences(
    connection: &Connection,
    (until, client): (Timestamp, Uuid),
    before: Timestamp,
) -> rusqlite::Result<Vec<Presence>> {
    let limit = i64::try_from(PRESENCE_PAGE).unwrap_or(i64::MAX);
    let sql = format!(
        "SELECT {} FROM presences WHERE until < ?1 AND (until, client) > (?2, ?3)
         ORDER BY until, client LIMIT ?4",
        Presence::of("presences")
    );
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_map((before, until, client.as_bytes(), limit), row)?.collect()
}

/// An object without its value.
pub(super) fn current(
    connection: &Connection,
    key: &Key,
) -> rusqlite::Result<Option<CurrentObject>> {
    static SQL: LazyLock<String> = LazyLock::new(|| {
        let columns = CurrentObject::of("objects");
        format!("SELECT {columns} FROM objects WHERE type = ?1 AND namespace = ?2 AND name = ?3")
    });
    connection.prepare_cached(&SQL)?.query_row(key.parts(), row).optional()
}

pub(super) fn adopted_rules(connection: &Connection) -> rusqlite::Result<AdoptedRules> {
    let sql = format!("SELECT {} FROM store", AdoptedRules::of("store"));
    connection.prepare_cached(&sql)?.query_row([], row)
}

/// The newest revision, and the start of the epoch. The newest record is never deleted, so it is in
/// the change log, unless the epoch has no record yet.
pub(super) fn head(connection: &Connection) -> rusqlite::Result<(Revision, Revision)> {
    connection
        .prepare_cached(
            "SELECT max(epoch_start, coalesce((SELECT max(revision) FROM log), 0)), epoch_start
             FROM store",
        )?
        .query_row([], row)
}

/// The revision at which the open watch of a pattern began, if any. An open watch is the newest of
/// its pattern, so ended watches are not read.
pub(super) fn open_watch(
    connection: &Connection,
    client: ClientId,
    pattern: &Pattern,
) -> rusqlite::Result<Option<Revision>> {
    let [kind, namespace, name] = pattern.parts();
    let newest: Option<(Revision, Option<Revision>)> = connection
        .prepare_cached(NEWEST_WATCH)?
        .query_row((client.uuid().as_bytes(), kind, namespace, name), row)
        .optional()?;
    Ok(newest.filter(|(_, until)| until.is_none()).map(|(since, _)| since))
}

pub(super) const NEWEST_WATCH: &str = "SELECT since, until FROM watches
     WHERE client = ?1 AND type = ?2 AND namespace = ?3 AND name = ?4
     ORDER BY since DESC LIMIT 1";

/// A client that is unknown or removed watches nothing.
pub(super) fn client(connection: &Connection, client: ClientId) -> rusqlite::Result<ClientState> {
    let (revision, epoch_start) = head(connection)?;
    let position = connection
        .prepare_cached("SELECT position FROM clients WHERE id = ?1")?
        .query_row([client.uuid().as_bytes()], |row| Ok(Columns::from(row).read()?))
        .optional()?;
    let mut statement = connection.prepare_cached(
        "SELECT type, namespace, name, since, until FROM watches WHERE client = ?1",
    )?;
    let watches = statement.query_map([client.uuid().as_bytes()], |row| {
        let mut columns = Columns::from(row);
        Ok((Pattern::read(&mut columns)?, columns.read()?, columns.read()?))
    })?;
    let watches = Watches::stored(watches.collect::<rusqlite::Result<Vec<_>>>()?);
    let rules = adopted_rules(connection)?;
    Ok(ClientState::new(revision, epoch_start, watches, position, rules))
}

static LOG: LazyLock<String> = LazyLock::new(|| {
    format!("SELECT {} FROM log WHERE revision > ?1 ORDER BY revision", Record::of("log"))
});

/// Reads the records after `after`.
pub(super) fn log(connection: &Connection, after: Revision) -> rusqlite::Result<LogPage> {
    let mut statement = connection.prepare_cached(&LOG)?;
    let mut found = statement.query([after.cast_signed()])?;
    let mut records = Vec::new();
    let mut bytes = 0;
    let mut joins_next = false;
    while (records.len() < LOG_PAGE && bytes < LOG_PAGE_BYTES || joins_next)
        && let Some(row) = found.next()?
    {
        let record: Record = self::row(row)?;
        bytes += record.entry.size();
        joins_next = record.joins_next;
        records.push(record);
    }
    let (head, epoch_start) = head(connection)?;
    Ok(LogPage::new(records, after, head, epoch_start))
}
