//! The rows of a settlement file beside the operations of the books, for the `reconcile` command.
//!
//! 1. Both are in a private temporary database of SQLite, whatever the engine of the books is. SQLite
//!    deletes its file when it is closed. So memory is bounded: they are compared reference by
//!    reference, and the rows of a reference are added up.
//! 2. The file is read first. Then the books are streamed in one snapshot, and only the operations
//!    are kept that are in the file or must be in it.
//! 3. Nothing is written to the books.

use common::{
    exit::{Fatal, USAGE},
    postgres::OpenError,
    progress::{Interrupted, Progress},
    sql::{ColumnError, Columns, Group, Param, Stored as _, bind},
    sqlite::{DirectoryError, is_interrupted, stop_with},
};
use payments_domain::{AcquirerKey, BookedOperation, Reconciliation, Reference, SettledRow};
use rusqlite::Connection;

use super::{StoreConfig, postgres, sqlite};

/// Page cache of the temporary database, in KiB.
const CACHE_KIB: i64 = 64 * 1024;

/// The columns are in the order of [`SettledRow`] and [`BookedOperation`].
const TABLES: &str = "PRAGMA journal_mode = off;
    CREATE TABLE settled (
        id TEXT,
        reference TEXT NOT NULL,
        line INTEGER PRIMARY KEY,
        kind TEXT, -- null, as the ID and all that follow, if the row cannot be read
        \"transaction\" BLOB,
        currency TEXT,
        amount INTEGER,
        converted INTEGER,
        fee_currency TEXT,
        fee INTEGER,
        date TEXT
    ) STRICT;
    CREATE TABLE booked (
        reference TEXT NOT NULL,
        kind TEXT NOT NULL,
        \"transaction\" BLOB NOT NULL,
        currency TEXT NOT NULL,
        amount INTEGER NOT NULL,
        created INTEGER NOT NULL,
        acquirer TEXT,
        state TEXT NOT NULL
    ) STRICT;
    BEGIN;";

/// Created after the rows, because sorting once is faster.
const INDEX_SETTLED: &str = "CREATE INDEX settled_by_reference ON settled (reference)";
const INDEX_BOOKED: &str = "CREATE INDEX booked_by_reference ON booked (reference, created)";

const ADD_SETTLED: &str =
    "INSERT INTO settled VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";

const ADD_UNREADABLE: &str = "INSERT INTO settled (line, reference) VALUES ($1, $2)";

/// Keeps an operation that is in the file or due.
const ADD_BOOKED: &str = "INSERT INTO booked SELECT $1, $2, $3, $4, $5, $6, $7, $8
     WHERE $9 OR EXISTS (SELECT 1 FROM settled WHERE reference = $1)";

/// The rows, those with one reference together. A row that cannot be read has no ID.
const SETTLED: &str = "SELECT reference, id, reference, line, kind, \"transaction\", currency,
         amount, converted, fee_currency, fee, date
     FROM settled ORDER BY (
         SELECT min(line) FROM settled AS first WHERE first.reference = settled.reference
     ), id, line";

/// The references that must be in the file, and are not.
const MISSING: &str = "SELECT DISTINCT reference FROM booked
     WHERE NOT EXISTS (SELECT 1 FROM settled WHERE settled.reference = booked.reference)
     ORDER BY reference";

/// The operations of the books with a reference.
const BOOKED: &str = "SELECT kind, \"transaction\", currency, amount, created, acquirer, state
     FROM booked WHERE reference = $1 ORDER BY created";

