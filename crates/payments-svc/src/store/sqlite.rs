//! The embedded engine: SQLite in a directory that one process owns.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
    thread::available_parallelism,
};

use common::{
    migration::MigrationError,
    sqlite::{self as engine, Directory, DirectoryError, Handle, Readers, WriteError, Writer},
};
use jiff::Timestamp;
use quick_cache::sync::Cache;
use rusqlite::Connection;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{
    About, Backlog, Figures, Found, Keyed, Known, Outcome, Overdue, Refusal, StoreError, Tell,
    Write,
};
use crate::domain::{
    App, Challenge, Dispute, FraudAlert, Id, Instruction, KeyDigest, Line, Merchant, Original,
    Reservation, SavedCard, Transaction, User, Window,
};

mod cases;
mod check;
mod column;
mod invitations;
mod lists;
mod payouts;
mod read;
mod write;

pub(super) use check::check;
pub(super) use payouts::pay_out;

use write::{Applier, Counts, Job};

/// The database's file in the data directory.
const DATABASE: &str = "payments.db";

/// Apps kept in memory, so that a request does not look its own up on disk. Apps never change.
const APP_CACHE: usize = 100_000;

mod migrations {
    refinery::embed_migrations!("migrations/sqlite");
}

/// Why the store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The directory cannot be used.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The database cannot be read.
    #[error("the database cannot be opened: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// Its writer cannot be started.
    #[error(transparent)]
    Writer(#[from] engine::StartError),
    /// The database cannot be brought to this version's shape.
    #[error(transparent)]
    Migration(#[from] MigrationError),
}

/// The embedded engine.
pub struct Sqlite {
    /// For pages, on threads of their own. Single things are looked up on the caller's.
    scans: Arc<Readers>,
    scanning: Semaphore,
    handle: Handle<Applier>,
    writer: Mutex<Option<Writer>>,
    ended: CancellationToken,
    apps: Cache<KeyDigest, App>,
    counts: Arc<Counts>,
    _directory: Directory,
}

impl Sqlite {
    pub(super) fn open(data_dir: &Path, tell: Tell) -> Result<Self, OpenError> {
        let directory = Directory::own(data_dir, DATABASE)?;
        let mut connection = engine::open(directory.database())?;
        migrations::migrations::runner().run(&mut connection).map_err(MigrationError::from)?;
        let counts = Arc::<Counts>::default();
        let applier = Applier::new(Arc::clone(&counts), tell);
        drop(connection);
        let cores = available_parallelism().map_or(2, usize::from);
        let (writer, handle) = Writer::start(directory.database(), applier, cores)?;
        Ok(Self {
            scans: Arc::new(Readers::open(directory.database(), cores)?),
            scanning: Semaphore::new(cores),
            handle,
            ended: writer.ended(),
            writer: Mutex::new(Some(writer)),
            apps: Cache::new(APP_CACHE),
            counts,
            _directory: directory,
        })
    }

    pub(super) fn is_up(&self) -> bool {
        !self.ended.is_cancelled() && self.handle.look_up(read::answers).is_ok()
    }

    pub(super) async fn failed(&self) {
        self.ended.cancelled().await;
    }

    pub(super) async fn close(&self) {
        let handle = self.handle.clone();
        // A full queue makes this wait, which no async thread may.
        let stopped = tokio::task::spawn_blocking(move || handle.stop()).await;
        self.ended.cancelled().await;
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if stopped.is_err() || writer.is_some_and(|writer| !writer.join()) {
            tracing::error!("the writer panicked");
        }
    }

    pub(super) fn figures(&self) -> Figures {
        Figures {
            commits: self.counts.commits.load(Ordering::Relaxed),
            writes: self.counts.writes.load(Ordering::Relaxed),
            waiting_bytes: self.handle.waiting_bytes().try_into().unwrap_or(u64::MAX),
        }
    }

    pub(super) async fn write(
        &self,
        write: Write,
        keyed: Option<Keyed>,
        now: Timestamp,
    ) -> Result<Result<Outcome, Refusal>, StoreError> {
        Ok(self.handle.write(Job { write, keyed, now }).await?)
    }

    pub(super) async fn known(&self, keyed: &Keyed) -> Result<Option<Known>, StoreError> {
        Ok(self.handle.look_up(|db| read::known(db, keyed))?)
    }

    pub(super) async fn app_by_key(&self, key: KeyDigest) -> Result<Option<App>, StoreError> {
        if let Some(app) = self.apps.get(&key) {
            return Ok(Some(app));
        }
        let app = self.handle.look_up(|db| read::app_by_key(db, key))?;
        if let Some(app) = &app {
            self.apps.insert(key, app.clone());
        }
        Ok(app)
    }

    pub(super) async fn has_app(&self, id: Id) -> Result<bool, StoreError> {
        Ok(self.handle.look_up(|db| read::has_app(db, id))?)
    }

    pub(super) async fn merchant(
        &self,
        id: Id,
        app: Id,
    ) -> Result<Option<Found<Merchant>>, StoreError> {
        self.find(app, |db| read::merchant(db, id), |merchant| merchant.id)
    }

    pub(super) async fn transaction(
        &self,
        id: Id,
        app: Id,
    ) -> Result<Option<Found<Transaction>>, StoreError> {
        self.find(app, |db| read::transaction(db, id, u32::MAX), |transaction| transaction.merchant)
    }

    pub(super) async fn reservation(
        &self,
        id: Id,
        app: Id,
    ) -> Result<Option<Found<Reservation>>, StoreError> {
        self.find(app, |db| read::reservation(db, id), |reservation| reservation.merchant)
    }

    /// A transaction with the first steps of its trail.
    pub(super) async fn transaction_with(
        &self,
        id: Id,
        steps: u32,
    ) -> Result<Option<Transaction>, StoreError> {
        Ok(self.handle.look_up(|db| read::transaction(db, id, steps))?)
    }

    pub(super) async fn line(&self, id: Id, app: Id) -> Result<Option<Found<Line>>, StoreError> {
        self.find(app, |db| read::line(db, id), |line| line.merchant)
    }

    pub(super) async fn card(
        &self,
        id: Id,
        app: Id,
    ) -> Result<Option<Found<SavedCard>>, StoreError> {
        self.find(app, |db| read::saved_card(db, id), |card| card.merchant)
    }

    /// Single rows, whose upper pages are in memory: they cost less than a change of threads would,
    /// so they are looked up on the caller's.
    fn find<T>(
        &self,
        app: Id,
        find: impl FnOnce(&Connection) -> rusqlite::Result<Option<T>>,
        merchant: fn(&T) -> Id,
    ) -> Result<Option<Found<T>>, StoreError> {
        let found = self.handle.look_up(|db| {
            let Some(thing) = find(db)? else { return Ok(None) };
            let is_member = read::is_member(db, merchant(&thing), app)?;
            Ok(Some(Found { thing, is_member }))
        });
        Ok(found?)
    }

    pub(super) async fn dispute(
        &self,
        id: Id,
        app: Id,
    ) -> Result<Option<Found<Dispute>>, StoreError> {
        self.find(app, |db| cases::dispute(db, id), |dispute| dispute.merchant)
    }

    pub(super) async fn fraud(
        &self,
        id: Id,
        app: Id,
    ) -> Result<Option<Found<FraudAlert>>, StoreError> {
        self.find(app, |db| cases::fraud(db, id), |fraud| fraud.merchant)
    }

    pub(super) async fn merchant_by_key(&self, key: &str) -> Result<Option<Merchant>, StoreError> {
        Ok(self.handle.look_up(|db| read::merchant_by_key(db, key))?)
    }

    pub(super) async fn original(
        &self,
        merchant: Id,
        id: Id,
    ) -> Result<Option<Original>, StoreError> {
        Ok(self.handle.look_up(|db| read::original(db, merchant, id))?)
    }

    pub(super) async fn kept(&self, merchant: Id, id: Id) -> Result<Option<Original>, StoreError> {
        Ok(self.handle.look_up(|db| read::kept(db, merchant, id))?)
    }

    pub(super) async fn merchants(
        &self,
        app: Id,
        window: Window,
        test: Option<bool>,
    ) -> Result<Vec<Merchant>, StoreError> {
        self.read_aside(move |db| lists::merchants(db, app, &window, test)).await
    }

    pub(super) async fn users(&self, id: Id, window: Window) -> Result<Vec<User>, StoreError> {
        self.read_aside(move |db| lists::users(db, id, &window)).await
    }

    pub(super) async fn apps(&self, id: Id, window: Window) -> Result<Vec<App>, StoreError> {
        self.read_aside(move |db| lists::apps(db, id, &window)).await
    }

    pub(super) async fn lines(&self, id: Id, window: Window) -> Result<Vec<Line>, StoreError> {
        self.read_aside(move |db| lists::lines(db, id, &window)).await
    }

    pub(super) async fn transactions(
        &self,
        id: Id,
        window: Window,
        successful: Option<bool>,
    ) -> Result<Vec<Transaction>, StoreError> {
        self.read_aside(move |db| lists::transactions(db, id, &window, successful)).await
    }

    pub(super) async fn disputes(
        &self,
        about: About,
        window: Window,
    ) -> Result<Vec<Dispute>, StoreError> {
        self.read_aside(move |db| lists::disputes(db, about, &window)).await
    }

    pub(super) async fn frauds(
        &self,
        about: About,
        window: Window,
    ) -> Result<Vec<FraudAlert>, StoreError> {
        self.read_aside(move |db| lists::frauds(db, about, &window)).await
    }

    pub(super) async fn overdue(&self, until: Timestamp) -> Result<Vec<Overdue>, StoreError> {
        self.read_aside(move |db| cases::overdue(db, until)).await
    }

    pub(super) async fn expired(&self, until: Timestamp) -> Result<Vec<Id>, StoreError> {
        self.read_aside(move |db| read::expired(db, until)).await
    }

    pub(super) async fn unanswered(
        &self,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<Id>, StoreError> {
        self.read_aside(move |db| read::unanswered(db, until, now)).await
    }

    pub(super) async fn challenge(&self, operation: Id) -> Result<Option<Challenge>, StoreError> {
        Ok(self.handle.look_up(|db| read::challenge(db, operation))?)
    }

    pub(super) async fn due_invitations(&self, now: Timestamp) -> Result<Vec<Id>, StoreError> {
        self.read_aside(move |db| invitations::due(db, now)).await
    }

    pub(super) async fn backlog(&self) -> Result<Backlog, StoreError> {
        self.read_aside(read::backlog).await
    }

    pub(super) async fn instructions(&self) -> Result<Vec<Instruction>, StoreError> {
        self.read_aside(read::instructions).await
    }

    /// Reads what may take long on a thread of its own. Sees every write that was answered before.
    async fn read_aside<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        // Without it, threads would pile up where the connections are fewer.
        let _turn = self.scanning.acquire().await;
        let scans = Arc::clone(&self.scans);
        match tokio::task::spawn_blocking(move || scans.read(read)).await {
            Ok(read) => Ok(read?),
            Err(_) => Err(StoreError::Panicked),
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::NotRead(error.into())
    }
}

impl From<WriteError> for StoreError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Overloaded => Self::Overloaded,
            WriteError::Panicked => Self::Panicked,
            WriteError::NotCommitted(_) | WriteError::Stopped => Self::NotWritten(error.into()),
        }
    }
}

/// Copies the store in `data_dir` to the new file `target` while a service uses it.
pub(super) fn backup(data_dir: &Path, target: &Path) -> Result<(), engine::BackupError> {
    engine::backup(&data_dir.join(DATABASE), target, |_| Ok(()))
}
