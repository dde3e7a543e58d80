//! A VFS for SQLite, its layer for files, that writes a commit to the write-ahead log (WAL) with
//! one call, and that reports a disk that failed.
//!
//! SQLite itself writes each page of a commit with two calls: 24 bytes of header, then the page.
//! Here, the writes gather in memory, and reach the file when SQLite syncs it. Everything else is
//! the default VFS of the system: only functions that write are replaced.
//!
//! Before a change, know (it was read against SQLite 3.54.1):
//! 1. **Other connections read the WAL with file descriptors of their own**, but only what a commit
//!    has published. With `synchronous = FULL`, SQLite syncs the WAL before it publishes. With
//!    `NORMAL`, `OFF` or `psow=0`, it publishes bytes that it has not synced, and another connection
//!    would read them before they are in the file. So [`open`] is only for connections with `FULL`
//!    or `EXTRA`. Otherwise `barrier` ends the process, before the commit is published.
//! 2. **A transaction that is larger than the page cache writes pages before it commits.** After a
//!    rollback, nobody syncs them. The next transaction, maybe of another process, writes to the
//!    same place. So nothing stays gathered when the connection takes or releases a lock.
//! 3. **The connection reads its own writes**: they reach the file before it is read or truncated,
//!    and before its size is read.
//! 4. **SQLite believes that a gathered write succeeded.** If it then cannot be written, the
//!    transaction must fail, even if SQLite undoes only one of its statements. So every read and
//!    sync fails until the end of the transaction.
//! 5. **After a failed sync, the kernel may have dropped pages that it has not written**, and the
//!    next sync succeeds. SQLite would then believe that a checkpoint is on disk, and overwrite the
//!    WAL, the only good copy. So a failed sync, and a failed write of a checkpoint, call the
//!    handler of [`on_failure`], which has to end the process. A full disk is no failure of a write.
//! 6. **The WAL has pages that the database has no room for.** A caller can allocate room behind
//!    the end of the database. SQLite ends a checkpoint with a truncation to the size that the file
//!    already has, which would free that room. So a truncation to the same size does nothing.

#![expect(unsafe_code, reason = "SQLite calls a VFS through C")]

use std::{
    ffi::{CStr, OsStr, c_char, c_int, c_void},
    io,
    os::unix::ffi::OsStrExt as _,
    path::Path,
    process, ptr, slice,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use rusqlite::{
    Connection, OpenFlags,
    ffi::{self, sqlite3_file, sqlite3_int64, sqlite3_io_methods, sqlite3_vfs},
};

const NAME: &CStr = c"coalescing";

/// Bytes that gather at most. The default VFS uses only the low 17 bits of a length, so it would take
/// 128 KiB for 0. A page has 64 KiB at most, so each write of SQLite fits.
const GATHERED_BYTES: usize = 128 * 1024 - 1;

/// Linux: `EDQUOT`, which means a full disk, too. SQLite knows only `ENOSPC`.
const OVER_QUOTA: i32 = 122;

/// Called after a failure with the file, the failed call and its error.
pub type OnFailure = fn(file: &Path, call: &'static str, error: &io::Error);

static ON_FAILURE: OnceLock<OnFailure> = OnceLock::new();

/// Whether all writes fail, because the process is about to end.
static HALTED: AtomicBool = AtomicBool::new(false);

/// Sets what happens after a failed sync, or a failed write of a checkpoint: nothing is known any
/// more about the content of the file, so the handler should [`halt`] and then end the process. The
/// first handler stays. Without one, the process aborts.
pub fn on_failure(handler: OnFailure) {
    ON_FAILURE.get_or_init(|| handler);
}

/// Makes every later write and sync of this process fail.
pub fn halt() {
    HALTED.store(true, Ordering::Relaxed);
}

/// Opens a connection that writes a commit to the WAL with one call. With a WAL, the connection
/// must keep `synchronous` at `FULL` or `EXTRA`.
///
/// # Errors
/// Those of [`Connection::open`].
pub fn open(path: &Path) -> rusqlite::Result<Connection> {
    static REGISTERED: OnceLock<c_int> = OnceLock::new();
    match *REGISTERED.get_or_init(register) {
        ffi::SQLITE_OK => Connection::open_with_flags_and_vfs(path, OpenFlags::default(), NAME),
        code => Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)),
    }
}

