-- What a payment goes on with whose customer is asked by 3-D Secure; null where nobody is.
ALTER TABLE operations ADD COLUMN bin TEXT; -- of the card, as what follows
ALTER TABLE operations ADD COLUMN last4 TEXT;
ALTER TABLE operations ADD COLUMN expiry_year INTEGER;
ALTER TABLE operations ADD COLUMN expiry_month INTEGER;
ALTER TABLE operations ADD COLUMN scheme TEXT;
ALTER TABLE operations ADD COLUMN code_present INTEGER;
ALTER TABLE operations ADD COLUMN challenge TEXT; -- what the acquirer knows it by
ALTER TABLE operations ADD COLUMN challenge_until INTEGER; -- when it is too late to answer
