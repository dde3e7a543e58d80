//! The hub with clients that connect, acknowledge and disconnect while a writer commits.

use std::{
    collections::{BTreeMap, VecDeque},
    future::pending,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use common::limits::Budget;
use serde_json::Value as Json;
use shuttle::{
    future::{block_on, spawn},
    rand::{Rng as _, thread_rng},
};

use crate::{
    domain::{
        ClientId, Entry, Key, Object, Owner, Pattern, Record, Revision, StoredLifespan, Value,
    },
    rules, select,
    store::{Feed, FeedItem, Store, StoreError},
    sync::mpsc,
    task::yield_now,
    watch::{
        Acknowledger, Begin, Burst, Frame, Hub, MessageFormat, Stream, Subscriber, UnansweredPings,
    },
};

/// Memory for all watches.
pub(crate) fn unlimited() -> Arc<Budget> {
    Budget::new("watch_memory", usize::MAX)
}

/// The type of all objects that clients watch.
const TYPE: &str = "note";

/// Bytes of an object that fills the ring of the hub.
const LARGE: usize = 12 * 1024 * 1024;

/// Maximum number of scheduling points between two pings.
const PING_EVERY: usize = 8;

/// Maximum number of scheduling points after rules are loaded: enough for a client to connect and to
/// receive all objects before the next record.
const LOAD_POINTS: usize = 64;

/// The writer and the sockets of one run.
#[derive(Clone)]
pub struct Plan {
    /// The steps of the writer. The last one must be a set that every client watches.
    pub steps: Vec<Step>,
    pub sockets: Vec<Socket>,
    /// Limit of the ended watches that the hub keeps for a client.
    pub max_ended: usize,
}

/// Clients have numbers. Patterns and objects are given by their name.
#[derive(Clone, Copy)]
pub enum Step {
    Set(&'static str),
    /// Sets an object of a client.
    Give(&'static str, u128),
    /// Sets an object in one group with the next record.
    Join(&'static str),
    Delete(&'static str),
    /// An empty name watches all objects.
    Watch(u128, &'static str),
    Unwatch(u128, &'static str),
    /// Removes a client with its watches.
    Forget(u128),
    /// Commits a change that nobody watches, and that removes all others from the ring.
    FillRing,
    /// Trims the change log before the hub has received the last changes.
    Trim,
    /// A replica loads access rules. They are given by their number: see [`crate::rules`].
    Load(usize, usize),
    /// Commits the record that these are the newest access rules.
    Adopt(usize),
}

impl Step {
    fn read(text: &'static str) -> Self {
        let number = |word: &str| word.parse().expect("a number");
        let rules = |name| match name {
            "owner" => rules::OWNER,
            "milk" => rules::MILK,
            _ => unreachable!("{text}: no such rules"),
        };
        match *text.split(' ').collect::<Vec<_>>() {
            ["set", name] => Self::Set(name),
            ["give", name, client] => Self::Give(name, number(client)),
            ["join", name] => Self::Join(name),
            ["delete", name] => Self::Delete(name),
            ["watch", client] => Self::Watch(number(client), ""),
            ["watch", client, name] => Self::Watch(number(client), name),
            ["unwatch", client] => Self::Unwatch(number(client), ""),
            ["unwatch", client, name] => Self::Unwatch(number(client), name),
            ["forget", client] => Self::Forget(number(client)),
            ["fill", "ring"] => Self::FillRing,
            ["trim"] => Self::Trim,
            ["load", "0", name] => Self::Load(0, rules(name)),
            ["load", "1", name] => Self::Load(1, rules(name)),
            ["adopt", name] => Self::Adopt(rules(name)),
            _ => unreachable!("{text} is no step"),
        }
    }

    /// The revision after these steps.
    pub(crate) fn last_revision(steps: &[Self]) -> Revision {
        let records = steps.iter().filter(|step| !matches!(step, Self::Trim | Self::Load(..)));
        Revision::try_from(records.count()).expect("a short plan")
    }
}

/// Reads steps such as `watch 1, set milk`.
pub fn steps(text: &'static str) -> Vec<Step> {
    text.split(", ").map(Step::read).collect()
}

#[derive(Clone, Copy)]
pub struct Socket {
    pub client: u128,
    pub events: bool,
    /// For the first connection.
    pub since: Option<Revision>,
    /// Maximum number of times that the client disconnects by itself.
    pub disconnects: usize,
}

impl Socket {
    pub fn new(client: u128) -> Self {
        Self { client, events: true, since: None, disconnects: 1 }
    }
}

/// Runs the plan, until every socket has received the last change.
pub fn run(plan: &Plan) {
    let store = Store::default();
    let hub = Hub::new(store.clone(), 0, plan.max_ended, unlimited(), Arc::default());
    let (replica, feed) = Replica::new(&hub);
    let dispatching = spawn(Arc::clone(&hub).run(feed));
    let writing = spawn(write(store.clone(), plan.steps.clone(), vec![replica]));
    let last = Step::last_revision(&plan.steps);
    let sockets = plan.sockets.iter();
    let sockets: Vec<_> = sockets
        .map(|&socket| spawn(receive(Arc::clone(&hub), store.clone(), socket, last)))
        .collect();
    let mut pushes = 0;
    block_on(async {
        for socket in sockets {
            pushes += socket.await.expect("a socket has ended");
        }
        drop(writing.await.expect("the writer has ended"));
        dispatching.await.expect("the hub has ended");
    });
    let stats = hub.stats();
    assert_eq!((stats.sockets, stats.clients, stats.ended), (0, 0, 0), "nothing is left");
    assert_eq!(stats.pushes, pushes, "every push was counted once");
}

/// A hub, and the records that its feed still has to bring.
pub(crate) struct Replica {
    hub: Arc<Hub>,
    news: mpsc::Sender<FeedItem>,
    records: Vec<Record>,
}

impl Replica {
    pub(crate) fn new(hub: &Arc<Hub>) -> (Self, Feed) {
        let (news, feed) = mpsc::channel(1);
        (Self { hub: Arc::clone(hub), news, records: Vec::new() }, Feed { news: feed })
    }

    async fn send_records(&mut self) {
        let records = std::mem::take(&mut self.records);
        self.send(FeedItem::Records(records)).await;
    }

    async fn send(&self, item: FeedItem) {
        self.news.send(item).await.expect("the hub runs");
    }
}

/// Returns the replicas: their feeds end when the store is closed.
pub(crate) async fn write(
    store: Store,
    steps: Vec<Step>,
    mut replicas: Vec<Replica>,
) -> Vec<Replica> {
    let mut joined = Vec::new();
    for step in steps {
        let revision = store.head() + 1 + Revision::try_from(joined.len()).expect("a short group");
        let entry = match step {
            Step::Join(name) => {
                joined.push(set(&store, name, "ann", revision));
                continue;
            }
            Step::Set(name) => set(&store, name, "ann", revision),
            Step::Give(name, client) => set(&store, name, &id(client).uuid().to_string(), revision),
            Step::Delete(name) => {
                Entry::Delete(Arc::new(store.object(name).expect("an object")), None)
            }
            Step::Watch(client, name) => Entry::Watch(id(client), pattern(name)),
            Step::Unwatch(client, name) => Entry::Unwatch(id(client), pattern(name)),
            Step::Forget(client) => Entry::Forget(id(client)),
            Step::FillRing => Entry::Delete(large_object(), None),
            Step::Trim => {
                let newest = store.trim();
                for replica in &mut replicas {
                    replica.records.clear();
                    replica.send(FeedItem::Missed(newest)).await;
                }
                continue;
            }
            Step::Load(replica, number) => {
                replicas[replica].hub.set_rules(rules::numbered(number));
                for _ in 0..thread_rng().gen_range(0..LOAD_POINTS) {
                    yield_now().await;
                }
                continue;
            }
            Step::Adopt(number) => Entry::Rules(rules::numbered(number).digest()),
        };
        joined.push(entry);
        let records = store.commit(std::mem::take(&mut joined));
        for replica in &mut replicas {
            replica.records.extend(records.iter().cloned());
            if chance() {
                replica.send_records().await;
            }
        }
    }
    for replica in &mut replicas {
        replica.send_records().await;
    }
    replicas
}

/// The record has the owner before, as that of the service while there are access rules.
fn set(store: &Store, name: &str, owner: &str, revision: Revision) -> Entry {
    let object = object(name, owner, revision);
    let before = store.object(name).map(|before| before.owner);
    let before = before.filter(|before| *before != object.owner);
    Entry::Set { object, lifespan: StoredLifespan::default(), before }
}

pub(crate) fn id(client: u128) -> ClientId {
    ClientId::new(uuid::Uuid::from_u128(client)).expect("an ID")
}

pub(crate) fn pattern(name: &str) -> Pattern {
    let kind = if name.is_empty() { TYPE } else { "" };
    Pattern::new(kind, "", name).expect("a pattern")
}

/// The value is the revision, because messages without events do not have it.
fn object(name: &str, owner: &str, revision: Revision) -> Arc<Object> {
    let value = format!("{{\"revision\":{revision}}}");
    new_object(TYPE, name, owner, value.as_bytes())
}

fn large_object() -> Arc<Object> {
    static OBJECT: OnceLock<Arc<Object>> = OnceLock::new();
    Arc::clone(OBJECT.get_or_init(|| new_object("unwatched", "large", "ann", &vec![b' '; LARGE])))
}

fn new_object(kind: &str, name: &str, owner: &str, value: &[u8]) -> Arc<Object> {
    let key = Key::new(kind, "home", name).expect("a key");
    let owner = Owner::new(owner).expect("an owner");
    Arc::new(Object { key, value: Value::stored(value), owner })
}

pub(crate) fn chance() -> bool {
    thread_rng().gen_bool(0.5)
}

/// Receives until the last change, and connects again as often as needed. Returns the number of
/// messages.
async fn receive(hub: Arc<Hub>, store: Store, mut socket: Socket, last: Revision) -> u64 {
    let mut pushes = 0;
    loop {
        let mut connection = Connection::open(&hub, &store, &socket).await;
        let is_complete = connection.receive(&mut socket.disconnects, last).await;
        pushes += connection.pushes;
        if is_complete {
            return pushes;
        }
        socket.since = None;
    }
}

/// One connection of a client, with what it has received.
struct Connection {
    store: Store,
    client: ClientId,
    format: MessageFormat,
    subscriber: Subscriber,
    acknowledger: Acknowledger,
    pings: UnansweredPings,
    /// Payloads of pings that the client has not answered yet.
    unanswered: VecDeque<Bytes>,
    /// Changes up to this revision are not sent on this connection.
    start: Revision,
    /// The last change that was received.
    received: Revision,
    /// The objects as the client knows them.
    objects: BTreeMap<String, Revision>,
    /// During a reset, the revision up to which current values are received.
    reset: Option<Revision>,
    was_reset: bool,
    pushes: u64,
}

impl Connection {
    async fn open(hub: &Arc<Hub>, store: &Store, socket: &Socket) -> Self {
        let client = id(socket.client);
        let format = if socket.events { MessageFormat::Events } else { MessageFormat::Objects };
        let begin = socket.since.map_or(Begin::Position, Begin::After);
        let stream = Stream { format, begin, initial: false, marks: false, pattern: None };
        let subscriber = hub.subscribe(client, &stream).await.expect("it runs");
        let start = subscriber.cursor();
        match socket.since {
            None => store.assert_received(client, start),
            Some(since) => assert!(start == since || start == 0),
        }
        Self {
            store: store.clone(),
            client,
            format,
            acknowledger: subscriber.acknowledger(),
            subscriber,
            pings: UnansweredPings::default(),
            unanswered: VecDeque::new(),
            start,
            received: start,
            objects: BTreeMap::new(),
            reset: None,
            was_reset: false,
            pushes: 0,
        }
    }

    /// Returns false if the connection ended before the change `last` was received.
    async fn receive(&mut self, disconnects: &mut usize, last: Revision) -> bool {
        let mut burst = Burst::new();
        while self.subscriber.cursor() < last {
            let ping = self.until_ping();
            select! {
                biased;
                next = self.subscriber.next(&mut burst) => match next {
                    Ok(_) => burst.drain(..).for_each(|frame| self.accept(&frame)),
                    Err(StoreError::SocketLost) => return false,
                    Err(error) => panic!("{error:?}"),
                },
                () = ping => assert!(burst.is_empty(), "a cancelled call pushes nothing"),
            }
            if self.reset.is_some_and(|through| self.subscriber.cursor() >= through) {
                self.end_reset();
            }
            self.ping();
            if *disconnects > 0 && chance() {
                *disconnects -= 1;
                return false;
            }
        }
        self.assert_objects();
        true
    }

    /// Resolves when a ping is due: after some scheduling points, or never. If the socket may be at
    /// the end of a reset, no change follows that would wake it, so a ping must.
    fn until_ping(&self) -> impl Future<Output = ()> + use<> {
        let is_reset = match self.format {
            MessageFormat::Objects => self.store.is_trimmed(),
            _ => self.reset.is_some(),
        };
        let points = thread_rng().gen_range(0..PING_EVERY);
        let never = !is_reset && chance();
        async move {
            if never {
                return pending().await;
            }
            for _ in 0..points {
                yield_now().await;
            }
        }
    }

    fn ping(&mut self) {
        if chance() {
            self.unanswered.extend(self.pings.add(self.subscriber.cursor()));
        }
        if chance()
            && let Some(payload) = self.unanswered.pop_front()
        {
            let revision = self.pings.answered(&payload).expect("the payload of a ping");
            self.acknowledger.acknowledge(revision);
        }
    }

    fn accept(&mut self, frame: &Frame) {
        self.pushes += 1;
        let frame: Json = serde_json::from_slice(&frame.json).expect("JSON");
        let (revision, event, object) = match self.format {
            MessageFormat::Objects => (&frame["Value"]["revision"], &Json::Null, &frame),
            _ => (&frame["Revision"], &frame["Event"], &frame["Object"]),
        };
        let revision = revision.as_u64().expect("a revision");
        if event == "reset" {
            self.objects.clear();
            self.received = 0;
            self.reset = Some(revision);
            return;
        }
        if self.reset.is_some_and(|through| revision > through) {
            self.end_reset();
        }
        self.assert_next(revision);
        self.received = self.received.max(revision);
        self.store.received(self.client, revision);
        let name = object["Key"]["Name"].as_str().expect("a name").to_owned();
        if event == "delete" {
            self.objects.remove(&name);
        } else {
            let before = self.objects.insert(name, revision);
            assert!(before.is_none_or(|before| before < revision), "{revision} came too late");
        }
    }

    /// Changes come once and in order. During a reset, current values come instead. Without events
    /// a client does not know that there is a reset.
    fn assert_next(&self, revision: Revision) {
        let is_reset = match self.format {
            MessageFormat::Objects => self.store.is_trimmed(),
            _ => self.reset.is_some(),
        };
        let pushes = self.store.pushes(self.client, self.format == MessageFormat::Events);
        let mut pushes = pushes.into_iter();
        if is_reset {
            assert!(pushes.any(|push| push == revision), "{revision} is not watched");
        } else {
            let next = pushes.find(|&push| push > self.received);
            assert_eq!(Some(revision), next, "every change comes once and in order");
        }
    }

    fn end_reset(&mut self) {
        let Some(through) = self.reset.take() else { return };
        self.was_reset = true;
        self.received = through;
        for (name, revision) in self.store.watched_objects(self.client) {
            if revision <= through {
                assert_eq!(self.objects.get(&name), Some(&revision), "the value of {name}");
            }
        }
        self.store.reset(self.client, through);
    }

    /// After the last change, the client knows the last state of the objects.
    fn assert_objects(&self) {
        let objects = self.store.watched_objects(self.client);
        if self.was_reset {
            assert_eq!(self.objects, objects);
        }
        let pushes = self.store.pushes(self.client, false);
        for (name, revision) in objects {
            if revision > self.start && pushes.contains(&revision) {
                assert_eq!(self.objects.get(&name), Some(&revision), "the value of {name}");
            }
        }
    }
}
