//! Concurrent clients that set, get, delete, find and watch the same few keys.

use std::sync::Arc;

use blackbox::{
    objstore::{Client, Event, Object, Service, Socket, Stopped},
    soak::{rounds, seed},
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};

use crate::{
    actor::{Actor, Stage, value, write},
    delivery::{self, Heard},
    history::{self, Change},
};

/// Clients in a round.
const ACTORS: usize = 4;

/// Operations of each client.
const ACTIONS: usize = 150;

/// Collects every change up to the fence.
async fn witness(mut socket: Socket, stage: Arc<Stage>) -> Vec<Change> {
    let mut changes = Vec::new();
    loop {
        let (revision, object, is_set) = match socket.next_event().await {
            Event::Set(revision, object) => (revision, object, true),
            Event::Delete(revision, object) => (revision, object, false),
            other => panic!("no change: {other:?}"),
        };
        if object.key == stage.fence {
            return changes;
        }
        let write = is_set.then(|| write(&object));
        changes.push(Change { revision, key: stage.index(&object.key), write });
    }
}

/// Each actor uses one of the replicas.
async fn round(replicas: &[Service], rng: &mut StdRng) -> Result<(), String> {
    let service = &replicas[0];
    let stage = Arc::new(Stage::new());
    let observer = service.client().await;
    observer.watch(&stage.all()).await;
    let socket = observer.socket_with("?events=true").await;
    let witnessing = tokio::spawn(witness(socket, Arc::clone(&stage)));

    let mut acting = Vec::new();
    let mut listening = Vec::new();
    for place in 0..ACTORS {
        let client: Client = service.client().await;
        client.watch(&stage.fence).await;
        let actor_rng = StdRng::seed_from_u64(rng.random());
        let listen = delivery::listen(client.clone(), stage.fence.clone(), actor_rng);
        listening.push(tokio::spawn(listen));
        let actor_rng = StdRng::seed_from_u64(rng.random());
        let client = client.at(&replicas[place % replicas.len()]);
        let actor = Actor::new(client, (place, ACTORS), Arc::clone(&stage), actor_rng);
        acting.push(tokio::spawn(actor.act(ACTIONS)));
    }
    let mut actors = Vec::new();
    for actor in acting {
        actors.push(actor.await.unwrap());
    }
    observer.set(&Object::new(&stage.fence, value(0))).await;

    let changes = witnessing.await.unwrap();
    let operations: Vec<_> =
        actors.iter().flat_map(|actor| actor.operations.iter().cloned()).collect();
    history::check(&changes, &operations)?;
    for (actor, heard) in actors.iter().zip(listening) {
        let heard = heard.await.unwrap();
        assert!(
            heard.iter().any(Heard::is_something),
            "no pushes were received: the test shows nothing"
        );
        delivery::check(&changes, &operations, &stage.keys, &actor.watching, &heard)?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_histories_and_pushes_fit_one_order_of_changes() {
    let seed = seed();
    println!("SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let mut replicas = vec![Service::any().await];
    if replicas[0].is_own()
        && let Some(database) = replicas[0].data().database()
    {
        replicas.push(Stopped::on(Some(database.clone()), &[]).start().await);
    }
    for number in 0..rounds(4, 400) {
        println!("round {number}");
        round(&replicas, &mut rng).await.unwrap();
    }
}
