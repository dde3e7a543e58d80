//! Objects, their owners, and the decision whether a client may set or delete one.

use std::{fmt, sync::Arc};

use super::{
    ClientId, ETag, EpochId, Key, Permit, Precondition, Refusal, Revision, StoredLifespan, Value,
};

/// Maximum length of an owner, in bytes.
pub(crate) const MAX_OWNER: usize = 1024;

/// The `Owner` of an object: 1 to [`MAX_OWNER`] bytes without U+0000. The service compares it only
/// with [`OwnerRule::Match`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner(Box<str>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidOwner {
    #[error("Owner is empty")]
    Empty,
    #[error("Owner is longer than {MAX_OWNER} bytes")]
    TooLong,
    #[error("Owner contains U+0000")]
    Nul,
}

impl Owner {
    pub(crate) fn new(text: &str) -> Result<Self, InvalidOwner> {
        match text {
            "" => Err(InvalidOwner::Empty),
            _ if text.len() > MAX_OWNER => Err(InvalidOwner::TooLong),
            _ if text.contains('\0') => Err(InvalidOwner::Nul),
            _ => Ok(Self(text.into())),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is the ID of `client`.
    pub(crate) fn is(&self, client: ClientId) -> bool {
        ClientId::parse(self.as_str()) == Ok(client)
    }
}

/// Whether the service compares owners: the setting `OBJSTORE_OWNER`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnerRule {
    /// An owner is data without a meaning to the service.
    Free,
    /// The sent `Owner` of a set, and the stored `Owner` of a delete, must be the ID of the client.
    /// A set does not look at the stored owner: another client can replace the object.
    Match,
}

impl OwnerRule {
    /// Whether `client` may use `owner`: the sent owner of a set, or the stored owner of a delete.
    pub(crate) fn allows(self, client: ClientId, owner: &Owner) -> bool {
        self == Self::Free || owner.is(client)
    }
}

/// An object with the members of the specification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) key: Key,
    pub(crate) value: Value,
    pub(crate) owner: Owner,
}

impl Object {
    /// Appends the object as one line of JSON: `{"Key":{…},"Value":{…},"Owner":"…"}`.
    pub(crate) fn write_json(&self, json: &mut Vec<u8>) {
        json.reserve(64 + self.size());
        json.extend_from_slice(b"{\"Key\":");
        write_key(self.key.parts(), json);
        json.extend_from_slice(b",\"Value\":");
        json.extend_from_slice(self.value.as_bytes());
        json.extend_from_slice(b",\"Owner\":");
        write_string(self.owner.as_str(), json);
        json.push(b'}');
    }

    /// Bytes of key, value and owner together.
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

/// Appends a key or a pattern as JSON: `{"Type":"…","Namespace":"…","Name":"…"}`.
pub(crate) fn write_key([kind, namespace, name]: [&str; 3], json: &mut Vec<u8>) {
    json.extend_from_slice(b"{\"Type\":");
    write_string(kind, json);
    json.extend_from_slice(b",\"Namespace\":");
    write_string(namespace, json);
    json.extend_from_slice(b",\"Name\":");
    write_string(name, json);
    json.push(b'}');
}

/// Appends a text as a JSON string.
pub(crate) fn write_string(text: &str, json: &mut Vec<u8>) {
    // Writing a string into memory cannot fail.
    let _ = serde_json::to_writer(json, text);
}

/// A stored object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredObject {
    pub(crate) object: Object,
    /// The revision of the `set` that wrote the object.
    pub(crate) revision: Revision,
    pub(crate) lifespan: StoredLifespan,
}

/// The conditions of a `set` or `delete`.
#[derive(Debug, Clone)]
pub(crate) struct Intent {
    /// The client that sent the request.
    pub(crate) client: ClientId,
    /// `If-Match` and `If-None-Match`.
    pub(crate) precondition: Precondition,
    /// The extent in which access rules allow the write.
    pub(crate) permit: Permit,
    /// Whether a change of the owner is recorded: there are access rules.
    pub(crate) tracks_owner: bool,
}

