-- A statement below that cannot have its lock at once fails, and the migration is tried again.
SET LOCAL lock_timeout = '200ms';

-- The keys that sign payment links. A new key replaces the old one.
CREATE TABLE link_secrets (
    merchant bytea PRIMARY KEY,
    secret text NOT NULL
);

-- Links that pay only once, by digest: while a payment is pending, and for good once it succeeded.
CREATE TABLE used_links (
    merchant bytea NOT NULL,
    link bytea NOT NULL,
    operation bytea NOT NULL UNIQUE, -- the payment
    PRIMARY KEY (merchant, link)
);

-- The link of a pending payment, if it pays only once.
ALTER TABLE operations ADD COLUMN link bytea;
