//! Loads the rows that a batch depends on, after locking the `store` row, in one round trip.

use std::{collections::HashMap, sync::Arc};

use common::{
    postgres::{Error, Statement, Transaction},
    sql::Columns,
};
use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

use super::{super::rows, read};
use crate::domain::{
    Cause, ClientId, Epoch, WatchCounts,
    decide::{
        ClientWatches, Due, DueClient, EXPIRE_BYTES, EXPIRE_OBJECTS, Head, LoadedRows, Needs,
        REAP_CLIENTS,
    },
};

/// The process ID of a PostgreSQL backend. A notification contains the ID of its sender.
pub(super) type BackendPid = i32;

/// Locks the `store` row. It is the first statement of every batch, so that the order of commits is
/// the order of revisions.
pub(super) const LOCK: Statement<'_> = (
    "SELECT revision, bytes_through, clients, epoch, epoch_start, pg_backend_pid()
     FROM store FOR UPDATE",
    &[],
);

/// Owners and revisions of objects, by their types `$1`, namespaces `$2` and names `$3`.
const OWNERS: &str = "SELECT type, namespace, name, owner, revision FROM objects
     JOIN unnest($1::text[], $2::text[], $3::text[]) AS asked (type, namespace, name)
         USING (type, namespace, name)";

/// The numbers of watches of the clients `$1`. The column `ended` may be too high. If it has
/// reached `$2`, the ended watches that the client's position has not passed are counted instead.
const CLIENTS: &str = "SELECT id, watches, CASE WHEN ended < $2 THEN ended ELSE
         (SELECT count(*) FROM watches WHERE client = id AND until > position) END,
         ended >= $2
     FROM clients WHERE id = ANY ($1)";

/// Open watches of the clients `$1` by the parts of their patterns, with the revision at which each
/// began. An open watch is the newest of its pattern, so ended watches are not read.
const WATCHES: &str = "SELECT asked.*, newest.since
     FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[])
         AS asked (client, type, namespace, name),
     LATERAL (SELECT since, until FROM watches
         WHERE watches.client = asked.client AND watches.type = asked.type
             AND watches.namespace = asked.namespace AND watches.name = asked.name
         ORDER BY since DESC LIMIT 1) AS newest
     WHERE newest.until IS NULL";

const SESSIONS: &str = "SELECT client, digest, expires FROM sessions WHERE client = ANY ($1)";

/// Up to `$3` clients with a session that expired by `$1`, and up to `$3` unused clients whose
/// removal was due by `$2`, each with its sessions.
const DUE: &str = "WITH ended AS (
         SELECT client FROM sessions WHERE expires <= $1 ORDER BY expires LIMIT $3
     ), unused AS (
         SELECT id FROM clients WHERE unused_until <= $2 ORDER BY unused_until LIMIT $3
     )
     SELECT id, digest, expires, unused_until, watches,
         greatest((SELECT count(*) FROM ended), (SELECT count(*) FROM unused)) >= $3
     FROM clients LEFT JOIN sessions ON client = id
     WHERE id = ANY (ARRAY(SELECT client FROM ended UNION SELECT id FROM unused))";

/// Up to `$1` objects whose last millisecond is before `$3`, those due first at the front. No object
/// follows after `$2` bytes of values.
const EXPIRED: &str = "SELECT type, namespace, name, value, owner, revision FROM (
         SELECT *, sum(octet_length(value)) OVER (
             ORDER BY expires ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
         ) AS before FROM (
             SELECT * FROM objects
             WHERE expires < $3
             ORDER BY expires LIMIT $1
         ) AS due
     ) AS page WHERE coalesce(before, 0) < $2 ORDER BY expires";

/// Presences whose last millisecond is before `$3`, each with its objects. The limits are those of
/// [`EXPIRED`].
const GONE: &str = "SELECT client, type, namespace, name, value, owner, revision FROM (
         SELECT *, sum(octet_length(value)) OVER (
             ORDER BY until ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
         ) AS before FROM (
             SELECT until, client, type, namespace, name, value, owner, revision
             FROM presences LEFT JOIN objects ON present = client
             WHERE until < $3
             ORDER BY until LIMIT $1
         ) AS due
     ) AS page WHERE coalesce(before, 0) < $2";

