//! The embedded engine: SQLite in a directory that one process owns.

use std::{
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::available_parallelism,
};

use common::{
    migration::MigrationError,
    sqlite::{
        self as engine, BackupError, Directory, DirectoryError, Handle, Readers, WriteError, Writer,
    },
};
use rusqlite::Connection;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::{
    ClientState, Feed, Figures, LogPage, Page, PageEnd, StoreConfig, StoreError,
    positions::Positions, sessions::SessionCache,
};
use crate::domain::{
    ClientId, Epoch, Intent, Key, Object, Pattern, Refusal, Revision, Session, Stored, Timestamp,
    TokenDigest,
};

mod find;
mod read;
mod write;

use write::{Applier, Done, Operation};

/// The database's file in the data directory.
pub(super) const DATABASE: &str = "objstore.db";

/// Batches that may be committed before the first of them is dispatched.
const FEED_LENGTH: usize = 64;

mod migrations {
    refinery::embed_migrations!("migrations/sqlite");
}

/// Why the store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
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
pub struct Sqlite {
    /// For pages, on threads of their own. Single rows are looked up on the caller's.
    scans: Arc<Readers>,
    /// Turns of searches.
    searching: Semaphore,
    /// Turns of sockets: what a client watches, and pages of the log. They have their own, so that
    /// searches do not wait for them.
    following: Semaphore,
    handle: Handle<Applier>,
    writer: Mutex<Option<Writer>>,
    ended: CancellationToken,
    sessions: SessionCache,
    positions: Arc<Mutex<Positions>>,
    figures: Arc<Mutex<Figures>>,
    epoch: Epoch,
    _directory: Directory,
}

impl Sqlite {
    pub(super) fn open(config: &StoreConfig) -> Result<(Self, Feed), OpenError> {
        let directory = Directory::own(&config.data_dir, DATABASE)?;
        let mut connection = engine::open(directory.database())?;
        let epoch = prepare(&mut connection)?;

        let positions = Arc::<Mutex<Positions>>::default();
        let figures = Arc::<Mutex<Figures>>::default();
        let (feed, news) = mpsc::channel(FEED_LENGTH);
        let applier = Applier::new(&connection, config, epoch, feed, &positions, &figures)?;
        let revision = applier.revision();
        drop(connection);

        let cores = available_parallelism().map_or(2, usize::from);
        let followers = (cores / 2).max(1);
        let (writer, handle) = Writer::start(directory.database(), applier, cores)?;
        let sqlite = Self {
            scans: Arc::new(Readers::open(directory.database(), cores + followers)?),
            searching: Semaphore::new(cores),
            following: Semaphore::new(followers),
            handle,
            ended: writer.ended(),
            writer: Mutex::new(Some(writer)),
            sessions: SessionCache::new(),
            positions,
            figures,
            epoch,
            _directory: directory,
        };
        Ok((sqlite, Feed { revision, news }))
    }

    pub(super) fn is_up(&self) -> bool {
        !self.ended.is_cancelled() && self.handle.look_up(read::answers).is_ok()
    }

    pub(super) async fn failed(&self) {
        self.ended.cancelled().await;
    }

    pub(super) async fn close(&self) {
        let handle = self.handle.clone();
        // A full queue makes this wait, which no async thread may.
        let stopped = tokio::task::spawn_blocking(move || handle.stop()).await;
        self.ended.cancelled().await;
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if stopped.is_err() || writer.is_some_and(|writer| !writer.join()) {
            tracing::error!("the writer panicked");
        }
    }

    pub(super) fn epoch(&self) -> Epoch {
        self.epoch
    }

    pub(super) fn figures(&self) -> Figures {
        let figures = *self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting_bytes = self.handle.waiting_bytes().try_into().unwrap_or(u64::MAX);
        Figures { waiting_bytes, ..figures }
    }

    pub(super) async fn register(
        &self,
        client: ClientId,
        token: TokenDigest,
        now: Timestamp,
    ) -> Result<Result<(), Refusal>, StoreError> {
        let registered = self.handle.write(Operation::Register { client, token, now }).await?;
        Ok(registered.map(|done| self.forget_sessions(&done)))
    }

