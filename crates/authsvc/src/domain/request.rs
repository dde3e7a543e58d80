//! The body of a sign-in, and all the rules that it breaks.

use std::{borrow::Cow, collections::BTreeSet, fmt};

use secrecy::{ExposeSecret as _, SecretString};
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::{error::Category, value::RawValue};
use zeroize::Zeroizing;

use super::{Field, Fields};

/// In characters, before white space is removed.
pub(crate) const MAX_USERNAME: usize = 96;

/// In characters.
pub(crate) const MAX_PASSWORD: usize = 128;

#[derive(Debug)]
pub(crate) struct SignIn {
    /// Without white space around it.
    pub(crate) username: SecretString,
    /// Exactly as sent.
    pub(crate) password: SecretString,
    /// The requested fields; `None` if the caller wants no profile.
    pub(crate) profile: Option<Fields>,
}

/// The label `field` of `validation_errors_total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Input {
    Username,
    Password,
    Profile,
    Fields,
    /// The query parameter `fmt` of `/metrics`.
    Fmt,
    /// The body as a whole.
    Body,
    /// Unknown keys, and invalid JSON.
    Other,
}

impl Input {
    /// The name in messages and metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Username => "username",
            Self::Password => "password",
            Self::Profile => "profile",
            Self::Fields => "fields",
            Self::Fmt => "fmt",
            Self::Body => "body",
            Self::Other => "other",
        }
    }
}

/// A broken rule. It never contains the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Invalid {
    pub(crate) input: Input,
    /// For people.
    pub(crate) rule: &'static str,
    /// Several keys, or several names in `fields`, may break one rule.
    pub(crate) times: u64,
}

impl Invalid {
    pub(crate) fn once(input: Input, rule: &'static str) -> Self {
        Self { input, rule, times: 1 }
    }
}

/// The members of a body with their values as sent. Of a repeated key, the last one counts.
#[derive(Default)]
struct Members<'a> {
    username: Option<&'a RawValue>,
    password: Option<&'a RawValue>,
    profile: Option<&'a RawValue>,
    fields: Option<&'a RawValue>,
    unknown: BTreeSet<Cow<'a, [u8]>>,
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
        let mut members = Members::default();
        while let Some(Key(key)) = map.next_key()? {
            let value = Some(map.next_value()?);
            match &*key {
                b"username" => members.username = value,
                b"password" => members.password = value,
                b"profile" => members.profile = value,
                b"fields" => members.fields = value,
                _ => _ = members.unknown.insert(key),
            }
        }
        Ok(members)
    }
}

/// The bytes of a key, also of one that is not valid text: it has half of a surrogate pair.
struct Key<'a>(Cow<'a, [u8]>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(KeyVisitor)
    }
}

struct KeyVisitor;

impl<'de> Visitor<'de> for KeyVisitor {
    type Value = Key<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Key<'de>, E> {
        Ok(Key(bytes.into()))
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Key<'de>, E> {
        Ok(Key(bytes.to_owned().into()))
    }
}

impl SignIn {
    /// Parses a body, and reports every member that breaks a rule.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, Vec<Invalid>> {
        let members = members(body).map_err(|invalid| vec![invalid])?;
        let parsed = (
            username(&members),
            password(&members),
            profile(&members),
            fields(&members),
            no_other(&members),
        );
        match parsed {
            (Ok(username), Ok(password), Ok(wanted), Ok(fields), Ok(())) => {
                Ok(Self { username, password, profile: wanted.then_some(fields) })
            }
            (username, password, profile, fields, no_other) => {
                let invalid =
                    [username.err(), password.err(), profile.err(), fields.err(), no_other.err()];
                Err(invalid.into_iter().flatten().collect())
            }
        }
    }
}

fn members(body: &[u8]) -> Result<Members<'_>, Invalid> {
    if body.trim_ascii().is_empty() {
        return Err(Invalid::once(Input::Body, "the body is required"));
    }
    serde_json::from_slice(body).map_err(|error| {
        // The first byte shows that a body is no object. The rest of it may be no JSON.
        let is_json = || serde_json::from_slice::<IgnoredAny>(body).is_ok();
        match error.classify() {
            Category::Data if is_json() => {
                Invalid::once(Input::Body, "the body must be a JSON object")
            }
            _ => Invalid::once(Input::Other, "the body is not valid JSON"),
        }
    })
}

fn username(members: &Members<'_>) -> Result<SecretString, Invalid> {
    let reject = |rule| Err(Invalid::once(Input::Username, rule));
    let typed = match members.username.map(text) {
        None => return reject("username is required"),
        Some(Err(NotText::OtherType)) => return reject("username must be a string"),
        Some(Err(NotText::Unpaired)) => return reject("username must be valid text"),
        Some(Ok(typed)) => typed,
    };
    match typed.expose_secret() {
        typed if typed.trim().is_empty() => reject("username must not be empty"),
        typed if typed.chars().count() > MAX_USERNAME => {
            reject("username must have at most 96 characters")
        }
        typed => Ok(SecretString::from(typed.trim())),
    }
}

fn password(members: &Members<'_>) -> Result<SecretString, Invalid> {
    let reject = |rule| Err(Invalid::once(Input::Password, rule));
    match members.password.map(text) {
        None => reject("password is required"),
        Some(Err(NotText::OtherType)) => reject("password must be a string"),
        Some(Err(NotText::Unpaired)) => reject("password must be valid text"),
        Some(Ok(typed)) if typed.expose_secret().is_empty() => reject("password must not be empty"),
        Some(Ok(typed)) if typed.expose_secret().chars().count() > MAX_PASSWORD => {
            reject("password must have at most 128 characters")
        }
        Some(Ok(typed)) => Ok(typed),
    }
}

