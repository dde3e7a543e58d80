//! Sockets that open before all committed changes are dispatched.

use common::files::Files;
use uuid::Uuid;

use super::*;
use crate::{
    domain::{
        Intent, Key, Lifespan, Lifetime, Object, Owner, OwnerRule, Pattern, Permit, Precondition,
        TokenDigest, Value,
    },
    store::StoreConfig,
};

const CLIENT: u128 = 1;

/// Memory for all watches.
fn unlimited() -> Arc<Budget> {
    Budget::new("watch_memory", usize::MAX)
}

/// A new store and its feed, with one client that watches everything.
async fn store(data_dir: &std::path::Path) -> (Store, Feed) {
    let config = StoreConfig {
        data_dir: data_dir.to_owned(),
        database: None,
        lifetime: Lifetime::new(Duration::from_secs(60)),
        presence_grace: Duration::from_secs(10),
        owner: OwnerRule::Free,
        max_clients: 10,
        max_watches: 10,
        log_retention: Duration::from_secs(60),
        log_size: 1 << 20,
        cache: 1 << 20,
    };
    let (store, feed) = Store::open(&config, &mut Files::default()).await.unwrap();
    store.register(client(), TokenDigest::of("token"), 0).await.unwrap().unwrap();
    let everything = Pattern::new("", "", "").unwrap();
    store.watch(client(), everything).await.unwrap().unwrap();
    (store, feed)
}

fn client() -> ClientId {
    ClientId::new(Uuid::from_u128(CLIENT)).unwrap()
}

async fn set(store: &Store) -> Revision {
    let object = Object {
        key: Key::new("t", "ns", "n").unwrap(),
        value: Value::compact("{}").unwrap(),
        owner: Owner::new("o").unwrap(),
    };
    let precondition = Precondition::parse(&[], &[]).unwrap();
    let permit = Permit::Always;
    let intent = Intent { client: client(), precondition, permit, tracks_owner: false };
    store.set(object, intent, Lifespan::default()).await.unwrap().unwrap()
}

fn stream(begin: Begin) -> Stream {
    let format = MessageFormat::Events;
    Stream { format, begin, initial: false, marks: false, pattern: None }
}

async fn next(subscriber: &mut Subscriber) -> Vec<String> {
    let mut burst = Burst::new();
    timeout(Duration::from_secs(10), subscriber.next(&mut burst)).await.unwrap().unwrap();
    burst.iter().map(|frame| String::from_utf8(frame.json.to_vec()).unwrap()).collect()
}

#[tokio::test]
async fn a_reset_covers_changes_committed_before_the_socket_opened() {
    let directory = tempfile::tempdir().unwrap();
    let (store, feed) = store(directory.path()).await;
    let hub = Hub::new(store.clone(), feed.revision, 10, unlimited(), Arc::default());
    let revision = set(&store).await;
    let subscribing = tokio::spawn({
        let hub = Arc::clone(&hub);
        async move { hub.subscribe(client(), &stream(Begin::After(1000))).await }
    });
    while !subscribing.is_finished() && hub.dispatched.receiver_count() == 0 {
        yield_now().await;
    }
    tokio::spawn(Arc::clone(&hub).run(feed));
    let mut subscriber = subscribing.await.unwrap().unwrap();
    let reset = format!(r#"{{"Event":"reset","Revision":{revision}}}"#);
    let [first, set] = &next(&mut subscriber).await[..] else { panic!("not two events") };
    assert_eq!(*first, reset);
    assert!(set.starts_with(&format!(r#"{{"Revision":{revision},"Event":"set""#)), "{set}");
}

#[tokio::test]
async fn no_socket_opens_once_dispatching_has_ended() {
    let directory = tempfile::tempdir().unwrap();
    let (store, feed) = store(directory.path()).await;
    let hub = Hub::new(store.clone(), feed.revision, 10, unlimited(), Arc::default());
    set(&store).await;
    store.close().await;
    let (sender, news) = tokio::sync::mpsc::channel(1);
    drop(sender);
    Arc::clone(&hub).run(Feed { revision: feed.revision, news }).await;
    let subscribed = hub.subscribe(client(), &stream(Begin::Position)).await;
    assert!(matches!(subscribed, Err(StoreError::DispatchTimeout)));
}
