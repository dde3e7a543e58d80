//! Checks whether each connection has a session of PostgreSQL for itself. A pooler in transaction mode
//! gives one session to several connections: then prepared statements, settings and `LISTEN` fail.

use tokio::time::timeout;
use tokio_postgres::{Client, SimpleQueryMessage};

use super::{Database, Error, OpenError, pool::ANSWER};

/// A pooler may give a session of its own by chance.
const TRIES: u32 = 3;

impl Database {
    /// Fails if connections share sessions. One takes a lock that belongs to its session, and the
    /// other one must not get it.
    pub(super) async fn check_sessions(&self) -> Result<(), OpenError> {
        let (one, other) = (self.connect().await?, self.connect().await?);
        for _ in 0..TRIES {
            let checked = timeout(ANSWER, are_shared(&one, &other)).await;
            let checked = checked.map_err(|_| OpenError::Silent { setting: self.setting() })?;
            if checked.map_err(|error| self.failed(error))? {
                let source = Box::new(Error::SharedSessions);
                return Err(OpenError::Refused { setting: self.setting(), source });
            }
        }
        Ok(())
    }
}

async fn are_shared(one: &Client, other: &Client) -> Result<bool, tokio_postgres::Error> {
    let key = rand::random::<i64>();
    let ask = async |client: &Client, function: &str| {
        client.simple_query(&format!("SELECT {function}({key})")).await
    };
    let is_true = |rows: Vec<SimpleQueryMessage>| {
        rows.iter()
            .any(|row| matches!(row, SimpleQueryMessage::Row(row) if row.get(0) == Some("t")))
    };
    ask(one, "pg_advisory_lock").await?;
    let got_it = is_true(ask(other, "pg_try_advisory_lock").await?);
    let has_kept_it = is_true(ask(one, "pg_advisory_unlock").await?);
    if got_it {
        // The session is that of others: leave no lock there.
        ask(other, "pg_advisory_unlock").await?;
    }
    Ok(got_it || !has_kept_it)
}
