-- Ids are 12 bytes that compare as the things were made; times are milliseconds since the epoch;
-- amounts are minor units.

-- An id is a second and a number. The second is that of the clock, but never one before the second
-- of an earlier id, whatever the clock does: this register, which is only ever set, under a lock,
-- and never back. The number is drawn and never drawn again; the first is any, so that no id looks
-- like the number of a card.
CREATE SEQUENCE id_seconds;
CREATE SEQUENCE id_numbers;
SELECT setval('id_seconds', extract(epoch FROM date_trunc('second', clock_timestamp()))::bigint),
    setval('id_numbers', (random() * 2 ^ 62)::bigint);

CREATE FUNCTION id_of(second bigint, number bigint) RETURNS bytea
    LANGUAGE sql IMMUTABLE AS $$ SELECT substring(int8send(second) FROM 5) || int8send(number) $$;

-- A new id. Transactions that were begun at the same time may draw theirs in one order and commit
-- in another; what a list may show of them yet, settled() tells. It relies on the order here: a
-- transaction has its number (xid) before it looks at the register, and looks at the register
-- before it draws. Whoever finds the register behind the clock sets it, unless somebody else is
-- about to: nobody waits for that.
CREATE FUNCTION new_id() RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
    clock CONSTANT bigint := extract(epoch FROM date_trunc('second', clock_timestamp()));
    second bigint;
BEGIN
    PERFORM pg_current_xact_id();
    SELECT last_value INTO second FROM id_seconds;
    IF second < clock AND pg_try_advisory_xact_lock('id_seconds'::regclass::oid::bigint) THEN
        SELECT last_value INTO second FROM id_seconds;
        IF second < clock THEN
            second := setval('id_seconds', clock);
        END IF;
    END IF;
    RETURN id_of(second, nextval('id_numbers'));
END $$;

-- An id, and a transaction number, such that there will be no new id up to this one as soon as all
-- transactions up to that number have ended, that is, when it is below
-- pg_snapshot_xmin(pg_current_snapshot()). For a transaction with a greater number got it after
-- this one had looked at the register and the sequence. So it finds a second that is as great or
-- greater, and draws a number that is greater: its ids come after this one. Prepared transactions
-- count as ones that have not ended.
CREATE FUNCTION settling(OUT id bytea, OUT xid xid8) LANGUAGE plpgsql AS $$
BEGIN
    SELECT id_of(seconds.last_value, numbers.last_value) INTO id
    FROM id_seconds AS seconds, id_numbers AS numbers;
    xid := pg_current_xact_id();
END $$;

CREATE TABLE apps (
    id bytea PRIMARY KEY,
    name text,
    key_digest bytea NOT NULL UNIQUE,
    created bigint NOT NULL
);

CREATE TABLE users (
    id bytea PRIMARY KEY,
    email text NOT NULL,
    created bigint NOT NULL
);
-- Letters of ASCII are the same in either case.
CREATE UNIQUE INDEX users_by_email ON users (lower(email COLLATE "C"));

CREATE TABLE merchants (
    id bytea PRIMARY KEY,
    key text COLLATE "C" NOT NULL UNIQUE,
    created bigint NOT NULL,
    name text,
    currency text NOT NULL,
    test boolean NOT NULL,
    email text NOT NULL,
    website text NOT NULL,
    descriptor text NOT NULL,
    country text NOT NULL,
    number text,
    iban text,
    fee_rate bigint NOT NULL, -- parts per million
    fee_flat_currency text NOT NULL,
    fee_flat bigint NOT NULL,
    fee_dispute_currency text NOT NULL,
    fee_dispute bigint NOT NULL
);

-- A merchant's balance is the sum of its shards. A booking writes one of them, so that not every
-- booking of a busy merchant waits for the one before it to be on disk.
CREATE TABLE balances (
    merchant bytea NOT NULL,
    shard integer NOT NULL,
    balance bigint NOT NULL,
    PRIMARY KEY (merchant, shard)
) WITH (fillfactor = 50);

CREATE TABLE merchant_apps (
    merchant bytea NOT NULL,
    app bytea NOT NULL,
    PRIMARY KEY (merchant, app)
);
CREATE INDEX merchants_of_apps ON merchant_apps (app, merchant);

