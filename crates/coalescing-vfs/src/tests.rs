use std::{
    cell::Cell,
    ffi::{c_int, c_void},
    fs,
    path::Path,
    ptr,
};

use proptest::{collection::vec, prelude::*};
use rusqlite::{
    Connection, ErrorCode, Result,
    ffi::{self, sqlite3_file},
};

use super::{extension, on_failure, open};

/// Two connections of [`open`], and one of the default VFS that only reads.
struct Database {
    folder: tempfile::TempDir,
    writers: [Connection; 2],
    reader: Connection,
}

impl Database {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.db");
        let writers = [writer(&path), writer(&path)];
        writers[0].execute_batch("CREATE TABLE rows (id INTEGER PRIMARY KEY, value BLOB)").unwrap();
        let reader = Connection::open(&path).unwrap();
        Self { folder, writers, reader }
    }

    /// The rows in a copy of the files: in the state after a SIGKILL at this moment.
    fn recovered(&self) -> Vec<(i64, Vec<u8>)> {
        let copy = tempfile::tempdir().unwrap();
        for file in ["test.db", "test.db-wal"] {
            fs::copy(self.folder.path().join(file), copy.path().join(file)).unwrap();
        }
        let copy = Connection::open(copy.path().join("test.db")).unwrap();
        let check: String = copy.query_row("PRAGMA integrity_check", (), |row| row.get(0)).unwrap();
        assert_eq!(check, "ok");
        rows(&copy).unwrap()
    }
}

fn writer(path: &Path) -> Connection {
    let connection = open(path).unwrap();
    connection
        .execute_batch(
            "PRAGMA journal_mode = wal; PRAGMA synchronous = full; PRAGMA wal_autocheckpoint = 0;
             -- Pages: small, so that transactions are larger.
             PRAGMA cache_size = 5",
        )
        .unwrap();
    connection
}

