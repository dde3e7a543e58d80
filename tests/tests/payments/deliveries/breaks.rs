//! The service stops, is killed, or one of two replicas ends.

use blackbox::{
    payments::Card,
    soak::{rounds, seed},
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use reqwest::Method;
use tokio::task::JoinSet;

use super::*;
use crate::replicas::two;

/// Pays and captures until the service does not answer.
async fn write(merchant: Merchant) {
    let body = merchant.payment(Card::VISA, "EUR", 1000);
    loop {
        let request = merchant.app.customer("/transactions").json(&body);
        let Some(answer) = request.attempt().await else { return };
        if answer.status != 201 {
            return;
        }
        let path = format!("{}/captures", merchant.transaction(&answer).path());
        for _ in 0..3 {
            let request = merchant.app.request(Method::POST, &path);
            if request.json(&json!({ "amount": 1 })).attempt().await.is_none() {
                return;
            }
        }
        sleep(Duration::from_millis(20)).await;
    }
}

fn writers(merchant: &Merchant) -> JoinSet<()> {
    (0..4).map(|_| write(merchant.clone())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_killed_at_random_loses_no_event() {
    let seed = seed();
    println!("SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let receiver = Receiver::new().await;
    let mut service = service_for(&receiver).await;
    let mut merchant = service.merchant().await;
    let mut webhook = Webhook::at(&merchant.app, &receiver).await;
    receiver.reply(Reply::Slow(Duration::from_millis(30)));
    // Another replica would take over ten seconds after a kill, and so does the next process.
    let kills = if service.data().database().is_some() { rounds(2, 20) } else { rounds(5, 50) };
    for _ in 0..kills {
        let writers = writers(&merchant);
        let enough = receiver.received().len() + rng.random_range(20..100);
        receiver.until(|received| received.len() >= enough).await;
        service = service.kill().await.start().await;
        writers.join_all().await;
        merchant = merchant.by(&merchant.app.at(&service));
        webhook = webhook.by(&merchant.app);
    }
    webhook.is_complete(&receiver, Repeats::AfterBreak).await;

    // The payments that a kill interrupted are given up later, each with an event.
    metric(&service, "payments_pending_payments", |count| count == 0).await;
    webhook.is_complete(&receiver, Repeats::AfterBreak).await;

    // Recorded deliveries are not repeated. At most 16 end in another order than they began.
    let last: BTreeSet<_> =
        receiver.received().iter().rev().take(16).map(|request| request.id().to_owned()).collect();
    let is_recorded = |id: &String, them: &[Value]| them.iter().any(|it| it["eventId"] == **id);
    webhook.recorded(|them| last.iter().all(|id| is_recorded(id, them))).await;
    metric(&service, "payments_webhook_oldest_event_seconds", |age| age == 0).await;
    sleep(Duration::from_secs(2)).await;
    let before = receiver.received();
    let service = service.kill().await.start().await;
    let new = merchant.by(&merchant.app.at(&service)).pay("EUR", 100).await;
    let received =
        receiver.until(|received| received.iter().any(|one| one.body.contains(&new.id))).await;
    let known = accepted(&before);
    for request in &received[before.len()..] {
        assert!(!known.contains(request.id()), "is repeated: {request:?}");
    }
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn deliveries_in_flight_are_finished_and_recorded_when_the_service_stops() {
    let receiver = Receiver::new().await;
    let silent = receiver.another();
    let service = service_for(&receiver).await;
    let merchant = service.merchant().await;
    let webhook = Webhook::at(&merchant.app, &receiver).await;
    let other = Webhook::at(&merchant.app, &silent).await;
    receiver.reply(Reply::Slow(Duration::from_secs(2)));
    silent.reply(Reply::Never);
    load(&merchant, 8, 2, Duration::ZERO).await;
    for receiver in [&receiver, &silent] {
        receiver.until(|received| received.len() >= 8).await;
    }
    let place = service.stop().await;
    let in_flight = receiver.received().len();
    let recorded = |webhook: &Webhook, outcome| {
        let id = place.bytes(&webhook.id);
        let sql = format!(
            "SELECT count(*) FROM webhook_attempts WHERE webhook = {id}
                           AND outcome = '{outcome}'"
        );
        usize::try_from(place.number(&sql)).unwrap()
    };
    assert_eq!(recorded(&webhook, "delivered"), in_flight);
    assert_eq!(recorded(&other, "timed_out"), silent.received().len());
    receiver.answer(204);
    silent.answer(204);
    let service = place.start().await;
    let app = merchant.app.at(&service);
    webhook.by(&app).is_complete(&receiver, Repeats::None).await;
    other.by(&app).is_complete(&silent, Repeats::None).await;
}

/// Waits until replicas hold this number of webhooks: each of them as many as `counts` says.
async fn held(service: &Service, counts: &str) {
    let database = service.data().database().unwrap();
    let sql = "SELECT string_agg(count::text, ' ' ORDER BY count) FROM (
                   SELECT count(*) FROM webhook_progress WHERE until > clock_timestamp()
                   GROUP BY holder) AS held";
    let begun = Instant::now();
    while database.run(sql) != counts {
        assert!(begun.elapsed() < DEADLINE, "held: {}", database.run(sql));
        sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_of_two_replicas_delivers_its_share_and_takes_over_from_the_other() {
    let mut receivers = vec![Receiver::new().await];
    receivers.extend((0..4).map(|_| receivers[0].another()).collect::<Vec<_>>());
    let (_database, [one, other]) = two(&[receivers[0].trust(), LOCAL]).await;
    let merchant = one.merchant().await;
    let there = merchant.by(&merchant.app.at(&other));
    // While a replica is frozen, the other takes the new webhooks.
    let mut webhooks = Vec::new();
    other.process().signal("STOP").await;
    for receiver in &receivers[..2] {
        webhooks.push(Webhook::at(&merchant.app, receiver).await);
    }
    held(&one, "2").await;
    other.process().signal("CONT").await;
    one.process().signal("STOP").await;
    for receiver in &receivers[2..] {
        webhooks.push(Webhook::at(&there.app, receiver).await);
    }
    held(&other, "2 3").await;
    one.process().signal("CONT").await;
    let gently = Duration::from_millis(10);
    tokio::join!(load(&merchant, 3, 4, gently), load(&there, 3, 4, gently));
    for (webhook, receiver) in webhooks.iter().zip(&receivers) {
        webhook.by(&there.app).is_complete(receiver, Repeats::None).await;
    }

    let writers = writers(&merchant);
    let enough = receivers[0].received().len() + 50;
    receivers[0].until(|received| received.len() >= enough).await;
    let killed = Instant::now();
    one.kill().await;
    writers.join_all().await;
    load(&there, 2, 2, Duration::ZERO).await;
    for (index, (webhook, receiver)) in webhooks.iter().zip(&receivers).enumerate() {
        let repeats = if index < 2 { Repeats::AfterBreak } else { Repeats::None };
        webhook.by(&there.app).is_complete(receiver, repeats).await;
    }
    let last = |receiver: &Receiver| receiver.received().last().unwrap().at;
    assert!(last(&receivers[0]).duration_since(killed) > Duration::from_secs(5));
    held(&other, "5").await;
    other.stop().await.agrees().await;
}
