//! A batch in memory: each operation sees what those before it do, and nothing is written yet.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use super::super::columns::OVERHEAD;
use crate::domain::{
    ClientId, Entry, Epoch, Intent, Key, Lifetime, Object, OwnerRule, Pattern, Record, Refusal,
    Revision, Session, Stored, Timestamp, TokenDigest, WatchCounts,
};

/// A write as it is asked for.
pub(super) enum Operation {
    Register { client: ClientId, token: TokenDigest, now: Timestamp },
    Set { object: Arc<Object>, intent: Intent },
    Delete { key: Key, intent: Intent },
    Watch { client: ClientId, pattern: Pattern },
    Unwatch { client: ClientId, pattern: Pattern },
}

impl Operation {
    /// Bytes that it holds while it waits.
    pub(super) fn weight(&self) -> usize {
        OVERHEAD
            + match self {
                Self::Register { .. } => 0,
                Self::Set { object, .. } => object.size(),
                Self::Delete { key, .. } => key.size(),
                Self::Watch { pattern, .. } | Self::Unwatch { pattern, .. } => {
                    pattern.as_str().len()
                }
            }
    }
}

/// The newest revision after an operation, its own when it made one, or why nothing was done.
pub(super) type Answer = Result<Revision, Refusal>;

/// What operations are decided by, beside what is stored.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    pub(super) epoch: Epoch,
    pub(super) owner: OwnerRule,
    pub(super) lifetime: Lifetime,
    pub(super) max_clients: u64,
    pub(super) max_watches: u64,
}

/// The numbers that every batch moves on.
#[derive(Clone, Copy, Default)]
pub(super) struct Head {
    pub(super) revision: Revision,
    /// Bytes of all records ever.
    pub(super) bytes: i64,
    pub(super) clients: u64,
}

/// What is stored of what a batch is about. Where that is nothing, it may begin at no matter which
/// head: it counts from 0.
#[derive(Default)]
pub(super) struct Known {
    pub(super) head: Head,
    pub(super) objects: HashMap<Key, Stored>,
    pub(super) clients: HashMap<ClientId, Watching>,
    /// Open watches, with their begin.
    pub(super) watches: HashMap<(ClientId, Pattern), Revision>,
}

/// How many watches a client has.
#[derive(Clone, Copy, Default)]
pub(super) struct Watching {
    pub(super) counts: WatchCounts,
    /// Whether the ended ones were counted, without those that the client's position has passed.
    pub(super) is_counted: bool,
}

/// What a batch changes.
pub(super) struct Fold<'a> {
    rules: Rules,
    pub(super) known: &'a Known,
    pub(super) head: Head,
    /// Records, each with the bytes of all records up to it.
    pub(super) records: Vec<(Record, i64)>,
    /// The last of each object, and none where it was deleted.
    pub(super) objects: HashMap<&'a Key, Option<(Arc<Object>, Revision)>>,
    pub(super) registered: Vec<Registered>,
    /// Clients that registered again, with the time until which they stay unused.
    pub(super) returned: Vec<(ClientId, Timestamp)>,
    pub(super) sessions: Vec<(TokenDigest, ClientId, Timestamp)>,
    /// How many watches the clients have whose watches change.
    pub(super) clients: HashMap<ClientId, Watching>,
    /// Stretches that begin in this batch, and perhaps end in it.
    pub(super) begun: Vec<Stretch<'a>>,
    /// Stretches begun before that end.
    pub(super) ended: Vec<Stretch<'a>>,
    open: HashMap<(ClientId, &'a Pattern), Open>,
    pub(super) forgotten: Vec<ClientId>,
}

/// A new client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Registered {
    pub(super) client: ClientId,
    pub(super) position: Revision,
    pub(super) unused_until: Timestamp,
}

/// A stretch of the log in which a client watches a pattern.
pub(super) struct Stretch<'a> {
    pub(super) client: ClientId,
    pub(super) pattern: &'a Pattern,
    pub(super) since: Revision,
    pub(super) until: Option<Revision>,
}

/// Whether a pattern is watched, and since when.
#[derive(Clone, Copy)]
enum Open {
    No,
    Before(Revision),
    /// Since the batch's stretch with this index.
    Begun(usize),
}

impl<'a> Fold<'a> {
    pub(super) fn new(rules: Rules, known: &'a Known) -> Self {
        Self {
            rules,
            known,
            head: known.head,
            records: Vec::new(),
            objects: HashMap::new(),
            registered: Vec::new(),
            returned: Vec::new(),
            sessions: Vec::new(),
            clients: HashMap::new(),
            begun: Vec::new(),
            ended: Vec::new(),
            open: HashMap::new(),
            forgotten: Vec::new(),
        }
    }

    /// Folds a whole batch, or tells the index of an operation that panics.
    pub(super) fn of(
        rules: Rules,
        known: &'a Known,
        operations: impl Iterator<Item = &'a Operation>,
    ) -> Result<(Self, Vec<Answer>), usize> {
        let mut fold = Self::new(rules, known);
        let mut answers = Vec::new();
        for (index, operation) in operations.enumerate() {
            let apply = AssertUnwindSafe(|| fold.apply(operation));
            answers.push(catch_unwind(apply).map_err(|_| index)?);
        }
        Ok((fold, answers))
    }

