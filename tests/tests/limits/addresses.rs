//! One address has so many connections and no more; a trusted proxy has as many as it wants.

use blackbox::raw::{Connection, get, local};

use crate::subject::{Kind, Subject, eventually};

/// Connections that one address may have.
const MAX: usize = 10;

/// A connection from the address with this last number, and whether it was served.
async fn connect(subject: &Subject, last: u8) -> (Connection, bool) {
    let mut connection = Connection::from(local(last), subject.address()).await;
    // Closed already, it may be that it cannot be written to.
    let sent = connection.try_send(get("/health")).await;
    let served = sent.is_ok() && connection.try_reply().await.is_ok_and(|it| it.status == 200);
    (connection, served)
}

async fn keeps_to_its_limit(kind: Kind) {
    let settings = [("MAX_CONNECTIONS_PER_ADDRESS", "10"), ("TRUSTED_PROXIES", "127.0.0.9")];
    let subject = Subject::with(kind, &settings).await;
    let mut held = Vec::new();
    for _ in 0..MAX {
        let (connection, served) = connect(&subject, 2).await;
        assert!(served);
        held.push(connection);
    }
    let (mut refused, served) = connect(&subject, 2).await;
    assert!(!served, "one more than the address may have");
    refused.ended().await;
    assert!(connect(&subject, 3).await.1, "another address");
    let mut proxied = Vec::new();
    for _ in 0..3 * MAX {
        let (connection, served) = connect(&subject, 9).await;
        assert!(served, "a trusted proxy");
        proxied.push(connection);
    }
    assert_eq!(held[0].ask(get("/health")).await.status, 200, "goes on");
    held.pop();
    eventually("a place is free again", async || connect(&subject, 2).await.1.then_some(())).await;
    let says_who = |line: &String| ["127.0.0.2", "127.0.0.9"].iter().any(|it| line.contains(it));
    assert!(!subject.process().log().iter().any(says_who), "addresses are not logged");
}

#[tokio::test]
async fn an_address_has_so_many_connections_and_no_more() {
    for kind in Kind::ALL {
        keeps_to_its_limit(kind).await;
    }
}
