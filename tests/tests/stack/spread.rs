//! The distribution of requests: the proxy adds the header `x-replica` to every answer.

use std::collections::BTreeSet;

use blackbox::{
    authsvc,
    objstore::{self, Key, Object, unique},
    payments,
};
use futures_util::future::join_all;

use crate::compose::REPLICAS;

#[tokio::test]
async fn requests_are_spread_over_the_replicas() {
    let objstore = objstore::Service::any().await.client().await;
    let authsvc = authsvc::Service::any().await;
    let payments = payments::Service::any().await;
    let mut seen: [BTreeSet<String>; 3] = Default::default();
    for _ in 0..20 {
        let answers = [
            authsvc.fetch("/health").await,
            objstore.fetch("/health").await,
            payments.fetch("/health").await,
        ];
        for (seen, answer) in seen.iter_mut().zip(answers) {
            seen.insert(answer.header("x-replica").unwrap().to_owned());
        }
    }
    for (seen, replicas) in seen.into_iter().zip(REPLICAS) {
        assert_eq!(Vec::from_iter(seen), replicas);
    }
}

#[tokio::test]
async fn a_change_reaches_the_sockets_of_every_replica() {
    let service = objstore::Service::any().await;
    let clients = join_all((0..8).map(|_| service.client())).await;
    let kind = unique("spread");
    let mut sockets = Vec::new();
    for client in &clients {
        client.watch(&Key::new(&kind, "", "")).await;
        sockets.push(client.socket().await);
    }
    for (number, client) in clients.iter().enumerate() {
        let object = Object::new(&Key::new(&kind, "all", "one"), format!(r#"{{"n":{number}}}"#));
        client.set(&object).await;
        for pushed in join_all(sockets.iter_mut().map(|socket| socket.next_push())).await {
            assert_eq!(pushed, object);
        }
    }
}
