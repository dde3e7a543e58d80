//! Replicas that are replaced behind the proxies, under load.

use std::{
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering},
    },
};

use blackbox::{
    objstore::{Object, Service, Stopped},
    postgres::Cluster,
    process::until,
    raw,
};
use tokio::task::JoinSet;

use crate::proxy::{Kind, NAMES, Proxy};

const NAME: &str = NAMES[1];

const CLIENTS: usize = 6;

/// Requests between two steps.
const REQUESTS: usize = 60;

/// Stops a replica, and starts another one at the same address.
async fn replaced(replica: Service) -> Service {
    let port = replica.process().address().port().to_string();
    replica.stop().await.with("PORT", &port).start().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replacing_two_replicas_fails_no_request() {
    for kind in Kind::ALL {
        replace_behind(kind).await;
    }
}

async fn replace_behind(kind: Kind) {
    let database = Cluster::shared().database();
    let settings = [("ALLOWED_HOSTS", NAME), ("TRUSTED_PROXIES", "127.0.0.1")];
    let start = async || Stopped::on(Some(database.clone()), &settings).start().await;
    let (mut one, mut other) = (start().await, start().await);
    let replicas = [&one, &other].map(|replica| replica.process().address());
    let proxy = Arc::new(Proxy::with_replicas(kind, replicas).await);
    let client = one.client().await;
    let headers = format!("Cookie: token={}\r\n", client.token());
    let (answered, is_over) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
    let mut clients = JoinSet::new();
    // The proxies limit the requests of an address, so each one has its own.
    let addresses = Arc::new(AtomicU32::new(Ipv4Addr::new(127, 1, 0, 1).into()));
    for _ in 0..CLIENTS {
        let (proxy, addresses) = (Arc::clone(&proxy), Arc::clone(&addresses));
        let (answered, is_over) = (Arc::clone(&answered), Arc::clone(&is_over));
        let set = raw::post("/set", &headers, &Object::fresh().body());
        let set = set.replace("Host: localhost", &format!("Host: {NAME}"));
        clients.spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                let from = addresses.fetch_add(1, Ordering::Relaxed).into();
                let reply = proxy.ask(from, NAME, &set).await;
                assert_eq!(reply.status, 204, "{kind:?}: {reply:?}");
                answered.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let some_more = async || {
        let before = answered.load(Ordering::Relaxed);
        until(async || {
            let failed = || clients.len() < CLIENTS;
            failed() || answered.load(Ordering::Relaxed) >= before + REQUESTS
        })
        .await;
    };
    some_more().await;
    one = replaced(one).await;
    some_more().await;
    other = replaced(other).await;
    some_more().await;
    is_over.store(true, Ordering::Relaxed);
    while let Some(ended) = clients.join_next().await {
        assert!(ended.is_ok(), "{ended:?}");
    }
    drop((one.stop().await, other.stop().await));
}
