//! 3-D Secure: the payment page asks the customer to confirm, and the payment waits for the answer.

use std::time::Duration;

use blackbox::{
    http::Answer,
    payments::{Card, Link, Merchant, Service, next},
    process::DEADLINE,
};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

async fn customer() -> (Service, Merchant) {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    (service, merchant)
}

/// Pays with a card that requires a challenge. Returns the path of the form.
async fn challenged(service: &Service, merchant: &Merchant, card: Card) -> String {
    let (form, page) = service.pay_at(&Link::to(merchant), card).await;
    let page = page.expect(200);
    assert!(page.text().contains("action=\"challenge?"), "{page:?}");
    assert!(page.text().contains(card.last4()), "{page:?}");
    form
}

async fn answer(service: &Service, form: &str, answer: &str) -> Answer {
    service.send_form(&form.replace("/?", "/challenge?"), &format!("answer={answer}")).await
}

async fn only_transaction(merchant: &Merchant) -> Value {
    let mut made = merchant.list("/transactions?limit=10").await;
    assert_eq!(made.len(), 1, "{made:?}");
    made.remove(0)
}

#[tokio::test]
async fn a_new_key_for_links_ends_no_payment_under_way() {
    let (service, merchant) = customer().await;
    let link = Link::to(&merchant).sign(&merchant.link_secret().await).await;
    let card = Card::CHALLENGED.into_iter().find(|(_, tds)| tds.is_some()).unwrap().0;
    let (form, page) = service.pay_at(&link, card).await;
    let _ = page.expect(200);
    let unused = service.open(&link).await;
    merchant.link_secret().await;
    assert_eq!(next(&answer(&service, &form, "confirm").await), form);
    assert_eq!(only_transaction(&merchant).await["successful"], true);
    let page = service.show(&form).await.expect(200);
    assert!(page.text().contains("Payment successful"), "{page:?}");
    for ended in [link.path(), unused] {
        let page = service.show(&ended).await.expect(400);
        assert!(page.text().contains("This payment link does not work"), "{page:?}");
        let _ = service.send_card(&ended, card).await.expect(400);
    }
    let changed = service.show(&form.replace("currency=EUR", "currency=DKK")).await.expect(410);
    assert!(changed.text().contains("This link was used"), "{changed:?}");
}

#[tokio::test]
async fn confirming_pays_if_the_card_allows_it() {
    let (service, _) = customer().await;
    for (card, tds) in Card::CHALLENGED {
        let merchant = service.merchant().await;
        let form = challenged(&service, &merchant, card).await;
        assert!(merchant.list("/transactions?limit=10").await.is_empty());
        assert_eq!(next(&answer(&service, &form, "confirm").await), form);
        let made = only_transaction(&merchant).await;
        let page = service.show(&form).await.expect(200);
        assert!(page.text().contains(made["id"].as_str().unwrap()), "{page:?}");
        assert_eq!(made["tds"], tds.unwrap_or("none"));
        assert_eq!(made["successful"], tds.is_some());
        assert_eq!(made["error"]["code"], tds.map_or(json!(31), |_| Value::Null));
        assert_eq!(
            (&made["card"]["last4"], &made["card"]["bin"]),
            (&json!(card.last4()), &json!(card.bin()))
        );
        assert_eq!(
            (&made["card"]["scheme"], &made["card"]["code"]["present"]),
            (&json!("visa"), &json!(true))
        );
    }
}

#[tokio::test]
async fn challenged_payments_can_be_captured_and_repeated() {
    let (service, merchant) = customer().await;
    let form = challenged(&service, &merchant, Card::CHALLENGED[0].0).await;
    let _ = answer(&service, &form, "confirm").await;
    let id = merchant.ids("/transactions?limit=1").await.remove(0);
    let original = blackbox::payments::Transaction { app: merchant.app.clone(), id };
    original.capture(995).await;
    let repeated = merchant.repeat(&original, 100).await.fetch().await;
    assert_eq!((&repeated["tds"], &repeated["recurring"]), (&json!("none"), &json!(true)));
}

#[tokio::test]
async fn answers_are_limited_as_attempts_are() {
    // For test merchants, ten times as many.
    let service = Service::with(&[("PAYMENTS_ATTEMPT_LIMIT", "1/1d")]).await;
    let merchant = service.merchant().await;
    let form = challenged(&service, &merchant, Card::CHALLENGED[0].0).await;
    let other = service.open(&Link::to(&merchant)).await;
    for _ in 0..10 {
        let _ = answer(&service, &other, "confirm").await;
    }
    let _ = answer(&service, &other, "confirm").await.expect(429);
    // The customer returns to the challenge and can answer it later.
    assert_eq!(next(&answer(&service, &form, "confirm").await), form);
    assert!(merchant.list("/transactions?limit=10").await.is_empty());
}

