//! SIGTERM under load, and a second process on the same data directory.

use std::time::{Duration, Instant};

use blackbox::{
    objstore::{Object, Service},
    process::failure_line,
    raw::{self, Connection, local},
    soak::{rounds, seed},
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use uuid::Uuid;

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

/// A proxy sends a POST only once. So a stop must answer all that a proxy may have sent: on a
/// connection that nobody has accepted yet, and on one that was idle until now.
#[tokio::test]
async fn sigterm_answers_what_a_proxy_has_sent() {
    let post = raw::post("/register", "", &format!(r#"{{"ID":"{}"}}"#, Uuid::new_v4()));
    // A proxy has a second to use an idle connection: a busy machine may need several attempts.
    for _ in 0..20 {
        let service = Service::with(&[("TRUSTED_PROXIES", "127.0.0.1")]).await;
        let address = service.process().address();
        let mut direct = Connection::from(local(2), address).await;
        let mut idle = Connection::open(address).await;
        assert_eq!(idle.ask(&post).await.status, 200);
        service.process().signal("STOP").await;
        let mut queued = Connection::open(address).await;
        queued.send(&post).await;
        service.process().terminate().await;
        service.process().signal("CONT").await;
        assert_eq!(queued.reply().await.status, 200);
        direct.ended().await;
        let last = idle.try_ask(&post).await;
        service.ended().await;
        if let Ok(last) = last {
            assert_eq!((last.status, last.header("connection")), (200, Some("close")), "{last:?}");
            return;
        }
    }
    panic!("no idle connection was kept");
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
