//! What a batch depends on.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use crate::domain::{
    ClientId, Key, Object, Operation, Pattern, Revision, Rules, Timestamp, TokenDigest, WatchCounts,
};

/// Clients that one [`Operation::Reap`] removes because of their sessions, and as many unused ones.
pub(crate) const REAP_CLIENTS: usize = 256;

/// The stored rows that a batch depends on.
#[derive(Debug, Default)]
pub(crate) struct Needs<'a> {
    /// Objects of which the revision is enough.
    pub(crate) revisions: HashSet<&'a Key>,
    /// Objects.
    pub(crate) objects: HashSet<&'a Key>,
    /// Clients.
    pub(crate) clients: HashSet<ClientId>,
    /// The number of ended watches from which on those are counted that the client's position has
    /// not passed. The others are removed, since no socket needs them.
    pub(crate) counted_from: u64,
    /// Open watches.
    pub(crate) watches: HashSet<(ClientId, &'a Pattern)>,
    /// Clients whose sessions count.
    pub(crate) sessions: HashSet<ClientId>,
    /// Clients that are due to be looked at.
    pub(crate) reap: Option<Reap>,
}

/// When clients are due to be looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reap {
    /// They have a session that ended by then,
    pub(crate) before: Timestamp,
    /// or are unused and were to stay until then.
    pub(crate) now: Timestamp,
}

impl Reap {
    pub(super) fn at(now: Timestamp, rules: &Rules) -> Self {
        Self { before: now.saturating_sub(rules.lifetime.millis()), now }
    }
}

impl<'a> Needs<'a> {
    /// What these operations depend on.
    pub(crate) fn of(batch: &[&'a Operation], rules: &Rules) -> Self {
        let mut needs = Self::default();
        let mut ends: u64 = 0;
        for operation in batch {
            match operation {
                Operation::Set { object, intent } if !intent.precondition.is_empty() => {
                    needs.revisions.insert(&object.key);
                }
                Operation::Delete { key, .. } => drop(needs.objects.insert(key)),
                Operation::Register { client, .. } => {
                    needs.clients.insert(*client);
                    needs.sessions.insert(*client);
                }
                Operation::Watch { client, pattern } | Operation::Unwatch { client, pattern } => {
                    needs.clients.insert(*client);
                    needs.watches.insert((*client, pattern));
                    ends += u64::from(matches!(operation, Operation::Unwatch { .. }));
                }
                Operation::Reap { now } => needs.reap = Some(Reap::at(*now, rules)),
                Operation::Set { .. }
                | Operation::Extend { .. }
                | Operation::Postpone { .. }
                | Operation::MarkUsed { .. }
                | Operation::Upkeep { .. } => {}
            }
        }
        // Watches that end in this batch may reach the limit in it.
        needs.counted_from = rules.max_watches.saturating_sub(ends);
        needs
    }

    /// Whether the batch depends on nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.revisions.is_empty()
            && self.objects.is_empty()
            && self.clients.is_empty()
            && self.reap.is_none()
    }
}

/// The numbers that every batch moves on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Head {
    /// The newest revision.
    pub(crate) revision: Revision,
    /// Bytes of all records ever.
    pub(crate) bytes: i64,
    /// Clients registered.
    pub(crate) clients: u64,
}

/// The rows that a batch needs, by [`Needs`]. Where it needs none, the head may be any: a batch
/// counts from it.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// The head at which the batch begins.
    pub(crate) head: Head,
    /// Revisions of objects.
    pub(crate) revisions: HashMap<Key, Revision>,
    /// Objects, with their revisions.
    pub(crate) objects: HashMap<Key, (Arc<Object>, Revision)>,
    /// Clients that are registered.
    pub(crate) clients: HashMap<ClientId, Watching>,
    /// Open watches, with their begin.
    pub(crate) watches: HashMap<(ClientId, Pattern), Revision>,
    /// All sessions of clients, with their end.
    pub(crate) sessions: HashMap<ClientId, Vec<(TokenDigest, Timestamp)>>,
    /// Clients that are due to be looked at. Their sessions are known.
    pub(crate) due: Due,
}

/// How many watches a client has.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Watching {
    /// The numbers.
    pub(crate) counts: WatchCounts,
    /// Whether the ended ones were counted, without those that the client's position has passed.
    pub(crate) is_counted: bool,
}

/// Clients that are due to be looked at, each once.
#[derive(Debug, Default)]
pub(crate) struct Due {
    /// Some of them.
    pub(crate) clients: Vec<DueClient>,
    /// Whether there may be more.
    pub(crate) more: bool,
}

/// A client that is due to be looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DueClient {
    /// The client.
    pub(crate) client: ClientId,
    /// Until when it stays, while it is unused.
    pub(crate) unused_until: Option<Timestamp>,
    /// Its open watches.
    pub(crate) open: u64,
}
