//! Streams the operations of the books from SQLite.

use std::path::Path;

use common::{
    progress::Progress,
    sql::Columns,
    sqlite::{open_reader, require_current, stop_with},
};
use payments_domain::BookedOperation;

use super::{
    super::reconcile::{COUNT, OPERATIONS, ReconcileError, UNIT, stored_operation},
    DATABASE,
    check::sort_in_files,
};

/// Passes each operation to `add`, in one snapshot. A running service can keep using the store in
/// `data_dir`.
pub(in super::super) fn operations(
    data_dir: &Path,
    progress: &Progress,
    add: &mut dyn FnMut(&str, BookedOperation) -> Result<(), ReconcileError>,
) -> Result<(), ReconcileError> {
    let database = data_dir.join(DATABASE);
    require_current(&database)?;
    let mut db = open_reader(&database)?;
    stop_with(&mut db, progress, |_| ())?;
    sort_in_files(&db, data_dir)?;
    let snapshot = db.unchecked_transaction()?;
    let count: i64 = snapshot.query_one(COUNT, [], |row| row.get(0))?;
    progress.begin(UNIT, count.try_into().unwrap_or_default());
    let mut statement = snapshot.prepare(OPERATIONS)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (reference, booked) = stored_operation(&mut Columns::from(row))?;
        add(&reference, booked)?;
    }
    Ok(())
}
