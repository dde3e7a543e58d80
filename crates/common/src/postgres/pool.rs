//! The pool of database connections, and how several statements share one round trip.

use std::{
    array, error::Error as StdError, future::ready, io, sync::Arc, task::Poll, time::Duration,
};

use deadpool_postgres::{
    ClientWrapper, Hook, HookError, Manager, ManagerConfig, Object, PoolError, RecyclingMethod,
    Runtime, TimeoutType, Timeouts,
};
use futures_util::{
    future::{BoxFuture, Either},
    poll,
};
use tokio::{runtime::Handle, time::timeout};
use tokio_postgres::{Config, Row, error::SqlState};

use sql::{ColumnError, Statement};

use super::{OpenError, database::Database, locks::Locks};
use crate::{batch::Failure, error::reason};

/// Timeout for a free connection of the pool, or for a permit.
pub const WAIT: Duration = Duration::from_secs(5);

/// Timeout for opening a connection.
pub(super) const OPEN: Duration = Duration::from_secs(5);

/// Timeout for an answer of the database, for every cause of a delay.
pub const ANSWER: Duration = Duration::from_secs(10);

/// How many prepared statements a connection keeps. The server holds a plan of each, up to 100 kB for
/// a list with filters, which there are hundreds of.
const MAX_PREPARED: usize = 200;

/// Settings of every connection. They override the defaults of the database. With `read committed`,
/// a read after a lock sees the newest rows. The timeouts make a frozen replica lose its locks
/// soon.
pub const SETTINGS: &str = "SET synchronous_commit = on;
     SET default_transaction_isolation = 'read committed';
     SET idle_in_transaction_session_timeout = '5s';
     SET lock_timeout = '3s';
     SET statement_timeout = '5s'";

/// Ends the session of a client whose machine is gone, and so frees its locks.
pub(super) const LOST_CLIENT: &str = "SET tcp_keepalives_idle = 5;
     SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3; SET tcp_user_timeout = '10s'";

/// Why the database did not do what was requested.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// All connections were in use for longer than [`WAIT`].
    #[error("all database connections are in use")]
    Busy,
    /// No connection could be opened.
    #[error("the database cannot be reached")]
    Unreachable(#[source] PoolError),
    /// No answer within [`ANSWER`].
    #[error("no answer from the database within the timeout")]
    Silent,
    /// The database returned an error, or the connection broke. Has no source, because that could
    /// quote stored rows.
    #[error("the database failed: {}", reason(.0))]
    Database(tokio_postgres::Error),
    /// The server is an old primary: another one was promoted since.
    #[error(
        "the server has an older timeline than the one before: stop it, \
         or restart this service if an older backup was restored"
    )]
    OldTimeline,
    /// A pooler in transaction mode is in between.
    #[error(
        "connections share sessions of PostgreSQL, so a pooler in transaction mode is in between: \
         connect directly, or use the session mode"
    )]
    SharedSessions,
    /// A row that always exists is missing.
    #[error("a row is missing")]
    NoRow,
    /// A column does not hold what was written to it.
    #[error("a column cannot be read")]
    Column(#[source] Box<dyn StdError + Send + Sync>),
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(error)
    }
}

impl From<ColumnError> for Error {
    fn from(error: ColumnError) -> Self {
        Self::Column(error.into())
    }
}

impl Error {
    /// Whether another transaction was faster. A retry may succeed.
    pub fn is_conflict(&self) -> bool {
        self.is_one_of(&[
            SqlState::UNIQUE_VIOLATION,
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
        ])
    }

    /// Whether a statement or the pool reached its timeout. Nothing was written.
    pub fn is_overload(&self) -> bool {
        matches!(self, Self::Busy) || self.is_one_of(&[SqlState::QUERY_CANCELED])
    }

    /// Whether a lock was not free in time. Nothing was written.
    pub fn is_locked(&self) -> bool {
        self.is_one_of(&[SqlState::LOCK_NOT_AVAILABLE])
    }

    /// Whether a statement or a row is the cause, and not the database.
    fn is_rejection(&self) -> bool {
        let error = match self {
            Self::Column(_) => return true,
            Self::Database(error) => error,
            _ => return false,
        };
        match error.code() {
            Some(state) => ["22", "23", "54"].iter().any(|class| state.code().starts_with(class)),
            // A value that cannot be converted has a source that is not an I/O error.
            None => error.source().is_some_and(|source| !source.is::<io::Error>()),
        }
    }

    fn is_one_of(&self, codes: &[SqlState]) -> bool {
        let Self::Database(error) = self else { return false };
        error.code().is_some_and(|code| codes.contains(code))
    }
}

/// Classifies an error for the batching loop.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        if error.is_overload() {
            Self::Overload(Arc::new(error))
        } else if error.is_locked() {
            Self::Locked(Arc::new(error))
        } else if error.is_conflict() {
            Self::Conflict(Arc::new(error))
        } else if error.is_rejection() {
            Self::Write(Arc::new(error))
        } else {
            Self::Unknown(Arc::new(error))
        }
    }
}

