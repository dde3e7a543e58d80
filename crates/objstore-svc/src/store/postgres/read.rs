//! What is read of the database, but for searches.

use std::{collections::HashMap, error::Error as StdError};

use common::postgres::{Error, ask};
use deadpool_postgres::ClientWrapper;
use tokio_postgres::Row;

use super::super::{ClientState, LogPage, columns::Columns};
use crate::domain::{
    ClientId, Key, Object, Owner, Pattern, Record, Revision, Session, Stored, Value, Watches,
};

/// The session of the token `$1`.
pub(super) const SESSION: &str = "SELECT client, expires, unused_until
     FROM sessions JOIN clients ON clients.id = client WHERE digest = $1";

/// The objects of the types `$1`, the namespaces `$2` and the names `$3`.
pub(super) const OBJECTS: &str = "SELECT type, namespace, name, value, owner, revision FROM objects
     JOIN unnest($1::text[], $2::text[], $3::text[]) AS asked (type, namespace, name)
         USING (type, namespace, name)";

/// The client `$1` at one moment, with all its watches in one row: it may have very many.
pub(super) const CLIENT: &str =
    "SELECT store.revision, position, types, namespaces, names, since, until
     FROM store LEFT JOIN clients ON clients.id = $1, LATERAL (
         SELECT array_agg(type) AS types, array_agg(namespace) AS namespaces,
             array_agg(name) AS names, array_agg(since) AS since, array_agg(until) AS until
         FROM watches WHERE client = $1
     ) AS watches";

/// A page of the log after the revision `$1`: at most 512 records, fewer where they are large. Beside
/// them, the newest revision at that moment.
const LOG: &str =
    "SELECT store.revision AS head, page.revision, event, type, namespace, name, value, owner, client
     FROM store LEFT JOIN (
         SELECT * FROM (SELECT * FROM log WHERE revision > $1 ORDER BY revision LIMIT 512) AS next
         WHERE bytes_through <
             (SELECT bytes_through FROM log WHERE revision > $1 ORDER BY revision LIMIT 1) + 262144
     ) AS page ON TRUE ORDER BY page.revision";

pub(super) fn session(row: &Row) -> Result<Session, Error> {
    let client = client_id(row, 0)?;
    Ok(Session { client, expires: row.try_get(1)?, unused_until: row.try_get(2)? })
}

/// Reads what [`OBJECTS`] selects.
pub(super) fn objects(rows: &[Row]) -> Result<HashMap<Key, Stored>, Error> {
    let objects = rows.iter().map(|row| {
        let stored = stored(row)?;
        Ok((stored.object.key.clone(), stored))
    });
    objects.collect()
}

/// Reads type, namespace, name, value, owner, revision.
pub(super) fn stored(row: &Row) -> Result<Stored, Error> {
    let object = Object {
        key: key(row)?,
        value: Value::stored(row.try_get(3)?),
        owner: Owner::new(row.try_get(4)?).map_err(broken)?,
    };
    Ok(Stored { object, revision: revision(row, 5)? })
}

/// Reads type, namespace, name.
pub(super) fn key(row: &Row) -> Result<Key, Error> {
    Key::new(row.try_get(0)?, row.try_get(1)?, row.try_get(2)?).map_err(broken)
}

/// Reads type, namespace, name from a column on.
pub(super) fn pattern(row: &Row, first: usize) -> Result<Pattern, Error> {
    let part = |offset| row.try_get::<_, &str>(first + offset);
    Pattern::new(part(0)?, part(1)?, part(2)?).map_err(broken)
}

pub(super) fn client_id(row: &Row, column: usize) -> Result<ClientId, Error> {
    ClientId::new(row.try_get(column)?).map_err(broken)
}

pub(super) fn revision(row: &Row, column: usize) -> Result<Revision, Error> {
    Ok(row.try_get::<_, i64>(column)?.cast_unsigned())
}

/// Reads what [`CLIENT`] selects. One that is not registered (any more) watches nothing.
pub(super) fn client(rows: &[Row]) -> Result<ClientState, Error> {
    let row = rows.first().ok_or(Error::NoRow)?;
    let now = revision(row, 0)?;
    let position = row.try_get::<_, Option<i64>>(1)?.map_or(now, i64::cast_unsigned);
    let parts = |column| Ok::<_, Error>(row.try_get::<_, Option<Vec<&str>>>(column)?);
    let (kinds, namespaces, names) = (parts(2)?, parts(3)?, parts(4)?);
    let since: Option<Vec<i64>> = row.try_get(5)?;
    let until: Option<Vec<Option<i64>>> = row.try_get(6)?;
    let ends = since.into_iter().flatten().zip(until.into_iter().flatten());
    let watches = kinds
        .into_iter()
        .flatten()
        .zip(namespaces.into_iter().flatten())
        .zip(names.into_iter().flatten())
        .zip(ends)
        .map(|(((kind, namespace), name), (since, until))| {
            let pattern = Pattern::new(kind, namespace, name).map_err(broken)?;
            Ok((pattern, since.cast_unsigned(), until.map(i64::cast_unsigned)))
        });
    let watches = Watches::stored(watches.collect::<Result<Vec<_>, Error>>()?);
    Ok(ClientState { revision: now, watches, position })
}

/// The records after `after`, and the newest revision. The log has no gaps and always keeps its
/// newest record, so what does not begin with the next one has been trimmed.
pub(super) async fn log(
    session: &ClientWrapper,
    after: Revision,
) -> Result<(LogPage, Revision), Error> {
    let [rows] = ask(session, [(LOG, &[&after.cast_signed()])]).await?;
    let head = revision(rows.first().ok_or(Error::NoRow)?, 0)?;
    let records = rows.iter().filter_map(|row| record(row).transpose());
    let records = records.collect::<Result<Vec<_>, _>>()?;
    let complete = match records.first() {
        Some(first) => first.revision == after + 1,
        None => after <= head,
    };
    Ok((if complete { LogPage::Records(records) } else { LogPage::Trimmed }, head))
}

/// Reads from the second column on what [`LOG`] selects, if it has found a record.
fn record(row: &Row) -> Result<Option<Record>, Error> {
    let Some(revision) = row.try_get::<_, Option<i64>>(1)? else { return Ok(None) };
    let columns = Columns {
        event: row.try_get(2)?,
        parts: [row.try_get(3)?, row.try_get(4)?, row.try_get(5)?],
        value: row.try_get(6)?,
        owner: row.try_get(7)?,
        client: row.try_get(8)?,
    };
    let entry = columns.entry().ok_or_else(|| broken(Unknown))?;
    Ok(Some(Record { revision: revision.cast_unsigned(), entry }))
}

#[derive(Debug, thiserror::Error)]
#[error("a record of the log is of no known kind")]
struct Unknown;

/// The store holds what its own types would refuse: it was changed by somebody else.
fn broken(error: impl StdError + Send + Sync + 'static) -> Error {
    Error::Column(Box::new(error))
}
