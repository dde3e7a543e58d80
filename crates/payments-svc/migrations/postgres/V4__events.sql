-- Everything that happens to merchants. Facts of the release before this one have no events, also
-- while its replicas still run.
CREATE TABLE events (
    id bytea PRIMARY KEY,
    merchant bytea NOT NULL,
    created bigint NOT NULL,
    type text NOT NULL,
    "transaction" bytea, -- null for a payout
    steps bigint, -- of the trail after the change; null for disputes, fraud alerts and payouts
    disputed bigint, -- as steps
    object bytea -- the dispute, fraud alert or payout
);
CREATE INDEX events_of_merchants ON events (merchant, id);
-- The index above serves the two frequent types.
CREATE INDEX rare_events ON events (merchant, type, id)
    WHERE type NOT IN ('transaction.created', 'transaction.captured');
