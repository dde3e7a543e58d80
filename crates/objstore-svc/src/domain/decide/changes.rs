//! The rows that a batch changes.

use std::sync::Arc;

use super::Head;
use crate::domain::{
    AdoptedRules, ClientId, Key, Object, Pattern, Record, Revision, StoredLifespan, Timestamp,
    TokenDigest, WatchCounts,
};

/// The row changes of a batch. Each row occurs at most once. Rows that reference a client need an
/// order: see `store/tables.rs`.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// The head that the batch counts from: that of `LoadedRows`.
    pub(crate) before: Head,
    /// The head after the batch.
    pub(crate) head: Head,
    pub(crate) deleted_sessions: Vec<TokenDigest>,
    /// Clients to delete, with their watches.
    pub(crate) deleted_clients: Vec<ClientId>,
    /// Clients whose ended watches up to their position are deleted.
    pub(crate) pruned_clients: Vec<ClientId>,
    pub(crate) new_clients: Vec<NewClient>,
    /// New numbers of watches of clients that existed before.
    pub(crate) watch_counts: Vec<(ClientId, WatchCounts)>,
    /// New `unused_until` of unused clients, unless the stored one is later; `None` if they are used.
    pub(crate) unused: Vec<(ClientId, Option<Timestamp>)>,
    pub(crate) new_sessions: Vec<NewSession>,
    /// Sessions to end before others are extended, each with the time. They get the digest
    /// [`TokenDigest::ended`].
    pub(crate) ended_sessions: Vec<(TokenDigest, Timestamp)>,
    /// New expiry of sessions, unless the stored one is later.
    pub(crate) extended_sessions: Vec<(TokenDigest, Timestamp)>,
    /// Objects to delete, if they exist.
    pub(crate) deleted_objects: Vec<Key>,
    /// Objects to insert or replace.
    pub(crate) set_objects: Vec<SetObject>,
    /// Presences to insert, and how many milliseconds they last. An existing one is extended.
    pub(crate) begun_presences: Vec<(ClientId, Timestamp)>,
    /// How many milliseconds these presences last, if they exist.
    pub(crate) kept_presences: Vec<(ClientId, Timestamp)>,
    /// Presences to delete.
    pub(crate) ended_presences: Vec<ClientId>,
    /// Watches from before the batch that end in it.
    pub(crate) ended_watches: Vec<WatchRow>,
    /// Watches that begin in the batch, in the order of `since`. Some also end in it.
    pub(crate) new_watches: Vec<WatchRow>,
    /// New positions of clients, unless the stored one is greater.
    pub(crate) positions: Vec<(ClientId, Revision)>,
    /// New access rules.
    pub(crate) rules: Option<AdoptedRules>,
    /// The time of the records; `None`: that of the database.
    pub(crate) at: Option<Timestamp>,
    /// Records to append, each with the bytes of all records up to it.
    pub(crate) records: Vec<(Record, i64)>,
    /// Whether to trim the change log.
    pub(crate) trims: bool,
}

impl Changes {
    /// The new revisions, bytes and clients.
    pub(crate) fn growth(&self) -> [i64; 3] {
        let Self { before, head, .. } = self;
        let revisions = (head.revision - before.revision).cast_signed();
        let clients = head.clients.cast_signed() - before.clients.cast_signed();
        [revisions, head.bytes - before.bytes, clients]
    }
}

/// An object to insert or replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SetObject {
    pub(crate) object: Arc<Object>,
    /// The revision that set it.
    pub(crate) revision: Revision,
    pub(crate) lifespan: StoredLifespan,
}

/// A client to insert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewClient {
    pub(crate) client: ClientId,
    /// The revision after which it gets pushes.
    pub(crate) position: Revision,
    /// When it is removed if it stays unused; `None` if it is used.
    pub(crate) unused_until: Option<Timestamp>,
    pub(crate) counts: WatchCounts,
}

/// A session to insert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewSession {
    pub(crate) token: TokenDigest,
    pub(crate) client: ClientId,
    pub(crate) expires: Timestamp,
}

/// A watch: the interval of the change log in which a client watches a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WatchRow {
    pub(crate) client: ClientId,
    pub(crate) pattern: Pattern,
    /// The revision of the watch. It matches the changes after this one.
    pub(crate) since: Revision,
    /// The revision of the end; `None` while the watch is open.
    pub(crate) until: Option<Revision>,
}
