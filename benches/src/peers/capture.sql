SELECT transactions.id AS id, merchant AS merchant, fee_rate AS fee_rate, EXISTS (SELECT 1 FROM merchant_apps WHERE merchant = transactions.merchant) AS is_member FROM transactions JOIN merchants ON merchants.id = merchant WHERE transactions.id = (SELECT id FROM capturable WHERE number = :number) \gset
BEGIN;
SELECT steps AS step, captured + 100 AS captured FROM transactions JOIN merchants ON merchants.id = merchant WHERE transactions.id = :id FOR UPDATE OF transactions \gset
SELECT ids[1] AS line, ids[2] AS entry FROM new_ids(2) \gset
UPDATE transactions SET captured = :captured, refunded = 0, voided = 0, disputed = 0, steps = steps + 1 WHERE id = :id;
INSERT INTO captures VALUES (:id, :step, 100, 100, 3, 0, 0, 0, '1/1', 0) ON CONFLICT ("transaction", step) DO UPDATE SET amount_returned = excluded.amount_returned, gross_returned = excluded.gross_returned, fee_returned = excluded.fee_returned;
INSERT INTO trail VALUES (:id, :step, 1763700000000, 'capture', 100, 72, 25, 3, 'Bench', :line, NULL);
INSERT INTO lines VALUES (:line, :merchant, 1763700000000, 72, 28, 'capture', :id, 'EUR', 100);
INSERT INTO postings SELECT :line::bytea, number - 1, account, currency, amount FROM unnest(ARRAY['acquirer', 'merchant', 'fees'], ARRAY['EUR', 'EUR', 'EUR'], ARRAY[-100, 72, 28]::bigint[]) WITH ORDINALITY AS posting (account, currency, amount, number);
UPDATE balances SET balance = balance + 72 WHERE merchant = :merchant AND shard = pg_backend_pid() % 16;
INSERT INTO outbox (id, acquirer, "transaction", movement, amount, step) VALUES (:entry, 'sandbox', :id, 'capture', 100, :step);
COMMIT;
SELECT * FROM transactions LEFT JOIN customs ON has_custom AND "transaction" = transactions.id WHERE transactions.id = :id;
SELECT * FROM trail WHERE "transaction" = :id ORDER BY step;
