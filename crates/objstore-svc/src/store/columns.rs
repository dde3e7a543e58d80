//! Records of the log as columns, the same in each engine.

use std::sync::Arc;

use uuid::Uuid;

use crate::domain::{ClientId, Entry, Key, Object, Owner, Pattern, Value};

/// Bytes that any operation or record is taken to cost beside what it carries.
pub(super) const OVERHEAD: usize = 64;

/// What the column `event` says.
mod event {
    pub(super) const SET: i16 = 1;
    pub(super) const DELETE: i16 = 2;
    pub(super) const WATCH: i16 = 3;
    pub(super) const UNWATCH: i16 = 4;
    pub(super) const FORGET: i16 = 5;
}

/// What a record tells, as columns.
pub(super) struct Columns<'a> {
    pub(super) event: i16,
    /// Type, namespace and name.
    pub(super) parts: [Option<&'a str>; 3],
    pub(super) value: Option<&'a [u8]>,
    pub(super) owner: Option<&'a str>,
    pub(super) client: Option<Uuid>,
}

impl<'a> Columns<'a> {
    /// The columns of an entry.
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
            client: Some(*client.uuid()),
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
                client: Some(*client.uuid()),
            },
        }
    }

    /// The entry of such columns; none where no entry has them.
    pub(super) fn entry(&self) -> Option<Entry> {
        match self.event {
            event::SET => Some(Entry::Set(self.object()?)),
            event::DELETE => Some(Entry::Delete(self.object()?)),
            event::WATCH => Some(Entry::Watch(self.client()?, self.pattern()?)),
            event::UNWATCH => Some(Entry::Unwatch(self.client()?, self.pattern()?)),
            event::FORGET => Some(Entry::Forget(self.client()?)),
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

    fn client(&self) -> Option<ClientId> {
        ClientId::new(self.client?).ok()
    }
}
