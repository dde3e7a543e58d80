//! The engine for many processes: a PostgreSQL database that any number of replicas share.
//!
//! A replica keeps nothing of its own but what it can lose. It commits what waits in one transaction,
//! with the row of the store locked, so the order of commits is the order of revisions; and it follows
//! the log to its end, so it learns what the others commit.

use std::{
    sync::{Arc, Mutex, PoisonError, atomic::AtomicI32},
    thread::available_parallelism,
};

use common::{
    batch::Queue,
    postgres::{Asked, Database, Error, Health, OpenError, Pool, WAIT, ask},
};
use deadpool_postgres::ClientWrapper;
use tokio::{
    sync::{Semaphore, SemaphorePermit, mpsc},
    task::JoinSet,
    time::timeout,
};
use tokio_postgres::Row;
use tokio_util::sync::CancellationToken;

use super::{
    ClientState, DatabaseConfig, Feed, LogPage, Page, PageEnd, Shared, Stats, StoreConfig,
    StoreError, rows,
};
use crate::domain::{ClientId, Epoch, Key, Pattern, Revision, Session, Stored, TokenDigest};

mod find;
mod load;
mod read;
mod reader;
mod tail;
mod upkeep;
mod writer;
mod writes;

use find::Search;
use reader::Reader;
use tail::Tail;
use writer::Writer;

/// One of so many sessions is for sockets, but no more than there are cores to read what they get.
const FOLLOWING_SHARE: usize = 4;

/// Pieces of the log that may be read before the first of them is dispatched.
const FEED_LENGTH: usize = 64;

/// Batches that may be committed before the first of them is passed on. What does not fit is read
/// from the log.
const COMMITTED_LENGTH: usize = 16;

/// What sessions with the database are told beside what all are. Whatever is asked here has an index
/// that serves it, whether or not the database has counted the rows yet; and it is planned once.
const SETTINGS: &str = "SET plan_cache_mode = force_generic_plan;
     SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;
     SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off";

mod migrations {
    refinery::embed_migrations!("migrations/postgres");
}

/// The engine for many processes.
pub(crate) struct Postgres {
    pub(super) queue: Queue<Writer>,
    pub(super) shared: Arc<Shared>,
    pool: Arc<Pool>,
    /// Turns of sockets at the sessions: what a client watches, and pages of the log. The other
    /// sessions are left to searches and look-ups.
    following: Semaphore,
    reader: Reader,
    stats: Arc<Mutex<Stats>>,
    health: Health,
    /// Cancelled when the writer has ended, however it ended.
    ended: CancellationToken,
    /// Those who follow the log and keep it within its bounds.
    others: Mutex<JoinSet<()>>,
}

impl Postgres {
    pub(super) async fn open(
        config: &StoreConfig,
        database: &DatabaseConfig,
    ) -> Result<(Self, Feed), OpenError> {
        let connections = database.connections;
        let database = Database::of(database)?;
        migrate(&database).await?;
        let (epoch, revision) = begin(&database).await?;
        let shared = Shared::new(config, epoch);
        let pool = Arc::new(Pool::new(&database, connections, SETTINGS)?);
        let (committed, handed_over) = mpsc::channel(COMMITTED_LENGTH);
        let (news, feed) = mpsc::channel(FEED_LENGTH);
        let backend = Arc::<AtomicI32>::default();
        let (queue, runner) = Queue::new(Writer {
            session: Pool::new(&database, 1, SETTINGS)?,
            shared: Arc::clone(&shared),
            backend: Arc::clone(&backend),
            committed,
        });
        let stats = Arc::<Mutex<Stats>>::default();
        let tail = Tail {
            database: database.clone(),
            backend,
            committed: handed_over,
            news,
            revision,
            warns: true,
        };

        let ended = CancellationToken::new();
        let at_the_end = ended.clone().drop_guard();
        tokio::spawn(async move {
            let _at_the_end = at_the_end;
            runner.run().await;
        });
        let mut others = JoinSet::new();
        others.spawn(tail.run());
        let kept = (Arc::clone(&pool), config.clone(), Arc::clone(&stats));
        others.spawn(upkeep::keep_up(kept.0, kept.1, kept.2));
        let cores = available_parallelism().map_or(2, usize::from);
        let postgres = Self {
            queue,
            shared,
            reader: Reader::new(&pool),
            pool,
            following: Semaphore::new((connections / FOLLOWING_SHARE).clamp(1, cores)),
            stats,
            health: Health::watch(database),
            ended,
            others: Mutex::new(others),
        };
        Ok((postgres, Feed { revision, news: feed }))
    }

