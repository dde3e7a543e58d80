//! Decides a batch of writes in memory, without I/O.
//!
//! An engine loads the rows that [`Needs::of`] names into [`LoadedRows`]. [`decide`] applies the
//! writes in order and returns their answers and the [`Changes`], which the engine then writes
//! in one database transaction.
//!
//! 1. **A batch has the same effect as its writes one by one.** Each write sees the changes
//!    of those before it. `property.rs` tests this with random batches.
//! 2. **`Needs::of` must name every row that a write reads here.** A row that is missing in
//!    `LoadedRows` counts as a row that does not exist.
//! 3. **A row is written once, in its final state.** Therefore [`Batch`] keeps the last state of
//!    each object, session, client and watch, and lists the changes at the end. The change log gets
//!    all records.
//! 4. **Revisions may be relative.** On PostgreSQL, a batch that needs no rows is decided before
//!    the newest revision is known. [`LoadedRows::head`] is then 0, revisions count from 0, and the
//!    SQL statements add the revision and bytes of the store. So a write whose decision depends on
//!    the head must make [`Needs::is_empty`] false.
//! 5. **One batch can insert a row and change it again**: a client can register, begin and end a
//!    watch, and be marked as used in one batch. [`Batch`] has a map for each kind of row that can
//!    be new, so that such a row is inserted once, in its final state.
//! 6. **A panic fails one write only.** [`decide`] returns the index of this write, and the
//!    runner of `common::batch` runs the others again without it.

use std::{
    collections::{HashMap, HashSet},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use super::{
    AdoptedRules, Answer, ClientId, Done, Entry, Key, MAX_SESSIONS, OVERHEAD, Operation, Owner,
    Pattern, Record, Refusal, Refused, Revision, Rules, RulesDigest, Session, StoredLifespan,
    Timestamp, TokenDigest, WatchCounts, Write,
};

mod changes;
mod loaded;

pub(crate) use changes::{Changes, NewClient, NewSession, SetObject, WatchRow};
pub(crate) use loaded::{
    ClientWatches, CurrentObject, DELETE_BYTES, Due, DueClient, EXPIRE_BYTES, EXPIRE_OBJECTS, Head,
    LoadedRows, Needs, REAP_CLIENTS, REAP_WATCHES, Reap,
};

/// Decides the writes of `batch` in order. `known` holds the rows that [`Needs::of`] names.
/// `Err` is the index of a write that panicked.
pub(crate) fn decide(
    rules: &Rules,
    known: LoadedRows,
    batch: &[&Write],
) -> Result<(Vec<Answer>, Changes), usize> {
    let mut state = Batch::new(rules, known);
    let mut answers = Vec::with_capacity(batch.len());
    for (index, write) in batch.iter().enumerate() {
        let apply = AssertUnwindSafe(|| state.apply(write));
        answers.push(catch_unwind(apply).map_err(|_| index)?);
    }
    Ok((answers, state.into_changes()))
}

struct Batch<'a> {
    rules: &'a Rules,
    known: LoadedRows,
    head: Head,
    /// Changes that no later write of the batch can alter. `into_changes` adds the maps below.
    changes: Changes,
    /// The last state of each changed object; `None` if deleted.
    objects: HashMap<&'a Key, Option<SetObject>>,
    registered: HashMap<ClientId, NewClient>,
    /// The new `unused_until` of clients that this batch does not register; `None` if they are
    /// used.
    unused: HashMap<ClientId, Option<Timestamp>>,
    begun: HashMap<TokenDigest, NewSession>,
    extended: HashMap<TokenDigest, Timestamp>,
    /// Sessions from before the batch, with the time of their end.
    ended: HashMap<TokenDigest, Timestamp>,
    /// Clients whose number of watches has changed.
    counted: HashSet<ClientId>,
    /// Clients whose presence begins.
    present: HashSet<ClientId>,
}

impl<'a> Batch<'a> {
    fn new(rules: &'a Rules, known: LoadedRows) -> Self {
        Self {
            rules,
            head: known.head,
            changes: Changes { before: known.head, at: known.at, ..Changes::default() },
            known,
            objects: HashMap::new(),
            registered: HashMap::new(),
            unused: HashMap::new(),
            begun: HashMap::new(),
            extended: HashMap::new(),
            ended: HashMap::new(),
            counted: HashSet::new(),
            present: HashSet::new(),
        }
    }

