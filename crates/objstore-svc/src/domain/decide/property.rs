//! A batch has the effect of its writes one by one, and needs only the rows of [`Needs::of`].

use std::{collections::BTreeMap, time::Duration};

use proptest::{prelude::*, sample::select};
use uuid::Uuid;

use super::*;
use crate::domain::{
    Cause, ETag, EpochId, Intent, Lifespan, Lifetime, Object, Owner, OwnerRule, Permit,
    Precondition, PresenceGrace, Ttl, Value,
};

const LIFETIME: Timestamp = 60_000;

/// The ID of the default value, which a batch without needs gets.
const EPOCH: EpochId = EpochId::new(0);

fn rules() -> Rules {
    Rules {
        owner: OwnerRule::Free,
        lifetime: Lifetime::new(Duration::from_secs(60)),
        grace: PresenceGrace::new(Duration::from_secs(1)),
        max_clients: 3,
        max_watches: 2,
    }
}

/// A store in memory, with the tables of the engines.
#[derive(Debug, Default, Clone, PartialEq)]
struct Rows {
    /// The clock of the store.
    now: Timestamp,
    head: Head,
    objects: BTreeMap<[String; 3], ObjectRow>,
    /// The last millisecond of each presence.
    presences: BTreeMap<ClientId, Timestamp>,
    clients: BTreeMap<ClientId, ClientRow>,
    sessions: BTreeMap<[u8; 32], (ClientId, Timestamp)>,
    /// Client, pattern and begin of each watch, with its end.
    watches: BTreeMap<(ClientId, [String; 3], Revision), Option<Revision>>,
    log: Vec<(Record, i64)>,
    rules: Option<AdoptedRules>,
}

#[derive(Debug, Clone, PartialEq)]
struct ObjectRow {
    object: Arc<Object>,
    revision: Revision,
    lifespan: StoredLifespan,
}

impl ObjectRow {
    fn current(&self) -> CurrentObject {
        let Self { object, revision, lifespan } = self;
        CurrentObject { owner: object.owner.clone(), revision: *revision, lifespan: *lifespan }
    }
}

#[derive(Debug, Default, Clone, PartialEq)]
struct ClientRow {
    position: Revision,
    unused_until: Option<Timestamp>,
    counts: WatchCounts,
}

fn owned(parts: [&str; 3]) -> [String; 3] {
    parts.map(str::to_owned)
}

impl Rows {
    /// Only the rows that `needs` names.
    fn load(&self, needs: &Needs<'_>) -> LoadedRows {
        if needs.is_empty() {
            return LoadedRows::default();
        }
        let object = |key: &Key| {
            let row = self.objects.get(&owned(key.parts()))?;
            Some((Arc::clone(&row.object), row.revision))
        };
        let mut known = LoadedRows { epoch: EPOCH, head: self.head, ..LoadedRows::default() };
        for &key in &needs.current {
            let row = self.objects.get(&owned(key.parts()));
            known.current.extend(row.map(|row| (key.clone(), row.current())));
        }
        if needs.now {
            known.now = self.now;
        }
        if needs.rules {
            known.rules = self.rules();
        }
        for &key in &needs.objects {
            known.objects.extend(object(key).map(|object| (key.clone(), object)));
        }
        for &client in &needs.clients {
            let Some(ClientRow { position, counts, .. }) = self.clients.get(&client) else {
                continue;
            };
            let is_exact = counts.ended >= needs.recount_at;
            let mut counts = *counts;
            if is_exact {
                counts.ended = self.still_needed(client, *position);
            }
            known.clients.insert(client, ClientWatches { counts, is_exact });
        }
        for &(client, pattern) in &needs.watches {
            let parts = owned(pattern.parts());
            let newest =
                self.watches.iter().rfind(|((id, of, _), _)| (*id, of) == (client, &parts));
            if let Some(((.., since), None)) = newest {
                known.watches.insert((client, pattern.clone()), *since);
            }
        }
        for &client in &needs.sessions {
            known.sessions.insert(client, self.sessions_of(client));
        }
        if let Some(now) = needs.expired {
            (known.expired, known.absent) = self.expired(now, needs.gone);
        }
        if let Some(Reap { before, now }) = needs.reap {
            for (&client, row) in &self.clients {
                let sessions = self.sessions_of(client);
                let is_due = sessions.iter().any(|(_, expires)| *expires <= before)
                    || row.unused_until.is_some_and(|until| until <= now);
                if is_due {
                    let ClientRow { unused_until, counts, .. } = *row;
                    known.due.clients.push(DueClient { client, unused_until, counts });
                    known.sessions.insert(client, sessions);
                }
            }
        }
        known
    }

