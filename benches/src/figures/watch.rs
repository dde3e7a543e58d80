//! Deliveries a second when every socket watches everything: each change goes to all of them, and is checked to arrive once and in order.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, ensure};
use serde::{Deserialize, Serialize};
use tokio::{
    sync::Semaphore,
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{
    figures::Bench,
    load::{
        self, Job, all, api,
        line::{Call, Line, Template},
        object,
        socket::Socket,
        window::{Busy, Window},
    },
    peers,
    report::{Row, Spread, Table, count},
};

const NAMESPACE: &str = "watch";
/// Connections that set, each its own object.
const SETTERS: u64 = 32;
/// Changes that are under way at once: a set waits until the slowest socket has the change that many sets before.
const UNDER_WAY: usize = 256;
/// Changes that a job has room for.
const MOST: usize = 1 << 20;
/// Numbers of one setter.
const NUMBERS: u64 = 1_000_000_000;

/// Sockets that watch one pattern, and sets that match it.
#[derive(Deserialize, Serialize)]
pub(crate) struct Watch {
    address: SocketAddr,
    pid: u32,
    sockets: usize,
    warm_up: Duration,
    measured: Duration,
}

/// What came of it.
#[derive(Deserialize, Serialize)]
pub(crate) struct Watched {
    /// Deliveries a second.
    rate: f64,
    /// Size of one push.
    push_bytes: usize,
    busy: Busy,
}

/// Measures deliveries a second.
pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let (mut rate, mut busy, mut push_bytes) = (Spread::default(), Vec::new(), 0);
    for _ in 0..bench.scale.rounds {
        let server = peers::objstore(bench).await?;
        let watch = Watch {
            address: server.address,
            pid: server.pid,
            sockets: bench.scale.sockets,
            warm_up: bench.scale.warm_up,
            measured: bench.scale.measured,
        };
        let watched = load::elsewhere(&watch, Duration::from_secs(90)).await?;
        rate.add(watched.rate);
        busy.push(watched.busy);
        push_bytes = watched.push_bytes;
    }
    let figure = format!(
        "Deliveries of {push_bytes} B to {} sockets that all watch",
        count(bench.scale.sockets as f64)
    );
    table.row(Row::ours(figure, "objstore-svc").rate(&rate).busy(&busy).at_least(
        rate.median(),
        500_000.0,
        "/s",
    ));
    Ok(())
}

impl Job for Watch {
    const KIND: &'static str = "watch";
    type Outcome = Watched;

    async fn perform(self) -> Result<Watched> {
        let pattern = object::key(object::TYPE, NAMESPACE, "");
        let course = Arc::new(Course::new(self.sockets)?);
        let mut sockets = JoinSet::new();
        for cookie in api::enroll(self.address, vec![pattern; self.sockets]).await? {
            let socket = Socket::open(self.address, &cookie).await?;
            sockets.spawn(follow(socket, Arc::clone(&course)));
        }
        tokio::select! {
            ended = all(sockets) => ended.and(Err(anyhow!("a socket ended"))),
            watched = self.drive(&course) => watched,
        }
    }
}

impl Watch {
    async fn drive(&self, course: &Arc<Course>) -> Result<Watched> {
        let window = Window::after(self.warm_up, self.measured);
        let cookie = api::session(self.address).await?;
        let mut setters = JoinSet::new();
        for setter in 0..SETTERS {
            let line = Line::open(self.address).await?;
            let template = Template::new(&Call::set(&cookie, push(setter)), None)?;
            let setter = Setter { line, template, next: setter * NUMBERS };
            setters.spawn(setter.run(window.closes, Arc::clone(course)));
        }
        let (busy, delivered, ()) = tokio::try_join!(
            window.busy(self.pid, None),
            async { Ok(window.growth(&course.delivered).await) },
            all(setters)
        )?;
        timeout(Duration::from_secs(30), course.finished())
            .await
            .context("pushes are missing 30 s after the last set")?;
        course.check_order()?;
        Ok(Watched { rate: window.rate(delivered), push_bytes: push(0).len(), busy })
    }
}

/// The object that a setter sets, which is what is pushed: 300 B.
fn push(setter: u64) -> String {
    object::object(NAMESPACE, &format!("{setter:02}"), &object::stamped_value(219))
}

/// A connection that sets its own object again and again.
struct Setter {
    line: Line,
    template: Template,
    next: u64,
}

impl Setter {
    async fn run(mut self, closes: Instant, course: Arc<Course>) -> Result<()> {
        while Instant::now() < closes {
            course.free.acquire().await?.forget();
            self.line.exchange(&self.template, self.next).await?;
            course.sets.fetch_add(1, Relaxed);
            self.next += 1;
        }
        Ok(())
    }
}

async fn follow(mut socket: Socket, course: Arc<Course>) -> Result<()> {
    let mut place = 0;
    loop {
        let before = place;
        socket
            .receive(|push| {
                course.arrive(place, object::stamp(push)?)?;
                place += 1;
                Ok(())
            })
            .await?;
        course.delivered.fetch_add(u64::try_from(place - before)?, Relaxed);
    }
}

/// The one order in which every socket has to see the changes.
struct Course {
    sockets: u32,
    /// One more than the number of the change at each place, as the first socket to get there saw it.
    order: Vec<AtomicU64>,
    /// How many sockets have got there.
    arrived: Vec<AtomicU32>,
    delivered: AtomicU64,
    sets: AtomicU64,
    /// Sets that may be made before more changes have arrived everywhere.
    free: Semaphore,
}

impl Course {
    fn new(sockets: usize) -> Result<Self> {
        Ok(Self {
            sockets: u32::try_from(sockets)?,
            order: (0..MOST).map(|_| AtomicU64::new(0)).collect(),
            arrived: (0..MOST).map(|_| AtomicU32::new(0)).collect(),
            delivered: AtomicU64::new(0),
            sets: AtomicU64::new(0),
            free: Semaphore::new(UNDER_WAY),
        })
    }

    fn arrive(&self, place: usize, number: u64) -> Result<()> {
        let order = self.order.get(place).context("more changes than there is room for")?;
        if let Err(seen) = order.compare_exchange(0, number + 1, Relaxed, Relaxed) {
            ensure!(
                seen == number + 1,
                "change {place} is {number} at one socket and {} at another",
                seen - 1
            );
        }
        if self.arrived[place].fetch_add(1, Relaxed) + 1 == self.sockets {
            self.free.add_permits(1);
        }
        Ok(())
    }

    async fn finished(&self) {
        while self.delivered.load(Relaxed) < self.sets.load(Relaxed) * u64::from(self.sockets) {
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Every set once, those of one setter in its order.
    fn check_order(&self) -> Result<()> {
        let sets = usize::try_from(self.sets.load(Relaxed))?;
        ensure!(self.order[sets].load(Relaxed) == 0, "more pushes than sets");
        let mut next: HashMap<u64, u64> = HashMap::new();
        for place in &self.order[..sets] {
            let number = place.load(Relaxed) - 1;
            let expected = next.entry(number / NUMBERS).or_default();
            ensure!(
                number % NUMBERS == *expected,
                "setter {} set {expected} and not yet {number}",
                number / NUMBERS
            );
            *expected += 1;
        }
        Ok(())
    }
}
