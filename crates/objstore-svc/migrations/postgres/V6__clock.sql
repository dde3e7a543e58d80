-- When jobs that delete by time last ran, in milliseconds since 1970; null before the first time.
-- One row.
CREATE TABLE clock (turn BIGINT);
INSERT INTO clock VALUES (NULL);