/// A limited number of connections that requests share.
pub struct Pool {
    connections: deadpool_postgres::Pool,
    locks: Arc<Locks>,
}

impl Pool {
    /// Opens at most `size` connections on demand, each with [`SETTINGS`] and these `settings`.
    pub fn new(
        database: &Database,
        size: usize,
        settings: &'static str,
    ) -> Result<Self, OpenError> {
        let locks = Arc::new(Locks::new(database.clone()));
        let (hosts, database) = (database.hosts.clone(), database.clone());
        let apply_settings = Hook::async_fn(move |client: &mut ClientWrapper, _| {
            let database = database.clone();
            Box::pin(async move {
                let applied = apply_settings(client, settings, &database).await;
                applied.map_err(|error| match error {
                    Error::Database(error) => HookError::Backend(error),
                    error => HookError::message(error.to_string()),
                })
            })
        });
        let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        // The hosts have their configuration themselves.
        let manager = Manager::from_connect(Config::new(), hosts, manager);
        let timeouts = Timeouts { wait: Some(WAIT), create: Some(OPEN), recycle: Some(OPEN) };
        let connections = deadpool_postgres::Pool::builder(manager)
            .max_size(size)
            .timeouts(timeouts)
            .runtime(Runtime::Tokio1)
            .post_create(apply_settings)
            .build()?;
        Ok(Self { connections, locks })
    }

    /// Runs `work` with a connection of the pool, for at most [`ANSWER`].
    pub async fn acquire<T>(
        &self,
        work: impl AsyncFnOnce(&ClientWrapper) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut lent = Lent::new(self.take().await?);
        let done = timeout(ANSWER, work(lent.client()?)).await;
        let done = done.unwrap_or_else(|_| {
            lent.close();
            Err(Error::Silent)
        });
        if done.is_ok() {
            lent.give_back();
        }
        if done.as_ref().is_err_and(Error::is_locked) {
            self.report_lock();
        }
        done
    }

    /// Logs who holds a lock that was not free in time, at most once a minute.
    pub fn report_lock(&self) {
        self.locks.report();
    }

    /// Takes a connection for a transaction. The first statements send the `BEGIN`.
    pub async fn transaction(&self) -> Result<Transaction, Error> {
        Ok(Transaction { lent: Lent::new(self.take().await?), is_open: false })
    }

    async fn take(&self) -> Result<Object, Error> {
        self.connections.get().await.map_err(|error| match error {
            PoolError::Timeout(TimeoutType::Wait) => Error::Busy,
            error => Error::Unreachable(error),
        })
    }

    /// Closes all idle connections. Later requests fail.
    pub fn close(&self) {
        self.connections.close();
    }
}

/// A connection of the pool. If its user is dropped while answers are missing, the next one gets it
/// after the last answer. Otherwise, those who stop waiting would queue any number of statements.
struct Lent {
    /// `None` after the end of its use.
    client: Option<Object>,
    /// The last statement.
    last: &'static str,
}

impl Lent {
    fn new(client: Object) -> Self {
        Self { client: Some(client), last: "" }
    }

    fn client(&self) -> Result<&Object, Error> {
        self.client.as_ref().ok_or(Error::Silent)
    }

    /// Returns the connection to the pool. All statements have their answers.
    fn give_back(&mut self) {
        self.client = None;
    }

    /// Closes the connection, because late answers would delay its next user.
    fn close(&mut self) {
        drop(self.client.take().map(Object::take));
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let (Some(client), Ok(runtime)) = (self.client.take(), Handle::try_current()) else {
            return;
        };
        let last = self.last;
        runtime.spawn(async move {
            if timeout(ANSWER, client.batch_execute(last)).await.is_err() {
                drop(Object::take(client));
            }
        });
    }
}

/// A transaction with a connection of its own. It is rolled back when dropped before its commit.
pub struct Transaction {
    lent: Lent,
    is_open: bool,
}

