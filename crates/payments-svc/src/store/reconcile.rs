//! The rows of a settlement file beside the operations of the books, for the `reconcile` command.
//!
//! 1. Both are in a private temporary database of SQLite, whatever the engine of the books is. SQLite
//!    deletes its file when it is closed. So memory is bounded, and one statement compares them.
//! 2. The file is read first. Then the books are streamed in one snapshot, and only the operations
//!    are kept that are in the file or must be in it.
//! 3. Nothing is written to the books.

use common::{
    exit::{Fatal, USAGE},
    postgres::OpenError,
    progress::{Interrupted, Progress},
    sql::{ColumnError, Columns, Group},
    sqlite::{is_interrupted, stop_with},
};
use jiff::civil::Date;
use payments_domain::{
    AcquirerKey, AcquirerName, BookedOperation, Id, Movement, OperationState, Reconciliation,
    SettledOperation,
};
use rusqlite::{Connection, Row, params};

use super::{StoreConfig, postgres, sqlite};

/// Page cache of the temporary database, in KiB.
const CACHE_KIB: i64 = 64 * 1024;

const TABLES: &str = "PRAGMA journal_mode = off;
    CREATE TABLE settled (
        line INTEGER PRIMARY KEY,
        reference TEXT NOT NULL,
        movement TEXT, -- null, with all that follow, if the row cannot be read
        \"transaction\" BLOB,
        currency TEXT,
        amount INTEGER,
        fee_currency TEXT,
        fee INTEGER,
        date TEXT,
        failure INTEGER
    ) STRICT;
    CREATE TABLE booked (
        reference TEXT PRIMARY KEY,
        movement TEXT NOT NULL,
        \"transaction\" BLOB NOT NULL,
        currency TEXT NOT NULL,
        amount INTEGER NOT NULL,
        created INTEGER NOT NULL,
        acquirer TEXT,
        reversed INTEGER NOT NULL,
        unconfirmed INTEGER NOT NULL,
        due INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    BEGIN;";

/// Created after the rows, because sorting once is faster.
const INDEX: &str = "CREATE INDEX settled_by_reference ON settled (reference)";

const ADD_SETTLED: &str = "INSERT INTO settled VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";

const ADD_UNREADABLE: &str = "INSERT INTO settled (line, reference) VALUES ($1, $2)";

/// Keeps an operation that is in the file or due. Of two with one reference, a refused one is not
/// kept: Stripe refuses a second capture of a payment.
const ADD_BOOKED: &str = "INSERT INTO booked
     SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10
     WHERE $10 OR EXISTS (SELECT 1 FROM settled WHERE reference = $1)
     ON CONFLICT DO UPDATE SET movement = excluded.movement,
         \"transaction\" = excluded.\"transaction\", currency = excluded.currency,
         amount = excluded.amount, created = excluded.created, acquirer = excluded.acquirer,
         reversed = excluded.reversed, unconfirmed = excluded.unconfirmed, due = excluded.due
         WHERE reversed";

const COMPARED: &str = "SELECT settled.line, settled.reference, settled.movement,
         settled.\"transaction\", settled.currency, settled.amount, fee_currency, fee, date,
         EXISTS (
             SELECT 1 FROM settled AS earlier
             WHERE earlier.reference = settled.reference AND earlier.line < settled.line
                 AND coalesce(earlier.failure, settled.failure) = settled.failure
         ),
         failure,
         EXISTS (
             SELECT 1 FROM settled AS failed
             WHERE failed.reference = settled.reference AND failed.failure
         ),
         booked.reference, booked.movement, booked.\"transaction\", booked.currency,
         booked.amount, created, acquirer, reversed, unconfirmed
     FROM settled LEFT JOIN booked ON booked.reference = settled.reference
     WHERE settled.movement IS NOT NULL ORDER BY settled.line";

const BOOKED: &str = "SELECT reference, movement, \"transaction\", currency, amount, created,
         acquirer, reversed, unconfirmed,
         EXISTS (SELECT 1 FROM settled WHERE settled.reference = booked.reference)
     FROM booked ORDER BY reference";

/// The operations in the books, for [`stored_operation`].
pub(super) const OPERATIONS: &str = "WITH reversals AS MATERIALIZED (
         SELECT \"transaction\", reverses FROM trail WHERE reverses IS NOT NULL
     ), unconfirmed AS MATERIALIZED (
         SELECT \"transaction\", step FROM outbox WHERE step IS NOT NULL
     )
     SELECT trail.acquirer_key, transactions.\"authorization\", movement, transactions.id,
         transactions.currency, trail.amount, trail.created, acquirer,
         reversals.reverses IS NOT NULL, unconfirmed.step IS NOT NULL
     FROM trail JOIN transactions ON transactions.id = trail.\"transaction\"
     LEFT JOIN reversals ON reversals.\"transaction\" = trail.\"transaction\"
         AND reversals.reverses = trail.step
     LEFT JOIN unconfirmed ON unconfirmed.\"transaction\" = trail.\"transaction\"
         AND unconfirmed.step = trail.step
     WHERE trail.acquirer_key IS NOT NULL AND trail.reverses IS NULL";

/// The number of rows of [`OPERATIONS`].
pub(super) const COUNT: &str =
    "SELECT count(*) FROM trail WHERE acquirer_key IS NOT NULL AND reverses IS NULL";

/// The unit of the progress.
pub(super) const UNIT: &str = "booked operations";

