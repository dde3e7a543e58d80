-- Outcomes are kept as what they are, not as responses. Movements keep the columns they have.
ALTER TABLE idempotency ADD COLUMN outcome TEXT;

-- As in the engine for many processes, where a balance is kept in several rows. There is one here.
ALTER TABLE balances ADD COLUMN shard INTEGER NOT NULL DEFAULT 0;

-- What is pending never grows, so a transaction is looked at once, when it becomes too old: all
-- those up to this one were. One row.
CREATE TABLE expiry (
    "only" INTEGER PRIMARY KEY CHECK ("only" = 1),
    through BLOB NOT NULL
) STRICT;
INSERT INTO expiry VALUES (1, zeroblob(12));
DROP INDEX pending_transactions;

-- The amount that each payment asked for, to check its transaction against. Transactions of the
-- release before this one have none.
CREATE TABLE authorizations (
    operation BLOB PRIMARY KEY,
    currency TEXT NOT NULL,
    amount INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