    /// The objects that end, and the clients of ended presences without an object.
    fn expired(&self, now: Timestamp, gone: bool) -> (Vec<(Arc<Object>, Cause)>, Vec<ClientId>) {
        let causes: &[_] = if gone { &[Cause::Expired, Cause::Gone] } else { &[Cause::Expired] };
        let with = |cause| {
            let rows = self.objects.values().filter(move |row| self.is_over(row, cause, now));
            rows.map(move |row| (Arc::clone(&row.object), cause))
        };
        let objects = causes.iter().flat_map(|cause| with(*cause)).collect();
        let has_object = |id| self.objects.values().any(|row| row.lifespan.present == Some(id));
        let absent =
            self.presences.iter().filter(|(id, last)| gone && **last < now && !has_object(**id));
        (objects, absent.map(|(id, _)| *id).collect())
    }

    fn is_over(&self, row: &ObjectRow, cause: Cause, now: Timestamp) -> bool {
        let last = match cause {
            Cause::Expired => row.lifespan.expires,
            Cause::Gone => row.lifespan.present.map(|client| self.presences[&client]),
        };
        last.is_some_and(|last| last < now)
    }

    /// All rows, with ended watches counted, every client due for a reap, and the objects that end.
    fn everything(&self, gone: bool) -> LoadedRows {
        let (expired, absent) = self.expired(self.now, gone);
        let mut known =
            LoadedRows { epoch: EPOCH, head: self.head, expired, absent, ..LoadedRows::default() };
        known.rules = self.rules();
        known.now = self.now;
        for row @ ObjectRow { object, revision, .. } in self.objects.values() {
            known.objects.insert(object.key.clone(), (Arc::clone(object), *revision));
            known.current.insert(object.key.clone(), row.current());
        }
        for (&client, row) in &self.clients {
            let ClientRow { position, unused_until, counts } = *row;
            let ended = self.still_needed(client, position);
            let exact = WatchCounts { ended, ..counts };
            known.clients.insert(client, ClientWatches { counts: exact, is_exact: true });
            known.due.clients.push(DueClient { client, unused_until, counts });
            known.sessions.insert(client, self.sessions_of(client));
        }
        for ((client, [kind, namespace, name], since), until) in &self.watches {
            if until.is_none() {
                let pattern = Pattern::new(kind, namespace, name).unwrap();
                known.watches.insert((*client, pattern), *since);
            }
        }
        known
    }

    fn rules(&self) -> RulesDigest {
        self.rules.map_or_else(RulesDigest::default, |rules| rules.digest)
    }

    fn still_needed(&self, client: ClientId, position: Revision) -> u64 {
        let ends = self.watches.iter().filter(|((id, ..), _)| *id == client);
        let ends = ends.filter(|(_, until)| until.is_some_and(|until| until > position));
        u64::try_from(ends.count()).unwrap()
    }

    fn sessions_of(&self, client: ClientId) -> Vec<(TokenDigest, Timestamp)> {
        let sessions = self.sessions.iter().filter(|(_, (id, _))| *id == client);
        sessions.map(|(token, (_, expires))| (TokenDigest::stored(*token), *expires)).collect()
    }

