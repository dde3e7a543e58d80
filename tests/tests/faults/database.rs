//! Reads the SQLite file of a store, with the service running or stopped.

use std::{collections::BTreeMap, path::Path};

use blackbox::objstore::Key;
use rusqlite::{Connection, OpenFlags, Row};

use crate::writers::{Ledger, value};

/// The file name in a data directory.
pub(crate) const FILE: &str = "objstore.db";

/// Type, namespace and name of a key.
type Parts = [String; 3];

/// A snapshot of a store.
pub(crate) struct Database {
    /// The newest revision when the epoch began.
    epoch_start: u64,
    log: Vec<Record>,
    objects: BTreeMap<Parts, (u64, Vec<u8>)>,
}

struct Record {
    revision: u64,
    change: Option<(Parts, Option<Vec<u8>>)>,
}

impl Database {
    /// Reads the file in one transaction. Checks its integrity first.
    pub(crate) fn read(file: &Path) -> Self {
        let connection =
            Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        let snapshot = connection.unchecked_transaction().unwrap();
        let health: String =
            snapshot.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(health, "ok");
        let mut log = snapshot
            .prepare(
                "SELECT revision, event, type, namespace, name, value FROM log ORDER BY revision",
            )
            .unwrap();
        let log = log.query_map([], record).unwrap().map(Result::unwrap).collect();
        let mut objects =
            snapshot.prepare("SELECT revision, type, namespace, name, value FROM objects").unwrap();
        let objects =
            objects.query_map([], |row| Ok((parts(row, 1)?, (revision(row)?, row.get(4)?))));
        let epoch_start = snapshot.query_row("SELECT epoch_start FROM store", [], |row| {
            row.get::<_, i64>(0).map(i64::cast_unsigned)
        });
        Self {
            epoch_start: epoch_start.unwrap(),
            log,
            objects: objects.unwrap().map(Result::unwrap).collect(),
        }
    }

    pub(crate) fn revision(&self) -> u64 {
        self.log.last().map_or(0, |record| record.revision).max(self.epoch_start)
    }

    /// Checks that all changes are complete: the log has no gaps within an epoch, and replaying it
    /// from the first revision gives the objects.
    pub(crate) fn is_whole(&self) {
        let mut objects = BTreeMap::new();
        // The records of an earlier epoch begin at its start.
        let earlier = self.log.first().filter(|record| record.revision <= self.epoch_start);
        let mut last = earlier.map_or(self.epoch_start, |record| record.revision - 1);
        for Record { revision, change } in &self.log {
            if *revision > self.epoch_start {
                last = last.max(self.epoch_start);
            }
            assert_eq!(*revision, last + 1, "the log has a gap");
            last = *revision;
            match change {
                Some((key, Some(value))) => {
                    drop(objects.insert(key.clone(), (*revision, value.clone())))
                }
                Some((key, None)) => {
                    assert!(objects.remove(key).is_some(), "{key:?} was deleted twice")
                }
                None => {}
            }
        }
        assert!(objects == self.objects, "the objects differ from the log");
    }

    /// Checks that the log contains every acknowledged change.
    pub(crate) fn holds(&self, ledger: &Ledger) {
        for (revision, key, number) in &ledger.sets {
            let at = self.log.binary_search_by_key(revision, |record| record.revision);
            let change = at.ok().and_then(|at| self.log[at].change.as_ref());
            let expected = (parts_of(key), Some(value(*number).into_bytes()));
            assert!(change == Some(&expected), "revision {revision} is not {key:?} {number}");
        }
        let mut deletions = BTreeMap::<Parts, usize>::new();
        for (key, value) in self.log.iter().filter_map(|record| record.change.as_ref()) {
            if value.is_none() {
                *deletions.entry(key.clone()).or_default() += 1;
            }
        }
        for key in &ledger.deletions {
            let left = deletions.entry(parts_of(key)).or_default();
            *left = left.checked_sub(1).unwrap_or_else(|| panic!("{key:?} was not deleted"));
        }
    }

    /// The values of all sets of this type, in the order of the log.
    pub(crate) fn sets(&self, kind: &str) -> Vec<String> {
        let changes = self.log.iter().filter_map(|record| record.change.as_ref());
        let values =
            changes.filter(|(key, _)| key[0] == kind).filter_map(|(_, value)| value.clone());
        values.map(|value| String::from_utf8(value).unwrap()).collect()
    }
}

fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    let change = match row.get(1)? {
        1 => Some((parts(row, 2)?, Some(row.get(5)?))),
        2 => Some((parts(row, 2)?, None)),
        _ => None,
    };
    Ok(Record { revision: revision(row)?, change })
}

fn revision(row: &Row<'_>) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(0)?.cast_unsigned())
}

fn parts(row: &Row<'_>, first: usize) -> rusqlite::Result<Parts> {
    Ok([row.get(first)?, row.get(first + 1)?, row.get(first + 2)?])
}

fn parts_of(key: &Key) -> Parts {
    [key.r#type.clone(), key.namespace.clone(), key.name.clone()]
}

/// Inserts `count` objects with the type and namespace of `key` into a stopped store, because a
/// service would take much longer. The names are numbers of seven digits from 0 on. Each value has
/// a filler of `filler` bytes.
pub(crate) fn stuff(file: &Path, key: &Key, count: usize, filler: usize) {
    let connection = Connection::open(file).unwrap();
    connection.pragma_update(None, "synchronous", "off").unwrap();
    let value = format!(r#"{{"x":"{}"}}"#, "x".repeat(filler));
    let inserted = connection.execute(
        "WITH RECURSIVE numbers (n) AS
             (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ?3)
         INSERT INTO objects (type, namespace, name, value, owner, revision)
         SELECT ?1, ?2, printf('%07d', n), CAST(?4 AS BLOB), 'somebody', 1 FROM numbers",
        (&key.r#type, &key.namespace, i64::try_from(count).unwrap(), value),
    );
    assert_eq!(inserted.unwrap(), count);
}
