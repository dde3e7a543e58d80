-- The newest revision when the epoch began. A restored backup begins an epoch with a revision that was
-- never used, so that positions and cursors from before are recognized: they are less.
ALTER TABLE store ADD COLUMN epoch_start INTEGER NOT NULL DEFAULT 0;
