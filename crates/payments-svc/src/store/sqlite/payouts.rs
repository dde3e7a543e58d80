//! Payouts, written beside the service that owns the directory, if one runs.

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
    batch::{load, new_ids, write},
    read,
};
use crate::domain::{Ids, Payout, PayoutRun, write::Write};

/// How often, and how many times, the service's writer is asked for its turn: for half a minute.
const ASK_EVERY: Duration = Duration::from_millis(1);
const ASKED_AT_MOST: i32 = 30_000;

/// What the service's writer is given between two payouts: it waits for the lock with longer and
/// longer breaks, and could miss each moment in which it is free.
const YIELD: Duration = Duration::from_millis(5);

/// A writer beside the service's. What the service has open stays its own: it alone brings the
/// database to a version's shape, and makes checkpoints.
struct Beside {
    db: Connection,
    path: PathBuf,
    ids: Ids,
}

pub(in super::super) async fn pay_out(
    data_dir: &Path,
    run: PayoutRun,
) -> rusqlite::Result<Vec<Payout>> {
    let path = data_dir.join(DATABASE);
    // A database that does not exist is not made.
    drop(engine::open_reader(&path)?);
    let mut db = engine::open(&path)?;
    db.busy_handler(Some(ask_again))?;
    payouts::pay_out(&mut Beside { db, path, ids: new_ids() }, run).await
}

fn ask_again(asked: i32) -> bool {
    sleep(ASK_EVERY);
    asked < ASKED_AT_MOST
}

impl Books for Beside {
    type Error = rusqlite::Error;

    async fn ask<T: Send>(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        value: fn(&mut Columns<'_>) -> Result<T, ColumnError>,
    ) -> rusqlite::Result<Vec<T>> {
        let mut things = Vec::new();
        read(&self.db, &[(sql, params)], &mut |_, columns| {
            things.push(value(columns)?);
            Ok(())
        })?;
        Ok(things)
    }

    async fn write(&mut self, asked: Write) -> rusqlite::Result<Decision> {
        let open = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)?;
        let known = load(&open, &[&asked], &mut self.ids)?;
        let decided = decide(known, &[&asked]).map_err(|_| rusqlite::Error::InvalidQuery)?;
        if !decided.changes.is_empty() {
            write(&open, &decided.changes, self.ids.last())?;
            open.commit()?;
            if let Err(error) = engine::announce_commit(&self.path) {
                tracing::warn!(cause = %error, "the service sees the payout within a second");
            }
            sleep(YIELD);
        }
        decided.answers.into_iter().next().ok_or(rusqlite::Error::InvalidQuery)
    }
}
