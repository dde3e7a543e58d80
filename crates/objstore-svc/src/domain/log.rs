//! The log: one record for everything that happened, in the order it happened.

use std::sync::Arc;

use super::{ClientId, Object, Pattern};

/// The place of a record in the log: 1 for the first, without gaps. 0 stands for "before all".
pub(crate) type Revision = u64;

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    /// Its place.
    pub(crate) revision: Revision,
    /// What happened.
    pub(crate) entry: Entry,
}

/// What a record tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    /// An object was set.
    Set(Arc<Object>),
    /// An object was deleted; the object as it last was.
    Delete(Arc<Object>),
    /// A client watches from here on.
    Watch(ClientId, Pattern),
    /// A client stopped watching here.
    Unwatch(ClientId, Pattern),
    /// A client was removed with all it watched.
    Forget(ClientId),
}

impl Entry {
    /// Bytes the entry holds.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Set(object) | Self::Delete(object) => object.size(),
            Self::Watch(_, pattern) | Self::Unwatch(_, pattern) => pattern.as_str().len(),
            Self::Forget(_) => 0,
        }
    }
}