/// The operations in the books, for [`stored_operation`]. Stripe's report has the PaymentIntent of a
/// capture, not its key.
pub(super) const OPERATIONS: &str = "WITH reversals AS MATERIALIZED (
         SELECT \"transaction\", reverses FROM trail WHERE reverses IS NOT NULL
     ), unconfirmed AS MATERIALIZED (
         SELECT \"transaction\", step FROM outbox WHERE step IS NOT NULL
     )
     SELECT trail.acquirer_key,
         CASE WHEN trail.movement = 'capture' THEN transactions.\"authorization\" END,
         trail.movement, transactions.id, transactions.currency, trail.amount, trail.created,
         transactions.acquirer,
         CASE WHEN reversals.reverses IS NOT NULL THEN 'refused'
             WHEN unconfirmed.step IS NOT NULL THEN 'unconfirmed' ELSE 'confirmed' END
     FROM trail JOIN transactions ON transactions.id = trail.\"transaction\"
     LEFT JOIN reversals ON reversals.\"transaction\" = trail.\"transaction\"
         AND reversals.reverses = trail.step
     LEFT JOIN unconfirmed ON unconfirmed.\"transaction\" = trail.\"transaction\"
         AND unconfirmed.step = trail.step
     WHERE trail.acquirer_key IS NOT NULL AND trail.reverses IS NULL
     UNION ALL
     SELECT NULL, disputes.reference, 'dispute', transactions.id, transactions.currency,
         disputes.amount, lines.created, transactions.acquirer, 'confirmed'
     FROM disputes JOIN transactions ON transactions.id = disputes.\"transaction\"
     JOIN lines ON lines.id = disputes.line
     UNION ALL
     SELECT NULL, disputes.reference, 'dispute reversal', transactions.id, transactions.currency,
         disputes.amount, trail.created, transactions.acquirer, 'confirmed'
     FROM disputes JOIN transactions ON transactions.id = disputes.\"transaction\"
     JOIN trail ON trail.\"transaction\" = disputes.\"transaction\" AND trail.dispute = disputes.id
         AND trail.movement = 'won'";

/// The number of rows of [`OPERATIONS`].
pub(super) const COUNT: &str = "SELECT
     (SELECT count(*) FROM trail WHERE acquirer_key IS NOT NULL AND reverses IS NULL)
         + (SELECT count(line) FROM disputes)
         + (SELECT count(*) FROM disputes WHERE decision = 'won')";

/// The unit of the progress.
pub(super) const UNIT: &str = "booked operations";

/// Why a settlement file was not compared with the books.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReconcileError {
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    #[error("the database cannot be read: {0}")]
    Sqlite(#[source] rusqlite::Error),
    #[error(transparent)]
    Postgres(#[from] OpenError),
    #[error("the temporary database cannot be used: {0}")]
    Temporary(#[source] rusqlite::Error),
    #[error("the books have an invalid value: {0}")]
    Value(#[from] ColumnError),
    #[error("interrupted: not every operation was compared")]
    Interrupted(#[from] Interrupted),
}

impl Fatal for ReconcileError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Directory(error) => error.exit_code(),
            Self::Sqlite(error) | Self::Temporary(error) => error.exit_code(),
            Self::Postgres(error) => error.exit_code(),
            Self::Value(_) => USAGE,
            Self::Interrupted(error) => error.exit_code(),
        }
    }
}

impl From<rusqlite::Error> for ReconcileError {
    fn from(error: rusqlite::Error) -> Self {
        if is_interrupted(&error) { Interrupted.into() } else { Self::Sqlite(error) }
    }
}

/// The rows of a settlement file, and the operations of the books that belong to them.
pub(crate) struct Settlement<'a> {
    db: Connection,
    scope: &'a Reconciliation,
    progress: &'a Progress,
}

impl<'a> Settlement<'a> {
    /// An empty settlement, in a temporary file in the data directory, or in the system's directory
    /// if the data directory cannot be written.
    pub(crate) fn new(
        config: &StoreConfig,
        scope: &'a Reconciliation,
        progress: &'a Progress,
    ) -> Result<Self, ReconcileError> {
        let open = || {
            // An empty path makes a private database, which is a file once it exceeds the cache.
            let mut db = Connection::open("")?;
            sqlite::sort_in_files(&db, &config.data_dir)?;
            db.pragma_update(None, "cache_size", -CACHE_KIB)?;
            stop_with(&mut db, progress, |_| ())?;
            db.execute_batch(TABLES)?;
            Ok(db)
        };
        Ok(Self { db: open().map_err(temporary)?, scope, progress })
    }

    /// Adds a row of the file.
    pub(crate) fn add(&self, row: &SettledRow) -> Result<(), ReconcileError> {
        let mut params = Vec::new();
        row.params(&mut params);
        self.execute(ADD_SETTLED, &params)
    }

