//! Objects, who owns them, and what may be done to them.

use std::{fmt, sync::Arc};

use super::{ClientId, Epoch, Key, Precondition, Refusal, Revision, Tag, Value};

/// Bytes that an owner may have.
pub(crate) const MAX_OWNER: usize = 1024;

/// Whom an object belongs to: data, unless [`OwnerRule::Match`] compares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner(Box<str>);

/// Why a text is no owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidOwner {
    /// An owner has at least one byte.
    #[error("Owner is empty")]
    Empty,
    /// The owner is longer than [`MAX_OWNER`].
    #[error("Owner is longer than {MAX_OWNER} bytes")]
    TooLong,
    /// The owner contains U+0000.
    #[error("Owner contains U+0000")]
    Nul,
}

impl Owner {
    /// An owner of 1 to [`MAX_OWNER`] bytes without U+0000.
    pub(crate) fn new(text: &str) -> Result<Self, InvalidOwner> {
        match text {
            "" => Err(InvalidOwner::Empty),
            _ if text.len() > MAX_OWNER => Err(InvalidOwner::TooLong),
            _ if text.contains('\0') => Err(InvalidOwner::Nul),
            _ => Ok(Self(text.into())),
        }
    }

    /// The owner as it was sent.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether owners mean anything to the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnerRule {
    /// An owner is data.
    Free,
    /// An owner is the registered identity of who may set and delete.
    Match,
}

impl OwnerRule {
    /// Whether `client` may act on what `owner` owns.
    pub(crate) fn admits(self, client: ClientId, owner: &Owner) -> bool {
        self == Self::Free || ClientId::parse(owner.as_str()) == Ok(client)
    }
}

/// An object as the specification has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Object {
    /// Its address.
    pub(crate) key: Key,
    /// Its content.
    pub(crate) value: Value,
    /// Whom it belongs to.
    pub(crate) owner: Owner,
}

impl Object {
    /// Appends the object as one line of JSON: `{"Key":{…},"Value":{…},"Owner":"…"}`.
    pub(crate) fn write_json(&self, json: &mut Vec<u8>) {
        let [kind, namespace, name] = self.key.parts();
        json.reserve(64 + self.size());
        json.extend_from_slice(b"{\"Key\":{\"Type\":");
        write_string(kind, json);
        json.extend_from_slice(b",\"Namespace\":");
        write_string(namespace, json);
        json.extend_from_slice(b",\"Name\":");
        write_string(name, json);
        json.extend_from_slice(b"},\"Value\":");
        json.extend_from_slice(self.value.as_bytes());
        json.extend_from_slice(b",\"Owner\":");
        write_string(self.owner.as_str(), json);
        json.push(b'}');
    }

    /// Bytes the object holds.
    pub(crate) fn size(&self) -> usize {
        self.key.size() + self.value.as_bytes().len() + self.owner.as_str().len()
    }
}

impl fmt::Display for Object {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut json = Vec::new();
        self.write_json(&mut json);
        formatter.write_str(&String::from_utf8_lossy(&json))
    }
}

fn write_string(text: &str, json: &mut Vec<u8>) {
    // Text into memory: neither half can fail.
    let _ = serde_json::to_writer(json, text);
}

/// An object as it is stored, with the revision that wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    /// The object.
    pub(crate) object: Object,
    /// The revision of the change that made it so.
    pub(crate) revision: Revision,
}

/// Who changes an object, and under which condition.
#[derive(Debug, Clone)]
pub(crate) struct Intent {
    /// The client that asks for the change.
    pub(crate) client: ClientId,
    /// What it wants to hold of the object before.
    pub(crate) precondition: Precondition,
}

impl Intent {
    /// Decides whether `object` may be set over one of revision `current`: ownership is told
    /// first, then the precondition.
    pub(crate) fn decide_set(
        &self,
        object: &Object,
        current: Option<Revision>,
        rule: OwnerRule,
        epoch: Epoch,
    ) -> Result<(), Refusal> {
        if !rule.admits(self.client, &object.owner) {
            Err(Refusal::NotOwner)
        } else if !self.precondition.holds(current.map(|revision| Tag::new(epoch, revision))) {
            Err(Refusal::PreconditionFailed)
        } else {
            Ok(())
        }
    }

    /// Decides whether `current` may be deleted: absence is told first, then ownership, then the
    /// precondition.
    pub(crate) fn decide_delete(
        &self,
        current: Option<(Arc<Object>, Revision)>,
        rule: OwnerRule,
        epoch: Epoch,
    ) -> Result<Arc<Object>, Refusal> {
        let (object, revision) = current.ok_or(Refusal::NoObject)?;
        if !rule.admits(self.client, &object.owner) {
            Err(Refusal::NotOwner)
        } else if !self.precondition.holds(Some(Tag::new(epoch, revision))) {
            Err(Refusal::PreconditionFailed)
        } else {
            Ok(object)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(owner: &str) -> Object {
        Object {
            key: Key::new("t", "n\"s", "né").unwrap(),
            value: Value::compact("{\"a\": 1.0}").unwrap(),
            owner: Owner::new(owner).unwrap(),
        }
    }

    #[test]
    fn an_object_is_one_line_of_json() {
        assert_eq!(
            object("me\n").to_string(),
            r#"{"Key":{"Type":"t","Namespace":"n\"s","Name":"né"},"Value":{"a":1.0},"Owner":"me\n"}"#
        );
    }

    #[test]
    fn an_owner_is_compared_as_an_identity_and_only_when_it_must() {
        let client = ClientId::parse("67e55044-10b1-426f-9247-bb680e5fe0c8").unwrap();
        let same = Owner::new("67E55044-10B1-426F-9247-BB680E5FE0C8").unwrap();
        let other = Owner::new("somebody").unwrap();
        assert!(OwnerRule::Match.admits(client, &same));
        assert!(!OwnerRule::Match.admits(client, &other));
        assert!(OwnerRule::Free.admits(client, &other));
    }

    #[test]
    fn a_delete_tells_absence_before_ownership_before_the_precondition() {
        let client = ClientId::parse("67e55044-10b1-426f-9247-bb680e5fe0c8").unwrap();
        let epoch = Epoch::new(1);
        let precondition = Precondition::parse(&["\"0000000000000001-1\""], &[]).unwrap();
        let intent = Intent { client, precondition };
        let stored = |owner| Some((Arc::new(object(owner)), 2));
        let delete = |current, rule| intent.decide_delete(current, rule, epoch);
        assert_eq!(delete(None, OwnerRule::Match), Err(Refusal::NoObject));
        assert_eq!(delete(stored("x"), OwnerRule::Match), Err(Refusal::NotOwner));
        assert_eq!(delete(stored("x"), OwnerRule::Free), Err(Refusal::PreconditionFailed));
    }
}
