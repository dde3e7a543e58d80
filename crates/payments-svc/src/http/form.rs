//! Forms and queries, read as the JSON object they stand for: `a[b]=1&c=2` is
//! `{"a":{"b":"1"},"c":"2"}`.
//!
//! Decision: no crate for nested forms is strict enough. serde_qs 1.1 takes a name both as a value
//! and as an object in one of the two orders, `a[b=1&c]=2` as one pair, `[07]` for a place in a
//! list, and what nests too deep as a name with brackets in it.

use common::json::{InvalidJson, MAX_NESTING};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, map::Entry};
use zeroize::{Zeroize as _, Zeroizing};

use crate::domain::Invalid;

/// The JSON text of a form, all its values strings. Brackets may be percent-encoded. What is made on
/// the way is wiped: it may be of a card.
pub(super) fn to_json(form: &[u8]) -> Result<Zeroizing<Vec<u8>>, Invalid> {
    // A byte becomes six at most, as a control character does, or an empty pair: it never grows.
    let mut json = Zeroizing::new(Vec::with_capacity(form.len().saturating_mul(6) + 2));
    let mut object = Map::new();
    let read = read(form, &mut object);
    let mut object = Value::Object(object);
    let written = serde_json::to_writer(&mut *json, &object);
    wipe(&mut object);
    read?;
    written.map_err(|_| invalid(NOT_TEXT))?;
    Ok(json)
}

fn read(form: &[u8], object: &mut Map<String, Value>) -> Result<(), Invalid> {
    let form = str::from_utf8(form).map_err(|_| invalid(NOT_TEXT))?;
    for pair in form.split('&').filter(|pair| !pair.is_empty()) {
        let (name, text) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, text) = (decode(name)?, decode(text)?);
        let parts = parts(&name).ok_or_else(|| invalid("has a name that is not like a[b][c]"))?;
        insert(object, &parts, &text)?;
    }
    Ok(())
}

fn wipe(value: &mut Value) {
    match value {
        Value::String(text) => text.zeroize(),
        Value::Object(members) => members.values_mut().for_each(wipe),
        _ => {}
    }
}

const NOT_TEXT: &str = "is not percent-encoded UTF-8";

fn invalid(message: &'static str) -> Invalid {
    Invalid::new("", message)
}

fn decode(encoded: &str) -> Result<Zeroizing<String>, Invalid> {
    let is_escape = |tail: &str| {
        let digits = tail.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if !encoded.split('%').skip(1).all(is_escape) {
        return Err(invalid(NOT_TEXT));
    }
    let spaced = Zeroizing::new(encoded.replace('+', " "));
    // Just as long as it can become, so that no copy of it is left behind.
    let mut decoded = Zeroizing::new(Vec::with_capacity(spaced.len()));
    decoded.extend(percent_decode_str(&spaced));
    let text = str::from_utf8(&decoded).map_err(|_| invalid(NOT_TEXT))?;
    Ok(Zeroizing::new(text.to_owned()))
}

/// The parts `a`, `b`, `c` of a name `a[b][c]`: none empty, none with a bracket in it.
fn parts(name: &str) -> Option<Vec<&str>> {
    let (first, nested) = name.find('[').map_or((name, ""), |at| name.split_at(at));
    let mut parts = vec![first];
    if !nested.is_empty() {
        parts.extend(nested.strip_prefix('[')?.strip_suffix(']')?.split("]["));
    }
    let all_plain = parts.iter().all(|part| !part.is_empty() && !part.contains(['[', ']']));
    all_plain.then_some(parts)
}

/// Puts a text under its name, which nothing else may have.
fn insert(object: &mut Map<String, Value>, parts: &[&str], text: &str) -> Result<(), Invalid> {
    let Some((last, parents)) = parts.split_last() else { return Ok(()) };
    if parents.len() >= MAX_NESTING {
        return Err(Invalid::new("", InvalidJson::TooDeep.to_string()));
    }
    let twice = |parts: &[&str]| Err(Invalid::new(parts.join("."), "is given twice"));
    let mut object = object;
    for (depth, part) in parents.iter().enumerate() {
        match object.entry(*part).or_insert_with(|| Map::new().into()) {
            Value::Object(nested) => object = nested,
            _ => return twice(&parts[..=depth]),
        }
    }
    match object.entry(*last) {
        Entry::Vacant(place) => place.insert(text.into()),
        Entry::Occupied(_) => return twice(parts),
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn json(form: &[u8]) -> String {
        String::from_utf8(to_json(form).unwrap().to_vec()).unwrap()
    }

    #[test]
    fn a_form_stands_for_an_object_of_texts() {
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
        ] {
            assert_eq!(json(form), expected, "{}", form.escape_ascii());
        }
    }

    #[test]
    fn a_form_that_stands_for_no_object_is_refused() {
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
            (b"a[]=1", "", bad_name),
            (b"a[=1", "", bad_name),
            (b"a]=1", "", bad_name),
            (b"a[b=1", "", bad_name),
            (b"a[b=1&c]=2", "", bad_name),
            (b"a[b]]=1", "", bad_name),
            (b"a[[b]]=1", "", bad_name),
            (b"a[b]c=1", "", bad_name),
            (b"a[b]c[d]=1", "", bad_name),
            (b"a[][b]=1", "", bad_name),
            (b"a=1&a=2", "a", "is given twice"),
            (b"a=&a", "a", "is given twice"),
            (b"a=1&a[b]=2", "a", "is given twice"),
            (b"a[b]=2&a=1", "a", "is given twice"),
            (b"a[b]=1&a%5bb%5d=2", "a.b", "is given twice"),
            (b"a[b]=1&a[b][c]=2", "a.b", "is given twice"),
            (b"a[b][c]=1&a[b]=2", "a.b", "is given twice"),
        ] {
            let expected = Err(Invalid::new(field, message));
            assert_eq!(to_json(form), expected, "{}", form.escape_ascii());
        }
    }

    #[test]
    fn forms_may_be_large_but_not_deep() {
        let many: String = (0..10_000).map(|index| format!("a[k{index}]=v&")).collect();
        assert!(to_json(many.as_bytes()).is_ok());
        let deep = |levels| format!("a{}=v", "[b]".repeat(levels - 1));
        assert!(to_json(deep(MAX_NESTING).as_bytes()).is_ok());
        for levels in [MAX_NESTING + 1, 1000, 30_000] {
            let too_deep = Err(invalid("nests deeper than 128 levels"));
            assert_eq!(to_json(deep(levels).as_bytes()), too_deep, "{levels}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_form_or_are_refused(form in "[ab=&+%0-9\\[\\]\u{0}é]{0,40}") {
            if let Ok(json) = to_json(form.as_bytes()) {
                prop_assert!(serde_json::from_slice::<Value>(&json).unwrap().is_object());
            }
        }

        #[test]
        fn what_is_encoded_is_read_back(object in object()) {
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

    /// What a form can say: objects that are not empty, under names without brackets.
    fn object() -> impl Strategy<Value = Value> {
        fn members(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
            prop::collection::btree_map("[^\\[\\]]{1,5}", value, 1..4)
                .prop_map(|members| Value::Object(members.into_iter().collect()))
        }
        members(any::<String>().prop_map(Value::String).prop_recursive(3, 9, 3, members))
    }
}
