-- Replicas of the previous version may be writing: they wait here, and not amid their transactions.
SELECT FROM store FOR UPDATE;

-- The last millisecond of an object, by the clock of the database; null if it does not expire.
ALTER TABLE objects ADD COLUMN expires BIGINT;
CREATE INDEX objects_by_expiry ON objects (expires) WHERE expires IS NOT NULL;

-- The client whose presence keeps the object; null if it needs none.
ALTER TABLE objects ADD COLUMN present UUID;
CREATE INDEX objects_by_presence ON objects (present) WHERE present IS NOT NULL;

-- When the objects of `present` are deleted, by the same clock. Replicas with an open stream of the
-- client postpone it.
CREATE TABLE presences (
    client UUID PRIMARY KEY,
    until BIGINT NOT NULL
);
CREATE INDEX presences_by_end ON presences (until, client);

-- Why the service deleted an object: 1 expired, 2 gone; null if a client deleted it.
ALTER TABLE log ADD COLUMN cause SMALLINT;
