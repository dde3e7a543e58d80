//! Conversions between rows and values of the domain, for both engines.

use std::{borrow::Cow, sync::Arc};

use common::sql::{self, BadCell, Cell, ColumnError, Columns, Kind, Param};
use uuid::Uuid;

use super::Presence;
use crate::domain::{
    AdoptedRules, Cause, ClientId, Entry, Epoch, EpochId, Key, Object, Owner, Pattern, Record,
    Revision, RulesDigest, Session, StoredObject, TokenDigest, Value,
};

impl sql::Stored for ClientId {
    const KIND: Kind = Kind::Uuid;

    fn param(&self) -> Param<'_> {
        Param::Bytes(Cow::Borrowed(self.uuid().as_bytes()))
    }

    fn of(cell: Cell<'_>) -> Result<Self, BadCell> {
        let bits = <[u8; 16]>::of(cell)?;
        Self::new(Uuid::from_bytes(bits)).map_err(|_| BadCell)
    }
}

impl sql::Stored for TokenDigest {
    const KIND: Kind = Kind::Bytes;

    fn param(&self) -> Param<'_> {
        Param::Bytes(Cow::Borrowed(self.as_bytes()))
    }

    fn of(cell: Cell<'_>) -> Result<Self, BadCell> {
        <[u8; 32]>::of(cell).map(Self::stored)
    }
}

/// Reads a revision, or another number that is never negative.
pub(super) fn number(columns: &mut Columns<'_>) -> Result<u64, ColumnError> {
    columns.read().map(i64::cast_unsigned)
}

/// Reads the ID of the epoch and its start.
pub(super) fn epoch(columns: &mut Columns<'_>) -> Result<Epoch, ColumnError> {
    Ok(Epoch { id: EpochId::new(number(columns)?), start: number(columns)? })
}

/// Reads rules.
pub(super) fn rules_digest(columns: &mut Columns<'_>) -> Result<RulesDigest, ColumnError> {
    columns.read().map(RulesDigest)
}

/// Reads rules, rules_revision.
pub(super) fn adopted_rules(columns: &mut Columns<'_>) -> Result<AdoptedRules, ColumnError> {
    Ok(AdoptedRules { digest: rules_digest(columns)?, revision: number(columns)? })
}

/// Reads type, namespace, name, owner, revision.
pub(super) fn owned(columns: &mut Columns<'_>) -> Result<(Key, (Owner, Revision)), ColumnError> {
    let key = key(columns)?;
    let owner = Owner::new(columns.text()?).map_err(|error| columns.invalid(error))?;
    Ok((key, (owner, number(columns)?)))
}

/// Reads type, namespace, name.
pub(super) fn key(columns: &mut Columns<'_>) -> Result<Key, ColumnError> {
    let (kind, namespace, name) = (columns.text()?, columns.text()?, columns.text()?);
    Key::new(kind, namespace, name).map_err(|error| columns.invalid(error))
}

/// Reads type, namespace, name.
pub(super) fn pattern(columns: &mut Columns<'_>) -> Result<Pattern, ColumnError> {
    let (kind, namespace, name) = (columns.text()?, columns.text()?, columns.text()?);
    Pattern::new(kind, namespace, name).map_err(|error| columns.invalid(error))
}

/// Reads type, namespace, name, value, owner, revision.
pub(super) fn stored(columns: &mut Columns<'_>) -> Result<StoredObject, ColumnError> {
    let key = key(columns)?;
    let value = columns.bytes_or_null()?.ok_or_else(|| columns.invalid(BadCell))?;
    let owner = Owner::new(columns.text()?).map_err(|error| columns.invalid(error))?;
    let object = Object { key, value: Value::stored(value), owner };
    Ok(StoredObject { object, revision: number(columns)? })
}

/// Reads the client of a presence that has ended, and one of its objects, if there is any: type,
/// namespace, name, value, owner, revision.
pub(super) fn gone(columns: &mut Columns<'_>) -> Result<(ClientId, Option<Object>), ColumnError> {
    let client = columns.read()?;
    let object = if columns.is_null()? { None } else { Some(stored(columns)?.object) };
    Ok((client, object))
}

/// Reads until, client.
pub(super) fn presence(columns: &mut Columns<'_>) -> Result<Presence, ColumnError> {
    Ok(Presence { until: columns.read()?, client: columns.read()? })
}

/// Reads client, expires, unused_until.
pub(super) fn session(columns: &mut Columns<'_>) -> Result<Session, ColumnError> {
    let (client, expires) = (columns.read()?, columns.read()?);
    Ok(Session { client, expires, unused_until: columns.read()? })
}