    fn apply(&mut self, write: &'a Write) -> Answer {
        let mut more = false;
        match write {
            Write::Register { client, token, now } => self.register(*client, *token, *now)?,
            Write::Extend { token, now } => self.extend(*token, *now),
            Write::End { token, now } => self.end(*token, *now),
            Write::PostponeRemoval { client, now } => self.postpone(*client, *now),
            Write::MarkUsed { client } => self.mark_used(*client),
            Write::Reap { now } => more = self.reap(*now),
            Write::Change(operation) => {
                let entry = self.entry(operation)?;
                self.change(operation, entry);
            }
            Write::Group { operations, refused } => self.group(operations, *refused)?,
            Write::Expire { .. } => self.expire(),
            Write::KeepPresences { clients, connected } => {
                self.keep_presences(clients, *connected);
            }
            Write::Watch { client, pattern } => self.watch(*client, pattern)?,
            Write::Unwatch { client, pattern } => self.unwatch(*client, pattern),
            Write::AdoptRules { digest } => self.adopt_rules(*digest),
            Write::Upkeep { positions, trims } => {
                self.changes.positions.extend(positions);
                self.changes.trims |= trims;
            }
        }
        Ok(Done { revision: self.head.revision, more })
    }

    /// Decides all operations before it makes a change. That is the same as one after the other,
    /// because each has another key.
    fn group(
        &mut self,
        operations: &'a [Operation],
        refused: Option<Refusal>,
    ) -> Result<(), Refused> {
        let deleted: u64 = operations.iter().map(|operation| self.deletes(operation)).sum();
        let is_too_large = deleted > DELETE_BYTES;
        let entry = |(operation, of): (usize, &Operation)| {
            let refusal = match (self.entry(of), of) {
                (Ok(_) | Err(Refusal::TooManyDeletions), Operation::Delete { .. })
                    if is_too_large =>
                {
                    Refusal::GroupTooLarge
                }
                (Err(refusal), _) => refusal,
                (Ok(entry), _) => return Ok(entry),
            };
            Err(Refused { refusal, operation })
        };
        let entries = operations.iter().enumerate().map(entry).collect::<Result<Vec<_>, _>>()?;
        if let Some(refusal) = refused {
            return Err(Refused { refusal, operation: operations.len() });
        }
        let first = self.changes.records.len();
        for (operation, entry) in operations.iter().zip(entries) {
            self.change(operation, entry);
        }
        if let [joined @ .., _] = &mut self.changes.records[first..] {
            joined.iter_mut().for_each(|(record, _)| record.joins_next = true);
        }
        Ok(())
    }

    /// The entry that an operation appends, unless it is refused.
    fn entry(&self, operation: &Operation) -> Result<Entry, Refusal> {
        let (rule, epoch) = (self.rules.owner, self.known.epoch);
        match operation {
            Operation::Set { object, intent, lifespan } => {
                let current = if intent.needs_current() { self.current(&object.key) } else { None };
                intent.decide_set(object, current, rule, epoch)?;
                let before = current.map(|(owner, _)| owner);
                let before = before.filter(|&owner| intent.tracks_owner && *owner != object.owner);
                let lifespan = lifespan.stored(self.known.now, || self.lifespan(&object.key));
                let (object, before) = (Arc::clone(object), before.cloned());
                Ok(Entry::Set { object, lifespan, before })
            }
            Operation::Delete { key, intent } => {
                let current = match self.objects.get(key) {
                    Some(last) => last.as_ref().map(|set| (Arc::clone(&set.object), set.revision)),
                    None => {
                        if let Some((unloaded, _)) = self.known.unloaded.get(key) {
                            let known = Some((&unloaded.owner, unloaded.revision));
                            intent.check_delete(known, rule, epoch)?;
                            return Err(Refusal::TooManyDeletions);
                        }
                        self.known.objects.get(key).cloned()
                    }
                };
                Ok(Entry::Delete(intent.decide_delete(current, rule, epoch)?, None))
            }
        }
    }

    /// The bytes of the stored value that an operation deletes.
    fn deletes(&self, operation: &Operation) -> u64 {
        let Operation::Delete { key, .. } = operation else { return 0 };
        let loaded = self.known.objects.get(key);
        let loaded = loaded.map(|(object, _)| object.value.as_bytes().len() as u64);
        loaded.or_else(|| Some(self.known.unloaded.get(key)?.1)).unwrap_or(0)
    }

    fn change(&mut self, operation: &'a Operation, entry: Entry) {
        let set = match &entry {
            Entry::Set { object, lifespan, .. } => Some((Arc::clone(object), *lifespan)),
            _ => None,
        };
        if let Operation::Set { lifespan, .. } = operation {
            self.present.extend(lifespan.presence);
        }
        let revision = self.append(entry);
        let last = set.map(|(object, lifespan)| SetObject { object, revision, lifespan });
        self.objects.insert(operation.key(), last);
    }

