-- Whether the next record is of the same group of operations.
ALTER TABLE log ADD COLUMN joins_next INTEGER NOT NULL DEFAULT FALSE;
