//! Pushes while slow clients hold all the memory for sockets.

use blackbox::{
    cgroup::{Group, granted},
    objstore::{Key, Object, Stopped},
};
use futures_util::future::join_all;

use crate::{sockets::deaf_socket, subject::eventually};

/// The memory limit of the service. A quarter of it is for unsent pushes.
const MEMORY: u64 = 128 * 1024 * 1024;

/// Sockets that are never read. Each gets a push of nearly one mebibyte, together more than that
/// quarter.
const DEAF: usize = 60;

const FILES: u32 = 4096;

fn large(key: &Key) -> Object {
    Object::new(key, format!(r#"{{"x":"{}"}}"#, "x".repeat(1_000_000)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_push_without_memory_is_delivered_on_the_next_socket() {
    // Without a group the limit depends on the machine, and may be too high to reach.
    let Some(group) = Group::new(MEMORY) else { return };
    let idle = Stopped::new(&[]);
    let command = granted(&idle.command(), FILES, Some(&group));
    let service = idle.start_with(command).await;
    let (slow, client) = (service.client().await, service.client().await);
    let (filler, object) = (large(&Key::fresh()), large(&Key::fresh()));
    slow.watch(&filler.key).await;
    client.watch(&object.key).await;
    let address = service.process().address();
    let deaf = join_all((0..DEAF).map(|_| deaf_socket(address, slow.token()))).await;
    slow.set(&filler).await;
    let full = r#"objstore_limit_refusals_total{limit="socket_memory"} 0"#;
    eventually("the memory is full", async || {
        let metrics = slow.fetch("/metrics").await;
        (!metrics.text().lines().any(|line| line == full)).then_some(())
    })
    .await;

    let mut socket = client.socket().await;
    client.set(&object).await;
    assert_eq!(socket.closed().await, 1013, "the socket is closed for lack of memory");
    drop(deaf);
    let pushed =
        eventually("the push comes", async || client.socket().await.next_push_or_end().await);
    assert_eq!(pushed.await, object);
}