    /// The engine has read the objects under the lock of the batch. So no replica deletes one twice,
    /// and a set before this batch keeps its object.
    fn expire(&mut self) {
        let mut deleted = HashSet::new();
        for (object, cause) in std::mem::take(&mut self.known.expired) {
            // An object can have both causes.
            if deleted.insert(object.key.clone()) {
                self.append(Entry::Delete(object, Some(cause)));
            }
        }
        self.changes.deleted_objects.extend(deleted);
        self.changes.ended_presences.append(&mut self.known.absent);
    }

    fn keep_presences(&mut self, clients: &[ClientId], connected: bool) {
        let grace = self.rules.grace;
        let millis = if connected { grace.with_stream() } else { grace.without_stream() };
        self.changes.kept_presences.extend(clients.iter().map(|&client| (client, millis)));
    }

    fn adopt_rules(&mut self, digest: RulesDigest) {
        if digest != self.known.rules {
            let revision = self.append(Entry::Rules(digest));
            self.known.rules = digest;
            self.changes.rules = Some(AdoptedRules { digest, revision });
        }
    }

    /// The owner and the revision of an object.
    fn current(&self, key: &Key) -> Option<(&Owner, Revision)> {
        if let Some(last) = self.objects.get(key) {
            return last.as_ref().map(|set| (&set.object.owner, set.revision));
        }
        let whole = self.known.objects.get(key);
        let whole = whole.map(|(object, revision)| (&object.owner, *revision));
        whole.or_else(|| {
            let current = self.known.current.get(key);
            current.map(|CurrentObject { owner, revision, .. }| (owner, *revision))
        })
    }

    /// The lifespan of the current object. The default if there is none.
    fn lifespan(&self, key: &Key) -> StoredLifespan {
        let lifespan = match self.objects.get(key) {
            Some(last) => last.as_ref().map(|set| set.lifespan),
            None => self.known.current.get(key).map(|current| current.lifespan),
        };
        lifespan.unwrap_or_default()
    }

    fn register(
        &mut self,
        client: ClientId,
        token: TokenDigest,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        if self.known.clients.contains_key(&client) {
            self.postpone(client, now);
        } else {
            if self.head.clients >= self.rules.max_clients {
                return Err(Refusal::TooManyClients);
            }
            self.head.clients += 1;
            let new = NewClient {
                client,
                position: self.head.revision,
                unused_until: Some(Session::removal_time(now)),
                counts: WatchCounts::default(),
            };
            // An earlier `PostponeRemoval` or `MarkUsed` of this batch may have added an entry when
            // the client did not exist.
            self.unused.remove(&client);
            self.registered.insert(client, new);
            self.known.clients.insert(client, ClientWatches::default());
        }
        let expires = self.rules.lifetime.expiry(now);
        let sessions = self.known.sessions.entry(client).or_default();
        while sessions.len() >= MAX_SESSIONS {
            let oldest = (0..sessions.len()).min_by_key(|&index| sessions[index].1).unwrap_or(0);
            let (token, _) = sessions.swap_remove(oldest);
            if self.begun.remove(&token).is_none() {
                self.extended.remove(&token);
                let ended = self.ended.extract_if(|before, _| before.ended() == token).next();
                self.changes.deleted_sessions.push(ended.map_or(token, |(before, _)| before));
            }
        }
        sessions.push((token, expires));
        self.begun.insert(token, NewSession { token, client, expires });
        Ok(())
    }

    fn extend(&mut self, token: TokenDigest, now: Timestamp) {
        let expires = self.rules.lifetime.expiry(now);
        let mut known = self.known.sessions.values_mut().flatten();
        if let Some(session) = known.find(|session| session.0 == token) {
            session.1 = session.1.max(expires);
        }
        let begun = self.begun.get_mut(&token).map(|session| &mut session.expires);
        let stored = begun.unwrap_or_else(|| self.extended.entry(token).or_insert(expires));
        *stored = expires.max(*stored);
    }

    fn end(&mut self, token: TokenDigest, now: Timestamp) {
        let mut known = self.known.sessions.values_mut().flatten();
        if let Some(session) = known.find(|session| session.0 == token) {
            *session = (token.ended(), now);
        }
        if let Some(begun) = self.begun.remove(&token) {
            let token = token.ended();
            self.begun.insert(token, NewSession { token, expires: now, ..begun });
        } else {
            self.extended.remove(&token);
            self.ended.entry(token).or_insert(now);
        }
    }

    fn postpone(&mut self, client: ClientId, now: Timestamp) {
        let until = Session::removal_time(now);
        let registered = self.registered.get_mut(&client).map(|new| &mut new.unused_until);
        let unused = registered.unwrap_or_else(|| self.unused.entry(client).or_insert(Some(until)));
        *unused = unused.map(|known| known.max(until));
    }

