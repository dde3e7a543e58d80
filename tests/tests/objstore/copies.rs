//! Clients that keep copies of what they watch, from streams with `initial` and `marks`. A trigger
//! of the database keeps all changes, so that the state at each revision is known.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use blackbox::{
    objstore::{Block, Client, Event, EventStream, Key, Object, Service, Socket, Stopped, unique},
    postgres::Cluster,
    process::DEADLINE,
    project::root,
    soak::{rounds, seed},
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use reqwest::Method;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    sync::RwLock,
    task::{JoinHandle, JoinSet},
    time::{Instant, sleep},
};

const STREAM: &str = "initial=true&marks=true";

/// Writers of one run.
const WRITERS: usize = 6;

/// Minimum number of lines that each example prints.
const LINES: usize = 50;

/// Objects of one run, in this number of namespaces.
const OBJECTS: usize = 120;
const NAMESPACES: usize = 3;

/// The change log keeps so little that slow clients start over. All clients have one address.
const SETTINGS: [(&str, &str); 3] = [
    ("OBJSTORE_LOG_SIZE", "64KiB"),
    ("OBJSTORE_LOG_RETENTION", "1s"),
    ("MAX_CONNECTIONS_PER_ADDRESS", "10000"),
];

/// The revision of each object, by its namespace and name.
type State = BTreeMap<(String, String), u64>;

