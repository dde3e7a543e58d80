//! Changes while slow clients hold all the memory for them.

use blackbox::{
    cgroup::{Group, granted},
    objstore::{Change, Client, Key, Object, Part, Service, Stopped},
};
use futures_util::future::join_all;
use tokio::net::TcpStream;

use crate::{sockets::Listening, subject::eventually};

/// The memory limit of the service. A quarter of it is for unsent pushes.
const MEMORY: u64 = 128 * 1024 * 1024;

/// Connections that are never read. Each gets a change of nearly one mebibyte, together more than that
/// quarter.
const DEAF: usize = 60;

const FILES: u32 = 4096;

fn large(key: &Key) -> Object {
    Object::new(key, format!(r#"{{"x":"{}"}}"#, "x".repeat(1_000_000)))
}

/// A service whose memory for changes is full, the connections that hold it, and a client.
struct Full {
    deaf: Vec<TcpStream>,
    client: Client,
    _service: Service,
    _group: Group,
}

impl Full {
    /// `None` without a group: the limit then depends on the machine, and may be too high to reach.
    async fn new(listening: Listening) -> Option<Self> {
        let group = Group::new(MEMORY)?;
        let idle = Stopped::new(&[]);
        let command = granted(&idle.command(), FILES, Some(&group));
        let service = idle.start_with(command).await;
        let (slow, client) = (service.client().await, service.client().await);
        let filler = large(&Key::fresh());
        slow.watch(&filler.key).await;
        let address = service.process().address();
        let deaf = join_all((0..DEAF).map(|_| listening.deaf(address, slow.token()))).await;
        let full = r#"objstore_limit_refusals_total{limit="socket_memory"} 0"#;
        // The kernel takes the first changes of a stream.
        eventually("the memory is full", async || {
            slow.set(&filler).await;
            let metrics = slow.fetch("/metrics").await;
            (!metrics.text().lines().any(|line| line == full)).then_some(())
        })
        .await;
        Some(Self { deaf, client, _service: service, _group: group })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_push_without_memory_is_delivered_on_the_next_socket() {
    let Some(Full { deaf, client, .. }) = &mut Full::new(Listening::Socket).await else { return };
    let object = large(&Key::fresh());
    client.watch(&object.key).await;
    let mut socket = client.socket().await;
    client.set(&object).await;
    assert_eq!(socket.closed().await, 1013, "the socket is closed for lack of memory");
    deaf.clear();
    let pushed =
        eventually("the push comes", async || client.socket().await.next_push_or_end().await);
    assert_eq!(pushed.await, object);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_without_memory_is_delivered_on_the_next_stream() {
    let Some(Full { deaf, client, .. }) = &mut Full::new(Listening::Stream).await else { return };
    let object = large(&Key::fresh());
    let mut stream = client.stream(&object.key, "now").await;
    let Part { offset, .. } = stream.next().await.unwrap();
    client.set(&object).await;
    assert_eq!(stream.next().await, None, "the stream ends for lack of memory");
    deaf.clear();
    let change = eventually("the change comes", async || {
        let mut stream = client.stream(&object.key, &offset).await;
        stream.next().await.and_then(|part| part.changes.into_iter().next())
    });
    assert!(matches!(change.await, Change::Update(_, found) if found == object));
}
