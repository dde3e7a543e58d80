//! Deliveries per second if every socket watches every change. Each change must arrive at each
//! socket once, and in the same order at all sockets.

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
/// Connections that set. Each sets a different object.
const SETTERS: u64 = 32;
/// Changes in flight. A set waits until the slowest socket has received the change that many sets
/// before.
const MAX_IN_FLIGHT: usize = 256;
/// Limit of changes per job.
const MAX_CHANGES: usize = 1 << 20;
/// Numbers per setter. A number divided by this is the index of the setter.
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

#[derive(Deserialize, Serialize)]
pub(crate) struct Watched {
    /// Deliveries per second.
    rate: f64,
    /// Size of one push.
    push_bytes: usize,
    busy: Busy,
}

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
        let watched = load::run_in_child(&watch, Duration::from_secs(90)).await?;
        rate.add(watched.rate);
        busy.push(watched.busy);
        push_bytes = watched.push_bytes;
    }
    let figure = format!(
        "Deliveries of {push_bytes} B to {} sockets that all watch",
        count(bench.scale.sockets as f64)
    );
    table.row(Row::ours(figure, "objstore-svc").rate(&rate).busy(&busy));
    Ok(())
}

impl Job for Watch {
    const KIND: &'static str = "watch";
    type Outcome = Watched;

    async fn perform(self) -> Result<Watched> {
        let pattern = object::key(object::TYPE, NAMESPACE, "");
        let progress = Arc::new(Progress::new(self.sockets)?);
        let mut sockets = JoinSet::new();
        for cookie in api::enroll(self.address, vec![pattern; self.sockets]).await? {
            let socket = Socket::open(self.address, &cookie).await?;
            sockets.spawn(follow(socket, Arc::clone(&progress)));
        }
        tokio::select! {
            ended = all(sockets) => ended.and(Err(anyhow!("a socket ended"))),
            watched = self.drive(&progress) => watched,
        }
    }
}

impl Watch {
    async fn drive(&self, progress: &Arc<Progress>) -> Result<Watched> {
        let window = Window::after(self.warm_up, self.measured);
        let cookie = api::session(self.address).await?;
        let mut setters = JoinSet::new();
        for setter in 0..SETTERS {
            let line = Line::open(self.address).await?;
            let template = Template::new(&Call::set(&cookie, push(setter)), None)?;
            let setter = Setter { line, template, next: setter * NUMBERS };
            setters.spawn(setter.run(window.closes, Arc::clone(progress)));
        }
        let (busy, delivered, ()) = tokio::try_join!(
            window.busy(self.pid, &[]),
            async { Ok(window.growth(&progress.delivered).await) },
            all(setters)
        )?;
        timeout(Duration::from_secs(30), progress.finished())
            .await
            .context("pushes are missing 30 s after the last set")?;
        progress.check_order()?;
        Ok(Watched { rate: window.rate(delivered), push_bytes: push(0).len(), busy })
    }
}

/// Returns the object of a setter, which is also the push: 300 B.
fn push(setter: u64) -> String {
    object::object(NAMESPACE, &format!("{setter:02}"), &object::stamped_value(219))
}

/// A connection that sets the same object repeatedly.
struct Setter {
    line: Line,
    template: Template,
    next: u64,
}

impl Setter {
    async fn run(mut self, closes: Instant, progress: Arc<Progress>) -> Result<()> {
        while Instant::now() < closes {
            progress.permits.acquire().await?.forget();
            self.line.exchange(&self.template, self.next).await?;
            progress.sets.fetch_add(1, Relaxed);
            self.next += 1;
        }
        Ok(())
    }
}

async fn follow(mut socket: Socket, progress: Arc<Progress>) -> Result<()> {
    let mut position = 0;
    loop {
        let before = position;
        socket
            .receive(|push| {
                progress.arrive(position, object::stamp(push)?)?;
                position += 1;
                Ok(())
            })
            .await?;
        progress.delivered.fetch_add(u64::try_from(position - before)?, Relaxed);
    }
}

/// The common order of the changes, and the progress of the sockets.
struct Progress {
    sockets: u32,
    /// For each position: the number of the change plus one, as the first socket received it. 0 if
    /// no socket has received a change at this position.
    order: Vec<AtomicU64>,
    /// For each position: the number of sockets that have received the change.
    arrived: Vec<AtomicU32>,
    delivered: AtomicU64,
    sets: AtomicU64,
    /// A permit per set. A set takes one. It is added again when all sockets have the change.
    permits: Semaphore,
}

impl Progress {
    fn new(sockets: usize) -> Result<Self> {
        Ok(Self {
            sockets: u32::try_from(sockets)?,
            order: (0..MAX_CHANGES).map(|_| AtomicU64::new(0)).collect(),
            arrived: (0..MAX_CHANGES).map(|_| AtomicU32::new(0)).collect(),
            delivered: AtomicU64::new(0),
            sets: AtomicU64::new(0),
            permits: Semaphore::new(MAX_IN_FLIGHT),
        })
    }

    fn arrive(&self, position: usize, number: u64) -> Result<()> {
        let order = self.order.get(position).context("more changes than the limit of a job")?;
        if let Err(seen) = order.compare_exchange(0, number + 1, Relaxed, Relaxed) {
            ensure!(
                seen == number + 1,
                "change {position} is {number} at one socket and {} at another",
                seen - 1
            );
        }
        if self.arrived[position].fetch_add(1, Relaxed) + 1 == self.sockets {
            self.permits.add_permits(1);
        }
        Ok(())
    }

    async fn finished(&self) {
        while self.delivered.load(Relaxed) < self.sets.load(Relaxed) * u64::from(self.sockets) {
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Checks that every set was pushed once, and that the sets of each setter kept their order.
    fn check_order(&self) -> Result<()> {
        let sets = usize::try_from(self.sets.load(Relaxed))?;
        ensure!(self.order[sets].load(Relaxed) == 0, "more pushes than sets");
        let mut next: HashMap<u64, u64> = HashMap::new();
        for slot in &self.order[..sets] {
            let number = slot.load(Relaxed) - 1;
            let expected = next.entry(number / NUMBERS).or_default();
            ensure!(
                number % NUMBERS == *expected,
                "setter {}: number {number} was pushed instead of {expected}",
                number / NUMBERS
            );
            *expected += 1;
        }
        Ok(())
    }
}
