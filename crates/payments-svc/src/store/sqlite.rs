//! The SQLite engine: a database in a directory that one service process owns. Only the `payout`
//! command writes it from another process.

use std::{
    io,
    path::Path,
    sync::{Arc, LazyLock},
    thread::available_parallelism,
};

use common::{
    aside::Aside,
    batch::Queue,
    exit::Fatal,
    migration::MigrationError,
    operations::Readiness,
    progress::Progress,
    sql::{ColumnError, Columns, Stored as _, bind},
    sqlite::{
        self as engine, Directory, DirectoryError, Disk, Embedded, Lookups, Readers, WriterThread,
    },
};
use rusqlite::Connection;

use super::{
    Found, Select, StoreError,
    snapshot::{SHORT_TRAIL, Snapshot, SnapshotRequest, SnapshotRows, statements},
};

mod batch;
mod check;
mod payouts;
mod reconcile;
mod transactions;

pub(super) use batch::last_id;
pub(super) use check::{check, sort_in_files};
pub(super) use payouts::pay_out;
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

/// Why the store could not be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    #[error("the database cannot be opened: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// Other processes append one byte to this file after each commit. If the file has become
    /// longer, the service reads the database again.
    #[error("the file payments.beside cannot be created in the data directory: {0}")]
    CommitNotice(#[source] io::Error),
    #[error(transparent)]
    Writer(#[from] engine::StartError),
    #[error(transparent)]
    Migration(#[from] MigrationError),
}

impl Fatal for OpenError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Directory(error) => error.exit_code(),
            Self::Sqlite(error) => error.exit_code(),
            Self::CommitNotice(error) => error.exit_code(),
            Self::Writer(error) => error.exit_code(),
            Self::Migration(error) => error.exit_code(),
        }
    }
}

pub(crate) struct Sqlite {
    /// Reads single rows on the thread of the caller: switching threads would take longer than the
    /// read.
    lookups: Arc<Lookups>,
    /// Reads many rows on separate threads.
    scans: Arc<Readers>,
    transactions: Arc<TransactionCache>,
    queue: Queue<Writer>,
    writer: WriterThread,
    disk: Arc<Disk>,
    _directory: Directory,
}

impl Sqlite {
    /// Opens the store in `data_dir`, with a cache of at most `cache` bytes.
    pub(super) fn open(data_dir: &Path, cache: u64) -> Result<Self, OpenError> {
        let directory = Directory::own(data_dir, DATABASE)?;
        let (mut connection, disk) = engine::recover(&directory)?;
        migrate(&mut connection)?;
        drop(connection);
        let cores = available_parallelism().map_or(2, usize::from);
        let lookups = Lookups::open(directory.database(), cores)?;
        let lookups = lookups.with_other_writers(directory.database());
        let lookups = Arc::new(lookups.map_err(OpenError::CommitNotice)?);
        let embedded =
            Embedded::open(directory.database(), Arc::clone(&disk), Arc::clone(&lookups))?;
        let transactions = Arc::new(TransactionCache::new(cache));
        let (queue, runner) = Queue::new(Writer::new(embedded, Arc::clone(&transactions)));
        Ok(Self {
            lookups,
            scans: Arc::new(Readers::open(directory.database(), cores)?),
            transactions,
            queue,
            writer: WriterThread::start(runner, |writer| writer.db.close())?,
            disk,
            _directory: directory,
        })
    }

    pub(super) fn readiness(&self) -> Readiness {
        let answers = |db: &Connection| db.prepare_cached("SELECT 1")?.query_row([], |_| Ok(()));
        let is_up = self.writer.is_running() && self.lookups.read(answers).is_ok();
        if is_up { self.disk.readiness() } else { Readiness::Down }
    }

    pub(super) fn disk(&self) -> &Arc<Disk> {
        &self.disk
    }

    pub(super) async fn writer_ended(&self) {
        self.writer.ended().await;
    }

    pub(super) async fn close(&self) {
        self.queue.stop();
        self.writer.ended().await;
    }

    pub(in crate::store) fn queue(&self) -> &Queue<Writer> {
        &self.queue
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
        Ok(self.lookups.read(|db| read(db, statements, each))?)
    }

    /// Reads a transaction before a movement.
    pub(super) fn snapshot(
        &self,
        question: &SnapshotRequest,
    ) -> Result<Option<Found<Snapshot>>, StoreError> {
        let SnapshotRequest { transaction, app, caller, key } = question;
        let [transactions_sql, trails_sql, keys_sql] = &*SNAPSHOT_SQL;
        let params = [transaction.param(), caller.as_bytes().param()];
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
        let scans = Arc::clone(&self.scans);
        Ok(aside.run(move || scans.read(scan)).await??)
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

/// Copies the store in `data_dir` to the new file `target`. A running service can keep using it.
pub(super) fn backup(
    data_dir: &Path,
    target: &Path,
    progress: &Progress,
) -> Result<(), engine::BackupError> {
    engine::backup(&data_dir.join(DATABASE), target, progress, |_| Ok(()))
}

#[cfg(test)]
mod tests;
