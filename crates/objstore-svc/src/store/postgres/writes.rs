//! The changes of a batch as statements that take arrays: one statement for each kind of change.
//!
//! Revisions and byte counts are parameters relative to the start of the batch. The statements add
//! them to the locked `store` row, since a batch may be decided before the newest revision is
//! known.

use common::{postgres::Statement, sql::PostgresRows};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::{
    super::{rows::LogRow, tables},
    load::Keys,
};
use crate::domain::{AdoptedRules, ClientId, Revision, TokenDigest, Ttl, decide::Changes};

/// Deletes the ended watches of the clients `$1` up to their positions.
const PRUNE_WATCHES: &str = "DELETE FROM watches USING clients
     WHERE clients.id = ANY ($1) AND client = clients.id AND until <= position";

const POSTPONE: &str = "UPDATE clients SET unused_until = new.until
     FROM unnest($1::uuid[], $2::bigint[]) AS new (id, until)
     WHERE clients.id = new.id AND unused_until < new.until";

const END: &str = "UPDATE sessions SET digest = ended.after, expires = ended.at
     FROM unnest($1::bytea[], $2::bytea[], $3::bigint[]) AS ended (before, after, at)
     WHERE sessions.digest = ended.before";

const EXTEND: &str = "UPDATE sessions SET expires = greatest(sessions.expires, new.expires)
     FROM unnest($1::bytea[], $2::bigint[]) AS new (digest, expires)
     WHERE sessions.digest = new.digest";

/// Ignores positions of an earlier epoch.
const MOVE_POSITIONS: &str = "UPDATE clients SET position = moved.position
     FROM store, unnest($1::uuid[], $2::bigint[]) AS moved (id, position)
     WHERE clients.id = moved.id AND clients.position < moved.position
         AND moved.position >= store.epoch_start";

/// `$6` are revisions relative to `store`, `$7` the times to live in milliseconds, `$8` the clients
/// whose presence the objects need.
const SET: &str = "INSERT INTO objects
     SELECT type, namespace, name, value, owner, store.revision + set.revision,
         floor(extract(epoch FROM clock_timestamp()) * 1000) + ttl, present
     FROM store, unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::text[], $6::bigint[],
             $7::bigint[], $8::uuid[])
         AS set (type, namespace, name, value, owner, revision, ttl, present)
     ON CONFLICT (type, namespace, name) DO UPDATE
     SET value = excluded.value, owner = excluded.owner, revision = excluded.revision,
         expires = excluded.expires, present = excluded.present";

const BEGIN_PRESENCES: &str = "INSERT INTO presences
     SELECT client, floor(extract(epoch FROM clock_timestamp()) * 1000) + millis
     FROM unnest($1::uuid[], $2::bigint[]) AS begun (client, millis)
     ON CONFLICT (client) DO UPDATE SET until = greatest(presences.until, excluded.until)";

const KEEP_PRESENCES: &str = "UPDATE presences
     SET until = floor(extract(epoch FROM clock_timestamp()) * 1000) + millis
     FROM unnest($1::uuid[], $2::bigint[]) AS kept (client, millis)
     WHERE presences.client = kept.client";

/// `$1` and `$2` are revisions and bytes relative to `store`.
const APPEND: &str = "INSERT INTO log
     SELECT store.revision + new.revision, floor(extract(epoch FROM clock_timestamp()) * 1000),
         store.bytes_through + new.bytes_through, event, type, namespace, name, value, owner, client,
         cause, previous_owner
     FROM store, unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::text[], $5::text[], $6::text[],
             $7::bytea[], $8::text[], $9::uuid[], $10::smallint[], $11::text[])
         AS new (revision, bytes_through, event, type, namespace, name, value, owner, client, cause,
             previous_owner)";

const ADOPT_RULES: &str = "UPDATE store SET rules = $1, rules_revision = $2";

/// Must be the last statement, because the others read these columns.
const ADVANCE: &str = "UPDATE store
     SET revision = revision + $1, bytes_through = bytes_through + $2, clients = clients + $3";

/// The channel of notifications between replicas: the change log has new records.
pub(super) const CHANNEL: &str = "objstore";

const NOTIFY: &str = "NOTIFY objstore";

/// Parameters of a statement.
type Parameters<'a> = Vec<Box<dyn ToSql + Sync + Send + 'a>>;

/// Parameters of different types.
macro_rules! parameters {
    ($($value:expr),* $(,)?) => { vec![$(Box::new($value)),*] };
}

/// Statements in their order, with their parameters.
pub(super) struct Writes<'a> {
    rows: PostgresRows<'a>,
    others: Vec<(&'static str, Parameters<'a>)>,
}

