SET LOCAL lock_timeout = '200ms';
SELECT FROM store FOR UPDATE;
ALTER TABLE log
    -- The last millisecond of a set object; null if it does not expire. `client` is the one whose
    -- presence keeps it.
    ADD COLUMN expires BIGINT,
    -- Whether the next record is of the same group of operations.
    ADD COLUMN joins_next BOOLEAN NOT NULL DEFAULT FALSE;
