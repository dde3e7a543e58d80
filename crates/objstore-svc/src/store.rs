//! The durable state of the service, on one of two engines: SQLite or PostgreSQL.
//!
//! Every write is atomic, and durable before it is answered. Reads go straight to the engine.
//! All writes take the same path on both engines:
//!
//! 1. A method of [`Store`] puts a [`Write`] into the engine's queue (`common::batch`) and
//!    waits for the answer. If the queue is full, the write fails immediately with
//!    [`StoreError::Overloaded`], so a caller may repeat it.
//! 2. The runner gathers pending writes into a batch, so that they share one commit. One batch
//!    runs at a time, because its revisions follow those of the batch before it (`shared.rs`).
//! 3. The engine begins a transaction and loads the rows that the batch depends on (`Needs::of`),
//!    and no others.
//! 4. The domain decides the writes in order, in memory (`decide::decide`). Each sees the changes
//!    of those before it, so a precondition cannot race with another write of its batch. The
//!    domain has all rules, and an engine has none, so the engines behave alike.
//! 5. The engine writes the changed rows and the records of the change log in the same transaction,
//!    and commits. A reader therefore never sees a change without its record.
//! 6. After the commit, the engine removes ended sessions from the cache, sends the new records to
//!    the [`Feed`], and the runner sends the answers. Refusals wait for the commit, too: they
//!    may depend on an earlier write of the batch.
//!
//! If a commit fails, its outcome is unknown: every write of the batch fails with
//! [`StoreError::WriteFailed`]. A write that panics, or whose rows the database rejects,
//! fails alone: the runner repeats the batch without it.
//!
//! The process also keeps in memory: sessions that were looked up (`sessions.rs`), on SQLite objects
//! that were read ([`common::sqlite::ReadCache`]), and acknowledged positions that are not written
//! yet (`positions.rs`). A crash loses all: sessions and objects are read again, and clients receive
//! some pushes again.

use std::{
    ops::RangeInclusive,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use common::{
    batch::WriteError,
    clock::{ClockError, JobClock},
    control::{ControlledStore, OrderError, Socket},
    exit::{AWAY, USAGE},
    files::Files,
    limits::Limited,
    operations::Readiness,
    postgres::DatabaseConfig,
    progress::Progress,
    sqlite::{BackupError, Disk, backup as backup_sqlite},
    store::OpenError,
};
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::domain::{
    AdoptedRules, Answer, ClientId, Done, Epoch, Intent, Key, Lifespan, Lifetime, Object,
    Operation, OwnerRule, Pattern, Record, Refusal, Refused, Revision, RulesDigest, Session,
    StoredObject, Timestamp, TokenDigest, Watches, Write,
};

mod import;
mod order;
mod positions;
mod postgres;
mod rows;
mod sessions;
mod shared;
mod sqlite;
mod tables;

pub(crate) use import::import;
pub(crate) use postgres::Postgres;
pub(crate) use sqlite::Sqlite;

use sessions::Cached;
use shared::Shared;

#[derive(Debug, Clone)]
pub(crate) struct StoreConfig {
    /// The directory of the SQLite database. Not used on PostgreSQL.
    pub(crate) data_dir: PathBuf,
    /// The PostgreSQL database. `None` selects SQLite.
    pub(crate) database: Option<DatabaseConfig>,
    /// How long a session lives after it was created or extended.
    pub(crate) lifetime: Lifetime,
    /// How long presence objects stay after the last stream of their client.
    pub(crate) presence_grace: Duration,
    pub(crate) owner: OwnerRule,
    pub(crate) max_clients: usize,
    /// Maximum number of open watches of a client, and separately of its ended watches.
    pub(crate) max_watches: usize,
    /// The change log deletes records that are older than this.
    pub(crate) log_retention: Duration,
    /// Bytes. Above this size, the change log deletes its oldest records.
    pub(crate) log_size: u64,
    /// Bytes of objects that are kept in memory. Not used on PostgreSQL, because other replicas
    /// change its objects, too.
    pub(crate) cache: u64,
}

/// Copies the SQLite database to the new file `target`. A service may use the database during this.
/// The copy gets a new epoch when it is opened, so that ETags of the original do not match. Fails
/// if `config` selects PostgreSQL.
pub(crate) fn backup(
    config: &StoreConfig,
    target: &Path,
    progress: &Progress,
) -> Result<(), BackupError> {
    match config.database {
        Some(_) => Err(BackupError::Postgres),
        None => {
            let source = config.data_dir.join(sqlite::DATABASE);
            backup_sqlite(&source, target, progress, sqlite::forget_epoch)
        }
    }
}

/// Begins a new epoch, for a restore to an earlier time that [`Store::open`] cannot notice. Replicas
/// that run notice it. A service on SQLite would not: fails if one runs.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn new_epoch(config: &StoreConfig) -> Result<(), OpenError> {
    match &config.database {
        Some(database) => Ok(postgres::new_epoch(database).await?),
        None => Ok(sqlite::new_epoch(&config.data_dir)?),
    }
}

