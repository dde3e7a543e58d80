//! SIGTERM under load, and who else wants the directory.

use std::time::{Duration, Instant};

use blackbox::{
    objstore::{Object, Service},
    process::complaint,
    soak::{rounds, seed},
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};

use crate::{
    crew::Crew,
    database::{Database, FILE},
};

/// The time to drain that is set.
const DRAIN: Duration = Duration::from_secs(5);

/// What ending may take beside it, on a busy machine.
const SLACK: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_is_told_to_stop_under_load_ends_well_and_in_time_and_keeps_what_it_answered()
 {
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
        let told = Instant::now();
        assert_eq!(socket.closed().await, 1001);
        socket.agree().await;
        let place = service.ended().await;
        let took = told.elapsed();
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
async fn a_second_process_on_the_same_directory_is_refused_with_one_line_and_disturbs_nobody() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let mut socket = client.socket().await;
    for _ in 0..3 {
        let said = complaint(service.place().command()).await;
        let directory = service.place().data().to_str().unwrap();
        assert!(said.contains(directory) && said.contains("in use"), "{said}");
    }
    client.set(&object).await;
    assert_eq!(socket.next_push().await, object);
    let service = service.kill().await.start().await;
    assert_eq!(
        client.at(&service).get(&object.key).await,
        object,
        "the lock went with the process"
    );
}
