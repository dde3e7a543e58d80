//! Traces: the IDs that relate the log lines of several services (W3C Trace Context).
//!
//! A request continues the trace of its header `traceparent`, or begins one. [`scope`] makes it the
//! trace of a future, and each log line of this future has it: see `lines.rs`. Nothing is formatted
//! before a line is written.
//!
//! `tracestate` is not passed on. It says which tracing systems the caller has, all receivers of our
//! requests are other organizations, and the recommendation permits to delete its entries.

use std::fmt;

use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// Header with the trace of a request.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// Length of version 00 of the header. Later versions begin with the same parts.
const LENGTH: usize = 55;

/// The only flag of version 00: the caller records the trace.
const SAMPLED: u8 = 1;

/// The trace of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trace {
    id: u128,
    /// Whether the caller records it. The service records none.
    is_sampled: bool,
}

tokio::task_local! {
    static CURRENT: Option<Trace>;
}

/// A future that runs in a trace.
pub fn scope<F: Future>(trace: Option<Trace>, future: F) -> impl Future<Output = F::Output> {
    CURRENT.scope(trace, future)
}

/// A future that runs in the current trace, also in another task.
pub fn inherit<F: Future>(future: F) -> impl Future<Output = F::Output> {
    scope(Trace::current(), future)
}

/// The header of a request that the service sends. Outside a trace, there is none.
pub fn headers() -> HeaderMap {
    let value = Trace::current().and_then(|trace| trace.traceparent().try_into().ok());
    value.into_iter().map(|value: HeaderValue| (TRACEPARENT, value)).collect()
}

impl Trace {
    /// The trace of the future that runs.
    pub fn current() -> Option<Self> {
        CURRENT.try_with(|trace| *trace).ok().flatten()
    }

    /// The trace that a request continues, or a new one.
    pub fn of(headers: &HeaderMap) -> Self {
        let mut values = headers.get_all(TRACEPARENT).iter();
        let only = values.next().filter(|_| values.next().is_none());
        only.and_then(|value| Self::parse(value.as_bytes())).unwrap_or_else(Self::begin)
    }

    fn begin() -> Self {
        Self { id: rand::random::<u128>().max(1), is_sampled: false }
    }

    fn parse(value: &[u8]) -> Option<Self> {
        let (known, rest) = value.split_at_checked(LENGTH)?;
        let mut parts = known.split(|&byte| byte == b'-');
        let version = hex(parts.next()?, 2)?;
        let id = hex(parts.next()?, 32).filter(|&id| id != 0)?;
        let _parent = hex(parts.next()?, 16).filter(|&id| id != 0)?;
        let flags = hex(parts.next()?, 2)?;
        let is_complete = match version {
            0 => rest.is_empty(),
            0xff => false,
            _ => matches!(rest, [] | [b'-', ..]),
        };
        is_complete.then_some(Self { id, is_sampled: flags & u128::from(SAMPLED) != 0 })
    }

    fn flags(self) -> u8 {
        if self.is_sampled { SAMPLED } else { 0 }
    }

    /// The value of the header. Each has another parent ID.
    fn traceparent(self) -> String {
        let parent = rand::random::<u64>().max(1);
        format!("00-{self}-{parent:016x}-{:02x}", self.flags())
    }

    /// The trace as a store keeps it: the ID and the flags.
    pub fn to_bytes(self) -> [u8; 17] {
        let mut bytes = [0; 17];
        let (id, flags) = bytes.split_at_mut(16);
        id.copy_from_slice(&self.id.to_be_bytes());
        flags.fill(self.flags());
        bytes
    }

    /// The trace that was kept with [`to_bytes`](Self::to_bytes).
    pub fn from_bytes([id @ .., flags]: [u8; 17]) -> Self {
        Self { id: u128::from_be_bytes(id), is_sampled: flags & SAMPLED != 0 }
    }

    pub(super) fn sync_scope<T>(self, run: impl FnOnce() -> T) -> T {
        CURRENT.sync_scope(Some(self), run)
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", self.id)
    }
}

