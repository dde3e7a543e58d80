-- Ids are 12 bytes that compare as the things were made; times are milliseconds since the epoch;
-- amounts are minor units.

-- The last id that was given out, whether what had it is still there or not. One row.
CREATE TABLE ids (
    last BLOB NOT NULL
) STRICT;
INSERT INTO ids VALUES (zeroblob(12));

CREATE TABLE apps (
    id BLOB PRIMARY KEY,
    name TEXT,
    created INTEGER NOT NULL,
    -- How far the app advanced its sandbox clock, and when: `ID:SECONDS`, separated by commas.
    advances TEXT,
    -- The last advance, until everything that it makes due has ended.
    pending_advance BLOB
) STRICT, WITHOUT ROWID;
CREATE INDEX pending_advances ON apps (pending_advance) WHERE pending_advance IS NOT NULL;

-- An app has one API key or more. The first key has the ID of its app.
CREATE TABLE api_keys (
    id BLOB PRIMARY KEY,
    app BLOB NOT NULL,
    digest BLOB NOT NULL UNIQUE,
    name TEXT,
    created INTEGER NOT NULL,
    last_used INTEGER -- the start of an hour
) STRICT, WITHOUT ROWID;
CREATE INDEX keys_of_apps ON api_keys (app, id);

CREATE TABLE users (
    id BLOB PRIMARY KEY,
    email TEXT NOT NULL UNIQUE COLLATE NOCASE,
    created INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE merchants (
    id BLOB PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    created INTEGER NOT NULL,
    name TEXT,
    currency TEXT NOT NULL,
    test INTEGER NOT NULL,
    email TEXT NOT NULL,
    website TEXT NOT NULL,
    descriptor TEXT NOT NULL,
    country TEXT NOT NULL,
    number TEXT,
    iban TEXT,
    holder TEXT, -- of the account; null: the merchant
    approved INTEGER NOT NULL,
    holds_payments INTEGER NOT NULL,
    holds_payouts INTEGER NOT NULL,
    hold_reason TEXT,
    held_since INTEGER,
    fee_rate INTEGER NOT NULL, -- parts per million
    fee_flat_currency TEXT NOT NULL,
    fee_flat INTEGER NOT NULL,
    fee_dispute_currency TEXT NOT NULL,
    fee_dispute INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What an operator has done to merchants.
CREATE TABLE holds (
    id BLOB PRIMARY KEY,
    merchant BLOB NOT NULL,
    created INTEGER NOT NULL,
    payments INTEGER NOT NULL, -- held after it
    payouts INTEGER NOT NULL,
    reason TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX holds_of_merchants ON holds (merchant, id);
CREATE TABLE bank_changes (
    id BLOB PRIMARY KEY,
    merchant BLOB NOT NULL,
    created INTEGER NOT NULL,
    iban TEXT NOT NULL,
    holder TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Apart from the merchant, since every booking writes it.
CREATE TABLE balances (
    merchant BLOB PRIMARY KEY,
    -- 0: only PostgreSQL keeps a balance in several rows.
    shard INTEGER NOT NULL DEFAULT 0,
    balance INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE merchant_apps (
    merchant BLOB NOT NULL,
    app BLOB NOT NULL,
    test INTEGER NOT NULL, -- as the merchant
    creator INTEGER NOT NULL, -- the app has created the merchant
    PRIMARY KEY (merchant, app)
) STRICT, WITHOUT ROWID;
CREATE INDEX merchants_of_apps ON merchant_apps (app, merchant);
CREATE INDEX merchants_of_apps_by_kind ON merchant_apps (app, test, merchant);

CREATE TABLE merchant_users (
    merchant BLOB NOT NULL,
    user BLOB NOT NULL,
    accepted INTEGER, -- when the user accepted the invitation
    PRIMARY KEY (merchant, user)
) STRICT, WITHOUT ROWID;
CREATE INDEX merchants_of_users ON merchant_users (user, merchant);

-- Links that sign users in, once.
CREATE TABLE sign_in_links (
    digest BLOB PRIMARY KEY,
    user BLOB NOT NULL,
    kind TEXT NOT NULL,
    merchant BLOB, -- of an invitation
    created INTEGER NOT NULL,
    until INTEGER NOT NULL,
    browser BLOB -- the digest of the only one that can use it; null: any
) STRICT, WITHOUT ROWID;
CREATE INDEX sign_in_links_of_users ON sign_in_links (user);

CREATE TABLE sessions (
    digest BLOB PRIMARY KEY,
    user BLOB NOT NULL,
    created INTEGER NOT NULL,
    verified INTEGER, -- when the user typed the code that began it
    used INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_of_users ON sessions (user);

CREATE TABLE authenticators (
    user BLOB PRIMARY KEY,
    secret BLOB NOT NULL, -- encrypted
    works INTEGER NOT NULL, -- after its first code
    last_step INTEGER NOT NULL, -- of the clock: of the last code
    wrong INTEGER NOT NULL, -- codes since the last right one
    locked INTEGER -- until then; null: not locked
) STRICT, WITHOUT ROWID;

CREATE TABLE recovery_codes (
    user BLOB NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (user, digest)
) STRICT, WITHOUT ROWID;

-- Mail that is to be sent, written with what it tells of. It is here until somebody takes it: an
-- attempt is counted, and the next one set, before it is made.
CREATE TABLE mails (
    id BLOB PRIMARY KEY,
    kind TEXT NOT NULL,
    user BLOB, -- the recipient; null: the payer, who gets a receipt
    merchant BLOB, -- that it is about
    object BLOB, -- the dispute, payout or transaction that it is about
    actor TEXT NOT NULL, -- the kind of whoever caused it
    actor_id BLOB, -- the app or user
    browser BLOB, -- the digest of the only one that may use its link; null: any
    language TEXT, -- that the recipient chose
    created INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    due INTEGER NOT NULL DEFAULT 0 -- when the next attempt is made
) STRICT, WITHOUT ROWID;
CREATE INDEX mails_to_sign_in ON mails (due) WHERE kind = 'sign_in';
CREATE INDEX other_mails ON mails (due) WHERE kind <> 'sign_in';
CREATE INDEX mails_of_members ON mails (merchant, user);
CREATE INDEX mails_of_users ON mails (user, kind);

-- The kinds of mails that members want.
CREATE TABLE mail_choices (
    merchant BLOB NOT NULL,
    kind TEXT NOT NULL,
    user BLOB NOT NULL,
    PRIMARY KEY (merchant, kind, user)
) STRICT, WITHOUT ROWID;

-- Facts of which members are told: a job makes mails of them.
CREATE TABLE notices (
    id BLOB PRIMARY KEY,
    kind TEXT NOT NULL,
    merchant BLOB,
    app BLOB, -- of an endpoint; then the merchant is null
    object BLOB -- the dispute, payout or endpoint
) STRICT, WITHOUT ROWID;

-- Payments that are with an acquirer. Of a card, there is what may be kept.
CREATE TABLE pending_payments (
    id BLOB PRIMARY KEY,
    merchant BLOB NOT NULL,
    created INTEGER NOT NULL,
    currency TEXT NOT NULL,
    amount INTEGER NOT NULL,
    descriptor TEXT NOT NULL,
    custom TEXT,
    recurring INTEGER NOT NULL,
    actor TEXT NOT NULL, -- the kind of whoever pays
    actor_id BLOB, -- the app or user
    bin TEXT, -- of the card, as what follows: null unless the customer is asked by 3-D Secure
    last4 TEXT,
    expiry_year INTEGER,
    expiry_month INTEGER,
    scheme TEXT,
    code_present INTEGER,
    challenge TEXT, -- what the acquirer knows it by
    challenge_until INTEGER, -- when it is too late to answer
    -- The digest of the idempotency key that the acquirer gets. Null if the key is the ID.
    acquirer_key BLOB,
    link BLOB, -- of the payment, if it pays only once
    receipt_email TEXT, -- of the payer; null: no receipt is wanted
    receipt_language TEXT,
    acquirer TEXT,
    "authorization" TEXT -- the acquirer's ID of it, if it needs one
) STRICT, WITHOUT ROWID;

CREATE TABLE transactions (
    id BLOB PRIMARY KEY,
    merchant BLOB NOT NULL,
    test INTEGER NOT NULL, -- as its merchant
    pending_payment BLOB NOT NULL, -- what the acquirer knows it by
    created INTEGER NOT NULL,
    currency TEXT NOT NULL,
    amount INTEGER NOT NULL,
    captured INTEGER NOT NULL DEFAULT 0,
    refunded INTEGER NOT NULL DEFAULT 0,
    voided INTEGER NOT NULL DEFAULT 0,
    disputed INTEGER NOT NULL DEFAULT 0,
    steps INTEGER NOT NULL DEFAULT 0, -- of its trail
    error INTEGER, -- the code of a processing error
    descriptor TEXT NOT NULL,
    bin TEXT, -- of the card, as what follows: null where the acquirer never answered
    last4 TEXT,
    expiry_year INTEGER,
    expiry_month INTEGER,
    scheme TEXT,
    code_present INTEGER,
    tds TEXT NOT NULL,
    recurring INTEGER NOT NULL,
    reference TEXT, -- what the acquirer knows the card by
    has_custom INTEGER NOT NULL,
    custom_reference TEXT, -- the digest of `reference` in its custom data
    -- The digest of the idempotency key that the acquirer got. Null if the key was the ID of the payment.
    acquirer_key BLOB,
    acquirer TEXT,
    "authorization" TEXT, -- the acquirer's ID of it, if it needs one
    -- What the acquirer can do with the authorization.
    captures_once INTEGER NOT NULL,
    amount_step INTEGER NOT NULL CHECK (amount_step > 0),
    valid_until INTEGER,
    CHECK (captured >= 0 AND voided >= 0 AND captured + voided <= amount),
    -- While only a capture is reversed, more is refunded than captured.
    CHECK (refunded >= 0 AND disputed >= 0)
) STRICT, WITHOUT ROWID;
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
    merchant BLOB NOT NULL,
    state TEXT NOT NULL,
    "transaction" BLOB NOT NULL,
    PRIMARY KEY (merchant, state, "transaction")
) STRICT, WITHOUT ROWID;

-- What is pending of a transaction never grows. So it is looked at once, when it becomes too old. All
-- up to this one were, and all that acquirers have ended until then. One row.
CREATE TABLE expiry (
    "only" INTEGER PRIMARY KEY CHECK ("only" = 1),
    through BLOB NOT NULL,
    ended INTEGER NOT NULL
) STRICT;
INSERT INTO expiry VALUES (1, zeroblob(12), 0);

-- How far the facts of each acquirer are booked.
CREATE TABLE facts_positions (
    acquirer TEXT PRIMARY KEY,
    fact TEXT, -- the acquirer's id of the last one
    compared INTEGER -- when the books were last compared with the acquirer's objects
) STRICT, WITHOUT ROWID;

-- The amount that each payment asked for, to check its transaction against.
CREATE TABLE authorizations (
    pending_payment BLOB PRIMARY KEY,
    currency TEXT NOT NULL,
    amount INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Apart, since it may be long.
CREATE TABLE customs (
    "transaction" BLOB PRIMARY KEY,
    custom TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Payers who have a link to the receipt of a transaction, for 18 months.
CREATE TABLE receipts (
    "transaction" BLOB PRIMARY KEY,
    merchant BLOB NOT NULL,
    email TEXT NOT NULL,
    language TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What became of transactions.
CREATE TABLE trail (
    "transaction" BLOB NOT NULL,
    step INTEGER NOT NULL,
    created INTEGER NOT NULL,
    movement TEXT NOT NULL,
    amount INTEGER NOT NULL, -- negative if the step reverses another one
    balance INTEGER NOT NULL,
    fee_flat INTEGER NOT NULL,
    fee_rate INTEGER NOT NULL,
    descriptor TEXT,
    line BLOB,
    dispute BLOB, -- that was decided
    acquirer_key BLOB, -- the key of a capture, refund or void at the acquirer: an ID or a digest
    reverses INTEGER, -- the step that this one undoes, because the acquirer refused it later
    PRIMARY KEY ("transaction", step)
) STRICT, WITHOUT ROWID;

-- What refunds are taken from.
CREATE TABLE captures (
    "transaction" BLOB NOT NULL,
    step INTEGER NOT NULL, -- of the trail
    amount INTEGER NOT NULL,
    gross INTEGER NOT NULL,
    fee INTEGER NOT NULL,
    amount_returned INTEGER NOT NULL DEFAULT 0 CHECK (amount_returned BETWEEN 0 AND amount),
    gross_returned INTEGER NOT NULL DEFAULT 0,
    fee_returned INTEGER NOT NULL DEFAULT 0,
    rate TEXT NOT NULL, -- a fraction, between minor units
    spread INTEGER NOT NULL, -- parts per million
    refused INTEGER NOT NULL DEFAULT 0, -- by the acquirer, later
    PRIMARY KEY ("transaction", step)
) STRICT, WITHOUT ROWID;

-- Voids that the acquirer refused later. No step undoes them.
CREATE TABLE refused_voids (
    "transaction" BLOB NOT NULL,
    step INTEGER NOT NULL,
    PRIMARY KEY ("transaction", step)
) STRICT, WITHOUT ROWID;

-- The merchants' side of the journal.
CREATE TABLE lines (
    id BLOB PRIMARY KEY,
    merchant BLOB NOT NULL,
    created INTEGER NOT NULL,
    balance INTEGER NOT NULL,
    fee INTEGER NOT NULL,
    kind TEXT NOT NULL,
    "transaction" BLOB, -- none of a payout
    currency TEXT NOT NULL,
    amount INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX lines_of_merchants ON lines (merchant, id);

-- What merchants have captured, and captured less refunded, by day in UTC: the sums of the lines up
-- to the last one that was counted. Of the cursors, there is one row.
CREATE TABLE day_totals (
    merchant BLOB NOT NULL,
    day INTEGER NOT NULL, -- since 1970-01-01
    amount INTEGER NOT NULL, -- before fees
    captured INTEGER NOT NULL, -- after fees, with captures that were refused later
    line BLOB NOT NULL, -- the last one
    PRIMARY KEY (merchant, day)
) STRICT, WITHOUT ROWID;
CREATE TABLE day_cursors (
    number INTEGER PRIMARY KEY, -- grows with each count
    through BLOB NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO day_cursors VALUES (0, zeroblob(12));

-- The journal: the postings of a line add up to nothing in each currency.
CREATE TABLE postings (
    line BLOB NOT NULL,
    number INTEGER NOT NULL,
    account TEXT NOT NULL,
    currency TEXT NOT NULL,
    amount INTEGER NOT NULL,
    PRIMARY KEY (line, number)
) STRICT, WITHOUT ROWID;

-- Runs of payouts: of a day, to merchants for tests or to the others, in one format of file. Runs of
-- different formats do not share payouts, so that no payout is in two files.
CREATE TABLE payout_runs (
    day TEXT NOT NULL, -- as 2026-11-21
    test INTEGER NOT NULL,
    format TEXT NOT NULL,
    closed INTEGER NOT NULL DEFAULT 0, -- whether nobody is added any more
    PRIMARY KEY (day, test, format)
) STRICT, WITHOUT ROWID;

-- Transfers to merchants' bank accounts, with the merchants as they were then.
CREATE TABLE payouts (
    id BLOB PRIMARY KEY,
    day TEXT NOT NULL,
    test INTEGER NOT NULL, -- as its merchant
    format TEXT NOT NULL, -- of its run
    created INTEGER NOT NULL,
    merchant BLOB NOT NULL,
    line BLOB NOT NULL UNIQUE,
    held_since INTEGER, -- captures after this time were held back; null: none
    name TEXT NOT NULL,
    iban TEXT NOT NULL,
    currency TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount > 0),
    return_line BLOB UNIQUE, -- null, with the next two, unless the transfer came back
    returned INTEGER,
    return_reason TEXT, -- the bank's words; null if it gave none
    UNIQUE (day, merchant),
    CHECK ((return_line IS NULL) = (returned IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX payouts_of_merchants ON payouts (merchant, id);

-- What an acquirer has told of its own accord, each thing once. One that tells how a dispute was
-- decided may come before the dispute: then it waits for it.
CREATE TABLE notifications (
    id TEXT PRIMARY KEY, -- the acquirer's
    "transaction" BLOB NOT NULL,
    created INTEGER NOT NULL,
    dispute TEXT, -- the acquirer's id of the dispute that it waits for
    decision TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX waiting_notifications ON notifications ("transaction", dispute)
    WHERE dispute IS NOT NULL;

CREATE TABLE disputes (
    id BLOB PRIMARY KEY,
    merchant BLOB NOT NULL,
    test INTEGER NOT NULL, -- as its merchant
    "transaction" BLOB NOT NULL,
    reference TEXT NOT NULL, -- the acquirer's id
    created INTEGER NOT NULL,
    amount INTEGER NOT NULL CHECK (amount > 0),
    reason_code INTEGER,
    reason_title TEXT,
    due INTEGER NOT NULL,
    line BLOB, -- that opened it; null for an inquiry
    flat_fee INTEGER NOT NULL, -- in the currency of the merchant
    decision TEXT, -- null while it is open
    submitted INTEGER, -- the time of the evidence
    accepted INTEGER, -- the time
    UNIQUE ("transaction", reference)
) STRICT, WITHOUT ROWID;
CREATE INDEX disputes_of_merchants ON disputes (merchant, id);
CREATE INDEX open_disputes_of_merchants ON disputes (merchant, due, id) WHERE decision IS NULL;
CREATE INDEX decided_disputes ON disputes (merchant, id) WHERE decision IS NOT NULL;
CREATE INDEX disputes_of_transactions ON disputes ("transaction", id);
CREATE INDEX overdue_disputes ON disputes (due)
    WHERE decision IS NULL AND line IS NOT NULL AND test;

-- What a dispute took out of captures.
CREATE TABLE slices (
    dispute BLOB NOT NULL,
    number INTEGER NOT NULL,
    step INTEGER, -- of the capture, in the trail
    amount INTEGER NOT NULL,
    gross INTEGER NOT NULL,
    fee INTEGER NOT NULL,
    again INTEGER NOT NULL, -- it had been given back before
    PRIMARY KEY (dispute, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE evidence (
    dispute BLOB PRIMARY KEY,
    id BLOB NOT NULL,
    created INTEGER NOT NULL,
    size INTEGER NOT NULL, -- of all files, in bytes
    text TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Not WITHOUT ROWID: the contents are large.
CREATE TABLE evidence_files (
    dispute BLOB NOT NULL,
    number INTEGER NOT NULL,
    id BLOB NOT NULL,
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    size INTEGER NOT NULL, -- in bytes
    content BLOB NOT NULL,
    PRIMARY KEY (dispute, number)
) STRICT;

CREATE TABLE fraud_alerts (
    id BLOB PRIMARY KEY,
    merchant BLOB NOT NULL,
    "transaction" BLOB NOT NULL,
    created INTEGER NOT NULL,
    reported INTEGER,
    reason INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX fraud_alerts_of_merchants ON fraud_alerts (merchant, id);
CREATE INDEX fraud_alerts_of_transactions ON fraud_alerts ("transaction", id);

-- What an acquirer has not confirmed yet.
CREATE TABLE outbox (
    id BLOB PRIMARY KEY,
    acquirer TEXT, -- of the transaction
    "transaction" BLOB NOT NULL,
    movement TEXT NOT NULL,
    amount INTEGER NOT NULL,
    step INTEGER, -- of the trail
    dispute BLOB, -- that it answers
    trace BLOB, -- as in events
    -- The digest of the idempotency key that the acquirer gets. Null if the key is the ID.
    acquirer_key BLOB,
    attempts INTEGER NOT NULL DEFAULT 0, -- that failed
    due INTEGER -- the time of the next attempt; null: not sent yet
) STRICT, WITHOUT ROWID;
CREATE INDEX retried_entries ON outbox (acquirer, due, id) WHERE due IS NOT NULL;
CREATE INDEX retried_entries_of_transactions ON outbox ("transaction", id)
    WHERE due IS NOT NULL;

-- Cards that merchants keep (deprecated).
CREATE TABLE cards (
    id BLOB PRIMARY KEY,
    merchant BLOB NOT NULL,
    created INTEGER NOT NULL,
    bin TEXT NOT NULL,
    last4 TEXT NOT NULL,
    expiry_year INTEGER NOT NULL,
    expiry_month INTEGER NOT NULL,
    scheme TEXT NOT NULL,
    code_present INTEGER NOT NULL,
    reference TEXT NOT NULL,
    acquirer TEXT,
    notes TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency (
    app BLOB NOT NULL,
    key TEXT NOT NULL,
    request BLOB NOT NULL, -- a digest
    created INTEGER NOT NULL,
    pending_payment BLOB, -- the payment it waits for
    outcome TEXT, -- JSON
    PRIMARY KEY (app, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_age ON idempotency (created);
CREATE INDEX idempotency_of_pending_payments ON idempotency (pending_payment)
    WHERE pending_payment IS NOT NULL;

-- Everything that happens to merchants.
CREATE TABLE events (
    id BLOB PRIMARY KEY,
    merchant BLOB NOT NULL,
    created INTEGER NOT NULL,
    type TEXT NOT NULL,
    actor TEXT NOT NULL, -- the kind of whoever did it
    actor_id BLOB, -- the app or user
    trace BLOB, -- of the request that caused it: the ID, and the flags
    "transaction" BLOB, -- null for a payout
    steps INTEGER, -- of the trail after the change; null for disputes, fraud alerts and payouts
    disputed INTEGER, -- as steps
    object BLOB -- the dispute, fraud alert or payout
) STRICT, WITHOUT ROWID;
CREATE INDEX events_of_merchants ON events (merchant, id);
-- The index above serves the two frequent types.
CREATE INDEX rare_events ON events (merchant, type, id)
    WHERE type NOT IN ('transaction.created', 'transaction.captured');

-- What people and apps have done to members, keys and webhooks.
CREATE TABLE log (
    id BLOB PRIMARY KEY,
    owner BLOB NOT NULL, -- the merchant, or the app whose key or webhook it is
    created INTEGER NOT NULL,
    actor TEXT NOT NULL, -- the kind of whoever did it
    actor_id BLOB, -- the app or user
    kind TEXT NOT NULL,
    subject BLOB NOT NULL -- the user, app, key or webhook
) STRICT, WITHOUT ROWID;
CREATE INDEX log_of_owners ON log (owner, id);

-- The endpoints to which apps want events sent.
CREATE TABLE webhooks (
    id BLOB PRIMARY KEY,
    app BLOB NOT NULL,
    created INTEGER NOT NULL,
    url TEXT NOT NULL,
    types TEXT NOT NULL, -- separated by commas; empty: all
    description TEXT,
    disabled TEXT, -- the reason; null: enabled
    secret BLOB NOT NULL, -- as it is, because it signs
    previous_secret BLOB, -- the one before the last rotation
    previous_until INTEGER -- until when it also signs
) STRICT, WITHOUT ROWID;
CREATE INDEX webhooks_of_apps ON webhooks (app, id);

-- The keys that sign payment links. A new key replaces the old one.
CREATE TABLE link_secrets (
    merchant BLOB PRIMARY KEY,
    secret TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Links that pay only once, by digest: while a payment is pending, and for good once it succeeded.
CREATE TABLE used_links (
    merchant BLOB NOT NULL,
    link BLOB NOT NULL,
    pending_payment BLOB NOT NULL UNIQUE, -- the payment
    PRIMARY KEY (merchant, link)
) STRICT, WITHOUT ROWID;

-- How far the deliveries to each endpoint are.
CREATE TABLE webhook_progress (
    webhook BLOB PRIMARY KEY,
    position BLOB NOT NULL, -- every event up to it is delivered, or is in webhook_retries
    generation INTEGER NOT NULL, -- grows with each change of the endpoint
    epoch INTEGER NOT NULL, -- grows with each report and replay
    next_attempt INTEGER NOT NULL, -- the number of the next row of webhook_attempts
    paused_until INTEGER -- until then nothing is sent, because the receiver has asked for a pause
) STRICT, WITHOUT ROWID;

-- Events up to the position that are not delivered: their delivery failed, or they wait for an
-- earlier event of their transaction.
CREATE TABLE webhook_retries (
    webhook BLOB NOT NULL,
    event BLOB NOT NULL,
    "transaction" BLOB, -- null for a payout
    attempts INTEGER, -- null, as what follows, before the first one
    first INTEGER, -- the time of the first attempt
    due INTEGER, -- the time of the next attempt; null: at once, but in order
    PRIMARY KEY (webhook, event)
) STRICT, WITHOUT ROWID;

-- The last attempts of each endpoint. A new attempt replaces the oldest one.
CREATE TABLE webhook_attempts (
    webhook BLOB NOT NULL,
    number INTEGER NOT NULL,
    id BLOB NOT NULL,
    event BLOB NOT NULL,
    created INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    status INTEGER,
    duration INTEGER NOT NULL, -- in milliseconds
    next INTEGER, -- the time of the next attempt
    PRIMARY KEY (webhook, number)
) STRICT, WITHOUT ROWID;

-- A metric counts them each second.
CREATE INDEX disabled_webhooks ON webhooks (id) WHERE disabled <> 'request';

-- One row.
CREATE TABLE clock (
    -- When jobs that delete or void by time last ran, in milliseconds since 1970; null before the first time.
    turn INTEGER,
    -- If the clock has jumped since: the time that it should be, lately, and by how many milliseconds.
    expected INTEGER,
    jump INTEGER
) STRICT;
INSERT INTO clock DEFAULT VALUES;
