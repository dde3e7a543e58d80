//! Writers that set and delete without pause, and record every acknowledged change.

use std::{
    mem,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
};

use blackbox::objstore::{Client, Key, Object, Service, unique};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use tokio::{sync::watch, task::JoinSet, time::timeout};

use crate::line::Line;

/// Keys of each writer. No other writer uses them.
const KEYS: usize = 4;

/// Value numbers reserved for each writer.
const NUMBERS: u64 = 1 << 32;

/// The value with this number. Its length is between a few bytes and more than a database page.
pub(crate) fn value(number: u64) -> String {
    let length = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 6000;
    let filler: String = ('a'..='z').cycle().take(length.try_into().unwrap()).collect();
    format!(r#"{{"number":{number},"filler":"{filler}"}}"#)
}

/// The number of a value, after checking that the value is complete.
pub(crate) fn number(text: &str) -> u64 {
    let digits = text.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    let end = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap();
    let number = digits[..end].parse().unwrap();
    assert!(text == value(number), "an incomplete value: {text}");
    number
}

/// The changes that the service acknowledged.
#[derive(Clone, Default)]
pub(crate) struct Ledger {
    /// The revision, key and value number of every set.
    pub(crate) sets: Vec<(u64, Key, u64)>,
    pub(crate) deletions: Vec<Key>,
}

/// Stopped writers.
pub(crate) struct Crew {
    /// The type of all their keys.
    pub(crate) kind: String,
    writers: Vec<Writer>,
    ledger: Arc<Mutex<Ledger>>,
}

/// Running writers.
pub(crate) struct Shift {
    kind: String,
    tasks: JoinSet<Writer>,
    ledger: Arc<Mutex<Ledger>>,
    answered: watch::Receiver<usize>,
    over: Arc<AtomicBool>,
}

struct Writer {
    slots: Vec<Slot>,
    rng: StdRng,
    number: u64,
    ledger: Arc<Mutex<Ledger>>,
}

/// A key, and the number of its acknowledged value, if any.
struct Slot {
    key: Key,
    known: Option<u64>,
    /// The state after the last request, if that was not answered.
    unanswered: Option<Option<u64>>,
}

impl Crew {
    pub(crate) fn new(writers: u64, seed: u64) -> Self {
        let kind = unique("crew");
        let ledger = Arc::default();
        let writers = (0..writers).map(|index| Writer {
            slots: (0..KEYS)
                .map(|key| Key::new(&kind, &format!("writer-{index}"), &format!("key-{key}")))
                .map(|key| Slot { key, known: None, unanswered: None })
                .collect(),
            rng: StdRng::seed_from_u64(seed.wrapping_add(index)),
            number: index * NUMBERS,
            ledger: Arc::clone(&ledger),
        });
        Self { writers: writers.collect(), kind, ledger }
    }

    /// Runs the writers until they are stopped or a request is not answered.
    pub(crate) fn start(self, service: &Service, client: &Client) -> Shift {
        let (sender, answered) = watch::channel(0);
        let sender = Arc::new(sender);
        let over = Arc::new(AtomicBool::new(false));
        let mut tasks = JoinSet::new();
        for mut writer in self.writers {
            let (line, sender, over) =
                (Line::new(service, client), Arc::clone(&sender), Arc::clone(&over));
            tasks.spawn(async move {
                while !over.load(Ordering::Relaxed) && writer.write(&line).await {
                    sender.send_modify(|count| *count += 1);
                }
                writer
            });
        }
        Shift { kind: self.kind, tasks, ledger: self.ledger, answered, over }
    }

    /// Checks that every key has the last acknowledged state, or that of an unanswered request
    /// after it.
    pub(crate) async fn verify(&mut self, service: &Service, client: &Client) {
        let line = Line::new(service, client);
        for slot in self.writers.iter_mut().flat_map(|writer| &mut writer.slots) {
            let reply = line.post("/get", slot.key.body()).await.expect("an answer");
            let stored = match reply.status {
                200 => Some(number(&Object::parse(&reply.body).value)),
                422 => None,
                _ => panic!("{reply:?}"),
            };
            let allowed = stored == slot.known || Some(stored) == slot.unanswered;
            assert!(allowed, "{stored:?}, but {:?} or {:?}", slot.known, slot.unanswered);
            slot.known = stored;
            slot.unanswered = None;
        }
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap()
    }
}

impl Shift {
    /// Waits until `count` requests were answered.
    pub(crate) async fn answered(&mut self, count: usize) {
        let answered = self.answered.wait_for(|answered| *answered >= count);
        let waited = timeout(blackbox::process::DEADLINE * 2, answered).await;
        waited.expect("the service answers in time").expect("a writer is at work");
    }

    /// A copy of the acknowledged changes so far.
    pub(crate) fn ledger(&self) -> Ledger {
        self.ledger.lock().unwrap().clone()
    }

    /// Stops the writers after their current requests.
    pub(crate) async fn stop(self) -> Crew {
        self.over.store(true, Ordering::Relaxed);
        self.ended().await
    }

    /// Waits until all writers have ended, because the service is gone or they were stopped.
    pub(crate) async fn ended(mut self) -> Crew {
        let writers = mem::take(&mut self.tasks).join_all().await;
        Crew { kind: self.kind, writers, ledger: self.ledger }
    }
}

impl Writer {
    /// Sets or deletes. Returns false if the request was not answered.
    async fn write(&mut self, line: &Line) -> bool {
        let slot = self.rng.random_range(0..KEYS);
        if self.rng.random_bool(0.2) {
            self.delete(slot, line).await
        } else {
            self.set(slot, line).await
        }
    }

    async fn set(&mut self, slot: usize, line: &Line) -> bool {
        let slot = &mut self.slots[slot];
        self.number += 1;
        slot.unanswered = Some(Some(self.number));
        let object = Object::new(&slot.key, value(self.number));
        let Some(reply) = line.post("/set", object.body()).await else { return false };
        assert_eq!(reply.status, 204, "{reply:?}");
        let set = (reply.revision.unwrap(), slot.key.clone(), self.number);
        self.ledger.lock().unwrap().sets.push(set);
        slot.known = Some(self.number);
        slot.unanswered = None;
        true
    }

    async fn delete(&mut self, slot: usize, line: &Line) -> bool {
        let slot = &mut self.slots[slot];
        slot.unanswered = Some(None);
        let Some(reply) = line.post("/delete", slot.key.body()).await else { return false };
        let expected = if slot.known.is_some() { 204 } else { 422 };
        assert_eq!(reply.status, expected, "{reply:?}");
        if slot.known.is_some() {
            self.ledger.lock().unwrap().deletions.push(slot.key.clone());
        }
        slot.known = None;
        slot.unanswered = None;
        true
    }
}
