//! Replicas that are killed and replaced, and a database that restarts, under load.

use crate::{
    compose::{REPLICAS, compose, compose_at},
    load::Load,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_is_killed_costs_a_request_one_repetition_at_most() {
    let mut load = Load::start().await;
    for replicas in REPLICAS {
        compose(&["kill", replicas[0]]).await;
        load.goes_on().await;
        compose_at(&["start"], replicas[0]).await;
    }
    println!("{}", load.stop().await);
    the_books_agree().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_restarted_costs_a_request_one_repetition_at_most() {
    let mut load = Load::start().await;
    compose_at(&["restart"], "postgres").await;
    load.goes_on().await;
    println!("{}", load.stop().await);
    the_books_agree().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replacing_one_container_after_another_costs_a_request_one_repetition_at_most() {
    let mut load = Load::start().await;
    for replica in REPLICAS.concat() {
        compose_at(&["up", "--detach", "--no-deps", "--force-recreate"], replica).await;
        load.goes_on().await;
    }
    println!("{}", load.stop().await);
    the_books_agree().await;
}

async fn the_books_agree() {
    compose(&["run", "--rm", "--no-deps", "-T", "payments-1", "check"]).await;
}
