//! Pages of lists.

use super::id::Id;

/// The most items a page may have.
pub(crate) const MAX_PAGE: u32 = 1000;

/// A stretch of a list: newest first, but oldest first where only `after` is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    /// The most items, 1 to [`MAX_PAGE`].
    pub(crate) limit: u32,
    /// Only items older than this one.
    pub(crate) before: Option<Id>,
    /// Only items newer than this one.
    pub(crate) after: Option<Id>,
}

impl Window {
    /// What is left of it after the item with this id, at most `limit` items.
    #[must_use]
    pub(crate) fn past(self, id: Id, limit: u32) -> Self {
        if self.is_forward() {
            Self { limit, after: Some(id), ..self }
        } else {
            Self { limit, before: Some(id), ..self }
        }
    }

    /// Whether the oldest come first.
    pub(crate) fn is_forward(&self) -> bool {
        self.after.is_some() && self.before.is_none()
    }
}
