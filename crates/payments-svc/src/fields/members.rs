//! JSON objects, split into members, and the functions that read one value: text, number, flag or
//! object. [`super::Fields`] is the interface for handlers.
//!
//! 1. Values stay raw JSON text until a handler reads them. So one wrong member does not hide the
//!    next one: serde would stop at the first error, but a response lists all of them. And custom
//!    data keeps its order and its numbers.
//! 2. A repeated member keeps all its values. In a form it is an error only if a handler reads it,
//!    because published clients repeat parameters that the service ignores.
//! 3. [`Members::parse`] checks the whole body, ignored members included. It rejects U+0000,
//!    because PostgreSQL cannot store it; half a surrogate pair, because it is not Unicode text;
//!    and nesting deeper than 128 levels.
//! 4. Forms are read by the same code: [`super::form`] turns a form into a JSON object of texts.
//!    [`Encoding`] selects how a number or a flag is written. JSON is strict: `"100"` is not a
//!    number.

use std::{borrow::Cow, collections::BTreeMap, fmt, num::IntErrorKind};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{error::Category, value::RawValue};
use zeroize::Zeroizing;

use common::json::{self, Nul};

/// How the caller wrote the members. A form is read as a JSON object of texts; only numbers and
/// flags are written differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// `{"amount":100,"test":true}`
    Json,
    /// `amount=100&test=yes`, in a body or in a query.
    Form,
}

/// The rule that a member or a whole body breaks, in the words of a response.
pub(super) type Message = Cow<'static, str>;

pub(super) const REPEATED: &str = "must not be repeated";

/// The members of an object by name. Values are raw JSON text: one for each member, or several if
/// the member occurs several times.
#[derive(Default)]
pub(super) struct Members<'a>(BTreeMap<String, Vec<&'a RawValue>>);

impl<'a> Members<'a> {
    /// Parses a whole body.
    pub(super) fn parse(body: &'a [u8]) -> Result<Self, Message> {
        json::check(body, Nul::Refuse).map_err(|error| error.to_string())?;
        serde_json::from_slice(body).map_err(|error| match error.classify() {
            Category::Data => "must be a JSON object".into(),
            _ => "is not valid JSON".into(),
        })
    }

    /// Parses the value of a member as an object.
    pub(super) fn nested(value: &'a RawValue) -> Result<Self, Message> {
        serde_json::from_str(value.get()).map_err(|_| "must be an object".into())
    }

    /// Returns the value of a member. `null` means absent. A repeated member is an error.
    pub(super) fn get(&self, name: &str) -> Result<Option<&'a RawValue>, Message> {
        match self.0.get(name).map(Vec::as_slice) {
            None => Ok(None),
            Some(&[value]) => Ok(Some(value).filter(|value| value.get() != "null")),
            Some(_) => Err(REPEATED.into()),
        }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Members::default();
                while let Some((name, value)) = map.next_entry::<String, _>()? {
                    members.0.entry(name).or_default().push(value);
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(Object)
    }
}

/// Reads a text. It is wiped when it is dropped, because it may be a card number.
pub(super) fn text(value: &RawValue) -> Result<Zeroizing<String>, Message> {
    let text = serde_json::from_str(value.get()).map(Zeroizing::new);
    text.map_err(|_| "must be a string".into())
}

/// Reads a whole number that is written as a whole number: `1.0` and `1e2` are rejected. In a form,
/// only digits are accepted.
pub(super) fn number(value: &RawValue, encoding: Encoding) -> Result<i64, Message> {
    let written = match encoding {
        Encoding::Json => value.get().to_owned(),
        Encoding::Form => text(value).map(|text| text.to_string()).unwrap_or_default(),
    };
    let is_plain = match encoding {
        Encoding::Json => written != "-0",
        Encoding::Form => !written.starts_with(['+', '-']),
    };
    match written.parse::<i64>().map_err(|error| *error.kind()) {
        Ok(number) if is_plain => Ok(number),
        Err(IntErrorKind::PosOverflow | IntErrorKind::NegOverflow) => Err("is out of range".into()),
        _ => Err("must be a whole number".into()),
    }
}

