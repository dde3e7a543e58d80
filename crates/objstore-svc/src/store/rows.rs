//! How values of the domain are stored: the columns of each row, described once for both engines.

use std::sync::{Arc, LazyLock};

use common::sql::{
    BadCell, Cell, Column, ColumnError, Columns, Group, Kind, Param, Stored, group, row,
};
use uuid::Uuid;

use super::Presence;
use crate::domain::{
    AdoptedRules, Cause, ClientId, Entry, Epoch, EpochId, Key, Object, Owner, Pattern, Record,
    Revision, RulesDigest, Session, StoredLifespan, StoredObject, Timestamp, TokenDigest, Value,
    WatchCounts,
    decide::{CurrentObject, DueClient, Head, NewClient, NewSession, WatchRow},
};

/// Implements [`Stored`]: the kind of the column, the parameter of a value, and the value of a cell.
macro_rules! stored {
    ($($type:ty as $kind:ident: $to:expr, $from:expr;)*) => {$(
        impl Stored for $type {
            const KIND: Kind = Kind::$kind;

            fn param(&self) -> Param<'_> {
                let to: fn(&$type) -> Param<'_> = $to;
                to(self)
            }

            fn of(cell: Cell<'_>) -> Result<Self, BadCell> {
                let from: fn(Cell<'_>) -> Option<$type> = $from;
                from(cell).ok_or(BadCell)
            }
        }
    )*};
}

stored! {
    ClientId as Uuid: |id| Param::Bytes(id.uuid().as_bytes().into()),
        |cell| Self::new(Uuid::from_slice(bytes(cell)?).ok()?).ok();
    TokenDigest as Bytes: |token| token.as_bytes().param(),
        |cell| Some(Self::stored(bytes(cell)?.try_into().ok()?));
    Owner as Text: |owner| Param::Text(owner.as_str().into()),
        |cell| match cell { Cell::Text(text) => Self::new(text).ok(), _ => None };
    Value as Bytes: |value| Param::Bytes(value.as_bytes().into()),
        |cell| Some(Self::stored(bytes(cell)?));
    EpochId as Int: |id| Param::Int(id.bits().cast_signed()),
        |cell| u64::of(cell).ok().map(Self::new);
    RulesDigest as Bytes: |rules| rules.0.param(), |cell| Option::<[u8; 32]>::of(cell).ok().map(Self);
    // These numbers are stored, so never change them.
    Cause as Int: |cause| Param::Int(match cause { Self::Expired => 1, Self::Gone => 2 }),
        |cell| match cell {
            Cell::Int(1) => Some(Self::Expired),
            Cell::Int(2) => Some(Self::Gone),
            _ => None,
        };
}

