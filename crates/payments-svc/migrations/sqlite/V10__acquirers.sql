-- The acquirer. Null: the sandbox, the only one of earlier releases, or none.
ALTER TABLE operations ADD COLUMN acquirer TEXT;
ALTER TABLE transactions ADD COLUMN acquirer TEXT;
ALTER TABLE cards ADD COLUMN acquirer TEXT;
-- The acquirer's ID of the authorization, if it needs one.
ALTER TABLE operations ADD COLUMN "authorization" TEXT;
ALTER TABLE transactions ADD COLUMN "authorization" TEXT;
CREATE INDEX authorized_transactions ON transactions ("authorization")
    WHERE "authorization" IS NOT NULL;
-- The key of the capture, refund or void at the acquirer: an ID of 12 bytes, or a digest of 32.
ALTER TABLE trail ADD COLUMN operation BLOB;
-- The step that this step undoes, because the acquirer refused it later.
ALTER TABLE trail ADD COLUMN reverses INTEGER;
ALTER TABLE captures ADD COLUMN refused INTEGER NOT NULL DEFAULT 0;
-- Voids that the acquirer refused later. No step undoes them.
CREATE TABLE refused_voids (
    "transaction" BLOB NOT NULL,
    step INTEGER NOT NULL,
    PRIMARY KEY ("transaction", step)
) STRICT, WITHOUT ROWID;
-- Failed attempts, and the time of the next one. Null: not sent yet.
ALTER TABLE instructions ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE instructions ADD COLUMN due INTEGER;
CREATE INDEX retried_instructions ON instructions (due) WHERE due IS NOT NULL;
CREATE INDEX retried_instructions_of_transactions ON instructions ("transaction", id)
    WHERE due IS NOT NULL;
-- A step that reverses another has a negative amount. While only the capture is reversed, more is
-- refunded than captured. SQLite removes a constraint only like this:
-- https://www.sqlite.org/lang_altertable.html#otheralter
PRAGMA writable_schema = ON;
UPDATE sqlite_schema
    SET sql = replace(sql, 'amount INTEGER NOT NULL CHECK (amount > 0)', 'amount INTEGER NOT NULL')
    WHERE type = 'table' AND name = 'trail';
UPDATE sqlite_schema
    SET sql = replace(sql, 'refunded >= 0 AND refunded <= captured', 'refunded >= 0')
    WHERE type = 'table' AND name = 'transactions';
PRAGMA writable_schema = RESET;
