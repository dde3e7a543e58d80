//! The embedded engine: SQLite in a directory that one process owns.

use std::{
    io,
    path::Path,
    sync::{Arc, LazyLock},
    thread::available_parallelism,
};

use common::{
    aside::Aside,
    batch::Queue,
    migration::MigrationError,
    sql::{ColumnError, Columns, Stored as _, bind},
    sqlite::{self as engine, Directory, DirectoryError, Embedded, Lookups, Readers, WriterThread},
};
use rusqlite::Connection;

use super::{
    Asked, Found, StoreError,
    seen::{Answers, Question, SHORT_TRAIL, Seen, statements},
};

mod batch;
mod check;
mod payouts;

pub(super) use check::check;
pub(super) use payouts::pay_out;

use batch::Writer;

/// The database's file in the data directory.
const DATABASE: &str = "payments.db";

/// The statements of [`Sqlite::seen`].
static SEEN: LazyLock<[String; 3]> = LazyLock::new(|| {
    statements([
        "(SELECT $1 AS id, $2 AS app, 1 AS question) AS asked",
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
    /// The directory cannot be used.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The database cannot be read.
    #[error("the database cannot be opened: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The file that other processes announce their commits in cannot be made.
    #[error("the file beside the database cannot be made: {0}")]
    Beside(#[source] io::Error),
    /// Its writer cannot be started.
    #[error(transparent)]
    Writer(#[from] engine::StartError),
    /// The database cannot be brought to this version's shape.
    #[error(transparent)]
    Migration(#[from] MigrationError),
}

/// The embedded engine.
pub(crate) struct Sqlite {
    /// Single rows are looked up on the caller's thread: that costs less than a change of threads.
    lookups: Arc<Lookups>,
    /// For reads of many rows, on threads of their own.
    scans: Arc<Readers>,
    queue: Queue<Writer>,
    writer: WriterThread,
    _directory: Directory,
}

impl Sqlite {
    pub(super) fn open(data_dir: &Path) -> Result<Self, OpenError> {
        let directory = Directory::own(data_dir, DATABASE)?;
        let mut connection = engine::open(directory.database())?;
        migrate(&mut connection)?;
        drop(connection);
        let cores = available_parallelism().map_or(2, usize::from);
        let lookups = Lookups::open(directory.database(), cores)?;
        let lookups = lookups.with_other_writers(directory.database());
        let lookups = Arc::new(lookups.map_err(OpenError::Beside)?);
        let embedded = Embedded::open(directory.database(), Arc::clone(&lookups))?;
        let (queue, runner) = Queue::new(Writer::new(embedded));
        Ok(Self {
            lookups,
            scans: Arc::new(Readers::open(directory.database(), cores)?),
            queue,
            writer: WriterThread::start(runner, |writer| writer.db.close())?,
            _directory: directory,
        })
    }

    pub(super) fn is_up(&self) -> bool {
        let answers = |db: &Connection| db.prepare_cached("SELECT 1")?.query_row([], |_| Ok(()));
        self.writer.is_running() && self.lookups.read(answers).is_ok()
    }

    pub(super) async fn failed(&self) {
        self.writer.ended().await;
    }

    pub(super) async fn close(&self) {
        self.queue.stop();
        self.writer.ended().await;
    }

    pub(in crate::store) fn queue(&self) -> &Queue<Writer> {
        &self.queue
    }

    /// Reads single rows, all of one moment.
    pub(super) fn look_up(
        &self,
        asked: &[Asked<'_>],
        each: &mut Each<'_>,
    ) -> Result<(), StoreError> {
        Ok(self.lookups.read(|db| read(db, asked, each))?)
    }

    /// Reads a transaction before it is moved.
    pub(super) fn seen(&self, question: &Question) -> Result<Option<Found<Seen>>, StoreError> {
        let Question { transaction, app, key } = question;
        let [first, trails, keys] = &*SEEN;
        let about = [transaction.param(), app.param()];
        let of_key = [app.param(), key.param()];
        let mut asked: Vec<Asked<'_>> = vec![(first, &about), (trails, &about[..1])];
        asked.extend(key.as_ref().map(|_| (&**keys, &of_key[..])));
        let mut answers = Answers::to(1);
        self.look_up(&asked, &mut |number, columns| answers.read(number, columns))?;
        Ok(answers.finished().pop().flatten())
    }

    /// Reads many rows on a thread of its own. Sees every write that was answered before.
    pub(super) async fn scan<T: Send + 'static>(
        &self,
        aside: &Aside,
        scan: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let scans = Arc::clone(&self.scans);
        Ok(aside.run(move || scans.read(scan)).await??)
    }
}

/// Brings the database to this version's shape.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), MigrationError> {
    Ok(migrations::migrations::runner().run(connection).map(drop)?)
}

/// Takes each row, with the number of its statement.
pub(super) type Each<'a> =
    dyn FnMut(usize, &mut Columns<'_>) -> Result<(), ColumnError> + Send + 'a;

/// Passes every row of these statements on.
pub(super) fn read(
    db: &Connection,
    asked: &[Asked<'_>],
    each: &mut Each<'_>,
) -> rusqlite::Result<()> {
    for (number, (sql, params)) in asked.iter().enumerate() {
        let mut statement = db.prepare_cached(sql)?;
        bind(&mut statement, params)?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            each(number, &mut Columns::from(row))?;
        }
    }
    Ok(())
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::NotRead(error.into())
    }
}

/// Copies the store in `data_dir` to the new file `target` while a service uses it.
pub(super) fn backup(data_dir: &Path, target: &Path) -> Result<(), engine::BackupError> {
    engine::backup(&data_dir.join(DATABASE), target, |_| Ok(()))
}

#[cfg(test)]
mod tests;
