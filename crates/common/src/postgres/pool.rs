//! Pool with the database: a bounded number of them, and how one is asked for several things at
//! once.

use std::{
    array, error::Error as StdError, future::ready, io, sync::Arc, task::Poll, time::Duration,
};

use deadpool_postgres::{
    ClientWrapper, Hook, HookError, Manager, ManagerConfig, Object, PoolError, RecyclingMethod,
    Runtime, TimeoutType, Timeouts,
};
use futures_util::{FutureExt as _, future::BoxFuture, poll};
use tokio::time::timeout;
use tokio_postgres::{Row, error::SqlState, types::ToSql};

use super::{OpenError, database::Database};
use crate::{batch::Failure, error::reason};

/// How long a request waits for others: for a session while all are in use, or for its turn.
pub const WAIT: Duration = Duration::from_secs(5);

/// How long it may take to open one.
pub(super) const OPEN: Duration = Duration::from_secs(5);

/// How long the database may take to answer, whatever keeps it.
pub const ANSWER: Duration = Duration::from_secs(10);

/// What every session is told first, whatever the defaults of the database. What is read after a
/// lock is what is there by then; whoever freezes with a lock in hand loses it soon.
pub const SETTINGS: &str = "SET synchronous_commit = on;
     SET default_transaction_isolation = 'read committed';
     SET idle_in_transaction_session_timeout = '5s';
     SET lock_timeout = '3s';
     SET statement_timeout = '5s';
     SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;
     SET tcp_user_timeout = '10s'";

/// Why the database did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// All sessions were in use for too long.
    #[error("all sessions with the database are in use")]
    Busy,
    /// There is no session to be had.
    #[error("the database cannot be reached")]
    Unreachable(#[source] PoolError),
    /// It did not answer in time.
    #[error("the database does not answer")]
    Silent,
    /// It answered with an error, or not at all. No source: that might quote what is stored.
    #[error("the database failed: {}", reason(.0))]
    Database(tokio_postgres::Error),
    /// There is no row where there always is one.
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

impl Error {
    /// Whether it came of somebody who was faster: it may go well when it is tried again.
    pub fn is_conflict(&self) -> bool {
        self.is_one_of(&[
            SqlState::UNIQUE_VIOLATION,
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
        ])
    }

    /// Whether nothing was done since others did too much.
    pub fn is_overload(&self) -> bool {
        let took_too_long = [SqlState::LOCK_NOT_AVAILABLE, SqlState::QUERY_CANCELED];
        matches!(self, Self::Busy) || self.is_one_of(&took_too_long)
    }

    /// Whether a statement or a row is to blame, and not the database.
    fn is_rejection(&self) -> bool {
        let error = match self {
            Self::Column(_) => return true,
            Self::Database(error) => error,
            _ => return false,
        };
        match error.code() {
            Some(state) => ["22", "23", "54"].iter().any(|class| state.code().starts_with(class)),
            // A value that cannot be converted has a cause of its own.
            None => error.source().is_some_and(|source| !source.is::<io::Error>()),
        }
    }

    fn is_one_of(&self, codes: &[SqlState]) -> bool {
        let Self::Database(error) = self else { return false };
        error.code().is_some_and(|code| codes.contains(code))
    }
}

/// The kind of failure that an error is to a batch.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        if error.is_overload() {
            Self::Overload(Arc::new(error))
        } else if error.is_conflict() {
            Self::Conflict(Arc::new(error))
        } else if error.is_rejection() {
            Self::Operation(Arc::new(error))
        } else {
            Self::Unknown(Arc::new(error))
        }
    }
}

/// A statement, and what is put into it.
pub type Asked<'a> = (&'a str, &'a [&'a (dyn ToSql + Sync)]);

/// A bounded number of sessions.
pub struct Pool(deadpool_postgres::Pool);

impl Pool {
    /// At most so many sessions, with these settings beside those all have. None is opened yet.
    pub fn new(
        database: &Database,
        most: usize,
        settings: &'static str,
    ) -> Result<Self, OpenError> {
        let Database { config, tls, .. } = database.clone();
        let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let settle = Hook::async_fn(move |session: &mut ClientWrapper, _| {
            Box::pin(async move { settle(session, settings).await.map_err(HookError::Backend) })
        });
        let timeouts = Timeouts { wait: Some(WAIT), create: Some(OPEN), recycle: Some(OPEN) };
        let pool = deadpool_postgres::Pool::builder(Manager::from_config(config, tls, manager))
            .max_size(most)
            .timeouts(timeouts)
            .runtime(Runtime::Tokio1)
            .post_create(settle)
            .build()?;
        Ok(Self(pool))
    }

