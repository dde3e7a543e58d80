-- An app has one API key or more. Replicas of the previous release run during the migration, and
-- know only apps.key_digest. So the column stays for this release. The next one drops it, and the
-- trigger:
--
-- 1. The first key of an app has the ID of its app, and its digest is also in apps.key_digest. So
--    all replicas accept it. Only replicas of this release accept a further key.
-- 2. When a replica of the previous release creates an app, the trigger adds the key.
-- 3. When the first key is deleted, the app's ID replaces key_digest. It has 12 bytes, so it is the
--    digest of no key. A replica of the previous release then refuses the key, unless it has
--    accepted it before: it keeps apps in memory, and accepts the key until it stops. So a key that
--    leaked is safe only when the upgrade is complete.
SET LOCAL lock_timeout = '200ms';

CREATE TABLE api_keys (
    id bytea PRIMARY KEY,
    app bytea NOT NULL,
    digest bytea NOT NULL UNIQUE,
    name text,
    created bigint NOT NULL,
    last_used bigint -- the start of an hour
);
CREATE INDEX keys_of_apps ON api_keys (app, id);

-- A replica of this release inserts the key before its app.
CREATE FUNCTION add_first_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO api_keys (id, app, digest, created)
    VALUES (NEW.id, NEW.id, NEW.key_digest, NEW.created)
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
-- This locks the table against inserts, so the copy below misses no app.
CREATE TRIGGER add_first_key AFTER INSERT ON apps
    FOR EACH ROW EXECUTE FUNCTION add_first_key();

INSERT INTO api_keys (id, app, digest, created) SELECT id, id, key_digest, created FROM apps;
