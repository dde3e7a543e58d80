//! Batches on a SQLite file, with a minimal engine.

use std::time::{Duration, Instant};

use super::{
    super::{Directory, open_reader, reader::Lookups, recover},
    *,
};
use crate::batch::{Cost, Decided, Limits, Loaded, Panicked, Queue, WriteError};

/// A counter that must stay below 1000. A write is the number to add; 13 panics.
struct Counter(Embedded);

impl Engine for Counter {
    const LIMITS: Limits = Limits {
        batches: 1,
        another_at: 1,
        writes: 512,
        rows: 4096,
        bytes: usize::MAX,
        start_timeout: Duration::MAX,
    };
    type Write = i64;
    type Answer = i64;
    type LoadedRows = i64;
    type Changes = i64;
    type Open<'e> = Transaction<'e>;

    fn cost(_: &i64) -> Cost {
        Cost { rows: 1, bytes: 8, is_follow_up: false }
    }

    async fn load(&self, _: &[&i64]) -> Result<Loaded<Transaction<'_>, i64>, Failure> {
        let open = self.0.begin().map_err(failure)?;
        let known = total(&open).map_err(failure)?;
        Ok(Loaded { open, known, locked: Vec::new() })
    }

    fn decide(&self, mut total: i64, batch: &[&i64]) -> Result<Decided<i64, i64>, Panicked> {
        let mut answers = Vec::new();
        for (index, add) in batch.iter().enumerate() {
            if **add == 13 {
                return Err(Panicked(index));
            }
            total += **add;
            answers.push(total);
        }
        Ok(Decided { answers, changes: total })
    }

    async fn write<'e>(
        &'e self,
        open: Transaction<'e>,
        decided: Decided<i64, i64>,
    ) -> Result<Vec<i64>, Failure> {
        open.execute("UPDATE counter SET total = ?1", [decided.changes]).map_err(failure)?;
        self.0.commit(open).map_err(failure)?;
        Ok(decided.answers)
    }

    fn after_batch(&self, bytes: usize) {
        self.0.after_batch(bytes);
    }

    fn idle(&self) {
        self.0.idle();
    }
}

fn total(db: &Connection) -> rusqlite::Result<i64> {
    db.query_row("SELECT total FROM counter", [], |row| row.get(0))
}

struct Setup {
    /// Stands in for another program.
    other: Connection,
    path: std::path::PathBuf,
    lookups: Arc<Lookups>,
    queue: Queue<Counter>,
    thread: WriterThread,
    _directory: Directory,
    _place: tempfile::TempDir,
}

fn setup(lookups: usize) -> Setup {
    let place = tempfile::tempdir().unwrap();
    let directory = Directory::own(place.path(), "counter.db").unwrap();
    let path = directory.database().to_owned();
    let (other, disk) = recover(&directory).unwrap();
    let table = "CREATE TABLE counter (total CHECK (total < 1000)); INSERT INTO counter VALUES (0)";
    other.execute_batch(table).unwrap();
    let lookups = Arc::new(Lookups::open(&path, lookups).unwrap());
    let embedded = Embedded::open(&path, disk, Arc::clone(&lookups)).unwrap();
    let (queue, runner) = Queue::new(Counter(embedded));
    let thread = WriterThread::start(runner, |counter: Counter| counter.0.close()).unwrap();
    Setup { other, path, lookups, queue, thread, _directory: directory, _place: place }
}

impl Setup {
    async fn stop(self) -> Connection {
        self.queue.stop();
        self.thread.ended().await;
        self.other
    }
}

#[tokio::test]
async fn a_failed_write_does_not_affect_the_others() {
    let setup = setup(1);
    let adds = [1, 13, 2, 5000, 13, 3].map(|add| {
        let queue = setup.queue.clone();
        tokio::spawn(async move { (add, queue.write(add).await) })
    });
    for add in adds {
        match add.await.unwrap() {
            (13, answer) => assert!(matches!(answer, Err(WriteError::Panicked))),
            (5000, answer) => assert!(matches!(answer, Err(WriteError::Failed(_)))),
            (add, answer) => assert!(answer.unwrap() >= add),
        }
    }
    assert_eq!(total(&setup.stop().await).unwrap(), 6);
}

