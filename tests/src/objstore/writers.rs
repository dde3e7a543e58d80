//! Writers that set objects through several replicas without pause, and record the acknowledged
//! sets.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use reqwest::Method;
use tokio::{
    task::JoinSet,
    time::{Duration, Instant, sleep},
};

use super::{Client, Key, Object, Service, unique};
use crate::{postgres::Database, process::DEADLINE};

const WRITERS: usize = 6;

/// Stopped writers. Each has its own key and never sets the same value twice.
pub struct Writers {
    /// The type in all their keys.
    pub kind: String,
    client: Client,
    /// The last number that each writer tried to set.
    tried: [usize; WRITERS],
    /// Name and number of every set that was acknowledged.
    acknowledged: Vec<(String, usize)>,
}

/// Running writers.
pub struct Shift {
    writers: Writers,
    tasks: JoinSet<(usize, usize, Vec<usize>)>,
    done: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
}

impl Writers {
    pub async fn new(service: &Service) -> Self {
        let client = service.client().await;
        Self { kind: unique("kind"), client, tried: [0; WRITERS], acknowledged: Vec::new() }
    }

    /// The pattern of all their keys.
    pub fn pattern(&self) -> Key {
        Key::new(&self.kind, "", "")
    }

    /// Starts the writers. They use the replicas in turn, even while some do not answer.
    pub fn start(self, services: &[&Service]) -> Shift {
        let (done, over) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
        let mut tasks = JoinSet::new();
        for (index, &tried) in self.tried.iter().enumerate() {
            let clients: Vec<_> = services.iter().map(|service| self.client.at(service)).collect();
            let object = Object::new(&Key::new(&self.kind, "writer", &index.to_string()), "{}");
            let (done, over) = (Arc::clone(&done), Arc::clone(&over));
            tasks.spawn(async move {
                let (mut tried, mut acknowledged) = (tried, Vec::new());
                while !over.load(Ordering::Relaxed) {
                    tried += 1;
                    let client = &clients[(index + tried) % clients.len()];
                    let is_conditional = tried.is_multiple_of(5);
                    if is_set(client, &object.numbered(tried), is_conditional).await {
                        acknowledged.push(tried);
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                }
                (index, tried, acknowledged)
            });
        }
        Shift { writers: self, tasks, done, over }
    }

    /// Checks that revisions have no gaps, and [`Self::check_sets`].
    pub fn check(&self, database: &Database) -> Vec<(String, usize)> {
        let whole = "SELECT count(*) = max(log.revision) - max(epoch_start)
                         AND max(log.revision) = max(store.revision) FROM log, store";
        assert_eq!(database.run(whole), "t", "revisions have gaps");
        self.check_sets(database)
    }

    /// Checks that the log has every acknowledged set, and that each object has its last set of the
    /// log. Returns all sets, in order.
    pub fn check_sets(&self, database: &Database) -> Vec<(String, usize)> {
        let sets = format!(
            "SELECT name || ' ' || convert_from(value, 'UTF8') FROM log
             WHERE event = 1 AND type = '{}' ORDER BY revision",
            self.kind
        );
        let numbered = |line: &str| {
            let (name, value) = line.split_once(' ').expect("a name and a value");
            let digits = value.trim_matches(|letter: char| !letter.is_ascii_digit());
            (name.to_owned(), digits.parse().expect("a number"))
        };
        let sets: Vec<(String, usize)> = database.run(&sets).lines().map(numbered).collect();
        let kept: HashSet<_> = sets.iter().collect();
        for set in &self.acknowledged {
            assert!(kept.contains(set), "{set:?} was acknowledged and is lost");
        }
        let objects = format!(
            "SELECT name || ' ' || convert_from(value, 'UTF8') FROM objects WHERE type = '{}'",
            self.kind
        );
        for object in database.run(&objects).lines().map(numbered) {
            let last = sets.iter().rev().find(|(name, _)| *name == object.0);
            assert_eq!(Some(&object), last);
        }
        sets
    }
}

impl Shift {
    /// Waits until `count` more sets are acknowledged.
    pub async fn wrote(&self, count: usize) {
        let (before, begun) = (self.done.load(Ordering::Relaxed), Instant::now());
        while self.done.load(Ordering::Relaxed) < before + count {
            assert!(begun.elapsed() < DEADLINE * 2, "no set is acknowledged");
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Stops the writers after their current request.
    pub async fn stop(mut self) -> Writers {
        self.over.store(true, Ordering::Relaxed);
        while let Some(ended) = self.tasks.join_next().await {
            let (index, tried, acknowledged) = ended.expect("writers do not fail");
            self.writers.tried[index] = tried;
            let acknowledged = acknowledged.into_iter().map(|number| (index.to_string(), number));
            self.writers.acknowledged.extend(acknowledged);
        }
        self.writers
    }
}

/// Whether a set is acknowledged. An unacknowledged set may still have happened. The condition
/// always holds, but the service must lock the object to evaluate it.
async fn is_set(client: &Client, object: &Object, is_conditional: bool) -> bool {
    let mut request =
        client.request(Method::POST, "/set").header("content-type", "application/json");
    if is_conditional {
        request = request.header("if-none-match", "\"0000000000000000-1\"");
    }
    match request.body(object.body()).attempt().await {
        Some(answer) if answer.status == 204 => true,
        Some(answer) => {
            let _ = answer.expect(503);
            sleep(Duration::from_millis(20)).await;
            false
        }
        None => {
            sleep(Duration::from_millis(20)).await;
            false
        }
    }
}
