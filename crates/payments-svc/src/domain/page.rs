//! Pages of lists.

use super::id::Id;

/// The most items a page may have.
pub const MAX_PAGE: u32 = 1000;

/// A stretch of a list: newest first, but oldest first where only `after` is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The most items, 1 to [`MAX_PAGE`].
    pub limit: u32,
    /// Only items older than this one.
    pub before: Option<Id>,
    /// Only items newer than this one.
    pub after: Option<Id>,
}

impl Window {
    /// Whether the oldest come first.
    pub fn is_forward(&self) -> bool {
        self.after.is_some() && self.before.is_none()
    }
}
