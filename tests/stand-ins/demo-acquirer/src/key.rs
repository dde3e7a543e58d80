//! Idempotency keys.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The idempotency key of an operation: 24 to 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Key(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 24 to 64 lower-case hexadecimal digits")]
pub(crate) struct InvalidKey;

impl FromStr for Key {
    type Err = InvalidKey;

    fn from_str(text: &str) -> Result<Self, InvalidKey> {
        Self::try_from(text.to_owned())
    }
}

impl TryFrom<String> for Key {
    type Error = InvalidKey;

    fn try_from(text: String) -> Result<Self, InvalidKey> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_valid = (24..=64).contains(&text.len()) && text.bytes().all(is_digit);
        is_valid.then_some(Self(text)).ok_or(InvalidKey)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
