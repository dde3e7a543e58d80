//! Each service withstands thousands of hostile connections within the memory that
//! docker-compose.yml gives it, and keeps answering a well-behaved user.

use std::{collections::VecDeque, fs, net::SocketAddr, thread, time::Duration};

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

/// The limit of open files of a service, and of the tests.
const FILES: u32 = 20_000;

/// Limit for an answer to a well-behaved user, on an idle machine.
const SOON: Duration = Duration::from_secs(1);

/// The pause between two visits of the well-behaved user.
const PAUSE: Duration = Duration::from_millis(150);

/// Attempts of a user who repeats a request.
const ATTEMPTS: u32 = 10;

/// The interval of memory samples.
const SAMPLE_EVERY: Duration = Duration::from_millis(20);

/// Samples in a second.
const SECOND: usize = 50;

/// Runs one test of memory or load at a time, because each needs the open files and the processors.
pub(crate) static TURN: Mutex<()> = Mutex::const_new(());

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

/// A service within its limits of memory and open files.
struct Place {
    subject: Subject,
    limit: u64,
    /// `None` if this user may not create groups. Then only the resident memory is measured.
    group: Option<Group>,
    /// Has to be the last member: the service ends before the next test starts.
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

    /// Bytes in use.
    fn used(&self) -> u64 {
        let resident = self.subject.process().resident().expect("the service runs");
        resident.max(self.group.as_ref().map_or(0, Group::used))
    }

    /// Runs a load steadily, then as a burst. The user has to be answered soon during the steady
    /// load. During the burst, any answer is enough, because the load also takes the processors. It
    /// may also need several connections: the service closes the one that is idle longest, which
    /// can be one whose request it has not read yet.
    async fn bears<L: Future<Output = ()> + Send + 'static>(
        self,
        what: &str,
        load: impl Fn(Pace) -> L,
    ) {
        self.serves_during(what, load(Pace::Steady)).await;
        let user = User { repeats: true, ..User::default() };
        self.run(&format!("{what} at once"), user, load(Pace::Burst)).await;
    }

    /// Runs a load, during which the user has to be answered soon.
    async fn serves_during(&self, what: &str, load: impl Future<Output = ()> + Send + 'static) {
        let (user, late, busyness) = self.run(what, User::default(), load).await;
        // The limit grows with the load and the stalls of the machine, which delay every answer.
        let slowest = user.slowest_health.max(user.slowest_request);
        let soon = SOON.mul_f64(busyness) + late;
        assert!(slowest < soon, "{what}: {slowest:?}, the machine late by {late:?}");
    }

    /// Runs a load on another thread, while a user uses the service. Returns the user's times, the
    /// greatest delay of a timer, and how busy the machine was.
    #[expect(clippy::print_stdout, reason = "the output shows the measured memory and times")]
    async fn run(
        &self,
        what: &str,
        mut user: User,
        load: impl Future<Output = ()> + Send + 'static,
    ) -> (User, Duration, f64) {
        let before = self.used();
        let (done, is_over) = oneshot::channel();
        let loading = thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(load);
            // Closes the connections before the end is reported.
            drop(runtime);
            let _ = done.send(());
        });
        let mut watch = Watch { most: before, ..Watch::default() };
        tokio::select! {
            _ = is_over => {}
            () = watch.measure(self) => {}
            () = user.visit_repeatedly(&self.subject) => {}
        }
        loading.join().expect("the load completes");
        user.visit(&self.subject).await;
        let to_mib = |bytes: u64| bytes / 1024 / 1024;
        let (before, limit) = (to_mib(before), to_mib(self.limit));
        let (most, late) = (to_mib(watch.most), watch.late);
        let peak = self.group.as_ref().and_then(Group::peak).map(to_mib);
        println!(
            "{what}: {before} MiB, at most {most} of {limit} MiB (with files {peak:?}); {user:?}, \
             the machine late by {late:?}"
        );
        assert!(watch.most < self.limit / 10 * 8, "{what}: {most} of {limit} MiB");
        (user, late, watch.busyness())
    }
}

/// Runnable threads on this machine.
fn running() -> u32 {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let running = load.split(' ').nth(3).and_then(|field| field.split('/').next());
    running.and_then(|running| running.parse().ok()).unwrap_or(1)
}

/// Measurements during a load.
#[derive(Debug, Default)]
struct Watch {
    /// The peak of the service's memory in bytes.
    most: u64,
    /// The greatest delay of a timer.
    late: Duration,
    /// Runnable threads in the last [`SECOND`] samples, and the greatest sum of that many.
    recent: VecDeque<u32>,
    busiest: u32,
}

impl Watch {
    /// Runnable threads per processor in the busiest second, but at least one. The average of the
    /// whole load is no measure: the slowest answer falls into a second when other tests work.
    fn busyness(&self) -> f64 {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let samples = u32::try_from(cores * SECOND).unwrap();
        (f64::from(self.busiest) / f64::from(samples)).max(1.0)
    }

    async fn measure(&mut self, place: &Place) {
        loop {
            self.most = self.most.max(place.used());
            self.recent.push_back(running());
            if self.recent.len() > SECOND {
                self.recent.pop_front();
            }
            self.busiest = self.busiest.max(self.recent.iter().sum());
            let begun = Instant::now();
            sleep(SAMPLE_EVERY).await;
            self.late = self.late.max(begun.elapsed().saturating_sub(SAMPLE_EVERY));
        }
    }
}

/// The visits of a well-behaved user, and the slowest answers.
#[derive(Debug, Default)]
struct User {
    /// Repeats a request whose connection ends without an answer.
    repeats: bool,
    visits: usize,
    slowest_health: Duration,
    slowest_request: Duration,
}

impl User {
    async fn visit_repeatedly(&mut self, subject: &Subject) {
        loop {
            self.visit(subject).await;
            sleep(PAUSE).await;
        }
    }

    /// Sends a health check and an ordinary request, each on a new connection. Both have to
    /// succeed.
    async fn visit(&mut self, subject: &Subject) {
        let health = self.answer_time(subject.address(), get("/health"), 200).await;
        self.slowest_health = self.slowest_health.max(health);
        let ordinary = subject.ordinary();
        let request = self.answer_time(ordinary.to, ordinary.request(), ordinary.status).await;
        self.slowest_request = self.slowest_request.max(request);
        self.visits += 1;
    }

    /// How long the answer to a request on a new connection takes. The time to connect does not
    /// count: if a busy machine lets a service accept fewer connections than come, the system delays
    /// new ones by seconds.
    async fn answer_time(
        &self,
        to: SocketAddr,
        request: impl AsRef<[u8]>,
        status: u16,
    ) -> Duration {
        let mut attempts = if self.repeats { ATTEMPTS } else { 1 };
        loop {
            let mut connection = Connection::open(to).await;
            let begun = Instant::now();
            attempts -= 1;
            match connection.try_ask(&request).await {
                Ok(reply) => {
                    assert_eq!(reply.status, status, "{reply:?}");
                    return begun.elapsed();
                }
                Err(error) => assert!(attempts > 0, "{error}"),
            }
        }
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
async fn objstore_bears_sockets_and_streams_that_never_read_their_changes() {
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
async fn objstore_survives_large_pushes_that_nobody_reads() {
    let place = Place::new(Kind::Objstore).await;
    let Subject::Objstore(service, _) = &place.subject else { unreachable!() };
    let load = Large::new(service).await.push();
    place.serves_during("objstore, large pushes", load).await;
}
