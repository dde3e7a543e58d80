//! Why a call to the portal failed. The text of a fault begins with a short cause, because it begins
//! the log line of the request.

use std::{
    error::Error,
    io::{self, ErrorKind},
    iter::successors,
};

use reqwest::StatusCode;

use super::{
    answer::{LoginFault, ReportedFailure},
    names::NameNotFound,
};

/// Why a call to the portal failed. Never contains a part of an answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// No URL of the portal is configured.
    #[error("PORTAL_URL is not set")]
    NotConfigured,
    /// The HTTP client could not be built, or the portal sent no answer.
    #[error("{}", short(.0))]
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

/// Why no answer came, in a few words.
fn short(error: &reqwest::Error) -> String {
    let text = chain(error).find_map(|error| {
        if error.is::<NameNotFound>() {
            return Some("name not found".to_owned());
        }
        match (error.downcast_ref::<io::Error>(), error.downcast_ref::<hyper::Error>()) {
            (Some(error), _) => io_cause(error),
            (_, Some(error)) if error.is_incomplete_message() => {
                Some("connection closed".to_owned())
            }
            (_, Some(error)) if error.is_parse() => Some("not HTTP".to_owned()),
            _ => None,
        }
    });
    text.unwrap_or_else(|| "no answer".to_owned())
}

/// An error of the operating system, or of TLS within one or two others.
fn io_cause(error: &io::Error) -> Option<String> {
    let Some(inner) = error.get_ref() else { return Some(error.kind().to_string()) };
    if let Some(inner) = inner.downcast_ref::<io::Error>() {
        return io_cause(inner);
    }
    match inner.downcast_ref::<rustls::Error>() {
        Some(rustls::Error::InvalidCertificate(_)) => Some("certificate refused".to_owned()),
        Some(_) => Some("TLS handshake failed".to_owned()),
        None if error.kind() == ErrorKind::Other => None,
        None => Some(error.kind().to_string()),
    }
}
