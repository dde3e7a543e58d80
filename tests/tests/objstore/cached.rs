//! Gets from the cache see every answered write.

use std::sync::atomic::{AtomicUsize, Ordering};

use blackbox::objstore::{Object, Service};
use futures_util::future::join_all;
use reqwest::Method;

/// Clients that read one object all the time.
const READERS: usize = 4;

const WRITES: usize = 100;

/// The value of a metric of objstore-svc without labels, or with these labels.
async fn metric(service: &Service, series: &str) -> u64 {
    let metrics = service.stranger().request(Method::GET, "/metrics").send_undescribed().await;
    let prefix = format!("objstore_{series} ");
    let value = metrics.text().lines().find_map(|line| line.strip_prefix(&prefix)?.parse().ok());
    value.unwrap_or_else(|| panic!("no {series} in {}", metrics.text()))
}

#[tokio::test]
async fn no_get_is_older_than_an_answered_get_or_set() {
    let service = Service::any().await;
    let writer = service.client().await;
    let object = Object::fresh();
    let set = AtomicUsize::new(0);
    writer.set(&object.numbered(0)).await;
    let writes = async {
        for number in 1..=WRITES {
            writer.set(&object.numbered(number)).await;
            assert_eq!(writer.get(&object.key).await.number(), number);
            set.store(number, Ordering::SeqCst);
        }
    };
    let reads = join_all((0..READERS).map(|_| async {
        let reader = service.client().await;
        let mut newest = 0;
        while newest < WRITES {
            let answered = set.load(Ordering::SeqCst);
            let number = reader.get(&object.key).await.number();
            assert!(number >= newest.max(answered), "{number} after {newest} and {answered}");
            newest = number;
        }
    }));
    tokio::join!(writes, reads);
}

#[tokio::test]
async fn a_cached_object_is_gone_when_it_is_deleted_or_expires() {
    let service = Service::any().await;
    let client = service.client().await;
    let [deleted, expiring] = [Object::fresh(), Object::fresh()];
    client.set(&deleted).await;
    client.watch(&expiring.key).await;
    let mut socket = client.socket_with("?events=true").await;
    client.set_with("?ttl=1s", &expiring).await;
    for object in [&deleted, &expiring] {
        for _ in 0..3 {
            assert_eq!(client.get(&object.key).await, *object);
        }
    }
    client.delete(&deleted.key).await;
    client.post("/get", deleted.key.body()).await.refused(422, "object_not_found");
    let _ = (socket.next_event().await, socket.next_event().await);
    client.post("/get", expiring.key.body()).await.refused(422, "object_not_found");
}

#[tokio::test]
async fn the_cache_has_a_limit_and_counts_its_hits() {
    let service = Service::with(&[("OBJSTORE_CACHE", "64KiB")]).await;
    let client = service.client().await;
    let object = Object::fresh();
    let keys: Vec<_> = (0..500).map(|index| object.key.named(&index.to_string())).collect();
    join_all(keys.iter().map(|key| async {
        client.set(&Object::new(key, format!(r#"{{"pad":"{:0500}"}}"#, 1))).await;
    }))
    .await;
    for key in keys.iter().flat_map(|key| [key, key]).chain([&keys[0]; 5]) {
        client.get(key).await;
    }
    if service.data().database().is_some() {
        return;
    }
    let (hits, misses) =
        (metric(&service, "cache_hits_total").await, metric(&service, "cache_misses_total").await);
    assert!(hits >= 3 && hits + misses == 1005, "{hits} hits, {misses} misses");
    let used = metric(&service, r#"limit_used{limit="object_cache"}"#).await;
    assert!((1..=64 * 1024).contains(&used), "{used} bytes");
    assert_eq!(metric(&service, r#"limit_max{limit="object_cache"}"#).await, 64 * 1024);
}

#[tokio::test]
async fn without_a_cache_each_get_reads_the_database() {
    let service = Service::with(&[("OBJSTORE_CACHE", "0")]).await;
    let client = service.client().await;
    let object = Object::fresh();
    client.set(&object).await;
    for _ in 0..3 {
        assert_eq!(client.get(&object.key).await, object);
    }
    assert_eq!(metric(&service, "cache_hits_total").await, 0);
}
