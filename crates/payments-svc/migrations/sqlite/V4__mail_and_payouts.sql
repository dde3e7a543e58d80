-- The line of a payout is of no transaction.
ALTER TABLE lines ALTER COLUMN "transaction" DROP NOT NULL;

-- Runs of payouts: of a day, to merchants for tests or to the others.
CREATE TABLE payout_runs (
    day TEXT NOT NULL, -- as 2026-11-21
    test INTEGER NOT NULL,
    closed INTEGER NOT NULL DEFAULT 0, -- whether nobody is added any more
    PRIMARY KEY (day, test)
) STRICT, WITHOUT ROWID;

-- Transfers to merchants' bank accounts, with the merchants as they were then.
CREATE TABLE payouts (
    id BLOB PRIMARY KEY,
    day TEXT NOT NULL,
    test INTEGER NOT NULL, -- as its merchant
    merchant BLOB NOT NULL,
    line BLOB NOT NULL UNIQUE,
    name TEXT NOT NULL,
    iban TEXT NOT NULL,
    currency TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount > 0),
    UNIQUE (day, merchant)
) STRICT, WITHOUT ROWID;

-- Mail is sent until somebody takes it: an attempt is counted, and the next one set, before it is made.
ALTER TABLE invitations ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE invitations ADD COLUMN due INTEGER NOT NULL DEFAULT 0;
CREATE INDEX invitations_by_due ON invitations (due);
CREATE INDEX invitations_of_users ON invitations (merchant, user);
