//! The hub with clients that connect, acknowledge and disconnect while a writer commits.

use std::{
    collections::{BTreeMap, VecDeque},
    future::pending,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use serde_json::Value as Json;
use shuttle::{
    future::{block_on, spawn},
    rand::{Rng as _, thread_rng},
};

use crate::{
    domain::{ClientId, Entry, Key, Object, Owner, Pattern, Revision, Value},
    select,
    store::{Feed, FeedItem, Store, StoreError},
    sync::mpsc,
    task::yield_now,
    watch::{Acknowledger, Burst, Hub, MessageFormat, Subscriber, UnansweredPings},
};

/// The type of all objects that clients watch.
const TYPE: &str = "note";

/// Bytes of an object that fills the ring of the hub.
const LARGE: usize = 12 * 1024 * 1024;

/// Maximum number of scheduling points between two pings.
const PING_EVERY: usize = 8;

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
    let hub = Hub::new(store.clone(), 0, plan.max_ended);
    let (sender, news) = mpsc::channel(1);
    let dispatching = spawn(Arc::clone(&hub).run(Feed { news }));
    let writing = spawn(write(store.clone(), plan.steps.clone(), sender));
    let last = plan.steps.iter().filter(|step| !matches!(step, Step::Trim)).count();
    let last = Revision::try_from(last).expect("a short plan");
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

/// Returns the sender: the feed ends when the store is closed.
async fn write(
    store: Store,
    steps: Vec<Step>,
    news: mpsc::Sender<FeedItem>,
) -> mpsc::Sender<FeedItem> {
    let mut records = Vec::new();
    let last = steps.len() - 1;
    for (index, step) in steps.into_iter().enumerate() {
        let entry = match step {
            Step::Set(name) => Entry::Set(object(name, store.head() + 1)),
            Step::Delete(name) => Entry::Delete(object(name, store.head() + 1)),
            Step::Watch(client, name) => Entry::Watch(id(client), pattern(name)),
            Step::Unwatch(client, name) => Entry::Unwatch(id(client), pattern(name)),
            Step::Forget(client) => Entry::Forget(id(client)),
            Step::FillRing => Entry::Delete(large_object()),
            Step::Trim => {
                records.clear();
                let missed = FeedItem::Missed(store.trim());
                news.send(missed).await.expect("the hub runs");
                continue;
            }
        };
        records.push(store.commit(entry));
        if index == last || chance() {
            let records = FeedItem::Records(std::mem::take(&mut records));
            news.send(records).await.expect("the hub runs");
        }
    }
    news
}

fn id(client: u128) -> ClientId {
    ClientId::new(uuid::Uuid::from_u128(client)).expect("an ID")
}

fn pattern(name: &str) -> Pattern {
    let kind = if name.is_empty() { TYPE } else { "" };
    Pattern::new(kind, "", name).expect("a pattern")
}

/// The value is the revision, because messages without events do not have it.
fn object(name: &str, revision: Revision) -> Arc<Object> {
    let value = format!("{{\"revision\":{revision}}}");
    new_object(TYPE, name, value.as_bytes())
}

fn large_object() -> Arc<Object> {
    static OBJECT: OnceLock<Arc<Object>> = OnceLock::new();
    Arc::clone(OBJECT.get_or_init(|| new_object("unwatched", "large", &vec![b' '; LARGE])))
}

fn new_object(kind: &str, name: &str, value: &[u8]) -> Arc<Object> {
    let key = Key::new(kind, "home", name).expect("a key");
    let owner = Owner::new("ann").expect("an owner");
    Arc::new(Object { key, value: Value::stored(value), owner })
}

fn chance() -> bool {
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
        let subscriber = hub.subscribe(client, format, socket.since).await.expect("it runs");
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
            MessageFormat::Events => self.reset.is_some(),
            MessageFormat::Objects => self.store.is_trimmed(),
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

    fn accept(&mut self, frame: &[u8]) {
        self.pushes += 1;
        let frame: Json = serde_json::from_slice(frame).expect("JSON");
        let (revision, event, object) = match self.format {
            MessageFormat::Events => (&frame["Revision"], &frame["Event"], &frame["Object"]),
            MessageFormat::Objects => (&frame["Value"]["revision"], &Json::Null, &frame),
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
            MessageFormat::Events => self.reset.is_some(),
            MessageFormat::Objects => self.store.is_trimmed(),
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
