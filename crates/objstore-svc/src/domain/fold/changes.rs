//! What a batch changes.

use std::sync::Arc;

use super::Head;
use crate::domain::{
    ClientId, Key, Object, Pattern, Record, Revision, Timestamp, TokenDigest, WatchCounts,
};

/// The rows that a batch changes, each once. They are written in this order.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// The head at which the batch began.
    pub(crate) before: Head,
    /// The head after it.
    pub(crate) head: Head,
    /// Sessions that end.
    pub(crate) ended: Vec<TokenDigest>,
    /// Clients that are removed, with their watches.
    pub(crate) forgotten: Vec<ClientId>,
    /// Clients whose ended watches are removed that their position has passed.
    pub(crate) pruned: Vec<ClientId>,
    /// Clients that register.
    pub(crate) registered: Vec<NewClient>,
    /// How many watches clients have.
    pub(crate) counts: Vec<(ClientId, WatchCounts)>,
    /// Unused clients that stay until then, at least.
    pub(crate) postponed: Vec<(ClientId, Timestamp)>,
    /// Clients that have been used.
    pub(crate) used: Vec<ClientId>,
    /// Sessions that begin.
    pub(crate) begun: Vec<NewSession>,
    /// Sessions that live until then, at least.
    pub(crate) extended: Vec<(TokenDigest, Timestamp)>,
    /// Objects that are deleted, if they are there.
    pub(crate) deleted: Vec<Key>,
    /// Objects, each with the revision that set it.
    pub(crate) set: Vec<(Arc<Object>, Revision)>,
    /// Stretches begun before that end.
    pub(crate) unwatched: Vec<Stretch>,
    /// Stretches that begin in this batch, and perhaps end in it.
    pub(crate) watched: Vec<Stretch>,
    /// Positions of clients, unless they are further.
    pub(crate) positions: Vec<(ClientId, Revision)>,
    /// Records, each with the bytes of all records up to it.
    pub(crate) records: Vec<(Record, i64)>,
    /// Whether the log is trimmed, if it has to be.
    pub(crate) trims: bool,
}

impl Changes {
    /// How far a revision is beyond the head at which the batch began.
    pub(crate) fn beyond(&self, revision: Revision) -> i64 {
        (revision - self.before.revision).cast_signed()
    }
}

/// A client that registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewClient {
    /// The client.
    pub(crate) client: ClientId,
    /// The revision after which it is pushed changes.
    pub(crate) position: Revision,
    /// Until when it stays, while it is unused.
    pub(crate) unused_until: Option<Timestamp>,
    /// How many watches it has.
    pub(crate) counts: WatchCounts,
}

/// A session that begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewSession {
    /// The digest of its token.
    pub(crate) token: TokenDigest,
    /// Whose it is.
    pub(crate) client: ClientId,
    /// When it ends.
    pub(crate) expires: Timestamp,
}

/// A stretch of the log in which a client watches a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// The client.
    pub(crate) client: ClientId,
    /// What it watches.
    pub(crate) pattern: Pattern,
    /// Where the stretch begins.
    pub(crate) since: Revision,
    /// Where it ends.
    pub(crate) until: Option<Revision>,
}
