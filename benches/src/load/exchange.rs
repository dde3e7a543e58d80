//! Requests and replies: every connection sends its next request when it has the reply to the last, or when it is due.

use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Result;
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

#[cfg(feature = "etcd")]
use crate::load::etcd;
use crate::load::{
    Job, all,
    line::{Call, Line, Template},
    window::{Busy, Latency, Pace, Tally, Window},
};

/// Requests over keys drawn evenly, as many as the server takes or at a steady rate.
#[derive(Deserialize, Serialize)]
pub(crate) struct Exchange {
    /// The server.
    pub(crate) address: SocketAddr,
    /// Its process.
    pub(crate) pid: u32,
    /// The process that it calls, if any.
    pub(crate) upstream: Option<u32>,
    /// What is asked of it.
    pub(crate) call: Call,
    /// Connections, each with one request in flight.
    pub(crate) connections: u64,
    /// Requests a second of all connections; none: as many as the server takes. One that cannot be sent when it is due, because
    /// the last is not answered, still counts from then.
    pub(crate) rate: Option<u64>,
    /// Numbers are drawn from 0 to here.
    pub(crate) keys: u64,
    /// What the numbers stand for, if they stand for names: see [`Template::new`].
    pub(crate) names: Option<PathBuf>,
    /// Runs that long before it counts.
    pub(crate) warm_up: Duration,
    /// Counts that long.
    pub(crate) measured: Duration,
}

/// What came of an [`Exchange`].
#[derive(Deserialize, Serialize)]
pub(crate) struct Exchanged {
    /// Replies a second.
    pub(crate) rate: f64,
    /// From before a request is sent until its reply is there.
    pub(crate) latency: Latency,
    /// Processor time.
    pub(crate) busy: Busy,
}

impl Job for Exchange {
    const KIND: &'static str = "exchange";
    type Outcome = Exchanged;

    async fn perform(self) -> Result<Exchanged> {
        let tally = Arc::new(Tally::new(Window::after(self.warm_up, self.measured))?);
        let workers = match &self.call {
            #[cfg(feature = "etcd")]
            Call::Etcd { key, value } => etcd::workers(&self, key, value, &tally).await?,
            call => self.workers(Template::new(call, self.names.as_deref())?, &tally).await?,
        };
        let (busy, ()) =
            tokio::try_join!(tally.window.busy(self.pid, self.upstream), all(workers))?;
        Ok(Exchanged { rate: tally.rate(), latency: tally.latency(), busy })
    }
}

impl Exchange {
    async fn workers(&self, template: Template, tally: &Arc<Tally>) -> Result<JoinSet<Result<()>>> {
        let template = Arc::new(template);
        let mut workers = JoinSet::new();
        let start = Instant::now();
        for index in 0..self.connections {
            let (mut line, template) = (Line::open(self.address).await?, Arc::clone(&template));
            let (mut numbers, tally) = (Numbers::new(index, self.keys), Arc::clone(tally));
            let mut pace = self.rate.map(|rate| Pace::share(start, index, self.connections, rate));
            workers.spawn(async move {
                loop {
                    let number = numbers.draw();
                    let begun = match &mut pace {
                        Some(pace) => pace.next().await,
                        None => Instant::now(),
                    };
                    line.exchange(&template, number).await?;
                    if !tally.note(begun) {
                        return Ok(());
                    }
                }
            });
        }
        Ok(workers)
    }
}

/// Every number once.
#[derive(Deserialize, Serialize)]
pub(crate) struct Fill {
    /// The server.
    pub(crate) address: SocketAddr,
    /// What is asked of it.
    pub(crate) call: Call,
    /// Connections, each with one request in flight.
    pub(crate) connections: u64,
    /// Numbers from 0 to here.
    pub(crate) count: u64,
    /// What the numbers stand for, if they stand for names: see [`Template::new`].
    pub(crate) names: Option<PathBuf>,
}

impl Job for Fill {
    const KIND: &'static str = "fill";
    type Outcome = ();

    async fn perform(self) -> Result<()> {
        let mut workers = JoinSet::new();
        let template = Arc::new(Template::new(&self.call, self.names.as_deref())?);
        for first in 0..self.connections {
            let (mut line, template) = (Line::open(self.address).await?, Arc::clone(&template));
            workers.spawn(async move {
                let mut number = first;
                while number < self.count {
                    line.exchange(&template, number).await?;
                    number += self.connections;
                }
                Ok(())
            });
        }
        all(workers).await
    }
}

/// Numbers drawn evenly from a range, the same in every run.
pub(crate) struct Numbers {
    random: fastrand::Rng,
    end: u64,
}

impl Numbers {
    /// From 0 to `end`.
    pub(crate) fn new(seed: u64, end: u64) -> Self {
        Self { random: fastrand::Rng::with_seed(seed), end }
    }

    /// The next.
    pub(crate) fn draw(&mut self) -> u64 {
        self.random.u64(0..self.end)
    }
}
