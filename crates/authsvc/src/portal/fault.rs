//! Why a call to the portal failed. The text of a fault begins with a short cause, because it begins
//! the log line of the request.

use std::{
    io::{self, ErrorKind},
    ops::RangeInclusive,
};

use common::{causes::causes, names::NameNotFound};
use jiff::Timestamp;
use reqwest::{
    StatusCode,
    header::{HeaderMap, RETRY_AFTER},
};

use super::answer::{LoginFault, ReportedFailure};

/// Bounds of a `Retry-After` that callers get, in seconds.
const PAUSE: RangeInclusive<u64> = 1..=300;

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
    #[error("status {status}")]
    Status {
        status: StatusCode,
        /// Seconds that callers should wait: see [`pause`].
        retry_after: Option<u64>,
    },
    /// The body of the answer to the login is not as expected.
    #[error("unexpected answer: {0}")]
    Login(LoginFault),
    /// The body reports that the profile could not be fetched.
    #[error("unexpected answer: {0}")]
    Profile(ReportedFailure),
}

impl Fault {
    /// Seconds that callers should wait, if the portal has said so.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

/// The `Retry-After` of an answer in seconds from `now`, within [`PAUSE`]. Only that of 429 and 503
/// is about the load of the portal.
pub(super) fn pause(status: StatusCode, headers: &HeaderMap, now: Timestamp) -> Option<u64> {
    if !matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        return None;
    }
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let seconds = if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        value.parse().unwrap_or(u64::MAX)
    } else {
        let date = Timestamp::try_from(httpdate::parse_http_date(value).ok()?).ok()?;
        u64::try_from(date.as_second() - now.as_second()).unwrap_or(0)
    };
    Some(seconds.clamp(*PAUSE.start(), *PAUSE.end()))
}

/// Why no answer came, in a few words.
fn short(error: &reqwest::Error) -> String {
    let text = causes(error).find_map(|error| {
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

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn a_pause_is_within_its_bounds() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let date = |seconds: i64| {
            httpdate::fmt_http_date((now + SignedDuration::from_secs(seconds)).into())
        };
        for (value, expected) in [
            ("60", Some(60)),
            ("0", Some(1)),
            ("300", Some(300)),
            ("86400", Some(300)),
            ("99999999999999999999999", Some(300)),
            (&date(120), Some(120)),
            (&date(7200), Some(300)),
            (&date(-9), Some(1)),
            ("", None),
            ("-1", None),
            ("1.5", None),
            ("soon", None),
        ] {
            let headers = [(RETRY_AFTER, HeaderValue::from_str(value).unwrap())];
            let headers = headers.into_iter().collect();
            for status in [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE] {
                assert_eq!(pause(status, &headers, now), expected, "{value}");
            }
            for status in [StatusCode::FOUND, StatusCode::INTERNAL_SERVER_ERROR] {
                assert_eq!(pause(status, &headers, now), None);
            }
        }
        assert_eq!(pause(StatusCode::SERVICE_UNAVAILABLE, &HeaderMap::new(), now), None);
    }
}
