//! Transactions in the cache: every read sees the answered captures and the access of its app.

use std::sync::atomic::{AtomicI64, Ordering};

use blackbox::payments::{Service, Transaction, int};
use futures_util::future::join_all;

/// Clients that read one transaction all the time.
const READERS: usize = 4;

/// Captures of 1 minor unit each.
const CAPTURES: i64 = 40;

/// Reads often enough for a cached transaction.
async fn read(transaction: &Transaction) {
    for _ in 0..3 {
        transaction.fetch().await;
    }
}

#[tokio::test]
async fn no_read_is_older_than_an_answered_read_or_capture() {
    let service = Service::any().await;
    let transaction = service.merchant().await.pay("EUR", CAPTURES).await;
    let captured = AtomicI64::new(0);
    let captures = async {
        for amount in 1..=CAPTURES {
            transaction.capture(1).await;
            captured.store(amount, Ordering::SeqCst);
        }
    };
    let reads = join_all((0..READERS).map(|_| async {
        let mut newest = 0;
        while newest < CAPTURES {
            let answered = captured.load(Ordering::SeqCst);
            let amount = int(&transaction.fetch().await["capturedAmount"]);
            assert!(amount >= newest.max(answered), "{amount} after {newest} and {answered}");
            newest = amount;
        }
    }));
    tokio::join!(captures, reads);
}

#[tokio::test]
async fn a_cached_transaction_is_shown_to_members_only() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let transaction = merchant.pay("EUR", 100).await;
    let (member, stranger) = (service.app().await, service.app().await);
    merchant.add(&member).await;
    let by_member = transaction.by(&member);
    for _ in 0..2 {
        read(&transaction).await;
        let refused = stranger.get(&transaction.path()).await;
        refused.refused(403, "forbidden");
        read(&by_member).await;
    }
    let membership = merchant.path(&format!("/apps/{}", member.id));
    let _ = merchant.app.delete(&membership).await.expect(204);
    member.get(&transaction.path()).await.refused(403, "forbidden");
    read(&transaction).await;
    merchant.add(&member).await;
    read(&by_member).await;
}

#[tokio::test]
async fn a_deleted_key_reads_no_cached_transaction() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let transaction = merchant.pay("EUR", 100).await;
    let (id, old) = merchant.app.further_key("old").await;
    read(&transaction.by(&old)).await;
    let _ = merchant.app.delete_key(&id).await.expect(204);
    old.get(&transaction.path()).await.refused(401, "unauthenticated");
    read(&transaction).await;
}

#[tokio::test]
async fn the_cache_has_a_limit_and_counts_its_hits() {
    let service = Service::with(&[("PAYMENTS_CACHE", "64KiB")]).await;
    let merchant = service.merchant().await;
    let transactions = join_all((0..200).map(|_| merchant.pay("EUR", 100))).await;
    for transaction in transactions.iter().flat_map(|one| [one, one]).chain([&transactions[0]; 5]) {
        transaction.fetch().await;
    }
    if service.data().database().is_some() {
        return;
    }
    let hits = service.metric("payments_cache_hits_total").await;
    let misses = service.metric("payments_cache_misses_total").await;
    assert!(hits >= 3 && hits + misses == 405, "{hits} hits, {misses} misses");
    let used = service.metric(r#"payments_limit_used{limit="transaction_cache"}"#).await;
    assert!((1..=64 * 1024).contains(&used), "{used} bytes");
    let limit = service.metric(r#"payments_limit_max{limit="transaction_cache"}"#).await;
    assert_eq!(limit, 64 * 1024);
}

#[tokio::test]
async fn without_a_cache_each_read_reads_the_database() {
    let service = Service::with(&[("PAYMENTS_CACHE", "0")]).await;
    let transaction = service.merchant().await.pay("EUR", 100).await;
    read(&transaction).await;
    assert_eq!(service.metric("payments_cache_hits_total").await, 0);
}
