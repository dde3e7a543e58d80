//! Slow and silent acquirers: no request reserves money twice.

use std::time::Duration;

use blackbox::{
    http::Answer,
    payments::{Card, Merchant, Refusal as _, Service},
    process::DEADLINE,
};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

/// The delay of an acquirer that never answers within a test.
const NEVER: &str = "1h";

/// Creates a merchant and an original, and restarts the service with these acquirer settings. Also
/// returns the body that creates another transaction from the original.
async fn with_acquirer(settings: &[(&str, &str)]) -> (Service, Merchant, Value) {
    let service = Service::with(&[]).await;
    let merchant = service.merchant().await;
    let original = merchant.pay("EUR", 1000).await;
    let mut place = service.stop().await;
    for (name, value) in settings {
        place = place.with(name, value);
    }
    let service = place.start().await;
    let merchant = merchant.by(&merchant.app.at(&service));
    let body = json!({ "transactionId": original.id, "currency": "EUR", "amount": 100 });
    (service, merchant, body)
}

async fn create(merchant: &Merchant, key: &str, body: &Value) -> Answer {
    merchant.app.post_once(key, &merchant.path("/transactions"), body).await
}

/// Repeats a request until its outcome is final, and returns the answer.
async fn final_answer(merchant: &Merchant, key: &str, body: &Value) -> Answer {
    let final_answer = async {
        loop {
            let answer = create(merchant, key, body).await;
            if ![409, 503].contains(&answer.status.as_u16()) {
                return answer;
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(DEADLINE, final_answer).await.unwrap()
}

#[tokio::test]
async fn a_repeat_waits_for_the_first_and_gets_its_answer() {
    let (_service, merchant, body) = with_acquirer(&[("PAYMENTS_SANDBOX_DELAY", "1s")]).await;
    let (one, other) =
        tokio::join!(create(&merchant, "key", &body), create(&merchant, "key", &body));
    assert_eq!((one.status.as_u16(), one.text()), (201, other.text()));
    let replayed = [&one, &other].map(|answer| answer.header("idempotent-replayed").is_some());
    assert_ne!(replayed[0], replayed[1]);
    assert_eq!(merchant.list("/transactions?limit=10").await.len(), 2);
}

#[tokio::test]
async fn pending_payments_are_counted_in_the_metrics() {
    let (service, merchant, body) = with_acquirer(&[("PAYMENTS_SANDBOX_DELAY", "3s")]).await;
    let waiting = async |count: u32| {
        let line = format!("payments_pending_payments {count}");
        let counted = async {
            while !service.fetch("/metrics").await.text().lines().any(|found| found == line) {
                sleep(Duration::from_millis(50)).await;
            }
        };
        timeout(DEADLINE, counted).await.unwrap();
    };
    waiting(0).await;
    let (made, ()) = tokio::join!(create(&merchant, "key", &body), waiting(1));
    let _ = made.expect(201);
    waiting(0).await;
    let scraped = service.fetch("/metrics").await;
    assert!(scraped.text().contains("\npayments_outbox_entries 0\n"), "{scraped:?}");
}

#[tokio::test]
async fn a_repeat_that_waits_too_long_is_409() {
    let (_service, merchant, body) = with_acquirer(&[("PAYMENTS_SANDBOX_DELAY", "8s")]).await;
    let (one, other) =
        tokio::join!(create(&merchant, "key", &body), create(&merchant, "key", &body));
    let (first, waited) = if one.status == 201 { (one, other) } else { (other, one) };
    waited.refused(409, "idempotency_key_in_flight");
    let again = create(&merchant, "key", &body).await.expect(201);
    assert_eq!(again.text(), first.text());
    assert_eq!(merchant.list("/transactions?limit=10").await.len(), 2);
}

#[tokio::test]
async fn another_request_under_a_key_in_flight_does_not_wait() {
    let (_service, merchant, body) = with_acquirer(&[("PAYMENTS_SANDBOX_DELAY", "1s")]).await;
    let mut other = body.clone();
    other["amount"] = 101.into();
    let (one, two) =
        tokio::join!(create(&merchant, "key", &body), create(&merchant, "key", &other));
    let (made, refused) = if one.status == 201 { (one, two) } else { (two, one) };
    refused.refused(422, "idempotency_key_reused");
    let _ = made.expect(201);
}

#[tokio::test]
async fn without_an_answer_it_is_503_and_the_transaction_has_failed() {
    let settings = [("PAYMENTS_SANDBOX_DELAY", NEVER), ("PAYMENTS_ACQUIRER_TIMEOUT", "200ms")];
    let (_service, merchant, body) = with_acquirer(&settings).await;
    create(&merchant, "key", &body).await.refused(503, "outcome_unknown");
    let answer = final_answer(&merchant, "key", &body).await;
    let failed = answer.declined(12);
    assert_eq!(answer.header("idempotent-replayed"), Some("true"));
    assert_eq!(merchant.ids("/transactions?limit=10&filter[successful]=no").await, [failed]);
}

#[tokio::test]
async fn an_unanswered_customer_payment_fails() {
    let settings = [("PAYMENTS_SANDBOX_DELAY", NEVER), ("PAYMENTS_ACQUIRER_TIMEOUT", "200ms")];
    let (_service, merchant, _) = with_acquirer(&settings).await;
    let answer = merchant.charge(&merchant.payment(Card::VISA, "EUR", 995)).await;
    answer.refused(503, "outcome_unknown");
    let failed = async {
        loop {
            let failed = merchant.list("/transactions?limit=10&filter[successful]=no").await;
            if !failed.is_empty() {
                return failed;
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    let failed = timeout(DEADLINE, failed).await.unwrap();
    assert_eq!((failed.len(), &failed[0]["amount"]), (1, &json!(995)));
    assert_eq!((&failed[0]["error"]["code"], &failed[0]["card"]), (&json!(12), &Value::Null));
}

#[tokio::test]
async fn a_key_reserves_once_when_the_service_is_killed() {
    let settings = [("PAYMENTS_SANDBOX_DELAY", NEVER), ("PAYMENTS_ACQUIRER_TIMEOUT", "500ms")];
    let (service, merchant, body) = with_acquirer(&settings).await;
    let mut other = body.clone();
    other["amount"] = 101.into();
    // When one request is rejected because the key is in use, the other is at the acquirer.
    let under_way = tokio::select! {
        answer = create(&merchant, "key", &body) => (answer, other),
        answer = create(&merchant, "key", &other) => (answer, body),
    };
    let (refused, body) = under_way;
    refused.refused(422, "idempotency_key_reused");
    let place = service.kill().await.with("PAYMENTS_SANDBOX_DELAY", "0s");
    let service = place.start().await;
    let merchant = merchant.by(&merchant.app.at(&service));
    let answer = final_answer(&merchant, "key", &body).await;
    let failed = answer.declined(12);
    assert_eq!(merchant.ids("/transactions?limit=10&filter[successful]=no").await, [failed]);
    assert_eq!(merchant.list("/transactions?limit=10").await.len(), 2);
    service.data().agrees().await;
}
