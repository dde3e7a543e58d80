//! Offsets of the streams for published clients: how far a client is, as a text that sorts.
//!
//! | text | the client has |
//! |---|---|
//! | `<epoch>_<revision>_~` | the state of the revision |
//! | `<epoch>_<revision>_<key>` | a part of a snapshot |
//! | `<epoch>_<revision>_z` | a whole snapshot, and the changes up to the revision |
//!
//! The epoch is the revision at its start, because the ID of an epoch does not sort. Both numbers have
//! 16 hexadecimal digits. The key is in hexadecimal digits, too, its parts in the order in which a
//! snapshot of the pattern reads them. A snapshot leaves out objects that have changed since its
//! revision, so the copy is not the state of a revision before all changes of that time have
//! followed.

use super::{Key, Revision, Shape};

const EXACT: &str = "~";
const CHANGES: &str = "z";

/// An offset after a part of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offset {
    /// The newest revision when the epoch began.
    pub(crate) epoch: Revision,
    pub(crate) place: Place,
}

/// The state of a client's copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// The objects of a snapshot up to the key `after`, unless they changed after `through`.
    Objects { through: Revision, after: Key },
    /// All objects of a snapshot, and all changes from its begin up to this revision.
    Changes(Revision),
    /// The state of a revision.
    Exact(Revision),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("offset must be -1, now, or a Stream-Next-Offset of this stream")]
pub(crate) struct InvalidOffset;

impl Place {
    /// The changes after this revision follow.
    pub(crate) fn revision(&self) -> Revision {
        match self {
            Self::Objects { through, .. } => *through,
            Self::Changes(revision) | Self::Exact(revision) => *revision,
        }
    }
}

impl Offset {
    /// Parses the offset of a stream with a pattern of `shape`.
    pub(crate) fn parse(text: &str, shape: Shape) -> Result<Self, InvalidOffset> {
        let mut fields = text.split('_');
        let mut next = || fields.next().ok_or(InvalidOffset);
        let (epoch, revision, rest) = (number(next()?)?, number(next()?)?, next()?);
        if fields.next().is_some() {
            return Err(InvalidOffset);
        }
        let place = match rest {
            EXACT => Place::Exact(revision),
            CHANGES => Place::Changes(revision),
            _ => Place::Objects { through: revision, after: key(rest, shape)? },
        };
        Ok(Self { epoch, place })
    }

    pub(crate) fn text(&self, shape: Shape) -> String {
        let Self { epoch, place } = self;
        let rest = match place {
            Place::Exact(_) => EXACT.to_owned(),
            Place::Changes(_) => CHANGES.to_owned(),
            Place::Objects { after, .. } => hex::encode(after.text(shape.order())),
        };
        format!("{epoch:016x}_{:016x}_{rest}", place.revision())
    }
}

fn number(digits: &str) -> Result<u64, InvalidOffset> {
    let is_canonical = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    if digits.len() != 16 || !digits.bytes().all(is_canonical) {
        return Err(InvalidOffset);
    }
    u64::from_str_radix(digits, 16).map_err(|_| InvalidOffset)
}

fn key(digits: &str, shape: Shape) -> Result<Key, InvalidOffset> {
    let text = hex::decode(digits).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.and_then(|text| Key::parse(&text, shape.order())).ok_or(InvalidOffset)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(shape: Shape) -> Vec<String> {
        let names = ["a", "a\u{1}", "aa", "b"];
        let place = |name: &str| {
            let mut parts = ["a"; 3];
            parts[shape.order()[2]] = name;
            let [kind, namespace, name] = parts;
            Place::Objects { through: 7, after: Key::new(kind, namespace, name).unwrap() }
        };
        let snapshot = names.map(place).into_iter();
        let places = [Place::Exact(6)].into_iter().chain(snapshot);
        let places = places.chain([Place::Changes(7), Place::Exact(7), Place::Changes(8)]);
        places.map(|place| Offset { epoch: 5, place }.text(shape)).collect()
    }

    #[test]
    fn offsets_sort_and_can_be_parsed() {
        for shape in Shape::ALL {
            let texts = places(shape);
            assert!(texts.is_sorted_by(|one, other| one < other), "{texts:?}");
            for text in &texts {
                assert_eq!(Offset::parse(text, shape).unwrap().text(shape), *text);
            }
        }
    }

    #[test]
    fn other_texts_are_refused() {
        let shape = Shape::ALL[0];
        let zeros = "0".repeat(16);
        for text in [
            "",
            "-1",
            "now",
            "0",
            "_",
            "__",
            "0_1_~",
            "~",
            "z",
            &zeros,
            &format!("{zeros}_{zeros}"),
            &format!("{zeros}_{zeros}_"),
            &format!("{zeros}_{zeros}_~_"),
            &format!("{zeros}_{zeros}_61"),
            &format!("{zeros}_{zeros}_6100620063"),
            &format!("{zeros}_{zeros}_610062006300"),
            &format!("{zeros}_{zeros}_ff00620063"),
            &format!("{zeros}_{zeros}_6"),
            &format!("{zeros}_+{}_~", &zeros[1..]),
            &format!("{}_{zeros}_~", "A".repeat(16)),
        ] {
            let is_key = text.ends_with("6100620063");
            assert_eq!(Offset::parse(text, shape).is_ok(), is_key, "{text}");
        }
    }
}
