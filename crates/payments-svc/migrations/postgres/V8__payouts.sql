-- A statement below that cannot have its lock at once fails, and the migration is tried again: while
-- it waited, nobody else could use the table.
SET LOCAL lock_timeout = '200ms';

-- The app that invites. Null in older rows, and in those of the release before this one.
ALTER TABLE invitations ADD COLUMN app bytea;
