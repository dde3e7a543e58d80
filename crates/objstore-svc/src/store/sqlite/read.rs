//! What is read of the database, but for searches.

use rusqlite::{Connection, OptionalExtension as _, Row, types::Type};

use super::super::{ClientState, LogPage, columns::Columns};
use crate::domain::{
    ClientId, Epoch, Key, Object, Owner, Pattern, Record, Revision, Session, Stored, TokenDigest,
    Value, WatchCounts, Watches,
};

/// Records in one page of the log.
const LOG_PAGE: usize = 256;

/// Bytes after which a page of the log takes no more records.
const LOG_PAGE_BYTES: usize = 64 * 1024;

/// Fails when the database does not answer.
pub(super) fn answers(connection: &Connection) -> rusqlite::Result<()> {
    connection.prepare_cached("SELECT 1 FROM store")?.query_row([], |_| Ok(()))
}

/// The store's epoch, made now if it has none.
pub(super) fn or_make_epoch(connection: &Connection) -> rusqlite::Result<Epoch> {
    let known: Option<i64> =
        connection.query_row("SELECT epoch FROM store", [], |row| row.get(0))?;
    let bits = match known {
        Some(bits) => bits,
        None => {
            let bits = rand::random_range(1..=i64::MAX);
            connection.execute("UPDATE store SET epoch = ?1", [bits])?;
            bits
        }
    };
    Ok(Epoch::new(bits.cast_unsigned()))
}

pub(super) fn session(
    connection: &Connection,
    token: TokenDigest,
) -> rusqlite::Result<Option<Session>> {
    connection
        .prepare_cached(
            "SELECT client, expires, unused_until FROM sessions JOIN clients ON clients.id = client
             WHERE digest = ?1",
        )?
        .query_row([token.as_bytes()], |row| {
            let client = client_id(row, 0)?;
            Ok(Session { client, expires: row.get(1)?, unused_until: row.get(2)? })
        })
        .optional()
}

pub(super) fn object(connection: &Connection, key: &Key) -> rusqlite::Result<Option<Stored>> {
    connection
        .prepare_cached(
            "SELECT type, namespace, name, value, owner, revision FROM objects
             WHERE type = ?1 AND namespace = ?2 AND name = ?3",
        )?
        .query_row(key.parts(), stored)
        .optional()
}

pub(super) fn revision_of(
    connection: &Connection,
    key: &Key,
) -> rusqlite::Result<Option<Revision>> {
    connection
        .prepare_cached(
            "SELECT revision FROM objects WHERE type = ?1 AND namespace = ?2 AND name = ?3",
        )?
        .query_row(key.parts(), |row| revision(row, 0))
        .optional()
}

/// Reads type, namespace, name, value, owner, revision.
pub(super) fn stored(row: &Row<'_>) -> rusqlite::Result<Stored> {
    let object = Object {
        key: key(row, 0)?,
        value: Value::stored(row.get_ref(3)?.as_blob()?),
        owner: Owner::new(row.get_ref(4)?.as_str()?).map_err(|error| invalid(4, error))?,
    };
    Ok(Stored { object, revision: revision(row, 5)? })
}

pub(super) fn key(row: &Row<'_>, first: usize) -> rusqlite::Result<Key> {
    let part = |offset| Ok::<_, rusqlite::Error>(row.get_ref(first + offset)?.as_str()?);
    Key::new(part(0)?, part(1)?, part(2)?).map_err(|error| invalid(first, error))
}

fn pattern(row: &Row<'_>, first: usize) -> rusqlite::Result<Pattern> {
    let part = |offset| Ok::<_, rusqlite::Error>(row.get_ref(first + offset)?.as_str()?);
    Pattern::new(part(0)?, part(1)?, part(2)?).map_err(|error| invalid(first, error))
}

pub(super) fn client_id(row: &Row<'_>, column: usize) -> rusqlite::Result<ClientId> {
    let id = uuid::Uuid::from_slice(row.get_ref(column)?.as_blob()?);
    let id = id.map_err(|error| invalid(column, error))?;
    ClientId::new(id).map_err(|error| invalid(column, error))
}

pub(super) fn revision(row: &Row<'_>, column: usize) -> rusqlite::Result<Revision> {
    Ok(row.get::<_, i64>(column)?.cast_unsigned())
}

/// The store holds what its own types would refuse: it was changed by somebody else.
fn invalid(
    column: usize,
    error: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Blob, Box::new(error))
}

