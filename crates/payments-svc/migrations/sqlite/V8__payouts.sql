-- The app that invites. Null in older rows.
ALTER TABLE invitations ADD COLUMN app BLOB;
