//! The writer on its own, with the smallest engine.

use super::*;

/// Counts in a table up to a thousand; an operation is the number to add, and 13 panics after
/// writing.
struct Counter {
    commits: Arc<AtomicUsize>,
}

impl Engine for Counter {
    type Operation = i64;
    type Answer = i64;

    fn weight(_: &i64) -> usize {
        8
    }

    fn is_due(&self) -> bool {
        false
    }

    fn has_unwritten(&self) -> bool {
        false
    }

    fn apply(&mut self, transaction: &Connection, add: &i64) -> rusqlite::Result<i64> {
        transaction.execute("UPDATE counter SET total = total + ?1", [add])?;
        assert_ne!(*add, 13, "unlucky");
        transaction.query_row("SELECT total FROM counter", [], |row| row.get(0))
    }

    fn finish(&mut self, _: &Connection) -> rusqlite::Result<()> {
        Ok(())
    }

    fn committed(&mut self) {
        self.commits.fetch_add(1, Ordering::Relaxed);
    }

    fn rolled_back(&mut self) {}
}

#[tokio::test]
async fn a_failure_undoes_its_own_operation_and_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("counter.db");
    let setup = open(&path).unwrap();
    setup
        .execute_batch(
            "CREATE TABLE counter (total CHECK (total < 1000)); INSERT INTO counter VALUES (0)",
        )
        .unwrap();
    let commits = Arc::new(AtomicUsize::new(0));
    let engine = Counter { commits: Arc::clone(&commits) };
    let (writer, handle) = Writer::start(&path, engine, 1).unwrap();

    let adds = [1, 13, 2, 5000, 13, 3].map(|add| {
        let handle = handle.clone();
        tokio::spawn(async move { (add, handle.write(add).await) })
    });
    for add in adds {
        match add.await.unwrap() {
            (13, answer) => assert!(matches!(answer, Err(WriteError::Panicked))),
            (5000, answer) => assert!(matches!(answer, Err(WriteError::NotCommitted(_)))),
            (add, answer) => assert!(answer.unwrap() >= add),
        }
    }
    drop(handle);
    assert!(writer.join());

    let total: i64 = setup.query_row("SELECT total FROM counter", [], |row| row.get(0)).unwrap();
    assert_eq!(total, 6);
    assert!(commits.load(Ordering::Relaxed) <= 5);
}

#[tokio::test]
async fn a_look_up_sees_every_write_that_was_answered() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("counter.db");
    open(&path)
        .unwrap()
        .execute_batch(
            "CREATE TABLE counter (total CHECK (total < 1000)); INSERT INTO counter VALUES (0)",
        )
        .unwrap();
    let engine = Counter { commits: Arc::default() };
    let (writer, handle) = Writer::start(&path, engine, 2).unwrap();
    let total = |connection: &Connection| {
        connection.query_row("SELECT total FROM counter", [], |row| row.get::<_, i64>(0))
    };
    for written in 1..=20 {
        assert_eq!(handle.write(1).await.unwrap(), written);
        assert_eq!(handle.look_up(total).unwrap(), written);
        assert_eq!(handle.look_up(total).unwrap(), written, "within the same transaction");
    }
    let failed = handle.look_up(|connection| connection.execute("DELETE FROM counter", []));
    assert!(failed.is_err(), "a look-up cannot write");
    assert_eq!(handle.look_up(total).unwrap(), 20);
    drop(handle);
    assert!(writer.join());
    let left = std::fs::metadata(path.with_extension("db-wal")).map_or(0, |log| log.len());
    assert_eq!(left, 0, "a transaction that is held keeps the log from being emptied");
}

#[tokio::test]
async fn what_another_process_writes_is_kept_and_seen_though_nothing_is_written_here() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("counter.db");
    let other = open(&path).unwrap();
    other
        .execute_batch(
            "CREATE TABLE counter (total CHECK (total < 1000)); INSERT INTO counter VALUES (0)",
        )
        .unwrap();
    let engine = Counter { commits: Arc::default() };
    let (writer, handle) = Writer::start(&path, engine, 1).unwrap();
    let total = |connection: &Connection| {
        connection.query_row("SELECT total FROM counter", [], |row| row.get::<_, i64>(0))
    };
    assert_eq!(handle.write(1).await.unwrap(), 1);
    assert_eq!(handle.look_up(total).unwrap(), 1);
    other.execute("UPDATE counter SET total = total + 10", []).unwrap();
    let begun = std::time::Instant::now();
    while handle.look_up(total).unwrap() != 11 {
        assert!(begun.elapsed() < 10 * TICK, "it is never seen");
        tokio::time::sleep(TICK / 20).await;
    }
    assert_eq!(handle.write(1).await.unwrap(), 12);
    drop(handle);
    assert!(writer.join());
}

#[tokio::test]
async fn an_error_fails_its_batch_and_the_writer_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("counter.db");
    let engine = Counter { commits: Arc::default() };
    let (writer, handle) = Writer::start(&path, engine, 1).unwrap();
    assert!(matches!(handle.write(1).await, Err(WriteError::NotCommitted(_))));

    let other = open(&path).unwrap();
    other
        .execute_batch(
            "CREATE TABLE counter (total CHECK (total < 1000)); INSERT INTO counter VALUES (0)",
        )
        .unwrap();
    assert_eq!(handle.write(1).await.unwrap(), 1);
    drop(handle);
    assert!(writer.join());
}
