//! Limits on registrations, which need no credentials.

use blackbox::{
    objstore::Service,
    raw::{Connection, Reply, local, post},
};
use uuid::Uuid;

/// Registers from 127.0.0.`last`, with a body of at least `length` bytes.
async fn register(service: &Service, last: u8, length: usize) -> Reply {
    let mut body = format!(r#"{{"ID":"{}"}}"#, Uuid::new_v4());
    body.push_str(&" ".repeat(length.saturating_sub(body.len())));
    let mut connection = Connection::from(local(last), service.process().address()).await;
    connection.ask(post("/register", "", &body)).await
}

#[tokio::test]
async fn the_body_of_a_registration_has_at_most_4_kib() {
    let service = Service::with(&[]).await;
    let answer = register(&service, 1, 4 * 1024).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    for length in [4 * 1024 + 1, 100_000] {
        let rejected = register(&service, 1, length).await;
        assert_eq!(rejected.status, 413, "{length}: {rejected:?}");
        assert!(rejected.body.contains("body_too_large"), "{rejected:?}");
    }
}

#[tokio::test]
async fn registrations_per_address_are_limited() {
    let service = Service::with(&[("OBJSTORE_REGISTER_LIMIT", "3/1h")]).await;
    for _ in 0..3 {
        let answer = register(&service, 2, 0).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let rejected = register(&service, 2, 0).await;
    assert_eq!(rejected.status, 429, "{rejected:?}");
    assert!(rejected.body.contains(r#""error":"rate_limited""#), "{rejected:?}");
    let wait: u64 = rejected.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=3_600).contains(&wait), "{rejected:?}");
    assert_eq!(register(&service, 3, 0).await.status, 200, "another address");
    let log = service.process().log();
    assert!(!log.iter().any(|line| line.contains("127.0.0.2")), "{log:?}");
}
