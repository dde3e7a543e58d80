//! Keys of three parts, and the patterns that name many of them.

use std::{borrow::Borrow, fmt};

/// Bytes that one part of a key may have.
pub(crate) const MAX_PART: usize = 512;

/// Stands between the parts of a key in its one text. No part can contain it.
const SEPARATOR: &str = "\0";

/// Three parts in one allocation: type, namespace, name.
#[derive(Clone, PartialEq, Eq, Hash)]
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
        let (kind, rest) = self.0.split_once(SEPARATOR).unwrap_or_default();
        let (namespace, name) = rest.split_once(SEPARATOR).unwrap_or_default();
        [kind, namespace, name]
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.split().fmt(formatter)
    }
}

/// Why three texts are no key or no pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidKey {
    /// A key has no empty part.
    #[error("a part of the key is empty")]
    Empty,
    /// A part is longer than [`MAX_PART`].
    #[error("a part of the key is longer than {MAX_PART} bytes")]
    TooLong,
    /// A part contains U+0000.
    #[error("a part of the key contains U+0000")]
    Nul,
}

/// The address of one object: three parts of 1 to [`MAX_PART`] bytes without U+0000.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key(Parts);

impl Key {
    /// A key of these parts.
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

    /// Writes the one pattern of `shape` that matches this key, as [`Pattern::as_str`] does.
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

    /// Bytes the key holds.
    pub(crate) fn size(&self) -> usize {
        self.0.0.len()
    }
}

/// Which keys are meant: an empty part matches anything, any other part exactly itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Pattern(Parts);

impl Pattern {
    /// A pattern of these parts.
    pub(crate) fn new(kind: &str, namespace: &str, name: &str) -> Result<Self, InvalidKey> {
        Parts::new([kind, namespace, name]).map(Self)
    }

    /// The parts in the order of the specification: Type, Namespace, Name.
    pub(crate) fn parts(&self) -> [&str; 3] {
        self.0.split()
    }

    /// Which parts are given.
    pub(crate) fn shape(&self) -> Shape {
        let [kind, namespace, name] = self.parts().map(|part| u8::from(!part.is_empty()));
        Shape(kind | namespace << 1 | name << 2)
    }

    /// The whole pattern as one text, unique to it.
    pub(crate) fn as_str(&self) -> &str {
        &self.0.0
    }
}

/// A map by pattern can be asked by text, as [`Key::pattern`] makes it, without an allocation.
impl Borrow<str> for Pattern {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

/// Which of the three parts a pattern gives: one of eight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shape(u8);

impl Shape {
    /// Every shape; the last one is that of a key.
    pub(crate) const ALL: [Self; 8] =
        [Self(0), Self(1), Self(2), Self(3), Self(4), Self(5), Self(6), Self(7)];

    /// The shape's place in [`Shape::ALL`].
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Whether part `index` (0 type, 1 namespace, 2 name) is given.
    pub(crate) fn has(self, index: usize) -> bool {
        self.0 >> index & 1 == 1
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

    #[test]
    fn parts_are_bounded_in_bytes_and_hold_no_nul() {
        let longest = "é".repeat(MAX_PART / 2);
        assert!(Key::new(&longest, "n", "n").is_ok());
        for (parts, error) in [
            (["", "n", "n"], InvalidKey::Empty),
            (["t", "n", ""], InvalidKey::Empty),
            (["t", "a\0b", "n"], InvalidKey::Nul),
            ([&format!("{longest}x"), "n", "n"], InvalidKey::TooLong),
        ] {
            let [kind, namespace, name] = parts;
            assert_eq!(Key::new(kind, namespace, name), Err(error));
        }
    }

    #[test]
    fn an_empty_part_matches_anything() {
        let key = Key::new("t", "ns", "n").unwrap();
        for (pattern, expected) in [
            (["", "", ""], true),
            (["t", "", ""], true),
            (["", "ns", "n"], true),
            (["t", "ns", "n"], true),
            (["T", "", ""], false),
            (["t", "n", ""], false),
            (["n", "ns", "t"], false),
        ] {
            let [kind, namespace, name] = pattern;
            let pattern = Pattern::new(kind, namespace, name).unwrap();
            assert_eq!(is_found(&pattern, &key), expected, "{pattern:?}");
        }
    }

    proptest! {
        #[test]
        fn a_key_is_found_under_its_eight_patterns_and_no_other(
            key in prop::array::uniform3("[ab]{1,2}"),
            pattern in prop::array::uniform3("[ab]{0,2}"),
        ) {
            let key = Key::new(&key[0], &key[1], &key[2]).unwrap();
            let pattern = Pattern::new(&pattern[0], &pattern[1], &pattern[2]).unwrap();
            prop_assert_eq!(is_found(&pattern, &key), matches(&pattern, &key));
        }
    }
}
