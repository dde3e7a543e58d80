-- A statement below that cannot have its lock at once fails, and the migration is tried again:
-- while it waited, nobody else could use the table. Tables are locked in the order in which
-- requests read them, so that no request is the victim of a deadlock.
SET LOCAL lock_timeout = '200ms';

-- Outcomes are kept as what they are, not as responses. Movements keep the columns they have.
ALTER TABLE idempotency ADD COLUMN outcome text;

-- What is pending never grows, so a transaction is looked at once, when it becomes too old: all
-- those up to this one were. One row.
CREATE TABLE expiry (
    "only" boolean PRIMARY KEY CHECK ("only"),
    through bytea NOT NULL
);
INSERT INTO expiry VALUES (true, decode(repeat('00', 12), 'hex'));

-- Its condition names columns that every capture writes: no capture could be a heap-only update.
DROP INDEX pending_transactions;
ALTER TABLE transactions SET (fillfactor = 90);

-- As in the embedded engine, for its lists. The release before this one leaves it null.
ALTER TABLE merchant_apps ADD COLUMN test boolean;

-- Jobs that one process at a time does, and which one, for how long.
CREATE TABLE leases (
    job text PRIMARY KEY,
    holder text NOT NULL,
    until timestamptz NOT NULL
);

-- New ids in their order, and the time. As with new_id(), the transaction has its number before it
-- looks at the register, and looks at the register before it draws.
CREATE FUNCTION new_ids(count bigint, OUT ids bytea[], OUT clock bigint) LANGUAGE plpgsql AS $$
DECLARE
    now CONSTANT timestamptz := clock_timestamp();
    current_second CONSTANT bigint := extract(epoch FROM date_trunc('second', now));
    second bigint;
BEGIN
    PERFORM pg_current_xact_id();
    SELECT last_value INTO second FROM id_seconds;
    IF second < current_second
        AND pg_try_advisory_xact_lock('id_seconds'::regclass::oid::bigint) THEN
        SELECT last_value INTO second FROM id_seconds;
        IF second < current_second THEN
            second := setval('id_seconds', current_second);
        END IF;
    END IF;
    ids := ARRAY(SELECT id_of(second, nextval('id_numbers')) FROM generate_series(1, count));
    clock := (extract(epoch FROM now) * 1000)::bigint;
END $$;

-- The amount that each payment asked for, to check its transaction against. Transactions of the
-- release before this one have none.
CREATE TABLE authorizations (
    operation bytea PRIMARY KEY,
    currency text NOT NULL,
    amount bigint NOT NULL
);
