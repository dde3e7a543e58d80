//! Writes the rows that a batch changes, in both engines.

use common::sql::{Group, Kind, Param, Row, StatementWriter, Stored as _, Table};

use super::Presence;
use crate::domain::{
    ClientId, Key, Timestamp, WatchCounts,
    decide::{Changes, Head, NewClient, NewSession, WatchRow},
};

/// The statements that differ between the engines. The parameters of each are in its comment.
pub(super) struct Statements {
    /// Deletes the ended watches of a client up to its position: client.
    pub(super) prune_watches: &'static str,
    /// Sets when an unused client is removed, unless the stored time is later: client, time. Without a
    /// time, the client is used.
    pub(super) unused_until: &'static str,
    /// Ends a session: its digest, the digest of the ended session, time.
    pub(super) end: &'static str,
    /// Extends a session, unless it expires later: digest, time.
    pub(super) extend: &'static str,
    /// Moves the position of a client, unless the stored one is greater: client, revision.
    pub(super) move_position: &'static str,
    /// Appends a record: revision, bytes of all records up to it, the columns of its entry, whether it
    /// joins the next one, and its time, which on PostgreSQL may be null.
    pub(super) append: &'static str,
    /// Inserts or replaces an object: its columns, revision, expires and present.
    pub(super) set: &'static str,
    /// Inserts a presence, or extends the existing one: client, until.
    pub(super) begin_presence: &'static str,
    /// Sets how long a presence lasts, if it exists: client, until.
    pub(super) keep_presence: &'static str,
    /// Sets the newest access rules: digest, revision.
    pub(super) adopt_rules: &'static str,
}

const COUNTS: Table<(ClientId, WatchCounts)> = Table {
    name: "clients",
    key: NewClient::DELETE.key,
    values: WatchCounts::COLUMNS,
    params: |(client, counts), params| {
        params.push(client.param());
        counts.params(params);
    },
};

const WATCHES_OF_CLIENTS: Table<ClientId> = Table {
    name: "watches",
    key: &[("client", Kind::Uuid)],
    values: &[],
    params: |client, params| params.push(client.param()),
};

const OBJECTS: Table<Key> =
    Table { name: "objects", key: Key::COLUMNS, values: &[], params: Group::params };

/// Writes all changes. The order matters: rows that reference a client are deleted before the client,
/// and inserted after it. Without `now`, revisions, bytes and the ends of presences are relative: the
/// statements add the numbers of the `store` row, and the time of the database.
pub(super) fn write<'a, W: StatementWriter<'a>>(
    rows: &mut W,
    sql: &Statements,
    changes: &'a Changes,
    now: Option<Timestamp>,
) -> Result<(), W::Error> {
    let start = if now.is_some() { Head::default() } else { changes.before };
    let revision = |revision: u64| Param::Int((revision - start.revision).cast_signed());
    let after = |millis| Param::Int(now.unwrap_or(0).saturating_add(millis));

    rows.execute(sql.prune_watches, &changes.pruned_clients, |client, params| {
        params.push(client.param());
    })?;
    rows.delete(&NewSession::DELETE, &changes.deleted_sessions)?;
    rows.delete(&WATCHES_OF_CLIENTS, &changes.deleted_clients)?;
    rows.delete(&NewClient::DELETE, &changes.deleted_clients)?;
    rows.insert(&NewClient::INSERT, &changes.new_clients)?;
    rows.update(&COUNTS, &changes.watch_counts)?;
    rows.insert(&NewSession::INSERT, &changes.new_sessions)?;
    rows.delete(&OBJECTS, &changes.deleted_objects)?;
    rows.delete(&Presence::DELETE, &changes.ended_presences)?;
    rows.update(&WatchRow::UPDATE, &changes.ended_watches)?;
    rows.insert(&WatchRow::INSERT, &changes.new_watches)?;
    rows.execute(sql.unused_until, &changes.unused, Group::params)?;
    rows.execute(sql.end, &changes.ended_sessions, |(token, at), params| {
        params.extend([token.param(), token.ended().param().owned(), at.param()]);
    })?;
    rows.execute(sql.extend, &changes.extended_sessions, Group::params)?;
    rows.execute(sql.move_position, &changes.positions, Group::params)?;
    rows.execute(sql.append, &changes.records, |(record, bytes_through), params| {
        params.extend([revision(record.revision), Param::Int(bytes_through - start.bytes)]);
        record.entry.params(params);
        params.push(record.joins_next.param());
        params.push(changes.at.param());
    })?;
    rows.execute(sql.set, &changes.set_objects, |set, params| {
        set.object.params(params);
        params.push(revision(set.revision));
        set.lifespan.params(params);
    })?;
    for (sql, presences) in [
        (sql.begin_presence, &changes.begun_presences),
        (sql.keep_presence, &changes.kept_presences),
    ] {
        rows.execute(sql, presences, |(client, millis), params| {
            params.extend([client.param(), after(*millis)]);
        })?;
    }
    rows.execute(sql.adopt_rules, &changes.rules, Group::params)
}
