//! The embedded engine: SQLite in a directory that one process owns.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    thread::available_parallelism,
};

use common::{
    aside::{Aside, Panicked},
    batch::Queue,
    migration::MigrationError,
    sqlite::{
        self as engine, BackupError, Directory, DirectoryError, Embedded, Lookups, Readers,
        WriterThread,
    },
};
use rusqlite::Connection;
use tokio::sync::mpsc;

use super::{ClientState, Feed, LogPage, Page, PageEnd, Shared, Stats, StoreConfig, StoreError};
use crate::domain::{ClientId, Epoch, Key, Pattern, Revision, Session, Stored, TokenDigest};

mod find;
mod load;
mod log;
mod read;
mod write;
mod writer;

use writer::Writer;

/// The database's file in the data directory.
pub(super) const DATABASE: &str = "objstore.db";

/// Batches that may be committed before the first of them is dispatched.
const FEED_LENGTH: usize = 64;

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
    /// Its writer cannot be started.
    #[error(transparent)]
    Writer(#[from] engine::StartError),
    /// The database cannot be brought to this version's shape.
    #[error(transparent)]
    Migration(#[from] MigrationError),
}

/// The embedded engine.
pub(crate) struct Sqlite {
    pub(super) queue: Queue<Writer>,
    pub(super) shared: Arc<Shared>,
    thread: WriterThread,
    lookups: Arc<Lookups>,
    /// For pages, on threads of their own. Single rows are looked up on the caller's.
    scans: Arc<Readers>,
    /// For searches.
    searching: Aside,
    /// For sockets: what a client watches, and pages of the log. They have threads of their own, so
    /// that searches do not wait for them.
    following: Aside,
    stats: Arc<Mutex<Stats>>,
    _directory: Directory,
}

impl Sqlite {
    pub(super) fn open(config: &StoreConfig) -> Result<(Self, Feed), OpenError> {
        let directory = Directory::own(&config.data_dir, DATABASE)?;
        let path = directory.database();
        let mut connection = engine::open(path)?;
        let shared = Shared::new(config, prepare(&mut connection)?);

        let cores = available_parallelism().map_or(2, usize::from);
        let followers = (cores / 2).max(1);
        let lookups = Arc::new(Lookups::open(path, cores)?);
        let scans = Arc::new(Readers::open(path, cores + followers)?);
        let stats = Arc::<Mutex<Stats>>::default();
        let (feed, news) = mpsc::channel(FEED_LENGTH);
        let database = Embedded::open(path, Arc::clone(&lookups))?;
        let (on, of) = (Arc::clone(&shared), Arc::clone(&stats));
        let writer = Writer::new(database, &connection, config, on, feed, of)?;
        drop(connection);

        let (queue, runner) = Queue::new(writer);
        let sqlite = Self {
            queue,
            shared,
            thread: WriterThread::start(runner, |writer| writer.database.close())?,
            lookups,
            scans,
            searching: Aside::new(cores),
            following: Aside::new(followers),
            stats,
            _directory: directory,
        };
        let revision = sqlite.stats().revision;
        Ok((sqlite, Feed { revision, news }))
    }

    pub(super) fn is_up(&self) -> bool {
        self.thread.is_running() && self.lookups.read(read::answers).is_ok()
    }

    pub(super) async fn failed(&self) {
        self.thread.ended().await;
    }

    pub(super) async fn close(&self) {
        self.queue.stop();
        self.thread.ended().await;
    }

    pub(super) fn stats(&self) -> Stats {
        *self.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn session(&self, token: TokenDigest) -> Result<Option<Session>, StoreError> {
        Ok(self.lookups.read(|it| read::session(it, token))?)
    }

    /// A look-up in two trees whose upper pages are in memory: it costs less than a change of
    /// threads would, so it runs on the caller's.
    pub(super) async fn get(&self, key: &Key) -> Result<Option<Stored>, StoreError> {
        Ok(self.lookups.read(|it| read::object(it, key))?)
    }

    pub(super) async fn find(
        &self,
        pattern: &Pattern,
        after: Option<&Key>,
        until: Option<&Key>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        let range = find::Search::new(pattern, after, until);
        self.read_aside(&self.searching, move |it| find::page(it, &range, limit)).await
    }

    pub(super) async fn page_end(
        &self,
        pattern: &Pattern,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Option<PageEnd>, StoreError> {
        let range = find::Search::new(pattern, after, None);
        self.read_aside(&self.searching, move |it| find::page_end(it, &range, limit)).await
    }

    pub(super) async fn client(&self, client: ClientId) -> Result<ClientState, StoreError> {
        self.read_aside(&self.following, move |it| read::client(it, client)).await
    }

    pub(super) async fn log(&self, after: Revision) -> Result<LogPage, StoreError> {
        self.read_aside(&self.following, move |it| read::log(it, after)).await
    }

    /// Reads what may take long on a thread of its own.
    async fn read_aside<T: Send + 'static>(
        &self,
        threads: &Aside,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let scans = Arc::clone(&self.scans);
        match threads.run(move || scans.read(read)).await {
            Ok(read) => Ok(read?),
            Err(Panicked) => Err(StoreError::Panicked),
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::NotRead(error.into())
    }
}

/// Brings the database to this version's shape, and gives the store's epoch.
pub(super) fn prepare(connection: &mut Connection) -> Result<Epoch, OpenError> {
    migrations::migrations::runner().run(connection).map_err(MigrationError::from)?;
    Ok(read::or_make_epoch(connection)?)
}

/// Copies the store in `data_dir` to the new file `target` while a service uses it. The copy makes
/// a new epoch when it is opened.
pub(super) fn backup(data_dir: &Path, target: &Path) -> Result<(), BackupError> {
    engine::backup(&data_dir.join(DATABASE), target, |copy| {
        copy.execute("UPDATE store SET epoch = NULL", []).map(drop)
    })
}
