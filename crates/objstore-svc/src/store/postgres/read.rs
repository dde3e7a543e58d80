//! Reads objects by their keys, sessions, clients and the change log.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
};

use common::{
    postgres::{Error, query},
    sql::{Columns, Group},
};
use deadpool_postgres::ClientWrapper;
use tokio_postgres::Row;

use super::super::{ClientState, LogPage, Presence, rows};
use crate::domain::{AdoptedRules, Epoch, Key, Pattern, Record, Revision, StoredObject, Watches};

/// Objects, by their types `$1`, namespaces `$2` and names `$3`.
pub(super) static OBJECTS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {} FROM objects
         JOIN unnest($1::text[], $2::text[], $3::text[]) AS asked (type, namespace, name)
             USING (type, namespace, name)",
        *rows::OBJECT
    )
});

/// The sessions of the client `$1`.
pub(super) const SESSIONS: &str = "SELECT digest, expires FROM sessions WHERE client = $1";

/// Whether the last millisecond of an object, or if `$1` of a presence, is before `$2`. `least` ignores
/// nulls. Only the indexes of deadlines have their order.
pub(super) const IS_DUE: &str = "SELECT coalesce(least(
         (SELECT expires FROM objects WHERE expires IS NOT NULL ORDER BY expires LIMIT 1),
         (SELECT until FROM presences WHERE $1 ORDER BY until LIMIT 1)
     ) < $2, FALSE)";

/// The first `$4` presences after `($2, $3)` that end within `$1` milliseconds.
pub(super) static PRESENCES: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {} FROM presences
         WHERE until < (SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + $1)
             AND (until, client) > ($2, $3)
         ORDER BY until, client LIMIT $4",
        Presence::of("presences")
    )
});

/// A snapshot of the client `$1`. All its watches are in one row, because it may have very many.
pub(super) static CLIENT: LazyLock<String> = LazyLock::new(|| {
    let (epoch, rules) = (Epoch::of("store"), AdoptedRules::of("store"));
    format!(
        "SELECT store.revision, {epoch}, {rules}, position, types, namespaces, names, since, until
         FROM store LEFT JOIN clients ON clients.id = $1, LATERAL (
             SELECT array_agg(type) AS types, array_agg(namespace) AS namespaces,
                 array_agg(name) AS names, array_agg(since) AS since, array_agg(until) AS until
             FROM watches WHERE client = $1
         ) AS watches"
    )
});

/// A page of the change log after the revision `$1`: at most 512 records, fewer if they are large, and
/// the rest of the last group. Each row starts with the newest revision and the epoch of the same
/// snapshot.
static LOG: LazyLock<String> = LazyLock::new(|| {
    let (epoch, record) = (Epoch::of("store"), Record::of("page"));
    format!(
        "SELECT store.revision, {epoch}, {record} FROM store LEFT JOIN (
             SELECT * FROM log WHERE revision > $1 AND revision <= (
                 SELECT revision FROM log WHERE NOT joins_next AND revision >= (
                     SELECT max(revision) FROM
                         (SELECT * FROM log WHERE revision > $1 ORDER BY revision LIMIT 512) AS next
                     WHERE bytes_through < (SELECT bytes_through FROM log WHERE revision > $1
                         ORDER BY revision LIMIT 1) + 262144
                 ) ORDER BY revision LIMIT 1
             )
         ) AS page ON TRUE ORDER BY page.revision"
    )
});

/// Reads the result of [`OBJECTS`].
pub(super) fn objects(found: &[Row]) -> Result<HashMap<Key, Arc<StoredObject>>, Error> {
    let objects = found.iter().map(|row| {
        let stored = StoredObject::read(&mut row.into())?;
        Ok((stored.object.key.clone(), Arc::new(stored)))
    });
    objects.collect()
}

/// Reads the result of [`CLIENT`], and the epoch. A client that is unknown or removed watches
/// nothing.
pub(super) fn client(found: &[Row]) -> Result<(ClientState, Epoch), Error> {
    let row = found.first().ok_or(Error::NoRow)?;
    let mut columns = Columns::from(row);
    let (revision, epoch) = (columns.read()?, Epoch::read(&mut columns)?);
    let (rules, position) = (Group::read(&mut columns)?, columns.read()?);
    let parts = |column| Ok::<_, Error>(row.try_get::<_, Option<Vec<&str>>>(column)?);
    let (kinds, namespaces, names) = (parts(6)?, parts(7)?, parts(8)?);
    let since: Option<Vec<i64>> = row.try_get(9)?;
    let until: Option<Vec<Option<i64>>> = row.try_get(10)?;
    let ends = since.into_iter().flatten().zip(until.into_iter().flatten());
    let watches = kinds
        .into_iter()
        .flatten()
        .zip(namespaces.into_iter().flatten())
        .zip(names.into_iter().flatten())
        .zip(ends)
        .map(|(((kind, namespace), name), (since, until))| {
            let pattern =
                Pattern::new(kind, namespace, name).map_err(|error| Error::Column(error.into()))?;
            Ok((pattern, since.cast_unsigned(), until.map(i64::cast_unsigned)))
        });
    let watches = Watches::stored(watches.collect::<Result<Vec<_>, Error>>()?);
    Ok((ClientState::new(revision, epoch.start, watches, position, rules), epoch))
}

/// A page of the change log, and the newest revision and the epoch of the same snapshot.
pub(super) struct Log {
    pub(super) page: LogPage,
    pub(super) head: Revision,
    pub(super) epoch: Epoch,
}

/// Reads the records after `after`.
pub(super) async fn log(connection: &ClientWrapper, after: Revision) -> Result<Log, Error> {
    let [found] = query(connection, [(&**LOG, &[&after.cast_signed()])]).await?;
    let mut columns = Columns::from(found.first().ok_or(Error::NoRow)?);
    let (head, epoch) = (columns.read()?, Epoch::read(&mut columns)?);
    // The first row has no record if there is none.
    let records = found.iter().map(|row| {
        let mut columns = Columns::from(row);
        columns.skip(1 + Epoch::COLUMNS.len());
        Option::<Record>::read(&mut columns)
    });
    let records = records.filter_map(Result::transpose).collect::<Result<Vec<_>, _>>()?;
    Ok(Log { page: LogPage::new(records, after, head, epoch.start), head, epoch })
}
