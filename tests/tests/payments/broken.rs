//! Rows that cannot be read or written: only their own requests fail. Other requests of the same
//! batch succeed.

use blackbox::payments::{Move, Service, Stopped, Transaction};
use futures_util::future::join_all;
use serde_json::json;

/// Number of concurrent transactions.
const AT_ONCE: usize = 64;

/// Starts a service, and captures 100 of each transaction.
async fn captured() -> (Service, Vec<Transaction>) {
    let service = Service::with(&[]).await;
    let merchant = service.merchant().await;
    let transactions = join_all((0..AT_ONCE).map(|_| merchant.pay("EUR", 1000))).await;
    join_all(transactions.iter().map(|transaction| transaction.capture(100))).await;
    (service, transactions)
}

/// Moves all transactions concurrently, several times. Only the first one must fail.
async fn only_the_first_fails(transactions: &[Transaction], movement: Move) {
    for round in 1..=5 {
        let (body, (first, others)) =
            (json!({ "amount": 10 }), transactions.split_first().unwrap());
        let others = others.iter().map(|transaction| transaction.ask_with_retries(movement, &body));
        let (failed, answers) = tokio::join!(first.ask(movement, &body), join_all(others));
        failed.refused(503, "storage_unavailable");
        for answer in answers {
            let transaction = answer.expect(201).json();
            let moved = &transaction["transaction"][movement.counter()];
            let before = if let Move::Capture = movement { 100 } else { 0 };
            assert_eq!(*moved, before + 10 * round);
        }
    }
}

/// Runs a statement that changes no rows.
pub(crate) fn define(place: &Stopped, postgres: &str, sqlite: &str) {
    match place.database() {
        Some(database) => drop(database.run(postgres)),
        None => {
            let file = place.data().join("payments.db");
            rusqlite::Connection::open(file).unwrap().execute_batch(sqlite).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreadable_row_fails_only_its_own_request() {
    let (service, transactions) = captured().await;
    let id = service.data().bytes(&transactions[0].id);
    let set =
        |rate: &str| format!("UPDATE captures SET rate = '{rate}' WHERE \"transaction\" = {id}");
    assert_eq!(service.data().change(&set("none")), 1);
    only_the_first_fails(&transactions, Move::Refund).await;
    assert_eq!(service.data().change(&set("1/1")), 1);
    transactions[0].refund(10).await;
    service.stop().await.agrees().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rejected_row_fails_only_its_own_request() {
    let (service, transactions) = captured().await;
    let id = service.data().bytes(&transactions[0].id);
    define(
        service.data(),
        &format!("ALTER TABLE transactions ADD CONSTRAINT no CHECK (id <> {id}) NOT VALID"),
        &format!(
            "CREATE TRIGGER no BEFORE UPDATE ON transactions WHEN new.id = {id}
             BEGIN SELECT RAISE(ABORT, 'no'); END"
        ),
    );
    only_the_first_fails(&transactions, Move::Capture).await;
    define(service.data(), "ALTER TABLE transactions DROP CONSTRAINT no", "DROP TRIGGER no");
    transactions[0].capture(10).await;
    service.stop().await.agrees().await;
}
