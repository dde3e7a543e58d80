//! Registrations, which anybody may send.

use blackbox::{
    objstore::Service,
    raw::{Connection, Reply, local, post},
};
use uuid::Uuid;

/// A registration whose body has at least so many bytes, from the address with this last number.
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
        let refused = register(&service, 1, length).await;
        assert_eq!(refused.status, 413, "{length}: {refused:?}");
        assert!(refused.body.contains("body_too_large"), "{refused:?}");
    }
}

#[tokio::test]
async fn an_address_registers_so_often_and_no_more() {
    let service = Service::with(&[("OBJSTORE_REGISTER_LIMIT", "3/1h")]).await;
    for _ in 0..3 {
        let answer = register(&service, 2, 0).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let refused = register(&service, 2, 0).await;
    assert_eq!(refused.status, 429, "{refused:?}");
    assert!(refused.body.contains(r#""error":"rate_limited""#), "{refused:?}");
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=3_600).contains(&wait), "{refused:?}");
    assert_eq!(register(&service, 3, 0).await.status, 200, "another address");
    let log = service.process().log();
    assert!(!log.iter().any(|line| line.contains("127.0.0.2")), "{log:?}");
}