impl Transaction {
    /// Sends these statements in one round trip. The first call also begins the transaction.
    pub async fn query(&mut self, statements: &[Statement<'_>]) -> Result<Vec<Vec<Row>>, Error> {
        self.send(statements, &[]).await
    }

    /// As [`Self::query`], and commits in the same round trip. If a statement fails, the database
    /// turns the commit into a rollback.
    pub async fn commit(mut self, statements: &[Statement<'_>]) -> Result<Vec<Vec<Row>>, Error> {
        let mut answers = self.send(statements, &[("COMMIT", &[])]).await?;
        answers.truncate(statements.len());
        self.is_open = false;
        Ok(answers)
    }

    async fn send(
        &mut self,
        statements: &[Statement<'_>],
        last: &[Statement<'_>],
    ) -> Result<Vec<Vec<Row>>, Error> {
        let client = self.lent.client()?;
        let begin: &[Statement<'_>] = if self.is_open { &[] } else { &[("BEGIN", &[])] };
        self.is_open = true;
        let all = [begin, statements, last].concat();
        match timeout(ANSWER, query_all(client, &all)).await {
            Ok(answers) => Ok(answers?.split_off(begin.len())),
            Err(_) => {
                self.lent.close();
                Err(Error::Silent)
            }
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if self.is_open {
            self.lent.last = "ROLLBACK";
        } else {
            self.lent.give_back();
        }
    }
}

/// Applies [`SETTINGS`] and these `settings` to a new connection, and looks at its timeline.
pub(super) async fn apply_settings(
    client: &ClientWrapper,
    settings: &str,
    database: &Database,
) -> Result<(), Error> {
    let applied = async {
        client.batch_execute(&format!("{SETTINGS}; {LOST_CLIENT}; {settings}")).await?;
        database.timelines.observe(client).await
    };
    database.look(applied).await
}

/// Sends these statements in one round trip. They run in this order. If one cannot be sent, the
/// later ones are not sent either. If several fail, the error is that of the first: in a transaction,
/// the others fail because of it. Each statement is prepared once per connection.
pub async fn query<const N: usize>(
    client: &ClientWrapper,
    statements: [Statement<'_>; N],
) -> Result<[Vec<Row>; N], Error> {
    let mut answers = query_all(client, &statements).await?.into_iter();
    Ok(array::from_fn(|_| answers.next().unwrap_or_default()))
}

/// As [`query`], for any number of statements.
pub async fn query_all(
    client: &ClientWrapper,
    statements: &[Statement<'_>],
) -> Result<Vec<Vec<Row>>, Error> {
    if client.statement_cache.size() > MAX_PREPARED {
        client.statement_cache.clear();
    }
    let mut prepared = Vec::with_capacity(statements.len());
    for (sql, _) in statements {
        prepared.push(client.prepare_cached(sql).await?);
    }
    let mut unsent: Vec<BoxFuture<'_, _>> = Vec::with_capacity(statements.len());
    for (statement, (_, parameters)) in prepared.iter().zip(statements) {
        unsent.push(Box::pin(client.query(statement, parameters)));
    }
    Ok(in_order(unsent).await?)
}

/// Polls each future once, which sends its statement, then awaits them. After one that failed at
/// once, no more are sent. A slow thread can find an answer in the first poll, and so the failure of a
/// later statement before that of the first.
async fn in_order<T, E>(unsent: Vec<BoxFuture<'_, Result<T, E>>>) -> Result<Vec<T>, E> {
    let mut sent = Vec::with_capacity(unsent.len());
    for mut answer in unsent {
        match poll!(&mut answer) {
            Poll::Pending => sent.push(Either::Left(answer)),
            Poll::Ready(answer) => {
                let has_failed = answer.is_err();
                sent.push(Either::Right(ready(answer)));
                if has_failed {
                    break;
                }
            }
        }
    }
    let mut answers = Vec::with_capacity(sent.len());
    for answer in sent {
        answers.push(answer.await?);
    }
    Ok(answers)
}

/// Whether the server answers in time, and accepts writes.
pub(super) async fn is_primary(client: &ClientWrapper) -> bool {
    let primary = ("SELECT 1 WHERE NOT pg_is_in_recovery()", &[][..]);
    let answer = timeout(OPEN, query(client, [primary])).await;
    answer.is_ok_and(|answer| answer.is_ok_and(|[rows]| !rows.is_empty()))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::task::yield_now;

    use super::*;

    type Answer = Result<u8, &'static str>;

    fn late(answer: Answer) -> BoxFuture<'static, Answer> {
        Box::pin(async move {
            yield_now().await;
            answer
        })
    }

    fn early(answer: Answer) -> BoxFuture<'static, Answer> {
        Box::pin(ready(answer))
    }

    #[tokio::test]
    async fn the_error_is_that_of_the_first_statement_that_failed() {
        for (answers, expected) in [
            ([late(Ok(1)), early(Ok(2)), late(Ok(3))], Ok(vec![1, 2, 3])),
            ([late(Err("rejected")), early(Err("aborted")), late(Ok(3))], Err("rejected")),
            ([early(Ok(1)), late(Err("rejected")), late(Err("aborted"))], Err("rejected")),
        ] {
            assert_eq!(in_order(answers.into()).await, expected);
        }
    }

    #[tokio::test]
    async fn nothing_is_sent_after_a_statement_that_cannot_be_sent() {
        let sent = &AtomicUsize::new(0);
        let statement = |answer: Answer| -> BoxFuture<'_, Answer> {
            Box::pin(async move {
                sent.fetch_add(1, Ordering::Relaxed);
                answer
            })
        };
        let statements = [Ok(1), Err("closed"), Ok(3)].map(statement);
        assert_eq!(in_order(statements.into()).await, Err("closed"));
        assert_eq!(sent.load(Ordering::Relaxed), 2);
    }
}
