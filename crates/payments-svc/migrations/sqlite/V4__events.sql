-- Everything that happens to merchants. Facts of the release before this one have no events, also
-- while its replicas still run.
CREATE TABLE events (
    id BLOB PRIMARY KEY,
    merchant BLOB NOT NULL,
    created INTEGER NOT NULL,
    type TEXT NOT NULL,
    "transaction" BLOB, -- null for a payout
    steps INTEGER, -- of the trail after the change; null for disputes, fraud alerts and payouts
    disputed INTEGER, -- as steps
    object BLOB -- the dispute, fraud alert or payout
) STRICT, WITHOUT ROWID;
CREATE INDEX events_of_merchants ON events (merchant, id);
-- The index above serves the two frequent types.
CREATE INDEX rare_events ON events (merchant, type, id)
    WHERE type NOT IN ('transaction.created', 'transaction.captured');
