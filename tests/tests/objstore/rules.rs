//! Access rules: `OBJSTORE_RULES_FILE`. Random rules are compared with a second implementation.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use blackbox::{
    objstore::{Change, Client, Event, Key, Object, Part, Service, Stopped, revision},
    postgres::Cluster,
    process::{self, DEADLINE},
    rereading::SettingFile,
    soak::{rounds, seed},
};
use rand::{
    RngExt as _, SeedableRng as _,
    rngs::StdRng,
    seq::{IndexedRandom as _, IteratorRandom as _},
};
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::copies::Stream;

const TYPES: [&str; 3] = ["t0", "t1", "t2"];
const NAMESPACES: [&str; 3] = ["a", "ab", "b"];
const NAMES: [&str; 3] = ["1", "12", "2"];
const ACTIONS: [&str; 5] = ["get", "find", "watch", "set", "delete"];

/// Clients of a world. Client 0 is in the first group, clients 1 and 2 in the second.
const CLIENTS: usize = 4;
const GROUPS: [&[usize]; 2] = [&[0], &[1, 2]];

type Objects = BTreeMap<[String; 3], Object>;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Who {
    Everybody,
    Owner,
    Group(usize),
    Client(usize),
}

/// A rule. A part of the key is a pattern as in the file.
#[derive(Debug, Clone)]
struct Rule {
    who: Vec<Who>,
    may: Vec<&'static str>,
    parts: [Option<&'static str>; 3],
}

impl Rule {
    fn random(rng: &mut StdRng) -> Self {
        let everyone = [
            Who::Everybody,
            Who::Owner,
            Who::Owner,
            Who::Group(0),
            Who::Group(1),
            Who::Client(rng.random_range(0..CLIENTS)),
        ];
        let mut part = |of: [&'static str; 3], prefix| match rng.random_range(0..4) {
            0 => of.choose(rng).copied(),
            1 => Some(prefix),
            _ => None,
        };
        let mut parts = [part(TYPES, "t*"), part(NAMESPACES, "a*"), part(NAMES, "1*")];
        if parts == [None; 3] {
            // Otherwise it could allow the probe of `applied`.
            parts[0] = Some("t*");
        }
        let (who, may) = (rng.random_range(1..3), rng.random_range(1..5));
        Self {
            who: everyone.into_iter().sample(rng, who),
            may: ACTIONS.into_iter().sample(rng, may),
            parts,
        }
    }

    /// Whether the rule lets a client do this with an object of this owner, or without an object.
    fn allows(&self, world: &World, client: usize, action: &str, key: &Key, owner: &str) -> bool {
        let matches = |(rule, part): (&Option<&str>, &String)| match rule {
            None => true,
            Some(rule) => match rule.strip_suffix('*') {
                Some(prefix) => part.starts_with(prefix),
                None => part == rule,
            },
        };
        let parts = [&key.r#type, &key.namespace, &key.name];
        self.may.contains(&action)
            && self.parts.iter().zip(parts).all(matches)
            && self.who.iter().any(|who| match who {
                Who::Everybody => true,
                Who::Owner => owner.eq_ignore_ascii_case(&world.id(client)),
                Who::Group(group) => GROUPS[*group].contains(&client),
                Who::Client(one) => *one == client,
            })
    }

    fn toml(&self, world: &World) -> String {
        let who = self.who.iter().map(|who| match who {
            Who::Everybody => "*".to_owned(),
            Who::Owner => "owner".to_owned(),
            Who::Group(group) => format!("group {group}"),
            Who::Client(client) => world.id(*client).to_uppercase(),
        });
        let mut text =
            format!("[[rule]]\nwho = {:?}\nmay = {:?}\n", who.collect::<Vec<_>>(), self.may);
        for (name, part) in ["Type", "Namespace", "Name"].iter().zip(self.parts) {
            text += &part.map(|part| format!("{name} = {part:?}\n")).unwrap_or_default();
        }
        text
    }
}

/// A rules file, the services that read it, their clients, and the objects that they store.
struct World {
    file: SettingFile,
    services: Vec<Service>,
    clients: Vec<Client>,
    rules: Vec<Rule>,
    /// The number of times that the file was written.
    generation: usize,
    objects: Objects,
}

impl World {
    async fn new(places: Vec<Stopped>, rng: &mut StdRng) -> Self {
        let file = rules_file("");
        let mut services = Vec::new();
        for place in places {
            let (name, path) = file.variable();
            services.push(place.with(name, path).start().await);
        }
        let mut clients = Vec::new();
        for _ in 0..CLIENTS {
            clients.push(services[0].client().await);
        }
        let (rules, objects) = (Vec::new(), Objects::new());
        let mut world = Self { file, services, clients, rules, generation: 0, objects };
        world.reload(rng).await;
        world
    }

