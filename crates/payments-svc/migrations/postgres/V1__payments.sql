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

-- New ids in their order, and the time. Transactions that were begun at the same time may draw theirs
-- in one order and commit in another; what a list may show of them yet, settling() tells. It relies on
-- the order here: a transaction has its number (xid) before it looks at the register, and looks at the
-- register before it draws. Whoever finds the register behind the clock sets it, unless somebody else
-- is about to: nobody waits for that.
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
    created bigint NOT NULL,
    -- How far the app advanced its sandbox clock, and when: `ID:SECONDS`, separated by commas.
    advances text,
    -- The last advance, until everything that it makes due has ended.
    pending_advance bytea
);
CREATE INDEX pending_advances ON apps (pending_advance) WHERE pending_advance IS NOT NULL;

-- An app has one API key or more. The first key has the ID of its app.
CREATE TABLE api_keys (
    id bytea PRIMARY KEY,
    app bytea NOT NULL,
    digest bytea NOT NULL UNIQUE,
    name text,
    created bigint NOT NULL,
    last_used bigint -- the start of an hour
);
CREATE INDEX keys_of_apps ON api_keys (app, id);

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
    holder text, -- of the account; null: the merchant
    approved boolean NOT NULL,
    holds_payments boolean NOT NULL,
    holds_payouts boolean NOT NULL,
    hold_reason text,
    held_since bigint,
    fee_rate bigint NOT NULL, -- parts per million
    fee_flat_currency text NOT NULL,
    fee_flat bigint NOT NULL,
    fee_dispute_currency text NOT NULL,
    fee_dispute bigint NOT NULL
);

-- What an operator has done to merchants.
CREATE TABLE holds (
    id bytea PRIMARY KEY,
    merchant bytea NOT NULL,
    created bigint NOT NULL,
    payments boolean NOT NULL, -- held after it
    payouts boolean NOT NULL,
    reason text
);
CREATE INDEX holds_of_merchants ON holds (merchant, id);
CREATE TABLE bank_changes (
    id bytea PRIMARY KEY,
    merchant bytea NOT NULL,
    created bigint NOT NULL,
    iban text NOT NULL,
    holder text NOT NULL
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
    test boolean NOT NULL, -- as the merchant
    creator boolean NOT NULL, -- the app has created the merchant
    PRIMARY KEY (merchant, app)
);
CREATE INDEX merchants_of_apps ON merchant_apps (app, merchant);

CREATE TABLE merchant_users (
    merchant bytea NOT NULL,
    "user" bytea NOT NULL,
    accepted bigint, -- when the user accepted the invitation
    PRIMARY KEY (merchant, "user")
);
CREATE INDEX merchants_of_users ON merchant_users ("user", merchant);

-- Links that sign users in, once.
CREATE TABLE sign_in_links (
    digest bytea PRIMARY KEY,
    "user" bytea NOT NULL,
    kind text NOT NULL,
    merchant bytea, -- of an invitation
    created bigint NOT NULL,
    until bigint NOT NULL,
    browser bytea -- the digest of the only one that can use it; null: any
);
CREATE INDEX sign_in_links_of_users ON sign_in_links ("user");

CREATE TABLE sessions (
    digest bytea PRIMARY KEY,
    "user" bytea NOT NULL,
    created bigint NOT NULL,
    verified bigint, -- when the user typed the code that began it
    used bigint NOT NULL
);
CREATE INDEX sessions_of_users ON sessions ("user");

CREATE TABLE authenticators (
    "user" bytea PRIMARY KEY,
    secret bytea NOT NULL, -- encrypted
    works boolean NOT NULL, -- after its first code
    last_step bigint NOT NULL, -- of the clock: of the last code
    wrong bigint NOT NULL, -- codes since the last right one
    locked bigint -- until then; null: not locked
);

CREATE TABLE recovery_codes (
    "user" bytea NOT NULL,
    digest bytea NOT NULL,
    PRIMARY KEY ("user", digest)
);

