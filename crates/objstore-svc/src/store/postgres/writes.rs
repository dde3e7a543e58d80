//! What a batch changes, as statements.

use std::collections::HashMap;

use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::{
    super::columns::Columns,
    batch::Keys,
    fold::{Fold, Stretch},
    statements,
};
use crate::domain::{ClientId, MAX_SESSIONS, Revision};

/// Values to put into a statement.
type Parameters<'a> = Vec<Box<dyn ToSql + Sync + Send + 'a>>;

/// Values of any types to put into a statement.
macro_rules! parameters {
    ($($value:expr),* $(,)?) => { vec![$(Box::new($value)),*] };
}

/// Statements in their order, with what is put into them.
#[derive(Default)]
pub(super) struct Writes<'a>(pub(super) Vec<(&'static str, Parameters<'a>)>);

impl<'a> Writes<'a> {
    /// What a batch changes, and what clients have acknowledged.
    pub(super) fn of(fold: &'a Fold<'_>, positions: &[(ClientId, Revision)]) -> Self {
        let mut writes = Self::default();
        writes.clients(fold);
        writes.deleted(fold);
        writes.set(fold);
        writes.stretches(statements::UNWATCH, &fold.ended);
        writes.stretches(statements::WATCH, &fold.begun);
        writes.by_client(statements::MOVE_POSITIONS, positions.iter().copied());
        writes.log(fold);
        writes
    }

    /// What is put into each statement, as the database is handed it.
    pub(super) fn parameters(&self) -> Vec<Vec<&(dyn ToSql + Sync)>> {
        self.0
            .iter()
            .map(|(_, values)| values.iter().map(|value| &**value as _).collect())
            .collect()
    }

    fn push(&mut self, sql: &'static str, parameters: Parameters<'a>) {
        self.0.push((sql, parameters));
    }

    /// A statement that takes a number for each client.
    fn by_client(
        &mut self,
        sql: &'static str,
        numbers: impl Iterator<Item = (ClientId, Revision)>,
    ) {
        let (ids, numbers): (Vec<Uuid>, Vec<i64>) =
            numbers.map(|(client, number)| (*client.uuid(), number.cast_signed())).unzip();
        if !ids.is_empty() {
            self.push(sql, parameters![ids, numbers]);
        }
    }

    fn clients(&mut self, fold: &'a Fold<'_>) {
        if !fold.registered.is_empty() {
            let registered = fold.registered.iter();
            let ids: Vec<Uuid> = registered.clone().map(|it| *it.client.uuid()).collect();
            let positions: Vec<i64> =
                registered.clone().map(|it| it.position.cast_signed()).collect();
            let unused_until: Vec<i64> = registered.map(|it| it.unused_until).collect();
            self.push(statements::REGISTER, parameters![ids, positions, unused_until]);
        }
        if !fold.returned.is_empty() {
            let ids: Vec<Uuid> = fold.returned.iter().map(|(id, _)| *id.uuid()).collect();
            let until = fold.returned.iter().map(|&(_, until)| until).max().unwrap_or_default();
            self.push(statements::POSTPONE, parameters![ids, until]);
        }
        if !fold.sessions.is_empty() {
            let mut made = HashMap::<Uuid, usize>::new();
            let mut sessions = fold.sessions.clone();
            sessions.reverse();
            sessions.retain(|(_, client, _)| {
                let made = made.entry(*client.uuid()).or_default();
                *made += 1;
                *made <= MAX_SESSIONS
            });
            let (clients, kept): (Vec<Uuid>, Vec<i64>) = made
                .into_iter()
                .map(|(client, made)| (client, MAX_SESSIONS.saturating_sub(made)))
                .map(|(client, kept)| (client, i64::try_from(kept).unwrap_or(i64::MAX)))
                .unzip();
            self.push(statements::END_SESSIONS, parameters![clients, kept]);
            let sessions = sessions.into_iter();
            let digests: Vec<Vec<u8>> =
                sessions.clone().map(|(token, ..)| token.as_bytes().to_vec()).collect();
            let clients: Vec<Uuid> = sessions.clone().map(|(_, id, _)| *id.uuid()).collect();
            let expiries: Vec<i64> = sessions.map(|(.., expires)| expires).collect();
            self.push(statements::BEGIN_SESSIONS, parameters![digests, clients, expiries]);
        }
        self.watch_counts(fold);
        if !fold.forgotten.is_empty() {
            let ids: Vec<Uuid> = fold.forgotten.iter().map(|id| *id.uuid()).collect();
            self.push(statements::FORGET_SESSIONS, parameters![ids.clone()]);
            self.push(statements::FORGET_WATCHES, parameters![ids.clone()]);
            self.push(statements::FORGET, parameters![ids]);
        }
    }

