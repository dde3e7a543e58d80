//! A client that does random operations, and records each answer with its times.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use blackbox::{
    http::Answer,
    objstore::{Client, Key, Object, batch, revision, unique},
};
use rand::{RngExt as _, rngs::StdRng};
use reqwest::Method;
use serde_json::Value as Json;

use crate::history::{Operation, Outcome, State};

/// Write numbers reserved for each actor, so that no two writes have the same value.
const WRITES: u64 = 1_000_000;

/// The state shared by all actors of a round.
pub(crate) struct Stage {
    pub(crate) keys: Vec<Key>,
    /// A key that is set last, to mark the end of the pushes.
    pub(crate) fence: Key,
    clock: AtomicU64,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let namespace = unique("namespace");
        let (kinds, names) = ([unique("a"), unique("b")], [unique("x"), unique("y"), unique("z")]);
        let keys = kinds
            .iter()
            .flat_map(|kind| names.iter().map(|name| Key::new(kind, &namespace, name)))
            .collect();
        let fence = Key::new(&unique("fence"), &namespace, &unique("fence"));
        Self { keys, fence, clock: AtomicU64::new(1) }
    }

    /// A pattern that matches every key of the round.
    pub(crate) fn all(&self) -> Key {
        Key::new("", &self.fence.namespace, "")
    }

    /// The index of a key in `keys`.
    pub(crate) fn index(&self, key: &Key) -> usize {
        self.keys.iter().position(|one| one == key).unwrap()
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }
}