    /// Lends a session to `work`, which has to be done in time.
    pub async fn acquire<T>(
        &self,
        work: impl AsyncFnOnce(&ClientWrapper) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let session = self.take().await?;
        let done = timeout(ANSWER, work(&session)).await;
        done.unwrap_or_else(|_| {
            // What it still has to answer would come in the way of whoever is lent it next.
            drop(Object::take(session));
            Err(Error::Silent)
        })
    }

    /// Takes a session for a transaction, which its first statements begin.
    pub async fn transaction(&self) -> Result<Transaction, Error> {
        Ok(Transaction { session: Some(self.take().await?), is_open: false })
    }

    async fn take(&self) -> Result<Object, Error> {
        self.0.get().await.map_err(|error| match error {
            PoolError::Timeout(TimeoutType::Wait) => Error::Busy,
            error => Error::Unreachable(error),
        })
    }

    /// Ends all sessions that nobody uses.
    pub fn close(&self) {
        self.0.close();
    }
}

/// A transaction on a session that it keeps. It is rolled back when dropped before its commit.
pub struct Transaction {
    /// Missing once the database did not answer in time.
    session: Option<Object>,
    is_open: bool,
}

impl Transaction {
    /// Asks for all of this in one round trip, and begins the transaction if that was not done.
    pub async fn ask(&mut self, asked: &[Asked<'_>]) -> Result<Vec<Vec<Row>>, Error> {
        self.send(asked, &[]).await
    }

    /// As [`Self::ask`], and commits in the same round trip. Where a statement fails, the database
    /// makes a roll-back of the commit.
    pub async fn commit(mut self, asked: &[Asked<'_>]) -> Result<Vec<Vec<Row>>, Error> {
        let mut answers = self.send(asked, &[("COMMIT", &[])]).await?;
        answers.truncate(asked.len());
        self.is_open = false;
        Ok(answers)
    }

    async fn send(
        &mut self,
        asked: &[Asked<'_>],
        last: &[Asked<'_>],
    ) -> Result<Vec<Vec<Row>>, Error> {
        let session = self.session.as_ref().ok_or(Error::Silent)?;
        let begin: &[Asked<'_>] = if self.is_open { &[] } else { &[("BEGIN", &[])] };
        self.is_open = true;
        let all = [begin, asked, last].concat();
        match timeout(ANSWER, ask_all(session, &all)).await {
            Ok(answers) => Ok(answers?.split_off(begin.len())),
            Err(_) => {
                // What it still has to answer would come in the way of whoever takes it next.
                drop(self.session.take().map(Object::take));
                Err(Error::Silent)
            }
        }
    }
}

impl Drop for Transaction {
    /// Sends the roll-back and does not wait for it: whoever uses the session next comes after it.
    fn drop(&mut self) {
        if let Some(session) = &self.session
            && self.is_open
        {
            let _ = session.batch_execute("ROLLBACK").now_or_never();
        }
    }
}

/// Tells a new session these settings beside those all have.
pub(super) async fn settle(
    session: &ClientWrapper,
    settings: &str,
) -> Result<(), tokio_postgres::Error> {
    session.batch_execute(&format!("{SETTINGS}; {settings}")).await
}

/// Asks for all of this in one round trip. It is done in this order, and what comes after something
/// that cannot be sent is not sent either. Statements are prepared once in a session.
pub async fn ask<const N: usize>(
    session: &ClientWrapper,
    asked: [Asked<'_>; N],
) -> Result<[Vec<Row>; N], Error> {
    let mut answers = ask_all(session, &asked).await?.into_iter();
    Ok(array::from_fn(|_| answers.next().unwrap_or_default()))
}

/// As [`ask`], for any number.
pub async fn ask_all(session: &ClientWrapper, asked: &[Asked<'_>]) -> Result<Vec<Vec<Row>>, Error> {
    let mut statements = Vec::with_capacity(asked.len());
    for (sql, _) in asked {
        statements.push(session.prepare_cached(sql).await?);
    }
    let mut answers = Vec::with_capacity(asked.len());
    for (statement, &(_, parameters)) in statements.iter().zip(asked) {
        let mut answer: BoxFuture<'_, _> = Box::pin(session.query(statement, parameters));
        // The first poll sends it.
        answers.push(match poll!(&mut answer) {
            Poll::Ready(rows) => Box::pin(ready(Ok(rows?))),
            Poll::Pending => answer,
        });
    }
    let mut rows = Vec::with_capacity(asked.len());
    for answer in answers {
        rows.push(answer.await?);
    }
    Ok(rows)
}

/// Whether a session is answered on, in time.
pub(super) async fn answers(session: &ClientWrapper) -> bool {
    let answer = timeout(OPEN, ask(session, [("SELECT 1", &[])])).await;
    answer.is_ok_and(|answer| answer.is_ok())
}