    fn mark_used(&mut self, client: ClientId) {
        match self.registered.get_mut(&client) {
            Some(new) => new.unused_until = None,
            None => drop(self.unused.insert(client, None)),
        }
    }

    /// Deletes sessions that expired at least one lifetime ago, and clients without a session left.
    /// Therefore a client stays for one lifetime after its last session expired. An open socket
    /// extends its session, so it keeps the client. Also deletes clients that were never used, when
    /// their `unused_until` has passed. Returns whether there may be more.
    fn reap(&mut self, now: Timestamp) -> bool {
        let before = Reap::at(now, self.rules).before;
        let Due { clients, mut more } = std::mem::take(&mut self.known.due);
        let mut watches: u64 = 0;
        for DueClient { client, unused_until, counts: WatchCounts { open, ended } } in clients {
            if watches >= REAP_WATCHES {
                more = true;
                break;
            }
            let is_over = unused_until.is_some_and(|until| until <= now);
            if is_over && open > 0 {
                // A client with watches is in use: an earlier `MarkUsed` has failed, so repeat it.
                self.mark_used(client);
            }
            let is_forgotten = is_over && open == 0;
            let sessions = self.known.sessions.remove(&client).unwrap_or_default();
            let (expired, left): (Vec<_>, Vec<_>) =
                sessions.into_iter().partition(|(_, expires)| is_forgotten || *expires <= before);
            self.changes.deleted_sessions.extend(expired.into_iter().map(|(token, _)| token));
            if left.is_empty() {
                self.append(Entry::Forget(client));
                self.head.clients = self.head.clients.saturating_sub(1);
                self.unused.remove(&client);
                self.changes.deleted_clients.push(client);
                watches = watches.saturating_add(open).saturating_add(ended);
            }
        }
        more
    }

    fn watch(&mut self, client: ClientId, pattern: &Pattern) -> Result<(), Refusal> {
        let watch = (client, pattern.clone());
        if self.known.watches.contains_key(&watch) {
            return Ok(());
        }
        let watching = self.known.clients.get_mut(&client).ok_or(Refusal::ClientRemoved)?;
        watching.counts = watching.counts.begin(self.rules.max_watches)?;
        self.counted.insert(client);
        let since = self.append(Entry::Watch(client, pattern.clone()));
        self.known.watches.insert(watch, since);
        let pattern = pattern.clone();
        self.changes.new_watches.push(WatchRow { client, pattern, since, until: None });
        Ok(())
    }

    fn unwatch(&mut self, client: ClientId, pattern: &Pattern) {
        let Some(since) = self.known.watches.remove(&(client, pattern.clone())) else { return };
        let until = Some(self.append(Entry::Unwatch(client, pattern.clone())));
        let new_watches = &mut self.changes.new_watches;
        if let Ok(index) = new_watches.binary_search_by_key(&since, |watch| watch.since) {
            new_watches[index].until = until;
        } else {
            let pattern = pattern.clone();
            self.changes.ended_watches.push(WatchRow { client, pattern, since, until });
        }
        if let Some(watching) = self.known.clients.get_mut(&client) {
            watching.counts = watching.counts.end();
            self.counted.insert(client);
        }
    }

    fn append(&mut self, entry: Entry) -> Revision {
        let bytes = i64::try_from(entry.size() + OVERHEAD).unwrap_or(i64::MAX);
        self.head.bytes = self.head.bytes.saturating_add(bytes);
        self.head.revision += 1;
        let record = Record { revision: self.head.revision, entry, joins_next: false };
        self.changes.records.push((record, self.head.bytes));
        self.head.revision
    }

    fn into_changes(mut self) -> Changes {
        let mut changes = Changes { head: self.head, ..self.changes };
        for (key, last) in self.objects {
            match last {
                Some(set) => changes.set_objects.push(set),
                None => changes.deleted_objects.push(key.clone()),
            }
        }
        let millis = self.rules.grace.without_stream();
        changes.begun_presences.extend(self.present.into_iter().map(|client| (client, millis)));
        changes.unused.extend(self.unused);
        changes.new_sessions.extend(self.begun.into_values());
        changes.extended_sessions.extend(self.extended);
        changes.ended_sessions.extend(self.ended);
        for client in self.counted {
            let ClientWatches { counts, is_exact } = self.known.clients[&client];
            match self.registered.get_mut(&client) {
                Some(new) => new.counts = counts,
                None => changes.watch_counts.push((client, counts)),
            }
            if is_exact {
                changes.pruned_clients.push(client);
            }
        }
        changes.new_clients.extend(self.registered.into_values());
        changes
    }
}

#[cfg(test)]
mod property;
#[cfg(test)]
mod tests;
