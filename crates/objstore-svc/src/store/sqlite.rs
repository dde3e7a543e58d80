//! The engine for one process: SQLite in a directory that this process locks.
//!
//! 1. One thread writes (`writer.rs`). SQLite allows one writing transaction at a time, so more
//!    threads would only wait for each other. Commits sync to disk, which must not block a thread
//!    of the async runtime.
//! 2. Reads never wait for the writer, because the database is in WAL mode:
//!    - Look-ups of single rows run on the thread of the caller: they cost less than a switch to
//!      another thread.
//!    - Searches, and the reads for sockets (watches, change log), read many rows, so they run on
//!      other threads (`common::aside`). Sockets have separate threads, so that searches do not
//!      wait for them. Each thread has a connection.
//! 3. Only one service can use the directory, because it holds a lock (`Directory`). The writer
//!    relies on this lock when it keeps the newest revision in memory. The subcommand `backup`
//!    needs no lock, because it only reads.
//! 4. A backup has no epoch. A store without one creates a random one when it is opened, so ETags
//!    from before the restore never match, although revisions repeat.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    thread::available_parallelism,
};

use common::{
    aside::{Aside, Panicked},
    batch::Queue,
    clock::{ClockError, ClockTable, JobClock},
    exit::Fatal,
    migration::MigrationError,
    operations::Readiness,
    progress::Progress,
    sqlite::{
        self as engine, BackupError, Directory, DirectoryError, Disk, Embedded, LookUp, Lookups,
        ReadCache, Readers, WriterThread,
    },
};
use rusqlite::Connection;
use tokio::sync::mpsc;
use uuid::Uuid;

use super::{
    ClientState, Feed, LogPage, Page, PageEnd, Presence, Shared, Stats, StoreConfig, StoreError,
    now,
};
use crate::domain::{
    ClientId, Epoch, Key, Pattern, Revision, Session, StoredObject, Timestamp, TokenDigest,
};

mod find;
mod load;
mod log;
mod read;
mod write;
mod writer;

use writer::Writer;

/// The file name of the database in the data directory.
pub(super) const DATABASE: &str = "objstore.db";

/// Maximum number of committed batches that are not dispatched to sockets yet. If it is reached,
/// the writer waits.
const FEED_LENGTH: usize = 64;

/// Objects that were read before.
type ObjectCache = ReadCache<Key, Arc<StoredObject>>;

mod migrations {
    refinery::embed_migrations!("migrations/sqlite");
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    #[error("the database cannot be opened: {0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error(transparent)]
    Writer(#[from] engine::StartError),
    #[error(transparent)]
    Migration(#[from] MigrationError),
    #[error(transparent)]
    Clock(#[from] ClockError),
}

impl Fatal for OpenError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Directory(error) => error.exit_code(),
            Self::Sqlite(error) => error.exit_code(),
            Self::Writer(error) => error.exit_code(),
            Self::Migration(error) => error.exit_code(),
            Self::Clock(error) => error.exit_code(),
        }
    }
}

pub(crate) struct Sqlite {
    pub(super) queue: Queue<Writer>,
    pub(super) shared: Arc<Shared>,
    thread: WriterThread,
    cache: Arc<ObjectCache>,
    lookups: Arc<Lookups>,
    /// Connections for reads of many rows.
    scans: Arc<Readers>,
    /// Threads for searches.
    searches: Aside,
    /// Threads for the reads of sockets: watches of a client, and pages of the change log.
    socket_reads: Aside,
    stats: Arc<Mutex<Stats>>,
    disk: Arc<Disk>,
    _directory: Directory,
}

impl Sqlite {
    pub(super) async fn open(config: &StoreConfig) -> Result<(Self, Feed), OpenError> {
        let directory = Directory::own(&config.data_dir, DATABASE)?;
        let path = directory.database();
        let (mut connection, disk) = engine::recover(&directory)?;
        let epoch = prepare(&mut connection)?;
        let clock = JobClock::open(ClockTable::Sqlite(path.to_owned())).await?;
        let shared = Shared::new(config, epoch, clock);

        let cores = available_parallelism().map_or(2, usize::from);
        let socket_threads = (cores / 2).max(1);
        let lookups = Arc::new(Lookups::open(path, cores)?);
        let scans = Arc::new(Readers::open(path, cores + socket_threads)?);
        let cache = ReadCache::new("object_cache", config.cache, |key: &Key, stored| {
            key.size() + stored.map_or(0, |stored: &Arc<StoredObject>| stored.object.size())
        });
        let stats = Arc::<Mutex<Stats>>::default();
        let (feed, news) = mpsc::channel(FEED_LENGTH);
        let database = Embedded::open(path, Arc::clone(&disk), Arc::clone(&lookups))?;
        let writer = Writer::new(
            database,
            &connection,
            config,
            Arc::clone(&shared),
            Arc::clone(&cache),
            feed,
            Arc::clone(&stats),
        )?;
        drop(connection);

        let (queue, runner) = Queue::new(writer);
        let sqlite = Self {
            queue,
            shared,
            thread: WriterThread::start(runner, |writer| writer.database.close())?,
            cache,
            lookups,
            scans,
            searches: Aside::new(cores),
            socket_reads: Aside::new(socket_threads),
            stats,
            disk,
            _directory: directory,
        };
        let revision = sqlite.stats().revision;
        Ok((sqlite, Feed { revision, news }))
    }