/// Why a write or a read failed. A rejected write is not an error here: its answer is a
/// [`Refusal`].
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// A queue is full, or a wait timed out: for a batch, a connection or a statement.
    /// Nothing was written.
    #[error("too many requests are pending: try again in a second")]
    Overloaded,
    /// Somebody else holds a lock in the database for too long. Nothing was done.
    #[error("the store is locked by somebody else: try again in a second")]
    Busy,
    /// The watches of a client that connects do not fit.
    #[error("the memory for watches is used up: try again later")]
    NoWatchMemory,
    /// A write failed. It is unknown whether it was committed.
    #[error("the write failed: it may or may not be committed")]
    WriteFailed(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The disk is full. A write was refused.
    #[error("the disk is full: try again later")]
    DiskFull,
    #[error("the store could not be read")]
    ReadFailed(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A socket has to be closed although the store works: the change log was trimmed before this
    /// process dispatched all of its records, or the client has too many ended watches.
    #[error("the socket cannot continue: the client has to reconnect")]
    SocketLost,
    #[error("timeout: committed changes were not dispatched to sockets in time")]
    DispatchTimeout,
    /// A bug: the write or the read panicked. Nothing was written.
    #[error("the read or write panicked")]
    Panicked,
}

/// Objects that match a pattern, in the order of the pattern's shape (see `order.rs`).
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) objects: Vec<StoredObject>,
    /// Whether more objects may follow.
    pub(crate) more: bool,
}

/// The end of a page, as [`Store::page_end`] finds it.
#[derive(Debug)]
pub(crate) struct PageEnd {
    /// The key of the last object.
    pub(crate) key: Key,
    /// Whether more objects follow.
    pub(crate) more: bool,
}

/// A page of the change log.
#[derive(Debug)]
pub(crate) enum LogPage {
    /// The next records, oldest first and without a gap, up to the end of a group. Empty at the end
    /// of the change log.
    Records(Vec<Record>),
    /// The next record is deleted already, or the given revision is from an earlier epoch, or newer
    /// than the newest one.
    Trimmed,
}

impl LogPage {
    /// The page after `after` of a change log whose newest revision is `head`. `records` are the
    /// first ones after `after` that are stored. The change log has no gaps within an epoch, and
    /// always keeps its newest record. So if the next record is missing, it was trimmed.
    fn new(records: Vec<Record>, after: Revision, head: Revision, epoch_start: Revision) -> Self {
        let is_next = match records.first() {
            Some(first) => first.revision == after + 1,
            None => after <= head,
        };
        if after >= epoch_start && is_next { Self::Records(records) } else { Self::Trimmed }
    }
}

/// A snapshot of a client.
#[derive(Debug)]
pub(crate) struct ClientState {
    /// The snapshot includes every record up to this revision.
    pub(crate) revision: Revision,
    /// Open watches, and the ended ones that are kept.
    pub(crate) watches: Watches,
    /// The newest revision that the client has acknowledged; 0 if that was in an earlier epoch.
    pub(crate) position: Revision,
    /// The access rules of the store.
    pub(crate) rules: AdoptedRules,
}

