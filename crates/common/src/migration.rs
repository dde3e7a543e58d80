//! Migrations of the schema, and the versions of a program that can run on it.
//!
//! The name of each migration after the first ends with the oldest version that can run on its
//! schema: `V2__payer_addresses_from_0_2_0`. The store has the names, so an older program finds there
//! whether it can run. A roll back then needs no backup.

use refinery::{Migration, error::Kind};

use crate::error::reason;

/// The version of this program: major, minor, patch.
type Version = [u32; 3];

/// Separates the name of a migration from the oldest version.
const FROM: &str = "_from_";

/// Why the schema of a store was not migrated.
#[derive(Debug, thiserror::Error)]
pub enum MigrationError {
    /// This version of the program cannot run on the schema.
    #[error("a newer version of this program wrote the store: use {} or a newer one", oldest(.0))]
    Newer(Option<Version>),
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

fn oldest(version: &Option<Version>) -> String {
    version.map_or("that version".to_owned(), |[major, minor, patch]| {
        format!("version {major}.{minor}.{patch}")
    })
}

impl From<refinery::Error> for MigrationError {
    fn from(error: refinery::Error) -> Self {
        match error.kind() {
            Kind::DivergentVersion(..) => Self::Unreleased,
            Kind::Connection(step, source) => {
                Self::Failed(format!("{step}: {}", reason(source.as_ref())))
            }
            _ => Self::Failed(error.to_string()),
        }
    }
}

/// Checks whether this version of the program can run on a schema. Logs a warning if a newer version
/// has made it. `applied` are the migrations of the store.
pub(crate) fn check(known: &[Migration], applied: &[Migration]) -> Result<(), MigrationError> {
    let is_named = |migration: &Migration| runs_from(migration.name()).is_some();
    debug_assert!(known.iter().skip(1).all(is_named), "a migration does not end with {FROM}…");
    let newest = known.iter().map(Migration::version).max();
    let later = applied.iter().filter(|migration| Some(migration.version()) > newest);
    let later: Vec<_> = later.map(|migration| runs_from(migration.name())).collect();
    if later.iter().any(|oldest| oldest.is_none_or(|oldest| oldest > this_version())) {
        let oldest: Option<Vec<Version>> = later.into_iter().collect();
        return Err(MigrationError::Newer(oldest.and_then(|all| all.into_iter().max())));
    }
    if !later.is_empty() {
        tracing::warn!("a newer version of this program wrote the store, and this one can use it");
    }
    Ok(())
}

/// The oldest version that can run on the schema of a migration.
fn runs_from(name: &str) -> Option<Version> {
    let (_, version) = name.rsplit_once(FROM)?;
    parse(version.split('_'))
}

fn this_version() -> Version {
    parse(env!("CARGO_PKG_VERSION").split('.')).unwrap_or_default()
}

fn parse<'a>(parts: impl Iterator<Item = &'a str>) -> Option<Version> {
    let parts: Option<Vec<u32>> = parts.map(|part| part.parse().ok()).collect();
    parts?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn migrations(names: &[&str]) -> Vec<Migration> {
        names.iter().map(|name| Migration::unapplied(name, "").unwrap()).collect()
    }

    #[test]
    fn a_program_runs_on_the_schema_of_a_newer_one_that_permits_it() {
        let known = migrations(&["V1__first", "V2__second_from_0_0_9"]);
        for (names, expected) in [
            (&["V1__first"][..], Ok(())),
            (&["V1__first", "V2__second_from_0_0_9", "V3__third_from_0_0_9"], Ok(())),
            (&["V1__first", "V3__third_from_0_1_0", "V4__fourth_from_0_0_10"], Ok(())),
            (&["V3__third_from_9_0_0", "V4__fourth_from_0_0_1"], Err("use version 9.0.0 or")),
            (&["V3__third_from_0_0_1", "V4__fourth_from_99_1_20"], Err("version 99.1.20 or")),
            (&["V3__third"], Err("use that version or a newer one")),
            (&["V3__third_from_0_1"], Err("use that version or a newer one")),
        ] {
            let checked = check(&known, &migrations(names)).map_err(|error| error.to_string());
            match expected {
                Ok(()) => assert_eq!(checked, Ok(()), "{names:?}"),
                Err(part) => assert!(checked.clone().unwrap_err().contains(part), "{checked:?}"),
            }
        }
    }
}
