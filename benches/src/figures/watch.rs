//! Deliveries per second if every socket watches every change. Each change must arrive at each
//! socket once, and in the same order at all sockets.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Instant,
};

use anyhow::{Result, ensure};
use tokio::{sync::Semaphore, task::JoinSet};

use crate::{
    figures::Bench,
    load::{
        self, Job, all, api,
        line::{Call, Line, Template},
        object,
        sockets::{Pushes, Sockets, receive_during},
        window::Window,
    },
    peers,
    report::{Round, Table, count},
};

const NAMESPACE: &str = "watch";
/// Connections that set. Each sets a different object.
const SETTERS: u64 = 32;
/// Changes in flight. A set waits until the slowest socket has received the change that many sets
/// before.
const MAX_IN_FLIGHT: usize = 256;
/// Numbers per setter. A number divided by this is the index of the setter.
const NUMBERS: u64 = 1_000_000_000;

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let mut rounds = Vec::new();
    for _ in 0..bench.scale.rounds {
        let server = peers::objstore(bench).await?;
        rounds.extend(load::run(&Job::Watch(bench.sockets(&server))).await?);
    }
    let (bytes, sockets) = (push(0).len(), count(bench.scale.sockets as f64));
    let title = format!("Deliveries of {bytes} B to {sockets} sockets that all watch");
    table.row(&title, "objstore-svc", &rounds);
    Ok(())
}

/// The object of a setter, which is also the push: 300 B.
fn push(setter: u64) -> String {
    object::object(NAMESPACE, &format!("{setter:02}"), &object::stamped_value(219))
}

/// Performs the job of the load client.
pub(crate) async fn perform(sockets: Sockets) -> Result<Vec<Round>> {
    let pattern = object::key(NAMESPACE, "");
    let cookies = api::enroll(sockets.address, &vec![pattern; sockets.count]).await?;
    let opened = sockets.open(&cookies).await?;
    let progress = Arc::new(Progress {
        sockets: sockets.count,
        order: Mutex::default(),
        pushes: Pushes::default(),
        sets: AtomicU64::new(0),
        permits: Semaphore::new(MAX_IN_FLIGHT),
    });
    let receiver = || {
        let (progress, mut position) = (Arc::clone(&progress), 0);
        move |push: &[u8]| {
            progress.arrive(position, object::stamp(push)?)?;
            position += 1;
            Ok(())
        }
    };
    receive_during(opened, receiver, drive(&sockets, &cookies[0], &progress)).await
}

async fn drive(sockets: &Sockets, cookie: &str, progress: &Arc<Progress>) -> Result<Vec<Round>> {
    let window = Window::after(sockets.warm_up, sockets.measured);
    let mut setters = JoinSet::new();
    for setter in 0..SETTERS {
        let line = Line::open(sockets.address).await?;
        let template = Template::new(&Call::set(cookie, push(setter)), Vec::new())?;
        let first = setter * NUMBERS;
        setters.spawn(set(line, template, first, window.closes, Arc::clone(progress)));
    }
    let (others, arrived, ()) = tokio::try_join!(
        window.others(),
        async { Ok(window.growth(&progress.pushes.arrived).await) },
        all(setters)
    )?;
    progress.pushes.complete().await?;
    progress.check_order()?;
    Ok(vec![Round { rate: window.rate(arrived), latency: None, others }])
}

/// Sets the same object repeatedly.
async fn set(
    mut line: Line,
    template: Template,
    first: u64,
    closes: Instant,
    progress: Arc<Progress>,
) -> Result<()> {
    let mut number = first;
    while Instant::now() < closes {
        progress.permits.acquire().await?.forget();
        line.exchange(&template, number).await?;
        progress.sets.fetch_add(1, Relaxed);
        progress.pushes.expected.fetch_add(u64::try_from(progress.sockets)?, Relaxed);
        number += 1;
    }
    Ok(())
}

/// The state that setters and sockets share.
struct Progress {
    sockets: usize,
    /// The common order of the changes: the number of each, and how many sockets have received it.
    order: Mutex<Vec<(u64, usize)>>,
    pushes: Pushes,
    sets: AtomicU64,
    /// A set takes a permit. It is added again when all sockets have the change.
    permits: Semaphore,
}

impl Progress {
    fn arrive(&self, position: usize, number: u64) -> Result<()> {
        let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        if position == order.len() {
            order.push((number, 0));
        }
        let (common, received) = &mut order[position];
        ensure!(
            *common == number,
            "change {position} is {common} at one socket, {number} at another"
        );
        *received += 1;
        if *received == self.sockets {
            self.permits.add_permits(1);
        }
        self.pushes.arrived.fetch_add(1, Relaxed);
        Ok(())
    }

    /// Checks that every set was pushed once, and that the sets of each setter kept their order.
    fn check_order(&self) -> Result<()> {
        let order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        let (changes, sets) = (order.len(), self.sets.load(Relaxed));
        ensure!(u64::try_from(changes)? == sets, "{changes} changes were pushed after {sets} sets");
        let mut next: Vec<u64> = (0..SETTERS).map(|setter| setter * NUMBERS).collect();
        for &(number, _) in order.iter() {
            let next = &mut next[usize::try_from(number / NUMBERS)?];
            ensure!(number == *next, "{number} was pushed instead of {next}");
            *next += 1;
        }
        Ok(())
    }
}