/// Registers the VFS, a copy of the default one that opens files in another way. Returns a result
/// code of SQLite.
fn register() -> c_int {
    // SAFETY: SQLite allows these calls at any time.
    let default = unsafe {
        match ffi::sqlite3_initialize() {
            ffi::SQLITE_OK => ffi::sqlite3_vfs_find(ptr::null()),
            code => return code,
        }
    };
    // SAFETY: SQLite returned it, and a VFS is valid until the process ends.
    let Some(mut vfs) = (unsafe { default.as_ref() }).copied() else {
        return ffi::SQLITE_ERROR;
    };
    vfs.pNext = ptr::null_mut();
    vfs.zName = NAME.as_ptr();
    vfs.pAppData = default.cast();
    vfs.xOpen = Some(open_file);
    // SAFETY: the VFS and its name are valid until the process ends.
    unsafe { ffi::sqlite3_vfs_register(Box::into_raw(Box::new(vfs)), 0) }
}

/// Our part of an open database or WAL. The file itself is one of the default VFS.
#[repr(C)]
struct Extension {
    /// The functions that SQLite calls. This is the first member: the file points to it, and so to
    /// its extension.
    methods: sqlite3_io_methods,
    original: sqlite3_io_methods,
    /// Path of the file. SQLite keeps it until it closes the file.
    name: *const c_char,
    /// Of a database: its WAL, or null. Of a WAL: its database.
    partner: *mut sqlite3_file,
    /// Of a WAL: bytes that are not yet in the file, and their place in it.
    gathered: Vec<u8>,
    offset: i64,
    /// Of a WAL: the error with which gathered bytes of the transaction were lost.
    lost: c_int,
}

impl Extension {
    /// Whether bytes at this offset follow those that have gathered, and fit behind them.
    fn can_append(&self, bytes: usize, offset: i64) -> bool {
        let gathered = self.gathered.len();
        let end = i64::try_from(gathered).ok().and_then(|length| self.offset.checked_add(length));
        end == Some(offset) && gathered + bytes <= GATHERED_BYTES
    }
}

/// The extension of a file.
///
/// # Safety
/// [`open_file`] opened the file as a database or a WAL, and nobody else holds the extension. SQLite
/// calls the functions of a connection one after the other.
unsafe fn extension<'file>(file: *mut sqlite3_file) -> &'file mut Extension {
    // SAFETY: the functions of the file are the first member of its extension.
    unsafe { &mut *(*file).pMethods.cast_mut().cast::<Extension>() }
}

/// Calls a function of the default VFS. None is missing in a VFS that supports WAL.
macro_rules! original {
    ($extension:expr, $function:ident($file:expr $(, $argument:expr)*)) => {
        match $extension.original.$function {
            Some(function) => function($file $(, $argument)*),
            None => ffi::SQLITE_IOERR,
        }
    };
}

/// Continues after success, and returns from the function with the code of an error.
macro_rules! check {
    ($code:expr) => {
        match $code {
            ffi::SQLITE_OK => {}
            code => return code,
        }
    };
}

/// An error after [`halt`].
fn alive() -> c_int {
    if HALTED.load(Ordering::Relaxed) { ffi::SQLITE_IOERR } else { ffi::SQLITE_OK }
}

/// The error of the system behind the last failed call of the default VFS.
///
/// # Safety
/// `extension` is that of the open file.
unsafe fn last_error(extension: &Extension, file: *mut sqlite3_file) -> io::Error {
    let mut errno: c_int = 0;
    let pointer = ptr::from_mut(&mut errno).cast();
    // SAFETY: the file is open, and this operation stores a `c_int`.
    unsafe {
        original!(extension, xFileControl(file, ffi::SQLITE_FCNTL_LAST_ERRNO, pointer));
    }
    io::Error::from_raw_os_error(errno)
}

