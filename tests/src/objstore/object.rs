//! Objects as texts: what the service has to keep is the spelling, not only the meaning.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

/// A text that no other test uses.
pub fn unique(label: &str) -> String {
    format!("{label}-{}", Uuid::new_v4().simple())
}

/// The revision in an entity tag.
///
/// # Panics
///
/// When it is no entity tag of this service.
pub fn revision(etag: &str) -> u64 {
    let (_, revision) = etag.trim_matches('"').split_once('-').expect("an epoch and a revision");
    revision.parse().expect("revisions are numbers")
}

/// A key, or a pattern of keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Key {
    /// The first part.
    pub r#type: String,
    /// The second part.
    pub namespace: String,
    /// The third part.
    pub name: String,
}

impl Key {
    /// A key of these parts.
    pub fn new(r#type: &str, namespace: &str, name: &str) -> Self {
        Self { r#type: r#type.to_owned(), namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// A key that shares no part with that of any other test.
    pub fn fresh() -> Self {
        Self::new(&unique("type"), &unique("namespace"), &unique("name"))
    }

    /// The key with another name.
    #[must_use]
    pub fn named(&self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self.clone() }
    }

    /// The request body that names this key and nothing else.
    pub fn body(&self) -> String {
        format!(r#"{{"Key":{}}}"#, self.json())
    }

    fn json(&self) -> String {
        serde_json::to_string(self).expect("texts can be written")
    }
}

/// An object, its value as the text it was written as.
#[derive(Clone, PartialEq, Eq)]
pub struct Object {
    /// Where it is.
    pub key: Key,
    /// A JSON object.
    pub value: String,
    /// Whose it is.
    pub owner: String,
}

impl Object {
    /// An object with some owner.
    pub fn new(key: &Key, value: impl Into<String>) -> Self {
        Self { key: key.clone(), value: value.into(), owner: "somebody".to_owned() }
    }

    /// An object at a fresh key.
    pub fn fresh() -> Self {
        Self::new(&Key::fresh(), r#"{"fresh":true}"#)
    }

    /// The same key, with the value `{"n":<number>}`.
    #[must_use]
    pub fn numbered(&self, number: usize) -> Self {
        Self { value: format!(r#"{{"n":{number}}}"#), ..self.clone() }
    }

    /// The number in a value made by [`Object::numbered`].
    ///
    /// # Panics
    ///
    /// When it is no such value.
    pub fn number(&self) -> usize {
        let digits = self.value.trim_matches(|letter: char| !letter.is_ascii_digit());
        digits.parse().expect("a number")
    }

    /// The request body that holds this object.
    pub fn body(&self) -> String {
        let owner = serde_json::to_string(&self.owner).expect("texts can be written");
        format!(r#"{{"Key":{},"Value":{},"Owner":{owner}}}"#, self.key.json(), self.value)
    }

    /// Reads an object from an answer.
    ///
    /// # Panics
    ///
    /// When it is none.
    pub fn parse(text: &str) -> Self {
        serde_json::from_str::<Wire>(text).unwrap_or_else(|error| panic!("{error}: {text}")).into()
    }

    /// Reads an array of objects from an answer.
    ///
    /// # Panics
    ///
    /// When it is none.
    pub fn parse_all(text: &str) -> Vec<Self> {
        let all: Vec<Wire> =
            serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        all.into_iter().map(Self::from).collect()
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.body())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Wire {
    key: Key,
    value: Box<RawValue>,
    owner: String,
}

impl From<Wire> for Object {
    fn from(wire: Wire) -> Self {
        Self { key: wire.key, value: wire.value.get().to_owned(), owner: wire.owner }
    }
}