const RULES: &str = "SELECT rules FROM store";

/// The `store` row, as it was when it was locked.
#[derive(Clone, Copy)]
pub(super) struct Locked {
    pub(super) head: Head,
    pub(super) epoch: Epoch,
    pub(super) backend: BackendPid,
}

impl Locked {
    /// Reads the result of [`LOCK`].
    pub(super) fn read(rows: Option<&Vec<Row>>) -> Result<Self, Error> {
        let row = rows.and_then(|rows| rows.first()).ok_or(Error::NoRow)?;
        let mut columns = Columns::from(row);
        let (revision, bytes) = (rows::number(&mut columns)?, columns.read()?);
        let head = Head { revision, bytes, clients: rows::number(&mut columns)? };
        Ok(Self { head, epoch: rows::epoch(&mut columns)?, backend: columns.read()? })
    }
}

/// Begins the transaction and loads the rows, in one round trip.
pub(super) async fn load(
    transaction: &mut Transaction,
    needs: &Needs<'_>,
) -> Result<(LoadedRows, Locked), Error> {
    let owners = Keys::of(needs.owners.iter().map(|key| key.parts()));
    let objects = Keys::of(needs.objects.iter().map(|key| key.parts()));
    let clients: Vec<Uuid> = needs.clients.iter().map(|client| *client.uuid()).collect();
    let recount_at = i64::try_from(needs.recount_at).unwrap_or(i64::MAX);
    let watchers: Vec<Uuid> = needs.watches.iter().map(|(client, _)| *client.uuid()).collect();
    let patterns = Keys::of(needs.watches.iter().map(|(_, pattern)| pattern.parts()));
    let with_sessions: Vec<Uuid> = needs.sessions.iter().map(|client| *client.uuid()).collect();
    let (before, now) = needs.reap.map(|reap| (reap.before, reap.now)).unwrap_or_default();
    let [limit, objects_at_once, bytes_at_once] = [REAP_CLIENTS, EXPIRE_OBJECTS, EXPIRE_BYTES]
        .map(|limit| i64::try_from(limit).unwrap_or(i64::MAX));

    let of_owners: [&(dyn ToSql + Sync); 3] = owners.parameters();
    let of_objects: [&(dyn ToSql + Sync); 3] = objects.parameters();
    let of_clients: [&(dyn ToSql + Sync); 2] = [&clients, &recount_at];
    let [kinds, namespaces, names] = patterns.parameters();
    let of_watches: [&(dyn ToSql + Sync); 4] = [&watchers, kinds, namespaces, names];
    let of_sessions: [&(dyn ToSql + Sync); 1] = [&with_sessions];
    let of_due: [&(dyn ToSql + Sync); 3] = [&before, &now, &limit];
    let expired_at = needs.expired.unwrap_or_default();
    let of_expired: [&(dyn ToSql + Sync); 3] = [&objects_at_once, &bytes_at_once, &expired_at];
    let statements: [(bool, Statement<'_>); 10] = [
        (true, LOCK),
        (!needs.owners.is_empty(), (OWNERS, &of_owners)),
        (!needs.objects.is_empty(), (read::OBJECTS, &of_objects)),
        (!needs.clients.is_empty(), (CLIENTS, &of_clients)),
        (!needs.watches.is_empty(), (WATCHES, &of_watches)),
        (!needs.sessions.is_empty(), (SESSIONS, &of_sessions)),
        (needs.reap.is_some(), (DUE, &of_due)),
        (needs.expired.is_some(), (EXPIRED, &of_expired)),
        (needs.gone, (GONE, &of_expired)),
        (needs.rules, (RULES, &[])),
    ];
    let needed = statements.iter().filter(|(is_needed, _)| *is_needed);
    let needed: Vec<_> = needed.map(|(_, statement)| *statement).collect();
    let mut results = transaction.query(&needed).await?.into_iter();
    let results = statements
        .map(|(is_needed, _)| is_needed.then(|| results.next()).flatten().unwrap_or_default());
    let locked = Locked::read(results.first())?;
    Ok((known(locked, &results)?, locked))
}

/// Converts the results of the statements; a statement that was not needed has no rows.
fn known(locked: Locked, results: &[Vec<Row>; 10]) -> Result<LoadedRows, Error> {
    let [_, owners, objects, clients, watches, sessions, due, expired, gone, rules] = results;
    let mut known = LoadedRows {
        epoch: locked.epoch.id,
        head: locked.head,
        owners: each(owners, |columns| Ok(rows::owned(columns)?))?,
        objects: each(objects, |columns| {
            let stored = rows::stored(columns)?;
            Ok((stored.object.key.clone(), (Arc::new(stored.object), stored.revision)))
        })?,
        clients: each(clients, |columns| {
            let (client, open) = (columns.read()?, rows::number(columns)?);
            let counts = WatchCounts { open, ended: rows::number(columns)? };
            Ok((client, ClientWatches { counts, is_exact: columns.read()? }))
        })?,
        watches: each(watches, |columns| {
            let (client, pattern) = (columns.read()?, rows::pattern(columns)?);
            Ok(((client, pattern), rows::number(columns)?))
        })?,
        expired: each(expired, |columns| {
            Ok((Arc::new(rows::stored(columns)?.object), Cause::Expired))
        })?,
        ..LoadedRows::default()
    };
    for row in sessions {
        let mut columns = Columns::from(row);
        let of_client = known.sessions.entry(columns.read()?).or_default();
        of_client.push((columns.read()?, columns.read()?));
    }
    read_due(due, &mut known)?;
    if let Some(row) = rules.first() {
        known.rules = rows::rules_digest(&mut row.into())?;
    }
    for row in gone {
        match rows::gone(&mut row.into())? {
            (_, Some(object)) => known.expired.push((Arc::new(object), Cause::Gone)),
            (client, None) => known.absent.push(client),
        }
    }
    Ok(known)
}

/// Reads the result of [`DUE`]: one row for each session, and one for a client without any.
fn read_due(found: &[Row], known: &mut LoadedRows) -> Result<(), Error> {
    let mut clients = HashMap::new();
    let mut more = false;
    for row in found {
        let mut columns = Columns::from(row);
        let client: ClientId = columns.read()?;
        let sessions = known.sessions.entry(client).or_default();
        if columns.is_null()? {
            columns.skip(2);
        } else {
            sessions.push((columns.read()?, columns.read()?));
        }
        let unused_until = columns.read()?;
        clients
            .insert(client, DueClient { client, unused_until, open: rows::number(&mut columns)? });
        more = columns.read()?;
    }
    known.due = Due { clients: clients.into_values().collect(), more };
    Ok(())
}

fn each<T, C: FromIterator<T>>(
    rows: &[Row],
    read: impl Fn(&mut Columns<'_>) -> Result<T, Error>,
) -> Result<C, Error> {
    rows.iter().map(|row| read(&mut row.into())).collect()
}

/// Keys or patterns as arrays of types, namespaces and names.
pub(super) struct Keys<'a>(pub(super) [Vec<&'a str>; 3]);

impl<'a> Keys<'a> {
    pub(super) fn of(keys: impl Iterator<Item = [&'a str; 3]>) -> Self {
        let mut parts = [const { Vec::new() }; 3];
        for key in keys {
            parts.iter_mut().zip(key).for_each(|(parts, part)| parts.push(part));
        }
        Self(parts)
    }

    pub(super) fn parameters(&self) -> [&(dyn ToSql + Sync); 3] {
        let [kinds, namespaces, names] = &self.0;
        [kinds, namespaces, names]
    }
}
