//! The limit of connections per address, which does not apply to trusted proxies.

use blackbox::raw::{Connection, get, local};

use crate::subject::{Kind, Subject, eventually};

/// The limit of connections per address.
const MAX: usize = 10;

/// Connects from 127.0.0.`last`. Returns the connection and whether it was served.
async fn connect(subject: &Subject, last: u8) -> (Connection, bool) {
    let mut connection = Connection::from(local(last), subject.address()).await;
    // The write fails if the service has closed the connection already.
    let sent = connection.try_send(get("/health")).await;
    let served =
        sent.is_ok() && connection.try_reply().await.is_ok_and(|reply| reply.status == 200);
    (connection, served)
}

async fn limits_connections(kind: Kind) {
    let settings = [("MAX_CONNECTIONS_PER_ADDRESS", "10"), ("TRUSTED_PROXIES", "127.0.0.9")];
    let subject = Subject::with(kind, &settings).await;
    let mut held = Vec::new();
    for _ in 0..MAX {
        let (connection, served) = connect(&subject, 2).await;
        assert!(served);
        held.push(connection);
    }
    let (mut rejected, served) = connect(&subject, 2).await;
    assert!(!served, "one connection more than the limit");
    rejected.ended().await;
    assert!(connect(&subject, 3).await.1, "another address");
    let mut proxied = Vec::new();
    for _ in 0..3 * MAX {
        let (connection, served) = connect(&subject, 9).await;
        assert!(served, "a trusted proxy");
        proxied.push(connection);
    }
    assert_eq!(held[0].ask(get("/health")).await.status, 200, "held connections are still served");
    held.pop();
    eventually("a closed connection frees its place", async || {
        connect(&subject, 2).await.1.then_some(())
    })
    .await;
    let names_address =
        |line: &String| ["127.0.0.2", "127.0.0.9"].iter().any(|ip| line.contains(ip));
    assert!(!subject.process().log().iter().any(names_address), "addresses are not logged");
}

#[tokio::test]
async fn connections_per_address_are_limited() {
    for kind in Kind::ALL {
        limits_connections(kind).await;
    }
}
