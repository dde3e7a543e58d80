SET LOCAL lock_timeout = '200ms';

-- How far the app advanced its sandbox clock, and when: `ID:SECONDS`, separated by commas.
ALTER TABLE apps ADD COLUMN advances text;
-- The last advance, until everything that it makes due has ended.
ALTER TABLE apps ADD COLUMN pending_advance bytea;
CREATE INDEX pending_advances ON apps (pending_advance) WHERE pending_advance IS NOT NULL;
