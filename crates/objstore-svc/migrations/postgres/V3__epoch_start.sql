-- Replicas of the previous version may be writing: they wait here, and not amid their transactions.
SELECT FROM store FOR UPDATE;

-- The newest revision when the epoch began. A failover or a restored dump begins an epoch with a
-- revision that was never used, so that positions and cursors from before are recognized: they are
-- less.
ALTER TABLE store ADD COLUMN epoch_start BIGINT NOT NULL DEFAULT 0;

-- Identifies the server's data and its history. Each failover and each point-in-time recovery begins
-- another timeline. A restored dump has another table, and often another cluster.
CREATE FUNCTION store_origin() RETURNS TEXT LANGUAGE SQL VOLATILE AS $$
    SELECT concat_ws('/', (SELECT system_identifier FROM pg_control_system()),
        left(pg_walfile_name(pg_current_wal_lsn()), 8), 'store'::regclass::oid)
$$;

-- The origin of the current epoch.
ALTER TABLE store ADD COLUMN origin TEXT;
UPDATE store SET origin = store_origin() WHERE epoch IS NOT NULL;
