//! A stand-in for the store of objstore-svc: the same reads, on a change log in memory. Each read is
//! atomic. Other tasks may run before it, and between it and the return of its result.
//!
//! It also knows what each client has received, and checks each acknowledgement.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    domain::{
        Action, AdoptedRules, ClientId, Entry, Epoch, EpochId, Key, Object, Offset, Pattern, Place,
        Record, Revision, StoredLifespan, StoredObject, Watches,
    },
    rules,
    sync::mpsc,
    task::yield_now,
};

/// Number of records after which a page of the change log ends, except for the rest of a group.
const LOG_PAGE: usize = 4;

#[derive(Debug)]
pub(crate) struct ClientState {
    pub(crate) revision: Revision,
    pub(crate) watches: Watches,
    pub(crate) position: Revision,
    pub(crate) rules: AdoptedRules,
}

pub(crate) struct Feed {
    pub(crate) news: mpsc::Receiver<FeedItem>,
}

#[derive(Debug)]
pub(crate) enum FeedItem {
    Records(Vec<Record>),
    Missed(Revision),
}

pub(crate) enum LogPage {
    Records(Vec<Record>),
    Trimmed,
}

pub(crate) struct Page {
    pub(crate) objects: Vec<StoredObject>,
    pub(crate) more: bool,
}

#[derive(Debug)]
pub(crate) enum StoreError {
    NoWatchMemory,
    SocketLost,
    DispatchTimeout,
}

#[derive(Clone, Default)]
pub(crate) struct Store(Arc<Mutex<History>>);

#[derive(Default)]
struct History {
    /// All records, also those that are trimmed.
    log: Vec<Record>,
    /// Records up to this revision are trimmed.
    floor: Revision,
    positions: HashMap<ClientId, Revision>,
    received: HashSet<(ClientId, Revision)>,
}

impl Store {
    pub(crate) fn epoch(&self) -> Epoch {
        Epoch { id: EpochId::default(), start: 0 }
    }

    pub(crate) async fn client(&self, client: ClientId) -> Result<ClientState, StoreError> {
        self.read(|history| ClientState {
            revision: history.head(),
            watches: history.watches(client),
            position: history.position(client),
            rules: history.rules(),
        })
        .await
    }

    pub(crate) async fn log(&self, after: Revision) -> Result<LogPage, StoreError> {
        self.read(|history| {
            if after < history.floor || after > history.head() {
                return LogPage::Trimmed;
            }
            let mut left = history.log.iter().filter(|record| record.revision > after);
            let mut records: Vec<Record> = left.by_ref().take(LOG_PAGE).cloned().collect();
            while records.last().is_some_and(|record| record.joins_next) {
                records.extend(left.next().cloned());
            }
            LogPage::Records(records)
        })
        .await
    }

    /// A page has one object, so that tasks run between the objects of a reset.
    pub(crate) async fn find(
        &self,
        pattern: &Pattern,
        after: Option<&Key>,
        _until: Option<&Key>,
        _limit: usize,
    ) -> Result<Page, StoreError> {
        self.read(|history| {
            let mut objects: Vec<StoredObject> = history.objects().into_values().collect();
            let after = after.map(Key::parts);
            objects.retain(|StoredObject { object, .. }| {
                matches(pattern, &object.key) && Some(object.key.parts()) > after
            });
            let more = objects.len() > 1;
            objects.truncate(1);
            Page { objects, more }
        })
        .await
    }

    /// Moves the position of the client forward, after a check of [`Self::assert_received`].
    pub(crate) fn acknowledge(&self, client: ClientId, position: Revision) {
        self.assert_received(client, position);
        let mut history = self.history();
        let before = history.position(client);
        history.positions.insert(client, before.max(position));
    }

    /// Fails if the client has not received each set up to `through` that it watched.
    pub(crate) fn assert_received(&self, client: ClientId, through: Revision) {
        let history = self.history();
        for revision in history.pushes(client, false) {
            assert!(
                revision > through
                    || history.received.contains(&(client, revision))
                    || history.is_replaced(revision),
                "revision {revision} was not received, but {through} is acknowledged"
            );
        }
    }

    async fn read<T>(&self, read: impl FnOnce(&History) -> T) -> Result<T, StoreError> {
        yield_now().await;
        let result = read(&self.history());
        yield_now().await;
        Ok(result)
    }

    /// Appends the records of one group, or one record, to the change log.
    pub(crate) fn commit(&self, entries: Vec<Entry>) -> Vec<Record> {
        let mut history = self.history();
        let revisions = history.head() + 1..;
        let mut records: Vec<_> = (entries.into_iter().zip(revisions))
            .map(|(entry, revision)| Record { revision, entry, joins_next: true })
            .collect();
        if let Some(last) = records.last_mut() {
            last.joins_next = false;
        }
        history.log.extend(records.iter().cloned());
        records
    }

    /// Whether this record joins the next one.
    pub(crate) fn is_inside_group(&self, revision: Revision) -> bool {
        self.history().log.iter().any(|record| record.revision == revision && record.joins_next)
    }

    /// Trims the whole change log, and returns the newest revision.
    pub(crate) fn trim(&self) -> Revision {
        let mut history = self.history();
        history.floor = history.head();
        history.floor
    }

    pub(crate) fn head(&self) -> Revision {
        self.history().head()
    }

