//! Loads the rows that a batch depends on, after locking the `store` row, in one round trip.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
};

use common::{
    postgres::{Error, Statement, Transaction},
    sql::{Columns, Group},
};
use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

use super::super::rows;
use crate::domain::{
    Cause, Epoch, Object, StoredObject, Timestamp, TokenDigest,
    decide::{
        ClientWatches, CurrentObject, DELETE_BYTES, DueClient, EXPIRE_BYTES, EXPIRE_OBJECTS, Head,
        LoadedRows, Needs, REAP_CLIENTS,
    },
};

/// The process ID of a PostgreSQL backend. A notification contains the ID of its sender.
pub(super) type BackendPid = i32;

/// Locks the `store` row. It is the first statement of every batch, so that the order of commits is
/// the order of revisions.
pub(super) fn lock() -> Statement<'static> {
    (&LOCK, &[])
}

static LOCK: LazyLock<String> = LazyLock::new(|| {
    let (head, epoch) = (Head::of("store"), Epoch::of("store"));
    format!("SELECT {head}, {epoch}, pg_backend_pid() FROM store FOR UPDATE")
});

/// Objects without their values, by their types `$1`, namespaces `$2` and names `$3`.
static CURRENT: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {}, {} FROM objects
         JOIN unnest($1::text[], $2::text[], $3::text[]) AS asked (type, namespace, name)
             USING (type, namespace, name)",
        *rows::KEY,
        CurrentObject::of("objects")
    )
});

/// Objects by the keys of [`CURRENT`], while the values before them have less than `$4` bytes.
static DELETED: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {} FROM {DELETED_ROWS} WHERE before < $4", *rows::OBJECT));

/// The other objects, each with the bytes of its value.
static UNLOADED: LazyLock<String> = LazyLock::new(|| {
    let (key, current) = (&*rows::KEY, CurrentObject::of("objects"));
    format!("SELECT {key}, {current}, bytes FROM {DELETED_ROWS} WHERE before >= $4")
});

const DELETED_ROWS: &str = "(
         SELECT objects.*, octet_length(value)::bigint AS bytes, coalesce(sum(octet_length(value)) OVER (
             ORDER BY type, namespace, name ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
         ), 0) AS before
         FROM objects JOIN unnest($1::text[], $2::text[], $3::text[])
             AS asked (type, namespace, name) USING (type, namespace, name)
     ) AS objects";

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
static DUE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "WITH ended AS (
             SELECT client FROM sessions WHERE expires <= $1 ORDER BY expires LIMIT $3
         ), unused AS (
             SELECT id FROM clients WHERE unused_until <= $2 ORDER BY unused_until LIMIT $3
         )
         SELECT {}, greatest((SELECT count(*) FROM ended), (SELECT count(*) FROM unused)) >= $3,
             digest, expires
         FROM clients LEFT JOIN sessions ON client = id
         WHERE id = ANY (ARRAY(SELECT client FROM ended UNION SELECT id FROM unused))",
        DueClient::of("clients")
    )
});

/// Up to `$1` objects whose last millisecond is before `$3`, those due first at the front. No object
/// follows after `$2` bytes of values.
static EXPIRED: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {} FROM (
             SELECT *, sum(octet_length(value)) OVER (
                 ORDER BY expires ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
             ) AS before FROM (
                 SELECT * FROM objects WHERE expires < $3 ORDER BY expires LIMIT $1
             ) AS due
         ) AS page WHERE coalesce(before, 0) < $2 ORDER BY expires",
        Object::of("page")
    )
});

/// Presences whose last millisecond is before `$3`, each with its objects. The limits are those of
/// [`EXPIRED`].
static GONE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT client, {} FROM (
             SELECT *, sum(octet_length(value)) OVER (
                 ORDER BY until ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
             ) AS before FROM (
                 SELECT * FROM presences LEFT JOIN objects ON present = client
                 WHERE until < $3 ORDER BY until LIMIT $1
             ) AS due
         ) AS page WHERE coalesce(before, 0) < $2",
        Object::of("page")
    )
});

const RULES: &str = "SELECT rules FROM store";

/// A statement of its own, because [`LOCK`] may wait after it has read the clock.
const NOW: &str = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

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
        let (head, epoch) = (Group::read(&mut columns)?, Group::read(&mut columns)?);
        Ok(Self { head, epoch, backend: columns.read()? })
    }
}

