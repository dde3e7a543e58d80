//! Entity tags, `If-Match` and `If-None-Match` (RFC 9110, section 13).

use std::fmt;

use super::{EpochId, Revision};

/// The entity tag of an object: `"<epoch>-<revision>"`, the epoch as 16 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ETag {
    epoch: EpochId,
    revision: Revision,
}

impl ETag {
    pub(crate) fn new(epoch: EpochId, revision: Revision) -> Self {
        Self { epoch, revision }
    }

    /// The tag without quotes.
    pub(crate) fn opaque(self) -> String {
        format!("{:016x}-{}", self.epoch.bits(), self.revision)
    }
}

impl fmt::Display for ETag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "\"{}\"", self.opaque())
    }
}

/// The value of `If-Match` or `If-None-Match` is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("neither * nor a list of entity tags")]
pub(crate) struct InvalidETag;

/// The conditions of a request. A precondition without conditions always holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Precondition {
    if_match: Option<Tags>,
    if_none_match: Option<Tags>,
}

/// `*`, or a list of tags as the client wrote them.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Tags {
    Any,
    List(Vec<String>),
}

impl Precondition {
    /// Parses the values of `If-Match` and `If-None-Match`. Each header may be sent several times.
    pub(crate) fn parse(if_match: &[&str], if_none_match: &[&str]) -> Result<Self, InvalidETag> {
        Ok(Self { if_match: Tags::parse(if_match)?, if_none_match: Tags::parse(if_none_match)? })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.if_match.is_none() && self.if_none_match.is_none()
    }

    /// Whether the conditions hold for an object with the tag `current`. `current` is `None` if the
    /// object does not exist.
    pub(crate) fn holds(&self, current: Option<ETag>) -> bool {
        let current = current.map(|tag| tag.to_string());
        let matches =
            self.if_match.as_ref().is_none_or(|tags| tags.contains(current.as_deref(), strong_eq));
        let none_matches = self
            .if_none_match
            .as_ref()
            .is_none_or(|tags| !tags.contains(current.as_deref(), weak_eq));
        matches && none_matches
    }
}

impl Tags {
    fn parse(values: &[&str]) -> Result<Option<Self>, InvalidETag> {
        match values {
            [] => Ok(None),
            [any] if any.trim() == "*" => Ok(Some(Self::Any)),
            _ => {
                let mut tags = Vec::new();
                for value in values {
                    read_list(value, &mut tags)?;
                }
                if tags.is_empty() { Err(InvalidETag) } else { Ok(Some(Self::List(tags))) }
            }
        }
    }

    fn contains(&self, current: Option<&str>, same: fn(&str, &str) -> bool) -> bool {
        match (self, current) {
            (_, None) => false,
            (Self::Any, Some(_)) => true,
            (Self::List(tags), Some(current)) => tags.iter().any(|tag| same(tag, current)),
        }
    }
}

/// The strong comparison: a weak tag never matches.
fn strong_eq(tag: &str, current: &str) -> bool {
    tag == current
}

/// The weak comparison: `W/` is ignored.
fn weak_eq(tag: &str, current: &str) -> bool {
    tag.strip_prefix("W/").unwrap_or(tag) == current
}

/// Parses `#entity-tag`: tags separated by commas, with empty elements ignored.
fn read_list(value: &str, tags: &mut Vec<String>) -> Result<(), InvalidETag> {
    let mut rest = value.trim_matches([' ', '\t', ',']);
    while !rest.is_empty() {
        let opaque = rest.strip_prefix("W/").unwrap_or(rest);
        let body = opaque.strip_prefix('"').ok_or(InvalidETag)?;
        let (text, after) = body.split_once('"').ok_or(InvalidETag)?;
        if text.contains([' ', '\t']) {
            return Err(InvalidETag);
        }
        tags.push(rest[..rest.len() - after.len()].to_owned());
        let next = after.trim_start_matches([' ', '\t']);
        if !next.is_empty() && !next.starts_with(',') {
            return Err(InvalidETag);
        }
        rest = next.trim_start_matches([' ', '\t', ',']);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CURRENT_TAG: &str = "\"00000000000000ab-7\"";

    fn holds(if_match: &[&str], if_none_match: &[&str], exists: bool) -> bool {
        let tag = exists.then(|| ETag::new(EpochId::new(0xab), 7));
        Precondition::parse(if_match, if_none_match).unwrap().holds(tag)
    }

    #[test]
    fn a_tag_consists_of_epoch_and_revision() {
        assert_eq!(ETag::new(EpochId::new(0xab), 7).to_string(), CURRENT_TAG);
    }

    #[test]
    fn conditions_hold_as_rfc_9110_says() {
        let weak = format!("W/{CURRENT_TAG}");
        let list = format!("\"other\" , ,{CURRENT_TAG}");
        for (if_match, if_none_match, exists, expected) in [
            (&[][..], &[][..], true, true),
            (&[], &[], false, true),
            (&["*"], &[], true, true),
            (&["*"], &[], false, false),
            (&[CURRENT_TAG], &[], true, true),
            (&[CURRENT_TAG], &[], false, false),
            (&["\"other\""], &[], true, false),
            (&["\"other\"", CURRENT_TAG], &[], true, true),
            (&[list.as_str()], &[], true, true),
            (&[weak.as_str()], &[], true, false),
            (&[], &["*"], true, false),
            (&[], &["*"], false, true),
            (&[], &[CURRENT_TAG], true, false),
            (&[], &[weak.as_str()], true, false),
            (&[], &["\"other\""], true, true),
            (&["*"], &["*"], true, false),
        ] {
            let held = holds(if_match, if_none_match, exists);
            assert_eq!(held, expected, "{if_match:?} {if_none_match:?} {exists}");
        }
    }

    #[test]
    fn malformed_lists_of_tags_are_rejected() {
        for value in
            ["", "x", "\"open", "\"a\"b", "\"a\" \"b\"", "*, \"a\"", "w/\"a\"", "\"a b\"", ","]
        {
            assert_eq!(Precondition::parse(&[value], &[]), Err(InvalidETag), "{value:?}");
        }
    }
}