/// The services. A killed one is replaced while no other task connects.
type Services = Arc<RwLock<Vec<Service>>>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_are_exact_while_the_service_is_killed() {
    run(vec![Stopped::new(&SETTINGS)], &mut []).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_copies_of_the_examples_are_exact() {
    let python = root().join("target/tools/python/bin/python");
    let mut examples = [Command::new(python), Command::new("node")];
    examples[0].arg("docs/examples/keep_copy.py");
    examples[1].arg("docs/examples/keep_copy.mjs");
    run(vec![Stopped::new(&SETTINGS)], &mut examples).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_are_exact_on_replicas_that_are_killed() {
    let database = Cluster::shared().database();
    let replica = || Stopped::on(Some(database.clone()), &SETTINGS);
    run(vec![replica(), replica()], &mut []).await;
}

#[expect(clippy::print_stdout, reason = "a failed test shows its seed")]
async fn run(mut places: Vec<Stopped>, examples: &mut [Command]) {
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
    let over = Arc::new(AtomicBool::new(false));

    let (host, port) = {
        let services = services.read().await;
        let host = services[0].url().trim_start_matches("http://").to_owned();
        let port = host.rsplit(':').next().unwrap().to_owned();
        (host, port)
    };
    let examples: Vec<_> =
        examples.iter_mut().map(|command| start(command, &host, &kind)).collect();

    let mut writers = JoinSet::new();
    for index in 0..WRITERS {
        let (services, admin, kind) = (Arc::clone(&services), admin.clone(), kind.clone());
        let rng = StdRng::seed_from_u64(seed + index as u64);
        writers.spawn(write(services, admin, kind, Arc::clone(&over), rng));
    }
    let mut copies = JoinSet::new();
    for index in 0..rounds(12, 1000) {
        let (services, kind) = (Arc::clone(&services), kind.clone());
        let rng = StdRng::seed_from_u64(seed + 1000 + index as u64);
        copies.spawn(keep(services, kind, Arc::clone(&over), rng));
    }
    let mut rng = StdRng::seed_from_u64(seed);
    let start = Instant::now();
    let end = start + Duration::from_secs(rounds(5, 120) as u64);
    let has_few = |example: &Example| example.count.load(Ordering::Relaxed) < LINES;
    while Instant::now() < end || examples.iter().any(has_few) && start.elapsed() < DEADLINE {
        sleep(Duration::from_millis(rng.random_range(500..2000))).await;
        let mut services = services.write().await;
        let service = services.remove(0);
        let killed = service.kill().await;
        // The examples know only one address.
        let killed = if examples.is_empty() { killed } else { killed.with("PORT", &port) };
        services.push(killed.start().await);
    }
    over.store(true, Ordering::Relaxed);
    writers.join_all().await;
    let seen = copies.join_all().await;
    let mut printed = Vec::new();
    for mut example in examples {
        example.process.start_kill().unwrap();
        printed.push(example.printed.await.unwrap());
    }
    let services = Arc::into_inner(services).unwrap().into_inner();
    let mut places = Vec::new();
    for service in services {
        places.push(service.stop().await);
    }
    let changes = changes(&places[0], &kind);
    check(&changes, seen);
    printed.iter().for_each(|lines| check_keys(&changes, lines));
}

/// Starts an example, and collects its output.
fn start(command: &mut Command, host: &str, kind: &str) -> Example {
    let command = command.args([host, kind]).current_dir(root());
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
    Example { process, count, printed }
}

struct Example {
    process: Child,
    /// The number of lines so far.
    count: Arc<AtomicUsize>,
    printed: JoinHandle<Vec<String>>,
}

fn keep_all_changes(place: &Stopped) {
    let copied = "revision, event, type, namespace, name, client";
    let new = copied.split(", ").map(|column| format!("NEW.{column}")).collect::<Vec<_>>();
    let insert = format!("INSERT INTO changes VALUES ({})", new.join(", "));
    let table = format!("CREATE TABLE changes AS SELECT {copied} FROM log WHERE false");
    let Some(database) = place.database() else {
        place.change(&table);
        place.change(&format!("CREATE TRIGGER keep AFTER INSERT ON log BEGIN {insert}; END"));
        return;
    };
    database.run(&table);
    database.run(&format!(
        "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql
         AS $$ BEGIN {insert}; RETURN NEW; END $$"
    ));
    database.run("CREATE TRIGGER keep AFTER INSERT ON log FOR EACH ROW EXECUTE FUNCTION keep()");
}

/// Sets and deletes objects until it is over. Some requests fail, because services are killed.
async fn write(
    services: Services,
    admin: Client,
    kind: String,
    over: Arc<AtomicBool>,
    mut rng: StdRng,
) {
    while !over.load(Ordering::Relaxed) {
        let client = {
            let services = services.read().await;
            admin.at(&services[rng.random_range(0..services.len())])
        };
        for _ in 0..rng.random_range(1..50) {
            let number = rng.random_range(0..OBJECTS);
            let namespace = (number % NAMESPACES).to_string();
            let object = Object::new(&Key::new(&kind, &namespace, &number.to_string()), "{}");
            let (path, body) = match rng.random_bool(0.7) {
                true => ("/set", object.body()),
                false => ("/delete", object.key.body()),
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

/// A client, and a digest of its copy at each revision that the service has named.
struct Seen {
    client: String,
    states: Vec<(u64, u64)>,
}

pub(crate) enum Stream {
    Socket(Box<Socket>),
    Events(Box<EventStream>),
}

impl Stream {
    pub(crate) async fn open(client: &Client, query: &str, is_socket: bool) -> Option<Self> {
        if is_socket {
            let socket = client.try_socket(&format!("?events=true&{query}")).await.ok()?;
            return Some(Self::Socket(Box::new(socket)));
        }
        Some(Self::Events(Box::new(client.events(&format!("?{query}")).await)))
    }

    pub(crate) async fn next(&mut self) -> Option<Event> {
        match self {
            Self::Socket(socket) => socket.next_event_or_close().await.ok(),
            Self::Events(stream) => loop {
                if let Block::Event(_, event) = stream.next_block().await? {
                    return Some(event);
                }
            },
        }
    }
}

/// Keeps a copy until it is over. Reads slowly at times, disconnects, and resumes at any service.
async fn keep(services: Services, kind: String, over: Arc<AtomicBool>, mut rng: StdRng) -> Seen {
    sleep(Duration::from_millis(rng.random_range(0..3000))).await;
    let client = services.read().await[0].client().await;
    let pattern = |rng: &mut StdRng| match rng.random_range(0..=NAMESPACES) {
        NAMESPACES => Key::new(&kind, "", ""),
        namespace => Key::new(&kind, &namespace.to_string(), ""),
    };
    // The last state that the service named. A client resumes with it.
    let mut exact = State::new();
    let mut at = None;
    let mut states = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let services = services.read().await;
        let client = client.at(&services[rng.random_range(0..services.len())]);
        client.watch(&pattern(&mut rng)).await;
        if rng.random_bool(0.3) {
            at = None;
        }
        let query = match at {
            Some(at) => format!("{STREAM}&since={at}"),
            None => STREAM.to_owned(),
        };
        let mut state = if at.is_some() { exact.clone() } else { State::new() };
        let stream = Stream::open(&client, &query, rng.random_bool(0.5)).await;
        drop(services);
        let Some(mut stream) = stream else { continue };
        for _ in 0..rng.random_range(1..2000) {
            let Some(event) = stream.next().await else { break };
            match event {
                Event::Set(revision, object) => {
                    state.insert((object.key.namespace, object.key.name), revision);
                }
                Event::Delete(_, Object { key, .. })
                | Event::Ended(_, Object { key, .. }, _)
                | Event::Hidden(_, key) => {
                    state.remove(&(key.namespace, key.name));
                }
                Event::Reset(_) => {
                    state.clear();
                    at = None;
                }
                Event::Synced(revision) | Event::Mark(revision) => {
                    assert!(Some(revision) >= at, "{revision} is older than {at:?}");
                    at = Some(revision);
                    states.push((revision, digest(&state)));
                    exact.clone_from(&state);
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                }
            }
            if rng.random_bool(0.002) {
                sleep(Duration::from_millis(rng.random_range(0..1500))).await;
            }
        }
    }
    Seen { client: client.id().simple().to_string(), states }
}

fn digest(state: &State) -> u64 {
    let mut hasher = DefaultHasher::new();
    state.hash(&mut hasher);
    hasher.finish()
}

/// A kept record: of an object, or of a watch.
struct Change {
    revision: u64,
    event: u8,
    /// Namespace and name.
    key: (String, String),
    /// The client of a watch.
    client: String,
}

/// The kept changes of a run, oldest first.
fn changes(place: &Stopped, kind: &str) -> Vec<Change> {
    let client = match place.database() {
        Some(_) => "replace(CAST(client AS text), '-', '')",
        None => "lower(hex(client))",
    };
    let lines = place.texts(&format!(
        "SELECT revision || '/' || event || '/' || namespace || '/' || name || '/' ||
             coalesce({client}, '')
         FROM changes WHERE type = '{kind}' ORDER BY revision"
    ));
    let parse = |line: &String| {
        let [revision, event, namespace, name, client] =
            line.split('/').collect::<Vec<_>>().try_into().unwrap();
        Change {
            revision: revision.parse().unwrap(),
            event: event.parse().unwrap(),
            key: (namespace.to_owned(), name.to_owned()),
            client: client.to_owned(),
        }
    };
    lines.iter().map(parse).collect()
}

/// Checks the lines of an example: revisions with the keys at these revisions.
fn check_keys(changes: &[Change], lines: &[String]) {
    let mut changes = changes.iter().peekable();
    let mut keys = BTreeSet::new();
    assert!(lines.len() >= LINES, "only {} lines were printed", lines.len());
    // The last line may be cut.
    for line in &lines[..lines.len() - 1] {
        let (at, printed): (u64, Vec<String>) = serde_json::from_str(line).unwrap();
        while let Some(change) = changes.next_if(|change| change.revision <= at) {
            match change.event {
                1 => drop(keys.insert(change.key.clone())),
                2 => drop(keys.remove(&change.key)),
                _ => {}
            }
        }
        let parse = |key: &String| {
            let key: serde_json::Value = serde_json::from_str(key).unwrap();
            let part = |name: &str| key[name].as_str().unwrap().to_owned();
            (part("Namespace"), part("Name"))
        };
        assert_eq!(printed.iter().map(parse).collect::<BTreeSet<_>>(), keys, "at {at}");
    }
}

/// Checks each state of each client against the kept changes.
fn check(changes: &[Change], seen: Vec<Seen>) {
    let checked: usize = seen.iter().map(|seen| seen.states.len()).sum();
    assert!(checked > seen.len() * 5, "only {checked} states were seen");
    for Seen { client, mut states } in seen {
        states.sort_unstable();
        let (mut all, mut watched) = (State::new(), Vec::new());
        let mut changes = changes.iter().peekable();
        for (at, digest_seen) in states {
            while let Some(change) = changes.next_if(|change| change.revision <= at) {
                match change.event {
                    1 => drop(all.insert(change.key.clone(), change.revision)),
                    2 => drop(all.remove(&change.key)),
                    3 if change.client == client => watched.push(&change.key.0),
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
            assert_eq!(digest_seen, digest(&expected), "{client} at {at}: {expected:?}");
        }
    }
}
