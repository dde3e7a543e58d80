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