-- Mail that is to be sent, written with what it tells of. It is here until somebody takes it: an
-- attempt is counted, and the next one set, before it is made.
CREATE TABLE mails (
    id bytea PRIMARY KEY,
    kind text NOT NULL,
    "user" bytea, -- the recipient; null: the payer, who gets a receipt
    merchant bytea, -- that it is about
    object bytea, -- the dispute, payout or transaction that it is about
    actor text NOT NULL, -- the kind of whoever caused it
    actor_id bytea, -- the app or user
    browser bytea, -- the digest of the only one that may use its link; null: any
    language text, -- that the recipient chose
    created bigint NOT NULL,
    attempts bigint NOT NULL DEFAULT 0,
    due bigint NOT NULL DEFAULT 0 -- when the next attempt is made
);
CREATE INDEX mails_to_sign_in ON mails (due, id) WHERE kind = 'sign_in';
CREATE INDEX other_mails ON mails (due, id) WHERE kind <> 'sign_in';
CREATE INDEX mails_of_members ON mails (merchant, "user");
CREATE INDEX mails_of_users ON mails ("user", kind);

-- The kinds of mails that members want.
CREATE TABLE mail_choices (
    merchant bytea NOT NULL,
    kind text NOT NULL,
    "user" bytea NOT NULL,
    PRIMARY KEY (merchant, kind, "user")
);

-- Facts of which members are told: a job makes mails of them.
CREATE TABLE notices (
    id bytea PRIMARY KEY,
    kind text NOT NULL,
    merchant bytea,
    app bytea, -- of an endpoint; then the merchant is null
    object bytea -- the dispute, payout or endpoint
);

-- Payments that are with an acquirer. Of a card, there is what may be kept.
CREATE TABLE pending_payments (
    id bytea PRIMARY KEY,
    merchant bytea NOT NULL,
    created bigint NOT NULL,
    currency text NOT NULL,
    amount bigint NOT NULL,
    descriptor text NOT NULL,
    custom text,
    recurring boolean NOT NULL,
    actor text NOT NULL, -- the kind of whoever pays
    actor_id bytea, -- the app or user
    bin text, -- of the card, as what follows: null unless the customer is asked by 3-D Secure
    last4 text,
    expiry_year smallint,
    expiry_month smallint,
    scheme text,
    code_present boolean,
    challenge text, -- what the acquirer knows it by
    challenge_until bigint, -- when it is too late to answer
    -- The digest of the idempotency key that the acquirer gets. Null if the key is the ID.
    acquirer_key bytea,
    link bytea, -- of the payment, if it pays only once
    receipt_email text, -- of the payer; null: no receipt is wanted
    receipt_language text,
    acquirer text,
    "authorization" text -- the acquirer's ID of it, if it needs one
);

CREATE TABLE transactions (
    id bytea PRIMARY KEY,
    merchant bytea NOT NULL,
    test boolean NOT NULL, -- as its merchant
    pending_payment bytea NOT NULL, -- what the acquirer knows it by
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
    custom_reference text COLLATE "C", -- the digest of `reference` in its custom data
    -- The digest of the idempotency key that the acquirer got. Null if the key was the ID of the payment.
    acquirer_key bytea,
    acquirer text,
    "authorization" text, -- the acquirer's ID of it, if it needs one
    -- What the acquirer can do with the authorization.
    captures_once boolean NOT NULL,
    amount_step bigint NOT NULL CHECK (amount_step > 0),
    valid_until bigint,
    CHECK (captured >= 0 AND voided >= 0 AND captured + voided <= amount),
    -- While only a capture is reversed, more is refunded than captured.
    CHECK (refunded >= 0 AND disputed >= 0)
) WITH (fillfactor = 90);
CREATE INDEX transactions_of_merchants ON transactions (merchant, id);
CREATE INDEX failed_transactions ON transactions (merchant, id) WHERE error IS NOT NULL;
CREATE INDEX successful_transactions ON transactions (merchant, id) WHERE error IS NULL;
CREATE INDEX ending_authorizations ON transactions (valid_until) WHERE valid_until IS NOT NULL;
CREATE INDEX authorized_transactions ON transactions ("authorization")
    WHERE "authorization" IS NOT NULL;
CREATE INDEX transactions_by_reference ON transactions (merchant, custom_reference, id)
    WHERE custom_reference IS NOT NULL;
CREATE INDEX transactions_by_last4 ON transactions (merchant, last4, id) WHERE last4 IS NOT NULL;
CREATE INDEX transactions_by_amount ON transactions (merchant, amount, id);
CREATE INDEX transactions_by_currency ON transactions (merchant, currency, id);

-- The state of each transaction in one word, to search for. Apart, since captures change it, and
-- change no index of the transactions.
CREATE TABLE transaction_states (
    merchant bytea NOT NULL,
    state text NOT NULL,
    "transaction" bytea NOT NULL,
    PRIMARY KEY (merchant, state, "transaction")
);

