//! SIGTERM under load, and a second process on the same data directory.

use std::time::{Duration, Instant};

use blackbox::{
    objstore::{Object, Service},
    process::failure_line,
    soak::{rounds, seed},
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};

use crate::{
    database::{Database, FILE},
    writers::Crew,
};

/// The drain timeout in the settings of the test.
const DRAIN: Duration = Duration::from_secs(5);

/// Extra time for the end of the process, on a busy machine.
const SLACK: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_under_load_ends_in_time_and_loses_nothing() {
    let seed = seed();
    println!("SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let mut service = Service::with(&[("DRAIN_TIMEOUT", "5s")]).await;
    let client = service.client().await;
    let mut crew = Crew::new(8, rng.random());
    for _ in 0..rounds(3, 100) {
        let client = client.at(&service);
        let mut socket = client.socket().await;
        let mut shift = crew.start(&service, &client);
        shift.answered(rng.random_range(50..300)).await;
        service.process().terminate().await;
        let signalled = Instant::now();
        assert_eq!(socket.closed().await, 1001);
        socket.agree().await;
        let place = service.ended().await;
        let took = signalled.elapsed();
        assert!(took < DRAIN + SLACK, "it took {took:?}");
        crew = shift.ended().await;
        let database = Database::read(&place.data().join(FILE));
        database.is_whole();
        database.holds(&crew.ledger());
        service = place.start().await;
        crew.verify(&service, &client.at(&service)).await;
    }
}

#[tokio::test]
async fn a_second_process_on_a_directory_is_rejected_without_disturbance() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let mut socket = client.socket().await;
    for _ in 0..3 {
        let output = failure_line(service.data().command()).await;
        let directory = service.data().data().to_str().unwrap();
        assert!(output.contains(directory) && output.contains("in use"), "{output}");
    }
    client.set(&object).await;
    assert_eq!(socket.next_push().await, object);
    let service = service.kill().await.start().await;
    assert_eq!(
        client.at(&service).get(&object.key).await,
        object,
        "the lock ends with the process"
    );
}
