//! Kills and replaces replicas, and restarts the database, under load.

use crate::{
    compose::{REPLICAS, compose, compose_at},
    load::Load,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_replica_costs_at_most_one_retry() {
    let mut load = Load::start().await;
    for replicas in REPLICAS {
        compose(&["kill", replicas[0]]).await;
        load.makes_progress().await;
        compose_at(&["start"], replicas[0]).await;
    }
    println!("{}", load.stop().await);
    the_books_agree().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restarted_database_costs_at_most_one_retry() {
    let mut load = Load::start().await;
    compose_at(&["restart"], "postgres").await;
    load.makes_progress().await;
    println!("{}", load.stop().await);
    the_books_agree().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replacing_containers_one_by_one_costs_at_most_one_retry() {
    let mut load = Load::start().await;
    for replica in REPLICAS.concat() {
        compose_at(&["up", "--detach", "--no-deps", "--force-recreate"], replica).await;
        load.makes_progress().await;
    }
    println!("{}", load.stop().await);
    the_books_agree().await;
}

async fn the_books_agree() {
    compose(&["run", "--rm", "--no-deps", "-T", "payments-1", "check"]).await;
}
