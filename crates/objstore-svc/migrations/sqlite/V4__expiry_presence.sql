-- The last millisecond of an object, by the clock of this machine; null if it does not expire.
ALTER TABLE objects ADD COLUMN expires INTEGER;
CREATE INDEX objects_by_expiry ON objects (expires) WHERE expires IS NOT NULL;

-- The client whose presence keeps the object; null if it needs none.
ALTER TABLE objects ADD COLUMN present BLOB;
CREATE INDEX objects_by_presence ON objects (present) WHERE present IS NOT NULL;

-- When the objects of `present` are deleted, by the same clock. Replicas with an open stream of the
-- client postpone it.
CREATE TABLE presences (
    client BLOB PRIMARY KEY,
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX presences_by_end ON presences (until, client);

-- Why the service deleted an object: 1 expired, 2 gone; null if a client deleted it.
ALTER TABLE log ADD COLUMN cause INTEGER;
