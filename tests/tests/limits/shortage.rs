//! Changes while slow clients hold all the memory for them, and watches that fill theirs.

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

/// The memory limit of a service whose memory for watches is filled: an eighth is for them.
const SMALL_MEMORY: u64 = 96 * 1024 * 1024;

/// Bytes that a watch with the longest parts of a key takes at least.
const LONGEST: u64 = 3 * 512 + 256;

fn large(key: &Key) -> Object {
    Object::new(key, format!(r#"{{"x":"{}"}}"#, "x".repeat(1_000_000)))
}

/// `None` without a group: the limits then depend on the machine, and may be too high to reach.
async fn service_within(memory: u64) -> Option<(Service, Group)> {
    let group = Group::new(memory)?;
    let idle = Stopped::new(&[]);
    let command = granted(&idle.command(), FILES, Some(&group));
    Some((idle.start_with(command).await, group))
}

/// A service whose memory for changes is full, the connections that hold it, and a client.
struct Full {
    deaf: Vec<TcpStream>,
    client: Client,
    _service: Service,
    _group: Group,
}

impl Full {
    async fn new(listening: Listening) -> Option<Self> {
        let (service, group) = service_within(MEMORY).await?;
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_without_memory_for_its_watches_connects_when_there_is_some() {
    let Some((service, _group)) = service_within(SMALL_MEMORY).await else { return };
    let clients = [service.client().await, service.client().await];
    let mut sockets = [clients[0].socket().await, clients[1].socket().await];
    // Together these are more than fit.
    let count = SMALL_MEMORY / 8 / LONGEST * 6 / 10;
    let pattern = |number| Key::new(&"t".repeat(512), &"n".repeat(512), &format!("{number:0512}"));
    for client in &clients {
        for begin in (0..count).step_by(64) {
            let patterns: Vec<_> = (begin..count.min(begin + 64)).map(pattern).collect();
            join_all(patterns.iter().map(|pattern| client.watch(pattern))).await;
        }
    }
    assert_eq!(sockets[1].closed().await, 1011, "the socket is closed for lack of memory");
    clients[1].try_socket("").await.unwrap_err().refused(500, "not_upgraded");
    let stranger = service.client().await;
    let _open = stranger.socket().await;
    let object = Object::new(&pattern(count - 1), "{}");
    stranger.set(&object).await;
    assert_eq!(sockets[0].next_push().await, object, "the other client does not suffer");

    let [first, _] = sockets;
    first.close().await;
    let pushed = eventually("the push comes", async || {
        clients[1].try_socket("").await.ok()?.next_push_or_end().await
    });
    assert_eq!(pushed.await, object);
}
