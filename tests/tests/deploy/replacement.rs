//! Replicas that are replaced behind nginx, under load.

use std::{
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use blackbox::{
    objstore::{Service, Stopped},
    postgres::Cluster,
    process::until,
    raw,
};
use tokio::task::JoinSet;

use crate::proxy::{Kind, NAMES, Proxy};

const NAME: &str = NAMES[1];

/// Clients, each with an address of its own: nginx limits the requests of an address.
const CLIENTS: u8 = 6;

/// Requests between two steps.
const REQUESTS: usize = 60;

/// Stops a replica, and starts another one at the same address.
async fn replaced(replica: Service) -> Service {
    let port = replica.process().address().port().to_string();
    replica.stop().await.with("PORT", &port).start().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replacing_two_replicas_behind_nginx_fails_no_get() {
    let database = Cluster::shared().database();
    let settings = [("ALLOWED_HOSTS", NAME), ("TRUSTED_PROXIES", "127.0.0.1")];
    let start = async || Stopped::on(Some(database.clone()), &settings).start().await;
    let (mut one, mut other) = (start().await, start().await);
    let addresses = [&one, &other].map(|replica| replica.process().address());
    let proxy = Arc::new(Proxy::with_replicas(Kind::Nginx, addresses).await);
    let client = one.client().await;
    let cookie = format!("Cookie: token={}\r\n", client.token());
    let (answered, is_over) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
    let mut clients = JoinSet::new();
    for number in 1..=CLIENTS {
        let (proxy, cookie) = (Arc::clone(&proxy), cookie.clone());
        let (answered, is_over) = (Arc::clone(&answered), Arc::clone(&is_over));
        clients.spawn(async move {
            let from = Ipv4Addr::new(127, 0, 1, number);
            while !is_over.load(Ordering::Relaxed) {
                // nginx repeats no POST that meets a connection which closes at this moment.
                let get = raw::get("/watches");
                let request = get.replace("\r\n\r\n", &format!("\r\n{cookie}\r\n"));
                let request = request.replace("Host: localhost", &format!("Host: {NAME}"));
                let reply = proxy.ask(from, NAME, &request).await;
                assert_eq!(reply.status, 200, "{reply:?}");
                answered.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let some_more = async || {
        let before = answered.load(Ordering::Relaxed);
        until(async || {
            let failed = || clients.len() < usize::from(CLIENTS);
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