/// Calls the handler of [`on_failure`]. Returns `code`, if the handler returns.
///
/// # Safety
/// The name is one that SQLite passed for a file that is open.
unsafe fn fail(name: *const c_char, call: &'static str, error: &io::Error, code: c_int) -> c_int {
    // SAFETY: the name ends with a zero.
    let file = unsafe { CStr::from_ptr(name) };
    match ON_FAILURE.get() {
        Some(handler) => handler(Path::new(OsStr::from_bytes(file.to_bytes())), call, error),
        None => process::abort(),
    }
    code
}

/// Syncs a file.
///
/// # Safety
/// `extension` is that of the open file.
unsafe fn sync_file(extension: &Extension, file: *mut sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: the file is open.
    unsafe {
        check!(alive());
        match original!(extension, xSync(file, flags)) {
            ffi::SQLITE_OK => ffi::SQLITE_OK,
            code => fail(extension.name, "sync", &last_error(extension, file), code),
        }
    }
}

unsafe extern "C" fn open_file(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    opened: *mut c_int,
) -> c_int {
    // SAFETY: the VFS is that of `register`. SQLite passes memory for a file of the default VFS. The
    // name of a WAL leads to its database, which is open, and which SQLite closes after the WAL.
    unsafe {
        let default = (*vfs).pAppData.cast::<sqlite3_vfs>();
        check!(match (*default).xOpen {
            Some(open) => open(default, name, file, flags, opened),
            None => ffi::SQLITE_CANTOPEN,
        });
        let original = *(*file).pMethods;
        let mut methods = sqlite3_io_methods { xClose: Some(close), ..original };
        let mut partner = ptr::null_mut();
        match flags & (ffi::SQLITE_OPEN_MAIN_DB | ffi::SQLITE_OPEN_WAL) {
            ffi::SQLITE_OPEN_MAIN_DB => {
                methods.xWrite = Some(write_database);
                methods.xTruncate = Some(truncate_database);
                methods.xSync = Some(sync_database);
                methods.xShmLock = Some(lock);
                methods.xShmBarrier = Some(barrier);
            }
            ffi::SQLITE_OPEN_WAL => {
                methods.xRead = Some(read);
                methods.xWrite = Some(write);
                methods.xTruncate = Some(truncate);
                methods.xSync = Some(sync);
                methods.xFileSize = Some(file_size);
                partner = ffi::sqlite3_database_file_object(name);
                extension(partner).partner = file;
            }
            _ => return ffi::SQLITE_OK,
        }
        let extension = Extension {
            methods,
            original,
            name,
            partner,
            gathered: Vec::new(),
            offset: 0,
            lost: ffi::SQLITE_OK,
        };
        (*file).pMethods = Box::into_raw(Box::new(extension)).cast();
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: the file is open, and SQLite does not use it afterwards. A partner is open, too.
    unsafe {
        let closed = Box::from_raw(ptr::from_mut(extension(file)));
        if !closed.partner.is_null() {
            extension(closed.partner).partner = ptr::null_mut();
        }
        original!(closed, xClose(file))
    }
}

/// Writes to the file what has gathered.
///
/// # Safety
/// The WAL is open, and `wal` is its extension.
unsafe fn flush(wal: &mut Extension, file: *mut sqlite3_file) -> c_int {
    check!(alive());
    let (bytes, offset) = (&wal.gathered, wal.offset);
    let code = match c_int::try_from(bytes.len()) {
        Ok(0) => return ffi::SQLITE_OK,
        // SAFETY: the WAL is open, and `bytes` has this length.
        Ok(length) => unsafe {
            original!(wal, xWrite(file, bytes.as_ptr().cast(), length, offset))
        },
        Err(_) => ffi::SQLITE_IOERR_WRITE,
    };
    wal.gathered.clear();
    if code != ffi::SQLITE_OK {
        wal.lost = code;
    }
    code
}

unsafe extern "C" fn write(
    file: *mut sqlite3_file,
    data: *const c_void,
    length: c_int,
    offset: sqlite3_int64,
) -> c_int {
    // SAFETY: the file is an open WAL, and SQLite passes `length` bytes.
    unsafe {
        let Ok(bytes) = usize::try_from(length) else { return ffi::SQLITE_IOERR_WRITE };
        let wal = extension(file);
        if !wal.can_append(bytes, offset) {
            check!(flush(wal, file));
            wal.offset = offset;
        }
        wal.gathered.extend_from_slice(slice::from_raw_parts(data.cast(), bytes));
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: the file is an open WAL.
    unsafe {
        let wal = extension(file);
        check!(flush(wal, file));
        check!(wal.lost);
        sync_file(wal, file, flags)
    }
}

unsafe extern "C" fn read(
    file: *mut sqlite3_file,
    data: *mut c_void,
    length: c_int,
    offset: sqlite3_int64,
) -> c_int {
    // SAFETY: the file is an open WAL.
    unsafe {
        let wal = extension(file);
        check!(flush(wal, file));
        check!(wal.lost);
        original!(wal, xRead(file, data, length, offset))
    }
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, size: sqlite3_int64) -> c_int {
    // SAFETY: the file is an open WAL.
    unsafe {
        let wal = extension(file);
        check!(flush(wal, file));
        original!(wal, xTruncate(file, size))
    }
}

unsafe extern "C" fn file_size(file: *mut sqlite3_file, size: *mut sqlite3_int64) -> c_int {
    // SAFETY: the file is an open WAL.
    unsafe {
        let wal = extension(file);
        check!(flush(wal, file));
        original!(wal, xFileSize(file, size))
    }
}

/// Writes to a database: with a WAL, only a checkpoint does.
unsafe extern "C" fn write_database(
    file: *mut sqlite3_file,
    data: *const c_void,
    length: c_int,
    offset: sqlite3_int64,
) -> c_int {
    // SAFETY: the file is an open database.
    unsafe {
        check!(alive());
        let database = extension(file);
        match original!(database, xWrite(file, data, length, offset)) {
            code @ (ffi::SQLITE_OK | ffi::SQLITE_FULL) => code,
            code => match last_error(database, file) {
                error if error.raw_os_error() == Some(OVER_QUOTA) => ffi::SQLITE_FULL,
                error => fail(database.name, "write", &error, code),
            },
        }
    }
}

/// Truncates a database, unless it has this size already.
unsafe extern "C" fn truncate_database(file: *mut sqlite3_file, size: sqlite3_int64) -> c_int {
    // SAFETY: the file is an open database.
    unsafe {
        check!(alive());
        let database = extension(file);
        let mut present: sqlite3_int64 = 0;
        check!(original!(database, xFileSize(file, &raw mut present)));
        if size == present {
            return ffi::SQLITE_OK;
        }
        original!(database, xTruncate(file, size))
    }
}

unsafe extern "C" fn sync_database(file: *mut sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: the file is an open database.
    unsafe { sync_file(extension(file), file, flags) }
}

/// Takes or releases locks of a WAL. They are in shared memory, which belongs to the database.
///
/// Within a transaction, SQLite calls this only before the first write and at the end. Bytes that are
/// still gathered at the end were rolled back. Nobody reads them, so an error changes nothing.
unsafe extern "C" fn lock(
    database: *mut sqlite3_file,
    first: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: the database is open, and so is a partner.
    unsafe {
        let file = extension(database).partner;
        if !file.is_null() {
            let wal = extension(file);
            flush(wal, file);
            wal.lost = ffi::SQLITE_OK;
        }
        original!(extension(database), xShmLock(database, first, count, flags))
    }
}

/// SQLite calls this when it publishes a commit.
unsafe extern "C" fn barrier(database: *mut sqlite3_file) {
    // SAFETY: the database is open, and so is a partner.
    unsafe {
        let Extension { original, partner, .. } = extension(database);
        // A panic in this function ends the process.
        assert!(
            partner.is_null() || extension(*partner).gathered.is_empty(),
            "a commit is published before it is synced"
        );
        if let Some(barrier) = original.xShmBarrier {
            barrier(database);
        }
    }
}

#[cfg(test)]
mod tests;
