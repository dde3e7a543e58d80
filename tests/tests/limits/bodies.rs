//! The memory that request bodies hold together.

use blackbox::raw::{Connection, Reply, head};
use tokio::task::JoinSet;

use crate::subject::{Exchange, Kind, Subject, eventually, scrape};

/// A body that is long.
const LONG: usize = 60_000;

/// Unfinished bodies that are added as long as there is memory.
const HOLDERS: usize = 10;

/// More of them than fit into a mebibyte.
const ENOUGH: usize = 100;

/// Sends all but one byte of a long body, and waits for an answer, which is that there is no
/// memory.
async fn hold(kind: Kind, exchange: Exchange) {
    let mut connection = Connection::open(exchange.to).await;
    let request = head(exchange.path, &exchange.headers, LONG) + &" ".repeat(LONG - 1);
    connection.send(request).await;
    is_overloaded(kind, &connection.reply().await);
    connection.ended().await;
}

/// The answer to a long body.
async fn send_long(subject: &Subject) -> (Connection, Reply) {
    let long = subject.ordinary().padded(LONG);
    let mut connection = Connection::open(long.to).await;
    // The service may answer before it has read all.
    let _ = connection.try_send(long.request()).await;
    let reply = connection.reply().await;
    (connection, reply)
}

fn is_overloaded(kind: Kind, reply: &Reply) {
    assert_eq!(reply.status, 503, "{kind:?}: {reply:?}");
    assert_eq!(reply.header("retry-after"), Some("1"), "{kind:?}: {reply:?}");
    assert_eq!(reply.header("connection"), Some("close"), "{kind:?}: {reply:?}");
    let body: serde_json::Value = serde_json::from_str(&reply.body).unwrap();
    match kind {
        Kind::Authsvc => assert_eq!(body["status"], false, "{reply:?}"),
        Kind::Objstore | Kind::Payments => assert_eq!(body["error"], "overloaded", "{reply:?}"),
    }
}

/// Bytes that bodies hold, as the service counts them.
async fn held(subject: &Subject) -> f64 {
    let held = subject.metric(r#"limit_used{limit="body_memory"}"#).await;
    held.expect("the limit is in the metrics")
}

async fn refuses_long_bodies_while_memory_is_short(kind: Kind) {
    let subject = Subject::with(kind, &[("BODY_MEMORY", "1MiB")]).await;
    let served = subject.ordinary().status;
    let mut holders = JoinSet::new();
    let (mut connection, reply) = loop {
        for _ in 0..HOLDERS {
            holders.spawn(hold(kind, subject.ordinary()));
        }
        let (connection, reply) = send_long(&subject).await;
        if reply.status != served {
            break (connection, reply);
        }
        assert!(holders.len() < ENOUGH, "there is no limit");
    };
    is_overloaded(kind, &reply);
    connection.ended().await;
    subject.ordinary().run().await;
    if let Subject::Authsvc(site, _) = &subject {
        let overloaded = scrape(site).await.count("/errorsByType/OverloadError");
        assert!(overloaded > 0, "{overloaded}");
    } else {
        assert!(held(&subject).await > 0.0);
    }
    while let Some(refused) = holders.try_join_next() {
        refused.unwrap();
    }
    assert!(!holders.is_empty(), "some of them hold the memory");
    drop(holders);
    eventually("there is memory again", async || {
        let (_, reply) = send_long(&subject).await;
        (reply.status == served).then_some(())
    })
    .await;
    if kind != Kind::Authsvc {
        eventually("all is given back", async || (held(&subject).await == 0.0).then_some(())).await;
    }
}

#[tokio::test]
async fn authsvc_refuses_long_bodies_while_memory_is_short() {
    refuses_long_bodies_while_memory_is_short(Kind::Authsvc).await;
}

#[tokio::test]
async fn objstore_refuses_long_bodies_while_memory_is_short() {
    refuses_long_bodies_while_memory_is_short(Kind::Objstore).await;
}

#[tokio::test]
async fn payments_refuses_long_bodies_while_memory_is_short() {
    refuses_long_bodies_while_memory_is_short(Kind::Payments).await;
}