fn bytes(cell: Cell<'_>) -> Option<&[u8]> {
    match cell {
        Cell::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

/// Implements [`Group`] for the types that have three parts.
macro_rules! parts {
    ($($type:ty),*) => {$(
        impl Group for $type {
            const COLUMNS: &'static [Column] =
                &[("type", Kind::Text), ("namespace", Kind::Text), ("name", Kind::Text)];

            fn read(columns: &mut Columns<'_>) -> Result<Self, ColumnError> {
                let (kind, namespace, name) = (columns.text()?, columns.text()?, columns.text()?);
                Self::new(kind, namespace, name).map_err(|error| columns.invalid(error))
            }

            fn params<'a>(&'a self, params: &mut Vec<Param<'a>>) {
                params.extend(self.parts().map(|part| Param::Text(part.into())));
            }
        }
    )*};
}

parts! { Key, Pattern }
group! { Object { key: Key = .., value: Value = "value", owner: Owner = "owner" } }
group! {
    StoredLifespan { expires: Option<Timestamp> = "expires", present: Option<ClientId> = "present" }
}
group! {
    CurrentObject {
        owner: Owner = "owner",
        revision: Revision = "revision",
        lifespan: StoredLifespan = ..,
    }
}
group! {
    StoredObject {
        object: Object = ..,
        revision: Revision = "revision",
        lifespan: StoredLifespan = ..,
    }
}
group! {
    Record { revision: Revision = "revision", entry: Entry = .., joins_next: bool = "joins_next" }
}
group! { Epoch { id: EpochId = "epoch", start: Revision = "epoch_start" } }
group! { AdoptedRules { digest: RulesDigest = "rules", revision: Revision = "rules_revision" } }
group! { Head { revision: Revision = "revision", bytes: i64 = "bytes_through", clients: u64 = "clients" } }
group! { WatchCounts { open: u64 = "watches", ended: u64 = "ended" } }
group! {
    DueClient {
        client: ClientId = "id",
        unused_until: Option<Timestamp> = "unused_until",
        counts: WatchCounts = ..,
    }
}

row! {
    NewClient in "clients" {
        key { client: ClientId = "id" }
        fixed { position: Revision = "position", unused_until: Option<Timestamp> = "unused_until" }
        changing { counts: WatchCounts = .. }
    }
}
row! {
    NewSession in "sessions" {
        key { token: TokenDigest = "digest" }
        fixed { client: ClientId = "client" }
        changing { expires: Timestamp = "expires" }
    }
}
row! {
    WatchRow in "watches" {
        key { client: ClientId = "client", pattern: Pattern = .., since: Revision = "since" }
        changing { until: Option<Revision> = "until" }
    }
}
row! {
    Presence in "presences" {
        key { client: ClientId = "client" }
        changing { until: Timestamp = "until" }
    }
}

/// The columns of a [`Key`].
pub(super) static KEY: LazyLock<String> = LazyLock::new(|| Key::of("objects"));

/// The columns of a [`StoredObject`].
pub(super) static OBJECT: LazyLock<String> = LazyLock::new(|| StoredObject::of("objects"));

/// The session with the token digest `$1`.
pub(super) const SESSION: &str = "SELECT client, expires, unused_until
     FROM sessions JOIN clients ON clients.id = client WHERE digest = $1";

/// Reads the columns of [`SESSION`].
pub(super) fn session(columns: &mut Columns<'_>) -> Result<Session, ColumnError> {
    let (client, expires) = (columns.read()?, columns.read()?);
    Ok(Session { client, expires, unused_until: columns.read()? })
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

/// `value` is that of an object, or the digest of access rules. `client` is the one that watches, or
/// whose presence keeps a set object.
impl Group for Entry {
    const COLUMNS: &'static [Column] = &[
        ("event", Kind::Int),
        ("type", Kind::Text),
        ("namespace", Kind::Text),
        ("name", Kind::Text),
        ("value", Kind::Bytes),
        ("owner", Kind::Text),
        ("client", Kind::Uuid),
        ("cause", Kind::Int),
        ("previous_owner", Kind::Text),
        ("expires", Kind::Int),
    ];

    /// Fails if the database was changed from outside, so that the columns do not make an entry.
    fn read(columns: &mut Columns<'_>) -> Result<Self, ColumnError> {
        let event = columns.read()?;
        let (entry, rest) = match event {
            event::SET => {
                let object = Arc::new(Group::read(columns)?);
                let present = columns.read()?;
                columns.skip(1);
                let (before, expires) = (columns.read()?, columns.read()?);
                (Self::Set { object, lifespan: StoredLifespan { expires, present }, before }, 0)
            }
            event::DELETE => {
                let object = Arc::new(Group::read(columns)?);
                columns.skip(1);
                (Self::Delete(object, columns.read()?), 2)
            }
            event::WATCH | event::UNWATCH => {
                let pattern = Group::read(columns)?;
                columns.skip(2);
                let of = if event == event::WATCH { Self::Watch } else { Self::Unwatch };
                (of(columns.read()?, pattern), 3)
            }
            event::FORGET => {
                columns.skip(5);
                (Self::Forget(columns.read()?), 3)
            }
            event::RULES => {
                columns.skip(3);
                (Self::Rules(columns.read()?), 5)
            }
            _ => return Err(columns.invalid(BadCell)),
        };
        columns.skip(rest);
        Ok(entry)
    }

    fn params<'a>(&'a self, params: &mut Vec<Param<'a>>) {
        use Param::Null;
        let event = |event: i16| Param::Int(event.into());
        match self {
            Self::Set { object, lifespan: StoredLifespan { expires, present }, before } => {
                params.push(event(event::SET));
                object.params(params);
                params.extend([present.param(), Null, before.param(), expires.param()]);
            }
            Self::Delete(object, cause) => {
                params.push(event(event::DELETE));
                object.params(params);
                params.extend([Null, cause.param(), Null, Null]);
            }
            Self::Watch(client, pattern) | Self::Unwatch(client, pattern) => {
                let begins = matches!(self, Self::Watch(..));
                params.push(event(if begins { event::WATCH } else { event::UNWATCH }));
                pattern.params(params);
                params.extend([Null, Null, client.param(), Null, Null, Null]);
            }
            Self::Forget(client) => {
                params.push(event(event::FORGET));
                params.extend([Null, Null, Null, Null, Null, client.param(), Null, Null, Null]);
            }
            Self::Rules(digest) => {
                params.push(event(event::RULES));
                params.extend([Null, Null, Null, digest.param(), Null, Null, Null, Null, Null]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_as_it_is_written() {
        let client = ClientId::new(Uuid::from_u128(1)).unwrap();
        let [owner, before] = ["me", "you"].map(|owner| Owner::new(owner).unwrap());
        let key = Key::new("t", "ns", "n").unwrap();
        let object = Arc::new(Object { key, value: Value::stored(b"{}"), owner });
        let pattern = Pattern::new("t", "", "").unwrap();
        let lifespan = StoredLifespan { expires: Some(5), present: Some(client) };
        for entry in [
            Entry::Set { object: Arc::clone(&object), lifespan, before: Some(before) },
            Entry::Delete(object, Some(Cause::Gone)),
            Entry::Watch(client, pattern.clone()),
            Entry::Unwatch(client, pattern),
            Entry::Forget(client),
            Entry::Rules(RulesDigest(Some([7; 32]))),
        ] {
            // The columns after those of the entry must be the next ones to read.
            let mut params = Vec::new();
            entry.params(&mut params);
            params.push(Param::Bool(true));
            let mut columns = Columns::from(&*params);
            assert_eq!(Entry::read(&mut columns).unwrap(), entry);
            assert!(columns.read::<bool>().unwrap());
            assert_eq!(params.len(), Entry::COLUMNS.len() + 1, "{entry:?}");
        }
    }
}
