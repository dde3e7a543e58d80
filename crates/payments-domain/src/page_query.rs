//! Pages of lists.

use super::id::Id;

/// The maximum number of items of a page.
pub const MAX_PAGE_SIZE: u32 = 1000;

/// Which page of a list to read. The order is newest first, or oldest first if only `after` is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageQuery {
    /// From 1 to [`MAX_PAGE_SIZE`].
    pub limit: u32,
    /// Only items older than this one.
    pub before: Option<Id>,
    /// Only items newer than this one.
    pub after: Option<Id>,
}

impl PageQuery {
    /// The rest of the page after the item with this ID, with at most `limit` items.
    #[must_use]
    pub fn rest_after(self, id: Id, limit: u32) -> Self {
        if self.is_forward() {
            Self { limit, after: Some(id), ..self }
        } else {
            Self { limit, before: Some(id), ..self }
        }
    }

    /// Whether the order is oldest first.
    pub fn is_forward(&self) -> bool {
        self.after.is_some() && self.before.is_none()
    }
}