-- What is pending of a transaction never grows. So it is looked at once, when it becomes too old. All
-- up to this one were, and all that acquirers have ended until then. One row.
CREATE TABLE expiry (
    "only" boolean PRIMARY KEY CHECK ("only"),
    through bytea NOT NULL,
    ended bigint NOT NULL
);
INSERT INTO expiry VALUES (true, decode(repeat('00', 12), 'hex'), 0);

-- How far the facts of each acquirer are booked.
CREATE TABLE facts_positions (
    acquirer text COLLATE "C" PRIMARY KEY,
    fact text COLLATE "C", -- the acquirer's id of the last one
    compared bigint -- when the books were last compared with the acquirer's objects
);

-- The amount that each payment asked for, to check its transaction against.
CREATE TABLE authorizations (
    pending_payment bytea PRIMARY KEY,
    currency text NOT NULL,
    amount bigint NOT NULL
);

-- Apart, since it may be long.
CREATE TABLE customs (
    "transaction" bytea PRIMARY KEY,
    custom text NOT NULL
);

-- Payers who have a link to the receipt of a transaction, for 18 months.
CREATE TABLE receipts (
    "transaction" bytea PRIMARY KEY,
    merchant bytea NOT NULL,
    email text NOT NULL,
    language text NOT NULL
);

-- What became of transactions.
CREATE TABLE trail (
    "transaction" bytea NOT NULL,
    step bigint NOT NULL,
    created bigint NOT NULL,
    movement text NOT NULL,
    amount bigint NOT NULL, -- negative if the step reverses another one
    balance bigint NOT NULL,
    fee_flat bigint NOT NULL,
    fee_rate bigint NOT NULL,
    descriptor text,
    line bytea,
    dispute bytea, -- that was decided
    acquirer_key bytea, -- the key of a capture, refund or void at the acquirer: an ID or a digest
    reverses bigint, -- the step that this one undoes, because the acquirer refused it later
    PRIMARY KEY ("transaction", step)
);

-- What refunds are taken from.
CREATE TABLE captures (
    "transaction" bytea NOT NULL,
    step bigint NOT NULL, -- of the trail
    amount bigint NOT NULL,
    gross bigint NOT NULL,
    fee bigint NOT NULL,
    amount_returned bigint NOT NULL DEFAULT 0 CHECK (amount_returned BETWEEN 0 AND amount),
    gross_returned bigint NOT NULL DEFAULT 0,
    fee_returned bigint NOT NULL DEFAULT 0,
    rate text NOT NULL, -- a fraction, between minor units
    spread bigint NOT NULL, -- parts per million
    refused boolean NOT NULL DEFAULT false, -- by the acquirer, later
    PRIMARY KEY ("transaction", step)
);

