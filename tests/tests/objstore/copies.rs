//! Clients that keep copies, from sockets with `initial` and `marks`, and from `GET /streams`. A trigger
//! of the database keeps all changes, so that the state at each revision is known. Batches move
//! amounts between pairs of accounts, so a state with a part of a batch has a wrong sum.

use std::{
    collections::{BTreeMap, VecDeque},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use blackbox::{
    http::Answer,
    objstore::{
        Change, Client, Documented, Event, Key, Object, Part, Service, Socket, StateStream,
        Stopped, batch, exact, stream_path, unique,
    },
    postgres::Cluster,
    process::until,
    project::root,
    soak::{rounds, seed},
};
use percent_encoding::percent_decode_str;
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use reqwest::Method;
use serde::Deserialize;
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    sync::RwLock,
    task::{JoinHandle, JoinSet},
    time::{Instant, sleep, timeout},
};

/// Writers of one run.
const WRITERS: usize = 6;

/// Minimum number of lines that each published client prints.
const LINES: usize = 50;

/// Minimum number of states that the copies see, on average.
const STATES: usize = 6;

/// How long a copy waits for a part, before it asks again.
const PATIENCE: Duration = Duration::from_secs(1);

/// Objects of one run, in this number of namespaces.
const OBJECTS: usize = 120;
const NAMESPACES: usize = 3;

/// The change log keeps so little that slow clients start over. All clients have one address.
const SETTINGS: [(&str, &str); 3] = [
    ("OBJSTORE_LOG_SIZE", "64KiB"),
    ("OBJSTORE_LOG_RETENTION", "1s"),
    ("MAX_CONNECTIONS_PER_ADDRESS", "10000"),
];

/// Accounts of each sign: `+7` and `-7` have the sum 0.
const ACCOUNTS: usize = 150;

/// The revision of each object, by its namespace and name.
type State = BTreeMap<(String, String), u64>;

/// The balance of each account, by its namespace and name.
type Balances = BTreeMap<(String, String), i64>;

/// The services. A killed one is replaced while no other task connects.
type Services = Arc<RwLock<Vec<Service>>>;

/// How far a run is.
#[derive(Default)]
struct Run {
    is_over: AtomicBool,
    /// The number of states that the copies have seen.
    states: AtomicUsize,
}

