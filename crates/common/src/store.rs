//! The parts of a store that all services have, on either engine.

use crate::{clock::ClockError, exit::Fatal, postgres, sqlite};

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store is in SQLite.
    #[error(transparent)]
    Sqlite(#[from] sqlite::StartError),
    /// The store is in PostgreSQL.
    #[error(transparent)]
    Postgres(#[from] postgres::OpenError),
    /// The clock could not be compared.
    #[error(transparent)]
    Clock(#[from] ClockError),
}

impl Fatal for OpenError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Sqlite(error) => error.exit_code(),
            Self::Postgres(error) => error.exit_code(),
            Self::Clock(error) => error.exit_code(),
        }
    }
}
