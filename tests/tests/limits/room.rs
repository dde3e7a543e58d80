//! A service that has as many connections as its open files allow makes room for the next.

use std::time::Duration;

use blackbox::{
    cgroup::granted,
    raw::{Connection, get, local},
};
use tokio::time::{Instant, timeout};

use crate::{
    sockets::upgrade,
    subject::{Kind, Subject, eventually},
};

/// Open files of the service. It has fewer connections than that.
const FILES: u32 = 512;

/// Within what time a newcomer is answered.
const SOON: Duration = Duration::from_secs(1);

/// Connections that have to be closed before the test is content.
const CLOSED: usize = 20;

/// More than a millisecond, which is how exactly the service knows who has waited longest.
const APART: Duration = Duration::from_millis(3);

/// Uses a connection until some time has passed.
async fn use_for_a_moment(connection: &mut Connection) {
    let begun = Instant::now();
    while begun.elapsed() < APART {
        assert_eq!(connection.ask(get("/health")).await.status, 200);
    }
}

async fn makes_room(kind: Kind) {
    let subject = Subject::wrapped(kind, &[], |command| granted(&command, FILES, None)).await;
    let mut active = Connection::from(local(3), subject.address()).await;
    use_for_a_moment(&mut active).await;
    let mut idle: Vec<Connection> = Vec::new();
    let mut slowest = Duration::ZERO;
    let closed = |idle: &[Connection]| idle.iter().filter(|it| it.is_closed()).count();
    while closed(&idle) < CLOSED {
        assert!(idle.len() < 2 * FILES as usize, "nobody makes room");
        let begun = Instant::now();
        let mut newcomer = Connection::from(local(2), subject.address()).await;
        assert_eq!(newcomer.ask(get("/health")).await.status, 200);
        slowest = slowest.max(begun.elapsed());
        idle.push(newcomer);
        use_for_a_moment(&mut active).await;
    }
    assert!(slowest < SOON, "the slowest newcomer took {slowest:?}");
    assert!(idle.len() >= FILES as usize / 4, "there was room for {} only", idle.len());
    let order: Vec<_> = idle.iter().map(Connection::is_closed).collect();
    assert!(order.is_sorted_by(|one, next| one >= next), "the oldest go first: {order:?}");
    // The log is written by another thread.
    let warned = |lines: &[String]| {
        let says = |line: &&String| line.contains("WARN") && line.contains("a limit is reached");
        let lines: Vec<_> = lines.iter().filter(says).collect();
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
    makes_room(Kind::Authsvc).await;
}

#[tokio::test]
async fn objstore_closes_the_connection_idle_longest() {
    makes_room(Kind::Objstore).await;
}

#[tokio::test]
async fn payments_closes_the_connection_idle_longest() {
    makes_room(Kind::Payments).await;
}

#[tokio::test]
async fn open_sockets_leave_room_for_others() {
    let wrap = |command| granted(&command, FILES, None);
    let subject = Subject::wrapped(Kind::Objstore, &[], wrap).await;
    let Subject::Objstore(_, client) = &subject else { unreachable!() };
    let mut sockets = Vec::new();
    for _ in 0..FILES {
        let mut socket = Connection::from(local(2), subject.address()).await;
        // It may be refused, or closed for another.
        let sent = socket.try_send(upgrade(client.token())).await;
        if sent.is_err() || timeout(SOON, socket.try_reply()).await.is_err() {
            break;
        }
        sockets.push(socket);
    }
    assert!(sockets.len() >= FILES as usize / 4, "there was room for {} only", sockets.len());
    let mut newcomer = Connection::from(local(3), subject.address()).await;
    let health = timeout(SOON, newcomer.ask(get("/health"))).await;
    assert_eq!(health.expect("is answered soon").status, 200);
}
