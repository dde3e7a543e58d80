-- The keys that sign payment links. A new key replaces the old one.
CREATE TABLE link_secrets (
    merchant BLOB PRIMARY KEY,
    secret TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Links that pay only once, by digest: while a payment is pending, and for good once it succeeded.
CREATE TABLE used_links (
    merchant BLOB NOT NULL,
    link BLOB NOT NULL,
    operation BLOB NOT NULL UNIQUE, -- the payment
    PRIMARY KEY (merchant, link)
) STRICT, WITHOUT ROWID;

-- The link of a pending payment, if it pays only once.
ALTER TABLE operations ADD COLUMN link BLOB;
