//! The change log: one record for each change of an object, each start or end of a watch, and each
//! removed client, in the order of their commits.

use std::sync::Arc;

use super::{ClientId, Object, Pattern};

/// The number of a record in the change log. The first record has revision 1, and there are no
/// gaps. 0 means: before the first record.
pub(crate) type Revision = u64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) revision: Revision,
    pub(crate) entry: Entry,
}

/// The content of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    /// An object was set: its new state.
    Set(Arc<Object>),
    /// An object was deleted: its last state.
    Delete(Arc<Object>),
    /// A client began to watch a pattern. The watch matches the changes after this record.
    Watch(ClientId, Pattern),
    /// A client ended a watch.
    Unwatch(ClientId, Pattern),
    /// A client was removed with its watches.
    Forget(ClientId),
}

impl Entry {
    /// Bytes of the texts in the entry.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Set(object) | Self::Delete(object) => object.size(),
            Self::Watch(_, pattern) | Self::Unwatch(_, pattern) => pattern.as_str().len(),
            Self::Forget(_) => 0,
        }
    }
}
