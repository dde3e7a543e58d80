//! The exit code of a process that ends with an error.

use std::{
    fmt::{self, Display},
    io,
    process::ExitCode,
};

use crate::{config::SecretError, tls::TlsError};

/// The command is done, and has found differences.
pub const DIFFERENT: u8 = 1;

/// The cause is a setting, an argument or something else that stays until somebody changes it.
pub const USAGE: u8 = 2;

/// The cause can end by itself: a dependency is away, another process holds the data or the port, or
/// the disk is full or fails. The same command can succeed later.
pub const AWAY: u8 = 3;

/// An error that ends the process.
pub trait Fatal: Display {
    /// The exit code, which is [`USAGE`] unless another one says more.
    fn exit_code(&self) -> u8 {
        USAGE
    }
}

/// Converts the result of a command. An error becomes one line on standard error.
pub fn finish<E: Fatal>(result: Result<(), E>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

/// Prints the error in one line on standard error, and returns its exit code.
#[expect(clippy::print_stderr, reason = "not every command has a log")]
pub fn failed(error: &impl Fatal) -> ExitCode {
    eprintln!("error: {}", WithoutUsers(error));
    ExitCode::from(error.exit_code())
}

/// An error as it is printed: without the users and passwords of URLs. An error can quote any
/// setting, and a URL can stand in each of them by mistake.
pub(crate) struct WithoutUsers<T>(pub(crate) T);

impl<T: Display> Display for WithoutUsers<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        for line in text.split_inclusive('\n') {
            // A password can contain every character, `@` and white space, too.
            match line
                .split_once("://")
                .and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?)))
            {
                Some((scheme, (_user, host))) => write!(formatter, "{scheme}://…@{host}")?,
                None => formatter.write_str(line)?,
            }
        }
        Ok(())
    }
}

impl Fatal for SecretError {}
impl Fatal for TlsError {}

impl Fatal for io::Error {
    fn exit_code(&self) -> u8 {
        use io::ErrorKind as Kind;
        match self.kind() {
            Kind::NotFound | Kind::PermissionDenied | Kind::InvalidInput => USAGE,
            Kind::AlreadyExists | Kind::NotADirectory | Kind::IsADirectory => USAGE,
            Kind::ReadOnlyFilesystem => USAGE,
            _ => AWAY,
        }
    }
}

#[cfg(feature = "store")]
mod postgres {
    use tokio_postgres::error::SqlState;

    use super::{AWAY, Fatal, USAGE};
    use crate::{
        migration::MigrationError,
        postgres::{Error, OpenError},
    };

    /// Answers of a server to a wrong URL: user, password, rights, and database.
    const WRONG_URL: [SqlState; 5] = [
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
        SqlState::INVALID_PASSWORD,
        SqlState::INSUFFICIENT_PRIVILEGE,
        SqlState::INVALID_CATALOG_NAME,
        SqlState::INVALID_SCHEMA_NAME,
    ];

    impl Fatal for OpenError {
        fn exit_code(&self) -> u8 {
            match self {
                Self::Database { source, .. }
                    if source.code().is_some_and(|code| WRONG_URL.contains(code)) =>
                {
                    USAGE
                }
                Self::Secret(_) | Self::Url { .. } | Self::Tls(_) | Self::Pool(_) => USAGE,
                Self::Migration { source: MigrationError::Newer(_), .. }
                | Self::Migration { source: MigrationError::Unreleased, .. } => USAGE,
                Self::Refused { source, .. } if matches!(**source, Error::SharedSessions) => USAGE,
                // A migration fails if it gets no lock, or if the connection is lost.
                Self::Migration { .. } => AWAY,
                Self::Database { .. }
                | Self::Connect { .. }
                | Self::Refused { .. }
                | Self::Silent { .. } => AWAY,
            }
        }
    }
}

#[cfg(feature = "store")]
mod sqlite {
    use rusqlite::ErrorCode;

    use super::{AWAY, Fatal, USAGE};
    use crate::{
        migration::MigrationError,
        sqlite::{BackupError, DirectoryError, StartError},
    };

    impl Fatal for rusqlite::Error {
        fn exit_code(&self) -> u8 {
            match self.sqlite_error_code() {
                Some(
                    ErrorCode::DatabaseBusy
                    | ErrorCode::DatabaseLocked
                    | ErrorCode::DiskFull
                    | ErrorCode::SystemIoFailure,
                ) => AWAY,
                _ => USAGE,
            }
        }
    }

    impl Fatal for DirectoryError {
        fn exit_code(&self) -> u8 {
            match self {
                Self::Unusable { source, .. } => source.exit_code(),
                Self::InUse(_) => AWAY,
                Self::Missing(_) | Self::Imported(_) => USAGE,
            }
        }
    }

    impl Fatal for StartError {
        fn exit_code(&self) -> u8 {
            match self {
                Self::Sqlite(error) => error.exit_code(),
                Self::File(error) | Self::Thread(error) => error.exit_code(),
                Self::InUse => AWAY,
                Self::Directory(error) => error.exit_code(),
                Self::Migration(error) => error.exit_code(),
                Self::Missing(_) => USAGE,
            }
        }
    }

    impl Fatal for BackupError {
        fn exit_code(&self) -> u8 {
            match self {
                Self::Sqlite(error) => error.exit_code(),
                Self::Io(error) => error.exit_code(),
                Self::Directory(error) => error.exit_code(),
                Self::Postgres | Self::Exists(_) | Self::NoDirectory(_) | Self::Interrupted => {
                    USAGE
                }
            }
        }
    }

    impl Fatal for MigrationError {}
}

#[cfg(feature = "store")]
mod import {
    use super::{AWAY, Fatal, USAGE};
    use crate::import::ImportError;

    impl Fatal for ImportError {
        fn exit_code(&self) -> u8 {
            match self {
                Self::Source(error) => error.exit_code(),
                Self::Read(error) => error.exit_code(),
                Self::Target(error) => error.exit_code(),
                Self::Rejected { source, .. } => source.exit_code(),
                Self::Mark { source, .. } => source.exit_code(),
                Self::InUse(_) => AWAY,
                Self::Check { code, .. } => *code,
                _ => USAGE,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_printed_without_the_users_of_urls() {
        for (error, printed) in [
            (
                "cannot use \"https://me:secret@host/a\": gone",
                "cannot use \"https://…@host/a\": gone",
            ),
            ("postgres://me@host:1/a", "postgres://…@host:1/a"),
            (
                "at https://me:a@b/c d@host\nand http://me@host\n",
                "at https://…@host\nand http://…@host\n",
            ),
            ("https://host/a", "https://host/a"),
            ("no URL, but ann@example.com", "no URL, but ann@example.com"),
        ] {
            assert_eq!(WithoutUsers(error).to_string(), printed);
        }
    }
}
