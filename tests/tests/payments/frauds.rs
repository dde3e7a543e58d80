//! Fraud alerts of acquirers.

use std::time::Duration;

use blackbox::{
    payments::{Acquirer, Card, Merchant, SECRET, Service, ids},
    process::DEADLINE,
};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

async fn frauds(merchant: &Merchant) -> Vec<Value> {
    merchant.app.list(&format!("/frauds?limit=100&filter[merchantId]={}", merchant.id)).await
}

#[tokio::test]
async fn an_alert_shows_the_reported_members() {
    let service = Service::with(&[SECRET]).await;
    let merchant = service.merchant().await;
    let transaction = merchant.pay("EUR", 1000).await;
    let before = (merchant.balance().await, transaction.fetch().await);
    for members in [
        json!({}),
        json!({ "reason": 0 }),
        json!({ "reason": 8, "reported": "2026-11-20T09:08:07.000Z" }),
    ] {
        let event = Acquirer::event("fraud.reported", &transaction, members.clone());
        for _ in 0..2 {
            let _ = Acquirer(&service).notify(&event).await.expect(204);
        }
        let alert = frauds(&merchant).await.remove(0);
        let mut expected = json!({
            "id": alert["id"],
            "merchantId": merchant.id,
            "transactionId": transaction.id,
            "created": alert["created"],
        });
        expected.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        assert_eq!(alert, expected);
        let path = format!("/frauds/{}", alert["id"].as_str().unwrap());
        let fetched = merchant.app.get(&path).await.expect(200).json();
        assert_eq!(fetched, json!({ "fraud": alert }));
        service.app().await.get(&path).await.refused(403, "forbidden");
    }
    assert_eq!(frauds(&merchant).await.len(), 3);
    assert_eq!((merchant.balance().await, transaction.fetch().await), before);
    merchant.app.get("/frauds/ffffffffffffffffffffffff").await.refused(404, "not_found");
}

#[tokio::test]
async fn alerts_are_listed_by_transaction() {
    let service = Service::with(&[SECRET]).await;
    let merchant = service.merchant().await;
    let (one, other) = (merchant.pay("EUR", 10).await, merchant.pay("EUR", 10).await);
    for transaction in [&one, &other, &one] {
        let event = Acquirer::event("fraud.reported", transaction, json!({}));
        let _ = Acquirer(&service).notify(&event).await.expect(204);
    }
    let all = ids(&frauds(&merchant).await);
    let query = format!("filter[merchantId]={}&filter[transactionId]={}", merchant.id, one.id);
    let found = merchant.app.list(&format!("/frauds?limit=100&{query}")).await;
    assert_eq!(ids(&found), [all[0].clone(), all[2].clone()]);
}

#[tokio::test]
async fn the_sandbox_reports_fraud_at_the_first_capture() {
    let service = Service::any().await;
    for card in ["4100000000000101", "4100000000000103"] {
        let merchant = service.merchant().await;
        let transaction = merchant.pay_with(Card(card), "EUR", 1000).await;
        assert_eq!(frauds(&merchant).await, Vec::<Value>::new());
        transaction.capture(300).await;
        transaction.capture(300).await;
        let found = async {
            loop {
                let found = frauds(&merchant).await;
                if !found.is_empty() {
                    return found;
                }
                sleep(Duration::from_millis(50)).await;
            }
        };
        let found = timeout(DEADLINE, found).await.unwrap();
        assert_eq!((found.len(), &found[0]["reason"]), (1, &json!(1)), "{card}");
        assert!(found[0]["reported"].is_string());
    }
}
