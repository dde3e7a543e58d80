//! Streams the operations of the books from PostgreSQL.

use std::pin::pin;

use common::{postgres::Database, progress::Progress, sql::Columns};
use futures_util::TryStreamExt as _;
use payments_domain::BookedOperation;
use tokio_postgres::types::ToSql;

use super::{
    super::{
        DatabaseConfig,
        reconcile::{COUNT, OPERATIONS, ReconcileError, UNIT, stored_operation},
    },
    check::{PLANNER, SNAPSHOT},
};

/// Passes each operation to `add`, in one snapshot. Running services can keep using the database.
pub(in super::super) async fn operations(
    config: &DatabaseConfig,
    progress: &Progress,
    add: &mut dyn FnMut(&str, BookedOperation) -> Result<(), ReconcileError>,
) -> Result<(), ReconcileError> {
    let database = Database::of(config)?;
    let failed = |error| database.failed(error);
    let session = database.connect_patiently().await?;
    session.batch_execute(SNAPSHOT).await.map_err(failed)?;
    session.batch_execute(PLANNER).await.map_err(failed)?;
    let read = async {
        let count = session.query_one(COUNT, &[]).await.map_err(failed)?;
        let count: i64 = count.try_get(0).map_err(failed)?;
        progress.begin(UNIT, count.try_into().unwrap_or_default());
        // A stream, because the rows may not fit into memory.
        let rows = session.query_raw(OPERATIONS, None::<&dyn ToSql>).await.map_err(failed)?;
        let mut rows = pin!(rows);
        while let Some(row) = rows.try_next().await.map_err(failed)? {
            let (reference, booked) = stored_operation(&mut Columns::from(&row))?;
            add(&reference, booked)?;
        }
        Ok(())
    };
    database.unless_stopped(progress, session.cancel_token(), read).await?
}
