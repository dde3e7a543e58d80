//! Resident memory of sockets that watch and wait, each of a client of its own.

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
        line::{Call, HOLE, Line, Template},
        object,
        socket::Socket,
    },
    peers, process,
    report::{Row, Table, count},
};

const NAMESPACE: &str = "idle";
/// The service pings every socket at least every 20 s.
const PING_LIMIT: Duration = Duration::from_secs(25);

/// Opens sockets and looks at the service's memory.
#[derive(Deserialize, Serialize)]
pub(crate) struct Idle {
    address: SocketAddr,
    pid: u32,
    sockets: usize,
}

/// Resident memory of the service in bytes, from moment to moment.
#[derive(Deserialize, Serialize)]
pub(crate) struct Idled {
    started: u64,
    /// Every client is registered and watches its key.
    enrolled: u64,
    /// Every socket is open.
    opened: u64,
    /// Every socket has had a ping and answered it.
    pinged: u64,
    /// Every socket has had a push as well.
    pushed: u64,
}

/// Measures memory per socket: all that the service grew by, clients and watches included, after every socket had a ping and a push.
pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let server = peers::objstore(bench).await?;
    let idle = Idle { address: server.address, pid: server.pid, sockets: bench.scale.idle_sockets };
    let idled = load::elsewhere(&idle, Duration::from_secs(120)).await?;
    let kib_each = |bytes: u64| bytes as f64 / 1024.0 / bench.scale.idle_sockets as f64;
    let grown = |moment: u64| kib_each(moment.saturating_sub(idled.started));
    let figure = format!(
        "Resident memory of {} idle watching sockets",
        count(bench.scale.idle_sockets as f64)
    );
    let note = format!(
        "before the first push {:.1}; registered, no socket {:.1}; whole process {:.0} MiB",
        grown(idled.opened.max(idled.pinged)),
        grown(idled.enrolled),
        idled.pushed as f64 / 1024.0 / 1024.0
    );
    let each = grown(idled.pushed);
    table.row(
        Row::ours(figure, "objstore-svc")
            .once(each, " KiB a socket")
            .note(note)
            .at_most(each, 16.0, " KiB"),
    );
    Ok(())
}

impl Job for Idle {
    const KIND: &'static str = "idle";
    type Outcome = Idled;

    async fn perform(self) -> Result<Idled> {
        let started = process::resident(self.pid)?;
        let names = (0..self.sockets).map(|index| format!("{index:0width$}", width = HOLE.len()));
        let cookies = api::enroll(
            self.address,
            names.map(|name| object::key(object::TYPE, NAMESPACE, &name)).collect(),
        )
        .await?;
        let enrolled = process::resident(self.pid)?;
        let seen = Arc::new(Seen::default());
        let mut sockets = JoinSet::new();
        for cookie in &cookies {
            sockets.spawn(wait(Socket::open(self.address, cookie).await?, Arc::clone(&seen)));
        }
        let opened = process::resident(self.pid)?;
        let moments = async {
            timeout(PING_LIMIT, reached(&seen.pinged, self.sockets))
                .await
                .context("a socket was not pinged in time")?;
            let pinged = process::resident(self.pid)?;
            self.push(cookies.first().context("no sockets")?).await?;
            timeout(PING_LIMIT, reached(&seen.pushed, self.sockets))
                .await
                .context("a push is missing")?;
            // The acknowledgements that follow.
            sleep(Duration::from_secs(2)).await;
            Ok(Idled { started, enrolled, opened, pinged, pushed: process::resident(self.pid)? })
        };
        tokio::select! {
            ended = all(sockets) => ended.and(Err(anyhow!("a socket ended"))),
            idled = moments => idled,
        }
    }
}

impl Idle {
    /// Sets every key once.
    async fn push(&self, cookie: &str) -> Result<()> {
        let body = object::object(NAMESPACE, HOLE, &object::value(256));
        let template = Template::new(&Call::set(cookie, body), None)?;
        let mut line = Line::open(self.address).await?;
        for number in 0..u64::try_from(self.sockets)? {
            line.exchange(&template, number).await?;
        }
        Ok(())
    }
}

/// How many sockets have had a ping, and a push.
#[derive(Default)]
struct Seen {
    pinged: AtomicUsize,
    pushed: AtomicUsize,
}

async fn wait(mut socket: Socket, seen: Arc<Seen>) -> Result<()> {
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
