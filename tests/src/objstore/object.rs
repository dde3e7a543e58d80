//! Objects with their values as text, because the service has to keep the exact spelling of a
//! value.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

/// `label` with a random suffix, which no other test uses.
pub fn unique(label: &str) -> String {
    format!("{label}-{}", Uuid::new_v4().simple())
}

/// The revision in an entity tag (`"<epoch>-<revision>"`).
pub fn revision(etag: &str) -> u64 {
    let (_, revision) = etag.trim_matches('"').split_once('-').expect("an epoch and a revision");
    revision.parse().expect("revisions are numbers")
}

/// The body of `/batch`.
pub fn batch(operations: &[String]) -> String {
    format!(r#"{{"Operations":[{}]}}"#, operations.join(","))
}

/// A key. As a pattern, an empty part matches any text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Key {
    pub r#type: String,
    pub namespace: String,
    pub name: String,
}

impl Key {
    pub fn new(r#type: &str, namespace: &str, name: &str) -> Self {
        Self { r#type: r#type.to_owned(), namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// A key whose three parts are unique.
    pub fn fresh() -> Self {
        Self::new(&unique("type"), &unique("namespace"), &unique("name"))
    }

    /// The same key with another name.
    #[must_use]
    pub fn named(&self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self.clone() }
    }

    /// The request body with this key alone.
    pub fn body(&self) -> String {
        format!(r#"{{"Key":{}}}"#, self.json())
    }

    /// The operation of `/batch` that deletes its object, with more members such as
    /// `,"IfMatch":"*"`.
    pub fn deletion(&self, more: &str) -> String {
        format!(r#"{{"Delete":{}{more}}}"#, self.body())
    }

    fn json(&self) -> String {
        serde_json::to_string(self).expect("texts can be written")
    }
}

/// An object. `Eq` compares the spelling of the value.
#[derive(Clone, PartialEq, Eq)]
pub struct Object {
    pub key: Key,
    /// The text of a JSON object.
    pub value: String,
    pub owner: String,
}

impl Object {
    /// An object with a default owner.
    pub fn new(key: &Key, value: impl Into<String>) -> Self {
        Self { key: key.clone(), value: value.into(), owner: "somebody".to_owned() }
    }

    /// An object at a [`Key::fresh`].
    pub fn fresh() -> Self {
        Self::new(&Key::fresh(), r#"{"fresh":true}"#)
    }

    /// The same object with the value `{"n":<number>}`.
    #[must_use]
    pub fn numbered(&self, number: usize) -> Self {
        Self { value: format!(r#"{{"n":{number}}}"#), ..self.clone() }
    }

    /// The number in a value of [`Object::numbered`].
    pub fn number(&self) -> usize {
        let digits = self.value.trim_matches(|letter: char| !letter.is_ascii_digit());
        digits.parse().expect("a number")
    }

    /// The request body with this object.
    pub fn body(&self) -> String {
        let owner = serde_json::to_string(&self.owner).expect("texts can be written");
        format!(r#"{{"Key":{},"Value":{},"Owner":{owner}}}"#, self.key.json(), self.value)
    }

    /// The operation of `/batch` that sets it, with more members such as `,"TTL":"1s"`.
    pub fn operation(&self, more: &str) -> String {
        format!(r#"{{"Set":{}{more}}}"#, self.body())
    }

    /// Parses the object in an answer.
    pub fn parse(text: &str) -> Self {
        serde_json::from_str::<Wire>(text).unwrap_or_else(|error| panic!("{error}: {text}")).into()
    }

    /// Parses the array of objects in an answer.
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
