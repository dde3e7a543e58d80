//! The objects that are stored: the same keys and values for every store.

use std::sync::LazyLock;

use anyhow::{Context, Result};
use memchr::memmem::Finder;

use crate::load::line::{Call, PLACEHOLDER};

/// The type of every object.
pub(crate) const TYPE: &str = "bench";
/// The namespace of the objects that are set and read. Other figures use other namespaces.
pub(crate) const NAMESPACE: &str = "load";

/// Returns a JSON object of exactly `bytes` bytes, at least 11.
pub(crate) fn value(bytes: usize) -> String {
    format!(r#"{{"Text":"{}"}}"#, "x".repeat(bytes.saturating_sub(11)))
}

/// Returns a key or, without a name, a pattern, as JSON.
pub(crate) fn key(namespace: &str, name: &str) -> String {
    format!(r#"{{"Key":{{"Type":"{TYPE}","Namespace":"{namespace}","Name":"{name}"}}}}"#)
}

/// Returns an object as JSON, in the form in which the service pushes it.
pub(crate) fn object(namespace: &str, name: &str, value: &str) -> String {
    format!(
        r#"{{"Key":{{"Type":"{TYPE}","Namespace":"{namespace}","Name":"{name}"}},"Value":{value},"Owner":"bench"}}"#
    )
}

/// Sets the object whose name is the number of the request.
pub(crate) fn set_call(cookie: &str) -> Call {
    Call::set(cookie, object(NAMESPACE, PLACEHOLDER, &value(256)))
}

/// Reads the object whose name is the number of the request.
pub(crate) fn get_call(cookie: &str) -> Call {
    Call::post("/get", format!("Cookie: {cookie}\r\n"), key(NAMESPACE, PLACEHOLDER))
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
    format!("{TYPE}/{NAMESPACE}/{PLACEHOLDER}")
}

/// Returns a JSON object of exactly `bytes` bytes, at least 31, which contains the number of the
/// request.
pub(crate) fn stamped_value(bytes: usize) -> String {
    format!(r#"{{"At":"{PLACEHOLDER}","Text":"{}"}}"#, "x".repeat(bytes.saturating_sub(31)))
}

/// Reads the number from a push of a [`stamped_value`].
pub(crate) fn stamp(push: &[u8]) -> Result<u64> {
    static MARK: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r#""At":""#));
    let at = MARK.find(push).context("a push contains no stamp")? + MARK.needle().len();
    let digits = push.get(at..at + PLACEHOLDER.len()).context("a push ends within its stamp")?;
    Ok(digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit & 0x0F)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_requested_size() {
        assert_eq!(value(256).len(), 256);
        assert_eq!(stamped_value(200).len(), 200);
    }

    #[test]
    fn a_stamp_is_read_back() {
        let push = object("n", "a", &stamped_value(100).replace(PLACEHOLDER, "000000012345"));
        assert_eq!(stamp(push.as_bytes()).unwrap(), 12_345);
    }
}
