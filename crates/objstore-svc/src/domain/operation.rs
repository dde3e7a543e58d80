//! Writes: what clients and the service ask for, and the answers.

use std::sync::Arc;

use super::{
    ClientId, Epoch, Intent, Key, Lifetime, Object, OwnerRule, Pattern, Refusal, Revision,
    Timestamp, TokenDigest,
};

/// Bytes that any operation or record is taken to cost beside what it carries.
pub(crate) const OVERHEAD: usize = 64;

/// A write as it is asked for.
#[derive(Debug, Clone)]
pub(crate) enum Operation {
    /// Registers a client, unless it is, with one more session.
    Register { client: ClientId, token: TokenDigest, now: Timestamp },
    /// Lets a session live on.
    Extend { token: TokenDigest, now: Timestamp },
    /// Lets an unused client stay on.
    Postpone { client: ClientId, now: Timestamp },
    /// An unused client has been used.
    MarkUsed { client: ClientId },
    /// Removes sessions and clients that are over. It is always alone in its batch.
    Reap { now: Timestamp },
    /// Sets an object.
    Set { object: Arc<Object>, intent: Intent },
    /// Deletes an object.
    Delete { key: Key, intent: Intent },
    /// Begins a watch.
    Watch { client: ClientId, pattern: Pattern },
    /// Ends a watch.
    Unwatch { client: ClientId, pattern: Pattern },
    /// The engine's own work: writes positions, and trims the log if the engine does that in its
    /// batches.
    Upkeep { positions: Vec<(ClientId, Revision)>, trims: bool },
}

impl Operation {
    /// Bytes that it holds while it waits.
    pub(crate) fn size(&self) -> usize {
        OVERHEAD
            + match self {
                Self::Set { object, .. } => object.size(),
                Self::Delete { key, .. } => key.size(),
                Self::Watch { pattern, .. } | Self::Unwatch { pattern, .. } => {
                    pattern.as_str().len()
                }
                _ => 0,
            }
    }
}

/// An operation that was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Done {
    /// The newest revision after it: its own, when it made one.
    pub(crate) revision: Revision,
    /// Whether it left some of its work to another operation of its kind.
    pub(crate) more: bool,
}

/// The answer to an operation. One that is refused changes nothing.
pub(crate) type Answer = Result<Done, Refusal>;

/// What operations are decided by, beside what is stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// The life of the store that its revisions belong to.
    pub(crate) epoch: Epoch,
    /// Whether owners are compared.
    pub(crate) owner: OwnerRule,
    /// How long sessions live.
    pub(crate) lifetime: Lifetime,
    /// Clients there may be.
    pub(crate) max_clients: u64,
    /// Watches a client may have.
    pub(crate) max_watches: u64,
}
