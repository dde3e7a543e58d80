//! Changes of a webhook, and replays.

use super::*;

/// Waits until the service has noticed all changes of webhooks: it then also serves a new one, of
/// another app.
async fn changes_take_effect(service: &Service, receiver: &Receiver) {
    let merchant = service.merchant().await;
    let receiver = receiver.another();
    let webhook = Webhook::at(&merchant.app, &receiver).await;
    merchant.pay("EUR", 1).await;
    receiver.until(|received| received.len() == 1).await;
    let _ = webhook.app.delete(&webhook.path()).await.expect(204);
}

/// Captures 1 again and again until `other` ends.
async fn capture_during(merchant: &Merchant, other: impl Future<Output = ()>) {
    let transaction = merchant.pay("EUR", 100_000).await;
    let captures = async {
        loop {
            transaction.capture(1).await;
            sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        () = captures => {}
        () = other => {}
    }
}

#[tokio::test]
async fn a_new_url_and_a_pause_take_effect_and_cause_no_repeats() {
    let first = Receiver::new().await;
    let second = first.another();
    let service = service_for(&first).await;
    let merchant = service.merchant().await;
    let webhook = Webhook::at(&merchant.app, &first).await;
    let changes = async {
        first.until(|received| received.len() >= 10).await;
        webhook.change(&json!({ "url": second.url("/") })).await;
        second.until(|received| received.len() >= 10).await;
        webhook.change(&json!({ "enabled": false })).await;
        changes_take_effect(&service, &first).await;
        let paused = second.received().len();
        changes_take_effect(&service, &first).await;
        assert_eq!(second.received().len(), paused, "a paused webhook gets events");
        webhook.change(&json!({ "enabled": true })).await;
        second.until(|received| received.len() > paused).await;
    };
    capture_during(&merchant, changes).await;
    let events = webhook.events().await.len();
    let old = first.received();
    let new = second.until(|received| old.len() + received.len() >= events).await;
    let ids: Vec<_> = old.iter().chain(&new).map(|request| request.id().to_owned()).collect();
    assert!(ids.is_sorted_by(|one, other| one < other), "{ids:?}");
    assert_eq!(ids.len(), events);
    assert_eq!(first.received().len(), old.len());
}

#[tokio::test]
async fn a_change_takes_effect_within_two_seconds() {
    let old = Receiver::new().await;
    let (new, control) = (old.another(), old.another());
    let service = service_for(&old).await;
    let merchant = service.merchant().await;
    let webhook = Webhook::at(&merchant.app, &old).await;
    let _unchanged = Webhook::at(&merchant.app, &control).await;
    let changes = async {
        for receiver in [&old, &control] {
            receiver.until(|received| received.len() >= 10).await;
        }
        let begun = Instant::now();
        webhook.change(&json!({ "url": new.url("/") })).await;
        let took = new.until(|received| !received.is_empty()).await[0].at - begun;
        let arrived: Vec<_> = control.received().iter().map(|request| request.at).collect();
        let gaps = arrived.windows(2).map(|pair| pair[1] - pair[0]);
        // A busy machine delays the events of the other webhook, too.
        let longest = gaps.max().unwrap();
        assert!(took < Duration::from_secs(2) + 10 * longest, "{took:?}, gaps of {longest:?}");
    };
    capture_during(&merchant, changes).await;
}

#[tokio::test]
async fn new_types_and_secrets_take_effect_and_a_deleted_webhook_gets_nothing() {
    let receiver = Receiver::new().await;
    let service = service_for(&receiver).await;
    let merchant = service.merchant().await;
    let mut webhook = Webhook::at(&merchant.app, &receiver).await;
    let transaction = merchant.pay("EUR", 1000).await;
    let types = async || -> Vec<String> {
        let received = receiver.received();
        received.iter().map(|request| text(&request.event()["type"]).to_owned()).collect()
    };
    receiver.until(|received| received.len() == 1).await;
    webhook.change(&json!({ "types": ["transaction.captured"] })).await;
    changes_take_effect(&service, &receiver).await;
    transaction.capture(100).await;
    transaction.refund(50).await;
    transaction.capture(100).await;
    receiver.until(|received| received.len() == 3).await;
    webhook.change(&json!({ "types": [] })).await;
    changes_take_effect(&service, &receiver).await;
    transaction.refund(10).await;
    receiver.until(|received| received.len() == 4).await;
    let expected = [
        "transaction.created",
        "transaction.captured",
        "transaction.captured",
        "transaction.refunded",
    ];
    assert_eq!(types().await, expected);

    let first = webhook.secret.clone();
    webhook.rotate().await;
    webhook.rotate().await;
    changes_take_effect(&service, &receiver).await;
    transaction.refund(10).await;
    let last = receiver.until(|received| received.len() == 5).await.remove(4);
    for results in verify(&[case(&webhook.secret, &last), case(&first, &last)]).await {
        assert!(results[0] == "valid" && results[1] != "valid", "{results:?}");
    }
    let _ = webhook.app.delete(&webhook.path()).await.expect(204);
    changes_take_effect(&service, &receiver).await;
    transaction.refund(10).await;
    changes_take_effect(&service, &receiver).await;
    assert_eq!(receiver.received().len(), 5);
}

#[tokio::test]
async fn a_retry_of_a_type_that_a_change_removes_is_not_sent() {
    let receiver = Receiver::new().await;
    let service = service_for(&receiver).await;
    let merchant = service.merchant().await;
    let webhook = Webhook::at(&merchant.app, &receiver).await;
    receiver.answer(500);
    let transaction = merchant.pay("EUR", 1000).await;
    webhook.recorded(|them| !them.is_empty()).await;
    transaction.capture(100).await;
    receiver.answer(204);
    webhook.change(&json!({ "types": ["transaction.captured"] })).await;
    let received = receiver.until(|received| received.iter().any(Received::is_accepted)).await;
    let types: Vec<_> =
        received.iter().map(|request| text(&request.event()["type"]).to_owned()).collect();
    assert_eq!(types, ["transaction.created", "transaction.captured"]);
    metric(&service, "payments_webhook_oldest_event_seconds", |age| age == 0).await;
}

#[tokio::test]
async fn a_replay_sends_everything_after_an_event_again_and_skips_nothing() {
    let receiver = Receiver::new().await;
    let service = service_for(&receiver).await;
    let merchant = service.merchant().await;
    let early = merchant.pay("EUR", 1000).await;
    let webhook = Webhook::at(&merchant.app, &receiver).await;
    early.capture(100).await;
    load(&merchant, 2, 2, Duration::ZERO).await;
    webhook.is_complete(&receiver, Repeats::None).await;
    let ids: Vec<_> =
        webhook.events().await.iter().map(|event| text(&event["id"]).to_owned()).collect();
    let replay = async |webhook: &Webhook, after: &str| {
        let _ = webhook.replay(&json!(after)).await.expect(204);
    };

    // The deliveries of the last second may be repeated, too, so they are recorded first.
    webhook.recorded(|deliveries| deliveries.len() == ids.len()).await;
    let count = receiver.received().len();
    replay(&webhook, &ids[10]).await;
    receiver.until(|received| received.len() == count + ids.len() - 11).await;
    webhook.recorded(|deliveries| deliveries.len() == 2 * ids.len() - 11).await;
    let again = receiver.received().split_off(count);
    let again_ids: BTreeSet<_> = again.iter().map(|request| request.id().to_owned()).collect();
    assert!(again_ids.iter().eq(&ids[11..]), "{again_ids:?}");
    in_order(&again);

    // A replay of nothing skips nothing: the events that have not arrived yet are still sent.
    receiver.answer(500);
    early.capture(100).await;
    merchant.pay("EUR", 300).await.capture(1).await;
    webhook.recorded(|deliveries| deliveries[0]["outcome"] == "refused").await;
    replay(&webhook, &"f".repeat(24)).await;
    receiver.answer(204);
    webhook.restart().await;
    let expected = ids.len() + 3;
    receiver.until(|received| accepted(received).len() == expected).await;

    // The events before the webhook was made are sent, too. A disabled one gets them later.
    webhook.change(&json!({ "enabled": false })).await;
    changes_take_effect(&service, &receiver).await;
    let count = receiver.received().len();
    replay(&webhook, &"0".repeat(24)).await;
    changes_take_effect(&service, &receiver).await;
    assert_eq!(receiver.received().len(), count);
    webhook.change(&json!({ "enabled": true })).await;
    let all = merchant.app.events_after(&"0".repeat(24)).await;
    receiver.until(|received| received.len() == count + all.len()).await;
    let again = receiver.received().split_off(count);
    in_order(&again);
    let again: BTreeSet<_> = again.iter().map(|request| request.id().to_owned()).collect();
    assert!(again.iter().eq(all.iter().map(|event| text(&event["id"]))), "{again:?}");
}

/// Checks that the events of each transaction are in their order.
fn in_order(received: &[Received]) {
    let mut last = std::collections::HashMap::new();
    for request in received {
        let transaction = text(&request.event()["transactionId"]).to_owned();
        let before = last.insert(transaction, request.id());
        assert!(before.is_none_or(|before| before < request.id()), "{request:?}");
    }
}

#[tokio::test]
async fn a_replay_with_an_idempotency_key_is_made_once() {
    let (service, receiver) = (Service::with(&[LOCAL]).await, Receiver::new().await);
    let webhook = Webhook::at(&service.app().await, &receiver).await;
    let path = format!("{}/replay", webhook.path());
    let replay = async |after: &str| {
        webhook.app.post_once("key", &path, &json!({ "after": after.repeat(24) })).await
    };
    let first = replay("0").await.expect(204);
    assert_eq!(first.header("idempotent-replayed"), None);
    let again = replay("0").await.expect(204);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    replay("1").await.refused(422, "idempotency_key_reused");
}

#[tokio::test]
async fn a_replay_needs_an_id_and_a_webhook_of_the_app() {
    let service = Service::any().await;
    let app = service.app().await;
    let webhook = Webhook::with(&app, &json!({ "url": "https://shop.example/events" })).await;
    for after in [json!("yesterday"), json!(""), json!(1), json!("0".repeat(25)), Value::Null] {
        webhook.replay(&after).await.names(&["after"]);
    }
    let path = format!("{}/replay", webhook.path());
    app.post(&path, &json!({})).await.names(&["after"]);
    let after = json!("0".repeat(24));
    let stranger = webhook.by(&service.app().await);
    let _ = stranger.replay(&after).await.expect(403);
    let _ = stranger.app.get(&format!("{}/deliveries", webhook.path())).await.expect(403);
    let _ = app.delete(&webhook.path()).await.expect(204);
    webhook.replay(&after).await.refused(404, "not_found");
    let _ = app.get(&format!("{}/deliveries", webhook.path())).await.expect(404);
}

#[tokio::test]
async fn the_last_hundred_deliveries_are_listed_newest_first() {
    let receiver = Receiver::new().await;
    let service = service_for(&receiver).await;
    let merchant = service.merchant().await;
    let webhook = Webhook::at(&merchant.app, &receiver).await;
    assert_eq!(webhook.deliveries().await, [] as [Value; 0]);
    load(&merchant, 3, 9, Duration::ZERO).await;
    webhook.is_complete(&receiver, Repeats::None).await;
    let last = receiver.received().pop().unwrap();
    let listed = webhook.recorded(|them| them.iter().any(|one| one["eventId"] == last.id())).await;
    assert_eq!(listed.len(), 100);
    let newest_first = |two: &[Value]| text(&two[0]["id"]) > text(&two[1]["id"]);
    assert!(listed.windows(2).all(newest_first), "{listed:#?}");
    let page = |query: String| format!("{}/deliveries?{query}", webhook.path());
    let middle = text(&listed[49]["id"]);
    let older = merchant.app.list(&page(format!("limit=30&before={middle}"))).await;
    assert_eq!(older, listed[50..80]);
    merchant.app.settle(&page(String::new())).await;
    let newer = merchant.app.list(&page(format!("limit=30&after={middle}"))).await;
    assert!(newer.iter().eq(listed[19..49].iter().rev()), "{newer:#?}");
    merchant.app.get(&page(String::new())).await.names(&["limit"]);
    let ids: BTreeSet<_> = listed.iter().map(|one| text(&one["eventId"])).collect();
    assert_eq!(ids.len(), 100);
    for one in &listed {
        let result = (&one["outcome"], &one["status"], &one["nextAttempt"]);
        assert_eq!(result, (&json!("delivered"), &json!(204), &Value::Null));
    }
}
