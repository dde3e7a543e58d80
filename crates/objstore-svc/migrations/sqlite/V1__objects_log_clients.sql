-- The store itself: one row.
CREATE TABLE store (
    epoch INTEGER -- random; null in a backup, so that the restored store makes its own
) STRICT;
INSERT INTO store VALUES (NULL);

-- Objects by key. A table with a rowid keeps the three orders of keys small and values out of them.
CREATE TABLE objects (
    id INTEGER PRIMARY KEY,
    type TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    value BLOB NOT NULL,
    owner TEXT NOT NULL,
    revision INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX objects_by_key ON objects (type, namespace, name);
CREATE INDEX objects_by_namespace ON objects (namespace, name, type);
CREATE INDEX objects_by_name ON objects (name, type, namespace);

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
    client BLOB
) STRICT;

-- Clients, with the revision up to which each has acknowledged its pushes.
CREATE TABLE clients (
    id BLOB PRIMARY KEY,
    position INTEGER NOT NULL,
    watches INTEGER NOT NULL -- watches without an end
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
    digest BLOB PRIMARY KEY,
    client BLOB NOT NULL REFERENCES clients (id),
    expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_client ON sessions (client);
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