-- Voids that the acquirer refused later. No step undoes them.
CREATE TABLE refused_voids (
    "transaction" bytea NOT NULL,
    step bigint NOT NULL,
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

-- What merchants have captured, and captured less refunded, by day in UTC: the sums of the lines up
-- to the last one that was counted. Of the cursors, there is one row.
CREATE TABLE day_totals (
    merchant bytea NOT NULL,
    day bigint NOT NULL, -- since 1970-01-01
    amount bigint NOT NULL, -- before fees
    captured bigint NOT NULL, -- after fees, with captures that were refused later
    line bytea NOT NULL, -- the last one
    PRIMARY KEY (merchant, day)
);
CREATE TABLE day_cursors (
    number bigint PRIMARY KEY, -- grows with each count
    through bytea NOT NULL
);
INSERT INTO day_cursors VALUES (0, decode(repeat('00', 12), 'hex'));

-- The journal: the postings of a line add up to nothing in each currency.
CREATE TABLE postings (
    line bytea NOT NULL,
    number bigint NOT NULL,
    account text NOT NULL,
    currency text NOT NULL,
    amount bigint NOT NULL,
    PRIMARY KEY (line, number)
);

-- Runs of payouts: of a day, to merchants for tests or to the others, in one format of file. Runs of
-- different formats do not share payouts, so that no payout is in two files.
CREATE TABLE payout_runs (
    day text NOT NULL, -- as 2026-11-21
    test boolean NOT NULL,
    format text NOT NULL,
    closed boolean NOT NULL DEFAULT false, -- whether nobody is added any more
    PRIMARY KEY (day, test, format)
);

-- Transfers to merchants' bank accounts, with the merchants as they were then.
CREATE TABLE payouts (
    id bytea PRIMARY KEY,
    day text NOT NULL,
    test boolean NOT NULL, -- as its merchant
    format text NOT NULL, -- of its run
    created bigint NOT NULL,
    merchant bytea NOT NULL,
    line bytea NOT NULL UNIQUE,
    held_since bigint, -- captures after this time were held back; null: none
    name text NOT NULL,
    iban text NOT NULL,
    currency text NOT NULL,
    amount bigint NOT NULL CHECK (amount > 0),
    return_line bytea UNIQUE, -- null, with the next two, unless the transfer came back
    returned bigint,
    return_reason text, -- the bank's words; null if it gave none
    UNIQUE (day, merchant),
    CHECK ((return_line IS NULL) = (returned IS NULL))
);
CREATE INDEX payouts_of_merchants ON payouts (merchant, id);

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
    test boolean NOT NULL, -- as its merchant
    "transaction" bytea NOT NULL,
    reference text COLLATE "C" NOT NULL, -- the acquirer's id
    created bigint NOT NULL,
    amount bigint NOT NULL CHECK (amount > 0),
    reason_code bigint,
    reason_title text,
    due bigint NOT NULL,
    line bytea, -- that opened it; null for an inquiry
    flat_fee bigint NOT NULL, -- in the currency of the merchant
    decision text, -- null while it is open
    submitted bigint, -- the time of the evidence
    accepted bigint, -- the time
    UNIQUE ("transaction", reference)
);
CREATE INDEX disputes_of_merchants ON disputes (merchant, id);
CREATE INDEX open_disputes_of_merchants ON disputes (merchant, due, id) WHERE decision IS NULL;
CREATE INDEX decided_disputes ON disputes (merchant, id) WHERE decision IS NOT NULL;
CREATE INDEX disputes_of_transactions ON disputes ("transaction", id);
CREATE INDEX overdue_disputes ON disputes (due)
    WHERE decision IS NULL AND line IS NOT NULL AND test;

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

CREATE TABLE evidence (
    dispute bytea PRIMARY KEY,
    id bytea NOT NULL,
    created bigint NOT NULL,
    size bigint NOT NULL, -- of all files, in bytes
    text text NOT NULL
);

CREATE TABLE evidence_files (
    dispute bytea NOT NULL,
    number bigint NOT NULL,
    id bytea NOT NULL,
    name text NOT NULL,
    type text NOT NULL,
    size bigint NOT NULL, -- in bytes
    content bytea NOT NULL,
    PRIMARY KEY (dispute, number)
);

CREATE TABLE fraud_alerts (
    id bytea PRIMARY KEY,
    merchant bytea NOT NULL,
    "transaction" bytea NOT NULL,
    created bigint NOT NULL,
    reported bigint,
    reason bigint
);
CREATE INDEX fraud_alerts_of_merchants ON fraud_alerts (merchant, id);
CREATE INDEX fraud_alerts_of_transactions ON fraud_alerts ("transaction", id);

-- What an acquirer has not confirmed yet.
CREATE TABLE outbox (
    id bytea PRIMARY KEY,
    acquirer text, -- of the transaction
    "transaction" bytea NOT NULL,
    movement text NOT NULL,
    amount bigint NOT NULL,
    step bigint, -- of the trail
    dispute bytea, -- that it answers
    trace bytea, -- as in events
    taken timestamptz, -- when a process last took it up
    -- The digest of the idempotency key that the acquirer gets. Null if the key is the ID.
    acquirer_key bytea,
    attempts bigint NOT NULL DEFAULT 0, -- that failed
    due bigint -- the time of the next attempt; null: not sent yet
);
CREATE INDEX retried_entries ON outbox (acquirer, due, id) WHERE due IS NOT NULL;
CREATE INDEX retried_entries_of_transactions ON outbox ("transaction", id)
    WHERE due IS NOT NULL;

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
    acquirer text,
    notes text
);

CREATE TABLE idempotency (
    app bytea NOT NULL,
    key text COLLATE "C" NOT NULL,
    request bytea NOT NULL, -- a digest
    created bigint NOT NULL,
    pending_payment bytea, -- the payment it waits for
    outcome text, -- JSON
    PRIMARY KEY (app, key)
);
CREATE INDEX idempotency_by_age ON idempotency (created);
CREATE INDEX idempotency_of_pending_payments ON idempotency (pending_payment)
    WHERE pending_payment IS NOT NULL;

