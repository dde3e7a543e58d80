//! Converts forms and queries into JSON objects: `a[b]=1&c=2` becomes `{"a":{"b":"1"},"c":"2"}`,
//! and `a[]=1&a[]=2` becomes `{"a":["1","2"]}`. [`super::members`] reads the result.
//!
//! 1. All values are texts. [`super::members`] knows how a text becomes a number or a flag.
//! 2. A repeated name becomes a repeated member, even if one value is a text and the other is an
//!    object or a list. This is an error only if a handler reads the member; other members are
//!    ignored, whatever they contain.
//! 3. The whole form is rejected if a name is not like `a[b][c]`, if percent-encoding is wrong, or
//!    if names nest deeper than JSON may.
//! 4. Every buffer is wiped when it is dropped, because it may contain a card number. Buffers are
//!    allocated large enough: a reallocation would leave a copy that is not wiped.
//!
//! Decision: no crate for nested forms is strict enough. serde_qs 1.1 accepts a name that is both a
//! value and an object (`a=1&a[b]=2`) in one order, and rejects it in the other. It reads
//! `a[b=1&c]=2` as one pair and `[07]` as an index of a list. If a name nests too deeply, it
//! becomes a name that contains brackets.

use std::collections::BTreeMap;

use common::json::{InvalidJson, MAX_NESTING};
use payments_domain::FieldError;
use percent_encoding::percent_decode_str;
use serde::{Serialize, Serializer, ser::SerializeMap as _};
use zeroize::Zeroizing;

/// The values of a name: one, or two if the name is repeated.
type Values = Vec<Value>;

#[derive(Default)]
struct Object(BTreeMap<String, Values>);

