//! The SQLite engine: a database in a directory that one process owns.

use std::{
    path::Path,
    sync::{Arc, LazyLock},
    thread::available_parallelism,
};

use common::{
    aside::Aside,
    migration::MigrationError,
    sql::{ColumnError, Columns, Stored as _, bind},
    sqlite::{self as engine, Base, Embedded, Lookups, Owned, StartError},
};
use rusqlite::Connection;

use super::{
    Found, Select, StoreError,
    snapshot::{SHORT_TRAIL, Snapshot, SnapshotRequest, SnapshotRows, statements},
};

mod batch;
mod check;
mod reconcile;
mod transactions;

pub(super) use batch::last_id;
pub(super) use check::{check, sort_in_files};
pub(super) use reconcile::operations;

use batch::Writer;
pub(super) use transactions::Place;
use transactions::TransactionCache;

/// The file of the database, in the data directory.
pub(super) const DATABASE: &str = "payments.db";

/// The statements of [`Sqlite::snapshot`].
static SNAPSHOT_SQL: LazyLock<[String; 3]> = LazyLock::new(|| {
    statements([
        "(SELECT $1 AS id, $2 AS caller, 1 AS question) AS asked",
        &format!(
            "(SELECT 1 AS question) AS asked
                 JOIN trail ON trail.\"transaction\" = $1 AND step < {SHORT_TRAIL}
             WHERE (SELECT steps FROM transactions WHERE id = $1) <= {SHORT_TRAIL}"
        ),
        "(SELECT $1 AS app, $2 AS key, 1 AS question) AS asked",
    ])
});

mod migrations {
    refinery::embed_migrations!("migrations/sqlite");
}

pub(crate) struct Sqlite {
    pub(super) base: Base<Writer>,
    transactions: Arc<TransactionCache>,
}

impl Sqlite {
    /// Opens the store in `data_dir`, with a cache of at most `cache` bytes.
    pub(super) async fn open(data_dir: &Path, cache: u64) -> Result<Self, StartError> {
        let owned = Owned::open_aside(data_dir, DATABASE, migrate).await?;
        let cores = available_parallelism().map_or(2, usize::from);
        let lookups = Lookups::open(owned.path(), cores)?;
        let transactions = Arc::new(TransactionCache::new(cache));
        let cached = Arc::clone(&transactions);
        let writer = |embedded: Embedded, db: &Connection| Writer::new(embedded, db, cached);
        let base = owned.start(lookups, cores, writer, |writer| writer.db.close())?;
        Ok(Self { base, transactions })
    }

    pub(super) fn transactions(&self) -> &TransactionCache {
        &self.transactions
    }

    /// Reads single rows, in one snapshot.
    pub(super) fn query_inline(
        &self,
        statements: &[Select<'_>],
        each: &mut RowCallback<'_>,
    ) -> Result<(), StoreError> {
        Ok(self.base.lookups.read(|db| read(db, statements, each))?)
    }

    /// Reads a transaction before a movement.
    pub(super) fn snapshot(
        &self,
        question: &SnapshotRequest,
    ) -> Result<Option<Found<Snapshot>>, StoreError> {
        let SnapshotRequest { transaction, app, caller, key } = question;
        let [transactions_sql, trails_sql, keys_sql] = &*SNAPSHOT_SQL;
        let params = [transaction.param(), caller.param()];
        let key_params = [app.param(), key.param()];
        let mut statements: Vec<Select<'_>> =
            vec![(transactions_sql, &params), (trails_sql, &params[..1])];
        statements.extend(key.as_ref().map(|_| (&**keys_sql, &key_params[..])));
        let mut answers = SnapshotRows::to(1);
        self.query_inline(&statements, &mut |statement, columns| answers.read(statement, columns))?;
        Ok(answers.finished().pop().flatten())
    }

    /// Reads many rows on a separate thread. Sees every write that was answered before.
    pub(super) async fn scan<T: Send + 'static>(
        &self,
        aside: &Aside,
        scan: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        Ok(self.base.scan(aside, scan).await??)
    }
}

/// Runs the missing migrations.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), MigrationError> {
    engine::migrate(connection, migrations::migrations::runner())
}

/// Receives each row, with the index of its statement.
pub(super) type RowCallback<'a> =
    dyn FnMut(usize, &mut Columns<'_>) -> Result<(), ColumnError> + Send + 'a;

/// Passes every row of the statements to `each`.
pub(super) fn read(
    db: &Connection,
    statements: &[Select<'_>],
    each: &mut RowCallback<'_>,
) -> rusqlite::Result<()> {
    for (index, (sql, params)) in statements.iter().enumerate() {
        let mut statement = db.prepare_cached(sql)?;
        bind(&mut statement, *params)?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            each(index, &mut Columns::from(row))?;
        }
    }
    Ok(())
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::ReadFailed(error.into())
    }
}

#[cfg(test)]
pub(super) mod tests;
