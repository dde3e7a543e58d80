//! Latency from a set to its push, at a steady rate that leaves the machine mostly idle.

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use anyhow::Result;
use tokio::task::JoinSet;

use crate::{
    figures::Bench,
    load::{
        self, Job, all, api,
        exchange::Numbers,
        line::{Call, Line, Template},
        object,
        sockets::{Pushes, Sockets, receive_during},
        window::{Pace, Tally, Window},
    },
    peers,
    report::{Round, Table, count},
};

const NAMESPACE: &str = "push";
/// Connections that set.
const SETTERS: u64 = 32;
const SETS_PER_SECOND: u64 = 1_000;

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let [mut pushes, mut answers] = <[Vec<Round>; 2]>::default();
    for _ in 0..bench.scale.rounds {
        let server = peers::objstore(bench).await?;
        let sockets = Sockets { measured: bench.scale.measured * 2, ..bench.sockets(&server) };
        let mut measured = load::run(&Job::PushLatency(sockets)).await?;
        answers.extend(measured.pop());
        pushes.extend(measured);
    }
    let [sets, sockets] = [SETS_PER_SECOND as f64, bench.scale.sockets as f64].map(count);
    let title = format!("Set to push, {sets} sets a second, {sockets} sockets");
    table.row(&title, "objstore-svc, push", &pushes).steady = true;
    let row = table.row(&title, "objstore-svc, answer to the set", &answers);
    (row.steady, row.rate) = (true, None);
    Ok(())
}

/// Performs the job of the load client: each socket watches a different key. Returns a round of the
/// pushes and one of the answers to the sets.
pub(crate) async fn perform(sockets: Sockets) -> Result<Vec<Round>> {
    let names: Vec<_> = (0..sockets.count).map(|index| format!("{index:06}")).collect();
    let patterns: Vec<_> = names.iter().map(|name| object::key(NAMESPACE, name)).collect();
    let cookies = api::enroll(sockets.address, &patterns).await?;
    let mut templates = Vec::new();
    for name in &names {
        let body = object::object(NAMESPACE, name, &object::stamped_value(256));
        templates.push(Template::new(&Call::set(&cookies[0], body), Vec::new())?);
    }
    let opened = sockets.open(&cookies).await?;
    let window = Window::after(sockets.warm_up, sockets.measured);
    let progress = Arc::new(Progress {
        epoch: Instant::now(),
        templates,
        pushes: Pushes::default(),
        latencies: Tally::new(window)?,
        answers: Tally::new(window)?,
    });
    let receiver = || {
        let progress = Arc::clone(&progress);
        move |push: &[u8]| {
            progress.latencies.note(progress.epoch + Duration::from_nanos(object::stamp(push)?));
            progress.pushes.arrived.fetch_add(1, Relaxed);
            Ok(())
        }
    };
    receive_during(opened, receiver, drive(&sockets, &progress)).await
}

async fn drive(sockets: &Sockets, progress: &Arc<Progress>) -> Result<Vec<Round>> {
    let mut setters = JoinSet::new();
    for index in 0..SETTERS {
        let line = Line::open(sockets.address).await?;
        setters.spawn(set(line, index, Arc::clone(progress)));
    }
    let (others, ()) = tokio::try_join!(progress.answers.window.others(), all(setters))?;
    progress.pushes.complete().await?;
    Ok(vec![progress.latencies.round(others), progress.answers.round(others)])
}

/// The state that setters and sockets share.
struct Progress {
    /// Stamps are nanoseconds since this instant.
    epoch: Instant,
    templates: Vec<Template>,
    pushes: Pushes,
    /// From before a set is sent, or from when it was due if that was earlier, until its push.
    latencies: Tally,
    /// From the same start until the answer to the set.
    answers: Tally,
}

/// Sends sets at a steady rate.
async fn set(mut line: Line, index: u64, progress: Arc<Progress>) -> Result<()> {
    let mut numbers = Numbers::new(index, u64::try_from(progress.templates.len())?);
    let mut pace = Pace::share(progress.epoch, index, SETTERS, SETS_PER_SECOND);
    loop {
        let start = pace.next().await;
        if start >= progress.answers.window.closes {
            return Ok(());
        }
        let template = &progress.templates[usize::try_from(numbers.draw())?];
        line.exchange(template, u64::try_from((start - progress.epoch).as_nanos())?).await?;
        progress.answers.note(start);
        progress.pushes.expected.fetch_add(1, Relaxed);
    }
}
