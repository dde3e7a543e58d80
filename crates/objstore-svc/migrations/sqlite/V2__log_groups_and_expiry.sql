-- The last millisecond of a set object; null if it does not expire. `client` is the one whose
-- presence keeps it.
ALTER TABLE log ADD COLUMN expires INTEGER;
-- Whether the next record is of the same group of operations.
ALTER TABLE log ADD COLUMN joins_next INTEGER NOT NULL DEFAULT FALSE;
