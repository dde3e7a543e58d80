//! Searches with large results, and a slow reader during writes.

use std::time::{Duration, Instant};

use crate::{
    answer::Answer,
    database::{FILE, stuff},
    line::Line,
    resident::resident,
};
use blackbox::{
    objstore::{Client, Key, Object, Service},
    soak::{rounds, seed},
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};

/// Limit for the first byte of an answer, on a busy machine and without optimisation.
const FIRST_BYTE: Duration = Duration::from_secs(2);

/// Limit in bytes for the growth of the service during a search.
const GROWTH: u64 = 32 * 1024 * 1024;

/// Digits in the names of the inserted objects: see [`stuff`].
const DIGITS: usize = 7;

fn name(number: usize) -> String {
    format!("{number:0DIGITS$}")
}

/// A service with `count` inserted objects, and a client of it.
async fn stuffed(key: &Key, count: usize, filler: usize) -> (Service, Client) {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    client.set(&Object::fresh()).await;
    let place = service.stop().await;
    stuff(&place.data().join(FILE), key, count, filler);
    let service = place.start().await;
    let client = client.at(&service);
    (service, client)
}

/// Checks, chunk by chunk, that the names in an answer are the numbers from 0 on.
#[derive(Default)]
struct Names {
    next: usize,
    /// The unparsed end of the text, which may contain part of a name.
    unparsed: String,
}

impl Names {
    fn take(&mut self, chunk: &[u8]) {
        const BEFORE: &str = r#""Name":""#;
        self.unparsed.push_str(std::str::from_utf8(chunk).unwrap());
        let mut parsed = 0;
        while let Some(at) = self.unparsed[parsed..].find(BEFORE) {
            let begin = parsed + at + BEFORE.len();
            let Some(found) = self.unparsed.get(begin..begin + DIGITS) else { break };
            assert_eq!(found, name(self.next), "the next name");
            self.next += 1;
            parsed = begin + DIGITS;
        }
        let kept = self.unparsed.len().saturating_sub(BEFORE.len() + DIGITS);
        self.unparsed.drain(..parsed.max(kept));
    }
}

/// Finds all objects with this pattern. Checks the answer, its first byte and the memory used.
async fn find_numbered(service: &Service, client: &Client, pattern: &Key, count: usize) {
    let before = resident(service);
    let mut most = before;
    let started = Instant::now();
    let mut answer = Answer::to_find(service, client, pattern).await;
    let mut first = None;
    let mut names = Names::default();
    while let Some(chunk) = answer.chunk().await {
        first.get_or_insert_with(|| started.elapsed());
        names.take(&chunk);
        most = most.max(resident(service));
    }
    assert_eq!(names.next, count, "{pattern:?}");
    assert!(first.unwrap() < FIRST_BYTE, "{pattern:?} took {first:?}");
    assert!(most - before < GROWTH, "{pattern:?} took {} bytes", most - before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_searches_start_soon_and_take_little_memory() {
    let count = rounds(100_000, 1_000_000);
    let key = Key::fresh();
    let (service, client) = stuffed(&key, count, 500).await;
    for pattern in [key.named(""), Key::new("", &key.namespace, "")] {
        find_numbered(&service, &client, &pattern, count).await;
    }
}

/// The changes to an object during the search.
#[derive(PartialEq, Eq)]
enum Fate {
    Stays,
    IsOverwritten,
    ComesAndGoes,
}

fn fate(number: usize) -> Fate {
    match number % 4 {
        0 | 1 => Fate::Stays,
        2 => Fate::IsOverwritten,
        _ => Fate::ComesAndGoes,
    }
}

/// Changes the object with this number according to its fate. If it stays, sets an object after it.
async fn disturb(line: &Line, key: &Key, number: usize) {
    let object = Object::new(&key.named(&name(number)), r#"{"new":true}"#);
    let between = Object::new(&key.named(&format!("{}+", name(number))), r#"{"new":true}"#);
    let requests = match fate(number) {
        Fate::Stays => vec![("/set", between.body())],
        Fate::IsOverwritten => vec![("/set", object.body())],
        Fate::ComesAndGoes => vec![
            ("/set", object.body()),
            ("/delete", object.key.body()),
            ("/set", object.body()),
            ("/delete", object.key.body()),
        ],
    };
    for (path, body) in requests {
        let reply = line.post(path, body).await.expect("an answer");
        assert_eq!(reply.status, 204, "{reply:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_reader_finds_each_unchanged_object_once() {
    const COUNT: usize = 3_000;
    const FILLER: usize = 8 * 1024;
    let key = Key::fresh();
    let (service, client) = stuffed(&key, COUNT, FILLER).await;
    let line = Line::new(&service, &client);
    let mut answer = Answer::to_find(&service, &client, &key.named("")).await;
    let mut body = Vec::new();
    // The reader is far from this object. It is found only if the service holds a snapshot or the
    // whole answer.
    let last = key.named(&name(COUNT - 1));
    client.delete(&last).await;
    let seed = seed();
    println!("SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    while let Some(chunk) = answer.chunk().await {
        body.extend(chunk);
        for _ in 0..4 {
            disturb(&line, &key, rng.random_range(0..COUNT - 1)).await;
        }
    }
    let found = Object::parse_all(std::str::from_utf8(&body).unwrap());
    let names: Vec<_> = found.iter().map(|object| object.key.name.as_str()).collect();
    assert!(names.is_sorted_by(|one, next| one < next), "an object was found twice");
    assert!(!names.contains(&&*last.name), "the answer was complete before it was read");
    let value = format!(r#"{{"x":"{}"}}"#, "x".repeat(FILLER));
    for number in (0..COUNT).filter(|&number| fate(number) == Fate::Stays) {
        let at =
            names.binary_search(&&*name(number)).unwrap_or_else(|_| panic!("{number} is missing"));
        assert!(found[at].value == value, "{number} has changed");
    }
    for object in &found {
        assert!([&*value, r#"{"new":true}"#].contains(&&*object.value), "an incomplete value");
    }
}