CREATE TABLE merchant_users (
    merchant bytea NOT NULL,
    "user" bytea NOT NULL,
    PRIMARY KEY (merchant, "user")
);

-- Mail that is to be sent, written with what it tells of. It is here until somebody takes it: an
-- attempt is counted, and the next one set, before it is made.
CREATE TABLE invitations (
    id bytea PRIMARY KEY,
    merchant bytea NOT NULL,
    "user" bytea NOT NULL,
    created bigint NOT NULL,
    attempts bigint NOT NULL DEFAULT 0,
    due bigint NOT NULL DEFAULT 0 -- when the next attempt is made
);
CREATE INDEX invitations_by_due ON invitations (due);
CREATE INDEX invitations_of_users ON invitations (merchant, "user");

-- Payments that are with an acquirer. Of a card, there is what may be kept.
CREATE TABLE operations (
    id bytea PRIMARY KEY,
    merchant bytea NOT NULL,
    created bigint NOT NULL,
    currency text NOT NULL,
    amount bigint NOT NULL,
    descriptor text NOT NULL,
    custom text,
    recurring boolean NOT NULL,
    bin text, -- of the card, as what follows: null unless the customer is asked by 3-D Secure
    last4 text,
    expiry_year smallint,
    expiry_month smallint,
    scheme text,
    code_present boolean,
    challenge text, -- what the acquirer knows it by
    challenge_until bigint -- when it is too late to answer
);

CREATE TABLE transactions (
    id bytea PRIMARY KEY,
    merchant bytea NOT NULL,
    test boolean NOT NULL, -- as its merchant
    operation bytea NOT NULL, -- what the acquirer knows it by
    created bigint NOT NULL,
    currency text NOT NULL,
    amount bigint NOT NULL,
    captured bigint NOT NULL DEFAULT 0,
    refunded bigint NOT NULL DEFAULT 0,
    voided bigint NOT NULL DEFAULT 0,
    disputed bigint NOT NULL DEFAULT 0,
    steps bigint NOT NULL DEFAULT 0, -- of its trail
    error smallint, -- the code of a processing error
    descriptor text NOT NULL,
    bin text, -- of the card, as what follows: null where the acquirer never answered
    last4 text,
    expiry_year smallint,
    expiry_month smallint,
    scheme text,
    code_present boolean,
    tds text NOT NULL,
    recurring boolean NOT NULL,
    reference text, -- what the acquirer knows the card by
    has_custom boolean NOT NULL,
    CHECK (captured >= 0 AND voided >= 0 AND captured + voided <= amount),
    CHECK (refunded >= 0 AND refunded <= captured AND disputed >= 0)
);
CREATE INDEX transactions_of_merchants ON transactions (merchant, id);
CREATE INDEX failed_transactions ON transactions (merchant, id) WHERE error IS NOT NULL;
CREATE INDEX successful_transactions ON transactions (merchant, id) WHERE error IS NULL;
CREATE INDEX pending_transactions ON transactions (id)
    WHERE error IS NULL AND captured + voided < amount;

-- Apart, since it may be long.
CREATE TABLE customs (
    "transaction" bytea PRIMARY KEY,
    custom text NOT NULL
);

-- What became of transactions.
CREATE TABLE trail (
    "transaction" bytea NOT NULL,
    step bigint NOT NULL,
    created bigint NOT NULL,
    movement text NOT NULL,
    amount bigint NOT NULL CHECK (amount > 0),
    balance bigint NOT NULL,
    fee_flat bigint NOT NULL,
    fee_rate bigint NOT NULL,
    descriptor text,
    line bytea,
    dispute bytea, -- that was decided
    PRIMARY KEY ("transaction", step)
);

-- What refunds are taken from.
CREATE TABLE captures (
    "transaction" bytea NOT NULL,
    step bigint NOT NULL, -- of the trail
    amount bigint NOT NULL,
    gross bigint NOT NULL,
    fee bigint NOT NULL,
    amount_out bigint NOT NULL DEFAULT 0 CHECK (amount_out BETWEEN 0 AND amount),
    gross_out bigint NOT NULL DEFAULT 0,
    fee_out bigint NOT NULL DEFAULT 0,
    rate text NOT NULL, -- a fraction, between minor units
    spread bigint NOT NULL, -- parts per million
    PRIMARY KEY ("transaction", step)
);

