//! The value of an object: JSON exactly as the client wrote it, but for white space.

use std::fmt;

/// Levels that objects and arrays may nest in a body, the body itself being the first.
pub const MAX_NESTING: usize = 128;

/// The content of an object: a JSON object, byte for byte as it was sent, without white space
/// between tokens. No number is rounded, no member reordered, dropped or merged.
#[derive(Clone, PartialEq, Eq)]
pub struct Value(Box<[u8]>);

impl Value {
    /// Takes a value from `json`, which must be well-formed JSON; its shape and depth are for
    /// [`check_nesting_and_escapes`] to refuse.
    pub fn compact(json: &str) -> Result<Self, InvalidValue> {
        let mut bytes = Vec::with_capacity(json.len());
        let mut in_string = false;
        let mut escaped = false;
        for &byte in json.as_bytes() {
            if in_string {
                bytes.push(byte);
                in_string = escaped || byte != b'"';
                escaped = byte == b'\\' && !escaped;
            } else if !byte.is_ascii_whitespace() {
                bytes.push(byte);
                in_string = byte == b'"';
            }
        }
        if bytes.first() == Some(&b'{') {
            Ok(Self(bytes.into()))
        } else {
            Err(InvalidValue::NotAnObject)
        }
    }

    /// A value that was stored before.
    pub fn stored(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }

    /// The JSON text, UTF-8.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        String::from_utf8_lossy(&self.0).fmt(formatter)
    }
}

/// Why well-formed JSON is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidValue {
    /// A value is a JSON object.
    #[error("Value is not a JSON object")]
    NotAnObject,
    /// Deeper than [`MAX_NESTING`].
    #[error("the body nests deeper than {MAX_NESTING} levels")]
    TooDeep,
    /// Half a surrogate pair: an escape that stands for no text.
    #[error("a \\u escape is half a surrogate pair")]
    LoneSurrogate,
}

/// Scans a whole body once, ignored members included, for what a JSON parser lets through: nesting
/// without end and lone surrogate escapes. Says nothing about bytes that are no JSON.
pub fn check_nesting_and_escapes(body: &[u8]) -> Result<(), InvalidValue> {
    let mut depth = 0_usize;
    let mut rest = body;
    while let [byte, tail @ ..] = rest {
        rest = tail;
        match byte {
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_NESTING {
                    return Err(InvalidValue::TooDeep);
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => rest = after_string(rest)?,
            _ => {}
        }
    }
    Ok(())
}

/// What follows the string whose first quote is already taken.
fn after_string(mut rest: &[u8]) -> Result<&[u8], InvalidValue> {
    loop {
        let Some(stop) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\')) else {
            return Ok(&[]);
        };
        let (escape, tail) = rest[stop..].split_at(1);
        rest = match (escape, tail) {
            (b"\"", tail) => return Ok(tail),
            (_, [b'u', tail @ ..]) => match code_unit(tail) {
                Some(0xD800..=0xDBFF) => {
                    match tail.get(4..).and_then(|low| low.strip_prefix(b"\\u")) {
                        Some(low) if matches!(code_unit(low), Some(0xDC00..=0xDFFF)) => &low[4..],
                        _ => return Err(InvalidValue::LoneSurrogate),
                    }
                }
                Some(0xDC00..=0xDFFF) => return Err(InvalidValue::LoneSurrogate),
                _ => tail,
            },
            (_, [_, tail @ ..]) => tail,
            (_, []) => return Ok(&[]),
        };
    }
}

fn code_unit(digits: &[u8]) -> Option<u16> {
    let digits = std::str::from_utf8(digits.get(..4)?).ok()?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_white_space_between_tokens_goes() {
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
            assert_eq!(Value::compact(other), Err(InvalidValue::NotAnObject), "{other}");
        }
    }

    #[test]
    fn nesting_ends_at_the_limit() {
        let nested = |levels| "[".repeat(levels) + &"]".repeat(levels);
        assert_eq!(check_nesting_and_escapes(nested(MAX_NESTING).as_bytes()), Ok(()));
        assert_eq!(
            check_nesting_and_escapes(nested(MAX_NESTING + 1).as_bytes()),
            Err(InvalidValue::TooDeep)
        );
        let in_a_string = format!("\"{}\"", "[".repeat(1000));
        assert_eq!(check_nesting_and_escapes(in_a_string.as_bytes()), Ok(()));
    }

    #[test]
    fn half_a_surrogate_pair_is_refused() {
        for good in [r#""\ud83d\ude00""#, r#""\\ud800""#, r#""\u00ff\\""#, r#""\uD7FF\uE000""#] {
            assert_eq!(check_nesting_and_escapes(good.as_bytes()), Ok(()), "{good}");
        }
        for bad in [
            r#""\ud800""#,
            r#""\udc00""#,
            r#""\ud800\u0041""#,
            r#""\ud800\ud800""#,
            r#"{"\uDBFFx":1}"#,
        ] {
            assert_eq!(
                check_nesting_and_escapes(bad.as_bytes()),
                Err(InvalidValue::LoneSurrogate),
                "{bad}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_scanned(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = check_nesting_and_escapes(&bytes);
        }

        #[test]
        fn escapes_of_any_text_are_no_lone_surrogates(text in any::<String>()) {
            let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
            prop_assert_eq!(check_nesting_and_escapes(format!("\"{escaped}\"").as_bytes()), Ok(()));
        }
    }
}
