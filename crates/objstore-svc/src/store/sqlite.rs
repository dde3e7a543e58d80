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
    clock::{ClockTable, JobClock},
    migration::MigrationError,
    sqlite::{self as engine, Base, Embedded, LookUp, Lookups, Owned, ReadCache, StartError},
    store::OpenError,
};
use rusqlite::Connection;
use tokio::sync::mpsc;
use uuid::Uuid;

use super::{
    ClientState, Feed, LogPage, Page, PageEnd, Presence, Shared, Stats, StoreConfig, StoreError,
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

pub(crate) struct Sqlite {
    pub(super) base: Base<Writer>,
    pub(super) shared: Arc<Shared>,
    cache: Arc<ObjectCache>,
    /// Threads for searches.
    searches: Aside,
    /// Threads for the reads of sockets: watches of a client, and pages of the change log.
    socket_reads: Aside,
    stats: Arc<Mutex<Stats>>,
}

impl Sqlite {
    pub(super) async fn open(config: &StoreConfig) -> Result<(Self, Feed), OpenError> {
        let owned = Owned::open_aside(&config.data_dir, DATABASE, migrate).await?;
        let epoch = epoch(&owned.connection)?;
        let clock = JobClock::open(ClockTable::Sqlite(owned.path().to_owned())).await?;
        let shared = Shared::new(config, epoch, clock);

        let cores = available_parallelism().map_or(2, usize::from);
        let socket_threads = (cores / 2).max(1);
        let cache = ReadCache::new("object_cache", config.cache, |key: &Key, stored| {
            key.size() + stored.map_or(0, |stored: &Arc<StoredObject>| stored.object.size())
        });
        let stats = Arc::<Mutex<Stats>>::default();
        let (feed, news) = mpsc::channel(FEED_LENGTH);
        let lookups = Lookups::open(owned.path(), cores).map_err(StartError::from)?;
        let (of_writer, cached, counted) =
            (Arc::clone(&shared), Arc::clone(&cache), Arc::clone(&stats));
        let writer = |database: Embedded, connection: &Connection| {
            Writer::new(database, connection, config, of_writer, cached, feed, counted)
        };
        let base = owned.start(lookups, cores + socket_threads, writer, |writer| {
            writer.database.close();
        })?;
        let sqlite = Self {
            base,
            shared,
            cache,
            searches: Aside::new(cores),
            socket_reads: Aside::new(socket_threads),
            stats,
        };
        let revision = sqlite.stats().revision;
        Ok((sqlite, Feed { revision, news }))
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
        Ok(self.base.lookups.read(|connection| read::session(connection, token))?)
    }

    pub(super) async fn sessions_of(
        &self,
        client: ClientId,
    ) -> Result<Vec<(TokenDigest, Timestamp)>, StoreError> {
        Ok(self.base.lookups.read(|connection| load::sessions(connection, client))?)
    }

    /// Runs on the thread of the caller: it searches two B-trees whose upper pages are in memory,
    /// which costs less than a switch to another thread.
    pub(super) fn get(&self, key: &Key) -> Result<Option<Arc<StoredObject>>, StoreError> {
        let place = match self.cache.look_up(key, |_| true) {
            LookUp::Value(stored) => return Ok(Some(stored)),
            LookUp::Absent(place) => place,
        };
        let stored =
            self.base.lookups.read(|connection| read::object(connection, key))?.map(Arc::new);
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
        Ok(self.base.lookups.read(|connection| read::is_due(connection, gone, now))?)
    }

    pub(super) async fn presences(
        &self,
        after: (Timestamp, Uuid),
    ) -> Result<Vec<Presence>, StoreError> {
        let before = self.shared.time().saturating_add(self.shared.rules.grace.extend_below());
        Ok(self.base.lookups.read(|connection| read::presences(connection, after, before))?)
    }

    async fn read_on<T: Send + 'static>(
        &self,
        threads: &Aside,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        Ok(self.base.scan(threads, read).await.map_err(|Panicked| StoreError::Panicked)??)
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::ReadFailed(error.into())
    }
}

/// Runs the missing migrations.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), MigrationError> {
    engine::migrate(connection, migrations::migrations::runner())
}

/// Begins a new epoch at the next start.
pub(super) fn new_epoch(directory: &Path) -> Result<(), StartError> {
    let database = directory.join(DATABASE);
    if !database.exists() {
        return Err(StartError::Missing(database));
    }
    Ok(forget_epoch(&Owned::open(directory, DATABASE, migrate)?.connection)?)
}

/// The next start begins an epoch.
pub(super) fn forget_epoch(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute("UPDATE store SET epoch = NULL", []).map(drop)
}

/// Returns the epoch, and begins one if there is none.
pub(super) fn epoch(connection: &Connection) -> Result<Epoch, StartError> {
    Ok(read::epoch(connection)?)
}