/// A number of so many hexadecimal digits, in lower case.
fn hex(text: &[u8], digits: usize) -> Option<u128> {
    let text = Some(text).filter(|text| text.len() == digits)?;
    text.iter().try_fold(0, |number, &byte| {
        let digit = char::from(byte).to_digit(16).filter(|_| !byte.is_ascii_uppercase())?;
        Some((number << 4) | u128::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "12345678901234567890123456789012";

    /// The ID and the flag that a request with these headers continues with.
    fn continued(values: &[&str]) -> (String, bool) {
        let values =
            values.iter().map(|value| (TRACEPARENT, HeaderValue::from_str(value).unwrap()));
        let mut headers = HeaderMap::new();
        headers.extend(values);
        let trace = Trace::of(&headers);
        (trace.to_string(), trace.is_sampled)
    }

    /// From the test suite of the W3C.
    #[test]
    fn a_valid_header_is_continued() {
        let parent = "1234567890123456";
        for (version, flags, end, is_sampled) in [
            ("00", "00", "", false),
            ("00", "01", "", true),
            ("00", "ff", "", true),
            ("00", "fe", "", false),
            ("cc", "01", "", true),
            ("cc", "01", "-what-the-future-will-be-like", true),
            ("fe", "00", "-", false),
        ] {
            let header = format!("{version}-{ID}-{parent}-{flags}{end}");
            assert_eq!(continued(&[&header]), (ID.to_owned(), is_sampled), "{header}");
        }
    }

    /// From the test suite of the W3C.
    #[test]
    fn an_invalid_header_begins_a_trace() {
        let valid = format!("00-{ID}-1234567890123456-01");
        let changed = |from: &str, to: &str| valid.replacen(from, to, 1);
        for header in [
            String::new(),
            format!("{valid}."),
            format!("{valid}-what-the-future-will-be-like"),
            format!("cc-{ID}-1234567890123456-01.what-the-future-will-not-be-like"),
            changed("00-", "ff-"),
            changed("00-", ".0-"),
            changed("00-", "0.-"),
            changed("00-", "000-"),
            changed("00-", "0-"),
            changed(ID, "00000000000000000000000000000000"),
            changed(ID, ".2345678901234567890123456789012"),
            changed(ID, "1234567890123456789012345678901."),
            changed(ID, "1234567890123456789012345678901"),
            changed(ID, "123456789012345678901234567890123"),
            changed(ID, "1234567890123456789012345678901A"),
            changed(ID, "+2345678901234567890123456789012"),
            changed("-1234567890123456-", "-0000000000000000-"),
            changed("-1234567890123456-", "-.234567890123456-"),
            changed("-1234567890123456-", "-123456789012345-"),
            changed("-1234567890123456-", "-12345678901234567-"),
            changed("-01", "-.0"),
            changed("-01", "-0."),
            changed("-01", "-1"),
            changed("-01", "-001"),
            valid.replace('-', "_"),
        ] {
            let (id, is_sampled) = continued(&[&header]);
            assert!(id != ID && id.len() == 32 && !is_sampled, "{header:?}: {id}");
        }
        assert_ne!(continued(&[&valid, &valid]).0, ID, "two headers");
        assert_ne!(continued(&[]), continued(&[]), "two traces");
    }

    #[test]
    fn a_sent_header_has_the_trace_and_another_parent() {
        for flags in ["00", "01"] {
            let header = format!("00-{ID}-1234567890123456-{flags}");
            let trace = Trace::parse(header.as_bytes()).unwrap();
            assert_eq!(Trace::from_bytes(trace.to_bytes()), trace);
            let sent = [trace.traceparent(), trace.traceparent()];
            assert!(sent[0] != sent[1] && !sent.contains(&header), "{sent:?}");
            for sent in sent {
                assert_eq!(Trace::parse(sent.as_bytes()), Some(trace), "{sent}");
                assert!(sent.starts_with(&header[..36]) && sent.ends_with(flags), "{sent}");
            }
        }
    }
}
