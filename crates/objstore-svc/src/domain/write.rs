//! Every write to the store, and its answer.

use std::{slice, sync::Arc};

use super::{
    ClientId, Intent, Key, Lifespan, Lifetime, Object, OwnerRule, Pattern, PresenceGrace, Refusal,
    Revision, RulesDigest, Timestamp, TokenDigest,
};

/// Bytes counted for a write, or for a record of the change log, in addition to its texts.
pub(crate) const OVERHEAD: usize = 64;

/// A change of one object.
#[derive(Debug, Clone)]
pub(crate) enum Operation {
    /// Creates or replaces an object.
    Set { object: Arc<Object>, intent: Intent, lifespan: Lifespan },
    /// Deletes an object. Rejected if it does not exist.
    Delete { key: Key, intent: Intent },
}

/// A write of a client, or of the service itself.
#[derive(Debug, Clone)]
pub(crate) enum Write {
    /// Registers a client if it is not registered, and adds a session.
    Register { client: ClientId, token: TokenDigest, now: Timestamp },
    /// Extends a session: it expires one lifetime after `now`.
    Extend { token: TokenDigest, now: Timestamp },
    /// Ends a session: it expires at `now`. No effect if it has ended.
    End { token: TokenDigest, now: Timestamp },
    /// Postpones the removal of an unused client.
    PostponeRemoval { client: ClientId, now: Timestamp },
    /// Marks a client as used, so that it stays as long as its sessions.
    MarkUsed { client: ClientId },
    /// Removes sessions that expired at least one lifetime ago, clients without sessions, and
    /// unused clients whose removal is due. It is always alone in its batch.
    Reap { now: Timestamp },
    /// Changes one object.
    Change(Operation),
    /// Changes several objects, each with another key: all of them, or none. Rejected with `refused`
    /// if none of its operations is.
    Group { operations: Vec<Operation>, refused: Option<Refusal> },
    /// Deletes objects whose time has passed at `now`, and if `gone` those whose client is gone. It is
    /// always alone in its batch.
    Expire { gone: bool, now: Timestamp },
    /// Sets how long the presences of these clients last, if they have one: longer if the clients
    /// are `connected`. It is always alone in its batch.
    KeepPresences { clients: Vec<ClientId>, connected: bool },
    /// Begins a watch. No effect if the client watches the pattern already.
    Watch { client: ClientId, pattern: Pattern },
    /// Ends a watch. No effect if the client does not watch the pattern.
    Unwatch { client: ClientId, pattern: Pattern },
    /// Records the access rules of a process, unless they are the newest of the store.
    AdoptRules { digest: RulesDigest },
    /// Maintenance: writes acknowledged positions. On SQLite it can also trim the change log
    /// (`trims`).
    Upkeep { positions: Vec<(ClientId, Revision)>, trims: bool },
}

impl Operation {
    pub(crate) fn key(&self) -> &Key {
        match self {
            Self::Set { object, .. } => &object.key,
            Self::Delete { key, .. } => key,
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Set { object, .. } => object.size(),
            Self::Delete { key, .. } => key.size(),
        }
    }
}

impl Write {
    /// The changes of objects that it makes if it is not rejected.
    pub(crate) fn operations(&self) -> &[Operation] {
        match self {
            Self::Change(operation) => slice::from_ref(operation),
            Self::Group { operations, .. } => operations,
            _ => &[],
        }
    }

    /// Bytes of memory that the write is counted with while it is pending.
    pub(crate) fn size(&self) -> usize {
        OVERHEAD
            + match self {
                Self::Change(operation) => operation.size(),
                Self::Group { operations, .. } => {
                    operations.iter().map(|operation| OVERHEAD + operation.size()).sum()
                }
                Self::Watch { pattern, .. } | Self::Unwatch { pattern, .. } => {
                    pattern.as_str().len()
                }
                Self::KeepPresences { clients, .. } => size_of_val(&clients[..]),
                _ => 0,
            }
    }
}

/// The result of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Done {
    /// The newest revision after the write. If the write appended a record, it is the
    /// revision of that record; of a group, the revision of its last record.
    pub(crate) revision: Revision,
    /// Whether work is left, so that the write should be repeated.
    pub(crate) more: bool,
}

/// Why a write was rejected, and the index of the first rejected operation of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) refusal: Refusal,
    pub(crate) operation: usize,
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, operation: 0 }
    }
}

/// The answer to a write. A rejected write changes nothing.
pub(crate) type Answer = Result<Done, Refused>;

/// Settings and constants of the store that decisions depend on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) owner: OwnerRule,
    pub(crate) lifetime: Lifetime,
    pub(crate) grace: PresenceGrace,
    pub(crate) max_clients: u64,
    /// Maximum number of open watches of a client, and separately of its ended watches.
    pub(crate) max_watches: u64,
}