    pub(super) async fn session(
        &self,
        token: TokenDigest,
        now: Timestamp,
    ) -> Result<Option<Session>, StoreError> {
        if let Some(session) = self.sessions.get(token, now) {
            return Ok(Some(session));
        }
        let live = |session: &Session| now < session.expires;
        let session = self.handle.look_up(|it| read::session(it, token))?.filter(live);
        if let Some(session) = session {
            self.sessions.insert(token, session, now);
        }
        Ok(session)
    }

    pub(super) async fn extend(
        &self,
        token: TokenDigest,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.handle.write(Operation::Extend { token, now }).await.map(drop)?;
        self.sessions.remove(token);
        Ok(())
    }

    pub(super) async fn postpone_removal(
        &self,
        client: ClientId,
        token: TokenDigest,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let until = Session::unused_until(now);
        self.handle.write(Operation::Postpone { client, until }).await.map(drop)?;
        self.sessions.remove(token);
        Ok(())
    }

    pub(super) async fn mark_used(
        &self,
        client: ClientId,
        token: TokenDigest,
    ) -> Result<(), StoreError> {
        self.handle.write(Operation::MarkUsed { client }).await.map(drop)?;
        self.sessions.remove(token);
        Ok(())
    }

    fn forget_sessions(&self, done: &Done) {
        done.ended.iter().for_each(|&token| self.sessions.remove(token));
    }

    pub(super) async fn reap(&self, now: Timestamp) -> Result<(), StoreError> {
        while let Ok(done) = self.handle.write(Operation::Reap { now }).await? {
            self.forget_sessions(&done);
            if !done.more {
                break;
            }
        }
        Ok(())
    }

    /// A look-up in two trees whose upper pages are in memory: it costs less than a change of
    /// threads would, so it runs on the caller's.
    pub(super) async fn get(&self, key: &Key) -> Result<Option<Stored>, StoreError> {
        Ok(self.handle.look_up(|it| read::object(it, key))?)
    }

    pub(super) async fn set(
        &self,
        object: Object,
        intent: Intent,
    ) -> Result<Result<Revision, Refusal>, StoreError> {
        let object = Arc::new(object);
        Ok(self.handle.write(Operation::Set { object, intent }).await?.map(|done| done.revision))
    }

    pub(super) async fn delete(
        &self,
        key: Key,
        intent: Intent,
    ) -> Result<Result<Revision, Refusal>, StoreError> {
        Ok(self.handle.write(Operation::Delete { key, intent }).await?.map(|done| done.revision))
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

    pub(super) async fn watch(
        &self,
        client: ClientId,
        pattern: Pattern,
    ) -> Result<Result<(), Refusal>, StoreError> {
        Ok(self.handle.write(Operation::Watch { client, pattern }).await?.map(drop))
    }

    pub(super) async fn unwatch(
        &self,
        client: ClientId,
        pattern: Pattern,
    ) -> Result<(), StoreError> {
        self.handle.write(Operation::Unwatch { client, pattern }).await.map(drop)?;
        Ok(())
    }

    pub(super) async fn client(&self, client: ClientId) -> Result<ClientState, StoreError> {
        // In this order: what leaves the map in between is on disk before it is read there.
        let acknowledged = self.positions().of(client);
        let mut state =
            self.read_aside(&self.following, move |it| read::client(it, client)).await?;
        state.position = state.position.max(acknowledged);
        Ok(state)
    }

    pub(super) fn acknowledge(&self, client: ClientId, position: Revision) {
        self.positions().advance(client, position);
    }

    fn positions(&self) -> MutexGuard<'_, Positions> {
        self.positions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn log(&self, after: Revision) -> Result<LogPage, StoreError> {
        self.read_aside(&self.following, move |it| read::log(it, after)).await
    }

    /// Reads what may take long on a thread of its own.
    async fn read_aside<T: Send + 'static>(
        &self,
        turns: &Semaphore,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        // Without it, threads would pile up where the connections are fewer.
        let _turn = turns.acquire().await;
        let scans = Arc::clone(&self.scans);
        match tokio::task::spawn_blocking(move || scans.read(read)).await {
            Ok(read) => Ok(read?),
            Err(_) => Err(StoreError::Panicked),
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::NotRead(error.into())
    }
}

impl From<WriteError> for StoreError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Overloaded => Self::Overloaded,
            WriteError::Panicked => Self::Panicked,
            WriteError::NotCommitted(_) | WriteError::Stopped => Self::NotWritten(error.into()),
        }
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