impl<'a> Writes<'a> {
    pub(super) fn of(changes: &'a Changes) -> Self {
        let mut rows = PostgresRows::default();
        let Ok(()) = tables::write(&mut rows, changes);
        let mut writes = Self { rows, others: Vec::new() };
        if !changes.pruned_clients.is_empty() {
            let ids: Vec<Uuid> =
                changes.pruned_clients.iter().map(|client| *client.uuid()).collect();
            writes.push(PRUNE_WATCHES, parameters![ids]);
        }
        writes.by_client(POSTPONE, changes.postponed_removals.iter().copied());
        if !changes.ended_sessions.is_empty() {
            let of = |of: fn(TokenDigest) -> TokenDigest| -> Vec<Vec<u8>> {
                let ended = changes.ended_sessions.iter();
                ended.map(|(token, _)| of(*token).as_bytes().to_vec()).collect()
            };
            let (before, after) = (of(|token| token), of(TokenDigest::ended));
            let times: Vec<i64> = changes.ended_sessions.iter().map(|(_, at)| *at).collect();
            writes.push(END, parameters![before, after, times]);
        }
        if !changes.extended_sessions.is_empty() {
            let (digests, expiries): (Vec<&[u8]>, Vec<i64>) = changes
                .extended_sessions
                .iter()
                .map(|(token, at)| (&token.as_bytes()[..], at))
                .unzip();
            writes.push(EXTEND, parameters![digests, expiries]);
        }
        let position =
            |&(client, position): &(ClientId, Revision)| (client, position.cast_signed());
        writes.by_client(MOVE_POSITIONS, changes.positions.iter().map(position));
        // The time of a record is not later than that from which its object's time to live counts.
        writes.append(changes);
        writes.set(changes);
        writes.by_client(BEGIN_PRESENCES, changes.begun_presences.iter().copied());
        writes.by_client(KEEP_PRESENCES, changes.kept_presences.iter().copied());
        if let Some(AdoptedRules { digest, revision }) = changes.rules {
            let digest = digest.0.map(|digest| digest.to_vec());
            writes.push(ADOPT_RULES, parameters![digest, revision.cast_signed()]);
        }
        writes.advance(changes);
        writes
    }

    /// The parameters of each statement, in the form that the client library needs.
    pub(super) fn parameters(&self) -> Vec<Vec<&(dyn ToSql + Sync)>> {
        let others = self.others.iter();
        let others = others.map(|(_, values)| values.iter().map(|value| &**value as _).collect());
        self.rows.params().into_iter().chain(others).collect()
    }

    /// The statements with their [`Self::parameters`].
    pub(super) fn statements<'s>(
        &'s self,
        parameters: &'s [Vec<&'s (dyn ToSql + Sync)>],
    ) -> impl Iterator<Item = Statement<'s>> {
        let rows = self.rows.statements(parameters);
        let others = self.others.iter().zip(&parameters[rows.len()..]);
        rows.into_iter().chain(others.map(|((sql, _), values)| (*sql, &values[..])))
    }

    fn push(&mut self, sql: &'static str, parameters: Parameters<'a>) {
        self.others.push((sql, parameters));
    }

    /// A statement that takes a number for each client.
    fn by_client(&mut self, sql: &'static str, numbers: impl Iterator<Item = (ClientId, i64)>) {
        let (ids, numbers): (Vec<Uuid>, Vec<i64>) =
            numbers.map(|(client, number)| (*client.uuid(), number)).unzip();
        if !ids.is_empty() {
            self.push(sql, parameters![ids, numbers]);
        }
    }

    fn set(&mut self, changes: &'a Changes) {
        if changes.set_objects.is_empty() {
            return;
        }
        let set = || changes.set_objects.iter();
        let objects = || set().map(|set| &set.object);
        let Keys([kinds, namespaces, names]) = Keys::of(objects().map(|object| object.key.parts()));
        let values: Vec<&[u8]> = objects().map(|object| object.value.as_bytes()).collect();
        let owners: Vec<&str> = objects().map(|object| object.owner.as_str()).collect();
        let revisions: Vec<i64> =
            set().map(|set| changes.relative_revision(set.revision)).collect();
        let ttls: Vec<Option<i64>> = set().map(|set| set.lifespan.ttl.map(Ttl::millis)).collect();
        let present: Vec<Option<Uuid>> =
            set().map(|set| set.lifespan.presence.map(|client| *client.uuid())).collect();
        self.push(
            SET,
            parameters![kinds, namespaces, names, values, owners, revisions, ttls, present],
        );
    }

    fn append(&mut self, changes: &'a Changes) {
        if !changes.records.is_empty() {
            self.push(APPEND, appended(changes));
            self.push(NOTIFY, Vec::new());
        }
    }

    fn advance(&mut self, Changes { before, head, .. }: &'a Changes) {
        if before != head {
            let bytes = head.bytes - before.bytes;
            let clients = head.clients.cast_signed() - before.clients.cast_signed();
            let revisions = (head.revision - before.revision).cast_signed();
            self.push(ADVANCE, parameters![revisions, bytes, clients]);
        }
    }
}

fn appended(changes: &Changes) -> Parameters<'_> {
    let records = &changes.records;
    let rows: Vec<_> = records.iter().map(|(record, _)| LogRow::of(&record.entry)).collect();
    let revisions: Vec<i64> =
        records.iter().map(|(record, _)| changes.relative_revision(record.revision)).collect();
    let bytes_through: Vec<i64> =
        records.iter().map(|(_, through)| through - changes.before.bytes).collect();
    let events: Vec<i16> = rows.iter().map(|row| row.event).collect();
    let [kinds, namespaces, names] =
        [0, 1, 2].map(|part| rows.iter().map(|row| row.parts[part]).collect::<Vec<_>>());
    let values: Vec<Option<&[u8]>> = rows.iter().map(|row| row.value).collect();
    let owners: Vec<Option<&str>> = rows.iter().map(|row| row.owner).collect();
    let clients: Vec<Option<Uuid>> =
        rows.iter().map(|row| row.client.map(|client| *client.uuid())).collect();
    let causes: Vec<Option<i16>> = rows.iter().map(|row| row.cause).collect();
    let previous_owners: Vec<Option<&str>> = rows.iter().map(|row| row.previous_owner).collect();
    parameters![
        revisions,
        bytes_through,
        events,
        kinds,
        namespaces,
        names,
        values,
        owners,
        clients,
        causes,
        previous_owners,
    ]
}
