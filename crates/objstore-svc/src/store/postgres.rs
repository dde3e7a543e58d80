//! The engine for many processes: a PostgreSQL database that any number of replicas share.
//!
//! 1. The memory of a replica has only state that may be lost. Everything else is in the database,
//!    so replicas never talk to each other.
//! 2. A batch locks the only row of the table `store` until its commit (`writer.rs`). So the order
//!    of commits is the order of revisions on all replicas. A sequence would not be enough:
//!    revision 8 could be committed before 7, and a replica that has read 8 would miss 7.
//! 3. Every replica follows the change log to its end (`tail.rs`), so it learns about the commits
//!    of the other replicas.
//! 4. The work is divided over several connections, so that no kind of work waits for another:
//!    - one for batches, one for the tail, one for the health check;
//!    - the pool, for all reads and for upkeep. Reads of sockets get only a part of the pool
//!      (`socket_reads`). The rest is left to searches and look-ups.
//! 5. Every statement must be served by an index, and its plan must not depend on statistics: see
//!    [`SETTINGS`].
//! 6. The writer task must not end while the service runs; if it does, `failed` resolves. If the
//!    database is unreachable, the service keeps running and connects again.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicI32},
    thread::available_parallelism,
};

use common::{
    batch::Runner,
    clock::{ClockTable, JobClock},
    files::Files,
    outage::Outage,
    postgres::{
        Base, CoalesceError, Coalesced, Database, Error, OpenError, Pool, Statement, WAIT, query,
    },
    sql::Group,
};
use deadpool_postgres::ClientWrapper;
use tokio::{
    sync::{Semaphore, SemaphorePermit, mpsc},
    task::JoinSet,
    time::timeout,
};
use tokio_postgres::Row;
use uuid::Uuid;

use super::{
    ClientState, DatabaseConfig, Feed, LogPage, PRESENCE_PAGE, Page, PageEnd, Presence, Shared,
    Stats, StoreConfig, StoreError, rows,
};
use crate::domain::{
    ClientId, Epoch, EpochId, Key, Pattern, Revision, Session, StoredObject, Timestamp, TokenDigest,
};

mod find;
mod load;
mod read;
mod tail;
mod upkeep;
mod writer;
mod writes;

use find::Search;
use load::Keys;
use tail::Tail;
use upkeep::Upkeep;
use writer::Writer;

/// Sockets may use `1 / SOCKET_SHARE` of the connections of the pool, at most one for each core:
/// reading the rows takes CPU time.
const SOCKET_SHARE: usize = 4;

/// Maximum number of reads of objects that run at the same time.
const READERS: usize = 4;

/// Maximum number of feed items (batches, or pages of the change log) that are not dispatched to
/// sockets yet.
const FEED_LENGTH: usize = 64;

/// Maximum number of committed batches of this replica that the tail has not received yet. If it is
/// reached, the tail reads from the change log instead.
const COMMITTED_LENGTH: usize = 16;

/// Begins every connection, in addition to the settings of `common`.
///
/// An index serves every statement, so other plans are switched off: PostgreSQL would choose them
/// while it has no statistics. Each statement is planned once (`force_generic_plan`).
///
/// The last statement begins an epoch if the store is new, if the server was promoted since the
/// last epoch began, or if the store was restored from a dump: see `domain/epoch.rs`. Only the first
/// connection changes the row; the others wait for its lock, and see that the origin is right. A
/// server that is promoted was a standby before, which has no connections of this program: the
/// statement fails on a standby. So no connection outlives its epoch.
const SETTINGS: &str = "SET plan_cache_mode = force_generic_plan;
     SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;
     SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off;
     UPDATE store SET (epoch, origin, epoch_start, revision) = (
         SELECT (random() * 9223372036854775806)::bigint + 1, store_origin(), start, start
         FROM (SELECT greatest(
             store.revision + 1048576, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
         ) AS start) AS next
     ) WHERE epoch IS NULL OR origin IS DISTINCT FROM store_origin()";

mod migrations {
    refinery::embed_migrations!("migrations/postgres");
}