/// Reads a flag: `true` or `false` in JSON; yes, y, 1, true, no, n, 0 or false in a form.
pub(super) fn flag(value: &RawValue, encoding: Encoding) -> Result<bool, Message> {
    match (encoding, value.get()) {
        (Encoding::Json, "true") => Ok(true),
        (Encoding::Json, "false") => Ok(false),
        (Encoding::Json, _) => Err("must be true or false".into()),
        (Encoding::Form, r#""yes""# | r#""y""# | r#""1""# | r#""true""#) => Ok(true),
        (Encoding::Form, r#""no""# | r#""n""# | r#""0""# | r#""false""#) => Ok(false),
        (Encoding::Form, _) => Err("must be yes or no".into()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(body: &str) -> Result<Members<'_>, Message> {
        Members::parse(body.as_bytes())
    }

    fn raw(json: &str) -> &RawValue {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_body_must_be_exactly_one_json_object() {
        for (body, message) in [
            ("", "is not valid JSON"),
            ("{", "is not valid JSON"),
            ("{}{}", "is not valid JSON"),
            ("{\"a\":1,}", "is not valid JSON"),
            ("{'a':1}", "is not valid JSON"),
            ("{\"a\":01}", "is not valid JSON"),
            ("{\"a\":NaN}", "is not valid JSON"),
            ("{\"a\":\"\0\"}", "is not valid JSON"),
            ("{\"a\":\"\\x\"}", "is not valid JSON"),
            ("\u{feff}{}", "is not valid JSON"),
            ("[1]", "must be a JSON object"),
            ("1", "must be a JSON object"),
            ("null", "must be a JSON object"),
            ("\"{}\"", "must be a JSON object"),
            (r#"{"a":"\u0000"}"#, "contains U+0000"),
            (r#"{"\u0000":1}"#, "contains U+0000"),
            (r#"{"a":["\ud800"]}"#, "has a \\u escape that is half a surrogate pair"),
            (&"{\"a\":".repeat(1000), "nests deeper than 128 levels"),
        ] {
            assert_eq!(parse(body).err().as_deref(), Some(message), "{body}");
        }
        let no_utf8: [&[u8]; 3] =
            [b"{\"a\":\"\xff\"}", b"{\"\xff\":1}", b"{\"a\":{\"b\":\"\xed\xa0\x80\"}}"];
        for body in no_utf8 {
            assert_eq!(Members::parse(body).err().as_deref(), Some("is not valid JSON"));
        }
    }

    #[test]
    fn repeated_members_are_rejected_when_read() {
        let members = parse(r#"{"a":1,"b":null,"c":2,"\u0063":2,"d":null,"d":1}"#).unwrap();
        assert_eq!(members.get("a").unwrap().unwrap().get(), "1");
        assert!(members.get("b").unwrap().is_none());
        assert!(members.get("e").unwrap().is_none());
        for name in ["c", "d"] {
            assert_eq!(members.get(name).unwrap_err(), REPEATED);
        }
    }

    #[test]
    fn only_whole_numbers_are_accepted() {
        let (no_number, range) =
            (Err("must be a whole number".into()), Err("is out of range".into()));
        for (written, as_json, as_form) in [
            ("0", Ok(0), Ok(0)),
            ("100", Ok(100), Ok(100)),
            ("-1", Ok(-1), no_number.clone()),
            ("9223372036854775807", Ok(i64::MAX), Ok(i64::MAX)),
            ("9223372036854775808", range.clone(), range.clone()),
            ("-9223372036854775809", range.clone(), range.clone()),
            ("-0", no_number.clone(), no_number.clone()),
            ("1.0", no_number.clone(), no_number.clone()),
            ("1e2", no_number.clone(), no_number.clone()),
            ("1E400", no_number.clone(), no_number.clone()),
            ("true", no_number.clone(), no_number.clone()),
            ("{}", no_number.clone(), no_number.clone()),
        ] {
            assert_eq!(number(raw(written), Encoding::Json), as_json, "{written}");
            let in_a_form = serde_json::to_string(written).unwrap();
            assert_eq!(number(raw(&in_a_form), Encoding::Form), as_form, "{written}");
            assert_eq!(number(raw(&in_a_form), Encoding::Json), no_number, "{written}");
            assert_eq!(number(raw("{}"), Encoding::Form), no_number);
        }
        for written in ["\"\"", "\"+1\"", "\" 1\"", "\"1 \"", "\"0x1\"", "\"1_0\"", "\"１\""] {
            assert_eq!(number(raw(written), Encoding::Form), no_number, "{written}");
        }
    }

    #[test]
    fn json_and_forms_write_flags_differently() {
        for (yes, no) in [("yes", "no"), ("y", "n"), ("1", "0"), ("true", "false")] {
            let text = |text| serde_json::to_string(text).unwrap();
            assert_eq!(flag(raw(&text(yes)), Encoding::Form), Ok(true));
            assert_eq!(flag(raw(&text(no)), Encoding::Form), Ok(false));
            assert!(flag(raw(&text(yes)), Encoding::Json).is_err());
        }
        assert_eq!(flag(raw("true"), Encoding::Json), Ok(true));
        assert_eq!(flag(raw("false"), Encoding::Json), Ok(false));
        for other in ["1", "0", "\"\"", "\"YES\"", "\"on\"", "\"yes \"", "\"2\"", "{}", "[true]"] {
            assert_eq!(flag(raw(other), Encoding::Json), Err("must be true or false".into()));
            assert_eq!(flag(raw(other), Encoding::Form), Err("must be yes or no".into()));
        }
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Members::parse(&body);
        }

        #[test]
        fn text_is_read_as_it_was_written(text in any::<String>()) {
            let written = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(&*super::text(raw(&written)).unwrap(), &text);
        }
    }
}
