//! Clients that do not read their pushes.

use std::time::{Duration, Instant};

use blackbox::objstore::{Client, Key, Object, Service};

use crate::{
    line::Line,
    peer::{Frame, Peer},
    resident::resident,
};

/// Clients that stop reading.
const STALLED: usize = 8;

/// Bytes of the filler in a value.
const FILLER: usize = 128 * 1024;

/// Sets before the clients connect.
const BEFORE: usize = 150;

/// Sets while the clients do not read. All of them are due to each client.
const WHILE: usize = 400;

/// Limit in bytes for the memory of all stalled clients. Their due pushes are many times as large.
const COST: u64 = 48 * 1024 * 1024;

/// Limit for a push to another client, on a busy machine.
const PROMPT: Duration = Duration::from_secs(10);

fn heavy(key: &Key, number: usize) -> Object {
    let filler = "x".repeat(FILLER);
    Object::new(key, format!(r#"{{"n":{number},"x":"{filler}"}}"#))
}

async fn set(line: &Line, object: &Object) {
    let reply = line.post("/set", object.body()).await.expect("an answer");
    assert_eq!(reply.status, 204, "{reply:?}");
}

/// Clients that watch the key, each with a socket that is not read.
async fn stalled(service: &Service, key: &Key, count: usize) -> Vec<(Client, Peer)> {
    let mut stalled = Vec::new();
    for _ in 0..count {
        let client = service.client().await;
        client.watch(key).await;
        let peer = Peer::connect(service, &client).await;
        stalled.push((client, peer));
    }
    stalled
}

/// The pushes up to and including all `awaited` ones. If the service closes the connection, a new
/// socket repeats everything, because nothing was acknowledged.
async fn read_to(
    service: &Service,
    client: &Client,
    mut peer: Peer,
    awaited: &[&Object],
) -> Vec<Object> {
    let mut pushes = Vec::<Object>::new();
    while !awaited.iter().all(|one| pushes.iter().rev().any(|push| push == *one)) {
        match peer.next().await {
            Some(Frame::Text(text)) => pushes.push(Object::parse(&text)),
            Some(_) => {}
            None => {
                peer = Peer::connect(service, client).await;
                pushes.clear();
            }
        }
    }
    pushes
}

fn numbers(pushes: &[Object]) -> Vec<usize> {
    pushes.iter().map(Object::number).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_never_read_cost_little_and_lose_nothing() {
    let service = Service::with(&[]).await;
    let key = Key::fresh();
    let writer = service.client().await;
    let line = Line::new(&service, &writer);
    for number in 0..BEFORE {
        set(&line, &heavy(&key, number)).await;
    }
    let mut stalled = stalled(&service, &key, STALLED).await;
    let prompt = service.client().await;
    prompt.watch(&key).await;
    let mut socket = prompt.socket().await;

    let before = resident(&service);
    let mut slowest = Duration::ZERO;
    let due: Vec<_> = (BEFORE..BEFORE + WHILE).collect();
    for &number in &due {
        let object = heavy(&key, number);
        let started = Instant::now();
        set(&line, &object).await;
        assert!(socket.next_push().await == object);
        slowest = slowest.max(started.elapsed());
    }
    let cost = resident(&service).saturating_sub(before);
    assert!(cost < COST, "{STALLED} clients cost {cost} bytes");
    assert!(slowest < PROMPT, "a push took {slowest:?}");

    let last = heavy(&key, BEFORE + WHILE - 1);
    let (client, peer) = stalled.pop().unwrap();
    let pushes = read_to(&service, &client, peer, &[&last]).await;
    assert_eq!(numbers(&pushes), due, "a client that resumes reading");
    let (client, peer) = stalled.pop().unwrap();
    drop(peer);
    let peer = Peer::connect(&service, &client).await;
    let pushes = read_to(&service, &client, peer, &[&last]).await;
    assert_eq!(numbers(&pushes), due, "a client that reconnects");
    let cost = resident(&service).saturating_sub(before);
    assert!(cost < COST, "reading again costs {cost} bytes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_behind_the_log_gets_the_current_value() {
    let service = Service::with(&[("OBJSTORE_LOG_SIZE", "1MiB")]).await;
    let key = Key::fresh();
    let writer = service.client().await;
    let line = Line::new(&service, &writer);
    let (client, peer) = stalled(&service, &key, 1).await.remove(0);
    let changed_once = Object::fresh();
    client.watch(&changed_once.key).await;
    for number in 0..WHILE {
        set(&line, &heavy(&key, number)).await;
        if number == WHILE / 2 {
            writer.set(&changed_once).await;
        }
    }
    let last = heavy(&key, WHILE - 1);
    let mut pushes = read_to(&service, &client, peer, &[&last, &changed_once]).await;
    let before = pushes.len();
    pushes.retain(|push| *push != changed_once);
    assert_eq!(pushes.len(), before - 1, "the object that changed once came once");
    let numbers = numbers(&pushes);
    assert!(numbers.is_sorted(), "{numbers:?}");
    assert!(numbers.len() < WHILE, "no value was skipped: the test shows nothing");
}