pub(crate) struct Postgres {
    pub(super) base: Base<Writer>,
    pub(super) shared: Arc<Shared>,
    /// Permits for the reads of sockets: watches of a client, and pages of the change log. The rest
    /// of the pool is left to searches and look-ups.
    socket_reads: Semaphore,
    /// Combines the reads of objects, because many requests arrive at the same time.
    objects: Coalesced<Key, Option<Arc<StoredObject>>>,
    stats: Arc<Mutex<Stats>>,
    /// The tail and upkeep.
    tasks: Mutex<JoinSet<()>>,
}

impl Postgres {
    pub(super) async fn open(
        config: &StoreConfig,
        database: &DatabaseConfig,
        files: &mut Files,
    ) -> Result<(Self, Feed), super::OpenError> {
        let connections = database.connections;
        let database = Database::following(database, files)?;
        migrate(&database).await?;
        let (epoch, revision) = load_epoch(&database).await?;
        let pool = Arc::new(Pool::new(&database, connections, SETTINGS)?);
        let clock = JobClock::open(ClockTable::Postgres(Arc::clone(&pool))).await?;
        let shared = Shared::new(config, epoch, clock);
        let (committed, receiver) = mpsc::channel(COMMITTED_LENGTH);
        let (news, feed) = mpsc::channel(FEED_LENGTH);
        let backend = Arc::<AtomicI32>::default();
        let writer = Writer {
            connection: Pool::new(&database, 1, SETTINGS)?,
            shared: Arc::clone(&shared),
            backend: Arc::clone(&backend),
            committed,
        };
        let stats = Arc::<Mutex<Stats>>::default();
        let tail = Tail {
            database: database.clone(),
            shared: Arc::clone(&shared),
            backend,
            committed: receiver,
            news,
            revision,
            outage: Outage::of("reading the change log"),
        };

        let mut tasks = JoinSet::new();
        tasks.spawn(tail.run());
        let upkeep = Upkeep {
            shared: Arc::clone(&shared),
            config: config.clone(),
            stats: Arc::clone(&stats),
        };
        tasks.spawn(upkeep.run(Arc::clone(&pool)));
        let cores = available_parallelism().map_or(2, usize::from);
        let reading = Arc::clone(&pool);
        let read = move |keys| objects(Arc::clone(&reading), keys);
        let postgres = Self {
            base: Base::start(writer, Runner::run, database, pool),
            shared,
            objects: Coalesced::new(READERS, read),
            socket_reads: Semaphore::new((connections / SOCKET_SHARE).clamp(1, cores)),
            stats,
            tasks: Mutex::new(tasks),
        };
        Ok((postgres, Feed { revision, news: feed }))
    }

