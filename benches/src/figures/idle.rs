//! Resident memory of idle sockets that watch. Each socket belongs to a different client.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
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
        line::{Call, Line, PLACEHOLDER, Template},
        object,
        socket::Socket,
    },
    peers, process,
    report::{Row, Table, count},
};

const NAMESPACE: &str = "idle";
/// Longer than the interval of the service's pings, which is at most 20 s.
const PING_LIMIT: Duration = Duration::from_secs(25);

/// Opens sockets and reads the service's memory.
#[derive(Deserialize, Serialize)]
pub(crate) struct Idle {
    address: SocketAddr,
    pid: u32,
    sockets: usize,
}

/// Resident memory of the service in bytes, at successive points in time.
#[derive(Deserialize, Serialize)]
pub(crate) struct Idled {
    started: u64,
    /// After every client was registered and watched its key.
    enrolled: u64,
    /// After every socket was opened.
    opened: u64,
    /// After every socket received and answered a ping.
    pinged: u64,
    /// After every socket also received a push.
    pushed: u64,
}

/// Measures memory per socket: the growth of the service, including clients and watches, after
/// every socket received a ping and a push.
pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let server = peers::objstore(bench).await?;
    let idle = Idle { address: server.address, pid: server.pid, sockets: bench.scale.idle_sockets };
    let idled = load::run_in_child(&idle, Duration::from_secs(120)).await?;
    let kib_each = |bytes: u64| bytes as f64 / 1024.0 / bench.scale.idle_sockets as f64;
    let growth = |resident: u64| kib_each(resident.saturating_sub(idled.started));
    let figure = format!(
        "Resident memory of {} idle watching sockets",
        count(bench.scale.idle_sockets as f64)
    );
    let note = format!(
        "before the first push {:.1}; registered, no socket {:.1}; whole process {:.0} MiB",
        growth(idled.opened.max(idled.pinged)),
        growth(idled.enrolled),
        idled.pushed as f64 / 1024.0 / 1024.0
    );
    let each = growth(idled.pushed);
    table.row(Row::ours(figure, "objstore-svc").once(each, " KiB a socket").note(note));
    Ok(())
}

impl Job for Idle {
    const KIND: &'static str = "idle";
    type Outcome = Idled;

    async fn perform(self) -> Result<Idled> {
        let started = process::resident(self.pid)?;
        let names =
            (0..self.sockets).map(|index| format!("{index:0width$}", width = PLACEHOLDER.len()));
        let cookies = api::enroll(
            self.address,
            names.map(|name| object::key(object::TYPE, NAMESPACE, &name)).collect(),
        )
        .await?;
        let enrolled = process::resident(self.pid)?;
        let seen = Arc::new(Seen::default());
        let mut sockets = JoinSet::new();
        for cookie in &cookies {
            sockets.spawn(listen(Socket::open(self.address, cookie).await?, Arc::clone(&seen)));
        }
        let opened = process::resident(self.pid)?;
        let measuring = async {
            timeout(PING_LIMIT, reached(&seen.pinged, self.sockets))
                .await
                .context("a ping is missing")?;
            let pinged = process::resident(self.pid)?;
            self.push(cookies.first().context("no sockets")?).await?;
            timeout(PING_LIMIT, reached(&seen.pushed, self.sockets))
                .await
                .context("a push is missing")?;
            // The clients' acknowledgements follow the pushes.
            sleep(Duration::from_secs(2)).await;
            Ok(Idled { started, enrolled, opened, pinged, pushed: process::resident(self.pid)? })
        };
        tokio::select! {
            ended = all(sockets) => ended.and(Err(anyhow!("a socket ended"))),
            idled = measuring => idled,
        }
    }
}

impl Idle {
    /// Sets every key once.
    async fn push(&self, cookie: &str) -> Result<()> {
        let body = object::object(NAMESPACE, PLACEHOLDER, &object::value(256));
        let template = Template::new(&Call::set(cookie, body), None)?;
        let mut line = Line::open(self.address).await?;
        for number in 0..u64::try_from(self.sockets)? {
            line.exchange(&template, number).await?;
        }
        Ok(())
    }
}

/// Number of sockets that received a ping, and of pushes received.
#[derive(Default)]
struct Seen {
    pinged: AtomicUsize,
    pushed: AtomicUsize,
}

async fn listen(mut socket: Socket, seen: Arc<Seen>) -> Result<()> {
    loop {
        let pings = socket.pings;
        socket
            .receive(|_| {
                seen.pushed.fetch_add(1, Relaxed);
                Ok(())
            })
            .await?;
        if pings == 0 && socket.pings > 0 {
            seen.pinged.fetch_add(1, Relaxed);
        }
    }
}

async fn reached(counter: &AtomicUsize, goal: usize) {
    while counter.load(Relaxed) < goal {
        sleep(Duration::from_millis(20)).await;
    }
}