impl ClientState {
    /// `acknowledged` is the stored position; `None` if the client is unknown or removed.
    fn new(
        revision: Revision,
        epoch_start: Revision,
        watches: Watches,
        acknowledged: Option<Revision>,
        rules: AdoptedRules,
    ) -> Self {
        let position = match acknowledged {
            None => revision,
            Some(position) if position < epoch_start => 0,
            Some(position) => position,
        };
        Self { revision, watches, position, rules }
    }
}

/// Maximum number of presences that one read returns, and that one write keeps.
pub(crate) const PRESENCE_PAGE: usize = 1000;

/// The presence of a client with presence objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Presence {
    /// Its last millisecond.
    pub(crate) until: Timestamp,
    pub(crate) client: ClientId,
}

/// Numbers for the metrics.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stats {
    /// The newest revision.
    pub(crate) revision: Revision,
    /// The newest deleted revision of the change log: its records begin after this one.
    pub(crate) log_floor: Revision,
    /// Bytes of the records in the change log.
    pub(crate) log_bytes: u64,
    /// Registered clients.
    pub(crate) clients: u64,
    /// `OBJSTORE_MAX_CLIENTS`.
    pub(crate) max_clients: u64,
    /// Batches committed since the start of this process.
    pub(crate) commits: u64,
    /// Writes in these batches.
    pub(crate) writes: u64,
    /// Objects that this process deleted because they expired or their client was gone.
    pub(crate) expired: u64,
    /// Gets that found their object in the cache.
    pub(crate) cache_hits: u64,
    /// Gets that read the database.
    pub(crate) cache_misses: u64,
}

/// Committed changes in the order of their revisions. On PostgreSQL, those of all replicas.
pub(crate) struct Feed {
    /// The newest revision when the store was opened. The feed continues after it.
    pub(crate) revision: Revision,
    pub(crate) news: mpsc::Receiver<FeedItem>,
}

#[derive(Debug)]
pub(crate) enum FeedItem {
    /// The next records, oldest first and without a gap, up to the end of a group.
    Records(Vec<Record>),
    /// The next records were trimmed before they were read, or a new epoch has begun. The feed
    /// continues after this revision.
    Missed(Revision),
}

/// The store on the configured engine.
#[derive(Clone)]
pub(crate) enum Store {
    /// SQLite in a directory that only this process writes to.
    Sqlite(Arc<Sqlite>),
    /// A PostgreSQL database that replicas share.
    Postgres(Arc<Postgres>),
}

/// Calls the same method on either engine.
macro_rules! engine {
    ($store:expr, $engine:ident => $call:expr) => {
        match $store {
            Self::Sqlite($engine) => $call,
            Self::Postgres($engine) => $call,
        }
    };
}

impl Store {
    /// Opens the store, and creates or migrates its tables as needed.
    /// `files` makes new connections to a database use another password or CA.
    pub(crate) async fn open(
        config: &StoreConfig,
        files: &mut Files,
    ) -> Result<(Self, Feed), OpenError> {
        Ok(match &config.database {
            Some(database) => {
                let (engine, feed) = Postgres::open(config, database, files).await?;
                (Self::Postgres(Arc::new(engine)), feed)
            }
            None => {
                let (engine, feed) = Sqlite::open(config).await?;
                (Self::Sqlite(Arc::new(engine)), feed)
            }
        })
    }

    /// For the readiness check.
    pub(crate) fn readiness(&self) -> Readiness {
        engine!(self, engine => engine.base.readiness())
    }

    /// The volume of the store, with SQLite.
    pub(crate) fn disk(&self) -> Option<Arc<Disk>> {
        match self {
            Self::Sqlite(engine) => Some(Arc::clone(&engine.base.disk)),
            Self::Postgres(_) => None,
        }
    }

    /// Listens for the orders of commands, with SQLite.
    pub(crate) fn control_socket(&self) -> Option<Socket> {
        match self {
            Self::Sqlite(engine) => Socket::bind(&engine.base.directory),
            Self::Postgres(_) => None,
        }
    }

    /// Resolves when the writer has ended and cannot recover: the process should exit.
    pub(crate) async fn writer_ended(&self) {
        engine!(self, engine => engine.base.writer_ended().await)
    }