#[tokio::test]
async fn a_look_up_sees_every_write_that_was_answered() {
    let setup = setup(2);
    for written in 1..=20 {
        assert_eq!(setup.queue.write(1).await.unwrap(), written);
        assert_eq!(setup.lookups.read(total).unwrap(), written);
        assert_eq!(setup.lookups.read(total).unwrap(), written, "within the same transaction");
    }
    let failed = setup.lookups.read(|db| db.execute("DELETE FROM counter", []));
    assert!(failed.is_err(), "a look-up cannot write");
    assert_eq!(setup.lookups.read(total).unwrap(), 20);
    let wal = setup.path.with_extension("db-wal");
    let _other = setup.stop().await;
    let left = std::fs::metadata(wal).map_or(0, |wal| wal.len());
    assert_eq!(left, 0, "the WAL was not emptied: a transaction is still open");
}

#[tokio::test]
async fn look_ups_use_a_memory_map_only_while_nothing_is_committed() {
    let setup = setup(1);
    let mapped = |db: &Connection| db.query_row("PRAGMA mmap_size", [], |row| row.get::<_, i64>(0));
    for written in 1..=3 {
        assert_eq!(setup.queue.write(1).await.unwrap(), written);
        assert_eq!(setup.lookups.read(mapped).unwrap(), 0, "after a commit");
        let begun = Instant::now();
        while setup.lookups.read(mapped).unwrap() == 0 {
            assert!(begun.elapsed() < Duration::from_secs(10), "the map is never used");
        }
        assert_eq!(setup.lookups.read(total).unwrap(), written);
    }
    setup.stop().await;
}

#[tokio::test]
async fn a_commit_of_another_program_is_seen_within_seconds() {
    let setup = setup(1);
    assert_eq!(setup.queue.write(1).await.unwrap(), 1);
    assert_eq!(setup.lookups.read(total).unwrap(), 1);
    setup.other.execute("UPDATE counter SET total = 11", []).unwrap();
    let begun = Instant::now();
    while setup.lookups.read(total).unwrap() != 11 {
        assert!(begun.elapsed() < Duration::from_secs(10), "the commit is never seen");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(setup.queue.write(1).await.unwrap(), 12);
    setup.stop().await;
}

#[tokio::test]
async fn the_writer_continues_after_a_failed_batch() {
    let setup = setup(1);
    setup.other.execute_batch("ALTER TABLE counter RENAME TO renamed").unwrap();
    assert!(matches!(setup.queue.write(1).await, Err(WriteError::Failed(_))));
    setup.other.execute_batch("ALTER TABLE renamed RENAME TO counter").unwrap();
    assert_eq!(setup.queue.write(1).await.unwrap(), 1);
    setup.stop().await;
}

#[tokio::test]
async fn each_committed_page_has_room_in_the_database() {
    let setup = setup(1);
    let blocks = || std::os::unix::fs::MetadataExt::blocks(&setup.path.metadata().unwrap());
    let before = blocks();
    // A checkpoint copies no page that is newer than this snapshot.
    let reader = open_reader(&setup.path).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM counter").unwrap();
    setup.other.execute_batch("CREATE TABLE filler (bytes)").unwrap();
    setup.other.execute("INSERT INTO filler VALUES (zeroblob(3000000))", []).unwrap();
    assert_eq!(blocks(), before, "another process allocates nothing");
    setup.queue.write(1).await.unwrap();
    assert!(blocks() * 512 >= 3_000_000, "{}", blocks());
    let copied = |row: &rusqlite::Row<'_>| row.get::<_, u32>("checkpointed");
    let copied = setup.other.query_row("PRAGMA wal_checkpoint(NOOP)", [], copied).unwrap();
    assert!(copied < 10, "a checkpoint of {copied} pages may have allocated them");
    drop(reader);
    setup.stop().await;
}
