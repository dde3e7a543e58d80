//! Receivers that fail: nothing is lost, and no other receiver waits.

use std::sync::atomic::{AtomicBool, Ordering};

use blackbox::soak::{rounds, seed};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};

use super::*;

/// The limit of the time from commit to arrival, for 99 % of the events.
const P99: Duration = Duration::from_secs(1);

/// The 99th percentile of the time from the commit of an event to its arrival, for these requests.
fn p99(received: &[Received]) -> Duration {
    let (instant, wall) = (Instant::now(), Timestamp::now());
    let latency = |request: &Received| {
        let age = wall.duration_since(time(&request.event()["created"]));
        Duration::try_from(age).unwrap_or_default().saturating_sub(instant - request.at)
    };
    let mut latencies: Vec<_> = received.iter().map(latency).collect();
    latencies.sort();
    latencies[latencies.len() * 99 / 100]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn broken_receivers_get_everything_later_and_delay_no_other() {
    let healthy = Receiver::new().await;
    let service = service_for(&healthy).await;
    let merchant = service.merchant().await;
    let webhook = Webhook::at(&merchant.app, &healthy).await;
    let mut others = Vec::new();
    for reply in [
        Reply::Slow(Duration::from_millis(300)),
        Reply::Status(500),
        Reply::Never,
        Reply::Close,
        Reply::Status(204),
    ] {
        let receiver = healthy.another();
        others.push((Webhook::at(&merchant.app, &receiver).await, receiver, reply));
    }
    // From the first event on, the service delivers to all webhooks.
    merchant.pay("EUR", 100).await;
    for receiver in others.iter().map(|(_, receiver, _)| receiver).chain([&healthy]) {
        receiver.until(|received| received.len() == 1).await;
    }
    let pause = Duration::from_millis(100);
    load(&merchant, 4, 4, pause).await;
    webhook.is_complete(&healthy, Repeats::None).await;
    let before = healthy.received().split_off(1);
    for (webhook, receiver, _) in &others {
        webhook.is_complete(receiver, Repeats::None).await;
    }
    let sent = 1 + before.len();

    for (_, receiver, reply) in &others {
        receiver.reply(*reply);
    }
    others[4].1.close().await;
    load(&merchant, 4, 8, pause).await;
    webhook.is_complete(&healthy, Repeats::None).await;
    let beside = healthy.received().split_off(sent);
    let (before, beside) = (p99(&before), p99(&beside));
    println!("p99 beside healthy receivers: {before:?}, beside broken ones: {beside:?}");
    // On a busy machine, events also wait beside healthy receivers. The second load is twice as long,
    // so they may wait twice as long.
    assert!(beside < P99 + 2 * before, "{beside:?} instead of {before:?}");
    // At most 16 at once: the next ones follow after the timeout of ten seconds.
    let silent = others[2].1.received().split_off(sent);
    let first = silent[0].at;
    let at_once = silent.iter().filter(|it| it.at - first < Duration::from_secs(9)).count();
    assert!(at_once <= 16, "{at_once} requests at once");
    assert_eq!(accepted(&others[1].1.received()).len(), sent);

    others[4].1.open();
    for (webhook, receiver, _) in &others {
        receiver.answer(204);
        // On a busy machine, the load takes so long that the next retries are minutes away.
        webhook.restart().await;
    }
    for (webhook, receiver, _) in &others {
        webhook.is_complete(receiver, Repeats::None).await;
    }
    for (outcome, count) in [("refused", 16), ("connection_failed", 32), ("timed_out", 16)] {
        metric(&service, &attempts(outcome), |counted| counted >= count).await;
    }
    metric(&service, "payments_webhook_oldest_event_seconds", |age| age == 0).await;
}

#[tokio::test]
async fn a_failed_delivery_is_repeated_by_itself() {
    let receiver = Receiver::new().await;
    let service = service_for(&receiver).await;
    let merchant = service.merchant().await;
    let webhook = Webhook::at(&merchant.app, &receiver).await;
    let has_failed = AtomicBool::new(false);
    receiver.reply_by(move |_, _| {
        Reply::Status(if has_failed.swap(true, Ordering::SeqCst) { 204 } else { 500 })
    });
    merchant.pay("EUR", 100).await;
    webhook.is_complete(&receiver, Repeats::None).await;
    let received = receiver.received();
    assert_eq!(received.len(), 2);
    let delay = received[1].at - received[0].at;
    assert!(delay > Duration::from_secs(4), "{delay:?} instead of 5 s");
}

/// The time from an attempt to the next one, in seconds.
fn wait(attempt: &Value) -> i64 {
    time(&attempt["nextAttempt"]).duration_since(time(&attempt["created"])).as_secs()
}

#[tokio::test]
async fn retry_after_counts_for_at_most_an_hour() {
    let first = Receiver::new().await;
    let service = service_for(&first).await;
    let merchant = service.merchant().await;
    let mut webhooks = Vec::new();
    // Without a pause, the first retry is after 5 to 6.25 s.
    for (reply, seconds) in [
        (Reply::Later(503, "600"), 600..1800),
        (Reply::Later(429, "86400"), 3600..4800),
        (Reply::Later(503, "Fri, 31 Dec 9999 23:59:59 GMT"), 3600..4800),
        (Reply::Later(429, "Sun, 06 Nov 1994 08:49:37 GMT"), 5..600),
        (Reply::Later(429, "1"), 5..600),
        (Reply::Later(503, "soon"), 5..600),
        (Reply::Later(500, "3600"), 5..600),
    ] {
        let receiver = first.another();
        receiver.reply(reply);
        webhooks.push((Webhook::at(&merchant.app, &receiver).await, receiver, reply, seconds));
    }
    merchant.pay("EUR", 100).await;
    for (webhook, _receiver, reply, seconds) in &webhooks {
        let deliveries = webhook.recorded(|deliveries| !deliveries.is_empty()).await;
        let wait = wait(deliveries.last().unwrap());
        assert!(seconds.contains(&wait), "{reply:?}: {wait}");
    }
}

#[tokio::test]
async fn new_events_wait_for_the_end_of_a_pause() {
    let receiver = Receiver::new().await;
    let service = service_for(&receiver).await;
    let merchant = service.merchant().await;
    let webhook = Webhook::at(&merchant.app, &receiver).await;
    receiver.reply(Reply::Later(503, "10"));
    merchant.pay("EUR", 100).await;
    webhook.recorded(|deliveries| deliveries.len() == 1).await;
    receiver.answer(204);
    merchant.pay("EUR", 200).await;
    webhook.is_complete(&receiver, Repeats::None).await;
    let received = receiver.received();
    assert_eq!(received.len(), 1 + 2);
    let pause = received[1].at.min(received[2].at) - received[0].at;
    assert!(pause > Duration::from_secs(9), "{pause:?} instead of 10 s");
}

#[tokio::test]
async fn a_pause_outlasts_a_restart_and_ends_with_a_change() {
    let receiver = Receiver::new().await;
    let healthy = receiver.another();
    let service = service_for(&receiver).await;
    let merchant = service.merchant().await;
    let webhook = Webhook::at(&merchant.app, &receiver).await;
    let _other = Webhook::at(&merchant.app, &healthy).await;
    receiver.reply(Reply::Later(429, "3600"));
    merchant.pay("EUR", 100).await;
    webhook.recorded(|deliveries| deliveries.len() == 1).await;
    receiver.answer(204);
    let service = service.stop().await.start().await;
    let merchant = merchant.by(&merchant.app.at(&service));
    let webhook = webhook.by(&merchant.app);
    merchant.pay("EUR", 100).await.capture(50).await;
    healthy.until(|received| received.len() == 3).await;
    assert_eq!(receiver.received().len(), 1, "new events do not wait");

    webhook.restart().await;
    webhook.is_complete(&receiver, Repeats::None).await;
    assert_eq!(receiver.received().len(), 1 + 3);
    let place = service.stop().await;
    let paused = "SELECT count(*) FROM webhook_progress WHERE paused_until IS NOT NULL";
    assert_eq!(place.number(paused), 0);
}

#[tokio::test]
async fn a_receiver_that_is_killed_at_random_gets_everything() {
    let seed = seed();
    println!("SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let mut receiver = Receiver::new().await;
    let service = service_for(&receiver).await;
    let merchant = service.merchant().await;
    let webhook = Webhook::at(&merchant.app, &receiver).await;
    receiver.reply(Reply::Slow(Duration::from_millis(20)));
    let kills = rounds(4, 60);
    let kill = async {
        for _ in 0..kills {
            sleep(Duration::from_millis(rng.random_range(100..400))).await;
            receiver.close().await;
            sleep(Duration::from_millis(rng.random_range(0..400))).await;
            receiver.open();
        }
    };
    tokio::join!(kill, load(&merchant, 8, 2 * kills, Duration::from_millis(5)));
    webhook.restart().await;
    webhook.is_complete(&receiver, Repeats::AfterBreak).await;
    let received = receiver.received();
    let repeats = received.len() - accepted(&received).len();
    assert!(repeats <= 16 * kills, "{repeats} repeats after {kills} kills");
}

#[tokio::test]
async fn an_event_that_always_fails_delays_only_its_transaction() {
    let receiver = Receiver::new().await;
    let service = service_for(&receiver).await;
    let merchant = service.merchant().await;
    let webhook = Webhook::at(&merchant.app, &receiver).await;
    let bad = merchant.pay("EUR", 1000).await;
    let id = bad.id.clone();
    let is_bad = move |body: &str| body.contains(&format!("\"transactionId\":\"{id}\""));
    let is_refused = is_bad.clone();
    receiver.until(|received| received.len() == 1).await;
    receiver.reply_by(move |_, body| Reply::Status(if is_refused(body) { 500 } else { 204 }));
    bad.capture(300).await;
    bad.refund(100).await;
    load(&merchant, 2, 5, Duration::ZERO).await;
    receiver.until(|received| accepted(received).len() == 51).await;
    webhook.recorded(|deliveries| deliveries.iter().any(|it| it["outcome"] == "refused")).await;

    // The later events of the transaction also wait after a restart.
    let service = service.stop().await.start().await;
    let merchant = merchant.by(&merchant.app.at(&service));
    let webhook = webhook.by(&merchant.app);
    bad.by(&merchant.app).void(200).await;
    load(&merchant, 1, 1, Duration::ZERO).await;
    receiver.until(|received| accepted(received).len() == 56).await;
    let received = receiver.received();
    let bad: BTreeSet<_> =
        received.iter().filter(|one| is_bad(&one.body)).map(|one| one.id()).collect();
    assert_eq!(bad.len(), 2, "the first event, and the one that fails: {bad:?}");

    receiver.answer(204);
    webhook.restart().await;
    webhook.is_complete(&receiver, Repeats::None).await;
}

#[tokio::test]
async fn many_transactions_that_always_fail_hold_up_no_other() {
    let receiver = Receiver::new().await;
    let service = service_for(&receiver).await;
    let merchant = service.merchant().await;
    let webhook = Webhook::at(&merchant.app, &receiver).await;
    let refused = |_: &str, body: &str| {
        let is_bad = body.contains("\"amount\":13,");
        Reply::Status(if is_bad { 500 } else { 204 })
    };
    receiver.reply_by(refused);
    for _ in 0..20 {
        merchant.pay("EUR", 13).await;
    }
    receiver.until(|received| received.len() >= 16).await;
    let good = merchant.pay("EUR", 100).await;
    receiver.until(|received| received.iter().any(|one| one.body.contains(&good.id))).await;
    receiver.answer(204);
    webhook.restart().await;
    webhook.is_complete(&receiver, Repeats::None).await;
}

#[tokio::test]
async fn retries_keep_their_times_and_an_hour_later_all_are_due() {
    let mut receiver = Receiver::new().await;
    let service = service_for(&receiver).await;
    let merchant = service.merchant().await;
    let webhook = Webhook::at(&merchant.app, &receiver).await;
    receiver.close().await;
    load(&merchant, 5, 4, Duration::ZERO).await;
    // Not the number of attempts: on a busy machine, some events are tried again meanwhile.
    let tried = |attempts: &[Value]| {
        attempts.iter().map(|attempt| text(&attempt["eventId"])).collect::<BTreeSet<_>>().len()
    };
    let failed = webhook.recorded(|attempts| tried(attempts) >= 16).await;
    let mut events = BTreeSet::new();
    for attempt in failed.iter().rev().filter(|it| events.insert(text(&it["eventId"]))) {
        let ended = time(&attempt["created"])
            + Duration::from_millis(attempt["duration"].as_u64().unwrap());
        let delay = time(&attempt["nextAttempt"]).duration_since(ended);
        let delay = Duration::try_from(delay).unwrap();
        assert_eq!(
            (&attempt["outcome"], &attempt["status"]),
            (&json!("connection_failed"), &Value::Null)
        );
        let [least, most] = [Duration::from_secs(5), Duration::from_secs(9)];
        assert!((least..most).contains(&delay), "{attempt}");
    }
    // The receiver was away for so long that the next attempts are an hour apart.
    let place = service.stop().await;
    let waiting = "SELECT count(*) FROM webhook_retries WHERE due IS NOT NULL";
    let waiting = usize::try_from(place.number(waiting)).unwrap();
    assert!(waiting >= 16, "{waiting}");
    let later =
        "UPDATE webhook_retries SET attempts = 5, due = due + 3600000 WHERE due IS NOT NULL";
    assert_eq!(place.change(later), waiting);
    receiver.open();
    let service = place.start().await;
    let merchant = merchant.by(&merchant.app.at(&service));
    let webhook = webhook.by(&merchant.app);
    let name = "payments_webhook_oldest_event_seconds";
    metric(&service, name, |age| age > 0).await;
    let others = 5 * (20 - waiting) + 1;
    merchant.pay("EUR", 1000).await;
    receiver.until(|received| received.len() == others).await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(receiver.received().len(), others, "the retries do not wait");

    let place = service.stop().await;
    let hour = "UPDATE webhook_retries SET first = first - 3600000, due = due - 3600000
                WHERE due IS NOT NULL";
    assert_eq!(place.change(hour), waiting);
    let service = place.start().await;
    let webhook = webhook.by(&merchant.app.at(&service));
    webhook.is_complete(&receiver, Repeats::None).await;
    metric(&service, name, |age| age == 0).await;
}

#[tokio::test]
async fn after_five_days_of_failures_a_webhook_is_disabled_and_can_be_enabled() {
    let receiver = Receiver::new().await;
    let service = service_for(&receiver).await;
    let merchant = service.merchant().await;
    let webhook = Webhook::at(&merchant.app, &receiver).await;
    receiver.answer(500);
    let transaction = merchant.pay("EUR", 100).await;
    webhook.recorded(|deliveries| deliveries.len() == 1).await;
    transaction.capture(50).await;
    let place = service.stop().await;
    let sql = "UPDATE webhook_retries SET first = first - 518400000, due = first
               WHERE due IS NOT NULL";
    assert_eq!(place.change(sql), 1);
    let service = place.start().await;
    let merchant = merchant.by(&merchant.app.at(&service));
    let (transaction, webhook) = (transaction.by(&merchant.app), webhook.by(&merchant.app));
    let deliveries = webhook.recorded(|deliveries| deliveries.len() == 2).await;
    assert_eq!(deliveries[0]["nextAttempt"], Value::Null);
    let disabled = webhook.fetch().await;
    let reason = (&disabled["enabled"], &disabled["disabledReason"]);
    assert_eq!(reason, (&json!(false), &json!("failures")));
    let is_logged = |line: &str| line.contains("webhook disabled") && line.contains(&webhook.id);
    service.process().logged(is_logged).await;
    metric(&service, "payments_webhooks_disabled", |count| count == 1).await;
    receiver.answer(204);
    transaction.refund(20).await;
    merchant.pay("EUR", 100).await;
    sleep(Duration::from_secs(2)).await;
    assert_eq!(receiver.received().len(), 2, "a disabled webhook gets events");
    assert_eq!(service.process().log().iter().filter(|line| is_logged(line)).count(), 1);

    webhook.change(&json!({ "enabled": true })).await;
    webhook.is_complete(&receiver, Repeats::None).await;
    assert_eq!(receiver.received().len(), 2 + 4);
    metric(&service, "payments_webhooks_disabled", |count| count == 0).await;
}

#[tokio::test]
async fn a_webhook_whose_receiver_is_gone_is_disabled_at_once_and_can_be_enabled() {
    let receiver = Receiver::new().await;
    let (healthy, tested) = (receiver.another(), receiver.another());
    let service = service_for(&receiver).await;
    let merchant = service.merchant().await;
    let webhook = Webhook::at(&merchant.app, &receiver).await;
    let _enabled = Webhook::at(&merchant.app, &healthy).await;
    receiver.answer(410);
    let transaction = merchant.pay("EUR", 100).await;
    let deliveries = webhook.recorded(|deliveries| !deliveries.is_empty()).await;
    let first = (&deliveries[0]["status"], &deliveries[0]["nextAttempt"]);
    assert_eq!((first, deliveries.len()), ((&json!(410), &Value::Null), 1));
    let disabled = webhook.fetch().await;
    let reason = (&disabled["enabled"], &disabled["disabledReason"]);
    assert_eq!(reason, (&json!(false), &json!("gone")));
    let is_logged = |line: &str| line.contains("webhook disabled") && line.contains(&webhook.id);
    service.process().logged(is_logged).await;
    metric(&service, "payments_webhooks_disabled", |count| count == 1).await;
    receiver.answer(204);
    transaction.capture(50).await;
    healthy.until(|received| received.len() == 2).await;
    assert_eq!(receiver.received().len(), 1, "a disabled webhook gets events");

    webhook.change(&json!({ "enabled": true })).await;
    webhook.is_complete(&receiver, Repeats::None).await;
    assert_eq!(receiver.received().len(), 1 + 2);
    metric(&service, "payments_webhooks_disabled", |count| count == 0).await;

    let idle = Webhook::at(&service.app().await, &tested).await;
    tested.answer(410);
    let test = idle.app.post(&format!("{}/test", idle.path()), &json!({})).await.expect(200);
    assert_eq!(test.json()["delivery"]["status"], 410);
    assert_eq!(idle.fetch().await["enabled"], true, "a test disables no webhook");
}

#[tokio::test]
async fn each_outcome_is_listed_and_counted() {
    let [redirect, silent, rude, mut gone] = {
        let first = Receiver::new().await;
        let others = [first.another(), first.another(), first.another()];
        let [silent, rude, gone] = others;
        [first, silent, rude, gone]
    };
    let untrusted = Receiver::new().await;
    let service = service_for(&redirect).await;
    let merchant = service.merchant().await;
    redirect.answer(307);
    silent.reply(Reply::Never);
    rude.reply(Reply::Close);
    gone.close().await;
    let mut webhooks = Vec::new();
    for (receiver, outcome, status) in [
        (&redirect, "refused", json!(307)),
        (&silent, "timed_out", Value::Null),
        (&rude, "connection_failed", Value::Null),
        (&gone, "connection_failed", Value::Null),
        (&untrusted, "tls_failed", Value::Null),
    ] {
        webhooks.push((Webhook::at(&merchant.app, receiver).await, outcome, status));
    }
    merchant.pay("EUR", 100).await;
    let event = webhooks[4].0.events().await.remove(0);
    for (webhook, outcome, status) in &webhooks {
        let deliveries = webhook.recorded(|deliveries| !deliveries.is_empty()).await;
        let first = deliveries.last().unwrap();
        assert_eq!((&first["eventId"], &first["status"]), (&event["id"], status), "{first}");
        assert_eq!(first["outcome"], *outcome, "{first}");
        assert!(time(&first["nextAttempt"]) > time(&first["created"]), "{first}");
        metric(&service, &attempts(outcome), |count| count > 0).await;
    }
    let timed_out = webhooks[1].0.deliveries().await.pop().unwrap();
    assert!((10_000..20_000).contains(&timed_out["duration"].as_u64().unwrap()), "{timed_out}");
    assert!(redirect.received().iter().all(|request| request.path == "/"));
    metric(&service, "payments_webhook_oldest_event_seconds", |age| age >= 10).await;

    let place = service.stop().await.with(LOCAL.0, "10.0.0.0/8");
    let service = place.start().await;
    let webhook = webhooks[0].0.by(&merchant.app.at(&service));
    webhook.restart().await;
    let is_forbidden = |it: &Value| it["outcome"] == "address_forbidden" && it["status"].is_null();
    webhook.recorded(|deliveries| is_forbidden(&deliveries[0])).await;
    metric(&service, &attempts("address_forbidden"), |count| count > 0).await;
}
