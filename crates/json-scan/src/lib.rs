//! Scans JSON text without parsing it: removes white space, rejects deep nesting, lone surrogates
//! and U+0000, and finds repeated names.

use std::{borrow::Cow, collections::BTreeSet};

/// Maximum number of nested objects and arrays, the outermost one included.
pub const MAX_NESTING: usize = 128;

/// How to treat the escape `\u0000`. It is valid text, but PostgreSQL cannot store it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nul {
    /// Allow the escape.
    Accept,
    /// Return [`InvalidJson::Nul`].
    Refuse,
}

/// Why well-formed JSON is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidJson {
    /// Deeper than [`MAX_NESTING`].
    #[error("nests deeper than {MAX_NESTING} levels")]
    TooDeep,
    /// A `\u` escape that is half a surrogate pair, which is not text.
    #[error("has a \\u escape that is half a surrogate pair")]
    LoneSurrogate,
    /// U+0000, with [`Nul::Refuse`].
    #[error("contains U+0000")]
    Nul,
}

/// A part of a JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// A string with its quotes. At the end of a broken text, the second quote may be missing.
    String(&'a [u8]),
    /// Brackets, commas, colons, numbers and words between two strings or white space.
    Other(&'a [u8]),
}

/// Splits a JSON text at its strings and leaves out the white space between tokens. The text is not
/// parsed: the parts of a broken text are broken, too.
pub fn parts(json: &[u8]) -> impl Iterator<Item = Part<'_>> {
    let mut rest = json.trim_ascii_start();
    std::iter::from_fn(move || {
        let is_string = *rest.first()? == b'"';
        let end = if is_string { end_of_string(rest) } else { end_of_other(rest) };
        let (part, tail) = rest.split_at(end);
        rest = tail.trim_ascii_start();
        Some(if is_string { Part::String(part) } else { Part::Other(part) })
    })
}

fn end_of_string(json: &[u8]) -> usize {
    let mut end = 1;
    while let Some(stop) = json.iter().skip(end).position(|byte| matches!(byte, b'"' | b'\\')) {
        end += stop + 1;
        if json[end - 1] == b'"' {
            return end;
        }
        // The escaped character.
        end += 1;
    }
    json.len()
}

fn end_of_other(json: &[u8]) -> usize {
    let is_end = |byte: &u8| *byte == b'"' || byte.is_ascii_whitespace();
    json.iter().position(is_end).unwrap_or(json.len())
}

/// A JSON text without the white space between tokens.
pub fn compact(json: &[u8]) -> Vec<u8> {
    let mut compact = Vec::with_capacity(json.len());
    for Part::String(part) | Part::Other(part) in parts(json) {
        compact.extend_from_slice(part);
    }
    compact
}

/// Checks the limits that a JSON parser does not check, in all members, including those that the
/// service ignores. A text that is not JSON may pass: the parser has to reject it.
pub fn check(body: &[u8], nul: Nul) -> Result<(), InvalidJson> {
    let mut depth = 0_usize;
    for part in parts(body) {
        match part {
            Part::String(string) => check_escapes(string, nul)?,
            Part::Other(other) => {
                for byte in other {
                    match byte {
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                    if depth > MAX_NESTING {
                        return Err(InvalidJson::TooDeep);
                    }
                }
            }
        }
    }
    Ok(())
}

/// Finds a name that stands twice in one object, and returns its path: the names from the outermost
/// object to it, with dots. An item of a list has the path of the list. The text must be JSON.
///
/// Parsers do not agree on the value of such a name: most take the last one, some the first.
pub fn repeated_name(json: &[u8]) -> Option<String> {
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut string: &[u8] = b"";
    for part in parts(json) {
        let other = match part {
            Part::String(part) => {
                string = part;
                continue;
            }
            Part::Other(other) => other,
        };
        for byte in other {
            match byte {
                b'{' | b'[' => open.push(Open::default()),
                b'}' | b']' => drop(open.pop()),
                b':' => {
                    let object = open.last_mut()?;
                    object.name = unescaped(string);
                    if !object.names.insert(object.name.clone()) {
                        return Some(path(&open));
                    }
                }
                _ => {}
            }
        }
    }
    None
}

/// An object or a list that has begun.
#[derive(Default)]
struct Open<'a> {
    names: BTreeSet<Cow<'a, [u8]>>,
    /// The last name. Empty in a list.
    name: Cow<'a, [u8]>,
}

