//! Custom data of a transaction: JSON exactly as the caller sent it, except for white space.

use indexmap::IndexMap;
use json_scan::Part;
use serde::{Deserialize, Serialize, Serializer, ser::Error as _};
use serde_json::value::{RawValue, to_raw_value};
use sha2::{Digest as _, Sha256};
use sql::stored;

/// The maximum number of keys of custom data, including nested objects.
const MAX_CUSTOM_KEYS: usize = 99;

/// The maximum number of levels of objects and arrays in custom data. The outer object is the
/// first.
const MAX_CUSTOM_DEPTH: usize = 9;

/// The maximum number of bytes of custom data, without white space between tokens.
const MAX_CUSTOM_SIZE: usize = 50 * 1024;

/// The field `custom` of a transaction: a JSON object, byte for byte as the caller sent it, without
/// white space between tokens. It is stored as text, so that no number is rounded, and no field
/// reordered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomData(String);
stored! { CustomData(String) }

impl CustomData {
    /// Checks the limits. The type `RawValue` guarantees well-formed JSON.
    pub fn parse(json: &RawValue) -> Result<Self, InvalidCustom> {
        if !json.get().starts_with('{') {
            return Err(InvalidCustom::NotAnObject);
        }
        let text = String::from_utf8(json_scan::compact(json.get().as_bytes()))
            .map_err(|_| InvalidCustom::NotAnObject)?;
        let (keys, depth) = keys_and_depth(&text);
        if keys > MAX_CUSTOM_KEYS {
            return Err(InvalidCustom::TooManyKeys);
        }
        if depth > MAX_CUSTOM_DEPTH {
            return Err(InvalidCustom::TooDeep);
        }
        if text.len() > MAX_CUSTOM_SIZE {
            return Err(InvalidCustom::TooLarge);
        }
        if json_scan::repeated_name(text.as_bytes()).is_some() {
            return Err(InvalidCustom::RepeatedName);
        }
        Ok(Self(text))
    }

    /// Sets the field `name` to a string. `None` counts as an empty object.
    pub fn with(
        custom: Option<Self>,
        name: &'static str,
        text: &str,
    ) -> Result<Self, InvalidCustom> {
        let before = custom.map_or("{}".to_owned(), |custom| custom.0);
        let mut fields: IndexMap<String, Box<RawValue>> =
            serde_json::from_str(&before).map_err(|_| InvalidCustom::NotAnObject)?;
        let text = to_raw_value(text).map_err(|_| InvalidCustom::NotAnObject)?;
        fields.insert(name.to_owned(), text);
        let json = to_raw_value(&fields).map_err(|_| InvalidCustom::NotAnObject)?;
        Self::parse(&json)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The digest of [`Self::reference_text`].
    pub fn reference(&self) -> Option<ReferenceDigest> {
        self.reference_text().map(|reference| ReferenceDigest::of(&reference))
    }

    /// The field `reference`, if it is a text.
    pub fn reference_text(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Fields<'a> {
            #[serde(borrow)]
            reference: Option<&'a RawValue>,
        }

        let Fields { reference } = serde_json::from_str(&self.0).ok()?;
        serde_json::from_str(reference?.get()).ok()
    }
}

/// Finds transactions by their reference. The reference itself can be too long for an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferenceDigest(String);
stored! { ReferenceDigest(String) }

impl ReferenceDigest {
    /// In bytes. Nobody finds two texts with the same 128 bits of SHA-256.
    const LENGTH: usize = 16;

    pub fn of(reference: &str) -> Self {
        let digest = Sha256::digest(reference);
        Self(hex::encode(&digest[..Self::LENGTH]))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Writes the text into JSON unchanged. Fails for other formats.
impl Serialize for CustomData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json: &RawValue = serde_json::from_str(&self.0).map_err(S::Error::custom)?;
        json.serialize(serializer)
    }
}

/// Why JSON is not valid custom data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCustom {
    #[error("must be an object")]
    NotAnObject,
    #[error("must have at most {MAX_CUSTOM_KEYS} keys, including the keys of nested objects")]
    TooManyKeys,
    #[error("must have at most {MAX_CUSTOM_DEPTH} levels of objects and arrays")]
    TooDeep,
    #[error("must have at most {MAX_CUSTOM_SIZE} bytes")]
    TooLarge,
    #[error("must not repeat a name")]
    RepeatedName,
}