fn rows(connection: &Connection) -> Result<Vec<(i64, Vec<u8>)>> {
    connection
        .prepare("SELECT id, value FROM rows ORDER BY id")?
        .query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

fn insert(connection: &Connection, count: usize) {
    for _ in 0..count {
        connection.execute("INSERT INTO rows (value) VALUES (zeroblob(3000))", ()).unwrap();
    }
}

/// Runs `action` while the disk is full for the WAL of this connection.
fn on_a_full_disk<T>(connection: &Connection, action: impl FnOnce() -> T) -> T {
    extern "C" fn full(_: *mut sqlite3_file, _: *const c_void, _: c_int, _: i64) -> c_int {
        ffi::SQLITE_FULL
    }
    let mut file = ptr::null_mut::<sqlite3_file>();
    // SAFETY: SQLite stores the WAL of the open connection, which `open` made, in `file`.
    let write = unsafe {
        let pointer = ptr::from_mut(&mut file).cast();
        let operation = ffi::SQLITE_FCNTL_JOURNAL_POINTER;
        ffi::sqlite3_file_control(connection.handle(), ptr::null(), operation, pointer);
        extension(file).original.xWrite.replace(full)
    };
    let result = action();
    // SAFETY: the connection is still open.
    unsafe { extension(file).original.xWrite = write };
    result
}

/// Write calls of this thread until now.
fn write_calls() -> u64 {
    let counters = fs::read_to_string("/proc/thread-self/io").unwrap();
    let calls = counters.lines().find_map(|line| line.strip_prefix("syscw: "));
    calls.unwrap().parse().unwrap()
}

/// Write calls of a commit that inserts `count` rows, each on its own page.
fn calls_of_a_commit(connection: &Connection, count: usize) -> u64 {
    connection.execute_batch("PRAGMA cache_size = 1000; BEGIN").unwrap();
    insert(connection, count);
    let before = write_calls();
    connection.execute_batch("COMMIT").unwrap();
    write_calls() - before
}

#[test]
fn a_commit_makes_one_write_call() {
    let database = Database::new();
    assert!(calls_of_a_commit(&database.reader, 20) > 40);
    assert_eq!(calls_of_a_commit(&database.writers[0], 20), 1);
}

#[test]
fn a_commit_that_is_too_large_makes_one_call_for_each_128_kib() {
    let database = Database::new();
    let calls = calls_of_a_commit(&database.writers[0], 100);
    assert!((4..=5).contains(&calls), "100 pages of 4 KiB: {calls} calls");
    assert_eq!(database.recovered().len(), 100);
}

#[test]
fn a_rollback_does_not_damage_what_another_connection_writes_next() {
    let database = Database::new();
    let [first, second] = &database.writers;
    for round in 0..10 {
        // Both then write to the beginning of the WAL.
        second.query_row("PRAGMA wal_checkpoint", (), |_| Ok(())).unwrap();
        first.execute_batch("BEGIN").unwrap();
        insert(first, 20);
        first.execute_batch("ROLLBACK").unwrap();
        second.execute("INSERT INTO rows VALUES (?, randomblob(3000))", (round,)).unwrap();
        first.execute("INSERT INTO rows VALUES (?, x'01')", (100 + round,)).unwrap();
        assert!(database.recovered() == rows(&database.reader).unwrap());
    }
    assert_eq!(database.recovered().len(), 20);
}

#[test]
fn a_commit_on_a_full_disk_fails_and_the_next_one_succeeds() {
    let database = Database::new();
    let [first, second] = &database.writers;
    let full = on_a_full_disk(first, || {
        first.execute("INSERT INTO rows VALUES (1, zeroblob(3000))", ()).unwrap_err()
    });
    assert_eq!(full.sqlite_error_code(), Some(ErrorCode::DiskFull));
    assert_eq!(database.recovered().len(), 0);
    second.execute("INSERT INTO rows VALUES (2, zeroblob(3000))", ()).unwrap();
    first.execute("INSERT INTO rows VALUES (3, zeroblob(3000))", ()).unwrap();
    assert_eq!(database.recovered().len(), 2);
}

#[test]
fn a_transaction_that_lost_pages_cannot_commit() {
    let database = Database::new();
    let connection = &database.writers[0];
    for (end, succeeds) in [("COMMIT", false), ("ROLLBACK", true)] {
        connection.execute_batch("BEGIN").unwrap();
        insert(connection, 20);
        // It reads pages that have gathered. SQLite undoes this statement, but not the transaction.
        let full = on_a_full_disk(connection, || {
            connection.execute("UPDATE rows SET id = id + 100", ()).unwrap_err()
        });
        assert_eq!(full.sqlite_error_code(), Some(ErrorCode::DiskFull));
        assert!(!connection.is_autocommit());
        assert_eq!(connection.execute_batch(end).is_ok(), succeeds, "{end}");
        assert!(connection.is_autocommit());
        assert_eq!(database.recovered().len(), 0);
    }
    insert(connection, 1);
    assert_eq!(database.recovered().len(), 1);
}

#[derive(Clone, Debug)]
enum Step {
    /// Sets rows in one transaction, some of them inside a savepoint that is rolled back.
    Write {
        writer: usize,
        rows: Vec<(u8, u16)>,
        undone: Vec<(u8, u16)>,
        commits: bool,
    },
    Checkpoint {
        writer: usize,
        mode: &'static str,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let rows = || vec((0..30_u8, 0..6_000_u16), 0..25);
    let write = (0..2_usize, rows(), rows(), any::<bool>())
        .prop_map(|(writer, rows, undone, commits)| Step::Write { writer, rows, undone, commits });
    let mode = prop::sample::select(vec!["passive", "restart", "truncate"]);
    let checkpoint =
        (0..2_usize, mode).prop_map(|(writer, mode)| Step::Checkpoint { writer, mode });
    vec(prop_oneof![6 => write, 1 => checkpoint], 1..20)
}

fn set(connection: &Connection, values: &[(u8, u16)]) -> Result<()> {
    for (id, length) in values {
        let value = vec![*id; usize::from(*length)];
        connection.execute("INSERT OR REPLACE INTO rows VALUES (?, ?)", (id, value))?;
    }
    Ok(())
}

impl Step {
    /// Runs the step, and the same with a model, if it commits.
    fn run(&self, database: &Database, model: &Connection) -> Result<()> {
        match self {
            Self::Write { writer, rows, undone, commits } => {
                let connection = &database.writers[*writer];
                let transaction = connection.unchecked_transaction()?;
                set(connection, rows)?;
                connection.execute_batch("SAVEPOINT undone")?;
                set(connection, undone)?;
                connection.execute_batch("ROLLBACK TO undone")?;
                if !commits {
                    return transaction.rollback();
                }
                transaction.commit()?;
                set(model, rows)
            }
            Self::Checkpoint { writer, mode } => {
                let statement = format!("PRAGMA wal_checkpoint({mode})");
                database.writers[*writer].query_row(&statement, (), |_| Ok(()))
            }
        }
    }
}

fn model() -> Connection {
    let model = Connection::open_in_memory().unwrap();
    model.execute_batch("CREATE TABLE rows (id INTEGER PRIMARY KEY, value BLOB)").unwrap();
    model
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    Error,
    Full,
    /// Half of the bytes are written.
    Short,
    Sync,
}

thread_local! {
    /// The calls until one fails, and how.
    static FAULT: Cell<Option<(u8, Fault)>> = const { Cell::new(None) };
    static HAS_FAILED: Cell<bool> = const { Cell::new(false) };
}

/// The fault of this call, if it is the one that fails.
fn fault(is_sync: bool) -> Option<Fault> {
    let (calls, fault) = FAULT.get()?;
    if matches!(fault, Fault::Sync) != is_sync {
        return None;
    }
    FAULT.set(calls.checked_sub(1).map(|calls| (calls, fault)));
    (calls == 0).then_some(fault)
}

/// A function of a file below ours.
type Write = unsafe extern "C" fn(*mut sqlite3_file, *const c_void, c_int, i64) -> c_int;
type Sync = unsafe extern "C" fn(*mut sqlite3_file, c_int) -> c_int;

thread_local! {
    static BELOW: Cell<Option<(Write, Sync)>> = const { Cell::new(None) };
}

extern "C" fn write(file: *mut sqlite3_file, data: *const c_void, length: c_int, at: i64) -> c_int {
    let (write, _) = BELOW.get().unwrap();
    // SAFETY: the arguments are those that SQLite passed, with at most as many bytes.
    let write = |length| unsafe { write(file, data, length, at) };
    match fault(false) {
        None => write(length),
        Some(Fault::Short) => {
            write(length / 2);
            ffi::SQLITE_FULL
        }
        Some(Fault::Full) => ffi::SQLITE_FULL,
        Some(Fault::Error | Fault::Sync) => ffi::SQLITE_IOERR_WRITE,
    }
}

extern "C" fn sync(file: *mut sqlite3_file, flags: c_int) -> c_int {
    let (_, sync) = BELOW.get().unwrap();
    match fault(true) {
        // SAFETY: the arguments are those that SQLite passed.
        None => unsafe { sync(file, flags) },
        Some(_) => ffi::SQLITE_IOERR_FSYNC,
    }
}

/// Puts [`write`] and [`sync`] below the database and the WAL of this connection.
fn make_fallible(connection: &Connection) {
    for operation in [ffi::SQLITE_FCNTL_FILE_POINTER, ffi::SQLITE_FCNTL_JOURNAL_POINTER] {
        let mut file = ptr::null_mut::<sqlite3_file>();
        // SAFETY: SQLite stores a file of the open connection, which `open` made, in `file`.
        unsafe {
            let pointer = ptr::from_mut(&mut file).cast();
            ffi::sqlite3_file_control(connection.handle(), ptr::null(), operation, pointer);
            let original = &mut extension(file).original;
            BELOW.set(BELOW.get().or(original.xWrite.zip(original.xSync)));
            original.xWrite = Some(write);
            original.xSync = Some(sync);
        }
    }
}

fn faults() -> impl Strategy<Value = Option<(u8, Fault)>> {
    let fault = prop::sample::select(vec![Fault::Error, Fault::Full, Fault::Short, Fault::Sync]);
    prop::option::of((0..12_u8, fault))
}

/// Cases of each property: many with `SOAK=1` in the environment.
#[expect(clippy::disallowed_methods, reason = "a variable of the tests")]
fn cases() -> u32 {
    if std::env::var("SOAK").is_ok_and(|soak| soak == "1") { 10_000 } else { 64 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn others_and_the_next_start_read_what_was_committed(steps in steps()) {
        let (database, model) = (Database::new(), model());
        for step in steps {
            step.run(&database, &model).unwrap();
            let expected = rows(&model).unwrap();
            prop_assert!(rows(&database.reader).unwrap() == expected);
            prop_assert!(database.recovered() == expected);
        }
    }

    /// The handler of failures stands for the end of the process.
    #[test]
    fn a_failed_call_loses_nothing_that_was_committed(steps in steps(), faults in vec(faults(), 20)) {
        on_failure(|_, _, _| HAS_FAILED.set(true));
        HAS_FAILED.set(false);
        let (database, model) = (Database::new(), model());
        for writer in &database.writers {
            make_fallible(writer);
        }
        for (step, fault) in steps.iter().zip(faults) {
            FAULT.set(fault);
            let done = step.run(&database, &model);
            FAULT.set(None);
            let expected = rows(&model).unwrap();
            if HAS_FAILED.get() {
                let found = database.recovered();
                // The commit whose sync failed may be there.
                if let (Err(_), Step::Write { rows, commits: true, .. }) = (&done, step) {
                    set(&model, rows).unwrap();
                }
                prop_assert!(found == expected || found == self::rows(&model).unwrap());
                return Ok(());
            }
            prop_assert!(rows(&database.reader).unwrap() == expected, "{done:?}");
            prop_assert!(database.recovered() == expected, "{done:?}");
        }
    }
}
