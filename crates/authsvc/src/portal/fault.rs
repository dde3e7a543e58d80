//! Why a call to the portal failed.

use std::{error::Error, iter::successors};

use reqwest::StatusCode;

use super::answer::{LoginFault, ReportedFailure};

/// Why a call to the portal failed. Never contains a part of an answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// No URL of the portal is configured.
    #[error("PORTAL_URL is not set")]
    NotConfigured,
    /// The HTTP client could not be built, or the portal sent no answer.
    #[error("no answer")]
    Unreachable(#[source] reqwest::Error),
    #[error("no answer in time")]
    TimedOut,
    /// An unexpected HTTP status.
    #[error("status {0}")]
    Status(StatusCode),
    /// The body of the answer to the login is not as expected.
    #[error("unexpected answer: {0}")]
    Login(LoginFault),
    /// The body reports that the profile could not be fetched.
    #[error("unexpected answer: {0}")]
    Profile(ReportedFailure),
}

/// The errors of a chain, the outermost first.
pub(super) fn chain<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    successors(Some(error), |&error| error.source())
}
