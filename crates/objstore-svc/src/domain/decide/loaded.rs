//! The rows that a batch depends on: which ones ([`Needs`]), and their content ([`LoadedRows`]).

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use crate::domain::{
    Cause, ClientId, EpochId, Key, Object, Operation, Owner, Pattern, Revision, Rules, RulesDigest,
    StoredLifespan, Timestamp, TokenDigest, WatchCounts, Write,
};

/// Maximum number of clients with expired sessions, and of unused clients, in one
/// [`Write::Reap`].
pub(crate) const REAP_CLIENTS: usize = 256;

/// Watches after which one [`Write::Reap`] removes no further client.
pub(crate) const REAP_WATCHES: u64 = 20_000;

/// Maximum number of objects that one [`Write::Expire`] deletes for each cause.
pub(crate) const EXPIRE_OBJECTS: usize = 1024;

/// Bytes of values after which [`Write::Expire`] deletes no further object.
pub(crate) const EXPIRE_BYTES: usize = 8 * 1024 * 1024;

/// Bytes of values after which a batch loads no further object that it deletes. Records contain these
/// objects.
pub(crate) const DELETE_BYTES: u64 = 64 * 1024 * 1024;

/// The stored rows that a batch depends on.
#[derive(Debug, Default)]
pub(crate) struct Needs<'a> {
    /// Objects of which everything but the value is read.
    pub(crate) current: HashSet<&'a Key>,
    pub(crate) objects: HashSet<&'a Key>,
    pub(crate) clients: HashSet<ClientId>,
    /// The stored number of a client's ended watches is an upper bound. If it is at least
    /// `recount_at`, the engine counts the watches that ended after the client's position instead.
    /// The batch deletes the other ended watches, since a socket that starts at the position does
    /// not need them.
    pub(crate) recount_at: u64,
    /// Patterns of which the open watch is read, if there is one.
    pub(crate) watches: HashSet<(ClientId, &'a Pattern)>,
    /// Clients whose sessions are read.
    pub(crate) sessions: HashSet<ClientId>,
    /// Clients to examine for expired sessions, or because they are unused.
    pub(crate) reap: Option<Reap>,
    /// Objects are read whose last millisecond is before this time.
    pub(crate) expired: Option<Timestamp>,
    /// Whether presences are read, too.
    pub(crate) gone: bool,
    /// Whether the newest access rules are read.
    pub(crate) rules: bool,
    /// Whether the clock of the store is read.
    pub(crate) now: bool,
}

/// Which clients [`Write::Reap`] examines.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reap {
    /// Clients with a session that expired at this time or before.
    pub(crate) before: Timestamp,
    /// Unused clients whose `unused_until` is this time or before.
    pub(crate) now: Timestamp,
}

impl Reap {
    pub(super) fn at(now: Timestamp, rules: &Rules) -> Self {
        Self { before: now.saturating_sub(rules.lifetime.millis()), now }
    }
}

