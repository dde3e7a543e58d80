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
