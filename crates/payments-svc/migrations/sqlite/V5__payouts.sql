-- The app that invites. Null in older rows.
ALTER TABLE invitations ADD COLUMN app BLOB;

-- The format of the file that lists a payout. Runs of different formats do not share payouts, so that
-- no payout is in two files.
ALTER TABLE payouts ADD COLUMN format TEXT NOT NULL DEFAULT 'csv';
CREATE TABLE new_payout_runs (
    day TEXT NOT NULL, -- as 2026-11-21
    test INTEGER NOT NULL,
    format TEXT NOT NULL,
    closed INTEGER NOT NULL DEFAULT 0, -- whether nobody is added any more
    PRIMARY KEY (day, test, format)
) STRICT, WITHOUT ROWID;
INSERT INTO new_payout_runs SELECT day, test, 'csv', closed FROM payout_runs;
DROP TABLE payout_runs;
ALTER TABLE new_payout_runs RENAME TO payout_runs;