    /// Commits all pending writes, then closes the store.
    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(engine) => engine.base.close().await,
            Self::Postgres(engine) => engine.close().await,
        }
    }

    /// The clock of what the store deletes by time.
    pub(crate) fn clock(&self) -> &Arc<JobClock> {
        &self.shared().clock
    }

    fn shared(&self) -> &Shared {
        engine!(self, engine => &engine.shared)
    }

    async fn write(&self, write: Write) -> Result<Result<Done, Refusal>, StoreError> {
        Ok(self.submit(write).await?.map_err(|refused| refused.refusal))
    }

    async fn submit(&self, write: Write) -> Result<Answer, StoreError> {
        Ok(engine!(self, engine => engine.base.queue.write(write).await)?)
    }

    /// The newest epoch that this process has seen.
    pub(crate) fn epoch(&self) -> Epoch {
        self.shared().epoch()
    }

    pub(crate) fn stats(&self) -> Stats {
        let (stats, batches) = engine!(self, engine => (engine.stats(), engine.base.queue.stats()));
        Stats {
            commits: batches.commits,
            writes: batches.writes,
            expired: self.shared().expired(),
            max_clients: self.shared().rules.max_clients,
            ..stats
        }
    }

    /// The limits of the write queue and of the cache, for the metrics.
    pub(crate) fn limits(&self) -> Vec<Arc<dyn Limited>> {
        let mut limits = engine!(self, engine => engine.base.queue.limits()).to_vec();
        if let Self::Sqlite(engine) = self {
            limits.push(engine.cache());
        }
        limits
    }

    /// Adds a session with the token digest `token`, and registers `client` first if it is unknown.
    pub(crate) async fn register(
        &self,
        client: ClientId,
        token: TokenDigest,
        now: Timestamp,
    ) -> Result<Result<(), Refusal>, StoreError> {
        Ok(self.write(Write::Register { client, token, now }).await?.map(drop))
    }

    /// The session of a token, unless it has expired. Read from the cache if possible; if it should
    /// be extended, it is read from the database, because another replica may have extended it.
    pub(crate) async fn session(
        &self,
        token: TokenDigest,
        now: Timestamp,
    ) -> Result<Option<Session>, StoreError> {
        let Shared { rules, sessions, .. } = self.shared();
        let place = match sessions.get(token, now, |it| !rules.lifetime.must_extend(it, now)) {
            Cached::Session(session) => return Ok(Some(session)),
            Cached::Absent(place) => place,
        };
        let session = engine!(self, engine => engine.session(token).await?);
        let session = session.filter(|session| now < session.expires);
        if let Some(session) = session {
            place.fill(session, now);
        }
        Ok(session)
    }

    /// Extends a session: it expires one lifetime after `now`.
    pub(crate) async fn extend(
        &self,
        token: TokenDigest,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.change_session(token, Write::Extend { token, now }).await
    }

    /// Ends a session. Another process may accept it from its cache for up to a minute.
    pub(crate) async fn end_session(
        &self,
        token: TokenDigest,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.change_session(token, Write::End { token, now }).await
    }

    /// The sessions of a client that have not expired. `None` if the client is not registered.
    pub(crate) async fn sessions_of(
        &self,
        client: ClientId,
        now: Timestamp,
    ) -> Result<Option<Vec<TokenDigest>>, StoreError> {
        let sessions = engine!(self, engine => engine.sessions_of(client).await?);
        let open = sessions.iter().filter(|(_, expires)| now < *expires);
        let open = open.map(|(token, _)| *token).collect();
        Ok((!sessions.is_empty()).then_some(open))
    }

    /// Postpones the removal of the session's unused client, because it made a request at `now`.
    pub(crate) async fn postpone_removal(
        &self,
        session: Session,
        token: TokenDigest,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let Session { client, .. } = session;
        self.change_session(token, Write::PostponeRemoval { client, now }).await
    }

    /// Marks a client as used, so that it stays as long as its sessions. Also removes the cached copy
    /// of the session `token`, which still says that the client is unused.
    pub(crate) async fn mark_used(
        &self,
        client: ClientId,
        token: TokenDigest,
    ) -> Result<(), StoreError> {
        self.change_session(token, Write::MarkUsed { client }).await
    }

    async fn change_session(&self, token: TokenDigest, write: Write) -> Result<(), StoreError> {
        self.write(write).await.map(drop)?;
        self.shared().sessions.remove(token);
        Ok(())
    }

    /// Deletes sessions that expired at least one lifetime ago, clients without sessions, and
    /// unused clients whose removal is due.
    pub(crate) async fn reap(&self) -> Result<(), StoreError> {
        while let Some(now) = self.clock().turn().await?
            && self.write(Write::Reap { now }).await?.is_ok_and(|done| done.more)
        {}
        Ok(())
    }

    pub(crate) async fn get(&self, key: &Key) -> Result<Option<Arc<StoredObject>>, StoreError> {
        Ok(match self {
            Self::Sqlite(engine) => engine.get(key)?,
            Self::Postgres(engine) => engine.get(key).await?,
        })
    }

    /// Sets an object, which stays for `lifespan`. Returns the revision of the change.
    pub(crate) async fn set(
        &self,
        object: Object,
        intent: Intent,
        lifespan: Lifespan,
    ) -> Result<Result<Revision, Refusal>, StoreError> {
        let set = Operation::Set { object: Arc::new(object), intent, lifespan };
        Ok(self.write(Write::Change(set)).await?.map(|done| done.revision))
    }

    /// Deletes an object. Returns the revision of the change.
    pub(crate) async fn delete(
        &self,
        key: Key,
        intent: Intent,
    ) -> Result<Result<Revision, Refusal>, StoreError> {
        let delete = Write::Change(Operation::Delete { key, intent });
        Ok(self.write(delete).await?.map(|done| done.revision))
    }

    /// Makes all of these changes, or none: see [`Write::Group`]. Returns their revisions.
    pub(crate) async fn group(
        &self,
        operations: Vec<Operation>,
        refused: Option<Refusal>,
    ) -> Result<Result<RangeInclusive<Revision>, Refused>, StoreError> {
        let count = u64::try_from(operations.len()).unwrap_or(u64::MAX);
        let answer = self.submit(Write::Group { operations, refused }).await?;
        Ok(answer.map(|Done { revision, .. }| revision - count + 1..=revision))
    }

    /// The time by which objects end; `None` after a jump of the clock. On SQLite, only a jump before
    /// the start counts: later ones change nothing.
    pub(crate) async fn expiry_time(&self) -> Result<Option<Timestamp>, StoreError> {
        let turn = self.clock().turn().await?;
        Ok(match self {
            Self::Sqlite(_) => self.clock().steady(),
            Self::Postgres(_) => turn,
        })
    }

    /// Deletes objects whose time has passed at the [`Self::expiry_time`] `now`, and if `gone` those
    /// whose client is gone: as many as one write can. Returns whether there were any. Reads first,
    /// because a write locks the store.
    pub(crate) async fn expire(&self, gone: bool, now: Timestamp) -> Result<bool, StoreError> {
        let is_due = engine!(self, engine => engine.is_due(gone, now).await?);
        if is_due {
            // An expiry is never refused.
            let _ = self.write(Write::Expire { gone, now }).await?;
        }
        Ok(is_due)
    }

    /// The first presences after `after`, by their ends, that must be extended if their clients are
    /// connected. At most [`PRESENCE_PAGE`].
    pub(crate) async fn presences(
        &self,
        after: Option<Presence>,
    ) -> Result<Vec<Presence>, StoreError> {
        let after = after.map_or((0, Uuid::nil()), |last| (last.until, *last.client.uuid()));
        engine!(self, engine => Ok(engine.presences(after).await?))
    }

    /// Sets how long the presences of at most [`PRESENCE_PAGE`] clients last from now: longer if
    /// they are `connected`.
    pub(crate) async fn keep_presences(
        &self,
        clients: Vec<ClientId>,
        connected: bool,
    ) -> Result<(), StoreError> {
        self.write(Write::KeepPresences { clients, connected }).await.map(drop)
    }

    /// The objects that match `pattern`, with keys after `after` and up to and including `until`,
    /// in the order of the pattern's shape. Returns at most `limit` objects, and fewer if they are
    /// large.
    pub(crate) async fn find(
        &self,
        pattern: &Pattern,
        after: Option<&Key>,
        until: Option<&Key>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        engine!(self, engine => Ok(engine.find(pattern, after, until, limit).await?))
    }

    /// Finds the end of a page of at most `limit` objects without reading their values. `None` if
    /// no object follows `after`.
    pub(crate) async fn page_end(
        &self,
        pattern: &Pattern,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Option<PageEnd>, StoreError> {
        engine!(self, engine => Ok(engine.page_end(pattern, after, limit).await?))
    }

    /// Begins a watch: it matches the changes after its own revision. Repeating it changes nothing.
    pub(crate) async fn watch(
        &self,
        client: ClientId,
        pattern: Pattern,
    ) -> Result<Result<(), Refusal>, StoreError> {
        Ok(self.write(Write::Watch { client, pattern }).await?.map(drop))
    }

    /// Ends the open watch of `pattern`, if any.
    pub(crate) async fn unwatch(
        &self,
        client: ClientId,
        pattern: Pattern,
    ) -> Result<(), StoreError> {
        self.write(Write::Unwatch { client, pattern }).await.map(drop)
    }

    /// Records the access rules of this process in the change log, unless they are the newest ones.
    /// Returns the newest revision.
    pub(crate) async fn adopt_rules(&self, digest: RulesDigest) -> Result<Revision, StoreError> {
        let done = self.write(Write::AdoptRules { digest }).await?;
        Ok(done.map_or(0, |done| done.revision)) // It is never refused.
    }

    pub(crate) async fn client(&self, client: ClientId) -> Result<ClientState, StoreError> {
        // Read the memory before the database. A position is removed from memory only after its
        // commit, so one of the two reads always finds it. A failover between them may have lost
        // what it acknowledges.
        let acknowledged = self.shared().positions().get(client);
        let mut state = engine!(self, engine => engine.client(client).await?);
        if acknowledged >= self.epoch().start {
            state.position = state.position.max(acknowledged);
        }
        Ok(state)
    }

    /// Records that `client` has acknowledged all pushes up to `position`. Never lowers a position.
    /// The engine writes it soon, usually within about a second.
    pub(crate) fn acknowledge(&self, client: ClientId, position: Revision) {
        self.shared().acknowledge(client, position);
    }

    /// Reads a page of the change log after the revision `after`.
    pub(crate) async fn log(&self, after: Revision) -> Result<LogPage, StoreError> {
        engine!(self, engine => Ok(engine.log(after).await?))
    }
}

