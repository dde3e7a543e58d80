-- A statement below that cannot have its lock at once fails, and the migration is tried again.
SET LOCAL lock_timeout = '200ms';

-- The acquirer. Null: the sandbox, the only one of earlier releases, or none.
ALTER TABLE operations ADD COLUMN acquirer text;
ALTER TABLE transactions ADD COLUMN acquirer text;
ALTER TABLE cards ADD COLUMN acquirer text;
-- The acquirer's ID of the authorization, if it needs one.
ALTER TABLE operations ADD COLUMN "authorization" text;
ALTER TABLE transactions ADD COLUMN "authorization" text;
CREATE INDEX authorized_transactions ON transactions ("authorization")
    WHERE "authorization" IS NOT NULL;
-- The key of the capture, refund or void at the acquirer: an ID of 12 bytes, or a digest of 32.
ALTER TABLE trail ADD COLUMN operation bytea;
-- The step that this step undoes, because the acquirer refused it later.
ALTER TABLE trail ADD COLUMN reverses bigint;
ALTER TABLE captures ADD COLUMN refused boolean NOT NULL DEFAULT false;
-- Voids that the acquirer refused later. No step undoes them.
CREATE TABLE refused_voids (
    "transaction" bytea NOT NULL,
    step bigint NOT NULL,
    PRIMARY KEY ("transaction", step)
);
-- Failed attempts, and the time of the next one. Null: not sent yet.
ALTER TABLE instructions ADD COLUMN attempts bigint NOT NULL DEFAULT 0;
ALTER TABLE instructions ADD COLUMN due bigint;
CREATE INDEX retried_instructions ON instructions (due) WHERE due IS NOT NULL;
CREATE INDEX retried_instructions_of_transactions ON instructions ("transaction", id)
    WHERE due IS NOT NULL;
-- A step that reverses another has a negative amount. While only the capture is reversed, more is
-- refunded than captured.
ALTER TABLE trail DROP CONSTRAINT trail_amount_check;
ALTER TABLE transactions DROP CONSTRAINT transactions_check1;
ALTER TABLE transactions ADD CHECK (refunded >= 0 AND disputed >= 0) NOT VALID;