#[tokio::test]
async fn cancelling_fails_the_payment() {
    let (service, _) = customer().await;
    for (card, _) in Card::CHALLENGED {
        let merchant = service.merchant().await;
        let form = challenged(&service, &merchant, card).await;
        assert_eq!(next(&answer(&service, &form, "cancel").await), form);
        assert!(
            service.show(&form).await.expect(200).text().contains("data-group=\"unconfirmed\"")
        );
        let made = only_transaction(&merchant).await;
        assert_eq!((&made["error"]["code"], &made["tds"]), (&json!(31), &json!("none")));
    }
}

#[tokio::test]
async fn only_the_first_answer_counts() {
    let (service, merchant) = customer().await;
    let form = challenged(&service, &merchant, Card::CHALLENGED[0].0).await;
    let _ = answer(&service, &form, "confirm").await;
    for again in ["cancel", "confirm"] {
        assert_eq!(next(&answer(&service, &form, again).await), form);
    }
    assert_eq!(next(&service.send_card(&form, Card::DECLINED).await), form);
    assert_eq!(only_transaction(&merchant).await["tds"], "full");

    let merchant = service.merchant().await;
    let form = challenged(&service, &merchant, Card::CHALLENGED[0].0).await;
    let sent = join_all(["confirm"; 8].map(|sent| answer(&service, &form, sent))).await;
    assert!(sent.iter().all(|answer| next(answer) == form), "{sent:?}");
    assert_eq!(only_transaction(&merchant).await["tds"], "full");
}

#[tokio::test]
async fn invalid_answers_have_no_effect() {
    let (service, merchant) = customer().await;
    let form = challenged(&service, &merchant, Card::CHALLENGED[0].0).await;
    for body in ["", "answer=", "answer=yes", "answer=confirm&answer=cancel"] {
        let page = service.send_form(&form.replace("/?", "/challenge?"), body).await;
        assert!(page.expect(400).text().contains("<html"));
    }
    let other = service.open(&Link::to(&merchant)).await;
    assert_eq!(next(&answer(&service, &other, "confirm").await), other);
    assert!(merchant.list("/transactions?limit=10").await.is_empty());
    assert!(service.show(&form).await.expect(200).text().contains("action=\"challenge?"));
}

#[tokio::test]
async fn a_challenge_outlives_the_service_and_keeps_no_card_number() {
    let service = Service::with(&[("PAYMENTS_ACQUIRER_TIMEOUT", "200ms")]).await;
    let merchant = service.merchant().await;
    let form = challenged(&service, &merchant, Card::CHALLENGED[0].0).await;
    let service = service.kill().await.start().await;
    let merchant = merchant.by(&merchant.app.at(&service));
    // Longer than the acquirer's timeout and than the interval of the job.
    sleep(Duration::from_millis(2500)).await;
    assert!(service.show(&form).await.expect(200).text().contains("action=\"challenge?"));
    assert_eq!(next(&answer(&service, &form, "confirm").await), form);
    let made = only_transaction(&merchant).await;
    assert_eq!((&made["tds"], &made["card"]["last4"]), (&json!("full"), &json!("0030")));
    service.data().agrees().await;
}

#[tokio::test]
async fn unanswered_challenges_fail_when_they_expire() {
    let service = Service::with(&[("PAYMENTS_ACQUIRER_TIMEOUT", "200ms")]).await;
    let merchant = service.merchant().await;
    let form = challenged(&service, &merchant, Card::CHALLENGED[0].0).await;
    assert_eq!(service.data().change("UPDATE pending_payments SET challenge_until = 1"), 1);
    let over = async {
        while merchant.list("/transactions?limit=10").await.is_empty() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(DEADLINE, over).await.unwrap();
    let made = only_transaction(&merchant).await;
    assert_eq!((&made["error"]["code"], &made["card"]["last4"]), (&json!(31), &json!("0030")));
    assert!(service.show(&form).await.expect(200).text().contains("data-group=\"unconfirmed\""));
    assert_eq!(next(&answer(&service, &form, "confirm").await), form);
    assert_eq!(only_transaction(&merchant).await, made);
    let log = service.process().log();
    assert!(!log.iter().any(|line| line.contains("recorded as failed")), "{log:?}");
    service.data().agrees().await;
}

#[tokio::test]
async fn payments_without_the_page_are_never_challenged() {
    let (_service, merchant) = customer().await;
    for (card, _) in Card::CHALLENGED {
        let expected = if card.last4() == "0031" { 31 } else { 30 };
        let answer = merchant.charge(&merchant.payment(card, "EUR", 995)).await.expect(400);
        assert_eq!(answer.json()["code"], expected);
    }
}
