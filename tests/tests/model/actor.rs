//! A client that does whatever the dice say, and notes what it was told and when.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use blackbox::{
    http::Answer,
    objstore::{Client, Key, Object, revision, unique},
};
use rand::{RngExt as _, rngs::StdRng};
use reqwest::Method;

use crate::history::{Operation, Outcome, State};

/// Numbers of writes that an actor has to itself.
const WRITES: u64 = 1_000_000;

/// What all actors share.
pub(crate) struct Stage {
    pub(crate) keys: Vec<Key>,
    /// A key that is set when all is over.
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

    /// Every change that matters here.
    pub(crate) fn all(&self) -> Key {
        Key::new("", &self.fence.namespace, "")
    }

    /// The number of a key.
    pub(crate) fn index(&self, key: &Key) -> usize {
        self.keys.iter().position(|one| one == key).unwrap()
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }
}

/// The value that a write makes.
pub(crate) fn value(write: u64) -> String {
    format!(r#"{{"write":{write}}}"#)
}

/// The write that made a value.
pub(crate) fn write(object: &Object) -> u64 {
    let digits = object.value.trim_matches(|letter: char| !letter.is_ascii_digit());
    let write = digits.parse().unwrap();
    assert_eq!(object.value, value(write));
    write
}

/// Whether a pattern matches a key.
pub(crate) fn matches(pattern: &Key, key: &Key) -> bool {
    let parts = [
        (&pattern.r#type, &key.r#type),
        (&pattern.namespace, &key.namespace),
        (&pattern.name, &key.name),
    ];
    parts.into_iter().all(|(pattern, part)| pattern.is_empty() || pattern == part)
}

/// A pattern that was watched, or was not any more.
pub(crate) struct WatchCall {
    pub(crate) pattern: Key,
    pub(crate) began: u64,
    pub(crate) ended: u64,
}

/// The client and its notes.
pub(crate) struct Actor {
    client: Client,
    /// Which of how many.
    place: (usize, usize),
    stage: Arc<Stage>,
    rng: StdRng,
    /// The number of its last write.
    writes: u64,
    /// The last entity tag that it saw of each key.
    tags: HashMap<usize, String>,
    pub(crate) operations: Vec<Operation>,
    /// Calls of watch and of unwatch, in turn, for each pattern.
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

    /// Does so many things.
    pub(crate) async fn act(mut self, count: usize) -> Self {
        for _ in 0..count {
            let key = self.rng.random_range(0..self.stage.keys.len());
            match self.rng.random_range(0..100) {
                0..35 => self.get(key).await,
                35..65 => self.set(key).await,
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
            // The value and its tag belong together.
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

    /// Sets, perhaps under a condition: what then was the case, and what if it is refused.
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
            Some((_, otherwise)) if answer.status == 412 => Outcome::Saw(otherwise),
            _ => {
                let answer: Answer = answer.expect(204);
                let tag = answer.header("etag").unwrap().to_owned();
                let revision = revision(&tag);
                self.tags.insert(key, tag);
                Outcome::Set { revision, write, given: states.map(|(given, _)| given) }
            }
        };
        self.note(key, began, outcome);
    }

    /// Deletes a key that nobody else deletes.
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

    /// A pattern with one part at least, so that it matches nothing of anybody else.
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
