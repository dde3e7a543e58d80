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
    sql::{ColumnError, Columns, Param},
    sqlite as engine,
};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::{
    super::{
        batch::{Decision, decide},
        payouts::{self, Books},
    },
    DATABASE,
    batch::{load, new_ids, write as write_changes},
    read,
};
use crate::domain::{Ids, Payout, PayoutRun, write::Write};

/// The write lock is tried this often, this many times: for half a minute.
const LOCK_POLL: Duration = Duration::from_millis(1);
const LOCK_POLLS: i32 = 30_000;

/// Pause between two payouts, so that the service's writer gets the lock. That writer polls the
/// lock at growing intervals, and could miss every moment in which it is free.
const PAUSE: Duration = Duration::from_millis(5);

/// The writer of this process.
struct PayoutWriter {
    db: Connection,
    path: PathBuf,
    ids: Ids,
}

pub(in super::super) async fn pay_out(
    data_dir: &Path,
    run: PayoutRun,
) -> rusqlite::Result<Vec<Payout>> {
    let path = data_dir.join(DATABASE);
    // Fails if there is no database, which `open` would create.
    drop(engine::open_reader(&path)?);
    let mut db = engine::open(&path)?;
    db.busy_handler(Some(retry_lock))?;
    payouts::pay_out(&mut PayoutWriter { db, path, ids: new_ids() }, run).await
}

fn retry_lock(tries: i32) -> bool {
    sleep(LOCK_POLL);
    tries < LOCK_POLLS
}

impl Books for PayoutWriter {
    type Error = rusqlite::Error;

    async fn query<T: Send>(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        read_row: fn(&mut Columns<'_>) -> Result<T, ColumnError>,
    ) -> rusqlite::Result<Vec<T>> {
        let mut values = Vec::new();
        read(&self.db, &[(sql, params)], &mut |_, columns| {
            values.push(read_row(columns)?);
            Ok(())
        })?;
        Ok(values)
    }

    async fn write(&mut self, write: Write) -> rusqlite::Result<Decision> {
        let open = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)?;
        let known = load(&open, &[&write], &mut self.ids)?;
        let decided = decide(known, &[&write]).map_err(|_| rusqlite::Error::InvalidQuery)?;
        if !decided.changes.is_empty() {
            write_changes(&open, &decided.changes, self.ids.last())?;
            open.commit()?;
            if let Err(error) = engine::announce_commit(&self.path) {
                tracing::warn!(
                    cause = %error,
                    "payout not announced; the service sees it within a second"
                );
            }
            sleep(PAUSE);
        }
        decided.answers.into_iter().next().ok_or(rusqlite::Error::InvalidQuery)
    }
}