/// The content of a string with quotes. Two spellings of a name are the same name: `"a"`, `"\u0061"`.
fn unescaped(string: &[u8]) -> Cow<'_, [u8]> {
    if string.contains(&b'\\')
        && let Ok(text) = serde_json::from_slice::<String>(string)
    {
        return text.into_bytes().into();
    }
    let content = string.strip_prefix(b"\"").unwrap_or(string);
    content.strip_suffix(b"\"").unwrap_or(content).into()
}

fn path(open: &[Open<'_>]) -> String {
    let names = open.iter().filter(|open| !open.names.is_empty());
    let names = names.map(|open| String::from_utf8_lossy(&open.name));
    names.collect::<Vec<_>>().join(".")
}

fn check_escapes(mut string: &[u8], nul: Nul) -> Result<(), InvalidJson> {
    while let Some(backslash) = string.iter().position(|byte| *byte == b'\\') {
        string = match &string[backslash + 1..] {
            [b'u', digits @ ..] => after_code_unit(digits, nul)?,
            [_, rest @ ..] => rest,
            [] => return Ok(()),
        };
    }
    Ok(())
}

/// Returns the bytes after an escape that begins with these digits. If it is a high surrogate, the
/// escape of the low surrogate is skipped, too.
fn after_code_unit(digits: &[u8], nul: Nul) -> Result<&[u8], InvalidJson> {
    let Some((unit, rest)) = code_unit(digits) else { return Ok(digits) };
    match unit {
        0 if nul == Nul::Refuse => Err(InvalidJson::Nul),
        0xD800..=0xDBFF => match rest.strip_prefix(b"\\u").and_then(code_unit) {
            Some((0xDC00..=0xDFFF, rest)) => Ok(rest),
            _ => Err(InvalidJson::LoneSurrogate),
        },
        0xDC00..=0xDFFF => Err(InvalidJson::LoneSurrogate),
        _ => Ok(rest),
    }
}

fn code_unit(digits: &[u8]) -> Option<(u16, &[u8])> {
    let (digits, rest) = digits.split_at_checked(4)?;
    let unit = u16::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
    Some((unit, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(body: &str) -> Result<(), InvalidJson> {
        super::check(body.as_bytes(), Nul::Refuse)
    }

    #[test]
    fn nesting_over_the_limit_is_rejected() {
        let nested = |levels| "[".repeat(levels) + &"]".repeat(levels);
        assert_eq!(check(&nested(MAX_NESTING)), Ok(()));
        assert_eq!(check(&nested(MAX_NESTING + 1)), Err(InvalidJson::TooDeep));
        assert_eq!(check(&format!("\"{}\"", "[".repeat(1000))), Ok(()));
        assert_eq!(check(&"[]".repeat(1000)), Ok(()));
    }

    #[test]
    fn half_a_surrogate_pair_is_rejected() {
        for good in [r#""\ud83d\ude00""#, r#""\\ud800""#, r#""\u00ff\\""#, r#""\uD7FF\uE000""#] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in [
            r#""\ud800""#,
            r#""\udc00""#,
            r#""\ud800\u0041""#,
            r#""\ud800\ud800""#,
            r#""\ud800\n""#,
            r#"{"\uDBFFx":1}"#,
        ] {
            assert_eq!(check(bad), Err(InvalidJson::LoneSurrogate), "{bad}");
        }
    }

    #[test]
    fn nul_is_rejected_only_with_refuse() {
        for (body, is_rejected) in [
            (r#""\u0000""#, true),
            (r#"{"a\u0000":[]}"#, true),
            (r#""\\\u0000""#, true),
            (r#""\\u0000""#, false),
            (r#""\u00000""#, true),
            (r#""\u0001""#, false),
        ] {
            let expected = if is_rejected { Err(InvalidJson::Nul) } else { Ok(()) };
            assert_eq!(check(body), expected, "{body}");
            assert_eq!(super::check(body.as_bytes(), Nul::Accept), Ok(()), "{body}");
        }
    }

    #[test]
    fn white_space_between_tokens_is_removed() {
        for (sent, kept) in [
            (" { } ", "{}"),
            ("{\"a\" :\t[ 1.0 , 1e400,\r\n-0 ]}", "{\"a\":[1.0,1e400,-0]}"),
            (r#"{" a\" ": " b\\" , "c" : 1}"#, r#"{" a\" ":" b\\","c":1}"#),
            (r#"{"a":1, "a":2}"#, r#"{"a":1,"a":2}"#),
            (r#"{"\u00e9 é": "\/"}"#, r#"{"\u00e9 é":"\/"}"#),
            (r#"  "\" "#, r#""\" "#),
            ("\"", "\""),
            ("", ""),
        ] {
            assert_eq!(compact(sent.as_bytes()), kept.as_bytes(), "{sent}");
        }
    }

    #[test]
    fn a_name_that_stands_twice_in_one_object_is_found() {
        for (json, path) in [
            (r#"{"a":1,"a":1}"#, Some("a")),
            (r#"{"a" : 1 , "b":{"c":"a"}, "a"\n:2}"#, Some("a")),
            (r#"{"a":{"b":{},"c":0,"b":[]}}"#, Some("a.b")),
            (r#"{"a":[{"b":1},[{"c":{"d":1,"d":2}}]]}"#, Some("a.c.d")),
            (r#"[{"b":1,"b":1}]"#, Some("b")),
            (r#"{"\u0061":1,"a":2}"#, Some("a")),
            (r#"{"\"":1,"\u0022":2}"#, Some("\"")),
            (r#"{"":1,"":2}"#, Some("")),
            (r#"{"a":{"a":1},"b":{"a":1}}"#, None),
            (r#"[{"a":1},{"a":1}]"#, None),
            (r#"{"a":"a","b":"a","c":["a","a"]}"#, None),
            (r#"{"a":"{\"b\":1,\"b\":2}"}"#, None),
            (r#"{"a":1,"A":1,"a ":1,"\\u0061":1}"#, None),
            (r#""a":"a":"#, None),
            ("[1,2]", None),
        ] {
            assert_eq!(repeated_name(json.as_bytes()).as_deref(), path, "{json}");
        }
    }

    proptest! {
        #[test]
        fn an_object_has_a_repeated_name_if_a_map_is_shorter(
            names in prop::collection::vec("[ab\"\\\\é]{0,2}", 0..5),
            escape in any::<bool>(),
        ) {
            let write = |name: &String| match escape {
                false => serde_json::to_string(name).unwrap(),
                true => name.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect::<String>(),
            };
            let quoted = |text: String| if escape { format!("\"{text}\"") } else { text };
            let members: Vec<_> = names.iter().map(|name| quoted(write(name)) + ":0").collect();
            let json = format!("{{{}}}", members.join(","));
            let map: serde_json::Map<_, _> = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(repeated_name(json.as_bytes()).is_some(), map.len() < names.len());
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = super::check(&bytes, Nul::Refuse);
            let _ = repeated_name(&bytes);
            let once = compact(&bytes);
            prop_assert_eq!(compact(&once), once);
        }

        #[test]
        fn escaped_text_is_accepted(text in any::<String>()) {
            let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
            prop_assert_eq!(super::check(format!("\"{escaped}\"").as_bytes(), Nul::Accept), Ok(()));
        }
    }
}