fn profile(members: &Members<'_>) -> Result<bool, Invalid> {
    match members.profile.map(RawValue::get) {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(Invalid::once(Input::Profile, "profile must be true or false")),
    }
}

/// Validates `fields` also if the caller wants no profile.
fn fields(members: &Members<'_>) -> Result<Fields, Invalid> {
    let reject = |rule| Err(Invalid::once(Input::Fields, rule));
    let value = match members.fields.map(RawValue::get) {
        None | Some("null") => return Ok(Fields::ALL),
        Some(value) => value,
    };
    let Ok(names) = serde_json::from_str::<Vec<&RawValue>>(value) else {
        return reject("fields must be a list of strings");
    };
    if names.is_empty() {
        return reject("fields must not be empty");
    }
    let named = |name: &&RawValue| Field::named(&serde_json::from_str::<String>(name.get()).ok()?);
    let known: Vec<Field> = names.iter().filter_map(named).collect();
    let unknown = names.len() - known.len();
    if unknown > 0 {
        let rule = "fields may hold only names of profile fields";
        let times = u64::try_from(unknown).unwrap_or(u64::MAX);
        return Err(Invalid { input: Input::Fields, rule, times });
    }
    Ok(Fields::of(known))
}

fn no_other(members: &Members<'_>) -> Result<(), Invalid> {
    match members.unknown.len() {
        0 => Ok(()),
        unknown => Err(Invalid {
            input: Input::Other,
            rule: "the body may hold only username, password, profile and fields",
            times: u64::try_from(unknown).unwrap_or(u64::MAX),
        }),
    }
}

enum NotText {
    /// The value is not a string.
    OtherType,
    /// The string has half a surrogate pair, which is not valid text.
    Unpaired,
}

/// Unescapes a string here, because `serde_json` frees a copy without wiping it.
fn text(value: &RawValue) -> Result<SecretString, NotText> {
    let inner = value.get().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let mut rest = inner.ok_or(NotText::OtherType)?;
    // Long enough, so that it never moves.
    let mut text = Zeroizing::new(String::with_capacity(rest.len()));
    while let Some((plain, escape)) = rest.split_once('\\') {
        text.push_str(plain);
        let unescaped;
        (unescaped, rest) = unescape(escape).ok_or(NotText::Unpaired)?;
        text.push(unescaped);
    }
    text.push_str(rest);
    Ok(SecretString::from(text.as_str()))
}

/// The character of an escape sequence of JSON, which begins after its backslash, and the text after
/// it.
fn unescape(escape: &str) -> Option<(char, &str)> {
    let (kind, rest) = escape.split_at_checked(1)?;
    let character = match kind {
        "b" => '\u{8}',
        "f" => '\u{c}',
        "n" => '\n',
        "r" => '\r',
        "t" => '\t',
        "u" => return unicode(rest),
        other => other.chars().next()?,
    };
    Some((character, rest))
}

fn unicode(digits: &str) -> Option<(char, &str)> {
    let unit = |digits: &str| u16::from_str_radix(digits, 16).ok();
    let (first, rest) = digits.split_at_checked(4)?;
    let first = unit(first)?;
    if let Some(Ok(character)) = char::decode_utf16([first]).next() {
        return Some((character, rest));
    }
    let (second, rest) = rest.strip_prefix("\\u")?.split_at_checked(4)?;
    let character = char::decode_utf16([first, unit(second)?]).next()?.ok()?;
    Some((character, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sign_in(username: &str, password: &str) -> Result<SignIn, Vec<Invalid>> {
        let body = serde_json::json!({ "username": username, "password": password });
        SignIn::parse(body.to_string().as_bytes())
    }

    #[test]
    fn usernames_are_trimmed_and_passwords_are_not() {
        let SignIn { username, password, profile } = sign_in(" ann\t", "  ").unwrap();
        assert_eq!(username.expose_secret(), "ann");
        assert_eq!(password.expose_secret(), "  ");
        assert!(profile.is_none());
    }

    #[test]
    fn lengths_are_counted_in_characters_as_typed() {
        assert!(sign_in(&"é".repeat(96), &"🔑".repeat(128)).is_ok());
        assert!(sign_in(&"é".repeat(97), "p").is_err());
        assert!(sign_in(&format!("{} ", "u".repeat(96)), "p").is_err());
        assert!(sign_in("u", &"🔑".repeat(129)).is_err());
    }

    #[test]
    fn absent_or_null_fields_mean_all_fields() {
        for fields in ["", r#","fields":null"#] {
            let body = format!(r#"{{"username":"u","password":"p","profile":true{fields}}}"#);
            let wanted = SignIn::parse(body.as_bytes()).unwrap().profile.unwrap();
            assert!(wanted.is_all());
        }
    }

    proptest! {
        #[test]
        fn texts_are_those_of_serde_json(
            parts in prop::collection::vec(
                prop_oneof![
                    Just(r#"\\"#.to_owned()),
                    "\\\\[\"/bfnrt]",
                    "\\\\u(d[89ab]|D[c-fC-F]|00|[0-9a-c]{2})[0-9a-fA-F]{2}",
                    "[^\"\\\\\\x00-\\x1f]",
                ],
                0..12,
            ),
        ) {
            let json = format!("\"{}\"", parts.concat());
            let expected = serde_json::from_str::<String>(&json).ok();
            let value = serde_json::value::RawValue::from_string(json).unwrap();
            let text = text(&value).ok();
            prop_assert_eq!(text.as_ref().map(|text| text.expose_secret()), expected.as_deref());
        }

        #[test]
        fn any_body_is_parsed_or_rejected(body in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(SignIn::parse(&body).map_or_else(|invalid| !invalid.is_empty(), |_| true));
        }
    }
}
