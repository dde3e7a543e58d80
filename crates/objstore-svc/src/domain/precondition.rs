//! Entity tags and the conditions made of them (RFC 9110, section 13).

use std::fmt;

use super::Revision;

/// Which life of the store a revision belongs to: made with the store, and anew when a backup of
/// it is restored, so that tags of one life never hold in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Epoch(u64);

impl Epoch {
    /// An epoch from random bits.
    pub(crate) fn new(bits: u64) -> Self {
        Self(bits)
    }

    /// The bits it was made from.
    pub(crate) fn bits(self) -> u64 {
        self.0
    }
}

/// The state of one object: `"<epoch>-<revision>"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag {
    epoch: Epoch,
    revision: Revision,
}

impl Tag {
    /// The tag of what `revision` wrote.
    pub(crate) fn new(epoch: Epoch, revision: Revision) -> Self {
        Self { epoch, revision }
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "\"{:016x}-{}\"", self.epoch.0, self.revision)
    }
}

/// A header that is neither `*` nor a list of tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a list of entity tags")]
pub(crate) struct InvalidTag;

/// What must hold of an object before it is changed. Without conditions, nothing must.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Precondition {
    if_match: Option<Tags>,
    if_none_match: Option<Tags>,
}

/// `*`, or a list of tags as the client wrote them.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Tags {
    Any,
    These(Vec<String>),
}

impl Precondition {
    /// Reads the values of `If-Match` and `If-None-Match`, each possibly sent several times.
    pub(crate) fn parse(if_match: &[&str], if_none_match: &[&str]) -> Result<Self, InvalidTag> {
        Ok(Self { if_match: Tags::parse(if_match)?, if_none_match: Tags::parse(if_none_match)? })
    }

    /// Whether there is no condition.
    pub(crate) fn is_empty(&self) -> bool {
        self.if_match.is_none() && self.if_none_match.is_none()
    }

    /// Whether the conditions hold of an object whose tag is `current`, or of its absence.
    pub(crate) fn holds(&self, current: Option<Tag>) -> bool {
        let current = current.map(|tag| tag.to_string());
        let matches =
            self.if_match.as_ref().is_none_or(|tags| tags.name(current.as_deref(), Tags::strongly));
        let none = self
            .if_none_match
            .as_ref()
            .is_none_or(|tags| !tags.name(current.as_deref(), Tags::weakly));
        matches && none
    }
}

impl Tags {
    fn parse(values: &[&str]) -> Result<Option<Self>, InvalidTag> {
        match values {
            [] => Ok(None),
            [any] if any.trim() == "*" => Ok(Some(Self::Any)),
            _ => {
                let mut tags = Vec::new();
                for value in values {
                    read_list(value, &mut tags)?;
                }
                if tags.is_empty() { Err(InvalidTag) } else { Ok(Some(Self::These(tags))) }
            }
        }
    }

    fn name(&self, current: Option<&str>, same: fn(&str, &str) -> bool) -> bool {
        match (self, current) {
            (_, None) => false,
            (Self::Any, Some(_)) => true,
            (Self::These(tags), Some(current)) => tags.iter().any(|tag| same(tag, current)),
        }
    }

    /// A weak tag is never strongly the same.
    fn strongly(tag: &str, current: &str) -> bool {
        tag == current
    }

    fn weakly(tag: &str, current: &str) -> bool {
        tag.strip_prefix("W/").unwrap_or(tag) == current
    }
}

/// Reads `#entity-tag`: tags between commas, where empty elements do not count.
fn read_list(value: &str, tags: &mut Vec<String>) -> Result<(), InvalidTag> {
    let mut rest = value.trim_matches([' ', '\t', ',']);
    while !rest.is_empty() {
        let opaque = rest.strip_prefix("W/").unwrap_or(rest);
        let body = opaque.strip_prefix('"').ok_or(InvalidTag)?;
        let (text, after) = body.split_once('"').ok_or(InvalidTag)?;
        if text.contains([' ', '\t']) {
            return Err(InvalidTag);
        }
        tags.push(rest[..rest.len() - after.len()].to_owned());
        let next = after.trim_start_matches([' ', '\t']);
        if !next.is_empty() && !next.starts_with(',') {
            return Err(InvalidTag);
        }
        rest = next.trim_start_matches([' ', '\t', ',']);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "\"00000000000000ab-7\"";

    fn holds(if_match: &[&str], if_none_match: &[&str], exists: bool) -> bool {
        let tag = exists.then(|| Tag::new(Epoch::new(0xab), 7));
        Precondition::parse(if_match, if_none_match).unwrap().holds(tag)
    }

    #[test]
    fn a_tag_names_epoch_and_revision() {
        assert_eq!(Tag::new(Epoch::new(0xab), 7).to_string(), NOW);
    }

    #[test]
    fn conditions_hold_as_rfc_9110_says() {
        let weak = format!("W/{NOW}");
        let list = format!("\"other\" , ,{NOW}");
        for (if_match, if_none_match, exists, expected) in [
            (&[][..], &[][..], true, true),
            (&[], &[], false, true),
            (&["*"], &[], true, true),
            (&["*"], &[], false, false),
            (&[NOW], &[], true, true),
            (&[NOW], &[], false, false),
            (&["\"other\""], &[], true, false),
            (&["\"other\"", NOW], &[], true, true),
            (&[list.as_str()], &[], true, true),
            (&[weak.as_str()], &[], true, false),
            (&[], &["*"], true, false),
            (&[], &["*"], false, true),
            (&[], &[NOW], true, false),
            (&[], &[weak.as_str()], true, false),
            (&[], &["\"other\""], true, true),
            (&["*"], &["*"], true, false),
        ] {
            let held = holds(if_match, if_none_match, exists);
            assert_eq!(held, expected, "{if_match:?} {if_none_match:?} {exists}");
        }
    }

    #[test]
    fn what_is_no_list_of_tags_is_refused() {
        for value in
            ["", "x", "\"open", "\"a\"b", "\"a\" \"b\"", "*, \"a\"", "w/\"a\"", "\"a b\"", ","]
        {
            assert_eq!(Precondition::parse(&[value], &[]), Err(InvalidTag), "{value:?}");
        }
    }
}
