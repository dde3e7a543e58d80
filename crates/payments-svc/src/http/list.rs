//! Lists: reading `limit`, cursors and filters from a query, and writing the response.
//!
//! A page may have 1000 items with long custom data. So it is never in memory as a whole:
//!
//! 1. A page is read and sent in pieces of at most [`MAX_PIECE`] items. The average size of the
//!    items of one piece gives the number of items of the next piece, so that it has about
//!    [`PIECE_BYTES`]. Each piece is a separate read of the store, which continues after the last
//!    ID of the piece before.
//! 2. The first [`PIECE_BYTES`] are read before the status line is sent. So the response is 503 if
//!    the store fails at once, and a short page has a `Content-Length`.
//! 3. After that, an error can only abort the connection. The closing bracket is sent only after
//!    the last item, so the caller notices that the list is incomplete.
//! 4. Bytes that the caller has not read yet count against [`Budget`]. If it is exhausted, the
//!    response is 503 `overloaded`, or aborted if it has started.
//!
//! The form of the response is fixed: a bare array with one item per line, because published
//! clients read it line by line. An empty list is `[`, a line break and `]`.

use std::{convert::Infallible, io, sync::Arc};

use axum::{
    body::Body,
    extract::FromRequestParts,
    http::{HeaderName, HeaderValue, header, request::Parts},
    response::{IntoResponse as _, Response},
};
use common::{
    error::Cause,
    limits::Budget,
    telemetry::{Trace, trace},
};
use futures_util::{StreamExt as _, future::ready, stream};
use payments_domain::{FieldError, Id, MAX_PAGE_SIZE, PageQuery};

use super::api::Api;
use crate::{
    app::{List, Payments, StoreError},
    web::{Error, Fields, Reported, fields},
};

/// A request for a page of a list.
pub(super) struct Query {
    pub(super) payments: Arc<Payments>,
    memory: Arc<Budget>,
    query: Option<String>,
}

impl FromRequestParts<Arc<Api>> for Query {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, Infallible> {
        let (payments, memory) = (Arc::clone(&api.payments), Arc::clone(&api.responses));
        Ok(Self { payments, memory, query: parts.uri.query().map(str::to_owned) })
    }
}

