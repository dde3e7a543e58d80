//! What JSON lets through and no service wants: nesting without end, and escapes that are no text.

/// Levels that objects and arrays may nest in a body, the body itself being the first.
pub const MAX_NESTING: usize = 128;

/// What to do with `\u0000`, the escape of a character that is text, but not to PostgreSQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nul {
    /// Let it through.
    Accept,
    /// Answer [`InvalidJson::Nul`].
    Refuse,
}

/// Why JSON is refused, although it is well-formed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidJson {
    /// Deeper than [`MAX_NESTING`].
    #[error("nests deeper than {MAX_NESTING} levels")]
    TooDeep,
    /// An escape that stands for no text.
    #[error("has a \\u escape that is half a surrogate pair")]
    LoneSurrogate,
    /// U+0000, where [`Nul::Refuse`] is asked for.
    #[error("contains U+0000")]
    Nul,
}

/// Scans a whole body once, ignored members included, for what a JSON parser lets through. Says
/// nothing about bytes that are no JSON: those are for the parser to refuse.
pub fn check(body: &[u8], nul: Nul) -> Result<(), InvalidJson> {
    let mut depth = 0_usize;
    let mut rest = body;
    while let [byte, tail @ ..] = rest {
        rest = tail;
        match byte {
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_NESTING {
                    return Err(InvalidJson::TooDeep);
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => rest = after_string(rest, nul)?,
            _ => {}
        }
    }
    Ok(())
}

/// What follows the string whose first quote is already taken.
fn after_string(mut rest: &[u8], nul: Nul) -> Result<&[u8], InvalidJson> {
    loop {
        let Some(stop) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\')) else {
            return Ok(&[]);
        };
        rest = match &rest[stop..] {
            [b'"', tail @ ..] => return Ok(tail),
            [_, b'u', tail @ ..] => after_code_unit(tail, nul)?,
            [_, _, tail @ ..] => tail,
            [_] | [] => return Ok(&[]),
        };
    }
}

/// What follows the digits of an escape, and of the low surrogate that belongs to a high one.
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
    fn nesting_ends_at_the_limit() {
        let nested = |levels| "[".repeat(levels) + &"]".repeat(levels);
        assert_eq!(check(&nested(MAX_NESTING)), Ok(()));
        assert_eq!(check(&nested(MAX_NESTING + 1)), Err(InvalidJson::TooDeep));
        assert_eq!(check(&format!("\"{}\"", "[".repeat(1000))), Ok(()));
        assert_eq!(check(&"[]".repeat(1000)), Ok(()));
    }

    #[test]
    fn half_a_surrogate_pair_is_refused() {
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
    fn nul_is_refused_where_it_is_asked_for() {
        for (body, refused) in [
            (r#""\u0000""#, true),
            (r#"{"a\u0000":[]}"#, true),
            (r#""\\\u0000""#, true),
            (r#""\\u0000""#, false),
            (r#""\u00000""#, true),
            (r#""\u0001""#, false),
        ] {
            let expected = if refused { Err(InvalidJson::Nul) } else { Ok(()) };
            assert_eq!(check(body), expected, "{body}");
            assert_eq!(super::check(body.as_bytes(), Nul::Accept), Ok(()), "{body}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_scanned(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = super::check(&bytes, Nul::Refuse);
        }

        #[test]
        fn escapes_of_any_text_are_no_lone_surrogates(text in any::<String>()) {
            let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
            prop_assert_eq!(super::check(format!("\"{escaped}\"").as_bytes(), Nul::Accept), Ok(()));
        }
    }
}