    /// Writes changes as the engines do. Returns the shift of the revisions.
    fn write(&mut self, changes: Changes) -> Revision {
        let shift = self.head.revision - changes.before.revision;
        let bytes = self.head.bytes - changes.before.bytes;
        for token in &changes.deleted_sessions {
            self.sessions.remove(token.as_bytes()).unwrap();
        }
        for client in &changes.deleted_clients {
            self.watches.retain(|(id, ..), _| id != client);
            self.clients.remove(client).unwrap();
        }
        for client in &changes.pruned_clients {
            let position = self.clients[client].position;
            let is_kept = |until: Option<Revision>| until.is_none_or(|until| until > position);
            self.watches.retain(|(id, ..), until| id != client || is_kept(*until));
        }
        for NewClient { client, position, unused_until, counts } in changes.new_clients {
            let row = ClientRow { position, unused_until, counts };
            assert_eq!(self.clients.insert(client, row), None);
        }
        for (client, counts) in changes.watch_counts {
            self.clients.get_mut(&client).unwrap().counts = counts;
        }
        for (client, until) in changes.unused {
            if let Some(row) = self.clients.get_mut(&client) {
                row.unused_until = row.unused_until.and_then(|before| Some(before.max(until?)));
            }
        }
        for NewSession { token, client, expires } in changes.new_sessions {
            assert!(self.clients.contains_key(&client));
            assert_eq!(self.sessions.insert(*token.as_bytes(), (client, expires)), None);
        }
        for (token, at) in changes.ended_sessions {
            if let Some((client, _)) = self.sessions.remove(token.as_bytes()) {
                self.sessions.insert(*token.ended().as_bytes(), (client, at));
            }
        }
        for (token, expires) in changes.extended_sessions {
            let session = self.sessions.entry(*token.as_bytes());
            session.and_modify(|session| session.1 = session.1.max(expires));
        }
        for (record, _) in &changes.records {
            if let Entry::Delete(object, Some(cause)) = &record.entry {
                assert!(self.is_over(&self.objects[&owned(object.key.parts())], *cause, self.now));
            }
        }
        for key in changes.deleted_objects {
            self.objects.remove(&owned(key.parts()));
        }
        for SetObject { object, revision, lifespan } in changes.set_objects {
            let revision = revision + shift;
            let parts = owned(object.key.parts());
            self.objects.insert(parts, ObjectRow { object, revision, lifespan });
        }
        for (client, millis) in changes.begun_presences {
            let last = self.presences.entry(client).or_default();
            *last = (self.now + millis).max(*last);
        }
        for (client, millis) in changes.kept_presences {
            self.presences.entry(client).and_modify(|last| *last = self.now + millis);
        }
        for client in changes.ended_presences {
            self.presences.remove(&client).unwrap();
            assert!(self.objects.values().all(|row| row.lifespan.present != Some(client)));
        }
        for WatchRow { client, pattern, since, until } in changes.ended_watches {
            let open = self.watches.get_mut(&(client, owned(pattern.parts()), since)).unwrap();
            assert_eq!(std::mem::replace(open, until), None);
        }
        for WatchRow { client, pattern, since, until } in changes.new_watches {
            self.watches.insert((client, owned(pattern.parts()), since), until);
        }
        for (client, position) in changes.positions {
            let row = self.clients.entry(client);
            row.and_modify(|row| row.position = row.position.max(position));
        }
        self.rules = changes.rules.or(self.rules);
        for (mut record, through) in changes.records {
            record.revision += shift;
            self.log.push((record, through + bytes));
        }
        self.head.revision = changes.head.revision + shift;
        self.head.bytes = changes.head.bytes + bytes;
        self.head.clients = self.head.clients + changes.head.clients - changes.before.clients;
        shift
    }

    fn run(&mut self, known: LoadedRows, batch: &[&Write]) -> Vec<Answer> {
        let (answers, changes) = decide(&rules(), known, batch).unwrap();
        let shift = self.write(changes);
        let shifted = |done: Done| Done { revision: done.revision + shift, ..done };
        answers.into_iter().map(|answer| answer.map(shifted)).collect()
    }

    /// Runs a write that is not in a batch. The operations of a group run one after the other.
    fn run_alone(&mut self, write: &Write) -> Answer {
        let Write::Group { operations, refused } = write else {
            let gone = matches!(write, Write::Expire { gone: true, .. });
            return self.run(self.everything(gone), &[write]).remove(0);
        };
        let before = self.clone();
        let mut answer = Err(Refusal::NotAllowed.into());
        for (operation, one) in operations.iter().enumerate() {
            answer = self.run_alone(&Write::Change(one.clone()));
            if let Err(Refused { refusal, .. }) = answer {
                *self = before;
                return Err(Refused { refusal, operation });
            }
        }
        if let Some(refusal) = *refused {
            *self = before;
            return Err(Refused { refusal, operation: operations.len() });
        }
        let group = &mut self.log[before.log.len()..];
        let (_, joined) = group.split_last_mut().unwrap();
        joined.iter_mut().for_each(|(record, _)| record.joins_next = true);
        answer
    }

