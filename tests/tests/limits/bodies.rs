//! The limit of memory for all request bodies together.

use blackbox::raw::{Connection, Reply, head};
use tokio::task::JoinSet;

use crate::subject::{Exchange, Kind, Subject, eventually, scrape};

/// Bytes of a long body.
const LONG: usize = 60_000;

/// Unfinished bodies added in each step, until the memory is full.
const HOLDERS: usize = 10;

/// More unfinished bodies than fit into one mebibyte.
const ENOUGH: usize = 100;

/// Sends all but one byte of a long body. Any answer has to be that the memory is full.
async fn hold(kind: Kind, exchange: Exchange) {
    let mut connection = Connection::open(exchange.to).await;
    let request = head(exchange.path, &exchange.headers, LONG) + &" ".repeat(LONG - 1);
    connection.send(request).await;
    is_overloaded(kind, &connection.reply().await);
    connection.ended().await;
}

/// Sends a long body and reads the answer.
async fn send_long(subject: &Subject) -> (Connection, Reply) {
    let long = subject.ordinary().padded(LONG);
    let mut connection = Connection::open(long.to).await;
    // The service may answer, and close the connection, before it has read the whole body.
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

/// Bytes held by bodies, as in the metrics.
async fn held(subject: &Subject) -> f64 {
    let held = subject.metric(r#"limit_used{limit="body_memory"}"#).await;
    held.expect("the limit is in the metrics")
}

async fn rejects_long_bodies_while_memory_is_short(kind: Kind) {
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
    while let Some(rejected) = holders.try_join_next() {
        rejected.unwrap();
    }
    assert!(!holders.is_empty(), "no unfinished body holds memory");
    drop(holders);
    eventually("memory is free again", async || {
        let (_, reply) = send_long(&subject).await;
        (reply.status == served).then_some(())
    })
    .await;
    if kind != Kind::Authsvc {
        eventually("all memory is released", async || (held(&subject).await == 0.0).then_some(()))
            .await;
    }
}

#[tokio::test]
async fn authsvc_rejects_long_bodies_while_memory_is_short() {
    rejects_long_bodies_while_memory_is_short(Kind::Authsvc).await;
}

#[tokio::test]
async fn objstore_rejects_long_bodies_while_memory_is_short() {
    rejects_long_bodies_while_memory_is_short(Kind::Objstore).await;
}

#[tokio::test]
async fn payments_rejects_long_bodies_while_memory_is_short() {
    rejects_long_bodies_while_memory_is_short(Kind::Payments).await;
}
