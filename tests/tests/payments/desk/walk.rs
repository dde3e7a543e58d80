//! A random walk of two users and an app, compared with a model of the books.

use std::collections::BTreeSet;

use blackbox::{
    mail::MailServer,
    payments::{Merchant, Move, Service, Stopped, Transaction, desk::Browser, int},
    postgres::Cluster,
    soak::{rounds, seed},
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use serde_json::json;

use super::{
    money::{Shown, hidden},
    users::{named, signed_in, start, with_desk},
};

/// What moved money: the payment, the kind, the amount, and what makes it another movement.
type Moved = BTreeSet<(usize, &'static str, i64, String)>;

/// A user who opens pages, and sends some of their forms later, twice, or not at all.
async fn user(
    mut browser: Browser,
    payments: &[Shown<'_>],
    mut rng: StdRng,
    steps: usize,
) -> Moved {
    let (mut moved, mut open) = (Moved::new(), Vec::new());
    for _ in 0..steps {
        let index = rng.random_range(0..payments.len());
        let kind = ["capture", "refund", "void"][rng.random_range(0..3)];
        let amount = rng.random_range(1..=30);
        let page = payments[index].ask(&mut browser, kind, &format!("0.{amount:02}")).await;
        if page.status == 200 {
            open.push((index, kind, amount, page));
        }
        while !open.is_empty() && rng.random_bool(0.5) {
            let (index, kind, amount, page) = &open[rng.random_range(0..open.len())];
            let sent = payments[*index].confirm(&mut browser, kind, page).await;
            // A form that has acted before answers as it did then.
            match (sent.status, sent.location) {
                (303, Some(location)) => {
                    assert!(location.ends_with("?done"), "{location}");
                    let seen = hidden(page, "steps");
                    let _ = moved.insert((*index, *kind, *amount, format!("after {seen}")));
                }
                (status, _) => assert_eq!(status, 409),
            }
            if rng.random_bool(0.7) {
                let _ = open.swap_remove(rng.random_range(0..open.len()));
            }
        }
    }
    moved
}

async fn app(payments: &[Transaction], mut rng: StdRng, steps: usize) -> Moved {
    let mut moved = Moved::new();
    for step in 0..steps {
        let index = rng.random_range(0..payments.len());
        let (kind, amount) = (Move::ALL[rng.random_range(0..3)], rng.random_range(1..=30));
        let body = json!({ "amount": amount });
        if payments[index].ask_with_retries(kind, &body).await.status == 201 {
            let _ = moved.insert((index, kind.name(), amount, format!("by the app, {step}")));
        }
    }
    moved
}

/// Each user works at one of the services.
async fn walk(services: [&Service; 2], server: &MailServer, merchant: &Merchant, seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut payments = Vec::new();
    for _ in 0..3 {
        payments.push(merchant.pay("EUR", 1000).await);
    }
    let shown: Vec<_> = payments.iter().map(|paid| Shown::of(merchant, paid)).collect();
    let ann = signed_in(server, services[0], merchant).await;
    let mut ben = signed_in(server, services[0], merchant).await;
    ben.desk = Browser::at(services[1]).desk;
    let steps = rounds(40, 1000);
    let [one, two, three] = [(); 3].map(|()| StdRng::seed_from_u64(rng.random()));
    let (ann, ben, app) = tokio::join!(
        user(ann, &shown, one, steps),
        user(ben, &shown, two, steps),
        app(&payments, three, steps)
    );
    // Two users who send the same form act once.
    let moved: Moved = ann.into_iter().chain(ben).chain(app).collect();
    for (index, paid) in payments.iter().enumerate() {
        let fetched = paid.fetch().await;
        for kind in Move::ALL {
            let of_kind =
                moved.iter().filter(|(at, name, ..)| (*at, *name) == (index, kind.name()));
            let sum: i64 = of_kind.map(|(_, _, amount, _)| amount).sum();
            assert_eq!(int(&fetched[kind.counter()]), sum, "{kind:?} of {fetched}");
        }
    }
}

#[tokio::test]
async fn two_users_and_an_app_move_money_as_the_model_does() {
    let server = MailServer::start().await;
    let service = start(&server).await;
    let merchant = named(&service, "Corner shop").await;
    let seed = seed();
    println!("SEED={seed}");
    walk([&service, &service], &server, &merchant, seed).await;
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn two_replicas_are_one_desk() {
    let (server, database) = (MailServer::start().await, Cluster::shared().database());
    let replica = || with_desk(&server, Stopped::on(Some(database.clone()), &[]));
    let services = [replica().start().await, replica().start().await];
    let merchant = named(&services[0], "Corner shop").await;
    let seed = seed();
    println!("SEED={seed}");
    walk([&services[0], &services[1]], &server, &merchant, seed).await;
    for service in services {
        service.stop().await.agrees().await;
    }
}