    /// The rows without the ended watches up to the positions, because these may be deleted at any
    /// time. The stored number of ended watches is an upper bound, so it is set to 0.
    fn without_unneeded(mut self) -> Self {
        assert_eq!(u64::try_from(self.clients.len()).unwrap(), self.head.clients);
        for (&client, row) in &mut self.clients {
            let position = row.position;
            let is_kept = |until: Option<Revision>| until.is_none_or(|until| until > position);
            self.watches.retain(|(id, ..), until| *id != client || is_kept(*until));
            let of_client = self.watches.iter().filter(|((id, ..), _)| *id == client);
            let (open, ended): (Vec<_>, Vec<_>) = of_client.partition(|(_, until)| until.is_none());
            assert_eq!(u64::try_from(open.len()).unwrap(), row.counts.open);
            assert!(u64::try_from(ended.len()).unwrap() <= row.counts.ended, "{row:?}");
            row.counts.ended = 0;
        }
        self
    }
}

fn write() -> impl Strategy<Value = Write> {
    let client = || (1..=4_u128).prop_map(|bits| ClientId::new(Uuid::from_u128(bits)).unwrap());
    let token = || (0..6_u8).prop_map(|token| TokenDigest::stored([token; 32]));
    let now = || (0..8_i64).prop_map(|step| step * LIFETIME / 2);
    let pattern =
        || select(vec!["t", "u", "v"]).prop_map(|kind| Pattern::new(kind, "", "").unwrap());
    let key = || select(vec!["a", "b", "c"]).prop_map(|name| Key::new("t", "ns", name).unwrap());
    let intent = || {
        let precondition = prop_oneof![
            Just(Precondition::default()),
            Just(Precondition::parse(&["*"], &[]).unwrap()),
            Just(Precondition::parse(&[], &["*"]).unwrap()),
            (1..20_u64).prop_map(|revision| {
                let tag = ETag::new(EPOCH, revision).to_string();
                Precondition::parse(&[&tag], &[]).unwrap()
            }),
        ];
        let permit = select(vec![Permit::Always, Permit::AsOwner]);
        (client(), precondition, permit, any::<bool>()).prop_map(
            |(client, precondition, permit, tracks_owner)| Intent {
                client,
                precondition,
                permit,
                tracks_owner,
            },
        )
    };
    let object = || {
        (key(), 0..9, client()).prop_map(|(key, number, owner)| {
            let value = Value::compact(&format!("{{\"n\":{number}}}")).unwrap();
            Arc::new(Object { key, value, owner: Owner::new(&owner.uuid().to_string()).unwrap() })
        })
    };
    let lifespan = || {
        let ttl = (1..=3_u64).prop_map(|seconds| Ttl::new(Duration::from_secs(seconds)).unwrap());
        let keeps = (prop::option::of(client())).prop_map(|presence| Lifespan {
            ttl: None,
            presence,
            keeps: true,
        });
        let new = (prop::option::of(ttl), prop::option::of(client()))
            .prop_map(|(ttl, presence)| Lifespan { ttl, presence, keeps: false });
        prop_oneof![1 => keeps, 3 => new]
    };
    let position = || (client(), 0..20_u64);
    let operation = || {
        prop_oneof![
            2 => (object(), intent(), lifespan())
                .prop_map(|(object, intent, lifespan)| Operation::Set { object, intent, lifespan }),
            1 => (key(), intent()).prop_map(|(key, intent)| Operation::Delete { key, intent }),
        ]
    };
    let refused = prop::option::weighted(0.1, Just(Refusal::NotAllowed));
    let group = (prop::collection::vec(operation(), 1..5), refused).prop_map(
        |(mut operations, refused)| {
            let mut keys = HashSet::new();
            operations.retain(|operation| keys.insert(operation.key().clone()));
            Write::Group { operations, refused }
        },
    );
    prop_oneof![
        3 => (client(), token(), now())
            .prop_map(|(client, token, now)| Write::Register { client, token, now }),
        1 => (token(), now()).prop_map(|(token, now)| Write::Extend { token, now }),
        1 => (token(), now()).prop_map(|(token, now)| Write::End { token, now }),
        1 => (client(), now()).prop_map(|(client, now)| Write::PostponeRemoval { client, now }),
        1 => client().prop_map(|client| Write::MarkUsed { client }),
        1 => now().prop_map(|now| Write::Reap { now: now * 20 }),
        6 => operation().prop_map(Write::Change),
        6 => group,
        3 => any::<bool>().prop_map(|gone| Write::Expire { gone, now: 0 }),
        1 => (prop::collection::vec(client(), 1..3), any::<bool>()).prop_map(
            |(clients, connected)| Write::KeepPresences { clients, connected }),
        6 => (client(), pattern())
            .prop_map(|(client, pattern)| Write::Watch { client, pattern }),
        6 => (client(), pattern())
            .prop_map(|(client, pattern)| Write::Unwatch { client, pattern }),
        1 => prop::option::of(0..3_u8).prop_map(|digest| {
            let digest = RulesDigest(digest.map(|digest| [digest; 32]));
            Write::AdoptRules { digest }
        }),
        2 => prop::collection::vec(position(), 1..5)
            .prop_map(|positions| Write::Upkeep { positions, trims: false }),
    ]
}

