//! A service closes connections that are idle for a minute, and idle ones for new ones if its open
//! files are used up.

use std::time::Duration;

use blackbox::{
    cgroup::granted,
    raw::{Connection, get, local},
};
use tokio::time::{Instant, sleep, timeout};

use crate::{
    sockets::Listening,
    subject::{Kind, Subject, eventually},
};

/// The limit of open files of the service. Its limit of connections is lower.
const FILES: u32 = 512;

/// Limit for the answer to a new connection. One that waits until another is closed, waits a minute.
const SOON: Duration = Duration::from_secs(20);

/// Interval of the bytes of a slow client.
const PACE: Duration = Duration::from_secs(1);

/// Closed connections after which the test ends.
const CLOSED: usize = 20;

/// More than a millisecond, the resolution of the service's idle times.
const APART: Duration = Duration::from_millis(3);

/// A little less than the time that a client has for the head of a request.
const ALMOST_A_MINUTE: Duration = Duration::from_secs(57);

/// Uses a connection for the duration [`APART`].
async fn use_briefly(connection: &mut Connection) {
    let begun = Instant::now();
    while begun.elapsed() < APART {
        assert_eq!(connection.ask(get("/health")).await.status, 200);
    }
}

async fn closes_idle_connections(kind: Kind) {
    let subject = Subject::wrapped(kind, &[], |command| granted(&command, FILES, None)).await;
    let mut active = Connection::from(local(3), subject.address()).await;
    use_briefly(&mut active).await;
    let mut idle: Vec<Connection> = Vec::new();
    let mut slowest = Duration::ZERO;
    let closed =
        |idle: &[Connection]| idle.iter().filter(|connection| connection.is_closed()).count();
    while closed(&idle) < CLOSED {
        assert!(idle.len() < 2 * FILES as usize, "no idle connection is closed");
        let begun = Instant::now();
        let mut newcomer = Connection::from(local(2), subject.address()).await;
        assert_eq!(newcomer.ask(get("/health")).await.status, 200);
        slowest = slowest.max(begun.elapsed());
        idle.push(newcomer);
        use_briefly(&mut active).await;
    }
    assert!(slowest < SOON, "the slowest newcomer took {slowest:?}");
    assert!(idle.len() >= FILES as usize / 4, "only {} connections were accepted", idle.len());
    let order: Vec<_> = idle.iter().map(Connection::is_closed).collect();
    assert!(
        order.is_sorted_by(|one, next| one >= next),
        "the connections idle longest are not closed first: {order:?}"
    );
    // The service logs on another thread.
    let warned = |lines: &[String]| {
        let matches = |line: &&String| line.contains("WARN") && line.contains("a limit is reached");
        let lines: Vec<_> = lines.iter().filter(matches).collect();
        assert!(lines.iter().all(|line| line.contains("connections")), "{lines:?}");
        lines.len()
    };
    let log = eventually("a warning", async || {
        let log = subject.process().log();
        (warned(&log) > 0).then_some(log)
    })
    .await;
    assert_eq!(warned(&log), 1);
    subject.ordinary().run().await;
}

#[tokio::test]
async fn authsvc_closes_the_connection_idle_longest() {
    closes_idle_connections(Kind::Authsvc).await;
}

#[tokio::test]
async fn objstore_closes_the_connection_idle_longest() {
    closes_idle_connections(Kind::Objstore).await;
}

#[tokio::test]
async fn payments_closes_the_connection_idle_longest() {
    closes_idle_connections(Kind::Payments).await;
}

#[tokio::test]
async fn a_connection_without_a_complete_head_is_closed_after_a_minute() {
    let subject = Subject::with(Kind::Authsvc, &[]).await;
    let open = || Connection::open(subject.address());
    let (mut used, mut slow, mut silent, mut answered) =
        (open().await, open().await, open().await, open().await);
    slow.send("GET /health HTTP/1.1\r\nX-Slow: ").await;
    assert_eq!(answered.ask(get("/health")).await.status, 200);
    let begun = Instant::now();
    while begun.elapsed() < ALMOST_A_MINUTE {
        sleep(PACE).await;
        slow.send("x").await;
        assert_eq!(used.ask(get("/health")).await.status, 200);
        let waiting = [&slow, &silent, &answered];
        assert_eq!(waiting.map(Connection::is_closed), [false; 3], "after {:?}", begun.elapsed());
    }
    for waiting in [&mut slow, &mut silent, &mut answered] {
        waiting.ended().await;
    }
    assert!(begun.elapsed() >= ALMOST_A_MINUTE + PACE, "closed after {:?}", begun.elapsed());
    assert_eq!(used.ask(get("/health")).await.status, 200);
}

#[tokio::test]
async fn open_sockets_leave_connections_for_others() {
    leaves_connections_for_others(Listening::Socket).await;
}

#[tokio::test]
async fn open_streams_leave_connections_for_others() {
    leaves_connections_for_others(Listening::Stream).await;
}

async fn leaves_connections_for_others(listening: Listening) {
    let wrap = |command| granted(&command, FILES, None);
    let subject = Subject::wrapped(Kind::Objstore, &[], wrap).await;
    let Subject::Objstore(_, client) = &subject else { unreachable!() };
    let (request, accepted) = listening.request(client.token());
    // The specification has no other status for a socket that cannot be opened.
    let refused = if accepted == 101 { 500 } else { 503 };
    let mut open = Vec::new();
    for _ in 0..FILES {
        let mut connection = Connection::from(local(2), subject.address()).await;
        // The service may reject it, or close it for another connection.
        match timeout(SOON, connection.try_ask(&request)).await {
            Ok(Ok(reply)) if reply.status == accepted => open.push(connection),
            Ok(Ok(reply)) => {
                assert_eq!((reply.status, reply.header("retry-after")), (refused, Some("1")));
                break;
            }
            _ => break,
        }
    }
    assert!(open.len() >= FILES as usize / 4, "only {} connections were accepted", open.len());
    let mut newcomer = Connection::from(local(3), subject.address()).await;
    let health = timeout(SOON, newcomer.ask(get("/health"))).await;
    assert_eq!(health.expect("answered in time").status, 200);
}