-- Everything that happens to merchants.
CREATE TABLE events (
    id bytea PRIMARY KEY,
    merchant bytea NOT NULL,
    created bigint NOT NULL,
    type text NOT NULL,
    actor text NOT NULL, -- the kind of whoever did it
    actor_id bytea, -- the app or user
    trace bytea, -- of the request that caused it: the ID, and the flags
    "transaction" bytea, -- null for a payout
    steps bigint, -- of the trail after the change; null for disputes, fraud alerts and payouts
    disputed bigint, -- as steps
    object bytea -- the dispute, fraud alert or payout
);
CREATE INDEX events_of_merchants ON events (merchant, id);
-- The index above serves the two frequent types.
CREATE INDEX rare_events ON events (merchant, type, id)
    WHERE type NOT IN ('transaction.created', 'transaction.captured');

-- What people and apps have done to members, keys and webhooks.
CREATE TABLE log (
    id bytea PRIMARY KEY,
    owner bytea NOT NULL, -- the merchant, or the app whose key or webhook it is
    created bigint NOT NULL,
    actor text NOT NULL, -- the kind of whoever did it
    actor_id bytea, -- the app or user
    kind text NOT NULL,
    subject bytea NOT NULL -- the user, app, key or webhook
);
CREATE INDEX log_of_owners ON log (owner, id);

-- The endpoints to which apps want events sent.
CREATE TABLE webhooks (
    id bytea PRIMARY KEY,
    app bytea NOT NULL,
    created bigint NOT NULL,
    url text NOT NULL,
    types text NOT NULL, -- separated by commas; empty: all
    description text,
    disabled text, -- the reason; null: enabled
    secret bytea NOT NULL, -- as it is, because it signs
    previous_secret bytea, -- the one before the last rotation
    previous_until bigint -- until when it also signs
);
CREATE INDEX webhooks_of_apps ON webhooks (app, id);

-- The keys that sign payment links. A new key replaces the old one.
CREATE TABLE link_secrets (
    merchant bytea PRIMARY KEY,
    secret text NOT NULL
);

-- Links that pay only once, by digest: while a payment is pending, and for good once it succeeded.
CREATE TABLE used_links (
    merchant bytea NOT NULL,
    link bytea NOT NULL,
    pending_payment bytea NOT NULL UNIQUE, -- the payment
    PRIMARY KEY (merchant, link)
);

-- How far the deliveries to each endpoint are, and which replica delivers.
CREATE TABLE webhook_progress (
    webhook bytea PRIMARY KEY,
    position bytea NOT NULL, -- every event up to it is delivered, or is in webhook_retries
    generation bigint NOT NULL, -- grows with each change of the endpoint, and with each new holder
    epoch bigint NOT NULL, -- grows with each report, replay and new holder
    next_attempt bigint NOT NULL, -- the number of the next row of webhook_attempts
    paused_until bigint, -- until then nothing is sent, because the receiver has asked for a pause
    holder text,
    until timestamptz
);

-- Events up to the position that are not delivered: their delivery failed, or they wait for an
-- earlier event of their transaction.
CREATE TABLE webhook_retries (
    webhook bytea NOT NULL,
    event bytea NOT NULL,
    "transaction" bytea, -- null for a payout
    attempts bigint, -- null, as what follows, before the first one
    first bigint, -- the time of the first attempt
    due bigint, -- the time of the next attempt; null: at once, but in order
    PRIMARY KEY (webhook, event)
);

-- The last attempts of each endpoint. A new attempt replaces the oldest one.
CREATE TABLE webhook_attempts (
    webhook bytea NOT NULL,
    number bigint NOT NULL,
    id bytea NOT NULL,
    event bytea NOT NULL,
    created bigint NOT NULL,
    outcome text NOT NULL,
    status bigint,
    duration bigint NOT NULL, -- in milliseconds
    next bigint, -- the time of the next attempt
    PRIMARY KEY (webhook, number)
);

-- A metric counts them each second.
CREATE INDEX disabled_webhooks ON webhooks (id) WHERE disabled <> 'request';

-- Jobs that one process at a time does, and which one, for how long.
CREATE TABLE leases (
    job text PRIMARY KEY,
    holder text NOT NULL,
    until timestamptz NOT NULL
);

-- One row.
CREATE TABLE clock (
    -- When jobs that delete or void by time last ran, in milliseconds since 1970; null before the first time.
    turn bigint,
    -- If the clock has jumped since: the time that it should be, lately, and by how many milliseconds.
    expected bigint,
    jump bigint
);
INSERT INTO clock DEFAULT VALUES;