/// Splits the writes into batches as the runner does: a reap, an expiry and kept presences are
/// alone, and the engine's own work is the last write of a batch. Removes writes that reuse a
/// token, or extend or end an unknown one. Returns the index of the first write of each batch, and
/// then the number of writes.
fn batches(writes: &mut Vec<Write>, lengths: &[usize]) -> Vec<usize> {
    let mut used = HashSet::new();
    writes.retain(|write| match write {
        Write::Register { token, .. } => used.insert(*token),
        Write::Extend { token, .. } | Write::End { token, .. } => used.contains(token),
        _ => true,
    });
    let mut lengths = lengths.iter().copied().cycle();
    let mut ends = Vec::new();
    let mut left = 0;
    for (index, write) in writes.iter().enumerate() {
        let is_alone = matches!(
            write,
            Write::Reap { .. } | Write::Expire { .. } | Write::KeepPresences { .. }
        );
        if left == 0 || is_alone {
            ends.push(index);
            left = lengths.next().unwrap_or(1);
        }
        let is_last = is_alone || matches!(write, Write::Upkeep { .. });
        left = if is_last { 0 } else { left - 1 };
    }
    ends.push(writes.len());
    ends
}

proptest! {
    #[test]
    fn a_batch_has_the_same_effect_as_single_writes(
        mut writes in prop::collection::vec(write(), 1..80),
        lengths in prop::collection::vec(1..20_usize, 1..8),
        pauses in prop::collection::vec(0..2_000_i64, 1..8),
    ) {
        let ends = batches(&mut writes, &lengths);
        let (mut batched, mut single) = (Rows::default(), Rows::default());
        for ((from, to), pause) in ends.iter().zip(&ends[1..]).zip(pauses.iter().cycle()) {
            batched.now += pause;
            single.now += pause;
            let writes = &mut writes[*from..*to];
            match writes.last_mut() {
                // A client cannot acknowledge a future revision.
                Some(Write::Upkeep { positions, .. }) => {
                    positions.iter_mut().for_each(|(_, at)| *at = batched.head.revision.min(*at));
                }
                Some(Write::Expire { now, .. }) => *now = batched.now,
                _ => {}
            }
            let batch: Vec<_> = writes.iter().collect();
            let answers = batched.run(batched.load(&Needs::of(&batch, &rules())), &batch);
            let one_by_one: Vec<_> = batch.iter().map(|write| single.run_alone(write)).collect();
            prop_assert_eq!(answers, one_by_one);
            prop_assert_eq!(batched.clone().without_unneeded(), single.clone().without_unneeded());
            if let [Write::Expire { gone, now }] = writes {
                prop_assert!(batched.expired(*now, *gone).0.is_empty());
            }
        }
    }
}
