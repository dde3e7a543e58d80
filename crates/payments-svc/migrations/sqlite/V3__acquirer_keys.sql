-- The digests of the idempotency keys that an acquirer gets. Null if the key is the ID of the row, or
-- of the operation.
ALTER TABLE operations ADD COLUMN acquirer_key BLOB;
ALTER TABLE transactions ADD COLUMN acquirer_key BLOB;
ALTER TABLE instructions ADD COLUMN acquirer_key BLOB;