impl<'a> Needs<'a> {
    /// The rows that the writes of `batch` depend on.
    pub(crate) fn of(batch: &[&'a Write], rules: &Rules) -> Self {
        let mut needs = Self::default();
        let mut ends: u64 = 0;
        for write in batch {
            match write {
                Write::Change(_) | Write::Group { .. } => {
                    write.operations().iter().for_each(|operation| needs.add(operation));
                }
                Write::Register { client, .. } => {
                    needs.clients.insert(*client);
                    needs.sessions.insert(*client);
                }
                Write::Watch { client, pattern } | Write::Unwatch { client, pattern } => {
                    needs.clients.insert(*client);
                    needs.watches.insert((*client, pattern));
                    ends += u64::from(matches!(write, Write::Unwatch { .. }));
                }
                Write::Expire { gone, now } => {
                    needs.expired = Some(*now);
                    needs.gone = *gone;
                }
                Write::AdoptRules { .. } => needs.rules = true,
                Write::Reap { now } => needs.reap = Some(Reap::at(*now, rules)),
                Write::Extend { .. }
                | Write::End { .. }
                | Write::PostponeRemoval { .. }
                | Write::MarkUsed { .. }
                | Write::KeepPresences { .. }
                | Write::Upkeep { .. } => {}
            }
        }
        // The watches that end in this batch may reach the limit within the batch.
        needs.recount_at = rules.max_watches.saturating_sub(ends);
        needs
    }

    fn add(&mut self, operation: &'a Operation) {
        match operation {
            Operation::Set { object, intent, lifespan } => {
                if intent.needs_current() || lifespan.keeps {
                    self.current.insert(&object.key);
                }
                self.now |= lifespan.ttl.is_some();
            }
            Operation::Delete { key, .. } => drop(self.objects.insert(key)),
        }
    }

    /// Whether the batch needs neither rows nor the head. Needed watches and sessions always come
    /// with needed clients.
    pub(crate) fn is_empty(&self) -> bool {
        self.current.is_empty()
            && self.objects.is_empty()
            && self.clients.is_empty()
            && self.reap.is_none()
            && self.expired.is_none()
            && !self.rules
            && !self.now
    }
}

/// Totals of the store that a batch changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Head {
    /// The newest revision.
    pub(crate) revision: Revision,
    /// Bytes of all records so far, including trimmed ones.
    pub(crate) bytes: i64,
    /// Registered clients.
    pub(crate) clients: u64,
}

/// The rows that [`Needs`] names, as they are stored. If [`Needs`] is empty, `head` may have any
/// value, since the batch only counts from it: see rule 4 of `decide.rs`.
#[derive(Debug, Default)]
pub(crate) struct LoadedRows {
    pub(crate) epoch: EpochId,
    /// The head before the batch.
    pub(crate) head: Head,
    /// The objects of [`Needs::current`].
    pub(crate) current: HashMap<Key, CurrentObject>,
    /// The objects of [`Needs::objects`], with their revisions.
    pub(crate) objects: HashMap<Key, (Arc<Object>, Revision)>,
    /// Those whose values were not loaded, with the bytes of these: see [`DELETE_BYTES`].
    pub(crate) unloaded: HashMap<Key, (CurrentObject, u64)>,
    /// The clients of [`Needs::clients`] that are registered.
    pub(crate) clients: HashMap<ClientId, ClientWatches>,
    /// The open watches, with their revisions.
    pub(crate) watches: HashMap<(ClientId, Pattern), Revision>,
    /// All sessions of the clients of [`Needs::sessions`] and `due`, with their expiry.
    pub(crate) sessions: HashMap<ClientId, Vec<(TokenDigest, Timestamp)>>,
    /// The clients of [`Needs::reap`].
    pub(crate) due: Due,
    /// The objects of [`Needs::expired`] and [`Needs::gone`], and why they end.
    pub(crate) expired: Vec<(Arc<Object>, Cause)>,
    /// Clients of [`Needs::gone`] without presence objects.
    pub(crate) absent: Vec<ClientId>,
    /// The newest access rules.
    pub(crate) rules: RulesDigest,
    /// The wall clock of the store, for the times of records. `None` if it is not read.
    pub(crate) at: Option<Timestamp>,
    /// From when lifespans count, not before `at`. 0 if it is not needed.
    pub(crate) now: Timestamp,
}

/// A stored object without its value.
#[derive(Debug, Clone)]
pub(crate) struct CurrentObject {
    pub(crate) owner: Owner,
    pub(crate) revision: Revision,
    pub(crate) lifespan: StoredLifespan,
}

/// How many watches a client has.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ClientWatches {
    pub(crate) counts: WatchCounts,
    /// Whether `counts.ended` is the counted number of watches that ended after the client's
    /// position, instead of the stored number.
    pub(crate) is_exact: bool,
}

/// Clients for [`Write::Reap`], each once.
#[derive(Debug, Default)]
pub(crate) struct Due {
    pub(crate) clients: Vec<DueClient>,
    /// Whether there may be more.
    pub(crate) more: bool,
}

/// A client for [`Write::Reap`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct DueClient {
    pub(crate) client: ClientId,
    /// When it is removed if it stays unused; `None` if it is used.
    pub(crate) unused_until: Option<Timestamp>,
    pub(crate) counts: WatchCounts,
}