impl Intent {
    /// Whether a `set` depends on the stored object.
    pub(crate) fn needs_current(&self) -> bool {
        !self.precondition.is_empty() || self.permit == Permit::AsOwner || self.tracks_owner
    }

    /// Decides whether `object` may be set. Checks the owners first, then the precondition.
    /// `current` is the owner and revision of the stored object; `None` if there is none, or if
    /// [`Self::needs_current`] is false.
    pub(crate) fn decide_set(
        &self,
        object: &Object,
        current: Option<(&Owner, Revision)>,
        rule: OwnerRule,
        epoch: EpochId,
    ) -> Result<(), Refusal> {
        self.permit.check(self.client, Some(&object.owner))?;
        if let Some((owner, _)) = current {
            self.permit.check(self.client, Some(owner))?;
        }
        if !rule.allows(self.client, &object.owner) {
            Err(Refusal::NotOwner)
        } else if !self.precondition.holds(current.map(|(_, revision)| ETag::new(epoch, revision)))
        {
            Err(Refusal::PreconditionFailed)
        } else {
            Ok(())
        }
    }

    /// Decides whether `current` may be deleted, and returns it. Checks existence first, then the
    /// owner, then the precondition. A client that may delete only its own objects does not see
    /// whether there is another one.
    pub(crate) fn decide_delete(
        &self,
        current: Option<(Arc<Object>, Revision)>,
        rule: OwnerRule,
        epoch: EpochId,
    ) -> Result<Arc<Object>, Refusal> {
        let known = current.as_ref().map(|(object, revision)| (&object.owner, *revision));
        self.check_delete(known, rule, epoch)?;
        current.map(|(object, _)| object).ok_or(Refusal::NoObject)
    }

    /// As [`Self::decide_delete`], for an object whose value is not loaded.
    pub(crate) fn check_delete(
        &self,
        current: Option<(&Owner, Revision)>,
        rule: OwnerRule,
        epoch: EpochId,
    ) -> Result<(), Refusal> {
        self.permit.check(self.client, current.map(|(owner, _)| owner))?;
        let (owner, revision) = current.ok_or(Refusal::NoObject)?;
        if !rule.allows(self.client, owner) {
            Err(Refusal::NotOwner)
        } else if !self.precondition.holds(Some(ETag::new(epoch, revision))) {
            Err(Refusal::PreconditionFailed)
        } else {
            Ok(())
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
    fn owners_are_compared_as_ids_only_with_match() {
        let client = ClientId::parse("67e55044-10b1-426f-9247-bb680e5fe0c8").unwrap();
        let same = Owner::new("67E55044-10B1-426F-9247-BB680E5FE0C8").unwrap();
        let other = Owner::new("somebody").unwrap();
        assert!(OwnerRule::Match.allows(client, &same));
        assert!(!OwnerRule::Match.allows(client, &other));
        assert!(OwnerRule::Free.allows(client, &other));
    }

    #[test]
    fn delete_checks_existence_then_owner_then_precondition() {
        let client = ClientId::parse("67e55044-10b1-426f-9247-bb680e5fe0c8").unwrap();
        let epoch = EpochId::new(1);
        let precondition = Precondition::parse(&["\"0000000000000001-1\""], &[]).unwrap();
        let permit = Permit::Always;
        let intent = Intent { client, precondition, permit, tracks_owner: false };
        let stored = |owner| Some((Arc::new(object(owner)), 2));
        let delete = |current, rule| intent.decide_delete(current, rule, epoch);
        assert_eq!(delete(None, OwnerRule::Match), Err(Refusal::NoObject));
        assert_eq!(delete(stored("x"), OwnerRule::Match), Err(Refusal::NotOwner));
        assert_eq!(delete(stored("x"), OwnerRule::Free), Err(Refusal::PreconditionFailed));
    }
}
