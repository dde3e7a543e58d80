//! What is stored: objects with 256 B values, the same keys and values for every peer.

use std::sync::LazyLock;

use anyhow::{Context, Result};
use memchr::memmem::Finder;

use crate::load::line::{Call, HOLE};

/// Type of every object of a bench.
pub(crate) const TYPE: &str = "bench";
/// Namespace of the objects that are set and read.
pub(crate) const NAMESPACE: &str = "load";

/// A JSON object of exactly `bytes` bytes, at least 11.
pub(crate) fn value(bytes: usize) -> String {
    format!(r#"{{"Text":"{}"}}"#, "x".repeat(bytes.saturating_sub(11)))
}

/// A key, or a pattern where parts are empty.
pub(crate) fn key(kind: &str, namespace: &str, name: &str) -> String {
    format!(r#"{{"Key":{{"Type":"{kind}","Namespace":"{namespace}","Name":"{name}"}}}}"#)
}

/// An object as the service sends it.
pub(crate) fn object(namespace: &str, name: &str, value: &str) -> String {
    format!(
        r#"{{"Key":{{"Type":"{TYPE}","Namespace":"{namespace}","Name":"{name}"}},"Value":{value},"Owner":"bench"}}"#
    )
}

/// Sets the object with the number that fills the hole.
pub(crate) fn set_call(cookie: &str) -> Call {
    Call::set(cookie, object(NAMESPACE, HOLE, &value(256)))
}

/// Reads it.
pub(crate) fn get_call(cookie: &str) -> Call {
    Call::Http {
        path: "/get".to_owned(),
        headers: format!("Cookie: {cookie}\r\n"),
        body: key(TYPE, NAMESPACE, HOLE),
    }
}

/// Sets the same key and value in Redis.
pub(crate) fn redis_call() -> Call {
    Call::Redis { key: flat_key(), value: value(256) }
}

/// Puts the same key and value into etcd.
#[cfg(feature = "etcd")]
pub(crate) fn etcd_call() -> Call {
    Call::Etcd { key: flat_key(), value: value(256) }
}

fn flat_key() -> String {
    format!("{TYPE}/{NAMESPACE}/{HOLE}")
}

/// A JSON object of exactly `bytes` bytes, at least 31, that carries the number of its set.
pub(crate) fn stamped_value(bytes: usize) -> String {
    format!(r#"{{"At":"{HOLE}","Text":"{}"}}"#, "x".repeat(bytes.saturating_sub(31)))
}

/// The number that a pushed object carries.
pub(crate) fn stamp(push: &[u8]) -> Result<u64> {
    static MARK: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r#""At":""#));
    let at = MARK.find(push).context("a push without a stamp")? + MARK.needle().len();
    let digits = push.get(at..at + HOLE.len()).context("a push cut short")?;
    Ok(digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit & 0x0F)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_size_that_is_claimed() {
        assert_eq!(value(256).len(), 256);
        assert_eq!(stamped_value(200).len(), 200);
    }

    #[test]
    fn a_stamp_is_read_back() {
        let push = object("n", "a", &stamped_value(100).replace(HOLE, "000000012345"));
        assert_eq!(stamp(push.as_bytes()).unwrap(), 12_345);
    }
}
