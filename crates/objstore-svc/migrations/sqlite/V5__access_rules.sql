-- The newest access rules, as a SHA-256, and the revision of the record that says
-- so; null if the newest are none.
ALTER TABLE store ADD COLUMN rules BLOB;
ALTER TABLE store ADD COLUMN rules_revision INTEGER NOT NULL DEFAULT 0;

-- The owner that a set has replaced; null if it is the same, or if there were no access rules.
ALTER TABLE log ADD COLUMN previous_owner TEXT;
