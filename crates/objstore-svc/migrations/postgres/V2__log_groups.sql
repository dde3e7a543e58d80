SET LOCAL lock_timeout = '200ms';
SELECT FROM store FOR UPDATE;
-- Whether the next record is of the same group of operations.
ALTER TABLE log ADD COLUMN joins_next BOOLEAN NOT NULL DEFAULT FALSE;
