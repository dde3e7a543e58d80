//! The figures that each service holds with the memory that docker-compose.yml gives it.

use std::{fs, thread, time::Duration};

use blackbox::{
    authsvc,
    cgroup::{Group, granted},
    objstore, payments,
    raw::{Connection, get},
};
use serde_json::Value;
use tokio::{
    runtime::Builder,
    sync::{Mutex, MutexGuard, oneshot},
    time::{Instant, sleep},
};

use crate::{
    load::{self, Large, Pace, Unread},
    subject::{Kind, Subject},
};

/// Open files of a service, and of the tests.
const FILES: u32 = 20_000;

/// The time within which a well-behaved user is answered, on a machine that is not busy.
const SOON: Duration = Duration::from_secs(1);

/// The pause between two requests of who behaves.
const PAUSE: Duration = Duration::from_millis(150);

/// How often the memory is looked at.
const SAMPLE_EVERY: Duration = Duration::from_millis(20);

/// One at a time: each needs the files and the processors.
static TURN: Mutex<()> = Mutex::const_new(());

/// Bytes of memory that docker-compose.yml gives a service.
fn memory(kind: Kind) -> u64 {
    let compose: Value =
        serde_norway::from_str(include_str!("../../../docker-compose.yml")).unwrap();
    let program = match kind {
        Kind::Authsvc => authsvc::PROGRAM,
        Kind::Objstore => objstore::PROGRAM,
        Kind::Payments => payments::PROGRAM,
    };
    let limit = compose["services"][program]["mem_limit"].as_str().unwrap();
    let (number, unit) = limit.split_at(limit.len() - 1);
    let mebibytes: u64 = match unit {
        "m" => 1,
        "g" => 1024,
        _ => panic!("an unknown unit: {limit}"),
    };
    number.parse::<u64>().unwrap() * mebibytes * 1024 * 1024
}

/// A service in a place of its size.
struct Place {
    subject: Subject,
    limit: u64,
    /// None where the machine lets no group be made. Then only what the process holds is looked at.
    group: Option<Group>,
    /// The last member: the service ends before it is somebody else's turn.
    _turn: MutexGuard<'static, ()>,
}

impl Place {
    async fn new(kind: Kind) -> Self {
        let turn = TURN.lock().await;
        rlimit::increase_nofile_limit(FILES.into()).unwrap();
        let limit = memory(kind);
        let group = Group::new(limit);
        let wrap = |command| granted(&command, FILES, group.as_ref());
        let subject = Subject::wrapped(kind, &[], wrap).await;
        Self { subject, limit, group, _turn: turn }
    }

    /// Bytes that the service uses now.
    fn used(&self) -> u64 {
        let resident = self.subject.process().resident().expect("the service runs");
        resident.max(self.group.as_ref().map_or(0, Group::used))
    }

    /// Bears a load that comes steadily and then all at once. Whoever behaves is answered soon while
    /// it comes steadily, and at all when it comes at once: that takes the processors, too.
    async fn bears<L: Future<Output = ()> + Send + 'static>(
        self,
        what: &str,
        load: impl Fn(Pace) -> L,
    ) {
        self.serves_during(what, load(Pace::Steady)).await;
        self.stands(&format!("{what} at once"), load(Pace::Burst)).await;
    }

    /// Bears a load, and answers whoever behaves soon.
    async fn serves_during(&self, what: &str, load: impl Future<Output = ()> + Send + 'static) {
        let (user, late, busyness) = self.stands(what, load).await;
        // A machine that is busy with something else, or stalls, answers nobody sooner.
        let slowest = user.slowest_health.max(user.slowest_request);
        let soon = SOON.mul_f64(busyness) + late;
        assert!(slowest < soon, "{what}: {slowest:?}, the machine late by {late:?}");
    }

    /// Runs a load on a thread of its own, while somebody uses the service. Returns what they saw,
    /// how late the machine was, and how busy.
    #[expect(clippy::print_stdout, reason = "the figures are of interest")]
    async fn stands(
        &self,
        what: &str,
        load: impl Future<Output = ()> + Send + 'static,
    ) -> (User, Duration, f64) {
        let before = self.used();
        let (done, is_over) = oneshot::channel();
        let loading = thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(load);
            // Connections are closed before.
            drop(runtime);
            let _ = done.send(());
        });
        let mut watch = Watch { most: before, ..Watch::default() };
        let mut user = User::default();
        tokio::select! {
            _ = is_over => {}
            () = watch.look_at(self) => {}
            () = user.visit_again_and_again(&self.subject) => {}
        }
        loading.join().expect("the load is borne");
        user.visit(&self.subject).await;
        let mib = |bytes: u64| bytes / 1024 / 1024;
        let (before, limit) = (mib(before), mib(self.limit));
        let (most, late) = (mib(watch.most), watch.late);
        let peak = self.group.as_ref().and_then(Group::peak).map(mib);
        println!(
            "{what}: {before} MiB, at most {most} of {limit} MiB (with files {peak:?}); {user:?}, \
             the machine late by {late:?}"
        );
        assert!(watch.most < self.limit / 10 * 8, "{what}: {most} of {limit} MiB");
        (user, late, watch.busyness())
    }
}

/// Threads on this machine that run or could, now.
fn running() -> u32 {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let running = load.split(' ').nth(3).and_then(|field| field.split('/').next());
    running.and_then(|running| running.parse().ok()).unwrap_or(1)
}

