//! Conversions between rows and values of the domain, for both engines.

use std::{borrow::Cow, sync::Arc};

use common::sql::{self, BadCell, Cell, ColumnError, Columns, Param};
use uuid::Uuid;

use crate::domain::{
    ClientId, Entry, Epoch, EpochId, Key, Object, Owner, Pattern, Record, Session, StoredObject,
    TokenDigest, Value,
};

impl sql::Stored for ClientId {
    fn param(&self) -> Param<'_> {
        Param::Bytes(Cow::Borrowed(self.uuid().as_bytes()))
    }

    fn of(cell: Cell<'_>) -> Result<Self, BadCell> {
        let bits = <[u8; 16]>::of(cell)?;
        Self::new(Uuid::from_bytes(bits)).map_err(|_| BadCell)
    }
}

impl sql::Stored for TokenDigest {
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

/// Reads client, expires, unused_until.
pub(super) fn session(columns: &mut Columns<'_>) -> Result<Session, ColumnError> {
    let (client, expires) = (columns.read()?, columns.read()?);
    Ok(Session { client, expires, unused_until: columns.read()? })
}

/// Reads revision, event, type, namespace, name, value, owner, client.
pub(super) fn record(columns: &mut Columns<'_>) -> Result<Record, ColumnError> {
    let revision = number(columns)?;
    let row = LogRow {
        event: columns.read()?,
        parts: [columns.text_or_null()?, columns.text_or_null()?, columns.text_or_null()?],
        value: columns.bytes_or_null()?,
        owner: columns.text_or_null()?,
        client: columns.read()?,
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
}

/// The entry of a record, as columns of the table `log`.
pub(super) struct LogRow<'a> {
    pub(super) event: i16,
    /// Type, namespace and name.
    pub(super) parts: [Option<&'a str>; 3],
    pub(super) value: Option<&'a [u8]>,
    pub(super) owner: Option<&'a str>,
    pub(super) client: Option<ClientId>,
}

impl<'a> LogRow<'a> {
    pub(super) fn of(entry: &'a Entry) -> Self {
        let object = |event, object: &'a Object| Self {
            event,
            parts: object.key.parts().map(Some),
            value: Some(object.value.as_bytes()),
            owner: Some(object.owner.as_str()),
            client: None,
        };
        let pattern = |event, client: &ClientId, pattern: &'a Pattern| Self {
            event,
            parts: pattern.parts().map(Some),
            value: None,
            owner: None,
            client: Some(*client),
        };
        match entry {
            Entry::Set(set) => object(event::SET, set),
            Entry::Delete(deleted) => object(event::DELETE, deleted),
            Entry::Watch(client, watched) => pattern(event::WATCH, client, watched),
            Entry::Unwatch(client, watched) => pattern(event::UNWATCH, client, watched),
            Entry::Forget(client) => Self {
                event: event::FORGET,
                parts: [None; 3],
                value: None,
                owner: None,
                client: Some(*client),
            },
        }
    }

    /// `None` if the columns do not make an entry: the database was changed from outside.
    fn entry(&self) -> Option<Entry> {
        match self.event {
            event::SET => Some(Entry::Set(self.object()?)),
            event::DELETE => Some(Entry::Delete(self.object()?)),
            event::WATCH => Some(Entry::Watch(self.client?, self.pattern()?)),
            event::UNWATCH => Some(Entry::Unwatch(self.client?, self.pattern()?)),
            event::FORGET => Some(Entry::Forget(self.client?)),
            _ => None,
        }
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