    fn watch_counts(&mut self, fold: &'a Fold<'_>) {
        let counted = fold.clients.iter().filter(|(_, watching)| watching.is_counted);
        let counted: Vec<Uuid> = counted.map(|(id, _)| *id.uuid()).collect();
        if !counted.is_empty() {
            self.push(statements::PRUNE_WATCHES, parameters![counted]);
        }
        if !fold.clients.is_empty() {
            let counts = fold.clients.iter().map(|(id, watching)| (*id.uuid(), watching.counts));
            let ids: Vec<Uuid> = counts.clone().map(|(id, _)| id).collect();
            let open: Vec<i64> = counts.clone().map(|(_, it)| it.open.cast_signed()).collect();
            let ended: Vec<i64> = counts.map(|(_, it)| it.ended.cast_signed()).collect();
            self.push(statements::COUNT_WATCHES, parameters![ids, open, ended]);
        }
    }

    fn deleted(&mut self, fold: &'a Fold<'_>) {
        let deleted = fold.objects.iter().filter(|(_, state)| state.is_none());
        let Keys { kinds, namespaces, names } = Keys::of(deleted.map(|(key, _)| key.parts()));
        if !names.is_empty() {
            self.push(statements::DELETE, parameters![kinds, namespaces, names]);
        }
    }

    fn set(&mut self, fold: &'a Fold<'_>) {
        let set = fold.objects.values().flatten();
        let Keys { kinds, namespaces, names } =
            Keys::of(set.clone().map(|(object, _)| object.key.parts()));
        if !names.is_empty() {
            let values: Vec<&[u8]> = set.clone().map(|(it, _)| it.value.as_bytes()).collect();
            let owners: Vec<&str> = set.clone().map(|(it, _)| it.owner.as_str()).collect();
            let revisions: Vec<i64> = set.map(|(_, revision)| fold.beyond(*revision)).collect();
            self.push(
                statements::SET,
                parameters![kinds, namespaces, names, values, owners, revisions],
            );
        }
    }

    fn stretches(&mut self, sql: &'static str, stretches: &'a [Stretch<'_>]) {
        if stretches.is_empty() {
            return;
        }
        let clients: Vec<Uuid> = stretches.iter().map(|it| *it.client.uuid()).collect();
        let Keys { kinds, namespaces, names } =
            Keys::of(stretches.iter().map(|it| it.pattern.parts()));
        let since: Vec<i64> = stretches.iter().map(|it| it.since.cast_signed()).collect();
        let until: Vec<Option<i64>> =
            stretches.iter().map(|it| it.until.map(Revision::cast_signed)).collect();
        self.push(sql, parameters![clients, kinds, namespaces, names, since, until]);
    }

    fn log(&mut self, fold: &'a Fold<'_>) {
        if !fold.records.is_empty() {
            self.push(statements::APPEND, appended(fold));
            self.push(statements::NOTIFY, Vec::new());
        }
        if !fold.records.is_empty() || !fold.registered.is_empty() {
            let (from, to) = (fold.known.head, fold.head);
            let bytes = to.bytes - from.bytes;
            let clients = to.clients.cast_signed() - from.clients.cast_signed();
            self.push(statements::ADVANCE, parameters![fold.beyond(to.revision), bytes, clients]);
        }
    }
}

fn appended<'a>(fold: &'a Fold<'_>) -> Parameters<'a> {
    let records = &fold.records;
    let columns: Vec<_> = records.iter().map(|(record, _)| Columns::of(&record.entry)).collect();
    let revisions: Vec<i64> = records.iter().map(|(it, _)| fold.beyond(it.revision)).collect();
    let bytes_through: Vec<i64> =
        records.iter().map(|(_, bytes_through)| bytes_through - fold.known.head.bytes).collect();
    let events: Vec<i16> = columns.iter().map(|it| it.event).collect();
    let [kinds, namespaces, names] =
        [0, 1, 2].map(|part| columns.iter().map(|it| it.parts[part]).collect::<Vec<_>>());
    let values: Vec<Option<&[u8]>> = columns.iter().map(|it| it.value).collect();
    let owners: Vec<Option<&str>> = columns.iter().map(|it| it.owner).collect();
    let clients: Vec<Option<Uuid>> = columns.iter().map(|it| it.client).collect();
    parameters![revisions, bytes_through, events, kinds, namespaces, names, values, owners, clients]
}