-- The merchants' side of the journal.
CREATE TABLE lines (
    id bytea PRIMARY KEY,
    merchant bytea NOT NULL,
    created bigint NOT NULL,
    balance bigint NOT NULL,
    fee bigint NOT NULL,
    kind text NOT NULL,
    "transaction" bytea, -- none of a payout
    currency text NOT NULL,
    amount bigint NOT NULL
);
CREATE INDEX lines_of_merchants ON lines (merchant, id);

-- The journal: the postings of a line add up to nothing in each currency.
CREATE TABLE postings (
    line bytea NOT NULL,
    number bigint NOT NULL,
    account text NOT NULL,
    currency text NOT NULL,
    amount bigint NOT NULL,
    PRIMARY KEY (line, number)
);

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

-- What an acquirer has told of its own accord, each thing once. One that tells how a dispute was
-- decided may come before the dispute: then it waits for it.
CREATE TABLE notifications (
    id text COLLATE "C" PRIMARY KEY, -- the acquirer's
    "transaction" bytea NOT NULL,
    created bigint NOT NULL,
    dispute text, -- the acquirer's id of the dispute that it waits for
    decision text
);
CREATE INDEX waiting_notifications ON notifications ("transaction", dispute)
    WHERE dispute IS NOT NULL;

CREATE TABLE disputes (
    id bytea PRIMARY KEY,
    merchant bytea NOT NULL,
    "transaction" bytea NOT NULL,
    reference text COLLATE "C" NOT NULL, -- the acquirer's id
    created bigint NOT NULL,
    amount bigint NOT NULL CHECK (amount > 0),
    reason_code bigint,
    reason_title text,
    due bigint NOT NULL,
    line bytea NOT NULL, -- that opened it
    decision text, -- null while it is open
    UNIQUE ("transaction", reference)
);
CREATE INDEX disputes_of_merchants ON disputes (merchant, id);
CREATE INDEX disputes_of_transactions ON disputes ("transaction", id);
CREATE INDEX open_disputes ON disputes (due) WHERE decision IS NULL;

-- What a dispute took out of captures.
CREATE TABLE slices (
    dispute bytea NOT NULL,
    number bigint NOT NULL,
    step bigint, -- of the capture, in the trail
    amount bigint NOT NULL,
    gross bigint NOT NULL,
    fee bigint NOT NULL,
    again boolean NOT NULL, -- it had been given back before
    PRIMARY KEY (dispute, number)
);

CREATE TABLE frauds (
    id bytea PRIMARY KEY,
    merchant bytea NOT NULL,
    "transaction" bytea NOT NULL,
    created bigint NOT NULL,
    reported bigint,
    reason bigint
);
CREATE INDEX frauds_of_merchants ON frauds (merchant, id);
CREATE INDEX frauds_of_transactions ON frauds ("transaction", id);

-- What an acquirer has not confirmed yet.
CREATE TABLE instructions (
    id bytea PRIMARY KEY,
    "transaction" bytea NOT NULL,
    movement text NOT NULL,
    amount bigint NOT NULL,
    step bigint, -- of the trail
    taken timestamptz -- when a process last took it up
);

-- Cards that merchants keep (deprecated).
CREATE TABLE cards (
    id bytea PRIMARY KEY,
    merchant bytea NOT NULL,
    created bigint NOT NULL,
    bin text NOT NULL,
    last4 text NOT NULL,
    expiry_year smallint NOT NULL,
    expiry_month smallint NOT NULL,
    scheme text NOT NULL,
    code_present boolean NOT NULL,
    reference text NOT NULL,
    notes text
);

CREATE TABLE idempotency (
    app bytea NOT NULL,
    key text COLLATE "C" NOT NULL,
    request bytea NOT NULL, -- a digest
    created bigint NOT NULL,
    operation bytea, -- the payment it waits for
    receipt bytea, -- what was answered, unless it was a transaction, as it then was:
    "transaction" bytea,
    steps bigint, -- of its trail
    disputed bigint,
    PRIMARY KEY (app, key)
);
CREATE INDEX idempotency_by_age ON idempotency (created);
CREATE INDEX idempotency_of_operations ON idempotency (operation) WHERE operation IS NOT NULL;
