//! Tables whose rows both engines write in the same way.

use common::sql::{Kind, Param, RowWriter, Stored as _, Table};

use crate::domain::{
    ClientId, Key, TokenDigest, WatchCounts,
    decide::{Changes, NewClient, NewSession, WatchRow},
};

const CLIENT_ID: (&str, Kind) = ("id", Kind::Uuid);
const CLIENT: (&str, Kind) = ("client", Kind::Uuid);
const DIGEST: (&str, Kind) = ("digest", Kind::Bytes);
const TYPE: (&str, Kind) = ("type", Kind::Text);
const NAMESPACE: (&str, Kind) = ("namespace", Kind::Text);
const NAME: (&str, Kind) = ("name", Kind::Text);
const UNUSED_UNTIL: (&str, Kind) = ("unused_until", Kind::Int);
const COUNTS: [(&str, Kind); 2] = [("watches", Kind::Int), ("ended", Kind::Int)];

const ENDED_SESSIONS: Table<TokenDigest> = Table {
    name: "sessions",
    key: &[DIGEST],
    values: &[],
    params: |token, params| params.push(token.param()),
};

const WATCHES_OF_DELETED_CLIENTS: Table<ClientId> = Table {
    name: "watches",
    key: &[CLIENT],
    values: &[],
    params: |client, params| params.push(client.param()),
};

const DELETED_CLIENTS: Table<ClientId> = Table {
    name: "clients",
    key: &[CLIENT_ID],
    values: &[],
    params: |client, params| params.push(client.param()),
};

const NEW_CLIENTS: Table<NewClient> = Table {
    name: "clients",
    key: &[CLIENT_ID],
    values: &[("position", Kind::Int), UNUSED_UNTIL, COUNTS[0], COUNTS[1]],
    params: |new, params| {
        let position = Param::Int(new.position.cast_signed());
        params.extend([new.client.param(), position, new.unused_until.param()]);
        params.extend(counts(new.counts));
    },
};

const CHANGED_COUNTS: Table<(ClientId, WatchCounts)> = Table {
    name: "clients",
    key: &[CLIENT_ID],
    values: &COUNTS,
    params: |(client, new), params| {
        params.push(client.param());
        params.extend(counts(*new));
    },
};

const USED_CLIENTS: Table<ClientId> = Table {
    name: "clients",
    key: &[CLIENT_ID],
    values: &[UNUSED_UNTIL],
    params: |client, params| params.extend([client.param(), Param::Null]),
};

const NEW_SESSIONS: Table<NewSession> = Table {
    name: "sessions",
    key: &[DIGEST],
    values: &[CLIENT, ("expires", Kind::Int)],
    params: |new, params| {
        params.extend([new.token.param(), new.client.param(), new.expires.param()]);
    },
};

const DELETED_OBJECTS: Table<Key> = Table {
    name: "objects",
    key: &[TYPE, NAMESPACE, NAME],
    values: &[],
    params: |key, params| params.extend(parts(key.parts())),
};

const ENDED_PRESENCES: Table<ClientId> = Table {
    name: "presences",
    key: &[CLIENT],
    values: &[],
    params: |client, params| params.push(client.param()),
};

const WATCHES: Table<WatchRow> = Table {
    name: "watches",
    key: &[CLIENT, TYPE, NAMESPACE, NAME, ("since", Kind::Int)],
    values: &[("until", Kind::Int)],
    params: |watch, params| {
        params.push(watch.client.param());
        params.extend(parts(watch.pattern.parts()));
        params.push(Param::Int(watch.since.cast_signed()));
        params.push(watch.until.map_or(Param::Null, |until| Param::Int(until.cast_signed())));
    },
};

fn counts(counts: WatchCounts) -> [Param<'static>; 2] {
    [counts.open, counts.ended].map(|count| Param::Int(count.cast_signed()))
}

fn parts(parts: [&str; 3]) -> [Param<'_>; 3] {
    parts.map(|part| Param::Text(part.into()))
}

/// Writes sessions, clients and watches, and deletes objects and presences. The order matters: rows that
/// reference a client are deleted before the client, and inserted after it.
pub(super) fn write<'a, R: RowWriter<'a>>(
    rows: &mut R,
    changes: &'a Changes,
) -> Result<(), R::Error> {
    rows.delete(&ENDED_SESSIONS, &changes.deleted_sessions)?;
    rows.delete(&WATCHES_OF_DELETED_CLIENTS, &changes.deleted_clients)?;
    rows.delete(&DELETED_CLIENTS, &changes.deleted_clients)?;
    rows.insert(&NEW_CLIENTS, &changes.new_clients)?;
    rows.update(&CHANGED_COUNTS, &changes.watch_counts)?;
    rows.update(&USED_CLIENTS, &changes.used_clients)?;
    rows.insert(&NEW_SESSIONS, &changes.new_sessions)?;
    rows.delete(&DELETED_OBJECTS, &changes.deleted_objects)?;
    rows.delete(&ENDED_PRESENCES, &changes.ended_presences)?;
    rows.update(&WATCHES, &changes.ended_watches)?;
    rows.insert(&WATCHES, &changes.new_watches)
}
