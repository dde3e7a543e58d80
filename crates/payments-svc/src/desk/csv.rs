//! CSV files of lists. They are read and sent page by page, so that a long file is never in memory as
//! a whole.

use std::{borrow::Cow, io};

use axum::{
    body::Body,
    http::header,
    response::{IntoResponse as _, Response},
};
use common::error::Cause;
use futures_util::{StreamExt as _, future::ready, stream};
use payments_domain::{Id, PageQuery};

use crate::{
    app::{List, StoreError},
    web::Error,
};

/// Rows that are read at once.
const ROWS: u32 = 500;

/// A row of a file.
pub(super) trait Row: Send + 'static {
    /// The names of the columns.
    const HEADER: &'static [&'static str];

    /// Lists are sorted by this ID.
    fn id(&self) -> Id;

    /// The cells. Text of others is [escaped](crate::formula::escape).
    fn cells(&self) -> Vec<Cow<'_, str>>;
}

/// Answers with a file of the whole list, newest first. Fails if the first rows cannot be read. Later
/// errors abort the answer.
pub(super) async fn file<T: Row>(name: &str, list: List<T>) -> Result<Response, Error> {
    let mut pieces = Pieces { list, left: Some(None) };
    let first = pieces.next().await?.unwrap_or_default();
    let rest = stream::try_unfold(pieces, async |mut pieces| match pieces.next().await {
        Ok(piece) => Ok(piece.map(|piece| (piece, pieces))),
        Err(error) => {
            tracing::error!(cause = %Cause::new(error), "file of the desk aborted");
            Err(io::Error::other("the file is aborted"))
        }
    });
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
struct Pieces<T> {
    list: List<T>,
    /// The last row that was read. `None` after the end.
    left: Option<Option<Id>>,
}

impl<T: Row> Pieces<T> {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(before) = self.left.take() else { return Ok(None) };
        let rows = (self.list)(PageQuery { limit: ROWS, before, after: None }).await?;
        let failed = |error: csv::Error| StoreError::ReadFailed(error.into());
        let mut csv = csv::Writer::from_writer(Vec::new());
        if before.is_none() {
            csv.write_record(T::HEADER).map_err(failed)?;
        }
        for row in &rows {
            csv.write_record(row.cells().iter().map(|cell| cell.as_bytes())).map_err(failed)?;
        }
        if u32::try_from(rows.len()).is_ok_and(|read| read >= ROWS) {
            self.left = rows.last().map(|row| Some(row.id()));
        }
        csv.into_inner().map(Some).map_err(|error| failed(error.into_error().into()))
    }
}
