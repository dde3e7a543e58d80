//! Several replicas on one database behave like one service.

use std::time::Duration;

use blackbox::{
    objstore::{Key, Object, Service, Socket, Stopped, Writers, revision, unique},
    postgres::{Cluster, Database},
    process::DEADLINE,
    soak::{rounds, seed},
};
use futures_util::future::join_all;
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use tokio::time::{sleep, timeout};

use crate::witness::Witness;

/// Starts three replicas at the same time on a new database.
pub(crate) async fn three(database: &Database, settings: &[(&str, &str)]) -> [Service; 3] {
    let start = |_| Stopped::on(Some(database.clone()), settings).start();
    join_all((0..3).map(start)).await.try_into().unwrap()
}

#[tokio::test]
async fn replicas_starting_together_migrate_once_and_share_the_epoch() {
    for _ in 0..rounds(2, 50) {
        let database = Cluster::shared().database();
        let services = three(&database, &[]).await;
        let migrated = "SELECT count(*) = max(version) FROM refinery_schema_history";
        assert_eq!(database.run(migrated), "t");
        let client = services[0].client().await;
        let object = Object::fresh();
        client.set(&object).await;
        let mut tags = Vec::new();
        for service in &services {
            tags.push(client.at(service).etag(&object.key).await);
        }
        assert!(tags.iter().all(|tag| *tag == tags[0]), "{tags:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_set_is_visible_on_all_replicas_at_once() {
    let services = three(&Cluster::shared().database(), &[]).await;
    let client = services[0].client().await;
    let object = Object::fresh();
    for number in 0..rounds(50, 5000) {
        let [one, other] = [number, number + 1].map(|index| client.at(&services[index % 3]));
        one.set(&object.numbered(number)).await;
        assert_eq!(other.get(&object.key).await, object.numbered(number));
        let tag = other.etag(&object.key).await;
        assert_eq!(one.etag(&object.key).await, tag);
    }
}

#[tokio::test]
async fn replicas_follow_the_log_by_its_index() {
    let database = Cluster::shared().database();
    let services = three(&database, &[]).await;
    let (client, object) = (services[0].client().await, Object::fresh());
    client.watch(&object.key).await;
    let mut socket = client.at(&services[1]).socket().await;
    let reads = |column: &str| -> usize {
        let read = format!("SELECT {column} FROM pg_stat_user_tables WHERE relname = 'log'");
        database.run(&read).parse().unwrap()
    };
    let (scanned, followed) = (reads("seq_scan"), reads("idx_scan"));
    for number in 0..200 {
        client.set(&object.numbered(number)).await;
        while socket.next_push().await != object.numbered(number) {}
    }
    // PostgreSQL sessions report their statistics late, and all at once.
    let reported = async {
        while reads("idx_scan") < followed + 200 {
            sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(DEADLINE, reported).await.unwrap();
    assert_eq!(reads("seq_scan"), scanned);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watchers_on_all_replicas_see_one_order_of_changes() {
    const SETS: usize = 100;
    let services = three(&Cluster::shared().database(), &[]).await;
    let kind = unique("kind");
    let mut sockets: Vec<Socket> = Vec::new();
    for service in &services {
        let client = service.client().await;
        client.watch(&Key::new(&kind, "", "")).await;
        sockets.push(client.socket_with("?events=true").await);
    }
    let write = async |index: usize| {
        let client = services[index % 3].client().await;
        let object = Object::new(&Key::new(&kind, "writer", &index.to_string()), "{}");
        for number in 0..SETS {
            client.set(&object.numbered(number)).await;
        }
        client.delete(&object.key).await;
    };
    let listen = async |mut socket: Socket| {
        let mut events = Vec::new();
        for _ in 0..6 * (SETS + 1) {
            events.push(socket.next_event().await);
        }
        events
    };
    let (_, seen) =
        tokio::join!(join_all((0..6).map(write)), join_all(sockets.into_iter().map(listen)),);
    assert!(seen[0].is_sorted_by(|one, next| one.revision() < next.revision()));
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0], seen[2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_after_a_watch_arrive_through_any_replica() {
    let services = three(&Cluster::shared().database(), &[]).await;
    for round in 0..rounds(30, 1000) {
        let client = services[0].client().await;
        let by = |index: usize| client.at(&services[index % 3]);
        let (object, other) = (Object::fresh(), Object::fresh());
        by(round).watch(&other.key).await;
        let mut socket = by(round + 2).socket().await;
        by(round).set(&object.numbered(0)).await;
        by(round).watch(&object.key).await;
        by(round + 1).set(&object.numbered(1)).await;
        assert_eq!(socket.next_push().await, object.numbered(1));
        by(round + 1).unwatch(&object.key).await;
        by(round).set(&object.numbered(2)).await;
        by(round + 1).set(&other).await;
        assert_eq!(socket.next_push().await, other);
    }
}

#[tokio::test]
async fn an_acknowledged_position_soon_reaches_the_other_replicas() {
    let database = Cluster::shared().database();
    let services = three(&database, &[]).await;
    let client = services[0].client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let set = revision(&client.set(&object).await);
    let mut socket = client.socket().await;
    assert_eq!(socket.next_push().await, object);
    socket.acknowledge().await;
    socket.close().await;
    let position = format!("SELECT position >= {set} FROM clients WHERE id = '{}'", client.id());
    let is_written = async {
        while database.run(&position) != "t" {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(DEADLINE, is_written).await.unwrap();
    let mut socket = client.at(&services[1]).socket().await;
    client.set(&object.numbered(1)).await;
    assert_eq!(socket.next_push().await, object.numbered(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_killed_under_load_lose_nothing() {
    let seed = seed();
    println!("SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let database = Cluster::shared().database();
    let mut services = Vec::from(three(&database, &[]).await);
    let mut writers = Writers::new(&services[0]).await;
    let mut witness = Witness::new(&services[0], &writers).await;
    for _ in 0..rounds(4, 200) {
        let doomed = services.remove(rng.random_range(0..3));
        let socket = witness.open(&doomed).await;
        let shift = writers.start(&[&doomed, &services[0], &services[1]]);
        let listening = tokio::spawn(witness.listen(socket));
        shift.wrote(rng.random_range(50..300)).await;
        let place = doomed.kill().await;
        witness = listening.await.unwrap();
        shift.wrote(100).await;
        services.push(place.start().await);
        writers = shift.stop().await;
        writers.check(&database);
    }
    let sets = writers.check(&database);
    witness.saw(&services[0], &sets).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_replica_blocks_the_others_for_seconds_at_most() {
    let database = Cluster::shared().database();
    let services = three(&database, &[]).await;
    let [frozen, other, _] = &services;
    let (client, writers) = (other.client().await, Writers::new(frozen).await);
    let shift = writers.start(&[frozen]);
    let in_transaction = "SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND state = 'idle in transaction'";
    let caught = async {
        loop {
            shift.wrote(1).await;
            frozen.process().signal("STOP").await;
            sleep(Duration::from_millis(20)).await;
            if database.run(in_transaction) == "1" {
                return;
            }
            frozen.process().signal("CONT").await;
        }
    };
    timeout(DEADLINE * 3, caught).await.unwrap();
    let object = Object::fresh();
    let set = async { while client.post("/set", object.body()).await.status != 204 {} };
    timeout(DEADLINE, set).await.unwrap();
    assert_eq!(database.run(in_transaction), "0");
    frozen.process().signal("CONT").await;
    shift.wrote(10).await;
    shift.stop().await.check(&database);
}

#[tokio::test]
async fn a_replica_frozen_beyond_the_log_pushes_current_values() {
    let database = Cluster::shared().database();
    let services = three(&database, &[("OBJSTORE_LOG_SIZE", "64KiB")]).await;
    let [frozen, other, _] = &services;
    let client = frozen.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let mut socket = client.socket().await;
    client.set(&object).await;
    assert_eq!(socket.next_push().await, object);
    let seen = database.run("SELECT revision FROM store");
    frozen.process().signal("STOP").await;

    let setter = client.at(other);
    let filler = Object::new(&Key::fresh(), format!(r#"{{"x":"{}"}}"#, "x".repeat(8 * 1024)));
    let forgotten = format!("SELECT min(revision) > {seen} + 1 FROM log");
    let mut last = 0;
    while database.run(&forgotten) != "t" {
        last += 1;
        setter.set(&object.numbered(last)).await;
        for _ in 0..10 {
            setter.set(&filler).await;
        }
    }
    frozen.process().signal("CONT").await;
    while socket.next_push_or_end().await.is_some() {}
    let mut socket = client.socket().await;
    while socket.next_push().await != object.numbered(last) {}
    setter.set(&object.numbered(last + 1)).await;
    assert_eq!(socket.next_push().await, object.numbered(last + 1));
}
