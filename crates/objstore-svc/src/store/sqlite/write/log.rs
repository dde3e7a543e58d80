//! The log: appended to by every change, trimmed by age and size.

use rusqlite::{Connection, OptionalExtension as _, Row};
use uuid::Uuid;

use super::{
    super::super::{
        columns::{Columns, OVERHEAD},
        now,
    },
    Applier, read,
};
use crate::domain::{Entry, Record, Revision, Timestamp};

/// Records dropped in one commit: more than are added from one trim to the next.
const TRIM_BATCH: usize = 4096;

/// The oldest record that the log holds.
#[derive(Clone, Copy)]
pub(super) struct Oldest {
    pub(super) revision: Revision,
    pub(super) at: Timestamp,
    pub(super) bytes_through: i64,
}

impl Applier {
    /// Appends to the log and gives the new record's revision.
    pub(super) fn append(
        &mut self,
        transaction: &Connection,
        entry: Entry,
    ) -> rusqlite::Result<Revision> {
        let revision = self.state.revision + 1;
        let at = now();
        let Columns { event, parts, value, owner, client } = Columns::of(&entry);
        let bytes = i64::try_from(entry.size() + OVERHEAD).unwrap_or(i64::MAX);
        let bytes_through = self.state.bytes.saturating_add(bytes);
        transaction
            .prepare_cached("INSERT INTO log VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?
            .execute((
                revision.cast_signed(),
                at,
                bytes_through,
                event,
                parts[0],
                parts[1],
                parts[2],
                value,
                owner,
                client.as_ref().map(Uuid::as_bytes),
            ))?;
        self.state.bytes = bytes_through;
        self.state.oldest.get_or_insert(Oldest { revision, at, bytes_through });
        self.state.revision = revision;
        self.records.push(Record { revision, entry });
        Ok(revision)
    }

    /// Whether the log's oldest record is too old or one of too many.
    pub(super) fn is_over(&self, oldest: Oldest, now: Timestamp) -> bool {
        let retention = Timestamp::try_from(self.config.log_retention.as_millis());
        let size = i64::try_from(self.config.log_size).unwrap_or(i64::MAX);
        oldest.revision < self.state.revision
            && (now.saturating_sub(oldest.at) > retention.unwrap_or(Timestamp::MAX)
                || self.state.bytes.saturating_sub(oldest.bytes_through) > size)
    }

    pub(super) fn trim(&mut self, transaction: &Connection) -> rusqlite::Result<()> {
        let now = now();
        if !self.state.oldest.is_some_and(|oldest| self.is_over(oldest, now)) {
            return Ok(());
        }
        let mut statement = transaction
            .prepare_cached("SELECT revision, at, bytes_through FROM log ORDER BY revision")?;
        let mut rows = statement.query([])?;
        for _ in 0..=TRIM_BATCH {
            let Some(row) = rows.next()? else { break };
            let oldest = read_oldest(row)?;
            self.state.oldest = Some(oldest);
            if !self.is_over(oldest, now) {
                break;
            }
        }
        let kept = self.state.oldest.map_or(0, |oldest| oldest.revision).cast_signed();
        transaction.prepare_cached("DELETE FROM log WHERE revision < ?1")?.execute([kept])?;
        transaction.prepare_cached("DELETE FROM watches WHERE until <= ?1")?.execute([kept - 1])?;
        Ok(())
    }
}

pub(super) fn oldest(connection: &Connection) -> rusqlite::Result<Option<Oldest>> {
    connection
        .query_row(
            "SELECT revision, at, bytes_through FROM log ORDER BY revision LIMIT 1",
            [],
            read_oldest,
        )
        .optional()
}

fn read_oldest(row: &Row<'_>) -> rusqlite::Result<Oldest> {
    Ok(Oldest { revision: read::revision(row, 0)?, at: row.get(1)?, bytes_through: row.get(2)? })
}