/// Measurements during a load.
#[derive(Debug, Default)]
struct Watch {
    /// Bytes that the service used.
    most: u64,
    /// How much later than it should a timer of these tests fired.
    late: Duration,
    /// Samples, and the threads that could run in all of them.
    samples: u32,
    running: u32,
}

impl Watch {
    /// How many threads wanted each processor on average, but at least one.
    fn busyness(&self) -> f64 {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let cores = f64::from(u32::try_from(cores).unwrap());
        (f64::from(self.running) / f64::from(self.samples.max(1)) / cores).max(1.0)
    }

    async fn look_at(&mut self, place: &Place) {
        loop {
            self.most = self.most.max(place.used());
            self.samples += 1;
            self.running += running();
            let begun = Instant::now();
            sleep(SAMPLE_EVERY).await;
            self.late = self.late.max(begun.elapsed().saturating_sub(SAMPLE_EVERY));
        }
    }
}

/// A well-behaved user.
#[derive(Debug, Default)]
struct User {
    visits: usize,
    slowest_health: Duration,
    slowest_request: Duration,
}

impl User {
    async fn visit_again_and_again(&mut self, subject: &Subject) {
        loop {
            self.visit(subject).await;
            sleep(PAUSE).await;
        }
    }

    /// Asks each on a new connection, and has to get an answer.
    async fn visit(&mut self, subject: &Subject) {
        let begun = Instant::now();
        let health = Connection::open(subject.address()).await.ask(get("/health")).await;
        assert_eq!(health.status, 200, "{health:?}");
        self.slowest_health = self.slowest_health.max(begun.elapsed());
        let begun = Instant::now();
        subject.ordinary().run().await;
        self.slowest_request = self.slowest_request.max(begun.elapsed());
        self.visits += 1;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn authsvc_bears_unfinished_sign_ins() {
    let place = Place::new(Kind::Authsvc).await;
    let to = place.subject.address();
    place
        .bears("authsvc, unfinished sign-ins", |pace| {
            load::unfinished(to, "/authenticate", 60_000, pace)
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objstore_bears_unfinished_registrations() {
    let place = Place::new(Kind::Objstore).await;
    let to = place.subject.address();
    place
        .bears("objstore, unfinished registrations", |pace| {
            load::unfinished(to, "/register", 1024 * 1024, pace)
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_bears_unfinished_transactions() {
    let place = Place::new(Kind::Payments).await;
    let to = place.subject.ordinary().to;
    place
        .bears("payments, unfinished transactions", |pace| {
            load::unfinished(to, "/transactions", 60_000, pace)
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_bears_unfinished_merchants_of_strangers() {
    let place = Place::new(Kind::Payments).await;
    let to = place.subject.address();
    place
        .bears("payments, unfinished merchants", |pace| {
            load::unfinished(to, "/merchants", 60_000, pace)
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn authsvc_bears_unfinished_heads() {
    let place = Place::new(Kind::Authsvc).await;
    let to = place.subject.address();
    place.bears("authsvc, unfinished heads", |pace| load::unfinished_heads(to, pace)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objstore_bears_unfinished_heads() {
    let place = Place::new(Kind::Objstore).await;
    let to = place.subject.address();
    place.bears("objstore, unfinished heads", |pace| load::unfinished_heads(to, pace)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_bears_unfinished_heads() {
    let place = Place::new(Kind::Payments).await;
    let to = place.subject.address();
    place.bears("payments, unfinished heads", |pace| load::unfinished_heads(to, pace)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn authsvc_bears_idle_connections() {
    let place = Place::new(Kind::Authsvc).await;
    let to = place.subject.address();
    place.bears("authsvc, idle connections", |pace| load::idle(to, pace)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objstore_bears_idle_connections() {
    let place = Place::new(Kind::Objstore).await;
    let to = place.subject.address();
    place.bears("objstore, idle connections", |pace| load::idle(to, pace)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_bears_idle_connections() {
    let place = Place::new(Kind::Payments).await;
    let to = place.subject.address();
    place.bears("payments, idle connections", |pace| load::idle(to, pace)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objstore_bears_sockets_that_ping_and_never_read() {
    let place = Place::new(Kind::Objstore).await;
    let Subject::Objstore(_, client) = &place.subject else { unreachable!() };
    let load = load::pinging(place.subject.address(), client.token().to_owned());
    place.serves_during("objstore, pings", load).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objstore_bears_sockets_that_never_read_their_pushes() {
    let place = Place::new(Kind::Objstore).await;
    let Subject::Objstore(service, _) = &place.subject else { unreachable!() };
    let load = Unread::new(service).await.run();
    place.serves_during("objstore, unread pushes", load).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objstore_bears_large_answers_that_nobody_takes() {
    let place = Place::new(Kind::Objstore).await;
    let Subject::Objstore(service, _) = &place.subject else { unreachable!() };
    let load = Large::new(service).await.ask();
    place.serves_during("objstore, large answers", load).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objstore_bears_large_pushes_that_nobody_reads() {
    let place = Place::new(Kind::Objstore).await;
    let Subject::Objstore(service, _) = &place.subject else { unreachable!() };
    let load = Large::new(service).await.push();
    place.serves_during("objstore, large pushes", load).await;
}
