//! Searches while clients with many watches open one socket after another.

use std::time::{Duration, Instant};

use blackbox::objstore::{Client, Key, Object, Service, Stopped};

use crate::peer::Peer;

/// Clients that open sockets.
const CLIENTS: usize = 8;

/// Watches of each.
const WATCHES: usize = 10_000;

/// Limit for the slow-down of a search.
const FACTOR: u32 = 5;

/// Extra time for a search on a busy machine.
const ALLOWANCE: Duration = Duration::from_millis(50);

/// Objects that a search finds.
const FOUND: usize = 2_000;

/// Rounds of quiet and busy searches.
const ROUNDS: usize = 3;

/// Searches in each half of a round.
const SEARCHES: usize = 7;

/// Inserts the watches of every client and the objects to find.
fn fill(place: &Stopped, pattern: &Key) {
    let watches = format!(
        "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {WATCHES})
         INSERT INTO watches SELECT id, 'type', 'namespace', 'name ' || n, 0, NULL FROM clients, n"
    );
    assert_eq!(place.change(&watches), (CLIENTS + 1) * WATCHES);
    place.change(&format!("UPDATE clients SET watches = {WATCHES}"));
    let bytes = if place.database().is_some() { "BYTEA" } else { "BLOB" };
    let objects = format!(
        "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {FOUND})
         INSERT INTO objects (type, namespace, name, value, owner, revision)
         SELECT '{}', '{}', 'name ' || n, CAST('{{}}' AS {bytes}), 'owner', 1 FROM n",
        pattern.r#type, pattern.namespace,
    );
    assert_eq!(place.change(&objects), FOUND);
}

/// Times of a few searches.
async fn time_searches(client: &Client, pattern: &Key) -> Vec<Duration> {
    let mut times = Vec::new();
    for _ in 0..SEARCHES {
        let begun = Instant::now();
        assert_eq!(client.find(pattern).await.len(), FOUND);
        times.push(begun.elapsed());
    }
    times
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reopening_sockets_does_not_starve_searches() {
    let service = Service::with(&[]).await;
    let searching = service.client().await;
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(service.client().await);
    }
    let pattern = Key::fresh().named("");
    let place = service.stop().await;
    fill(&place, &pattern);
    let service = place.start().await;
    let searching = searching.at(&service);
    searching.set(&Object::fresh()).await;

    // Quiet and busy searches take turns, because the machine may be busy with something else.
    let (mut quiet, mut busy) = (Vec::new(), Vec::new());
    let mut opened = [0; CLIENTS];
    for _ in 0..ROUNDS {
        quiet.extend(time_searches(&searching, &pattern).await);
        let reopening = clients.iter().zip(&mut opened).map(async |(client, opened)| {
            loop {
                drop(Peer::connect(&service, client).await);
                *opened += 1;
            }
        });
        busy.extend(tokio::select! {
            _ = futures_util::future::join_all(reopening) => unreachable!("the loops do not end"),
            times = time_searches(&searching, &pattern) => times,
        });
    }
    let (quiet, busy) = (median(quiet), median(busy));
    println!("{quiet:?} when quiet, {busy:?} when busy, with {opened:?} sockets");
    assert!(opened.iter().all(|&opened| opened > 0), "no sockets were opened: {opened:?}");
    assert!(busy < quiet * FACTOR + ALLOWANCE, "{busy:?} instead of {quiet:?}");
}