    pub(super) fn readiness(&self) -> Readiness {
        let is_up = self.thread.is_running() && self.lookups.read(read::ping).is_ok();
        if is_up { self.disk.readiness() } else { Readiness::Down }
    }

    pub(super) fn disk(&self) -> &Arc<Disk> {
        &self.disk
    }

    pub(super) async fn writer_ended(&self) {
        self.thread.ended().await;
    }

    pub(super) async fn close(&self) {
        self.queue.stop();
        self.thread.ended().await;
    }

    pub(super) fn stats(&self) -> Stats {
        let stats = *self.stats.lock().unwrap_or_else(PoisonError::into_inner);
        let (cache_hits, cache_misses) = self.cache.hits_and_misses();
        Stats { cache_hits, cache_misses, ..stats }
    }

    pub(super) fn cache(&self) -> Arc<ObjectCache> {
        Arc::clone(&self.cache)
    }

    pub(super) async fn session(&self, token: TokenDigest) -> Result<Option<Session>, StoreError> {
        Ok(self.lookups.read(|connection| read::session(connection, token))?)
    }

    /// Runs on the thread of the caller: it searches two B-trees whose upper pages are in memory,
    /// which costs less than a switch to another thread.
    pub(super) fn get(&self, key: &Key) -> Result<Option<Arc<StoredObject>>, StoreError> {
        let place = match self.cache.look_up(key, |_| true) {
            LookUp::Value(stored) => return Ok(Some(stored)),
            LookUp::Absent(place) => place,
        };
        let stored = self.lookups.read(|connection| read::object(connection, key))?.map(Arc::new);
        if let Some(stored) = &stored {
            place.keep(|| Arc::clone(stored));
        }
        Ok(stored)
    }

    pub(super) async fn find(
        &self,
        pattern: &Pattern,
        after: Option<&Key>,
        until: Option<&Key>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        let search = find::Search::new(pattern, after, until);
        let read = move |connection: &Connection| find::page(connection, &search, limit);
        self.read_on(&self.searches, read).await
    }

    pub(super) async fn page_end(
        &self,
        pattern: &Pattern,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Option<PageEnd>, StoreError> {
        let search = find::Search::new(pattern, after, None);
        let read = move |connection: &Connection| find::page_end(connection, &search, limit);
        self.read_on(&self.searches, read).await
    }

    pub(super) async fn client(&self, client: ClientId) -> Result<ClientState, StoreError> {
        self.read_on(&self.socket_reads, move |connection| read::client(connection, client)).await
    }

    pub(super) async fn log(&self, after: Revision) -> Result<LogPage, StoreError> {
        self.read_on(&self.socket_reads, move |connection| read::log(connection, after)).await
    }

    pub(super) async fn is_due(&self, gone: bool, now: Timestamp) -> Result<bool, StoreError> {
        Ok(self.lookups.read(|connection| read::is_due(connection, gone, now))?)
    }

    pub(super) async fn presences(
        &self,
        after: (Timestamp, Uuid),
    ) -> Result<Vec<Presence>, StoreError> {
        let before = now().saturating_add(self.shared.rules.grace.extend_below());
        Ok(self.lookups.read(|connection| read::presences(connection, after, before))?)
    }

    async fn read_on<T: Send + 'static>(
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
        Self::ReadFailed(error.into())
    }
}

/// Migrates the schema. Returns the epoch, and begins one if there is none.
pub(super) fn prepare(connection: &mut Connection) -> Result<Epoch, OpenError> {
    engine::migrate(connection, migrations::migrations::runner())?;
    Ok(read::epoch(connection)?)
}

/// See [`super::backup`].
pub(super) fn backup(
    data_dir: &Path,
    target: &Path,
    progress: &Progress,
) -> Result<(), BackupError> {
    engine::backup(&data_dir.join(DATABASE), target, progress, |copy| {
        copy.execute("UPDATE store SET epoch = NULL", []).map(drop)
    })
}
