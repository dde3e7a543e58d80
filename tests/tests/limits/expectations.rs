//! `Expect: 100-continue`: a body is asked for once it is known to be wanted.

use blackbox::raw::{Connection, head};

use crate::subject::{Exchange, Kind, Subject};

const EXPECT: &str = "Expect: 100-continue\r\n";

/// Too long for every route of every service.
const TOO_LONG: usize = 10 * 1024 * 1024;

/// The request, announced.
async fn announce(exchange: &Exchange, headers: &str, length: usize) -> (Connection, u16) {
    let mut connection = Connection::open(exchange.to).await;
    let headers = format!("{headers}{EXPECT}");
    let first = connection.ask(head(exchange.path, &headers, length)).await;
    (connection, first.status)
}

#[tokio::test]
async fn a_body_is_asked_for_when_it_is_wanted() {
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
async fn a_body_that_is_too_long_is_not_asked_for() {
    for (kind, refusal) in [(Kind::Authsvc, 400), (Kind::Objstore, 413), (Kind::Payments, 413)] {
        let subject = Subject::with(kind, &[]).await;
        let exchange = subject.ordinary();
        let (mut connection, first) = announce(&exchange, &exchange.headers, TOO_LONG).await;
        assert_eq!(first, refusal, "{kind:?}");
        connection.ended().await;
    }
}

#[tokio::test]
async fn a_body_of_a_stranger_is_not_asked_for() {
    for (kind, path) in [(Kind::Objstore, "/set"), (Kind::Payments, "/merchants")] {
        let subject = Subject::with(kind, &[]).await;
        let exchange = Exchange { path, to: subject.address(), ..subject.ordinary() };
        let (mut connection, first) = announce(&exchange, "", 100).await;
        assert_eq!(first, 401, "{kind:?}");
        connection.ended().await;
    }
}