/// Reads revision, event, type, namespace, name, value, owner, client, cause, previous_owner.
pub(super) fn record(columns: &mut Columns<'_>) -> Result<Record, ColumnError> {
    let revision = number(columns)?;
    let row = LogRow {
        event: columns.read()?,
        parts: [columns.text_or_null()?, columns.text_or_null()?, columns.text_or_null()?],
        value: columns.bytes_or_null()?,
        owner: columns.text_or_null()?,
        client: columns.read()?,
        cause: columns.read()?,
        previous_owner: columns.text_or_null()?,
    };
    let entry = row.entry().ok_or_else(|| columns.invalid(BadCell))?;
    Ok(Record { revision, entry })
}

/// Values of the column `event`. They are stored, so never change them.
mod event {
    pub(super) const SET: i16 = 1;
    pub(super) const DELETE: i16 = 2;
    pub(super) const WATCH: i16 = 3;
    pub(super) const UNWATCH: i16 = 4;
    pub(super) const FORGET: i16 = 5;
    pub(super) const RULES: i16 = 6;
}

/// Values of the column `cause`. They are stored, so never change them.
mod cause {
    pub(super) const EXPIRED: i16 = 1;
    pub(super) const GONE: i16 = 2;
}

/// The entry of a record, as columns of the table `log`.
pub(super) struct LogRow<'a> {
    pub(super) event: i16,
    /// Type, namespace and name.
    pub(super) parts: [Option<&'a str>; 3],
    /// The value of an object, or the digest of access rules.
    pub(super) value: Option<&'a [u8]>,
    pub(super) owner: Option<&'a str>,
    pub(super) client: Option<ClientId>,
    pub(super) cause: Option<i16>,
    pub(super) previous_owner: Option<&'a str>,
}

impl<'a> LogRow<'a> {
    pub(super) fn of(entry: &'a Entry) -> Self {
        let empty = |event| Self {
            event,
            parts: [None; 3],
            value: None,
            owner: None,
            client: None,
            cause: None,
            previous_owner: None,
        };
        let object = |event, object: &'a Object| Self {
            parts: object.key.parts().map(Some),
            value: Some(object.value.as_bytes()),
            owner: Some(object.owner.as_str()),
            ..empty(event)
        };
        let pattern = |event, client: &ClientId, pattern: &'a Pattern| Self {
            parts: pattern.parts().map(Some),
            client: Some(*client),
            ..empty(event)
        };
        match entry {
            Entry::Set(set, before) => Self {
                previous_owner: before.as_ref().map(Owner::as_str),
                ..object(event::SET, set)
            },
            Entry::Delete(deleted, by_service) => {
                let cause = by_service.map(|cause| match cause {
                    Cause::Expired => cause::EXPIRED,
                    Cause::Gone => cause::GONE,
                });
                Self { cause, ..object(event::DELETE, deleted) }
            }
            Entry::Watch(client, watched) => pattern(event::WATCH, client, watched),
            Entry::Unwatch(client, watched) => pattern(event::UNWATCH, client, watched),
            Entry::Forget(client) => Self { client: Some(*client), ..empty(event::FORGET) },
            Entry::Rules(RulesDigest(digest)) => {
                Self { value: digest.as_ref().map(|digest| &digest[..]), ..empty(event::RULES) }
            }
        }
    }

    /// `None` if the columns do not make an entry: the database was changed from outside.
    fn entry(&self) -> Option<Entry> {
        match self.event {
            event::SET => Some(Entry::Set(self.object()?, self.previous_owner()?)),
            event::DELETE => Some(Entry::Delete(self.object()?, self.cause()?)),
            event::WATCH => Some(Entry::Watch(self.client?, self.pattern()?)),
            event::UNWATCH => Some(Entry::Unwatch(self.client?, self.pattern()?)),
            event::FORGET => Some(Entry::Forget(self.client?)),
            event::RULES => Some(Entry::Rules(self.rules()?)),
            _ => None,
        }
    }

    /// `None` if the cause is unknown.
    fn cause(&self) -> Option<Option<Cause>> {
        match self.cause {
            None => Some(None),
            Some(cause::EXPIRED) => Some(Some(Cause::Expired)),
            Some(cause::GONE) => Some(Some(Cause::Gone)),
            Some(_) => None,
        }
    }

    /// `None` if the text is no owner.
    fn previous_owner(&self) -> Option<Option<Owner>> {
        self.previous_owner.map(Owner::new).transpose().ok()
    }

    /// `None` if the value is no digest.
    fn rules(&self) -> Option<RulesDigest> {
        self.value.map(<[u8; 32]>::try_from).transpose().ok().map(RulesDigest)
    }

    fn object(&self) -> Option<Arc<Object>> {
        let [kind, namespace, name] = self.parts;
        let key = Key::new(kind?, namespace?, name?).ok()?;
        let owner = Owner::new(self.owner?).ok()?;
        Some(Arc::new(Object { key, value: Value::stored(self.value?), owner }))
    }

    fn pattern(&self) -> Option<Pattern> {
        let [kind, namespace, name] = self.parts;
        Pattern::new(kind?, namespace?, name?).ok()
    }
}
