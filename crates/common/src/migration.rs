//! Errors of schema migrations.

use refinery::error::Kind;

use crate::error::reason;

/// Why the schema of a store was not migrated.
#[derive(Debug, thiserror::Error)]
pub enum MigrationError {
    /// The store has migrations that this version of the program does not know.
    #[error("a newer version of this program wrote the store: use that version or a newer one")]
    Newer,
    /// A migration of the store differs from the one with the same number. Only programs from before
    /// the first version have had other ones.
    #[error(
        "a program from before version 0.1.0 wrote the store: use that program, or an empty store"
    )]
    Unreleased,
    /// A migration failed.
    #[error("the database cannot be migrated: {0}")]
    Failed(String),
}

impl From<refinery::Error> for MigrationError {
    fn from(error: refinery::Error) -> Self {
        match error.kind() {
            Kind::MissingVersion(_) => Self::Newer,
            Kind::DivergentVersion(..) => Self::Unreleased,
            Kind::Connection(step, source) => {
                Self::Failed(format!("{step}: {}", reason(source.as_ref())))
            }
            _ => Self::Failed(error.to_string()),
        }
    }
}
