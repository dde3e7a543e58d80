//! The limit of connections per address, which does not apply to trusted proxies.

use std::time::Duration;

use blackbox::raw::{Connection, get, local};
use tokio::time::sleep;

use crate::{
    sockets::upgrade,
    subject::{Kind, Subject, eventually},
};

/// More than a millisecond, the resolution of the service's idle times.
const APART: Duration = Duration::from_millis(3);

/// The limit of connections per address.
const MAX: usize = 10;

/// Sockets that are opened just before another connection.
const ROUNDS: usize = 30;

/// Connects from 127.0.0.`last`. Returns the connection and whether it was served.
async fn connect(subject: &Subject, last: u8) -> (Connection, bool) {
    let mut connection = Connection::from(local(last), subject.address()).await;
    // The write fails if the service has closed the connection already.
    let sent = connection.try_send(get("/health")).await;
    let served =
        sent.is_ok() && connection.try_reply().await.is_ok_and(|reply| reply.status == 200);
    (connection, served)
}

async fn replaces_idle_connections(kind: Kind) {
    let settings = [("MAX_CONNECTIONS_PER_ADDRESS", "10"), ("TRUSTED_PROXIES", "127.0.0.9")];
    let subject = Subject::with(kind, &settings).await;
    let mut held = Vec::new();
    for _ in 0..MAX {
        let (connection, served) = connect(&subject, 2).await;
        assert!(served);
        held.push(connection);
        sleep(APART).await;
    }
    // It is no longer the one that has been idle longest.
    assert_eq!(held[0].ask(get("/health")).await.status, 200);
    let mut newcomers = Vec::new();
    for oldest in 1..4 {
        let (connection, served) = connect(&subject, 2).await;
        assert!(served, "the address is full, but {oldest} is idle");
        newcomers.push(connection);
        held[oldest].ended().await;
        let closed = held.iter().filter(|connection| connection.is_closed()).count();
        assert_eq!(closed, oldest, "more than the one idle longest is closed");
    }
    assert!(connect(&subject, 3).await.1, "another address");
    let mut proxied = Vec::new();
    for _ in 0..3 * MAX {
        let (connection, served) = connect(&subject, 9).await;
        assert!(served, "a trusted proxy");
        proxied.push(connection);
    }
    for connection in held.iter_mut().take(1).chain(&mut newcomers) {
        assert_eq!(connection.ask(get("/health")).await.status, 200, "a held connection");
    }
    if kind != Kind::Authsvc {
        let name = r#"limit_refusals_total{limit="connections_per_address"}"#;
        assert_eq!(subject.metric(name).await, Some(3.0));
    }
    let names_address =
        |line: &String| ["127.0.0.2", "127.0.0.9"].iter().any(|ip| line.contains(ip));
    assert!(!subject.process().log().iter().any(names_address), "addresses are not logged");
}

#[tokio::test]
async fn a_full_address_loses_its_connection_idle_longest() {
    for kind in Kind::ALL {
        replaces_idle_connections(kind).await;
    }
}

#[tokio::test]
async fn a_full_address_without_idle_connections_is_refused() {
    let subject = Subject::with(Kind::Objstore, &[("MAX_CONNECTIONS_PER_ADDRESS", "10")]).await;
    let Subject::Objstore(_, client) = &subject else { unreachable!() };
    let open = async || {
        let mut socket = Connection::from(local(2), subject.address()).await;
        assert_eq!(socket.ask(upgrade(client.token())).await.status, 101);
        socket
    };
    let mut sockets = Vec::new();
    for _ in 1..MAX {
        sockets.push(open().await);
    }
    // The last socket is not idle from its first byte on.
    for _ in 0..ROUNDS {
        let last = open().await;
        let (mut refused, served) = connect(&subject, 2).await;
        assert!(!served, "one connection more than the limit");
        refused.ended().await;
        assert!(!last.is_closed(), "the last socket is closed");
        drop(last);
        eventually("a closed connection frees its place", async || {
            connect(&subject, 2).await.1.then_some(())
        })
        .await;
    }
    assert!(sockets.iter().all(|socket| !socket.is_closed()), "a socket is closed");
    let _last = open().await;
    assert!(connect(&subject, 3).await.1, "another address");
}
