//! The statements of PostgreSQL that write rows, with an array for each column.
//!
//! Revisions and byte counts are parameters relative to the start of the batch. The statements add
//! them to the locked `store` row, since a batch may be decided before the newest revision is
//! known. Times of presences are relative to the clock of the database.

use super::super::tables::Statements;

pub(super) const STATEMENTS: Statements = Statements {
    prune_watches: "DELETE FROM watches USING clients
         WHERE clients.id = ANY ($1) AND client = clients.id AND until <= position",
    unused_until: "UPDATE clients SET unused_until = new.until
         FROM unnest($1::uuid[], $2::bigint[]) AS new (id, until)
         WHERE clients.id = new.id AND (new.until IS NULL OR unused_until < new.until)",
    end: "UPDATE sessions SET digest = ended.after, expires = ended.at
         FROM unnest($1::bytea[], $2::bytea[], $3::bigint[]) AS ended (before, after, at)
         WHERE sessions.digest = ended.before",
    extend: "UPDATE sessions SET expires = greatest(sessions.expires, new.expires)
         FROM unnest($1::bytea[], $2::bigint[]) AS new (digest, expires)
         WHERE sessions.digest = new.digest",
    // Ignores positions of an earlier epoch.
    move_position: "UPDATE clients SET position = moved.position
         FROM store, unnest($1::uuid[], $2::bigint[]) AS moved (id, position)
         WHERE clients.id = moved.id AND clients.position < moved.position
             AND moved.position >= store.epoch_start",
    append: "INSERT INTO log
         SELECT store.revision + new.revision,
             coalesce(at, floor(extract(epoch FROM clock_timestamp()) * 1000)),
             store.bytes_through + new.bytes_through, event, type, namespace, name, value, owner,
             client, cause, previous_owner, expires, joins_next
         FROM store, unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::text[], $5::text[],
                 $6::text[], $7::bytea[], $8::text[], $9::uuid[], $10::smallint[], $11::text[],
                 $12::bigint[], $13::boolean[], $14::bigint[])
             AS new (revision, bytes_through, event, type, namespace, name, value, owner, client,
                 cause, previous_owner, expires, joins_next, at)",
    set: "INSERT INTO objects
         SELECT type, namespace, name, value, owner, store.revision + set.revision, expires, present
         FROM store, unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::text[], $6::bigint[],
                 $7::bigint[], $8::uuid[])
             AS set (type, namespace, name, value, owner, revision, expires, present)
         ON CONFLICT (type, namespace, name) DO UPDATE
         SET value = excluded.value, owner = excluded.owner, revision = excluded.revision,
             expires = excluded.expires, present = excluded.present",
    begin_presence: "INSERT INTO presences
         SELECT client, floor(extract(epoch FROM clock_timestamp()) * 1000) + millis
         FROM unnest($1::uuid[], $2::bigint[]) AS begun (client, millis)
         ON CONFLICT (client) DO UPDATE SET until = greatest(presences.until, excluded.until)",
    keep_presence: "UPDATE presences
         SET until = floor(extract(epoch FROM clock_timestamp()) * 1000) + millis
         FROM unnest($1::uuid[], $2::bigint[]) AS kept (client, millis)
         WHERE presences.client = kept.client",
    adopt_rules: "UPDATE store SET rules = new.rules, rules_revision = new.revision
         FROM unnest($1::bytea[], $2::bigint[]) AS new (rules, revision)",
};

/// Must be the last statement, because the others read these columns.
pub(super) const ADVANCE: &str = "UPDATE store
     SET revision = revision + $1, bytes_through = bytes_through + $2, clients = clients + $3";

/// The channel of notifications between replicas: the change log has new records.
pub(super) const CHANNEL: &str = "objstore";

pub(super) const NOTIFY: &str = "NOTIFY objstore";