    pub(super) fn is_up(&self) -> bool {
        self.health.is_up()
    }

    /// A database that is away may come back; a writer does not.
    pub(super) async fn failed(&self) {
        self.ended.cancelled().await;
    }

    pub(super) async fn close(&self) {
        self.queue.stop();
        self.ended.cancelled().await;
        let mut others = {
            let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *others)
        };
        others.shutdown().await;
        self.pool.close();
    }

    pub(super) fn stats(&self) -> Stats {
        *self.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn session(&self, token: TokenDigest) -> Result<Option<Session>, Error> {
        let [found] = self.ask([(read::SESSION, &[&token.as_bytes().as_slice()])]).await?;
        Ok(found.first().map(|row| rows::session(&mut row.into())).transpose()?)
    }

    pub(super) async fn get(&self, key: &Key) -> Result<Option<Stored>, StoreError> {
        self.reader.get(key).await
    }

    pub(super) async fn find(
        &self,
        pattern: &Pattern,
        after: Option<&Key>,
        until: Option<&Key>,
        limit: usize,
    ) -> Result<Page, Error> {
        find::page(&self.pool, &Search::new(pattern, after, until), limit).await
    }

    pub(super) async fn page_end(
        &self,
        pattern: &Pattern,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Option<PageEnd>, Error> {
        find::page_end(&self.pool, &Search::new(pattern, after, None), limit).await
    }

    pub(super) async fn client(&self, client: ClientId) -> Result<ClientState, StoreError> {
        let turn = self.following().await?;
        let [rows] = self.ask([(read::CLIENT, &[client.uuid()])]).await?;
        // A client may have very many watches: others take their turns meanwhile.
        let read = tokio::task::spawn_blocking(move || read::client(&rows)).await;
        drop(turn);
        Ok(read.map_err(|_| StoreError::Panicked)??)
    }

    async fn following(&self) -> Result<Option<SemaphorePermit<'_>>, Error> {
        let turn = timeout(WAIT, self.following.acquire()).await;
        turn.map(Result::ok).map_err(|_| Error::Busy)
    }

    pub(super) async fn log(&self, after: Revision) -> Result<LogPage, Error> {
        let _turn = self.following().await?;
        let read = async |session: &ClientWrapper| read::log(session, after).await;
        self.pool.acquire(read).await.map(|(page, _)| page)
    }

    async fn ask<const N: usize>(&self, asked: [Asked<'_>; N]) -> Result<[Vec<Row>; N], Error> {
        self.pool.acquire(async |session| ask(session, asked).await).await
    }
}

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        Arc::new(error).into()
    }
}

/// Of a read that several asked for.
impl From<Arc<Error>> for StoreError {
    fn from(error: Arc<Error>) -> Self {
        if error.is_overload() { Self::Overloaded } else { Self::NotRead(error.into()) }
    }
}

/// Brings the database to this version's shape.
pub(super) async fn migrate(database: &Database) -> Result<(), OpenError> {
    database.migrate(migrations::migrations::runner()).await
}

/// The store's epoch, made now if it has none, and its newest revision.
async fn begin(database: &Database) -> Result<(Epoch, Revision), OpenError> {
    let session = database.connect().await?;
    let made = rand::random_range(1..=i64::MAX);
    let begun = async {
        session.execute("UPDATE store SET epoch = $1 WHERE epoch IS NULL", &[&made]).await?;
        let row = session.query_one("SELECT epoch, revision FROM store", &[]).await?;
        let (epoch, revision): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        Ok((Epoch::new(epoch.cast_unsigned()), revision.cast_unsigned()))
    };
    begun.await.map_err(|error| database.failed(error))
}
