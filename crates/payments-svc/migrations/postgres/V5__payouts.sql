-- A statement below that cannot have its lock at once fails, and the migration is tried again: while
-- it waited, nobody else could use the table.
SET LOCAL lock_timeout = '200ms';

-- The app that invites. Null in older rows, and in those of the release before this one.
ALTER TABLE invitations ADD COLUMN app bytea;

-- The format of the file that lists a payout. Runs of different formats do not share payouts, so that
-- no payout is in two files.
ALTER TABLE payouts ADD COLUMN format text NOT NULL DEFAULT 'csv';
ALTER TABLE payout_runs ADD COLUMN format text NOT NULL DEFAULT 'csv';
ALTER TABLE payout_runs DROP CONSTRAINT payout_runs_pkey, ADD PRIMARY KEY (day, test, format);
