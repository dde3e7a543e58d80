//! Payouts in SQLite, written by a second process while a service may own the directory.
//!
//! The service stays responsible for the database: only it migrates the schema and makes
//! checkpoints. This process announces its commits, so that the service reads them at once.

use std::{
    path::{Path, PathBuf},
    thread::sleep,
    time::Duration,
};

use common::{
    progress::Progress,
    sql::{ColumnError, Columns, Param},
    sqlite as engine,
};
use payments_domain::{IdGenerator, PayoutRun, write::Write};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::{
    super::{
        PaidRun, PayoutError,
        batch::decide,
        payouts::{self, PayoutDatabase},
    },
    DATABASE,
    batch::{load, new_ids, write as write_changes},
    read,
};

/// The interval and the number of attempts to get the write lock: for 30 seconds.
const LOCK_POLL: Duration = Duration::from_millis(1);
const LOCK_POLLS: i32 = 30_000;

/// Pause between two payouts, so that the service's writer gets the lock. The service tries the
/// lock at increasing intervals. Without a pause, it could find the lock taken each time.
const PAUSE: Duration = Duration::from_millis(5);

/// The writer of this process.
struct PayoutWriter {
    db: Connection,
    path: PathBuf,
    ids: IdGenerator,
}

pub(in super::super) async fn pay_out(
    data_dir: &Path,
    run: PayoutRun,
    delay: Duration,
    progress: &Progress,
) -> Result<PaidRun, PayoutError> {
    let (mut db, _directory) = engine::open_beside(data_dir, DATABASE)?;
    db.busy_handler(Some(retry_lock))?;
    let path = data_dir.join(DATABASE);
    payouts::pay_out(&mut PayoutWriter { db, path, ids: new_ids() }, run, delay, progress).await
}

fn retry_lock(tries: i32) -> bool {
    sleep(LOCK_POLL);
    tries < LOCK_POLLS
}

impl From<rusqlite::Error> for PayoutError {
    fn from(error: rusqlite::Error) -> Self {
        Self::NotBooked(error.into())
    }
}

impl PayoutDatabase for PayoutWriter {
    async fn query<T: Send>(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        read_row: fn(&mut Columns<'_>) -> Result<T, ColumnError>,
    ) -> Result<Vec<T>, PayoutError> {
        let mut values = Vec::new();
        read(&self.db, &[(sql, params)], &mut |_, columns| {
            values.push(read_row(columns)?);
            Ok(())
        })?;
        Ok(values)
    }

    async fn write(&mut self, write: Write) -> Result<(), PayoutError> {
        let open = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)?;
        let known = load(&open, &[&write], &mut self.ids)?;
        let decided = decide(known, &[&write]).map_err(|_| PayoutError::Panicked)?;
        if !decided.changes.is_empty() {
            write_changes(&open, &decided.changes, self.ids.last())?;
            open.commit()?;
            if let Err(error) = engine::announce_commit(&self.path) {
                tracing::warn!(
                    cause = %error,
                    "cannot notify the service of a payout; it sees the payout within a second"
                );
            }
            sleep(PAUSE);
        }
        Ok(())
    }
}
