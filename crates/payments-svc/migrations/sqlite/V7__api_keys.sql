-- An app has one API key or more. The first key has the ID of its app. Its digest stays in
-- apps.key_digest for this release, as on PostgreSQL, where replicas of the previous release read
-- it. When the first key is deleted, the app's ID replaces key_digest: it is the digest of no key.
-- The next release drops the column.
CREATE TABLE api_keys (
    id BLOB PRIMARY KEY,
    app BLOB NOT NULL,
    digest BLOB NOT NULL UNIQUE,
    name TEXT,
    created INTEGER NOT NULL,
    last_used INTEGER -- the start of an hour
) STRICT, WITHOUT ROWID;
CREATE INDEX keys_of_apps ON api_keys (app, id);

INSERT INTO api_keys (id, app, digest, created) SELECT id, id, key_digest, created FROM apps;
