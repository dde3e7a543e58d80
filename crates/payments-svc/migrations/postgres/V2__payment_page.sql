-- What a payment goes on with whose customer is asked by 3-D Secure; null where nobody is.
ALTER TABLE operations
    ADD COLUMN bin text, -- of the card, as what follows
    ADD COLUMN last4 text,
    ADD COLUMN expiry_year smallint,
    ADD COLUMN expiry_month smallint,
    ADD COLUMN scheme text,
    ADD COLUMN code_present boolean,
    ADD COLUMN challenge text, -- what the acquirer knows it by
    ADD COLUMN challenge_until bigint; -- when it is too late to answer