    fn apply(&mut self, operation: &'a Operation) -> Answer {
        match operation {
            Operation::Register { client, token, now } => self.register(*client, *token, *now)?,
            Operation::Set { object, intent } => self.set(object, intent)?,
            Operation::Delete { key, intent } => self.delete(key, intent)?,
            Operation::Watch { client, pattern } => self.watch(*client, pattern)?,
            Operation::Unwatch { client, pattern } => self.unwatch(*client, pattern),
        }
        Ok(self.head.revision)
    }

    fn set(&mut self, object: &'a Arc<Object>, intent: &Intent) -> Result<(), Refusal> {
        let current = if intent.precondition.is_empty() {
            None
        } else {
            self.current(&object.key).map(|stored| stored.revision)
        };
        intent.decide_set(object, current, self.rules.owner, self.rules.epoch)?;
        let revision = self.append(Entry::Set(Arc::clone(object)));
        self.objects.insert(&object.key, Some((Arc::clone(object), revision)));
        Ok(())
    }

    fn delete(&mut self, key: &'a Key, intent: &Intent) -> Result<(), Refusal> {
        let object = intent.decide_delete(self.current(key), self.rules.owner, self.rules.epoch)?;
        self.append(Entry::Delete(Arc::new(object)));
        self.objects.insert(key, None);
        Ok(())
    }

    fn current(&self, key: &Key) -> Option<Stored> {
        match self.objects.get(key) {
            Some(Some((object, revision))) => {
                Some(Stored { object: Object::clone(object), revision: *revision })
            }
            Some(None) => None,
            None => self.known.objects.get(key).cloned(),
        }
    }

    fn register(
        &mut self,
        client: ClientId,
        token: TokenDigest,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let unused_until = Session::unused_until(now);
        if self.watching(client).is_none() {
            if self.head.clients >= self.rules.max_clients {
                return Err(Refusal::TooManyClients);
            }
            self.head.clients += 1;
            let position = self.head.revision;
            self.registered.push(Registered { client, position, unused_until });
            self.clients.insert(client, Watching::default());
        } else {
            self.returned.push((client, unused_until));
        }
        self.sessions.push((token, client, self.rules.lifetime.expiry(now)));
        Ok(())
    }

    fn watch(&mut self, client: ClientId, pattern: &'a Pattern) -> Result<(), Refusal> {
        if !matches!(self.open(client, pattern), Open::No) {
            return Ok(());
        }
        // Who is not registered any more may watch nothing.
        let watching = self.watching(client).ok_or(Refusal::TooManyWatches)?;
        let counts = watching.counts.begin(self.rules.max_watches)?;
        let since = self.append(Entry::Watch(client, pattern.clone()));
        self.clients.insert(client, Watching { counts, ..watching });
        self.open.insert((client, pattern), Open::Begun(self.begun.len()));
        self.begun.push(Stretch { client, pattern, since, until: None });
        Ok(())
    }

    fn unwatch(&mut self, client: ClientId, pattern: &'a Pattern) {
        let open = self.open(client, pattern);
        if matches!(open, Open::No) {
            return;
        }
        let until = Some(self.append(Entry::Unwatch(client, pattern.clone())));
        match open {
            Open::No => {}
            Open::Before(since) => self.ended.push(Stretch { client, pattern, since, until }),
            Open::Begun(index) => self.begun[index].until = until,
        }
        self.open.insert((client, pattern), Open::No);
        if let Some(watching) = self.watching(client) {
            let counts = watching.counts.end();
            self.clients.insert(client, Watching { counts, ..watching });
        }
    }

    /// Removes a client that has no session left, with what it watched.
    pub(super) fn forget(&mut self, client: ClientId) {
        self.append(Entry::Forget(client));
        self.head.clients = self.head.clients.saturating_sub(1);
        self.forgotten.push(client);
    }

    fn open(&self, client: ClientId, pattern: &'a Pattern) -> Open {
        self.open.get(&(client, pattern)).copied().unwrap_or_else(|| {
            let before = self.known.watches.get(&(client, pattern.clone()));
            before.map_or(Open::No, |&since| Open::Before(since))
        })
    }

    /// How far a revision is beyond the head at which the batch begins.
    pub(super) fn beyond(&self, revision: Revision) -> i64 {
        (revision - self.known.head.revision).cast_signed()
    }

    /// How many watches a client has; none where it is not registered.
    fn watching(&self, client: ClientId) -> Option<Watching> {
        self.clients.get(&client).or_else(|| self.known.clients.get(&client)).copied()
    }

    fn append(&mut self, entry: Entry) -> Revision {
        let bytes = i64::try_from(entry.size() + OVERHEAD).unwrap_or(i64::MAX);
        self.head.bytes = self.head.bytes.saturating_add(bytes);
        self.head.revision += 1;
        let record = Record { revision: self.head.revision, entry };
        self.records.push((record, self.head.bytes));
        self.head.revision
    }
}

#[cfg(test)]
mod tests;
