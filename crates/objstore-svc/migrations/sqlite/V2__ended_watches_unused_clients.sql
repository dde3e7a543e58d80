-- Ended watches of a client, so that a client cannot gather them without a limit. The number may be
-- too high, as trimming the log does not lower it: it is counted again when it reaches the limit.
-- The default is higher than any limit.
ALTER TABLE clients ADD COLUMN ended INTEGER NOT NULL DEFAULT 1000000000000000;
CREATE INDEX watches_ended ON watches (client, until) WHERE until IS NOT NULL;

-- When a client that never set, watched or opened a socket is removed; null from its first use on.
ALTER TABLE clients ADD COLUMN unused_until INTEGER;
CREATE INDEX clients_unused ON clients (unused_until) WHERE unused_until IS NOT NULL;

-- The sessions of a client from the one unused longest.
CREATE INDEX sessions_by_use ON sessions (client, expires);