    /// Adds a row whose reference can be read, but not its other columns. So its reference is not
    /// compared.
    pub(crate) fn add_unreadable(&self, line: u64, reference: &str) -> Result<(), ReconcileError> {
        self.execute(ADD_UNREADABLE, &[line.param(), Param::Text(reference.into())])
    }

    /// Reads the operations of the books, after the last row of the file. Running services can keep
    /// using the store.
    #[tokio::main(flavor = "current_thread")]
    pub(crate) async fn read_books(&self, config: &StoreConfig) -> Result<(), ReconcileError> {
        self.execute(INDEX_SETTLED, &[])?;
        let mut add = |reference: &str, booked| self.add_booked(reference, booked);
        match &config.database {
            Some(database) => postgres::operations(database, self.progress, &mut add).await?,
            None => sqlite::operations(&config.data_dir, self.progress, &mut add)?,
        }
        self.execute(INDEX_BOOKED, &[])
    }

    fn add_booked(&self, reference: &str, booked: BookedOperation) -> Result<(), ReconcileError> {
        self.progress.advance();
        if !self.scope.covers(booked.kind) {
            return Ok(());
        }
        let mut params = vec![Param::Text(reference.into())];
        booked.params(&mut params);
        params.push(Param::Bool(self.scope.is_due(&booked)));
        self.execute(ADD_BOOKED, &params)
    }

    /// Passes each row of the file to `each`, with its reference: those of one reference together, in
    /// the order of [`Reference::add`]. References are in the order of the file.
    pub(crate) fn each_row<E: From<ReconcileError>>(
        &self,
        mut each: impl FnMut(&str, Option<SettledRow>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.each(
            SETTLED,
            &[],
            |columns| Ok((columns.read::<String>()?, Option::<SettledRow>::read(columns)?)),
            |(reference, row)| each(&reference, row),
        )
    }

    /// Passes the references to `each` that must be in the file, and are not.
    pub(crate) fn each_missing<E: From<ReconcileError>>(
        &self,
        mut each: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        self.each(MISSING, &[], |columns| columns.read::<String>(), |reference| each(&reference))
    }

    /// A reference with its operations in the books.
    pub(crate) fn reference(&self, name: &str) -> Result<Reference, ReconcileError> {
        let mut booked = Vec::new();
        let add = |operation| -> Result<(), ReconcileError> {
            booked.push(operation);
            Ok(())
        };
        self.each(BOOKED, &[Param::Text(name.into())], BookedOperation::read, add)?;
        Ok(Reference::new(name, booked))
    }

    fn each<T, E: From<ReconcileError>>(
        &self,
        sql: &str,
        params: &[Param<'_>],
        read: impl Fn(&mut Columns<'_>) -> Result<T, ColumnError>,
        mut each: impl FnMut(T) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut statement = self.db.prepare_cached(sql).map_err(temporary)?;
        bind(&mut statement, params).map_err(temporary)?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(temporary)? {
            each(read(&mut Columns::from(row)).map_err(|error| temporary(error.into()))?)?;
        }
        Ok(())
    }

    fn execute(&self, sql: &str, params: &[Param<'_>]) -> Result<(), ReconcileError> {
        let mut statement = self.db.prepare_cached(sql).map_err(temporary)?;
        bind(&mut statement, params).map_err(temporary)?;
        statement.raw_execute().map(drop).map_err(temporary)
    }
}

fn temporary(error: rusqlite::Error) -> ReconcileError {
    if is_interrupted(&error) { Interrupted.into() } else { ReconcileError::Temporary(error) }
}

/// Reads a row of [`OPERATIONS`].
pub(super) fn stored_operation(
    columns: &mut Columns<'_>,
) -> Result<(String, BookedOperation), ColumnError> {
    let (key, name) = (columns.read::<Option<AcquirerKey>>()?, columns.read::<Option<String>>()?);
    let reference = name.or(key.map(|key| key.to_string())).unwrap_or_default();
    Ok((reference, BookedOperation::read(columns)?))
}