/// The value of the write with this number.
pub(crate) fn value(write: u64) -> String {
    format!(r#"{{"write":{write}}}"#)
}

/// The number of the write that made a value.
pub(crate) fn write(object: &Object) -> u64 {
    let digits = object.value.trim_matches(|letter: char| !letter.is_ascii_digit());
    let write = digits.parse().unwrap();
    assert_eq!(object.value, value(write));
    write
}

pub(crate) fn matches(pattern: &Key, key: &Key) -> bool {
    let parts = [
        (&pattern.r#type, &key.r#type),
        (&pattern.namespace, &key.namespace),
        (&pattern.name, &key.name),
    ];
    parts.into_iter().all(|(pattern, part)| pattern.is_empty() || pattern == part)
}

/// A call of watch or unwatch, with the times of request and answer.
pub(crate) struct WatchCall {
    pub(crate) pattern: Key,
    pub(crate) began: u64,
    pub(crate) ended: u64,
}

/// An operation of a batch: the state that its success proves, and the one that 412 proves.
#[derive(Clone, Copy)]
struct Part {
    key: usize,
    write: Option<u64>,
    given: Option<State>,
    failed: Option<State>,
}

/// A client and its records.
pub(crate) struct Actor {
    client: Client,
    /// The index of this actor and the number of actors.
    place: (usize, usize),
    stage: Arc<Stage>,
    rng: StdRng,
    /// The number of the last write.
    writes: u64,
    /// The last entity tag seen of each key.
    tags: HashMap<usize, String>,
    pub(crate) operations: Vec<Operation>,
    /// For each pattern, alternating calls of watch and unwatch.
    pub(crate) watching: Vec<Vec<WatchCall>>,
}

impl Actor {
    pub(crate) fn new(
        client: Client,
        place: (usize, usize),
        stage: Arc<Stage>,
        rng: StdRng,
    ) -> Self {
        let (index, _) = place;
        Self {
            client,
            place,
            stage,
            rng,
            writes: WRITES * u64::try_from(index + 1).unwrap(),
            tags: HashMap::new(),
            operations: Vec::new(),
            watching: Vec::new(),
        }
    }

    /// Does `count` random operations.
    pub(crate) async fn act(mut self, count: usize) -> Self {
        for _ in 0..count {
            let key = self.rng.random_range(0..self.stage.keys.len());
            match self.rng.random_range(0..100) {
                0..30 => self.get(key).await,
                30..50 => self.set(key).await,
                50..65 => self.batch().await,
                65..73 => self.set_if_unchanged(key).await,
                73..78 => self.create(key).await,
                78..86 => self.delete().await,
                86..93 => self.find().await,
                _ => self.watch_or_unwatch().await,
            }
        }
        self
    }

    async fn get(&mut self, key: usize) {
        let began = self.stage.tick();
        let answer = self.client.post("/get", self.stage.keys[key].body()).await;
        let state = if answer.status == 422 {
            State::Absent
        } else {
            let answer = answer.expect(200);
            let tag = answer.header("etag").unwrap().to_owned();
            let object = Object::parse(answer.text());
            // Recorded as two reads: the value and its tag have to be consistent.
            self.note(key, began, Outcome::Saw(State::At(revision(&tag))));
            self.tags.insert(key, tag);
            State::Written(write(&object))
        };
        self.note(key, began, Outcome::Saw(state));
    }

    async fn set(&mut self, key: usize) {
        self.write(key, None, None).await;
    }

    async fn set_if_unchanged(&mut self, key: usize) {
        let Some(tag) = self.tags.get(&key).cloned() else { return };
        let at = revision(&tag);
        let condition = Some(("if-match", tag));
        self.write(key, condition, Some((State::At(at), State::NotAt(at)))).await;
    }

    async fn create(&mut self, key: usize) {
        let condition = Some(("if-none-match", "*".to_owned()));
        self.write(key, condition, Some((State::Absent, State::Present))).await;
    }

    /// Sets, optionally with a condition. `states` are the states that success and 412 prove.
    async fn write(
        &mut self,
        key: usize,
        condition: Option<(&str, String)>,
        states: Option<(State, State)>,
    ) {
        self.writes += 1;
        let write = self.writes;
        let object = Object::new(&self.stage.keys[key], value(write));
        let mut request = self.client.request(Method::POST, "/set").body(object.body());
        if let Some((name, text)) = condition {
            request = request.header(name, text);
        }
        let began = self.stage.tick();
        let answer = request.send().await;
        let outcome = match states {
            Some((_, failed)) if answer.status == 412 => Outcome::Saw(failed),
            _ => {
                let answer: Answer = answer.expect(204);
                let tag = answer.header("etag").unwrap().to_owned();
                let revision = revision(&tag);
                self.tags.insert(key, tag);
                let given = states.map(|(given, _)| given);
                Outcome::Made { revision, write: Some(write), given, joins_next: false }
            }
        };
        self.note(key, began, outcome);
    }

    /// Changes several keys at once, some with conditions. The first change is a set.
    async fn batch(&mut self) {
        let (place, actors) = self.place;
        let mut operations = Vec::new();
        let mut parts = Vec::new();
        let count = self.rng.random_range(1..=4);
        for key in rand::seq::index::sample(&mut self.rng, self.stage.keys.len(), count) {
            let parts_of_key = self.stage.keys[key].clone();
            let tag = self.tags.get(&key).filter(|_| self.rng.random_bool(0.4)).cloned();
            let if_match = tag.as_ref().map(|tag| format!(",\"IfMatch\":{}", Json::from(&**tag)));
            let at = tag.as_deref().map(revision);
            let more = if_match.unwrap_or_default();
            let is_own = key % actors == place;
            if !parts.is_empty() && is_own && self.rng.random_bool(0.5) {
                operations.push(parts_of_key.deletion(&more));
                let given = at.map_or(State::Present, State::At);
                parts.push(Part {
                    key,
                    write: None,
                    given: Some(given),
                    failed: at.map(State::NotAt),
                });
                continue;
            }
            self.writes += 1;
            let object = Object::new(&parts_of_key, value(self.writes));
            let creates = at.is_none() && self.rng.random_bool(0.2);
            let more = if creates { r#","IfNoneMatch":"*""# } else { &more };
            operations.push(object.operation(more));
            let [given, failed] = match at {
                Some(at) => [Some(State::At(at)), Some(State::NotAt(at))],
                None if creates => [Some(State::Absent), Some(State::Present)],
                None => [None, None],
            };
            parts.push(Part { key, write: Some(self.writes), given, failed });
        }
        let began = self.stage.tick();
        let answer = self.client.post("/batch", batch(&operations)).await;
        let json = answer.json();
        if answer.status != 200 {
            let refused = usize::try_from(json["operation"].as_u64().unwrap()).unwrap();
            let before = parts[..refused].iter().filter_map(|part| Some((part.key, part.given?)));
            let Part { key, failed, .. } = parts[refused];
            let failed = match answer.status.as_u16() {
                412 => failed.unwrap(),
                422 => State::Absent,
                _ => panic!("{answer:?}"),
            };
            let states = before.chain([(key, failed)]).collect();
            return self.note(key, began, Outcome::SawAll(states));
        }
        let ended = self.stage.tick();
        let first = json["Results"][0]["ETag"].as_str().unwrap();
        for (index, (Part { key, write, given, .. }, at)) in
            parts.iter().copied().zip(revision(first)..).enumerate()
        {
            if let Some(tag) = json["Results"][index]["ETag"].as_str() {
                assert_eq!(revision(tag), at, "{answer:?}");
                self.tags.insert(key, tag.to_owned());
            }
            let joins_next = index + 1 < parts.len();
            let outcome = Outcome::Made { revision: at, write, given, joins_next };
            self.operations.push(Operation { key, began, ended, outcome });
        }
    }

    /// Deletes a key that no other actor deletes.
    async fn delete(&mut self) {
        let (place, actors) = self.place;
        let own: Vec<_> = (place..self.stage.keys.len()).step_by(actors).collect();
        let key = own[self.rng.random_range(0..own.len())];
        let began = self.stage.tick();
        let answer = self.client.post("/delete", self.stage.keys[key].body()).await;
        let outcome = if answer.status == 422 {
            Outcome::Saw(State::Absent)
        } else {
            let _ = answer.expect(204);
            Outcome::Deleted
        };
        self.note(key, began, outcome);
    }

    async fn find(&mut self) {
        let pattern = self.pattern();
        let began = self.stage.tick();
        let found = self.client.find(&pattern).await;
        let ended = self.stage.tick();
        assert!(found.iter().all(|object| matches(&pattern, &object.key)));
        for (key, parts) in self.stage.keys.iter().enumerate() {
            if matches(&pattern, parts) {
                let object = found.iter().find(|object| object.key == *parts);
                let state = object.map_or(State::Absent, |object| State::Written(write(object)));
                let outcome = Outcome::Saw(state);
                self.operations.push(Operation { key, began, ended, outcome });
            }
        }
    }

    async fn watch_or_unwatch(&mut self) {
        let pattern = self.pattern();
        let known = self.watching.iter().position(|calls| calls[0].pattern == pattern);
        let index = known.unwrap_or_else(|| {
            self.watching.push(Vec::new());
            self.watching.len() - 1
        });
        let began = self.stage.tick();
        if self.watching[index].len().is_multiple_of(2) {
            self.client.watch(&pattern).await;
        } else {
            self.client.unwatch(&pattern).await;
        }
        let ended = self.stage.tick();
        self.watching[index].push(WatchCall { pattern, began, ended });
    }

    /// A pattern with at least one part, so that it matches no keys of other tests.
    fn pattern(&mut self) -> Key {
        let mut pattern = self.stage.keys[self.rng.random_range(0..self.stage.keys.len())].clone();
        let given = self.rng.random_range(1..8);
        for (part, text) in
            [&mut pattern.r#type, &mut pattern.namespace, &mut pattern.name].into_iter().enumerate()
        {
            if given >> part & 1 == 0 {
                text.clear();
            }
        }
        pattern
    }

    fn note(&mut self, key: usize, began: u64, outcome: Outcome) {
        let ended = self.stage.tick();
        self.operations.push(Operation { key, began, ended, outcome });
    }
}
