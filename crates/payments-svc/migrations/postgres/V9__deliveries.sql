-- How far the deliveries to each endpoint are, and which replica delivers.
CREATE TABLE webhook_progress (
    webhook bytea PRIMARY KEY,
    position bytea NOT NULL, -- every event up to it is delivered, or is in webhook_retries
    generation bigint NOT NULL, -- grows with each change of the endpoint, and with each new holder
    epoch bigint NOT NULL, -- grows with each report, replay and new holder
    next_attempt bigint NOT NULL, -- the number of the next row of webhook_attempts
    holder text,
    until timestamptz
);
INSERT INTO webhook_progress SELECT id, id, 0, 0, 0 FROM webhooks;
-- Events up to the position that are not delivered: their delivery failed, or they wait for an
-- earlier event of their transaction.
CREATE TABLE webhook_retries (
    webhook bytea NOT NULL,
    event bytea NOT NULL,
    "transaction" bytea, -- null for a payout
    attempts bigint NOT NULL,
    first bigint, -- the time of the first attempt
    due bigint, -- the time of the next attempt; null: at once, but in order
    PRIMARY KEY (webhook, event)
);
-- The last attempts of each endpoint. A new attempt replaces the oldest one.
CREATE TABLE webhook_attempts (
    webhook bytea NOT NULL,
    number bigint NOT NULL,
    event bytea NOT NULL,
    created bigint NOT NULL,
    outcome text NOT NULL,
    status bigint,
    duration bigint NOT NULL, -- in milliseconds
    next bigint, -- the time of the next attempt
    PRIMARY KEY (webhook, number)
);
-- A metric counts them each second.
CREATE INDEX failed_webhooks ON webhooks (id) WHERE disabled = 'failures';
