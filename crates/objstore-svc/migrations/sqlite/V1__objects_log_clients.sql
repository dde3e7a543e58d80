-- The store itself: one row.
CREATE TABLE store (
    epoch INTEGER, -- random; null in a backup, so that the restored store makes its own
    -- The newest revision when the epoch began. A restored backup begins an epoch with a revision that
    -- was never used, so that positions and cursors from before are recognized: they are less.
    epoch_start INTEGER NOT NULL DEFAULT 0,
    -- The newest access rules, as a SHA-256, and the revision of the record that says so; null if the
    -- newest are none.
    rules BLOB,
    rules_revision INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO store (epoch) VALUES (NULL);

-- Objects by key. A table with a rowid keeps the three orders of keys small and values out of them.
CREATE TABLE objects (
    id INTEGER PRIMARY KEY,
    type TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    value BLOB NOT NULL,
    owner TEXT NOT NULL,
    revision INTEGER NOT NULL,
    expires INTEGER, -- the last millisecond, by the clock of this machine; null if it does not expire
    present BLOB -- the client whose presence keeps the object; null if it needs none
) STRICT;
CREATE UNIQUE INDEX objects_by_key ON objects (type, namespace, name);
CREATE INDEX objects_by_namespace ON objects (namespace, name, type);
CREATE INDEX objects_by_name ON objects (name, type, namespace);
CREATE INDEX objects_by_expiry ON objects (expires) WHERE expires IS NOT NULL;
CREATE INDEX objects_by_presence ON objects (present) WHERE present IS NOT NULL;

-- What happened, in order. The newest record always stays: its revision is the store's.
CREATE TABLE log (
    revision INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,         -- milliseconds since the epoch
    bytes_through INTEGER NOT NULL, -- bytes of all records up to this one, trimmed ones included
    event INTEGER NOT NULL,      -- 1 set, 2 delete, 3 watch, 4 unwatch, 5 forget
    type TEXT,
    namespace TEXT,
    name TEXT,
    value BLOB,
    owner TEXT,
    client BLOB, -- of a watch; of a set: the one whose presence keeps the object
    cause INTEGER, -- why the service deleted an object: 1 expired, 2 gone; null if a client did
    previous_owner TEXT, -- that a set has replaced; null if it is the same, or without access rules
    expires INTEGER, -- the last millisecond of a set object; null if it does not expire
    joins_next INTEGER NOT NULL DEFAULT FALSE -- whether the next record is of the same group
) STRICT;

-- Clients, with the revision up to which each has acknowledged its pushes.
CREATE TABLE clients (
    id BLOB PRIMARY KEY,
    position INTEGER NOT NULL,
    watches INTEGER NOT NULL, -- watches without an end
    -- Ended watches, so that a client cannot gather them without a limit. The number may be too high,
    -- as trimming the log does not lower it: it is counted again when it reaches the limit.
    ended INTEGER NOT NULL,
    -- When a client that never set, watched or opened a socket is removed; null from its first use on.
    unused_until INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX clients_unused ON clients (unused_until) WHERE unused_until IS NOT NULL;

CREATE TABLE sessions (
    digest BLOB PRIMARY KEY,
    client BLOB NOT NULL REFERENCES clients (id),
    expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_use ON sessions (client, expires); -- from the one unused longest
CREATE INDEX sessions_by_expiry ON sessions (expires);

-- Stretches of the log in which a client watched a pattern.
CREATE TABLE watches (
    client BLOB NOT NULL REFERENCES clients (id),
    type TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    since INTEGER NOT NULL,
    until INTEGER,
    PRIMARY KEY (client, type, namespace, name, since)
) STRICT, WITHOUT ROWID;
CREATE INDEX watches_by_end ON watches (until) WHERE until IS NOT NULL;
CREATE INDEX watches_ended ON watches (client, until) WHERE until IS NOT NULL;

-- When the objects of `present` are deleted, by the clock of this machine. Replicas with an open stream
-- of the client postpone it.
CREATE TABLE presences (
    client BLOB PRIMARY KEY,
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX presences_by_end ON presences (until, client);

-- One row.
CREATE TABLE clock (
    -- When jobs that delete by time last ran, in milliseconds since 1970; null before the first time.
    turn INTEGER,
    -- If the clock has jumped since: the time that it should be, lately, and by how many milliseconds.
    expected INTEGER,
    jump INTEGER
) STRICT;
INSERT INTO clock DEFAULT VALUES;
