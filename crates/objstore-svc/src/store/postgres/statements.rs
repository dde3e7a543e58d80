//! What is said to the database by a transaction that changes something. All of a batch is said at
//! once, so statements take arrays.

pub(super) const LOCK: &str =
    "SELECT revision, bytes_through, clients, pg_backend_pid() FROM store FOR UPDATE";

/// How many watches clients have. Where the ended ones reach `$2`, those are counted that the client's
/// position has not passed.
pub(super) const CLIENTS: &str = "SELECT id, watches, CASE WHEN ended < $2 THEN ended ELSE
         (SELECT count(*) FROM watches WHERE client = id AND until > position) END,
         ended >= $2
     FROM clients WHERE id = ANY ($1)";

/// The open watches of patterns, with their begin. An open one is the newest of its pattern, so those
/// that ended before are not read.
pub(super) const WATCHES: &str = "SELECT asked.*, newest.since
     FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[])
         AS asked (client, type, namespace, name),
     LATERAL (SELECT since, until FROM watches
         WHERE watches.client = asked.client AND watches.type = asked.type
             AND watches.namespace = asked.namespace AND watches.name = asked.name
         ORDER BY since DESC LIMIT 1) AS newest
     WHERE newest.until IS NULL";

pub(super) const EXTEND: &str =
    "UPDATE sessions SET expires = greatest(expires, $2) WHERE digest = $1";

/// Unused clients stay until `$2`.
pub(super) const POSTPONE: &str = "UPDATE clients SET unused_until = $2
     WHERE id = ANY ($1) AND unused_until < $2";

pub(super) const MARK_USED: &str = "UPDATE clients SET unused_until = NULL
     WHERE id = $1 AND unused_until IS NOT NULL";

/// Whether a session ended by `$1`, or the time of an unused client by `$2`.
pub(super) const ENDED: &str = "(SELECT 1 FROM sessions WHERE expires <= $1 LIMIT 1)
     UNION ALL (SELECT 1 FROM clients WHERE unused_until <= $2 LIMIT 1)";

/// Where marking a client as used failed, its watches still tell.
pub(super) const MARK_WATCHING_USED: &str = "UPDATE clients SET unused_until = NULL
     WHERE unused_until <= $1 AND watches > 0";

/// Takes up to `$2` unused clients whose time has come by `$1`.
pub(super) const UNUSED: &str = "SELECT id FROM clients WHERE unused_until <= $1
     ORDER BY unused_until LIMIT $2 FOR UPDATE SKIP LOCKED";

/// Takes up to `$2` sessions that ended by `$1`, and tells whose they were and whether these have
/// another.
pub(super) const REAP: &str = "WITH ended AS (
         SELECT digest, client FROM sessions WHERE expires <= $1 ORDER BY expires LIMIT $2
     ), reaped AS (
         DELETE FROM sessions USING ended WHERE sessions.digest = ended.digest
     )
     SELECT client, count(*), EXISTS (
         SELECT FROM sessions WHERE sessions.client = ended.client
             AND digest NOT IN (SELECT digest FROM ended)
     ) FROM ended GROUP BY client";

pub(super) const REGISTER: &str = "INSERT INTO clients SELECT id, at, 0, 0, unused_until
     FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) AS new (id, at, unused_until)";

/// Ends the sessions of clients beyond `$2` of each, those unused longest.
pub(super) const END_SESSIONS: &str = "DELETE FROM sessions
     USING unnest($1::uuid[], $2::bigint[]) AS registered (client, kept),
     LATERAL (SELECT digest FROM sessions WHERE client = registered.client
         ORDER BY expires DESC OFFSET registered.kept) AS ended
     WHERE sessions.digest = ended.digest";

pub(super) const BEGIN_SESSIONS: &str =
    "INSERT INTO sessions SELECT * FROM unnest($1::bytea[], $2::uuid[], $3::bigint[])";

pub(super) const COUNT_WATCHES: &str =
    "UPDATE clients SET watches = counted.open, ended = counted.ended
     FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) AS counted (id, open, ended)
     WHERE clients.id = counted.id
         AND (clients.watches, clients.ended) <> (counted.open, counted.ended)";

/// Removes the ended watches that the position of their client has passed.
pub(super) const PRUNE_WATCHES: &str = "DELETE FROM watches USING clients
     WHERE clients.id = ANY ($1) AND client = clients.id AND until <= position";

pub(super) const FORGET_SESSIONS: &str = "DELETE FROM sessions WHERE client = ANY ($1)";

pub(super) const FORGET_WATCHES: &str = "DELETE FROM watches WHERE client = ANY ($1)";

pub(super) const FORGET: &str = "DELETE FROM clients WHERE id = ANY ($1)";

pub(super) const DELETE: &str = "DELETE FROM objects
     USING unnest($1::text[], $2::text[], $3::text[]) AS gone (type, namespace, name)
     WHERE objects.type = gone.type AND objects.namespace = gone.namespace
         AND objects.name = gone.name";

/// Revisions count from the newest of the store.
pub(super) const SET: &str = "INSERT INTO objects
     SELECT type, namespace, name, value, owner, store.revision + set.revision
     FROM store, unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::text[], $6::bigint[])
         AS set (type, namespace, name, value, owner, revision)
     ON CONFLICT (type, namespace, name) DO UPDATE
     SET value = excluded.value, owner = excluded.owner, revision = excluded.revision";

pub(super) const UNWATCH: &str = "UPDATE watches SET until = ended.until
     FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])
         AS ended (client, type, namespace, name, since, until)
     WHERE watches.client = ended.client AND watches.type = ended.type
         AND watches.namespace = ended.namespace AND watches.name = ended.name
         AND watches.since = ended.since";

pub(super) const WATCH: &str = "INSERT INTO watches
     SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])";

pub(super) const MOVE_POSITIONS: &str = "UPDATE clients SET position = moved.position
     FROM unnest($1::uuid[], $2::bigint[]) AS moved (id, position)
     WHERE clients.id = moved.id AND clients.position < moved.position";

/// Revisions, and bytes, count from those of the store.
pub(super) const APPEND: &str = "INSERT INTO log
     SELECT store.revision + new.revision, floor(extract(epoch FROM clock_timestamp()) * 1000),
         store.bytes_through + new.bytes_through, event, type, namespace, name, value, owner, client
     FROM store, unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::text[], $5::text[], $6::text[],
             $7::bytea[], $8::text[], $9::uuid[])
         AS new (revision, bytes_through, event, type, namespace, name, value, owner, client)";

/// What comes to the numbers of the store; written last, as others count from them.
pub(super) const ADVANCE: &str = "UPDATE store
     SET revision = revision + $1, bytes_through = bytes_through + $2, clients = clients + $3";

/// The channel on which replicas tell each other that there is something new in the log.
pub(super) const CHANNEL: &str = "objstore";

pub(super) const NOTIFY: &str = "NOTIFY objstore";
