//! The value of an object: JSON exactly as the client wrote it, except for white space.

use std::fmt;

use common::json;

/// A JSON object, byte for byte as it was sent, without white space between tokens. No number is
/// rounded, and no member is reordered, dropped or merged.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Value(Box<[u8]>);

impl Value {
    /// Removes white space between tokens of `json`, which must be well-formed JSON.
    pub(crate) fn compact(json: &str) -> Result<Self, InvalidValue> {
        let bytes = json::compact(json.as_bytes());
        if bytes.first() == Some(&b'{') { Ok(Self(bytes.into())) } else { Err(InvalidValue) }
    }

    /// Wraps the bytes of a stored value.
    pub(crate) fn stored(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }

    /// The JSON text, UTF-8.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        String::from_utf8_lossy(&self.0).fmt(formatter)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Value is not a JSON object")]
pub(crate) struct InvalidValue;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_white_space_between_tokens_is_removed() {
        for (sent, kept) in [
            (" { } ", "{}"),
            ("{\"a\" :\t[ 1.0 , 1e400,\r\n-0 ]}", "{\"a\":[1.0,1e400,-0]}"),
            (r#"{" a\" ": " b\\" , "c" : 1}"#, r#"{" a\" ":" b\\","c":1}"#),
            (r#"{"a":1, "a":2}"#, r#"{"a":1,"a":2}"#),
            (r#"{"\u00e9 é": "\/"}"#, r#"{"\u00e9 é":"\/"}"#),
        ] {
            assert_eq!(Value::compact(sent).unwrap().as_bytes(), kept.as_bytes());
        }
        for other in ["[]", " 1", "\"{}\"", "null"] {
            assert_eq!(Value::compact(other), Err(InvalidValue), "{other}");
        }
    }
}