#[derive(Serialize)]
#[serde(untagged)]
enum Value {
    Text(#[serde(serialize_with = "as_text")] Zeroizing<String>),
    Object(Object),
    List(Values),
}

fn as_text<S: Serializer>(text: &Zeroizing<String>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, values) in &self.0 {
            for value in values {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}

/// Returns the form as JSON text. Brackets may be percent-encoded. `Err` if the form is not UTF-8,
/// has wrong percent-encoding or an invalid name, or nests too deeply.
pub(super) fn to_json(form: &[u8]) -> Result<Zeroizing<Vec<u8>>, FieldError> {
    // One byte of the form becomes at most six bytes of JSON: a control character becomes `\u0001`,
    // and `a&` becomes `"a":"",`. A last name without `=` and `&` can need five bytes more. But a
    // digit of a card number becomes one byte, which leaves five unused. So the vector never
    // reallocates with a card number in it.
    let mut json = Zeroizing::new(Vec::with_capacity(form.len().saturating_mul(6) + 2));
    serde_json::to_writer(&mut *json, &read(form)?).map_err(|_| invalid(NOT_TEXT))?;
    Ok(json)
}

fn read(form: &[u8]) -> Result<Object, FieldError> {
    let form = str::from_utf8(form).map_err(|_| invalid(NOT_TEXT))?;
    let mut object = Object::default();
    for pair in form.split('&').filter(|pair| !pair.is_empty()) {
        let (name, text) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, text) = (decode(name)?, decode(text)?);
        let (first, nested) =
            parts(&name).ok_or_else(|| invalid("has a name that is not like a[b][c]"))?;
        if nested.len() >= MAX_NESTING {
            return Err(FieldError::new("", InvalidJson::TooDeep.to_string()));
        }
        insert(object.0.entry(first.to_owned()).or_default(), &nested, text);
    }
    Ok(object)
}

const NOT_TEXT: &str = "is not percent-encoded UTF-8";

fn invalid(message: &'static str) -> FieldError {
    FieldError::new("", message)
}

fn decode(encoded: &str) -> Result<Zeroizing<String>, FieldError> {
    let is_escape = |tail: &str| {
        let digits = tail.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if !encoded.split('%').skip(1).all(is_escape) {
        return Err(invalid(NOT_TEXT));
    }
    let spaced = Zeroizing::new(encoded.replace('+', " "));
    // The result is never longer than `spaced`, so the vector does not reallocate and leave a copy.
    let mut decoded = Zeroizing::new(Vec::with_capacity(spaced.len()));
    decoded.extend(percent_decode_str(&spaced));
    let text = str::from_utf8(&decoded).map_err(|_| invalid(NOT_TEXT))?;
    Ok(Zeroizing::new(text.to_owned()))
}

/// Splits `a[b][]` into `a` and `["b", ""]`. `None` if the brackets do not match.
fn parts(name: &str) -> Option<(&str, Vec<&str>)> {
    let (first, nested) = name.find('[').map_or((name, ""), |at| name.split_at(at));
    let nested = match nested {
        "" => Vec::new(),
        nested => nested.strip_prefix('[')?.strip_suffix(']')?.split("][").collect(),
    };
    let is_plain = |part: &&str| !part.contains(['[', ']']);
    let all_plain = is_plain(&first) && nested.iter().all(is_plain);
    (all_plain && !first.is_empty()).then_some((first, nested))
}

/// Adds a text to the values of a name, nested below `parts`. A third value is dropped: two are
/// enough to make the name repeated.
fn insert(values: &mut Values, parts: &[&str], text: Zeroizing<String>) {
    match (parts, values.as_mut_slice()) {
        (["", rest @ ..], [Value::List(list)]) => list.push(value(rest, text)),
        ([part, rest @ ..], [Value::Object(object)]) if !part.is_empty() => {
            insert(object.0.entry((*part).to_owned()).or_default(), rest, text);
        }
        (_, [] | [_]) => values.push(value(parts, text)),
        (_, _) => {}
    }
}

fn value(parts: &[&str], text: Zeroizing<String>) -> Value {
    match parts {
        [] => Value::Text(text),
        ["", rest @ ..] => Value::List(vec![value(rest, text)]),
        [part, rest @ ..] => {
            let member = ((*part).to_owned(), vec![value(rest, text)]);
            Value::Object(Object(BTreeMap::from([member])))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn json(form: &[u8]) -> String {
        String::from_utf8(to_json(form).unwrap().to_vec()).unwrap()
    }

    #[test]
    fn a_form_becomes_an_object_of_texts() {
        for (form, expected) in [
            (&b""[..], "{}"),
            (b"&&", "{}"),
            (b"a[b][c]=v&a[d]=w", r#"{"a":{"b":{"c":"v"},"d":"w"}}"#),
            (b"a%5Bb%5D=v", r#"{"a":{"b":"v"}}"#),
            (b"a%5bb%5d=v", r#"{"a":{"b":"v"}}"#),
            (b"a%5Bb]=v", r#"{"a":{"b":"v"}}"#),
            (b"a=x+y%20z%2B", r#"{"a":"x y z+"}"#),
            (b"a=%C3%A9\xc3\xa9", r#"{"a":"éé"}"#),
            (b"a=[b]=%5Bc%5D", r#"{"a":"[b]=[c]"}"#),
            (b"a&b=&c[d]", r#"{"a":"","b":"","c":{"d":""}}"#),
            (b"7=z&a[0]=x&a[007]=y", r#"{"7":"z","a":{"0":"x","007":"y"}}"#),
            (b"a=%22%5C%0A", r#"{"a":"\"\\\n"}"#),
            (b"a+b[c+d]=1", r#"{"a b":{"c d":"1"}}"#),
            (b"a%255Bb%255D=1", r#"{"a%5Bb%5D":"1"}"#),
            (b"a[]=1", r#"{"a":["1"]}"#),
            (b"a[]=1&a%5B%5D=2", r#"{"a":["1","2"]}"#),
            (b"a[b][]=1&a[b][]=2&a[c]=3", r#"{"a":{"b":["1","2"],"c":"3"}}"#),
            (b"a[][b]=1&a[][b]=2", r#"{"a":[{"b":"1"},{"b":"2"}]}"#),
            (b"a[][]=1", r#"{"a":[["1"]]}"#),
        ] {
            assert_eq!(json(form), expected, "{}", form.escape_ascii());
        }
    }

    #[test]
    fn a_repeated_name_becomes_a_repeated_member() {
        for (form, expected) in [
            (&b"a=1&a=2"[..], r#"{"a":"1","a":"2"}"#),
            (b"a=&a", r#"{"a":"","a":""}"#),
            (b"a=1&a=2&a=3&a[b]=4&a[]=5", r#"{"a":"1","a":"2"}"#),
            (b"a=1&a[b]=2", r#"{"a":"1","a":{"b":"2"}}"#),
            (b"a[b]=2&a=1", r#"{"a":{"b":"2"},"a":"1"}"#),
            (b"a[b]=1&a%5bb%5d=2", r#"{"a":{"b":"1","b":"2"}}"#),
            (b"a[b]=1&a[b][c]=2", r#"{"a":{"b":"1","b":{"c":"2"}}}"#),
            (b"a[b][c]=1&a[b]=2", r#"{"a":{"b":{"c":"1"},"b":"2"}}"#),
            (b"a[]=1&a=2", r#"{"a":["1"],"a":"2"}"#),
            (b"a[b]=1&a[]=2", r#"{"a":{"b":"1"},"a":["2"]}"#),
        ] {
            assert_eq!(json(form), expected, "{}", form.escape_ascii());
        }
    }

    #[test]
    fn malformed_forms_are_rejected() {
        let bad_name = "has a name that is not like a[b][c]";
        for (form, field, message) in [
            (&b"a=%FF"[..], "", NOT_TEXT),
            (b"%FF=1", "", NOT_TEXT),
            (b"a=\xff", "", NOT_TEXT),
            (b"a=%ED%A0%80", "", NOT_TEXT),
            (b"a=%zz", "", NOT_TEXT),
            (b"a=%4", "", NOT_TEXT),
            (b"a=%%341", "", NOT_TEXT),
            (b"=x", "", bad_name),
            (b"[]=1", "", bad_name),
            (b"[a]=1", "", bad_name),
            (b"a[=1", "", bad_name),
            (b"a]=1", "", bad_name),
            (b"a[b=1", "", bad_name),
            (b"a[b=1&c]=2", "", bad_name),
            (b"a[b]]=1", "", bad_name),
            (b"a[[b]]=1", "", bad_name),
            (b"a[b]c=1", "", bad_name),
            (b"a[b]c[d]=1", "", bad_name),
        ] {
            let expected = Err(FieldError::new(field, message));
            assert_eq!(to_json(form), expected, "{}", form.escape_ascii());
        }
    }

    #[test]
    fn large_forms_are_read_and_deep_ones_rejected() {
        let many: String = (0..10_000).map(|index| format!("a[k{index}]=v&")).collect();
        assert!(to_json(many.as_bytes()).is_ok());
        for pair in ["a&", "a[]&", "a[][b]&", "a[b]&"] {
            assert!(to_json(pair.repeat(10_000).as_bytes()).is_ok());
        }
        for part in ["[b]", "[]"] {
            let deep = |levels| format!("a{}=v", part.repeat(levels - 1));
            assert!(to_json(deep(MAX_NESTING).as_bytes()).is_ok());
            for levels in [MAX_NESTING + 1, 1000, 30_000] {
                let too_deep = Err(invalid("nests deeper than 128 levels"));
                assert_eq!(to_json(deep(levels).as_bytes()), too_deep, "{levels}");
            }
        }
    }

    proptest! {
        #[test]
        fn random_forms_are_read_or_rejected(form in "[ab=&+%0-9\\[\\]\u{0}é]{0,40}") {
            if let Ok(json) = to_json(form.as_bytes()) {
                prop_assert!(serde_json::from_slice::<Value>(&json).unwrap().is_object());
            }
        }

        #[test]
        fn encoded_objects_are_read_back(object in object()) {
            let Value::Object(members) = &object else { unreachable!() };
            let mut form = form_urlencoded::Serializer::new(String::new());
            members.iter().for_each(|(name, value)| append(name, value, &mut form));
            prop_assert_eq!(json(form.finish().as_bytes()), object.to_string());
        }
    }

    fn append(name: &str, value: &Value, form: &mut form_urlencoded::Serializer<'_, String>) {
        if let Value::Object(members) = value {
            members.iter().for_each(|(key, value)| append(&format!("{name}[{key}]"), value, form));
        } else {
            form.append_pair(name, value.as_str().unwrap());
        }
    }

    /// Generates an object that a form can express: not empty, with names without brackets.
    fn object() -> impl Strategy<Value = Value> {
        fn members(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
            prop::collection::btree_map("[^\\[\\]]{1,5}", value, 1..4)
                .prop_map(|members| Value::Object(members.into_iter().collect()))
        }
        members(any::<String>().prop_map(Value::String).prop_recursive(3, 9, 3, members))
    }
}
