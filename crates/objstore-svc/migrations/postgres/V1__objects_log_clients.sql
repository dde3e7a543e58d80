-- The store itself: one row. Whoever changes anything locks it first, so that the order of commits
-- is the order of revisions.
CREATE TABLE store (
    epoch BIGINT, -- random; null until a service starts
    revision BIGINT NOT NULL,
    bytes_through BIGINT NOT NULL, -- bytes of all records ever
    clients BIGINT NOT NULL
);
INSERT INTO store VALUES (NULL, 0, 0, 0);

-- Objects by key. The room left in pages is for new versions of rows, which then need no new
-- entries in the indexes.
CREATE TABLE objects (
    type TEXT COLLATE "C" NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    value BYTEA NOT NULL,
    owner TEXT NOT NULL,
    revision BIGINT NOT NULL,
    CONSTRAINT objects_by_key PRIMARY KEY (type, namespace, name)
) WITH (fillfactor = 80);
CREATE INDEX objects_by_namespace ON objects (namespace, name, type);
CREATE INDEX objects_by_name ON objects (name, type, namespace);

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
    client UUID
);

-- Values are not compressed: that would be done while others wait for the row of the store.
ALTER TABLE objects ALTER COLUMN value SET STORAGE EXTERNAL;
ALTER TABLE log ALTER COLUMN value SET STORAGE EXTERNAL;

-- Clients, with the revision up to which each has acknowledged its pushes.
CREATE TABLE clients (
    id UUID PRIMARY KEY,
    position BIGINT NOT NULL,
    watches BIGINT NOT NULL -- watches without an end
) WITH (fillfactor = 80);

CREATE TABLE sessions (
    digest BYTEA PRIMARY KEY,
    client UUID NOT NULL REFERENCES clients (id),
    expires BIGINT NOT NULL
);
CREATE INDEX sessions_by_client ON sessions (client);
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