/// Begins the transaction and loads the rows, in one round trip.
pub(super) async fn load(
    transaction: &mut Transaction,
    needs: &Needs<'_>,
) -> Result<(LoadedRows, Locked), Error> {
    let current = Keys::of(needs.current.iter().map(|key| key.parts()));
    let objects = Keys::of(needs.objects.iter().map(|key| key.parts()));
    let clients: Vec<Uuid> = needs.clients.iter().map(|client| *client.uuid()).collect();
    let recount_at = i64::try_from(needs.recount_at).unwrap_or(i64::MAX);
    let watchers: Vec<Uuid> = needs.watches.iter().map(|(client, _)| *client.uuid()).collect();
    let patterns = Keys::of(needs.watches.iter().map(|(_, pattern)| pattern.parts()));
    let with_sessions: Vec<Uuid> = needs.sessions.iter().map(|client| *client.uuid()).collect();
    let (before, now) = needs.reap.map(|reap| (reap.before, reap.now)).unwrap_or_default();
    let [limit, objects_at_once, bytes_at_once] = [REAP_CLIENTS, EXPIRE_OBJECTS, EXPIRE_BYTES]
        .map(|limit| i64::try_from(limit).unwrap_or(i64::MAX));
    let delete_bytes = DELETE_BYTES.cast_signed();

    let of_current: [&(dyn ToSql + Sync); 3] = current.parameters();
    let [kinds, namespaces, names] = objects.parameters();
    let of_objects: [&(dyn ToSql + Sync); 4] = [kinds, namespaces, names, &delete_bytes];
    let of_clients: [&(dyn ToSql + Sync); 2] = [&clients, &recount_at];
    let [kinds, namespaces, names] = patterns.parameters();
    let of_watches: [&(dyn ToSql + Sync); 4] = [&watchers, kinds, namespaces, names];
    let of_sessions: [&(dyn ToSql + Sync); 1] = [&with_sessions];
    let of_due: [&(dyn ToSql + Sync); 3] = [&before, &now, &limit];
    let expired_at = needs.expired.unwrap_or_default();
    let of_expired: [&(dyn ToSql + Sync); 3] = [&objects_at_once, &bytes_at_once, &expired_at];
    let statements: [(bool, Statement<'_>); 12] = [
        (true, lock()),
        (!needs.current.is_empty(), (&CURRENT, &of_current)),
        (!needs.objects.is_empty(), (&DELETED, &of_objects)),
        (!needs.objects.is_empty(), (&UNLOADED, &of_objects)),
        (!needs.clients.is_empty(), (CLIENTS, &of_clients)),
        (!needs.watches.is_empty(), (WATCHES, &of_watches)),
        (!needs.sessions.is_empty(), (SESSIONS, &of_sessions)),
        (needs.reap.is_some(), (&DUE, &of_due)),
        (needs.expired.is_some(), (&EXPIRED, &of_expired)),
        (needs.gone, (&GONE, &of_expired)),
        (needs.rules, (RULES, &[])),
        (needs.now, (NOW, &[])),
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
fn known(locked: Locked, results: &[Vec<Row>; 12]) -> Result<LoadedRows, Error> {
    let [_, current, objects, unloaded, clients, watches, sessions, due, expired, gone, rules, now] =
        results;
    let mut known = LoadedRows {
        epoch: locked.epoch.id,
        head: locked.head,
        current: each(current, |columns| Ok((Group::read(columns)?, Group::read(columns)?)))?,
        objects: each(objects, |columns| {
            let StoredObject { object, revision, .. } = Group::read(columns)?;
            Ok((object.key.clone(), (Arc::new(object), revision)))
        })?,
        unloaded: each(unloaded, |columns| {
            Ok((Group::read(columns)?, (Group::read(columns)?, columns.read()?)))
        })?,
        clients: each(clients, |columns| {
            let (client, counts) = (columns.read()?, Group::read(columns)?);
            Ok((client, ClientWatches { counts, is_exact: columns.read()? }))
        })?,
        watches: each(watches, |columns| {
            let (client, pattern) = (columns.read()?, Group::read(columns)?);
            Ok(((client, pattern), columns.read()?))
        })?,
        expired: each(expired, |columns| Ok((Arc::new(Group::read(columns)?), Cause::Expired)))?,
        ..LoadedRows::default()
    };
    for row in sessions {
        let mut columns = Columns::from(row);
        let of_client = known.sessions.entry(columns.read()?).or_default();
        of_client.push(Group::read(&mut columns)?);
    }
    let mut clients = HashMap::new();
    for row in due {
        let mut columns = Columns::from(row);
        let client = DueClient::read(&mut columns)?;
        known.due.more = columns.read()?;
        let session = Option::<(TokenDigest, Timestamp)>::read(&mut columns)?;
        known.sessions.entry(client.client).or_default().extend(session);
        clients.insert(client.client, client);
    }
    known.due.clients = clients.into_values().collect();
    if let Some(row) = rules.first() {
        known.rules = Columns::from(row).read()?;
    }
    if let Some(row) = now.first() {
        known.now = Columns::from(row).read()?;
        known.at = Some(known.now);
    }
    for row in gone {
        let mut columns = Columns::from(row);
        let client = columns.read()?;
        match Group::read(&mut columns)? {
            Some(object) => known.expired.push((Arc::new(object), Cause::Gone)),
            None => known.absent.push(client),
        }
    }
    Ok(known)
}

fn each<T, C: FromIterator<T>>(
    rows: &[Row],
    read: impl Fn(&mut Columns<'_>) -> Result<T, Error>,
) -> Result<C, Error> {
    rows.iter().map(|row| read(&mut row.into())).collect()
}

/// Keys or patterns as arrays of types, namespaces and names.
pub(super) struct Keys<'a>([Vec<&'a str>; 3]);

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
