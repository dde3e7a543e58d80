-- The store itself: one row. Whoever changes anything locks it first, so that the order of commits
-- is the order of revisions.
CREATE TABLE store (
    epoch BIGINT, -- random; null until a service starts
    revision BIGINT NOT NULL,
    bytes_through BIGINT NOT NULL, -- bytes of all records ever
    clients BIGINT NOT NULL,
    -- The newest revision when the epoch began. A failover or a restored dump begins an epoch with a
    -- revision that was never used, so that positions and cursors from before are recognized: they are
    -- less.
    epoch_start BIGINT NOT NULL DEFAULT 0,
    origin TEXT, -- of the current epoch: see store_origin
    -- The newest access rules, as a SHA-256, and the revision of the record that says so; null if the
    -- newest are none.
    rules BYTEA,
    rules_revision BIGINT NOT NULL DEFAULT 0
);
INSERT INTO store (epoch, revision, bytes_through, clients) VALUES (NULL, 0, 0, 0);

-- Identifies the server's data and its history. Each failover and each point-in-time recovery begins
-- another timeline. A restored dump has another table, and often another cluster.
CREATE FUNCTION store_origin() RETURNS TEXT LANGUAGE SQL VOLATILE AS $$
    SELECT concat_ws('/', (SELECT system_identifier FROM pg_control_system()),
        left(pg_walfile_name(pg_current_wal_lsn()), 8), 'store'::regclass::oid)
$$;

-- Objects by key. The room left in pages is for new versions of rows, which then need no new
-- entries in the indexes.
CREATE TABLE objects (
    type TEXT COLLATE "C" NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    value BYTEA NOT NULL,
    owner TEXT NOT NULL,
    revision BIGINT NOT NULL,
    expires BIGINT, -- the last millisecond, by the clock of the database; null if it does not expire
    present UUID, -- the client whose presence keeps the object; null if it needs none
    CONSTRAINT objects_by_key PRIMARY KEY (type, namespace, name)
) WITH (fillfactor = 80);
CREATE INDEX objects_by_namespace ON objects (namespace, name, type);
CREATE INDEX objects_by_name ON objects (name, type, namespace);
CREATE INDEX objects_by_expiry ON objects (expires) WHERE expires IS NOT NULL;
CREATE INDEX objects_by_presence ON objects (present) WHERE present IS NOT NULL;

-- What happened, in order. The newest record always stays.
CREATE TABLE log (
    revision BIGINT PRIMARY KEY,
    at BIGINT NOT NULL, -- milliseconds since the epoch, by the clock of the database
    bytes_through BIGINT NOT NULL, -- bytes of all records up to this one, trimmed ones included
    event SMALLINT NOT NULL, -- 1 set, 2 delete, 3 watch, 4 unwatch, 5 forget
    type TEXT COLLATE "C",
    namespace TEXT COLLATE "C",
    name TEXT COLLATE "C",
    value BYTEA,
    owner TEXT,
    client UUID, -- of a watch; of a set: the one whose presence keeps the object
    cause SMALLINT, -- why the service deleted an object: 1 expired, 2 gone; null if a client did
    previous_owner TEXT COLLATE "C", -- that a set has replaced; null if it is the same, or without rules
    expires BIGINT, -- the last millisecond of a set object; null if it does not expire
    joins_next BOOLEAN NOT NULL DEFAULT FALSE -- whether the next record is of the same group
);

-- Values are not compressed: that would be done while others wait for the row of the store.
ALTER TABLE objects ALTER COLUMN value SET STORAGE EXTERNAL;
ALTER TABLE log ALTER COLUMN value SET STORAGE EXTERNAL;

-- Clients, with the revision up to which each has acknowledged its pushes.
CREATE TABLE clients (
    id UUID PRIMARY KEY,
    position BIGINT NOT NULL,
    watches BIGINT NOT NULL, -- watches without an end
    -- Ended watches, so that a client cannot gather them without a limit. The number may be too high,
    -- as trimming the log does not lower it: it is counted again when it reaches the limit.
    ended BIGINT NOT NULL,
    -- When a client that never set, watched or opened a socket is removed; null from its first use on.
    unused_until BIGINT
) WITH (fillfactor = 80);
CREATE INDEX clients_unused ON clients (unused_until) WHERE unused_until IS NOT NULL;

CREATE TABLE sessions (
    digest BYTEA PRIMARY KEY,
    client UUID NOT NULL REFERENCES clients (id),
    expires BIGINT NOT NULL
);
CREATE INDEX sessions_by_use ON sessions (client, expires); -- from the one unused longest
CREATE INDEX sessions_by_expiry ON sessions (expires);

-- Stretches of the log in which a client watched a pattern.
CREATE TABLE watches (
    client UUID NOT NULL REFERENCES clients (id),
    type TEXT COLLATE "C" NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    since BIGINT NOT NULL,
    until BIGINT,
    PRIMARY KEY (client, type, namespace, name, since)
);
CREATE INDEX watches_by_end ON watches (until) WHERE until IS NOT NULL;
CREATE INDEX watches_ended ON watches (client, until) WHERE until IS NOT NULL;

-- When the objects of `present` are deleted, by the clock of the database. Replicas with an open stream
-- of the client postpone it.
CREATE TABLE presences (
    client UUID PRIMARY KEY,
    until BIGINT NOT NULL
);
CREATE INDEX presences_by_end ON presences (until, client);

-- One row.
CREATE TABLE clock (
    -- When jobs that delete by time last ran, in milliseconds since 1970; null before the first time.
    turn BIGINT,
    -- If the clock has jumped since: the time that it should be, lately, and by how many milliseconds.
    expected BIGINT,
    jump BIGINT
);
INSERT INTO clock DEFAULT VALUES;
