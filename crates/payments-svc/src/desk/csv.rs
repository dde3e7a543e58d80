//! CSV files of lists. They are read and sent page by page, so that a long file is never in memory as
//! a whole.

use std::io;

use axum::{
    body::Body,
    http::header,
    response::{IntoResponse as _, Response},
};
use common::{
    error::Cause,
    telemetry::{Trace, trace},
};
use futures_util::{StreamExt as _, future::ready, stream};
use payments_domain::{Id, PageQuery};

use crate::{
    app::{List, StoreError},
    web::Error,
};

/// Rows that are read at once.
const ROWS: u32 = 500;

/// Answers with a file of the whole list, newest first. `header` is its first line. `row` gives the ID that the list is sorted by,
/// and the cells, where text of others is [escaped](crate::formula::escape). Fails if the first rows
/// cannot be read. Later errors abort the answer.
pub(super) async fn file<T: Send + 'static, F>(
    name: &str,
    header: &'static str,
    list: List<T>,
    row: F,
) -> Result<Response, Error>
where
    F: Fn(&T) -> (Id, Vec<String>) + Send + 'static,
{
    let mut pieces = Pieces { header, list, row, left: Some(None) };
    let first = pieces.next().await?.unwrap_or_default();
    let next = |mut pieces: Pieces<T, F>| async move {
        match pieces.next().await {
            Ok(piece) => Ok(piece.map(|piece| (piece, pieces))),
            Err(error) => {
                tracing::error!(cause = %Cause::new(error), "file of the desk aborted");
                Err(io::Error::other("the file is aborted"))
            }
        }
    };
    let trace = Trace::current();
    let rest = stream::try_unfold(pieces, move |pieces| trace::scope(trace, next(pieces)));
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (header::CONTENT_DISPOSITION, &format!("attachment; filename=\"{name}.csv\"")),
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok((headers, Body::from_stream(stream::once(ready(Ok(first))).chain(rest))).into_response())
}

/// The part of a file that is not sent yet.
struct Pieces<T, F> {
    header: &'static str,
    list: List<T>,
    row: F,
    /// The last row that was read. `None` after the end.
    left: Option<Option<Id>>,
}

impl<T, F: Fn(&T) -> (Id, Vec<String>)> Pieces<T, F> {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(before) = self.left.take() else { return Ok(None) };
        let rows = (self.list)(PageQuery { limit: ROWS, before, after: None }).await?;
        let failed = |error: csv::Error| StoreError::ReadFailed(error.into());
        let begin = if before.is_none() { self.header } else { "" };
        let mut csv = csv::Writer::from_writer(begin.as_bytes().to_vec());
        let is_full = u32::try_from(rows.len()).is_ok_and(|read| read >= ROWS);
        for row in &rows {
            let (id, cells) = (self.row)(row);
            csv.write_record(cells).map_err(failed)?;
            self.left = is_full.then_some(Some(id));
        }
        csv.into_inner().map(Some).map_err(|error| failed(error.into_error().into()))
    }
}
