-- The line of a payout is of no transaction.
ALTER TABLE lines ALTER COLUMN "transaction" DROP NOT NULL;

-- Runs of payouts: of a day, to merchants for tests or to the others.
CREATE TABLE payout_runs (
    day text NOT NULL, -- as 2026-11-21
    test boolean NOT NULL,
    closed boolean NOT NULL DEFAULT false, -- whether nobody is added any more
    PRIMARY KEY (day, test)
);

-- Transfers to merchants' bank accounts, with the merchants as they were then.
CREATE TABLE payouts (
    id bytea PRIMARY KEY,
    day text NOT NULL,
    test boolean NOT NULL, -- as its merchant
    merchant bytea NOT NULL,
    line bytea NOT NULL UNIQUE,
    name text NOT NULL,
    iban text NOT NULL,
    currency text NOT NULL,
    amount bigint NOT NULL CHECK (amount > 0),
    UNIQUE (day, merchant)
);

-- Mail is sent until somebody takes it: an attempt is counted, and the next one set, before it is made.
ALTER TABLE invitations ADD COLUMN attempts bigint NOT NULL DEFAULT 0;
ALTER TABLE invitations ADD COLUMN due bigint NOT NULL DEFAULT 0;
CREATE INDEX invitations_by_due ON invitations (due);
CREATE INDEX invitations_of_users ON invitations (merchant, "user");
