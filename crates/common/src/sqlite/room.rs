//! Room for the database on its volume. Every committed page first gets a place in the database
//! file, so a checkpoint can copy it even when the log has filled the volume. Otherwise, nothing
//! could empty the log any more.

use std::{cell::Cell, fs::File};

use rusqlite::{Connection, ffi};
use rustix::{
    fs::{FallocateFlags, fallocate},
    io::{Errno, retry_on_intr},
};

/// The file grows by this many bytes at once, if the volume has them.
const STEP: u64 = 1024 * 1024;

/// The room of a database file. It lies behind the end of the file, so nobody sees it.
pub(super) struct Room {
    database: &'static File,
    page_size: u64,
    /// Bytes that are allocated.
    allocated: Cell<u64>,
}

impl Room {
    pub(super) fn new(database: &'static File, connection: &Connection) -> rusqlite::Result<Self> {
        let page_size: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
        Ok(Self { database, page_size: page_size.cast_unsigned(), allocated: Cell::new(0) })
    }

    /// Allocates room for all pages of the database, as the open transaction leaves it. Fails with
    /// [`ffi::SQLITE_FULL`] if the volume has none. File systems that cannot allocate are left alone.
    pub(super) fn reserve(&self, transaction: &Connection) -> rusqlite::Result<()> {
        let mut count = transaction.prepare_cached("PRAGMA page_count")?;
        let pages: i64 = count.query_row([], |row| row.get(0))?;
        let size = pages.cast_unsigned() * self.page_size;
        if size <= self.allocated.get() {
            return Ok(());
        }
        match self.allocate(size.next_multiple_of(STEP)).or_else(|_| self.allocate(size)) {
            Ok(()) => Ok(()),
            Err(Errno::NOSPC | Errno::DQUOT) => {
                Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_FULL), None))
            }
            Err(error) => {
                tracing::debug!(cause = %error, "no room is allocated in advance");
                self.allocated.set(u64::MAX);
                Ok(())
            }
        }
    }

    fn allocate(&self, size: u64) -> rustix::io::Result<()> {
        let from = self.allocated.get();
        let grow = || fallocate(self.database, FallocateFlags::KEEP_SIZE, from, size - from);
        retry_on_intr(grow)?;
        self.allocated.set(size);
        Ok(())
    }
}