pub(super) fn head(connection: &Connection) -> rusqlite::Result<Revision> {
    connection
        .prepare_cached("SELECT coalesce(max(revision), 0) FROM log")?
        .query_row([], |row| revision(row, 0))
}

/// Where the open watch of a pattern begins. It is the newest of the pattern, so those that ended
/// before are not read.
pub(super) fn open_watch(
    connection: &Connection,
    client: ClientId,
    pattern: &Pattern,
) -> rusqlite::Result<Option<Revision>> {
    let [kind, namespace, name] = pattern.parts();
    let newest = connection
        .prepare_cached(NEWEST_WATCH)?
        .query_row((client.uuid().as_bytes(), kind, namespace, name), |row| {
            Ok((revision(row, 0)?, row.get::<_, Option<i64>>(1)?))
        })
        .optional()?;
    Ok(newest.filter(|(_, until)| until.is_none()).map(|(since, _)| since))
}

pub(super) const NEWEST_WATCH: &str = "SELECT since, until FROM watches
     WHERE client = ?1 AND type = ?2 AND namespace = ?3 AND name = ?4
     ORDER BY since DESC LIMIT 1";

/// How many watches a client has; none where it is not registered.
pub(super) fn watch_counts(
    connection: &Connection,
    client: ClientId,
) -> rusqlite::Result<Option<WatchCounts>> {
    connection
        .prepare_cached("SELECT watches, ended FROM clients WHERE id = ?1")?
        .query_row([client.uuid().as_bytes()], |row| {
            Ok(WatchCounts { open: count(row, 0)?, ended: count(row, 1)? })
        })
        .optional()
}

pub(super) fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(column)?.cast_unsigned())
}

/// A client at one moment. One that is not registered (any more) watches nothing.
pub(super) fn client(connection: &Connection, client: ClientId) -> rusqlite::Result<ClientState> {
    let revision_now = head(connection)?;
    let position = connection
        .prepare_cached("SELECT position FROM clients WHERE id = ?1")?
        .query_row([client.uuid().as_bytes()], |row| revision(row, 0))
        .optional()?;
    let mut statement = connection.prepare_cached(
        "SELECT type, namespace, name, since, until FROM watches WHERE client = ?1",
    )?;
    let watches = statement.query_map([client.uuid().as_bytes()], |row| {
        let until = row.get::<_, Option<i64>>(4)?.map(i64::cast_unsigned);
        Ok((pattern(row, 0)?, revision(row, 3)?, until))
    })?;
    let watches = Watches::stored(watches.collect::<rusqlite::Result<Vec<_>>>()?);
    Ok(ClientState { revision: revision_now, watches, position: position.unwrap_or(revision_now) })
}

/// The records after `after`. The log has no gaps and always keeps its newest record, so what does
/// not begin with the next one has been trimmed.
pub(super) fn log(connection: &Connection, after: Revision) -> rusqlite::Result<LogPage> {
    let mut statement = connection.prepare_cached(
        "SELECT revision, event, type, namespace, name, value, owner, client FROM log
         WHERE revision > ?1 ORDER BY revision",
    )?;
    let mut rows = statement.query([after.cast_signed()])?;
    let mut records = Vec::new();
    let mut bytes = 0;
    while records.len() < LOG_PAGE
        && bytes < LOG_PAGE_BYTES
        && let Some(row) = rows.next()?
    {
        let record = record(row)?;
        bytes += record.entry.size();
        records.push(record);
    }
    let complete = match records.first() {
        Some(first) => first.revision == after + 1,
        None => after <= head(connection)?,
    };
    Ok(if complete { LogPage::Records(records) } else { LogPage::Trimmed })
}

/// Reads revision, event, type, namespace, name, value, owner, client.
fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    let text = |column| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_str_or_null()?);
    let client = row.get_ref(7)?.as_blob_or_null()?.map(uuid::Uuid::from_slice).transpose();
    let columns = Columns {
        event: row.get(1)?,
        parts: [text(2)?, text(3)?, text(4)?],
        value: row.get_ref(5)?.as_blob_or_null()?,
        owner: text(6)?,
        client: client.map_err(|error| invalid(7, error))?,
    };
    let unknown = || rusqlite::Error::IntegralValueOutOfRange(1, columns.event.into());
    Ok(Record { revision: revision(row, 0)?, entry: columns.entry().ok_or_else(unknown)? })
}
