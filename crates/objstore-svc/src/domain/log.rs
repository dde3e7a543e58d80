//! The change log: one record for each change of an object, each start or end of a watch, each
//! removed client, and each change of the access rules, in the order of their commits.

use std::sync::Arc;

use super::{Cause, ClientId, Object, Owner, Pattern, RulesDigest, StoredLifespan};

/// The number of a record in the change log. The first record has revision 1, and there are no
/// gaps. 0 means: before the first record.
pub(crate) type Revision = u64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) revision: Revision,
    pub(crate) entry: Entry,
    /// Whether the next record is of the same group of operations. No client is told that it has the
    /// state between them.
    pub(crate) joins_next: bool,
}

/// The content of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    /// An object was set: its new state.
    Set {
        object: Arc<Object>,
        lifespan: StoredLifespan,
        /// The owner before, if it was another one and there were access rules.
        before: Option<Owner>,
    },
    /// An object was deleted: its last state. `None` if a client deleted it.
    Delete(Arc<Object>, Option<Cause>),
    /// A client began to watch a pattern. The watch matches the changes after this record.
    Watch(ClientId, Pattern),
    /// A client ended a watch.
    Unwatch(ClientId, Pattern),
    /// A client was removed with its watches.
    Forget(ClientId),
    /// A process has loaded other access rules.
    Rules(RulesDigest),
}

impl Entry {
    /// Bytes of the texts in the entry.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Set { object, before, .. } => {
                object.size() + before.as_ref().map_or(0, |owner| owner.as_str().len())
            }
            Self::Delete(object, _) => object.size(),
            Self::Watch(_, pattern) | Self::Unwatch(_, pattern) => pattern.as_str().len(),
            Self::Forget(_) | Self::Rules(_) => 0,
        }
    }
}
