//! A client that keeps the last value it received of each object, over all its sockets.

use std::{collections::BTreeMap, time::Duration};

use blackbox::{
    objstore::{Client, Event, Key, Object, Service, Socket, unique},
    process::DEADLINE,
};
use tokio::{
    task::JoinHandle,
    time::{sleep, timeout},
};

use crate::objstore::put;

/// The pause before a client opens a socket again.
const PAUSE: Duration = Duration::from_millis(50);

/// The namespace of the objects that end a watcher. The last one: a pass over all current values of
/// a type ends with it.
const END: &str = "~";

/// A client while it has no socket.
pub(crate) struct Watcher {
    client: Client,
    pattern: Key,
    format: Format,
    values: BTreeMap<String, Object>,
    /// The close codes of its sockets so far.
    closes: Vec<Option<u16>>,
}

/// The messages that a client receives.
enum Format {
    Pushes,
    /// Events after the revision `since`. It moves with changes after `through`, the revision of the
    /// last reset of this socket.
    Events {
        since: Option<u64>,
        through: u64,
    },
}

/// A client that receives changes, and opens a new socket whenever its socket ends.
pub(crate) struct Watching {
    task: JoinHandle<Watcher>,
    /// The object that ends the task.
    last: Object,
}

impl Watcher {
    /// A client that watches all objects of a type and receives pushes.
    pub(crate) async fn of_pushes(service: &Service, kind: &str) -> Self {
        Self::new(service, kind, Format::Pushes).await
    }

    /// A client that watches all objects of a type and receives events.
    pub(crate) async fn of_events(service: &Service, kind: &str) -> Self {
        Self::new(service, kind, Format::Events { since: None, through: 0 }).await
    }

    async fn new(service: &Service, kind: &str, format: Format) -> Self {
        let (client, pattern) = (service.client().await, Key::new(kind, "", ""));
        client.watch(&pattern).await;
        Self { client, pattern, format, values: BTreeMap::new(), closes: Vec::new() }
    }

    /// Opens a socket at a replica.
    pub(crate) fn start(mut self, service: &Service) -> Watching {
        self.client = self.client.at(service);
        let end = Key::new(&self.pattern.r#type, END, &unique("end"));
        let last = Object::new(&end, "{}");
        Watching { task: tokio::spawn(self.watch(last.clone())), last }
    }

    async fn watch(mut self, last: Object) -> Self {
        loop {
            let query = self.query();
            let mut socket = match self.client.try_socket(&query).await {
                Ok(socket) => socket,
                Err(answer) => {
                    answer.refused(500, "not_upgraded");
                    sleep(PAUSE).await;
                    continue;
                }
            };
            let closed = loop {
                if let Err(code) = self.receive(&mut socket).await {
                    break code;
                }
                if self.values.get(&last.key.name) == Some(&last) {
                    socket.acknowledge().await;
                    socket.close().await;
                    return self;
                }
            };
            self.closes.push(closed);
            if closed.is_some() {
                socket.agree().await;
            }
        }
    }

    /// The query of the next socket.
    fn query(&mut self) -> String {
        let Format::Events { since, through } = &mut self.format else { return String::new() };
        *through = 0;
        let since = since.map_or_else(String::new, |since| format!("&since={since}"));
        format!("?events=true{since}")
    }

    /// Receives a change.
    async fn receive(&mut self, socket: &mut Socket) -> Result<(), Option<u16>> {
        let Format::Events { since, through } = &mut self.format else {
            let object = socket.next_push_or_close().await?;
            self.values.insert(object.key.name.clone(), object);
            return Ok(());
        };
        let revision = match socket.next_event_or_close().await? {
            Event::Set(revision, object) => {
                self.values.insert(object.key.name.clone(), object);
                revision
            }
            Event::Delete(revision, Object { key, .. })
            | Event::Ended(revision, Object { key, .. }, _)
            | Event::Hidden(revision, key) => {
                self.values.remove(&key.name);
                revision
            }
            Event::Reset(revision) => {
                self.values.clear();
                *through = revision;
                revision
            }
            Event::Synced(revision) | Event::Mark(revision) => revision,
        };
        if revision > *through {
            *since = Some(revision);
        }
        Ok(())
    }

    /// Checks that the client has the value of each of these objects. A client of events has no
    /// others. A client of pushes may have: no push says that an object is gone.
    pub(crate) fn holds(&self, objects: &[Object]) {
        let objects = objects.iter().filter(|object| object.key.namespace != END);
        let current: BTreeMap<_, _> = objects.map(|object| (&object.key.name, object)).collect();
        let learns_deletions = matches!(self.format, Format::Events { .. });
        let held = self.values.iter().filter(|(name, object)| {
            object.key.namespace != END && (learns_deletions || current.contains_key(name))
        });
        let held: BTreeMap<_, _> = held.collect();
        assert_eq!(held, current);
    }

    /// Checks that all sockets that ended were closed with 1011, and that at least one was.
    pub(crate) fn was_closed(&self) {
        let with_1011 = self.closes.iter().all(|code| *code == Some(1011));
        assert!(with_1011 && !self.closes.is_empty(), "closed with {:?}", self.closes);
    }
}

impl Watching {
    /// Sets one more object with this client, and waits until the watcher has received it.
    pub(crate) async fn finish(self, client: &Client) -> Watcher {
        put(client, &self.last).await;
        let ended = timeout(DEADLINE, self.task).await;
        ended.expect("the last set is pushed").expect("a watcher does not fail")
    }
}
