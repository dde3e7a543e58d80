//! Kills and restarts the nodes of the database and etcd, under load.

use std::time::Duration;

use tokio::time::Instant;

use crate::{
    compose::{compose, compose_at, no_primary, primary_and_standby, the_books_agree},
    load::Load,
    worker::Patience,
};

/// The longest time without writes after the primary dies.
const OUTAGE: Duration = Duration::from_secs(30);

/// Longer than the primary may keep its role without etcd, if it does not reach the standby.
const WITHOUT_ETCD: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_or_frozen_primary_is_replaced_in_time_and_returns() {
    let mut load = Load::start(Patience::MANY_RETRIES).await;
    // A frozen node is like a lost machine: its connections stay open. The node that takes over
    // from it is the one that was killed before, so that one has returned in full.
    for [fault, repair] in [["kill", "start"], ["pause", "unpause"]] {
        let [primary, standby] = primary_and_standby().await;
        compose(&[fault, primary]).await;
        load.makes_progress().await;
        compose_at(&[repair], primary).await;
        assert_eq!(primary_and_standby().await, [standby, primary]);
    }
    let summary = load.stop().await;
    println!("{summary}");
    assert!(summary.longest <= OUTAGE, "a request took {:?}", summary.longest);
    the_books_agree().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "make soak runs it"]
async fn a_restarted_primary_costs_at_most_one_retry() {
    let mut load = Load::start(Patience::ONE_RETRY).await;
    let [primary, _] = primary_and_standby().await;
    compose_at(&["restart"], primary).await;
    load.makes_progress().await;
    println!("{}", load.stop().await);
    the_books_agree().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "make soak runs it"]
async fn writes_continue_without_a_standby() {
    let mut load = Load::start(Patience::ONE_RETRY).await;
    let [_, standby] = primary_and_standby().await;
    compose(&["kill", standby]).await;
    load.makes_progress().await;
    compose_at(&["start"], standby).await;
    println!("{}", load.stop().await);
    the_books_agree().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_that_lacks_writes_does_not_take_over() {
    let mut load = Load::start(Patience::MANY_RETRIES).await;
    let [primary, standby] = primary_and_standby().await;
    compose(&["kill", standby]).await;
    load.makes_progress().await;
    compose(&["kill", primary]).await;
    compose_at(&["start"], standby).await;
    no_primary(standby).await;
    compose_at(&["start"], primary).await;
    load.makes_progress().await;
    assert_eq!(primary_and_standby().await, [primary, standby]);
    println!("{}", load.stop().await);
    the_books_agree().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "make soak runs it"]
async fn writes_continue_without_etcd() {
    let mut load = Load::start(Patience::ONE_RETRY).await;
    let before = primary_and_standby().await;
    compose(&["kill", "etcd"]).await;
    let killed = Instant::now();
    while killed.elapsed() < WITHOUT_ETCD {
        load.makes_progress().await;
    }
    compose_at(&["start"], "etcd").await;
    println!("{}", load.stop().await);
    assert_eq!(primary_and_standby().await, before);
    the_books_agree().await;
}