/// Counts the keys of all objects, and the levels of objects and arrays, in well-formed JSON.
fn keys_and_depth(json: &str) -> (usize, usize) {
    let (mut keys, mut depth, mut deepest) = (0_usize, 0_usize, 0);
    for part in json_scan::parts(json.as_bytes()) {
        let Part::Other(part) = part else { continue };
        for byte in part {
            match byte {
                b':' => keys = keys.saturating_add(1),
                b'{' | b'[' => depth = depth.saturating_add(1),
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            deepest = deepest.max(depth);
        }
    }
    (keys, deepest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(json: &str) -> Result<CustomData, InvalidCustom> {
        CustomData::parse(serde_json::from_str(json).unwrap())
    }

    #[test]
    fn only_white_space_between_tokens_is_removed() {
        for (sent, kept) in [
            (" { } ", "{}"),
            ("{\"a\" :\t[ 1.0 , 1e400,\r\n-0 ]}", "{\"a\":[1.0,1e400,-0]}"),
            (r#"{" a\" ": " b\\" , "c" : 1}"#, r#"{" a\" ":" b\\","c":1}"#),
            (r#"{"\u00e9 é": "\/"}"#, r#"{"\u00e9 é":"\/"}"#),
        ] {
            let custom = parse(sent).unwrap();
            assert_eq!(custom.as_str(), kept);
            assert_eq!(serde_json::to_string(&custom).unwrap(), kept);
            assert_eq!(CustomData(kept.to_owned()), custom);
        }
    }

    #[test]
    fn custom_data_is_an_object() {
        for other in ["[]", "[{}]", " 1", "\"{}\"", "null", "false"] {
            assert_eq!(parse(other), Err(InvalidCustom::NotAnObject), "{other}");
        }
    }

    #[test]
    fn keys_are_counted_over_all_objects() {
        let key = |number: usize| format!("\"k:{number}\" : 1");
        let keys = |count: usize| (0..count).map(key).collect::<Vec<_>>().join(" , ");
        let nested = |count: usize| format!(r#"{{"a": [{{{}}}], ":": "::"}}"#, keys(count - 2));
        assert!(parse(&format!("{{{}}}", keys(99))).is_ok());
        assert!(parse(&nested(99)).is_ok());
        assert_eq!(parse(&format!("{{{}}}", keys(100))), Err(InvalidCustom::TooManyKeys));
        assert_eq!(parse(&nested(100)), Err(InvalidCustom::TooManyKeys));
    }

    #[test]
    fn no_object_repeats_a_name() {
        for custom in [r#"{"a":1,"a":2}"#, r#"{"a":[{"b":1,"\u0062":1}]}"#] {
            assert_eq!(parse(custom), Err(InvalidCustom::RepeatedName), "{custom}");
        }
        assert!(parse(r#"{"a":{"a":1},"b":[{"a":1},{"a":1}]}"#).is_ok());
    }

    #[test]
    fn only_a_text_is_a_reference() {
        let digest = |custom| parse(custom).unwrap().reference();
        let expected = Some(ReferenceDigest::of("5011 é"));
        for custom in [
            r#"{"reference":"5011 é"}"#,
            r#"{"a":{"reference":"b"},"r\u0065ference":"5011\u0020\u00e9","c":[1e400]}"#,
        ] {
            assert_eq!(digest(custom), expected, "{custom}");
        }
        for other in ["5011 É", "5011 é ", "", "5011 e\u{301}"] {
            assert_ne!(Some(ReferenceDigest::of(other)), expected, "{other}");
        }
        for none in [
            "{}",
            r#"{"reference":null}"#,
            r#"{"reference":5011}"#,
            r#"{"reference":["5011 é"]}"#,
            r#"{"Reference":"5011 é","a":{"reference":"5011 é"}}"#,
        ] {
            assert_eq!(digest(none), None, "{none}");
        }
    }

    #[test]
    fn objects_and_arrays_nest_nine_levels() {
        let objects =
            |levels: usize| r#"{"a":"#.repeat(levels - 1) + "{}" + &"}".repeat(levels - 1);
        let arrays = |levels: usize| {
            format!(r#"{{"a":{}{}}}"#, "[".repeat(levels - 1), "]".repeat(levels - 1))
        };
        assert!(parse(&objects(9)).is_ok());
        assert!(parse(&arrays(9)).is_ok());
        assert!(parse(r#"{"a":"[[[[[[[[[[[[{{{{{{{{"}"#).is_ok());
        assert_eq!(parse(&objects(10)), Err(InvalidCustom::TooDeep));
        assert_eq!(parse(&arrays(10)), Err(InvalidCustom::TooDeep));
    }

    #[test]
    fn size_is_counted_without_white_space() {
        let sized = |size: usize| format!(r#"{{ "a" : "{}" }}"#, "x".repeat(size - 8));
        assert_eq!(parse(&sized(MAX_CUSTOM_SIZE)).unwrap().as_str().len(), MAX_CUSTOM_SIZE);
        assert_eq!(parse(&sized(MAX_CUSTOM_SIZE + 1)), Err(InvalidCustom::TooLarge));
    }

    proptest! {
        #[test]
        fn stored_custom_data_is_the_same_json(text in any::<String>(), number in any::<f64>()) {
            let value = serde_json::json!({ text.clone(): [text, number, { "a": [] }] });
            let custom = parse(&serde_json::to_string_pretty(&value).unwrap()).unwrap();
            prop_assert_eq!(custom.as_str(), value.to_string());
        }
    }
}