    pub(crate) fn is_trimmed(&self) -> bool {
        self.history().floor > 0
    }

    /// The revisions that the client watched: of its sets, and of its deletions if `deletions`.
    pub(crate) fn pushes(&self, client: ClientId, deletions: bool) -> Vec<Revision> {
        self.history().pushes(client, deletions)
    }

    /// The current object with this name.
    pub(crate) fn object(&self, name: &str) -> Option<Object> {
        self.history().objects().remove(name).map(|stored| stored.object)
    }

    /// An offset of this store.
    pub(crate) fn offset(&self, place: Place) -> Offset {
        Offset { epoch: self.epoch().start, place }
    }

    /// The objects that the client watches, each with its revision.
    pub(crate) fn watched_objects(&self, client: ClientId) -> BTreeMap<String, Revision> {
        self.objects_at(client, Revision::MAX, None)
    }

    /// The objects that matched `pattern` at a revision, or that the client watched, and that it might
    /// see by the access rules of that revision, each with its revision.
    pub(crate) fn objects_at(
        &self,
        client: ClientId,
        revision: Revision,
        pattern: Option<&Pattern>,
    ) -> BTreeMap<String, Revision> {
        let log = self.history().log.clone();
        let log = log.into_iter().filter(|record| record.revision <= revision).collect();
        let history = History { log, ..History::default() };
        let watches = history.watches(client);
        let is_asked = |key: &Key| match pattern {
            Some(pattern) => matches(pattern, key),
            None => watches.match_current(key).is_some(),
        };
        let sight = rules::with_digest(history.rules().digest).sight(client, Action::Watch);
        let objects = history.objects().into_iter();
        objects
            .filter(|(_, StoredObject { object, .. })| {
                is_asked(&object.key) && sight.has(&object.key, &object.owner)
            })
            .map(|(name, stored)| (name, stored.revision))
            .collect()
    }

    /// Records that the client has received the change `revision`.
    pub(crate) fn received(&self, client: ClientId, revision: Revision) {
        self.history().received.insert((client, revision));
    }

    /// Records that current values stand for all changes up to `through`.
    pub(crate) fn reset(&self, client: ClientId, through: Revision) {
        self.history().received.extend((1..=through).map(|revision| (client, revision)));
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl History {
    fn head(&self) -> Revision {
        self.log.last().map_or(0, |record| record.revision)
    }

    fn position(&self, client: ClientId) -> Revision {
        self.positions.get(&client).copied().unwrap_or(0)
    }

    fn watches(&self, client: ClientId) -> Watches {
        let mut watches = Watches::default();
        for Record { revision, entry, .. } in &self.log {
            match entry {
                Entry::Watch(of, pattern) if *of == client => {
                    watches.begin(pattern.clone(), *revision);
                }
                Entry::Unwatch(of, pattern) if *of == client => watches.end(pattern, *revision),
                Entry::Forget(of) if *of == client => watches.end_all(*revision),
                _ => {}
            }
        }
        watches
    }

    fn rules(&self) -> AdoptedRules {
        let rules = |record: &Record| match record.entry {
            Entry::Rules(digest) => Some(AdoptedRules { digest, revision: record.revision }),
            _ => None,
        };
        self.log.iter().rev().find_map(rules).unwrap_or_default()
    }

    /// The current objects by name.
    fn objects(&self) -> BTreeMap<String, StoredObject> {
        let mut objects = BTreeMap::new();
        let name = |object: &Object| object.key.parts()[2].to_owned();
        for &Record { revision, ref entry, .. } in &self.log {
            match entry {
                Entry::Set { object, .. } => {
                    let (copy, lifespan) = (Object::clone(object), StoredLifespan::default());
                    let stored = StoredObject { object: copy, revision, lifespan };
                    objects.insert(name(object), stored);
                }
                Entry::Delete(object, _) => drop(objects.remove(&name(object))),
                _ => {}
            }
        }
        objects
    }

    /// Whether a client may never receive the set `revision`: after a trim, a reset pushes only the
    /// last set of each object.
    fn is_replaced(&self, revision: Revision) -> bool {
        self.floor > 0 && self.objects().into_values().all(|stored| stored.revision != revision)
    }

    /// Written without [`Watches`], to check it, too.
    fn pushes(&self, client: ClientId, deletions: bool) -> Vec<Revision> {
        let mut open: HashSet<&Pattern> = HashSet::new();
        let mut pushes = Vec::new();
        for Record { revision, entry, .. } in &self.log {
            match entry {
                Entry::Watch(of, pattern) if *of == client => drop(open.insert(pattern)),
                Entry::Unwatch(of, pattern) if *of == client => drop(open.remove(pattern)),
                Entry::Forget(of) if *of == client => open.clear(),
                Entry::Delete(..) if !deletions => {}
                Entry::Set { object, .. } | Entry::Delete(object, _)
                    if open.iter().any(|pattern| matches(pattern, &object.key)) =>
                {
                    pushes.push(*revision);
                }
                _ => {}
            }
        }
        pushes
    }
}

fn matches(pattern: &Pattern, key: &Key) -> bool {
    let parts = pattern.parts().into_iter().zip(key.parts());
    parts.into_iter().all(|(given, part)| given.is_empty() || given == part)
}