    fn id(&self, client: usize) -> String {
        self.clients[client].id().to_string()
    }

    /// The client at a random service.
    fn client(&self, client: usize, rng: &mut StdRng) -> Client {
        self.clients[client].at(self.services.choose(rng).unwrap())
    }

    /// Writes random rules, and waits until all services have read them. All clients may do
    /// everything in the namespace `sync`.
    async fn reload(&mut self, rng: &mut StdRng) {
        self.generation += 1;
        let generation = format!("generation-{}", self.generation);
        self.rules = (0..rng.random_range(0..8)).map(|_| Rule::random(rng)).collect();
        let mut text = "[groups]\n".to_owned();
        for (group, members) in GROUPS.iter().enumerate() {
            let members: Vec<_> = members.iter().map(|&client| self.id(client)).collect();
            text += &format!("\"group {group}\" = {members:?}\n");
        }
        text += &format!(
            "[[rule]]\nwho = [\"*\"]\nmay = {ACTIONS:?}\nNamespace = \"sync\"\n
             [[rule]]\nwho = [\"*\"]\nmay = [\"get\"]\nType = \"probe\"\nName = \"{generation}\"\n"
        );
        text.extend(self.rules.iter().map(|rule| rule.toml(self)));
        self.file.replace(&text);
        for service in &self.services {
            applied(&self.clients[0].at(service), &generation).await;
        }
    }

    fn allows(&self, client: usize, action: &str, key: &Key, owner: &str) -> bool {
        key.namespace == "sync"
            || self.rules.iter().any(|rule| rule.allows(self, client, action, key, owner))
    }

    fn visible(&self, client: usize, action: &str, pattern: &Key) -> Objects {
        let part = |pattern: &str, part: &str| pattern.is_empty() || pattern == part;
        let matches = |key: &Key| {
            part(&pattern.r#type, &key.r#type)
                && part(&pattern.namespace, &key.namespace)
                && part(&pattern.name, &key.name)
        };
        let objects = self.objects.iter().filter(|(_, object)| {
            matches(&object.key) && self.allows(client, action, &object.key, &object.owner)
        });
        objects.map(|(parts, object)| (parts.clone(), object.clone())).collect()
    }

    /// A random get, set or delete, with the outcome that the rules give. Returns an object that
    /// was set.
    async fn step(&mut self, rng: &mut StdRng) -> Option<Object> {
        let number = rng.random_range(0..CLIENTS);
        let client = self.client(number, rng);
        let mut part = |of: [&'static str; 3]| *of.choose(rng).unwrap();
        let key = Key::new(part(TYPES), part(NAMESPACES), part(NAMES));
        let stored = self.objects.get(&parts(&key)).cloned();
        let owner = stored.as_ref().map_or("", |stored| &*stored.owner);
        match rng.random_range(0..5) {
            0 => {
                let answer = client.post("/get", key.body()).await;
                match &stored {
                    _ if !self.allows(number, "get", &key, owner) => {
                        answer.refused(401, "not_allowed");
                    }
                    None => answer.refused(422, "object_not_found"),
                    Some(stored) => assert_eq!(Object::parse(answer.expect(200).text()), *stored),
                }
            }
            1 => {
                let answer = client.post("/delete", key.body()).await;
                if !self.allows(number, "delete", &key, owner) {
                    answer.refused(401, "not_allowed");
                } else if stored.is_none() {
                    answer.refused(422, "object_not_found");
                } else {
                    let _ = answer.expect(204);
                    self.objects.remove(&parts(&key));
                }
            }
            _ => {
                let owners = (0..CLIENTS).map(|client| self.id(client));
                let mut owners: Vec<_> = owners.chain(["nobody".to_owned()]).collect();
                owners.push(self.id(number).to_uppercase());
                let object = Object {
                    owner: owners.choose(rng).unwrap().clone(),
                    ..Object::new(&key, "{}").numbered(rng.random_range(0..1_000_000))
                };
                let answer = client.post("/set", object.body()).await;
                let is_allowed = self.allows(number, "set", &key, &object.owner)
                    && (stored.is_none() || self.allows(number, "set", &key, owner));
                if !is_allowed {
                    answer.refused(401, "not_allowed");
                    return None;
                }
                let _ = answer.expect(204);
                self.objects.insert(parts(&key), object.clone());
                return Some(object);
            }
        }
        None
    }

    /// Compares what a client finds, at once and in pages.
    async fn check_find(&self, number: usize, rng: &mut StdRng) {
        let client = self.client(number, rng);
        let mut part = |of: [&'static str; 3]| *[of[0], of[1], "", ""].choose(rng).unwrap();
        let pattern = Key::new(part(TYPES), part(NAMESPACES), part(NAMES));
        let expected = self.visible(number, "find", &pattern);
        let found = client.find(&pattern).await;
        assert_eq!(by_key(&found), expected);
        assert_eq!(found.len(), expected.len());

        let (mut paged, mut after) = (Vec::new(), String::new());
        loop {
            let path = format!("/find?limit=3{after}");
            let answer = client.post(&path, pattern.body()).await.expect(200);
            let page = Object::parse_all(answer.text());
            let is_full = page.len() == 3;
            paged.extend(page);
            match answer.header("next-cursor") {
                None => break,
                Some(cursor) => after = format!("&after={cursor}"),
            }
            assert!(is_full, "a page before the last has 3 objects");
        }
        assert_eq!(paged, found);
    }

    /// Sets an object of each type that every client sees. Returns them with their revisions.
    async fn synchronise(&mut self, rng: &mut StdRng) -> Vec<(Object, u64)> {
        let mut set = Vec::new();
        for kind in TYPES {
            let object = Object::new(&Key::new(kind, "sync", "sync"), "{}");
            let object = object.numbered(rng.random_range(0..1_000_000));
            let at = revision(&self.client(0, rng).set(&object).await);
            self.objects.insert(parts(&object.key), object.clone());
            set.push((object, at));
        }
        set
    }
}

fn parts(key: &Key) -> [String; 3] {
    [key.r#type.clone(), key.namespace.clone(), key.name.clone()]
}

fn by_key(objects: &[Object]) -> Objects {
    objects.iter().map(|object| (parts(&object.key), object.clone())).collect()
}

/// Waits until the service has read the rules of a generation.
async fn applied(client: &Client, generation: &str) {
    let probe = Key::new("probe", "probe", generation).body();
    let reading = async {
        while client.post("/get", probe.clone()).await.status == 401 {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(DEADLINE, reading).await.unwrap();
}

/// A copy of the objects that a client may watch.
struct Mirror {
    client: usize,
    /// Whether it has the watches of the client instead of the pattern: everything.
    is_socket: bool,
    pattern: Key,
    stream: Option<Stream>,
    objects: Objects,
    /// The last revision to resume at, with the objects of that time.
    exact: Option<(u64, Objects)>,
}

impl Mirror {
    fn new(client: usize, is_socket: bool, kind: &str) -> Self {
        let pattern = Key::new(kind, "", "");
        Self { client, is_socket, pattern, stream: None, objects: Objects::new(), exact: None }
    }

    async fn open(&mut self, world: &World, rng: &mut StdRng) {
        let (since, objects) = self.exact.take().unzip();
        self.objects = objects.unwrap_or_default();
        let client = world.client(self.client, rng);
        let pattern = (!self.is_socket).then_some(&self.pattern);
        self.stream = Stream::open(&client, pattern, since).await;
        assert!(self.stream.is_some(), "the stream opens");
    }

    /// Reads until the copy has the state of `through`, or of a later revision.
    async fn read(&mut self, through: u64) {
        let stream = self.stream.as_mut().unwrap();
        loop {
            match stream.next().await.unwrap() {
                Event::Set(_, object) => drop(self.objects.insert(parts(&object.key), object)),
                Event::Delete(_, Object { key, .. }) | Event::Hidden(_, key) => {
                    self.objects.remove(&parts(&key));
                }
                Event::Ended(..) => panic!("nothing expires"),
                Event::Reset(_) => self.objects.clear(),
                Event::Synced(at) | Event::Mark(at) => {
                    self.exact = Some((at, self.objects.clone()));
                    if at >= through {
                        return;
                    }
                }
            }
        }
    }
}

#[expect(clippy::print_stdout, reason = "a failed test shows its seed")]
async fn compare(places: Vec<Stopped>) {
    let seed = seed();
    println!("SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let mut world = World::new(places, &mut rng).await;
    let mut sockets = Vec::new();
    for client in 0..CLIENTS {
        world.clients[client].watch(&Key::new("", "", "")).await;
        sockets.push(world.client(client, &mut rng).socket().await);
    }
    let mut mirrors: Vec<Mirror> = (0..CLIENTS)
        .flat_map(|client| [(client, true, ""), (client, false, ""), (client, false, "t1")])
        .map(|(client, is_socket, kind)| Mirror::new(client, is_socket, kind))
        .collect();
    for round in 0..rounds(10, 400) {
        // The clients without a stream resume after the new rules.
        for mirror in &mut mirrors {
            if rng.random_bool(0.3) {
                mirror.stream = None;
            }
        }
        if rng.random_bool(0.5) {
            world.reload(&mut rng).await;
        }
        let mut set = Vec::new();
        for step in 0..rng.random_range(0..25) {
            for mirror in mirrors.iter_mut().filter(|mirror| mirror.stream.is_none()) {
                if step == 10 || rng.random_bool(0.05) {
                    mirror.open(&world, &mut rng).await;
                }
            }
            set.extend(world.step(&mut rng).await);
        }
        let synchronised = world.synchronise(&mut rng).await;
        set.extend(synchronised.iter().map(|(object, _)| object.clone()));
        for (client, socket) in sockets.iter_mut().enumerate() {
            world.check_find(client, &mut rng).await;
            let shown = |set: &&Object| world.allows(client, "watch", &set.key, &set.owner);
            let shown: Vec<_> = set.iter().filter(shown).cloned().collect();
            assert_eq!(socket.next_pushes(shown.len()).await, shown, "round {round}");
        }
        for mirror in &mut mirrors {
            if mirror.stream.is_none() {
                mirror.open(&world, &mut rng).await;
            }
            // A stream marks only the revisions of its own changes without a delay.
            let kind = &mirror.pattern.r#type;
            let own = synchronised
                .iter()
                .rfind(|(object, _)| ["", &object.key.r#type].contains(&&**kind));
            mirror.read(own.unwrap().1).await;
            let expected = world.visible(mirror.client, "watch", &mirror.pattern);
            assert_eq!(mirror.objects, expected, "round {round}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_and_streams_show_what_random_rules_allow() {
    compare(vec![Stopped::new(&[])]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_show_what_random_rules_allow() {
    let database = Cluster::shared().database();
    let replica = || Stopped::on(Some(database.clone()), &[]);
    compare(vec![replica(), replica()]).await;
}

/// Rules by which each client sees its own objects and those of one of two namespaces.
fn rules(namespace: &str, generation: usize) -> String {
    format!(
        "[[rule]]
         who = [\"owner\"]
         may = {ACTIONS:?}
         [[rule]]
         who = [\"*\"]
         may = [\"get\", \"find\", \"watch\", \"set\"]
         Namespace = \"{namespace}\"
         [[rule]]
         who = [\"*\"]
         may = [\"get\"]
         Type = \"probe\"
         Name = \"{generation}\""
    )
}

/// The object that ends the load.
fn last() -> Key {
    Key::new("t", "a", "last")
}

fn rules_file(content: &str) -> SettingFile {
    SettingFile::new("OBJSTORE_RULES_FILE", content)
}

/// A service that reads `file`.
async fn service(file: &SettingFile) -> Service {
    Service::with(&[file.variable()]).await
}

#[tokio::test]
async fn offsets_name_no_object_that_a_client_may_not_see() {
    let file = rules_file(&rules("a", 0));
    let service = service(&file).await;
    let (writer, reader) = (service.client().await, service.client().await);
    let visible = ["s", "u"].map(|kind| Object::new(&Key::new(kind, "a", "seen"), "{}"));
    for object in &visible {
        writer.set(object).await;
    }
    for number in 0..600 {
        let key = Key::new("t", "b", &format!("secret-{number}"));
        let owner = writer.id().to_string();
        writer.set(&Object { owner, ..Object::new(&key, "{}") }).await;
    }
    let all = Key::new("", "", "");
    let mut stream = reader.stream(&all, "-1").await;
    let (mut offset, mut seen) = ("-1".to_owned(), 0);
    loop {
        let live = stream.next().await.unwrap();
        let part = reader.part(&all, &format!("?offset={offset}")).await;
        for offset in [&live.offset, &part.offset] {
            assert!(!offset.contains("736563726574"), "{offset}");
        }
        seen += live.changes.iter().filter(|change| matches!(change, Change::Insert(..))).count();
        offset = part.offset;
        if live.up_to_date {
            break;
        }
    }
    assert_eq!(seen, visible.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_under_load_drops_no_stream() {
    let file = rules_file(&rules("a", 0));
    let service = service(&file).await;
    let writer = service.client().await;
    let over = Arc::new(AtomicBool::new(false));
    let writing = tokio::spawn({
        let (writer, over) = (writer.clone(), Arc::clone(&over));
        async move {
            let mut number = 0;
            while !over.load(Ordering::Relaxed) {
                number += 1;
                for namespace in ["a", "b"] {
                    let key = Key::new("t", namespace, &(number % 50).to_string());
                    let owner = writer.id().to_string();
                    writer.set(&Object { owner, ..Object::new(&key, "{}").numbered(number) }).await;
                }
            }
        }
    });
    let mut readers = JoinSet::new();
    for index in 0..6 {
        let client = service.client().await;
        client.watch(&Key::new("", "", "")).await;
        let all = Key::new("", "", "");
        let pattern = (index % 2 == 1).then_some(&all);
        let mut stream = Stream::open(&client, pattern, None).await.unwrap();
        readers.spawn(async move {
            let (mut objects, mut resets) = (Objects::new(), 0);
            loop {
                match stream.next().await.unwrap() {
                    Event::Set(_, object) => drop(objects.insert(parts(&object.key), object)),
                    Event::Reset(_) => {
                        objects.clear();
                        resets += 1;
                    }
                    Event::Mark(_) if objects.contains_key(&parts(&last())) => {
                        return (objects, resets);
                    }
                    Event::Mark(_) | Event::Synced(_) => {
                        let namespaces: BTreeSet<_> =
                            objects.values().map(|object| &object.key.namespace).collect();
                        assert!(namespaces.len() <= 1, "objects of {namespaces:?} are visible");
                    }
                    event => panic!("{event:?}"),
                }
            }
        });
    }
    let reader = service.client().await;
    for generation in 1..=6 {
        let (shown, hidden) = if generation % 2 == 0 { ("a", "b") } else { ("b", "a") };
        file.replace(&rules(shown, generation));
        applied(&reader, &generation.to_string()).await;
        for name in 1..20 {
            let key = |namespace| Key::new("t", namespace, &name.to_string()).body();
            reader.post("/get", key(hidden)).await.refused(401, "not_allowed");
            assert_ne!(reader.post("/get", key(shown)).await.status, 401);
        }
    }
    over.store(true, Ordering::Relaxed);
    writing.await.unwrap();
    writer.set(&Object::new(&last(), "{}")).await;
    let expected = by_key(&reader.find(&Key::new("", "", "")).await);
    for (objects, resets) in readers.join_all().await {
        assert_eq!(objects, expected);
        assert!((1..=6).contains(&resets), "{resets}");
    }
}

#[tokio::test]
async fn an_invalid_file_keeps_the_rules_and_is_counted() {
    let file = rules_file(&rules("a", 0));
    let service = service(&file).await;
    let client = service.client().await;
    let (shown, hidden) = (Key::new("t", "a", "1"), Key::new("t", "b", "1"));
    for (content, message) in [("[[rule]", "line 1"), ("[[rule]]\nwho = [1]", "line 2")] {
        file.replace(content);
        let expected = format!("(OBJSTORE_RULES_FILE, --rules-file): {message}");
        service.process().logged(|line| line.contains(&expected)).await;
    }
    file.remove();
    service.process().logged(|line| line.contains("No such file")).await;
    client.post("/get", shown.body()).await.refused(422, "object_not_found");
    client.post("/get", hidden.body()).await.refused(401, "not_allowed");
    let metrics = client.fetch("/metrics").await.expect(200);
    assert!(metrics.text().contains("\nobjstore_rules_errors_total 3\n"), "{}", metrics.text());
    // The log shows that a file is right again, although its rules are the old ones.
    file.replace(&rules("a", 0));
    let log = || service.process().log();
    while log().iter().filter(|line| line.contains("access rules read")).count() < 2 {
        sleep(Duration::from_millis(20)).await;
    }
    file.replace(&rules("b", 1));
    applied(&client, "1").await;
    client.post("/get", shown.body()).await.refused(401, "not_allowed");
}

#[tokio::test]
async fn an_invalid_file_fails_at_start() {
    let file = rules_file("");
    for (content, message) in [
        ("[[rule]]\nwho = [\"x\"]\nmay = [\"get\"]".to_owned(), "rule 1: who has \"x\""),
        ("#".repeat(1024 * 1024 + 1), "longer than 1048576 bytes"),
    ] {
        file.replace(&content);
        let place = Stopped::new(&[file.variable()]);
        let complaint = process::failure_line(place.command()).await;
        assert!(
            complaint.contains("OBJSTORE_RULES_FILE") && complaint.contains(message),
            "{complaint}"
        );
    }
}

#[tokio::test]
async fn a_new_owner_hides_the_object_from_the_old_one() {
    let file = rules_file(&(rules("all", 0) + "\n[[rule]]\nwho = [\"*\"]\nmay = [\"set\"]"));
    let service = service(&file).await;
    let (first, second) = (service.client().await, service.client().await);
    let key = Key::new("hand", "table", "first");
    let owned = |client: &Client| Object {
        owner: client.id().to_string(),
        ..Object::new(&key, "{\"cards\":7}")
    };
    let mut sockets = Vec::new();
    for client in [&first, &second] {
        client.watch(&key).await;
        sockets.push(client.socket_with("?events=true").await);
    }
    let set = revision(&first.set(&owned(&first)).await);
    let moved = revision(&first.set(&owned(&second)).await);
    assert_eq!(sockets[0].next_event().await, Event::Set(set, owned(&first)));
    assert_eq!(sockets[0].next_event().await, Event::Hidden(moved, key.clone()));
    assert_eq!(sockets[1].next_event().await, Event::Set(moved, owned(&second)));
    first.post("/get", key.body()).await.refused(401, "not_allowed");
    first.post("/get", key.named("missing").body()).await.refused(401, "not_allowed");
    first.post("/delete", key.body()).await.refused(401, "not_allowed");
    second.delete(&key).await;
}

#[tokio::test]
async fn a_stream_resumes_unless_a_restart_brought_other_rules() {
    let (rules_a, rules_b) = (rules("a", 0), rules("b", 1));
    let file = rules_file(&rules_a);
    let mut service = service(&file).await;
    let client = service.client().await;
    let objects = ["a", "b"].map(|namespace| Object {
        owner: "nobody".to_owned(),
        ..Object::new(&Key::new("t", namespace, "1"), "{}")
    });
    client.set(&objects[0]).await;
    let everything = Key::new("", "", "");
    let part = client.part(&everything, "").await;
    let [Change::SnapshotStart, Change::Insert(_, object), Change::SnapshotEnd] = &part.changes[..]
    else {
        panic!("{part:?}");
    };
    assert_eq!(*object, objects[0]);
    let mut offset = part.offset;
    for (rules, shown, is_new) in [(&rules_a, 0, false), (&rules_b, 1, true), (&rules_b, 1, false)]
    {
        let stopped = service.stop().await;
        file.replace(rules);
        service = stopped.start().await;
        let client = client.at(&service);
        client.set(&objects[shown]).await;
        let part = client.part(&everything, &format!("?offset={offset}")).await;
        assert!(part.up_to_date && part.offset > offset, "{part:?}");
        let resets = part.changes.iter().filter(|change| **change == Change::Reset).count();
        assert_eq!(resets, usize::from(is_new), "{part:?}");
        for change in part.changes {
            match change {
                Change::Insert(_, object) | Change::Update(_, object) => {
                    assert_eq!(object, objects[shown]);
                }
                Change::Delete(..) => panic!("{change:?}"),
                Change::Reset | Change::SnapshotStart | Change::SnapshotEnd => {}
            }
        }
        offset = part.offset;
    }
}

#[tokio::test]
async fn a_copy_of_newer_rules_is_reset_by_older_ones_and_again_by_the_newer() {
    let database = Cluster::shared().database();
    let (rules_a, rules_b) = (rules_file(&rules("a", 0)), rules_file(&rules("b", 1)));
    let start = async |file: &SettingFile| {
        Stopped::on(Some(database.clone()), &[file.variable()]).start().await
    };
    let (older, newer) = (start(&rules_a).await, start(&rules_b).await);
    let client = newer.client().await;
    let of_older = client.at(&older);
    let all = Key::new("", "", "");
    client.watch(&all).await;
    let hidden =
        Object { owner: "nobody".to_owned(), ..Object::new(&Key::new("t", "a", "1"), "{}") };
    of_older.set(&hidden).await;
    let place = client.part(&all, "").await;
    let Part { offset, .. } = &place;
    let query = format!("?offset={offset}");
    let by_older = [
        of_older.part(&all, &query).await,
        of_older.part(&all, &format!("{query}&live=long-poll")).await,
    ];
    for part in &by_older {
        assert!(
            matches!(
                part.changes[..],
                [Change::Reset, Change::SnapshotStart, Change::Insert(..), Change::SnapshotEnd]
            ),
            "{part:?}"
        );
        assert!(!part.up_to_date && part.exact().is_none(), "{part:?}");
    }
    let mut stream = of_older.stream(&all, offset).await;
    let told = stream.next().await.unwrap();
    assert!(told.changes.is_empty() && !told.up_to_date, "the reset comes later: {told:?}");
    assert_eq!(stream.next_change().await, Change::Reset);
    let another = Object { key: Key::new("t", "a", "2"), ..hidden };
    of_older.set(&another).await;
    let offset_of_older = &by_older[1].offset;
    for _ in 0..2 {
        let begun = Instant::now();
        let query = format!("?offset={offset_of_older}&live=long-poll");
        let part = of_older.part(&all, &query).await;
        assert!(!part.changes.is_empty() && part.offset == *offset_of_older, "{part:?}");
        assert!(begun.elapsed() >= Duration::from_secs(1), "the client would ask again at once");
    }
    for Part { offset: older, .. } in by_older.into_iter().chain([told]) {
        assert!(older < *offset);
        let reset = client.part(&all, &format!("?offset={older}")).await;
        assert_eq!(reset.changes, [Change::Reset, Change::SnapshotStart, Change::SnapshotEnd]);
    }
    let since = place.exact().unwrap();
    let query = format!("?events=true&initial=true&marks=true&since={since}");
    let mut socket = of_older.socket_with(&query).await;
    assert!(matches!(socket.next_event().await, Event::Reset(_)));
}

#[tokio::test]
async fn rules_that_are_withdrawn_stop_no_stream() {
    let file = rules_file(&rules("a", 0));
    let service = service(&file).await;
    let client = service.client().await;
    let mut stream = client.stream(&Key::new("", "", ""), "now").await;
    for generation in [1, 0, 1, 0] {
        file.replace(&rules(["a", "b"][generation], generation));
        applied(&client, &generation.to_string()).await;
        while stream.next_change().await != Change::SnapshotEnd {}
    }
}

#[tokio::test]
async fn new_rules_reset_only_streams_that_show_other_objects() {
    let rules = |types: &[&str], generation: usize| {
        let rule = |kind: &&str| {
            format!("[[rule]]\nwho = [\"*\"]\nmay = {ACTIONS:?}\nType = \"{kind}\"\n")
        };
        let probe = format!("probe\"\nName = \"{generation}");
        types.iter().chain([&&*probe]).map(rule).collect::<String>()
    };
    let file = rules_file(&rules(&["board"], 0));
    let service = service(&file).await;
    let client = service.client().await;
    let [board, all] = ["board", ""].map(|kind| Key::new(kind, "", ""));
    client.watch(&board).await;
    let object = Object::new(&Key::new("board", "a", "a"), "{}");
    let mut socket = client.socket_with("?events=true").await;
    let set = revision(&client.set(&object).await);
    assert_eq!(socket.next_event().await, Event::Set(set, object.clone()));
    let mut of_board = client.stream(&board, "now").await;
    let mut of_all = client.stream(&all, "now").await;
    for (generation, types) in
        [&["board", "hand"][..], &["hand", "board", "board"]].iter().enumerate()
    {
        file.replace(&rules(types, generation + 1));
        applied(&client, &(generation + 1).to_string()).await;
        let changed = object.numbered(generation);
        let set = revision(&client.set(&changed).await);
        assert_eq!(of_board.next_change().await, Change::Update(set, changed.clone()));
        assert_eq!(socket.next_event().await, Event::Set(set, changed.clone()));
        // The probe of each generation is an object that only this stream could show.
        while of_all.next_change().await != Change::Reset {}
        while of_all.next_change().await != Change::SnapshotEnd {}
    }
}

#[tokio::test]
async fn sighup_reads_the_rules_and_reports_the_result() {
    let file = rules_file(&rules("a", 0));
    let service = service(&file).await;
    let client = service.client().await;
    let logged = async |part: &str, count: usize| {
        let found = async {
            while service.process().log().iter().filter(|line| line.contains(part)).count() < count
            {
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(DEADLINE, found).await.unwrap_or_else(|_| panic!("{part:?} is not logged again"));
    };
    service.process().signal("HUP").await;
    logged("access rules read", 2).await;
    file.replace("[[rule]");
    logged("OBJSTORE_RULES_FILE", 1).await;
    service.process().signal("HUP").await;
    logged("OBJSTORE_RULES_FILE", 2).await;
    file.replace(&rules("b", 1));
    service.process().signal("HUP").await;
    applied(&client, "1").await;
    service.stop().await;
}
