//! Pages of lists.

use payments_domain::{Id, PageQuery};
use url::form_urlencoded;

use crate::app::{List, StoreError};

/// Items on a page.
pub(super) const PAGE: usize = 50;

/// A page of a list, newest first.
pub(super) struct Page<T> {
    pub(super) items: Vec<T>,
    /// Only items before this one are on the next page. `None`: there are no more.
    pub(super) next: Option<Id>,
    pub(super) is_first: bool,
}

impl<T> Page<T> {
    /// The first `size` items before an item.
    pub(super) async fn read(
        list: List<T>,
        before: Option<Id>,
        size: usize,
        id: fn(&T) -> Id,
    ) -> Result<Self, StoreError> {
        let limit = u32::try_from(size).unwrap_or(u32::MAX).saturating_add(1);
        let mut items = list(PageQuery { limit, before, after: None }).await?;
        let next = cut(&mut items, size).then(|| items.last().map(id)).flatten();
        Ok(Self { items, next, is_first: before.is_none() })
    }
}

/// Cuts a list to a page. Whether there are more items.
pub(super) fn cut<T>(items: &mut Vec<T>, size: usize) -> bool {
    let has_more = items.len() > size;
    items.truncate(size);
    has_more
}

/// A parameter of a query.
pub(super) fn param(query: Option<&str>, name: &str) -> Option<String> {
    let mut params = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    params.find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
}

/// The ID in the parameter `before`.
pub(super) fn before(query: Option<&str>) -> Option<Id> {
    param(query, "before")?.parse().ok()
}
