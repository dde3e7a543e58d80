-- How far the deliveries to each endpoint are.
CREATE TABLE webhook_progress (
    webhook BLOB PRIMARY KEY,
    position BLOB NOT NULL, -- every event up to it is delivered, or is in webhook_retries
    generation INTEGER NOT NULL, -- grows with each change of the endpoint
    epoch INTEGER NOT NULL, -- grows with each report and replay
    next_attempt INTEGER NOT NULL -- the number of the next row of webhook_attempts
) STRICT, WITHOUT ROWID;
INSERT INTO webhook_progress SELECT id, id, 0, 0, 0 FROM webhooks;
-- Events up to the position that are not delivered: their delivery failed, or they wait for an
-- earlier event of their transaction.
CREATE TABLE webhook_retries (
    webhook BLOB NOT NULL,
    event BLOB NOT NULL,
    "transaction" BLOB, -- null for a payout
    attempts INTEGER NOT NULL,
    first INTEGER, -- the time of the first attempt
    due INTEGER, -- the time of the next attempt; null: at once, but in order
    PRIMARY KEY (webhook, event)
) STRICT, WITHOUT ROWID;
-- The last attempts of each endpoint. A new attempt replaces the oldest one.
CREATE TABLE webhook_attempts (
    webhook BLOB NOT NULL,
    number INTEGER NOT NULL,
    event BLOB NOT NULL,
    created INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    status INTEGER,
    duration INTEGER NOT NULL, -- in milliseconds
    next INTEGER, -- the time of the next attempt
    PRIMARY KEY (webhook, number)
) STRICT, WITHOUT ROWID;
-- A metric counts them each second.
CREATE INDEX failed_webhooks ON webhooks (id) WHERE disabled = 'failures';
