//! Errors of schema migrations.

use refinery::error::Kind;

use crate::error::reason;

/// Why the schema of a store was not migrated.
#[derive(Debug, thiserror::Error)]
pub enum MigrationError {
    /// The store has migrations that this version of the program does not know.
    #[error("a newer version of this program wrote the store: use that version or a newer one")]
    Newer,
    /// A migration of the store differs from the one with the same number in this version.
    #[error("the store has another migration {0} than this program: use the version that wrote it")]
    Different(i64),
    /// A migration failed.
    #[error("the database cannot be migrated: {0}")]
    Failed(String),
}

impl From<refinery::Error> for MigrationError {
    fn from(error: refinery::Error) -> Self {
        match error.kind() {
            Kind::MissingVersion(_) => Self::Newer,
            Kind::DivergentVersion(applied, _) => Self::Different(applied.version().into()),
            Kind::Connection(step, source) => {
                Self::Failed(format!("{step}: {}", reason(source.as_ref())))
            }
            _ => Self::Failed(error.to_string()),
        }
    }
}