    pub(super) async fn close(&self) {
        self.base.end_writer().await;
        let mut tasks = {
            let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *tasks)
        };
        tasks.shutdown().await;
        self.base.pool.close();
    }

    pub(super) fn stats(&self) -> Stats {
        *self.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn session(&self, token: TokenDigest) -> Result<Option<Session>, Error> {
        let [found] = self.query([(rows::SESSION, &[&token.as_bytes().as_slice()])]).await?;
        Ok(found.first().map(|row| rows::session(&mut row.into())).transpose()?)
    }

    pub(super) async fn sessions_of(
        &self,
        client: ClientId,
    ) -> Result<Vec<(TokenDigest, Timestamp)>, Error> {
        let [found] = self.query([(read::SESSIONS, &[client.uuid()])]).await?;
        found.iter().map(|row| Ok(Group::read(&mut row.into())?)).collect()
    }

    pub(super) async fn get(&self, key: &Key) -> Result<Option<Arc<StoredObject>>, StoreError> {
        Ok(self.objects.query(key.clone()).await?)
    }

    pub(super) async fn find(
        &self,
        pattern: &Pattern,
        after: Option<&Key>,
        until: Option<&Key>,
        limit: usize,
    ) -> Result<Page, Error> {
        find::page(&self.base.pool, &Search::new(pattern, after, until), limit).await
    }

    pub(super) async fn page_end(
        &self,
        pattern: &Pattern,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Option<PageEnd>, Error> {
        find::page_end(&self.base.pool, &Search::new(pattern, after, None), limit).await
    }

    pub(super) async fn client(&self, client: ClientId) -> Result<ClientState, StoreError> {
        let permit = self.socket_permit().await?;
        let [rows] = self.query([(&**read::CLIENT, &[client.uuid()])]).await?;
        // A client may have very many watches: do not block the thread of other requests.
        let read = tokio::task::spawn_blocking(move || read::client(&rows)).await;
        drop(permit);
        let (client, epoch) = read.map_err(|_| StoreError::Panicked)??;
        self.shared.observe(epoch);
        Ok(client)
    }

    pub(super) async fn is_due(&self, gone: bool, now: Timestamp) -> Result<bool, Error> {
        let [found] = self.query([(read::IS_DUE, &[&gone, &now])]).await?;
        Ok(found.first().ok_or(Error::NoRow)?.try_get(0)?)
    }

    pub(super) async fn presences(
        &self,
        (until, client): (Timestamp, Uuid),
    ) -> Result<Vec<Presence>, Error> {
        let within = self.shared.rules.grace.extend_below();
        let limit = i64::try_from(PRESENCE_PAGE).unwrap_or(i64::MAX);
        let statement: Statement<'_> = (&read::PRESENCES, &[&within, &until, &client, &limit]);
        let [found] = self.query([statement]).await?;
        found.iter().map(|row| Ok(Presence::read(&mut row.into())?)).collect()
    }

    async fn socket_permit(&self) -> Result<Option<SemaphorePermit<'_>>, Error> {
        let permit = timeout(WAIT, self.socket_reads.acquire()).await;
        permit.map(Result::ok).map_err(|_| Error::Busy)
    }

    pub(super) async fn log(&self, after: Revision) -> Result<LogPage, Error> {
        let _permit = self.socket_permit().await?;
        let read = async |connection: &ClientWrapper| read::log(connection, after).await;
        let log = self.base.pool.acquire(read).await?;
        self.shared.observe(log.epoch);
        Ok(log.page)
    }

    async fn query<const N: usize>(
        &self,
        statements: [Statement<'_>; N],
    ) -> Result<[Vec<Row>; N], Error> {
        self.base.pool.acquire(async |connection| query(connection, statements).await).await
    }
}

/// Reads objects with one statement. The results have the order of the keys.
async fn objects(
    pool: Arc<Pool>,
    keys: Arc<Vec<Key>>,
) -> Result<Vec<Option<Arc<StoredObject>>>, Error> {
    // Many callers may read the same object.
    let different: HashSet<_> = keys.iter().collect();
    let of_keys = Keys::of(different.into_iter().map(Key::parts));
    let statement = (&**read::OBJECTS, &of_keys.parameters()[..]);
    let [rows] = pool.acquire(async |connection| query(connection, [statement]).await).await?;
    let objects = read::objects(&rows)?;
    Ok(keys.iter().map(|key| objects.get(key).cloned()).collect())
}

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        CoalesceError::from(Arc::new(error)).into()
    }
}

impl From<CoalesceError> for StoreError {
    fn from(error: CoalesceError) -> Self {
        match error {
            CoalesceError::Overloaded => Self::Overloaded,
            CoalesceError::Failed(error) if error.is_overload() => Self::Overloaded,
            CoalesceError::Failed(error) if error.is_locked() => Self::Busy,
            CoalesceError::Failed(error) => Self::ReadFailed(error.into()),
            CoalesceError::Panicked => Self::Panicked,
        }
    }
}

/// Migrates the schema.
pub(super) async fn migrate(database: &Database) -> Result<(), OpenError> {
    database.migrate(migrations::migrations::runner()).await
}

/// Begins a new epoch: the origin is unknown, as in a restored dump.
pub(super) async fn new_epoch(database: &DatabaseConfig) -> Result<(), OpenError> {
    let database = Database::of(database)?;
    migrate(&database).await?;
    let begin = format!("UPDATE store SET origin = NULL; {SETTINGS}");
    database.listen(&begin, drop).await.map(drop)
}

/// Returns the epoch and the newest revision.
async fn load_epoch(database: &Database) -> Result<(Epoch, Revision), OpenError> {
    let connection = database.listen(SETTINGS, drop).await?;
    let read = async {
        let sql = "SELECT epoch, epoch_start, revision FROM store";
        let row = connection.query_one(sql, &[]).await?;
        let number = |column| row.try_get(column).map(i64::cast_unsigned);
        Ok((Epoch { id: EpochId::new(number(0)?), start: number(1)? }, number(2)?))
    };
    read.await.map_err(|error| database.failed(error))
}