impl ControlledStore for Store {
    type Config = StoreConfig;

    fn file(config: &StoreConfig) -> Option<(&Path, &str)> {
        config.database.is_none().then_some((&config.data_dir, sqlite::DATABASE))
    }

    /// A command has no sockets, so nobody receives the feed.
    async fn open(config: &StoreConfig) -> Result<Self, OpenError> {
        Ok(Self::open(config, &mut Files::default()).await?.0)
    }

    async fn close(&self) {
        self.close().await;
    }

    fn clock(&self) -> &JobClock {
        self.clock()
    }
}

impl From<StoreError> for OrderError {
    fn from(error: StoreError) -> Self {
        let exit_code = if matches!(error, StoreError::Panicked) { USAGE } else { AWAY };
        Self::of(exit_code, &error)
    }
}

impl From<ClockError> for StoreError {
    fn from(error: ClockError) -> Self {
        Self::ReadFailed(error.into())
    }
}

impl From<WriteError> for StoreError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Overloaded => Self::Overloaded,
            WriteError::Locked => Self::Busy,
            WriteError::Panicked => Self::Panicked,
            WriteError::DiskFull => Self::DiskFull,
            WriteError::Failed(_) | WriteError::Stopped => Self::WriteFailed(error.into()),
        }
    }
}

/// The current time, by the clock of this machine. No other function reads the wall clock.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::try_from(since.as_millis()).unwrap_or(Timestamp::MAX)
}