impl Run {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn saw_state(&self) {
        self.states.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_are_exact_while_the_service_is_killed() {
    run(vec![Stopped::new(&SETTINGS)], &mut []).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_copies_of_published_clients_are_exact() {
    let documented = Documented::default();
    let python = root().join("target/tools/python/bin/python");
    let mut clients = [Command::new("node"), Command::new(python)];
    clients[0].arg(documented.program("js", PRINT_JAVASCRIPT));
    clients[1].arg(documented.program("python", PRINT_PYTHON));
    run(vec![Stopped::new(&SETTINGS)], &mut clients).await;
}

/// The documented programs print each exact copy: `[revision, {key: value}]`.
const PRINT_JAVASCRIPT: &str = "
const [url, type, cookie] = process.argv.slice(2)
const db = copyOf(url, type, { cookie })
db.collections.objects.subscribeChanges(() => {
  const [, revision, place] = db.offset.split('_')
  if (place !== '~') return
  const own = ([name]) => name !== 'key' && name !== '_seq' && !name.startsWith('$')
  const values = [...db.collections.objects.entries()].map(([key, row]) =>
    [key, Object.fromEntries(Object.entries(row).filter(own))])
  console.log(JSON.stringify([parseInt(revision, 16), Object.fromEntries(values)]))
})
await db.preload()
";
const PRINT_PYTHON: &str = "
import json, sys
url, type, cookie = sys.argv[1:]
for offset, copy in copies(url, type, cookie):
    print(json.dumps([int(offset.split('_')[1], 16), copy]), flush=True)
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_are_exact_on_replicas_that_are_killed() {
    let database = Cluster::shared().database();
    let replica = || Stopped::on(Some(database.clone()), &SETTINGS);
    run(vec![replica(), replica()], &mut []).await;
}

#[expect(clippy::print_stdout, reason = "a failed test shows its seed")]
async fn run(mut places: Vec<Stopped>, clients: &mut [Command]) {
    let seed = seed();
    println!("SEED={seed}");
    let place = places.remove(0).start().await.stop().await;
    keep_all_changes(&place);
    let mut services = vec![place.start().await];
    for place in places {
        services.push(place.start().await);
    }
    let admin = services[0].client().await;
    let kind = unique("kind");
    let services: Services = Arc::new(RwLock::new(services));
    let run = Arc::<Run>::default();

    let (url, port) = {
        let services = services.read().await;
        let url = services[0].url().to_owned();
        let port = url.rsplit(':').next().unwrap().to_owned();
        (url, port)
    };
    let cookie = format!("token={}", admin.token());
    let start = |command: &mut Command| start(command, [&url, &kind, &cookie]);
    let published: Vec<_> = clients.iter_mut().map(start).collect();

    let mut writers = JoinSet::new();
    for index in 0..WRITERS {
        let (services, admin, kind) = (Arc::clone(&services), admin.clone(), kind.clone());
        let rng = StdRng::seed_from_u64(seed + index as u64);
        writers.spawn(write(services, admin, kind, Arc::clone(&run), rng));
    }
    let mut copies = JoinSet::new();
    for index in 0..rounds(12, 1000) {
        let (services, kind) = (Arc::clone(&services), kind.clone());
        let rng = StdRng::seed_from_u64(seed + 1000 + index as u64);
        if index % 2 == 0 {
            copies.spawn(keep(services, kind, Arc::clone(&run), rng));
        } else {
            copies.spawn(keep_pattern(services, kind, Arc::clone(&run), rng));
        }
    }
    let mut rng = StdRng::seed_from_u64(seed);
    let end = Instant::now() + Duration::from_secs(rounds(5, 120) as u64);
    let lines = || published.iter().map(|client| client.count.load(Ordering::Relaxed));
    let states = || run.states.load(Ordering::Relaxed);
    let wanted = copies.len() * STATES;
    while Instant::now() < end || states() < wanted || lines().any(|count| count < LINES) {
        let (before, states_before): (Vec<_>, _) = (lines().collect(), states());
        sleep(Duration::from_millis(rng.random_range(500..2000))).await;
        until(async || lines().zip(&before).all(|(count, before)| count > *before)).await;
        until(async || states() > states_before).await;
        let mut services = services.write().await;
        let service = services.remove(0);
        let killed = service.kill().await;
        // The published clients know only one address.
        let killed = if published.is_empty() { killed } else { killed.with("PORT", &port) };
        services.push(killed.start().await);
    }
    run.is_over.store(true, Ordering::Relaxed);
    writers.join_all().await;
    let seen = copies.join_all().await;
    let mut printed = Vec::new();
    for mut client in published {
        client.process.start_kill().unwrap();
        printed.push(client.printed.await.unwrap());
    }
    let services = Arc::into_inner(services).unwrap().into_inner();
    let mut places = Vec::new();
    for service in services {
        places.push(service.stop().await);
    }
    let changes = changes(&places[0], &kind);
    check(&changes, seen);
    for (client, lines) in printed.iter().enumerate() {
        check_values(&changes, client, lines);
    }
}

/// Starts a published client, and collects its output.
fn start(command: &mut Command, arguments: [&str; 3]) -> Published {
    let command = command.args(arguments);
    let mut process = command.stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let count = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&count);
    let printed = tokio::spawn(async move {
        let mut printed = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            printed.push(line);
            counted.fetch_add(1, Ordering::Relaxed);
        }
        printed
    });
    Published { process, count, printed }
}

struct Published {
    process: Child,
    /// The number of lines so far.
    count: Arc<AtomicUsize>,
    printed: JoinHandle<Vec<String>>,
}

fn keep_all_changes(place: &Stopped) {
    let copied = "revision, event, type, namespace, name, client, value";
    let new = copied.split(", ").map(|column| format!("NEW.{column}")).collect::<Vec<_>>();
    let insert = format!("INSERT INTO changes VALUES ({})", new.join(", "));
    place.define(&format!("CREATE TABLE changes AS SELECT {copied} FROM log WHERE false"));
    place.after("INSERT ON log", &insert);
}

/// Sets and deletes objects until it is over. Some requests fail, because services are killed.
async fn write(services: Services, admin: Client, kind: String, run: Arc<Run>, mut rng: StdRng) {
    while !run.is_over() {
        let client = {
            let services = services.read().await;
            admin.at(&services[rng.random_range(0..services.len())])
        };
        for _ in 0..rng.random_range(1..50) {
            let batch = rng.random_bool(0.02).then(|| transfers(&kind, &mut rng));
            let number = rng.random_range(0..OBJECTS);
            let namespace = (number % NAMESPACES).to_string();
            let key = Key::new(&kind, &namespace, &number.to_string());
            let member = rng.random_range(0..3);
            let object = Object::new(&key, format!("{{\"n{member}\":{}}}", rng.random::<u32>()));
            let (path, body) = match (batch, rng.random_bool(0.7)) {
                (Some(batch), _) => ("/batch", batch),
                (None, true) => ("/set", object.body()),
                (None, false) => ("/delete", object.key.body()),
            };
            let request = client.request(Method::POST, path);
            let request = request.header("content-type", "application/json").body(body);
            if request.attempt().await.is_none() {
                sleep(Duration::from_millis(20)).await;
                break;
            }
        }
    }
}

/// A batch that sets random accounts of one sign, and then their counterparts. With a part of it, some
/// sums are not 0.
fn transfers(kind: &str, rng: &mut StdRng) -> String {
    let (from, count) = (rng.random_range(0..ACCOUNTS), rng.random_range(1..=ACCOUNTS));
    let amounts: Vec<_> = (0..count).map(|_| rng.random_range(1..1000_i64)).collect();
    let operations = [("+", 1), ("-", -1)].into_iter().flat_map(|(sign, factor)| {
        let amounts = amounts.iter().enumerate();
        amounts.map(move |(index, amount)| {
            let account = (from + index) % ACCOUNTS;
            let key =
                Key::new(kind, &(account % NAMESPACES).to_string(), &format!("{sign}{account}"));
            Object::new(&key, format!(r#"{{"n":{}}}"#, factor * amount)).operation("")
        })
    });
    batch(&operations.collect::<Vec<_>>())
}

fn set_balance(balances: &mut Balances, Object { key, value, .. }: &Object) {
    if key.name.starts_with(['+', '-']) {
        let amount: Amount = serde_json::from_str(value).unwrap();
        balances.insert((key.namespace.clone(), key.name.clone()), amount.n);
    }
}

/// Checks that the accounts of each namespace have the sum 0.
fn are_balanced(balances: &Balances, at: u64) {
    let mut sums = BTreeMap::<_, i64>::new();
    for ((namespace, _), amount) in balances {
        *sums.entry(namespace).or_default() += amount;
    }
    assert!(sums.values().all(|sum| *sum == 0), "{sums:?} at {at}");
}

/// What a copy has, and its digest at each revision that the service has named.
struct Seen {
    watched: Watched,
    states: Vec<(u64, u64)>,
}

#[derive(Debug)]
enum Watched {
    /// The watches of this client.
    By(String),
    /// All, if it is empty.
    Namespace(String),
}

/// A stream that shows the state of some revisions.
pub(crate) enum Stream {
    /// Of the client's watches.
    Socket(Box<Socket>),
    /// Of a pattern. Its events wait to be taken.
    State(Box<StateStream>, VecDeque<Event>),
}

impl Stream {
    /// Opens a socket, or the stream of `pattern`, with the current objects, or after `since`.
    pub(crate) async fn open(
        client: &Client,
        pattern: Option<&Key>,
        since: Option<u64>,
    ) -> Option<Self> {
        let Some(pattern) = pattern else {
            let since = since.map(|since| format!("&since={since}")).unwrap_or_default();
            let query = format!("?events=true&initial=true&marks=true{since}");
            return Some(Self::Socket(Box::new(client.try_socket(&query).await.ok()?)));
        };
        let offset = match since {
            None => "-1".to_owned(),
            Some(since) => {
                let tail = client.part(pattern, "?offset=now").await.offset;
                format!("{}_{since:016x}_~", tail.split('_').next().unwrap())
            }
        };
        Some(Self::State(Box::new(client.stream(pattern, &offset).await), VecDeque::new()))
    }

    pub(crate) async fn next(&mut self) -> Option<Event> {
        let (stream, events) = match self {
            Self::Socket(socket) => return socket.next_event_or_close().await.ok(),
            Self::State(stream, events) => (stream, events),
        };
        while events.is_empty() {
            let part = stream.next().await?;
            let mark = part.exact().map(Event::Mark);
            events.extend(part.changes.into_iter().filter_map(event).chain(mark));
        }
        events.pop_front()
    }
}

/// The same, as a socket has it.
fn event(change: Change) -> Option<Event> {
    match change {
        Change::Insert(revision, object) | Change::Update(revision, object) => {
            Some(Event::Set(revision, object))
        }
        Change::Delete(revision, key, _) => Some(Event::Hidden(revision, key)),
        Change::Reset => Some(Event::Reset(0)),
        Change::SnapshotStart | Change::SnapshotEnd => None,
    }
}

/// Keeps a copy of a pattern by `GET /streams` until it is over, in any mode. Resumes at any service,
/// within snapshots, too.
async fn keep_pattern(services: Services, kind: String, run: Arc<Run>, mut rng: StdRng) -> Seen {
    sleep(Duration::from_millis(rng.random_range(0..3000))).await;
    let client = services.read().await[0].client().await;
    let namespace = rng.random_range(0..=NAMESPACES);
    let namespace = if namespace < NAMESPACES { namespace.to_string() } else { String::new() };
    let path = stream_path(&Key::new(&kind, &namespace, ""));
    let (mut state, mut balances) = (State::new(), Balances::new());
    let (mut states, mut offset) = (Vec::new(), "-1".to_owned());
    while !run.is_over() {
        let service = {
            let services = services.read().await;
            client.at(&services[rng.random_range(0..services.len())])
        };
        if rng.random_bool(0.1) {
            (state, balances, offset) = (State::new(), Balances::new(), "-1".to_owned());
        }
        let live = ["", "&live=long-poll", "&live=sse"][rng.random_range(0..3)];
        let request = service.request(Method::GET, &format!("{path}?offset={offset}{live}"));
        let request = async {
            match live {
                "&live=sse" => {
                    request.try_stream().await.map(StateStream::new).map(Reading::Stream)
                }
                _ => request
                    .attempt()
                    .await
                    .filter(is_part)
                    .map(|answer| Reading::Part(Part::of(&answer))),
            }
        };
        let mut reading = timeout(PATIENCE, request).await.ok().flatten();
        if reading.is_none() {
            sleep(Duration::from_millis(20)).await;
        }
        for _ in 0..rng.random_range(1..100) {
            let next = timeout(PATIENCE, Reading::next(&mut reading)).await;
            let Some(part) = next.ok().flatten() else { break };
            for change in part.changes {
                match change {
                    Change::Insert(revision, object) | Change::Update(revision, object) => {
                        set_balance(&mut balances, &object);
                        state.insert((object.key.namespace, object.key.name), revision);
                    }
                    Change::Delete(_, key, _) => drop(state.remove(&(key.namespace, key.name))),
                    Change::Reset => {
                        state.clear();
                        balances.clear();
                    }
                    Change::SnapshotStart | Change::SnapshotEnd => {}
                }
            }
            offset = part.offset;
            assert!(exact(&offset).is_some() || !part.up_to_date, "{offset} is up to date");
            if let Some(revision) = exact(&offset) {
                states.push((revision, digest(&state)));
                run.saw_state();
                are_balanced(&balances, revision);
            }
            if rng.random_bool(0.02) {
                sleep(Duration::from_millis(rng.random_range(0..1500))).await;
            }
        }
    }
    Seen { watched: Watched::Namespace(namespace), states }
}

/// A service that is slow or starting answers 503.
fn is_part(answer: &Answer) -> bool {
    answer.status.is_success()
}

/// A response that is read.
enum Reading {
    Part(Part),
    Stream(StateStream),
}

impl Reading {
    async fn next(reading: &mut Option<Self>) -> Option<Part> {
        match reading {
            Some(Self::Stream(stream)) => stream.next().await,
            _ => match reading.take() {
                Some(Self::Part(part)) => Some(part),
                _ => None,
            },
        }
    }
}

/// Keeps a copy until it is over. Reads slowly at times, disconnects, and resumes at any service.
async fn keep(services: Services, kind: String, run: Arc<Run>, mut rng: StdRng) -> Seen {
    sleep(Duration::from_millis(rng.random_range(0..3000))).await;
    let client = services.read().await[0].client().await;
    let pattern = |rng: &mut StdRng| match rng.random_range(0..=NAMESPACES) {
        NAMESPACES => Key::new(&kind, "", ""),
        namespace => Key::new(&kind, &namespace.to_string(), ""),
    };
    // The last state that the service named. A client resumes with it.
    let mut exact = (State::new(), Balances::new());
    let mut at = None;
    let mut states = Vec::new();
    while !run.is_over() {
        let services = services.read().await;
        let client = client.at(&services[rng.random_range(0..services.len())]);
        client.watch(&pattern(&mut rng)).await;
        if rng.random_bool(0.3) {
            at = None;
        }
        let (mut state, mut balances) = if at.is_some() { exact.clone() } else { <_>::default() };
        let stream = Stream::open(&client, None, at).await;
        drop(services);
        let Some(mut stream) = stream else { continue };
        for _ in 0..rng.random_range(1..2000) {
            let Some(event) = stream.next().await else { break };
            match event {
                Event::Set(revision, object) => {
                    set_balance(&mut balances, &object);
                    state.insert((object.key.namespace, object.key.name), revision);
                }
                Event::Delete(_, Object { key, .. })
                | Event::Ended(_, Object { key, .. }, _)
                | Event::Hidden(_, key) => {
                    state.remove(&(key.namespace, key.name));
                }
                Event::Reset(_) => {
                    state.clear();
                    balances.clear();
                    at = None;
                }
                Event::Synced(revision) | Event::Mark(revision) => {
                    assert!(Some(revision) >= at, "{revision} is older than {at:?}");
                    at = Some(revision);
                    states.push((revision, digest(&state)));
                    run.saw_state();
                    are_balanced(&balances, revision);
                    exact = (state.clone(), balances.clone());
                    if run.is_over() {
                        break;
                    }
                }
            }
            if rng.random_bool(0.002) {
                sleep(Duration::from_millis(rng.random_range(0..1500))).await;
            }
        }
    }
    Seen { watched: Watched::By(client.id().simple().to_string()), states }
}

fn digest(state: &State) -> u64 {
    let mut hasher = DefaultHasher::new();
    state.hash(&mut hasher);
    hasher.finish()
}

/// The value of an account.
#[derive(Deserialize)]
struct Amount {
    n: i64,
}

/// A kept record: of an object, or of a watch.
struct Kept {
    revision: u64,
    event: u8,
    /// Namespace and name.
    key: (String, String),
    /// The client of a watch.
    client: String,
    value: String,
}

/// The kept changes of a run, oldest first.
fn changes(place: &Stopped, kind: &str) -> Vec<Kept> {
    let (client, value) = match place.database() {
        Some(_) => ("replace(CAST(client AS text), '-', '')", "convert_from(value, 'UTF8')"),
        None => ("lower(hex(client))", "CAST(value AS TEXT)"),
    };
    let lines = place.texts(&format!(
        "SELECT revision || '/' || event || '/' || namespace || '/' || name || '/' ||
             coalesce({client}, '') || '/' || coalesce({value}, '')
         FROM changes WHERE type = '{kind}' ORDER BY revision"
    ));
    let parse = |line: &String| {
        let [revision, event, namespace, name, client, value] =
            line.split('/').collect::<Vec<_>>().try_into().unwrap();
        Kept {
            revision: revision.parse().unwrap(),
            event: event.parse().unwrap(),
            key: (namespace.to_owned(), name.to_owned()),
            client: client.to_owned(),
            value: value.to_owned(),
        }
    };
    lines.iter().map(parse).collect()
}

/// Checks the lines of a published client: revisions, with the values at these revisions.
fn check_values(changes: &[Kept], client: usize, lines: &[String]) {
    let mut changes = changes.iter().peekable();
    let mut values = BTreeMap::new();
    assert!(lines.len() >= LINES, "client {client} has printed only {} lines", lines.len());
    // The last line may be cut.
    for line in &lines[..lines.len() - 1] {
        let (at, printed): (u64, BTreeMap<String, Value>) = serde_json::from_str(line).unwrap();
        while let Some(change) = changes.next_if(|change| change.revision <= at) {
            let key = format!("{}/{}", change.key.0, change.key.1);
            match change.event {
                1 => drop(values.insert(key, serde_json::from_str(&change.value).unwrap())),
                2 => drop(values.remove(&key)),
                _ => {}
            }
        }
        let decode = |key: &str| percent_decode_str(key).decode_utf8().unwrap().into_owned();
        let printed: BTreeMap<_, _> =
            printed.iter().map(|(key, value)| (decode(key), value.clone())).collect();
        assert_eq!(printed, values, "client {client} at {at}");
    }
}

/// Checks each state of each client against the kept changes.
fn check(changes: &[Kept], seen: Vec<Seen>) {
    for Seen { watched: what, mut states } in seen {
        states.sort_unstable();
        let (mut all, mut watched) = (State::new(), Vec::new());
        if let Watched::Namespace(namespace) = &what {
            watched.push(namespace);
        }
        let mut changes = changes.iter().peekable();
        for (at, digest_seen) in states {
            while let Some(change) = changes.next_if(|change| change.revision <= at) {
                match change.event {
                    1 => drop(all.insert(change.key.clone(), change.revision)),
                    2 => drop(all.remove(&change.key)),
                    3 if matches!(&what, Watched::By(client) if *client == change.client) => {
                        watched.push(&change.key.0);
                    }
                    _ => {}
                }
            }
            let matches = |namespace: &String| {
                watched.iter().any(|pattern| pattern.is_empty() || *pattern == namespace)
            };
            let expected: State = all
                .iter()
                .filter(|((namespace, _), _)| matches(namespace))
                .map(|(key, revision)| (key.clone(), *revision))
                .collect();
            assert_eq!(digest_seen, digest(&expected), "{what:?} at {at}: {expected:?}");
        }
    }
}
