//! A socket that pings without end and never reads.

use std::time::Duration;

use blackbox::objstore::{Object, Service};
use tokio::time::sleep;

use crate::sockets::{deaf_socket, ping};

/// Bytes by which the service may grow meanwhile.
const GROWTH: u64 = 16 * 1024 * 1024;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_socket_that_pings_and_never_reads_costs_little() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let socket = deaf_socket(service.process().address(), client.token()).await;
    let resident = || service.process().resident().expect("the service runs");
    let (before, mut most) = (resident(), 0);
    tokio::select! {
        () = ping(socket, Duration::from_secs(5)) => {}
        () = async { loop { most = most.max(resident()); sleep(Duration::from_millis(20)).await } } => {}
    }
    assert!(most.saturating_sub(before) < GROWTH, "from {before} to {most} bytes");
    let object = Object::fresh();
    client.set(&object).await;
    assert_eq!(client.get(&object.key).await, object);
}
