//! Kills and replaces replicas under load.

use crate::{
    compose::{REPLICAS, compose, compose_at, the_books_agree},
    load::Load,
    worker::Patience,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_replica_costs_at_most_one_retry() {
    let mut load = Load::start(Patience::ONE_RETRY).await;
    for replicas in REPLICAS {
        compose(&["kill", replicas[0]]).await;
        load.makes_progress().await;
        compose_at(&["start"], replicas[0]).await;
    }
    println!("{}", load.stop().await);
    the_books_agree().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replacing_containers_one_by_one_costs_at_most_one_retry() {
    let mut load = Load::start(Patience::ONE_RETRY).await;
    for replica in REPLICAS.concat() {
        compose_at(&["up", "--detach", "--no-deps", "--force-recreate"], replica).await;
        load.makes_progress().await;
    }
    println!("{}", load.stop().await);
    the_books_agree().await;
}