impl Query {
    /// The page, and the filters of the list. `filters` reads them from the object `filter`:
    ///
    /// ```text
    /// query.read(|filter| filter.flag("test"))
    /// ```
    pub(super) fn read<F>(
        &self,
        filters: impl FnOnce(&mut Fields<'_>) -> Result<F, Reported>,
    ) -> Result<(PageQuery, F), Vec<FieldError>> {
        read(self.query.as_deref(), filters)
    }

    /// Answers with a page of `list`, which has no filters.
    pub(super) async fn answer<T: Item>(&self, list: List<T>) -> Result<Response, Error> {
        let (page_query, ()) = self.read(|_| Ok(()))?;
        self.page(page_query, list).await
    }

    /// Answers with a page of `list`.
    pub(super) async fn page<T: Item>(
        &self,
        page_query: PageQuery,
        list: List<T>,
    ) -> Result<Response, Error> {
        response(&self.memory, page_query, list).await
    }
}

fn read<F>(
    query: Option<&str>,
    filters: impl FnOnce(&mut Fields<'_>) -> Result<F, Reported>,
) -> Result<(PageQuery, F), Vec<FieldError>> {
    fields::read_query(query, |fields| {
        let limit = fields.required_number("limit", limit);
        // Decision: an empty cursor is an error. If it were ignored, the caller would start again
        // at the beginning of the list.
        let before = fields.given("before", str::parse);
        let after = fields.given("after", str::parse);
        let mut filter = fields.object("filter");
        let filters = filters(&mut filter);
        // If an unknown filter were ignored, the list would have more items than the caller expects.
        filter.reject_rest(UNKNOWN);
        fields.reject_rest(UNKNOWN);
        Ok((PageQuery { limit: limit?, before: before?, after: after? }, filters?))
    })
}

/// The error of parameters and filters that a list does not have.
pub(super) const UNKNOWN: &str = "is not a parameter of this list";

fn limit(number: i64) -> Result<u32, String> {
    let limit = u32::try_from(number).ok().filter(|limit| (1..=MAX_PAGE_SIZE).contains(limit));
    limit.ok_or_else(|| format!("must be from 1 to {MAX_PAGE_SIZE}"))
}

/// In items.
const MAX_PIECE: u32 = 100;

/// Target size of a piece, in bytes. An estimate: items differ in length.
const PIECE_BYTES: usize = 256 * 1024;

const JSON: [(HeaderName, HeaderValue); 1] =
    [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];

/// An item of a list.
pub(super) trait Item: Send + 'static {
    /// Number of items in the first piece, when the size of the items is not known yet.
    const FIRST_PIECE: u32 = MAX_PIECE;

    /// Lists are sorted by this ID. It is also the cursor.
    fn id(&self) -> Id;

    /// Appends the item as callers read it.
    fn write_json(&self, json: &mut Vec<u8>) -> serde_json::Result<()>;
}

/// Implements [`Item`] for a type with a field `id`. The function `$output` converts an item to the
/// form that callers read.
macro_rules! item {
    ($item:ty, $output:expr) => {
        impl $crate::http::list::Item for $item {
            fn id(&self) -> payments_domain::Id {
                self.id
            }

            fn write_json(&self, json: &mut Vec<u8>) -> serde_json::Result<()> {
                serde_json::to_writer(json, &$output(self))
            }
        }
    };
}

pub(super) use item;

/// Reads a page with `read` and answers with it. `Err` if the first piece cannot be read, or if
/// `memory` has no bytes left.
async fn response<T: Item>(
    memory: &Arc<Budget>,
    page_query: PageQuery,
    read: List<T>,
) -> Result<Response, Error> {
    let mut pieces = Pieces { read, left: Some(page_query), size: T::FIRST_PIECE, is_begun: false };
    let mut first = Vec::new();
    while first.len() < PIECE_BYTES
        && let Some(piece) = pieces.next().await?
    {
        first.extend(piece);
    }
    let first = memory.hold(first).ok_or(StoreError::Overloaded)?;
    if pieces.left.is_none() {
        return Ok((JSON, first).into_response());
    }
    let rest = (pieces, Arc::clone(memory));
    let next = |(mut pieces, memory): (Pieces<T>, Arc<Budget>)| async move {
        let held = |piece| memory.hold(piece).ok_or(StoreError::Overloaded);
        match pieces.next().await.and_then(|piece| piece.map(held).transpose()) {
            Ok(piece) => Ok(piece.map(|piece| (piece, (pieces, memory)))),
            Err(error) => {
                tracing::error!(cause = %Cause::new(error), "list response aborted");
                Err(io::Error::other("the list response is aborted"))
            }
        }
    };
    let trace = Trace::current();
    let rest = stream::try_unfold(rest, move |rest| trace::scope(trace, next(rest)));
    Ok((JSON, Body::from_stream(stream::once(ready(Ok(first))).chain(rest))).into_response())
}

pub(super) fn empty() -> Response {
    (JSON, "[\n]").into_response()
}

/// The part of a page that is not sent yet.
struct Pieces<T> {
    read: List<T>,
    left: Option<PageQuery>,
    /// Number of items in the next piece.
    size: u32,
    is_begun: bool,
}

impl<T: Item> Pieces<T> {
    /// Reads the next piece as JSON. `None` after the last one.
    async fn next(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(page_query) = self.left.take() else { return Ok(None) };
        let limit = page_query.limit.min(self.size);
        let items = (self.read)(PageQuery { limit, ..page_query }).await?;
        let mut json = Vec::new();
        for item in &items {
            let is_first = !std::mem::replace(&mut self.is_begun, true);
            json.extend_from_slice(if is_first { b"[\n" } else { b",\n" });
            item.write_json(&mut json).map_err(|error| StoreError::ReadFailed(error.into()))?;
        }
        let left = page_query.limit.saturating_sub(limit);
        let is_full = items.len() == usize::try_from(limit).unwrap_or(usize::MAX);
        match items.last() {
            Some(last) if is_full && left > 0 => {
                let fit = PIECE_BYTES.saturating_mul(items.len()) / json.len().max(1);
                self.size = u32::try_from(fit).unwrap_or(MAX_PIECE).clamp(1, MAX_PIECE);
                self.left = Some(page_query.rest_after(last.id(), left));
            }
            _ if self.is_begun => json.extend_from_slice(b"\n]"),
            _ => json.extend_from_slice(b"[\n]"),
        }
        Ok(Some(json))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LOWER: &str = "5f0c1e2da0b1c2d3e4f50617";

    /// The filters of the lists of transactions and of disputes, in one type.
    type Filters = (Option<bool>, Id, Option<Id>);

    fn filters(filter: &mut Fields<'_>) -> Result<Filters, Reported> {
        let successful = filter.flag("successful");
        let merchant = filter.required("merchantId", str::parse);
        let transaction = filter.given("transactionId", str::parse);
        Ok((successful?, merchant?, transaction?))
    }

    fn errors(query: &str) -> Vec<(String, String)> {
        let errors = read(Some(query), filters).unwrap_err();
        let text = |error: FieldError| (error.field.into_owned(), error.message.into_owned());
        errors.into_iter().map(text).collect()
    }

    #[test]
    fn all_errors_of_a_query_are_listed() {
        let good = format!("filter[merchantId]={LOWER}");
        for limit in ["0", "1001", "65537", "", "-1", "+1", "1.0", "1e2", "x", "９"] {
            let query = format!("limit={}&{good}", limit.replace('+', "%2B"));
            assert_eq!(errors(&query)[0].0, "limit", "{limit}");
        }
        for cursor in ["", "x", &LOWER[1..], &format!("{LOWER}0"), "+f0c1e2da0b1c2d3e4f50617"] {
            let query = format!("limit=1&before={}&{good}", cursor.replace('+', "%2B"));
            let rule = "must be 24 hexadecimal digits".to_owned();
            assert_eq!(errors(&query), [("before".to_owned(), rule)], "{cursor}");
        }
        let fields =
            |query: &str| errors(query).into_iter().map(|(field, _)| field).collect::<Vec<_>>();
        let all = "limit=0&before=1&after=2&filter[successful]=maybe&filter[transactionId]=";
        assert_eq!(
            fields(all),
            [
                "limit",
                "before",
                "after",
                "filter.successful",
                "filter.merchantId",
                "filter.transactionId"
            ]
        );
        assert_eq!(fields(""), ["limit", "filter.merchantId"]);
        assert_eq!(fields("filter=x"), ["limit", "filter"]);
        assert_eq!(fields("limit=%ff"), [""]);
        // If a wrong parameter were ignored, the list would contain more than requested.
        for name in ["limit", "before", "after"] {
            assert_eq!(fields(&format!("limit=1&{good}&{name}[]=1"))[0], name);
        }
        for name in ["filter[successful][]", "filter[successful][a]", "filter[][successful]"] {
            let field = if name.starts_with("filter[]") { "filter" } else { "filter.successful" };
            assert_eq!(fields(&format!("limit=1&{good}&{name}=yes")), [field]);
        }
        for name in ["limit", "before", "after"] {
            let query = format!("limit=1&{good}&{name}={LOWER}&{name}={LOWER}");
            assert_eq!(fields(&query), [name]);
        }
    }

    #[test]
    fn unknown_parameters_and_filters_are_rejected_by_name() {
        let good = format!("limit=1&filter[merchantId]={LOWER}");
        for (query, field) in [
            ("x=1", "x"),
            ("Limit=1", "Limit"),
            ("x[y]=1&x[z]=2&x=3", "x"),
            ("x[]=1", "x"),
            ("filter[x]=", "filter.x"),
            ("filter[merchantid]=1", "filter.merchantid"),
            ("filter[x][y]=1&filter[x]=1", "filter.x"),
            ("filter%5bx%5d%5b%5d=1", "filter.x"),
            ("filter[a.b c]=1", "filter.a.b c"),
        ] {
            let expected = [(field.to_owned(), UNKNOWN.to_owned())];
            assert_eq!(errors(&format!("{good}&{query}")), expected, "{query}");
        }
        let both = "b=1&filter[d]=1&a=1&filter[c]=1&limit=0";
        let fields = errors(both).into_iter().map(|(field, _)| field).collect::<Vec<_>>();
        assert_eq!(fields, ["limit", "filter.merchantId", "filter.c", "filter.d", "a", "b"]);
    }

    /// An item whose JSON is its number.
    struct Number(u32);

    impl Item for Number {
        fn id(&self) -> Id {
            format!("{:024x}", self.0).parse().unwrap()
        }

        fn write_json(&self, json: &mut Vec<u8>) -> serde_json::Result<()> {
            serde_json::to_writer(json, &self.0)
        }
    }

    /// Lists the numbers from 1 to `end`, newest first. Returns the response, and the limit of each
    /// read.
    #[tokio::main(flavor = "current_thread")]
    async fn listed<T: Item>(item: fn(u32) -> T, end: u32, limit: u32) -> (String, Vec<u32>) {
        let (limits, reads) = std::sync::mpsc::channel();
        let page_query = PageQuery { limit, before: None, after: None };
        let read: List<T> = Box::new(move |page_query| {
            limits.send(page_query.limit).unwrap();
            let before = page_query.before.unwrap_or(Id::MAX);
            let items = (1..=end).rev().map(item).filter(|item| item.id() < before);
            let items = items.take(page_query.limit as usize).collect::<Vec<_>>();
            Box::pin(ready(Ok(items)))
        });
        let response =
            super::response(&Budget::new("test", usize::MAX), page_query, read).await.unwrap();
        assert_eq!(response.headers()[header::CONTENT_TYPE], "application/json");
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (String::from_utf8(body.to_vec()).unwrap(), reads.try_iter().collect())
    }

    /// An item whose JSON fills half a piece.
    struct Long(u32);

    impl Item for Long {
        const FIRST_PIECE: u32 = 3;

        fn id(&self) -> Id {
            Number(self.0).id()
        }

        fn write_json(&self, json: &mut Vec<u8>) -> serde_json::Result<()> {
            serde_json::to_writer(json, &"x".repeat(PIECE_BYTES / 2))
        }
    }

    #[test]
    fn long_items_are_read_in_small_pieces() {
        let (_, reads) = listed(Long, 10, 8);
        assert_eq!(reads, [3, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn a_long_list_is_read_in_pieces() {
        for (end, limit, reads) in [
            (99, 1000, vec![100]),
            (100, 1000, vec![100, 100]),
            (250, 1000, vec![100, 100, 100]),
            (250, 200, vec![100, 100]),
            (250, 101, vec![100, 1]),
        ] {
            let (body, limits) = listed(Number, end, limit);
            assert_eq!(limits, reads, "{limit} of {end}");
            let numbers: Vec<u32> = serde_json::from_str(&body).unwrap();
            let expected: Vec<u32> = (1..=end).rev().take(limit as usize).collect();
            assert_eq!(numbers, expected);
            assert_eq!(body.lines().count(), expected.len() + 2);
        }
    }

    proptest! {
        #[test]
        fn random_queries_are_read_or_rejected(query in "(limit|before|after|filter|[\\[\\]=&%+]|[0-9a-f]|\\PC){0,20}") {
            let read = read(Some(&query), |filter| filter.flag("test"));
            prop_assert!(read.map_or_else(|errors| !errors.is_empty(), |_| true));
        }
    }
}
