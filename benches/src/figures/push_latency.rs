//! From a set to its push, at a steady rate that leaves the machine mostly idle.

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
/// Connections that set, each one set every `SETTERS` milliseconds.
const SETTERS: u64 = 32;
const SETS_A_SECOND: u64 = 1_000;

/// Sockets that each watch a key of their own, and sets of these keys at a steady rate.
#[derive(Deserialize, Serialize)]
pub(crate) struct PushLatency {
    address: SocketAddr,
    /// Where they are set.
    setters: SocketAddr,
    pid: u32,
    sockets: usize,
    warm_up: Duration,
    measured: Duration,
}

/// What came of it.
#[derive(Deserialize, Serialize)]
pub(crate) struct Pushed {
    /// Pushes a second.
    rate: f64,
    /// From before a set is sent, or from when it was due if that was earlier, until its push is there.
    push: Latency,
    /// From there until the set's own answer is there.
    set: Latency,
    busy: Busy,
}

/// Measures the latency of pushes.
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
        let pushed = load::elsewhere(&load, Duration::from_secs(60)).await?;
        rate.add(pushed.rate);
        p99.add(pushed.push.p99);
        p999.add(pushed.push.p999);
        pushes.push(pushed.push);
        sets.push(pushed.set);
        busy.push(pushed.busy);
    }
    let figure = format!(
        "Set to push, {} sets a second, {} sockets",
        count(SETS_A_SECOND as f64),
        count(bench.scale.sockets as f64)
    );
    let row = Row::ours(figure.clone(), "objstore-svc, push")
        .rate(&rate)
        .latency(&pushes)
        .busy(&busy)
        .steady();
    table.row(row.note(format!("p99.9 {:.1} ms", p999.median())).at_most(
        p99.median(),
        10.0,
        " ms p99",
    ));
    table.row(Row::ours(figure, "objstore-svc, answer to the set").latency(&sets).steady());
    Ok(())
}

/// Measures the latency of pushes through another replica than that of the sets.
pub(crate) async fn across(
    bench: &Bench,
    table: &mut Table,
    replicas: &[Server; 3],
    longest: f64,
) -> Result<()> {
    let (mut rate, mut p99, mut pushes) = (Spread::default(), Spread::default(), Vec::new());
    for _ in 0..bench.scale.rounds {
        let load = PushLatency {
            address: replicas[1].address,
            setters: replicas[2].address,
            pid: replicas[1].pid,
            sockets: bench.scale.sockets,
            warm_up: bench.scale.warm_up,
            measured: bench.scale.measured * 2,
        };
        let pushed = load::elsewhere(&load, Duration::from_secs(60)).await?;
        rate.add(pushed.rate);
        p99.add(pushed.push.p99);
        pushes.push(pushed.push);
    }
    let rate_of_sets = count(SETS_A_SECOND as f64);
    let figure = format!("Set to push through another replica, {rate_of_sets} sets a second");
    let row =
        Row::ours(figure, "objstore-svc on PostgreSQL, push").rate(&rate).latency(&pushes).steady();
    table.row(row.at_most(p99.median(), longest, " ms p99"));
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
        let course = Arc::new(Course::new(&self, templates)?);
        let mut receivers = JoinSet::new();
        for socket in sockets {
            receivers.spawn(receive(socket, Arc::clone(&course)));
        }
        tokio::select! {
            ended = all(receivers) => ended.and(Err(anyhow!("a socket ended"))),
            pushed = self.drive(&course) => pushed,
        }
    }
}

impl PushLatency {
    async fn drive(&self, course: &Arc<Course>) -> Result<Pushed> {
        let mut setters = JoinSet::new();
        for index in 0..SETTERS {
            let line = Line::open(self.setters).await?;
            setters.spawn(set(line, index, Arc::clone(course)));
        }
        let (busy, ()) = tokio::try_join!(course.pushes.window.busy(self.pid, None), all(setters))?;
        timeout(Duration::from_secs(10), course.finished())
            .await
            .context("pushes are missing 10 s after the last set")?;
        Ok(Pushed {
            rate: course.pushes.rate(),
            push: course.pushes.latency(),
            set: course.answers.latency(),
            busy,
        })
    }
}

/// What setters and sockets share.
struct Course {
    /// Stamps are nanoseconds since then.
    epoch: Instant,
    templates: Vec<Template>,
    pushes: Tally,
    answers: Tally,
    sets: AtomicU64,
    delivered: AtomicU64,
}

impl Course {
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

/// Sets at its own steady pace. One that cannot be sent when it is due, because the last is not answered, still counts from then.
async fn set(mut line: Line, index: u64, course: Arc<Course>) -> Result<()> {
    let mut numbers = Numbers::new(index, u64::try_from(course.templates.len())?);
    let mut pace = Pace::share(course.epoch, index, SETTERS, SETS_A_SECOND);
    loop {
        let begun = pace.next().await;
        if begun >= course.pushes.window.closes {
            return Ok(());
        }
        let template = &course.templates[usize::try_from(numbers.draw())?];
        line.exchange(template, u64::try_from((begun - course.epoch).as_nanos())?).await?;
        course.answers.note(begun);
        course.sets.fetch_add(1, Relaxed);
    }
}

async fn receive(mut socket: Socket, course: Arc<Course>) -> Result<()> {
    loop {
        socket
            .receive(|push| {
                course.pushes.note(course.epoch + Duration::from_nanos(object::stamp(push)?));
                course.delivered.fetch_add(1, Relaxed);
                Ok(())
            })
            .await?;
    }
}
