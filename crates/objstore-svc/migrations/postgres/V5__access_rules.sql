-- Replicas of the previous version may be writing: they wait here, and not amid their transactions.
SELECT FROM store FOR UPDATE;

-- The newest access rules, as a SHA-256, and the revision of the record that says
-- so; null if the newest are none.
ALTER TABLE store ADD COLUMN rules BYTEA;
ALTER TABLE store ADD COLUMN rules_revision BIGINT NOT NULL DEFAULT 0;

-- The owner that a set has replaced; null if it is the same, or if there were no access rules.
ALTER TABLE log ADD COLUMN previous_owner TEXT COLLATE "C";
