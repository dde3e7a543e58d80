//! Keys of three parts, and patterns that match keys.

use std::{borrow::Borrow, fmt, sync::Arc};

/// Maximum length of one part of a key, in bytes.
pub(crate) const MAX_PART: usize = 512;

/// Separates the parts of a key in its text. No part can contain it.
const SEPARATOR: &str = "\0";

/// Type, namespace and name in one allocation.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Parts(Box<str>);

impl Parts {
    fn new(parts: [&str; 3]) -> Result<Self, InvalidKey> {
        for part in parts {
            if part.len() > MAX_PART {
                return Err(InvalidKey::TooLong);
            }
            if part.contains(SEPARATOR) {
                return Err(InvalidKey::Nul);
            }
        }
        let [kind, namespace, name] = parts;
        let mut text = String::with_capacity(kind.len() + namespace.len() + name.len() + 2);
        text.extend([kind, SEPARATOR, namespace, SEPARATOR, name]);
        Ok(Self(text.into_boxed_str()))
    }

    fn split(&self) -> [&str; 3] {
        split(&self.0)
    }
}

/// Splits the text of three parts.
fn split(text: &str) -> [&str; 3] {
    let (kind, rest) = text.split_once(SEPARATOR).unwrap_or_default();
    let (namespace, name) = rest.split_once(SEPARATOR).unwrap_or_default();
    [kind, namespace, name]
}

impl fmt::Debug for Parts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.split().fmt(formatter)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidKey {
    #[error("a part of the key is empty")]
    Empty,
    #[error("a part of the key is longer than {MAX_PART} bytes")]
    TooLong,
    #[error("a part of the key contains U+0000")]
    Nul,
}

/// The key of one object: three parts of 1 to [`MAX_PART`] bytes without U+0000.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key(Parts);

impl Key {
    pub(crate) fn new(kind: &str, namespace: &str, name: &str) -> Result<Self, InvalidKey> {
        let parts = Parts::new([kind, namespace, name])?;
        if [kind, namespace, name].contains(&"") {
            return Err(InvalidKey::Empty);
        }
        Ok(Self(parts))
    }

    /// The parts in the order of the specification: Type, Namespace, Name.
    pub(crate) fn parts(&self) -> [&str; 3] {
        self.0.split()
    }

    /// The parts in `order` as one text, for [`Key::parse`]. Texts sort as the parts do.
    pub(crate) fn text(&self, order: [usize; 3]) -> String {
        let parts = self.parts();
        order.map(|part| parts[part]).join(SEPARATOR)
    }

    /// Parses [`Key::text`].
    pub(crate) fn parse(text: &str, order: [usize; 3]) -> Option<Self> {
        let given: Vec<_> = text.split(SEPARATOR).collect();
        let given: [&str; 3] = given.try_into().ok()?;
        let mut parts = [""; 3];
        for (part, text) in order.into_iter().zip(given) {
            parts[part] = text;
        }
        let [kind, namespace, name] = parts;
        Self::new(kind, namespace, name).ok()
    }

    /// Replaces `text` with the pattern of `shape` that matches this key, in the form of
    /// [`Pattern::as_str`].
    pub(crate) fn pattern(&self, shape: Shape, text: &mut String) {
        text.clear();
        for (index, part) in self.parts().into_iter().enumerate() {
            if index > 0 {
                text.push_str(SEPARATOR);
            }
            if shape.has(index) {
                text.push_str(part);
            }
        }
    }

    /// Bytes of the three parts and their separators.
    pub(crate) fn size(&self) -> usize {
        self.0.0.len()
    }
}

/// A pattern of keys. An empty part matches everything; any other part matches only an equal part.
/// Copies share the text.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Pattern(Arc<str>);

impl Pattern {
    pub(crate) fn new(kind: &str, namespace: &str, name: &str) -> Result<Self, InvalidKey> {
        Parts::new([kind, namespace, name]).map(|parts| Self(parts.0.into()))
    }

    /// The parts in the order of the specification: Type, Namespace, Name.
    pub(crate) fn parts(&self) -> [&str; 3] {
        split(&self.0)
    }

    pub(crate) fn shape(&self) -> Shape {
        let [kind, namespace, name] = self.parts().map(|part| u8::from(!part.is_empty()));
        Shape(kind | namespace << 1 | name << 2)
    }

    /// The parts with their separators: a text that is different for each pattern.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts().fmt(formatter)
    }
}

/// Makes a map of patterns searchable by the text of [`Key::pattern`], without an allocation.
impl Borrow<str> for Pattern {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

/// Which parts of a pattern are not empty. Bit 0 is type, 1 namespace, 2 name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shape(u8);

impl Shape {
    /// All shapes. A pattern of the last one has no empty part, so it matches one key.
    pub(crate) const ALL: [Self; 8] =
        [Self(0), Self(1), Self(2), Self(3), Self(4), Self(5), Self(6), Self(7)];

    /// The index in [`Shape::ALL`].
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Whether part `index` (0 type, 1 namespace, 2 name) is not empty.
    pub(crate) fn has(self, index: usize) -> bool {
        self.0 >> index & 1 == 1
    }

    /// The order in which the keys of a pattern are read: the parts to compare by, first to last. It
    /// begins with the parts that the pattern gives.
    pub(crate) fn order(self) -> [usize; 3] {
        match self.0 {
            0 | 1 | 3 | 7 => [0, 1, 2],
            2 | 6 => [1, 2, 0],
            _ => [2, 0, 1],
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &Pattern, key: &Key) -> bool {
        let mut pairs = pattern.parts().into_iter().zip(key.parts());
        pairs.all(|(wanted, part)| wanted.is_empty() || wanted == part)
    }

    fn is_found(pattern: &Pattern, key: &Key) -> bool {
        let mut text = String::new();
        Shape::ALL.into_iter().any(|shape| {
            key.pattern(shape, &mut text);
            text == pattern.as_str()
        })
    }

    proptest! {
        #[test]
        fn a_key_is_found_under_exactly_its_eight_patterns(
            key in prop::array::uniform3("[ab]{1,2}"),
            pattern in prop::array::uniform3("[ab]{0,2}"),
        ) {
            let key = Key::new(&key[0], &key[1], &key[2]).unwrap();
            let pattern = Pattern::new(&pattern[0], &pattern[1], &pattern[2]).unwrap();
            prop_assert_eq!(is_found(&pattern, &key), matches(&pattern, &key));
        }
    }
}
