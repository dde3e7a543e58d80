//! Latency from a set to its push, at a steady rate that leaves the machine mostly idle.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow};
use serde::{Deserialize, Serialize};
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{
    figures::Bench,
    load::{
        self, Job, all, api,
        exchange::Numbers,
        line::{Call, Line, Template},
        object,
        socket::Socket,
        window::{Busy, Latency, Pace, Tally, Window},
    },
    peers::{self, server::Server},
    report::{Row, Spread, Table, count},
};

const NAMESPACE: &str = "push";
/// Connections that set. Each sends a set every `SETTERS` milliseconds.
const SETTERS: u64 = 32;
const SETS_PER_SECOND: u64 = 1_000;

/// Sockets that each watch a different key, and sets of these keys at a steady rate.
#[derive(Deserialize, Serialize)]
pub(crate) struct PushLatency {
    /// The replica of the sockets.
    address: SocketAddr,
    /// The replica of the sets.
    setters: SocketAddr,
    pid: u32,
    sockets: usize,
    warm_up: Duration,
    measured: Duration,
}

#[derive(Deserialize, Serialize)]
pub(crate) struct Pushed {
    /// Pushes per second.
    rate: f64,
    /// From before a set is sent, or from when it was due if that was earlier, until its push
    /// arrives.
    push: Latency,
    /// From the same start until the answer to the set arrives.
    set: Latency,
    busy: Busy,
}

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let (mut rate, mut p99, mut p999) = (Spread::default(), Spread::default(), Spread::default());
    let (mut pushes, mut sets, mut busy) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bench.scale.rounds {
        let server = peers::objstore(bench).await?;
        let load = PushLatency {
            address: server.address,
            setters: server.address,
            pid: server.pid,
            sockets: bench.scale.sockets,
            warm_up: bench.scale.warm_up,
            measured: bench.scale.measured * 2,
        };
        let pushed = load::run_in_child(&load, Duration::from_secs(60)).await?;
        rate.add(pushed.rate);
        p99.add(pushed.push.p99);
        p999.add(pushed.push.p999);
        pushes.push(pushed.push);
        sets.push(pushed.set);
        busy.push(pushed.busy);
    }
    let figure = format!(
        "Set to push, {} sets a second, {} sockets",
        count(SETS_PER_SECOND as f64),
        count(bench.scale.sockets as f64)
    );
    let row = Row::ours(figure.clone(), "objstore-svc, push")
        .rate(&rate)
        .latency(&pushes)
        .busy(&busy)
        .steady();
    table.row(row.note(format!("p99.9 {:.1} ms", p999.median())));
    table.row(Row::ours(figure, "objstore-svc, answer to the set").latency(&sets).steady());
    Ok(())
}

/// Measures the latency if sets and sockets use different replicas.
pub(crate) async fn across(bench: &Bench, table: &mut Table, replicas: &[Server; 3]) -> Result<()> {
    let (mut rate, mut pushes) = (Spread::default(), Vec::new());
    for _ in 0..bench.scale.rounds {
        let load = PushLatency {
            address: replicas[1].address,
            setters: replicas[2].address,
            pid: replicas[1].pid,
            sockets: bench.scale.sockets,
            warm_up: bench.scale.warm_up,
            measured: bench.scale.measured * 2,
        };
        let pushed = load::run_in_child(&load, Duration::from_secs(60)).await?;
        rate.add(pushed.rate);
        pushes.push(pushed.push);
    }
    let rate_of_sets = count(SETS_PER_SECOND as f64);
    let figure = format!("Set to push through another replica, {rate_of_sets} sets a second");
    table.row(
        Row::ours(figure, "objstore-svc on PostgreSQL, push").rate(&rate).latency(&pushes).steady(),
    );
    Ok(())
}

impl Job for PushLatency {
    const KIND: &'static str = "push-latency";
    type Outcome = Pushed;

    async fn perform(self) -> Result<Pushed> {
        let names: Vec<String> = (0..self.sockets).map(|index| format!("{index:06}")).collect();
        let patterns =
            names.iter().map(|name| object::key(object::TYPE, NAMESPACE, name)).collect();
        let cookies = api::enroll(self.address, patterns).await?;
        let mut sockets = Vec::new();
        for cookie in &cookies {
            sockets.push(Socket::open(self.address, cookie).await?);
        }
        let cookie = cookies.first().context("no sockets")?;
        let mut templates = Vec::new();
        for name in &names {
            let body = object::object(NAMESPACE, name, &object::stamped_value(256));
            templates.push(Template::new(&Call::set(cookie, body), None)?);
        }
        let progress = Arc::new(Progress::new(&self, templates)?);
        let mut receivers = JoinSet::new();
        for socket in sockets {
            receivers.spawn(receive(socket, Arc::clone(&progress)));
        }
        tokio::select! {
            ended = all(receivers) => ended.and(Err(anyhow!("a socket ended"))),
            pushed = self.drive(&progress) => pushed,
        }
    }
}

impl PushLatency {
    async fn drive(&self, progress: &Arc<Progress>) -> Result<Pushed> {
        let mut setters = JoinSet::new();
        for index in 0..SETTERS {
            let line = Line::open(self.setters).await?;
            setters.spawn(set(line, index, Arc::clone(progress)));
        }
        let (busy, ()) =
            tokio::try_join!(progress.pushes.window.busy(self.pid, &[]), all(setters))?;
        timeout(Duration::from_secs(10), progress.finished())
            .await
            .context("pushes are missing 10 s after the last set")?;
        Ok(Pushed {
            rate: progress.pushes.rate(),
            push: progress.pushes.latency(),
            set: progress.answers.latency(),
            busy,
        })
    }
}

/// State that setters and sockets share.
struct Progress {
    /// Stamps are nanoseconds since this instant.
    epoch: Instant,
    templates: Vec<Template>,
    pushes: Tally,
    answers: Tally,
    sets: AtomicU64,
    delivered: AtomicU64,
}

impl Progress {
    fn new(load: &PushLatency, templates: Vec<Template>) -> Result<Self> {
        let window = Window::after(load.warm_up, load.measured);
        Ok(Self {
            epoch: Instant::now(),
            templates,
            pushes: Tally::new(window)?,
            answers: Tally::new(window)?,
            sets: AtomicU64::new(0),
            delivered: AtomicU64::new(0),
        })
    }

    async fn finished(&self) {
        while self.delivered.load(Relaxed) < self.sets.load(Relaxed) {
            sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Sends sets at a steady rate. The latency of a set is measured from when it is due, even if it is
/// sent later because the previous answer is missing.
async fn set(mut line: Line, index: u64, progress: Arc<Progress>) -> Result<()> {
    let mut numbers = Numbers::new(index, u64::try_from(progress.templates.len())?);
    let mut pace = Pace::share(progress.epoch, index, SETTERS, SETS_PER_SECOND);
    loop {
        let start = pace.next().await;
        if start >= progress.pushes.window.closes {
            return Ok(());
        }
        let template = &progress.templates[usize::try_from(numbers.draw())?];
        line.exchange(template, u64::try_from((start - progress.epoch).as_nanos())?).await?;
        progress.answers.note(start);
        progress.sets.fetch_add(1, Relaxed);
    }
}

async fn receive(mut socket: Socket, progress: Arc<Progress>) -> Result<()> {
    loop {
        socket
            .receive(|push| {
                progress.pushes.note(progress.epoch + Duration::from_nanos(object::stamp(push)?));
                progress.delivered.fetch_add(1, Relaxed);
                Ok(())
            })
            .await?;
    }
}
