//! Trims the oldest records of the change log, by age and size.

use std::sync::LazyLock;

use common::sql::{Group as _, group};
use rusqlite::{Connection, OptionalExtension as _};

use super::{super::StoreConfig, read};
use crate::domain::{Revision, Timestamp, decide::Head};

/// Maximum number of records that one trim deletes. It must exceed the number of records that are
/// added between two trims: otherwise the change log grows beyond its limits.
const TRIM_BATCH: usize = 4096;

/// Maximum bytes of the records that one trim deletes; see [`TRIM_BATCH`]. SQLite reads each page of
/// them, and no write is answered meanwhile.
const TRIM_BYTES: i64 = 32 * 1024 * 1024;

/// The oldest record of the change log.
#[derive(Clone, Copy)]
pub(super) struct Oldest {
    pub(super) revision: Revision,
    pub(super) at: Timestamp,
    /// Bytes of all records up to and including this one, deleted ones too.
    pub(super) bytes_through: i64,
}

group! {
    Oldest {
        revision: Revision = "revision",
        at: Timestamp = "at",
        bytes_through: i64 = "bytes_through",
    }
}

static OLDEST: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {} FROM log ORDER BY revision", Oldest::of("log")));

/// How much of the change log is kept.
#[derive(Clone, Copy)]
pub(super) struct Retention {
    /// Maximum age of a record, in milliseconds.
    age: Timestamp,
    bytes: i64,
}

impl Retention {
    pub(super) fn of(config: &StoreConfig) -> Self {
        let age = Timestamp::try_from(config.log_retention.as_millis());
        let bytes = i64::try_from(config.log_size);
        Self { age: age.unwrap_or(Timestamp::MAX), bytes: bytes.unwrap_or(i64::MAX) }
    }

    /// Whether to delete the oldest record: it is too old, or the change log is too large. The
    /// newest record is always kept. Without `now`, no record is too old.
    pub(super) fn must_delete_oldest(
        self,
        oldest: Oldest,
        head: Head,
        now: Option<Timestamp>,
    ) -> bool {
        oldest.revision < head.revision
            && (now.is_some_and(|now| now.saturating_sub(oldest.at) > self.age)
                || head.bytes.saturating_sub(oldest.bytes_through) > self.bytes)
    }

    /// Deletes the oldest records, and the watches that ended before the oldest kept record.
    /// Returns this record.
    pub(super) fn trim(
        self,
        transaction: &Connection,
        head: Head,
        now: Option<Timestamp>,
    ) -> rusqlite::Result<Option<Oldest>> {
        let mut statement = transaction.prepare_cached(&OLDEST)?;
        let mut rows = statement.query([])?;
        let (mut kept, mut first) = (None, None);
        for _ in 0..=TRIM_BATCH {
            let Some(row) = rows.next()? else { break };
            let oldest: Oldest = read::row(row)?;
            kept = Some(oldest);
            let bytes = oldest.bytes_through - *first.get_or_insert(oldest.bytes_through);
            if bytes > TRIM_BYTES || !self.must_delete_oldest(oldest, head, now) {
                break;
            }
        }
        let first = kept.map_or(0, |oldest| oldest.revision).cast_signed();
        transaction.prepare_cached("DELETE FROM log WHERE revision < ?1")?.execute([first])?;
        transaction.prepare_cached(DROP_WATCHES)?.execute([first - 1])?;
        Ok(kept)
    }
}

pub(super) const DROP_WATCHES: &str = "DELETE FROM watches WHERE until <= ?1";

pub(super) fn oldest(connection: &Connection) -> rusqlite::Result<Option<Oldest>> {
    connection.query_row(&format!("{} LIMIT 1", *OLDEST), [], read::row).optional()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trim_deletes_a_bounded_number_of_bytes() {
        let database = Connection::open_in_memory().unwrap();
        let tables = "CREATE TABLE log (revision INTEGER PRIMARY KEY, at, bytes_through);
             CREATE TABLE watches (until)";
        database.execute_batch(tables).unwrap();
        let mut insert = database.prepare("INSERT INTO log VALUES (?1, 0, ?1 * ?2)").unwrap();
        for revision in 1..=100 {
            insert.execute([revision, 1024 * 1024]).unwrap();
        }
        let retention = Retention { age: 1, bytes: i64::MAX };
        let head = Head { revision: 100, bytes: 100 * 1024 * 1024, clients: 0 };
        let trim = || retention.trim(&database, head, Some(9)).unwrap().unwrap().revision;
        assert_eq!([trim(), trim(), trim(), trim(), trim()], [34, 67, 100, 100, 100]);
        let count = "SELECT count(*) FROM log";
        assert_eq!(database.query_row(count, [], |row| row.get::<_, i64>(0)).unwrap(), 1);
    }
}