/// Why a settlement file was not compared with the books.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReconcileError {
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
    pub(crate) fn add(&self, row: &SettledOperation) -> Result<(), ReconcileError> {
        let (currency, fee_currency) = (row.amount.currency.code(), row.fee.currency.code());
        let transaction = row.transaction.as_ref().map(Id::as_bytes);
        let date = row.date.to_string();
        self.execute(
            ADD_SETTLED,
            params![
                line_number(row.line),
                row.reference,
                row.movement.name(),
                transaction,
                currency,
                row.amount.minor,
                fee_currency,
                row.fee.minor,
                date,
                row.is_failure
            ],
        )
    }

    /// Adds a row whose reference can be read, but not its other columns. So its operation is not
    /// missing.
    pub(crate) fn add_unreadable(&self, line: u64, reference: &str) -> Result<(), ReconcileError> {
        self.execute(ADD_UNREADABLE, params![line_number(line), reference])
    }

    /// Reads the operations of the books, after the last row of the file. Running services can keep
    /// using the store.
    #[tokio::main(flavor = "current_thread")]
    pub(crate) async fn read_books(&self, config: &StoreConfig) -> Result<(), ReconcileError> {
        self.execute(INDEX, [])?;
        let mut add = |booked: BookedOperation| self.add_booked(&booked);
        match &config.database {
            Some(database) => postgres::operations(database, self.progress, &mut add).await,
            None => sqlite::operations(&config.data_dir, self.progress, &mut add),
        }
    }

    fn add_booked(&self, booked: &BookedOperation) -> Result<(), ReconcileError> {
        self.progress.advance();
        self.execute(
            ADD_BOOKED,
            params![
                booked.reference,
                booked.movement.name(),
                booked.transaction.as_bytes(),
                booked.amount.currency.code(),
                booked.amount.minor,
                booked.booked.as_millisecond(),
                booked.acquirer.map(AcquirerName::name),
                booked.state == OperationState::Refused,
                booked.state == OperationState::Unconfirmed,
                self.scope.is_due(booked)
            ],
        )
    }

    fn execute(
        &self,
        sql: &'static str,
        params: impl rusqlite::Params,
    ) -> Result<(), ReconcileError> {
        let mut statement = self.db.prepare_cached(sql).map_err(temporary)?;
        statement.execute(params).map(drop).map_err(temporary)
    }

    /// Passes each readable row of the file to `each`, in the order of the file, with its operation
    /// in the books.
    pub(crate) fn each_settled<E: From<ReconcileError>>(
        &self,
        mut each: impl FnMut(&SettledOperation, Option<&BookedOperation>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.each(
            COMPARED,
            |row| {
                let mut columns = Columns::from(row);
                let settled = settled(&mut columns)?;
                let booked = if columns.is_null()? { None } else { Some(booked(&mut columns)?) };
                Ok((settled, booked))
            },
            |(settled, booked)| each(&settled, booked.as_ref()),
        )
    }

    /// Passes the operations of the books to `each`: those in the file, and those that must be in
    /// it. The flag is whether the file has it.
    pub(crate) fn each_booked<E: From<ReconcileError>>(
        &self,
        mut each: impl FnMut(&BookedOperation, bool) -> Result<(), E>,
    ) -> Result<(), E> {
        self.each(
            BOOKED,
            |row| {
                let mut columns = Columns::from(row);
                Ok((booked(&mut columns)?, columns.read()?))
            },
            |(booked, is_settled)| each(&booked, is_settled),
        )
    }

    fn each<T, E: From<ReconcileError>>(
        &self,
        sql: &str,
        read: fn(&Row<'_>) -> Result<T, ColumnError>,
        mut each: impl FnMut(T) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut statement = self.db.prepare(sql).map_err(temporary)?;
        let mut rows = statement.query([]).map_err(temporary)?;
        while let Some(row) = rows.next().map_err(temporary)? {
            each(read(row).map_err(|error| temporary(error.into()))?)?;
        }
        Ok(())
    }
}

/// The type of the column.
fn line_number(line: u64) -> i64 {
    line.try_into().unwrap_or(i64::MAX)
}

fn temporary(error: rusqlite::Error) -> ReconcileError {
    if is_interrupted(&error) { Interrupted.into() } else { ReconcileError::Temporary(error) }
}

fn settled(columns: &mut Columns<'_>) -> Result<SettledOperation, ColumnError> {
    Ok(SettledOperation {
        line: columns.read_as(|line: i64| line.try_into())?,
        reference: columns.read()?,
        movement: columns.read()?,
        transaction: columns.read()?,
        amount: Group::read(columns)?,
        fee: Group::read(columns)?,
        date: columns.read_as(|date: String| date.parse::<Date>())?,
        is_repeated: columns.read()?,
        is_failure: columns.read()?,
        has_failed: columns.read()?,
    })
}

fn booked(columns: &mut Columns<'_>) -> Result<BookedOperation, ColumnError> {
    let reference = columns.read()?;
    booked_as(reference, columns)
}

/// Reads a row of [`OPERATIONS`].
pub(super) fn stored_operation(columns: &mut Columns<'_>) -> Result<BookedOperation, ColumnError> {
    let (key, authorization) = (columns.read::<AcquirerKey>()?, columns.read::<Option<String>>()?);
    let booked = booked_as(key.to_string(), columns)?;
    // Stripe's file does not have the key of a capture, but its PaymentIntent.
    match authorization {
        Some(id) if booked.movement == Movement::Capture => {
            Ok(BookedOperation { reference: id, ..booked })
        }
        _ => Ok(booked),
    }
}

fn booked_as(reference: String, columns: &mut Columns<'_>) -> Result<BookedOperation, ColumnError> {
    Ok(BookedOperation {
        reference,
        movement: columns.read()?,
        transaction: columns.read()?,
        amount: Group::read(columns)?,
        booked: columns.read()?,
        acquirer: columns.read()?,
        state: match (columns.read()?, columns.read()?) {
            (true, _) => OperationState::Refused,
            (false, true) => OperationState::Unconfirmed,
            (false, false) => OperationState::Confirmed,
        },
    })
}
