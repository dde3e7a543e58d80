-- When jobs that delete or void by time last ran, in milliseconds since 1970; null before the first time.
-- One row.
CREATE TABLE clock (turn INTEGER) STRICT;
INSERT INTO clock VALUES (NULL);
