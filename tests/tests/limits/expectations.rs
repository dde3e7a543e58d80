//! `Expect: 100-continue`: the service requests a body only after its other checks have passed.

use blackbox::raw::{Connection, head};

use crate::subject::{Exchange, Kind, Subject};

const EXPECT: &str = "Expect: 100-continue\r\n";

/// Bytes of a body above the limit of every route of every service.
const TOO_LONG: usize = 10 * 1024 * 1024;

/// Sends the head of the request with `Expect`. Returns the first status.
async fn announce(exchange: &Exchange, headers: &str, length: usize) -> (Connection, u16) {
    let mut connection = Connection::open(exchange.to).await;
    let headers = format!("{headers}{EXPECT}");
    let first = connection.ask(head(exchange.path, &headers, length)).await;
    (connection, first.status)
}

#[tokio::test]
async fn a_valid_request_gets_100_continue() {
    for kind in Kind::ALL {
        let subject = Subject::with(kind, &[]).await;
        let exchange = subject.ordinary();
        let length = exchange.body.len();
        let (mut connection, first) = announce(&exchange, &exchange.headers, length).await;
        assert_eq!(first, 100, "{kind:?}");
        let answer = connection.ask(&exchange.body).await;
        assert_eq!(answer.status, exchange.status, "{kind:?}: {answer:?}");
    }
}

#[tokio::test]
async fn a_body_above_the_limit_gets_no_100_continue() {
    for (kind, rejection) in [(Kind::Authsvc, 400), (Kind::Objstore, 413), (Kind::Payments, 413)] {
        let subject = Subject::with(kind, &[]).await;
        let exchange = subject.ordinary();
        let (mut connection, first) = announce(&exchange, &exchange.headers, TOO_LONG).await;
        assert_eq!(first, rejection, "{kind:?}");
        connection.ended().await;
    }
}

#[tokio::test]
async fn an_unauthenticated_request_gets_no_100_continue() {
    for (kind, path) in [(Kind::Objstore, "/set"), (Kind::Payments, "/merchants")] {
        let subject = Subject::with(kind, &[]).await;
        let exchange = Exchange { path, to: subject.address(), ..subject.ordinary() };
        let (mut connection, first) = announce(&exchange, "", 100).await;
        assert_eq!(first, 401, "{kind:?}");
        connection.ended().await;
    }
}
