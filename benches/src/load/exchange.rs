//! Sends requests and waits for replies. Each connection has one request in flight. It sends the
//! next one when the reply has arrived or, at a steady rate, when the request is due.

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

/// Requests with uniformly drawn keys, as fast as the server replies or at a steady rate.
#[derive(Deserialize, Serialize)]
pub(crate) struct Exchange {
    pub(crate) address: SocketAddr,
    /// Process of the server.
    pub(crate) pid: u32,
    /// Processes that the server calls, for example the database.
    pub(crate) upstream: Vec<u32>,
    pub(crate) call: Call,
    /// Connections, each with one request in flight.
    pub(crate) connections: u64,
    /// Requests per second over all connections. `None`: as many as the server replies to. The
    /// latency of a request is measured from when it is due, even if it is sent later because the
    /// previous reply is missing.
    pub(crate) rate: Option<u64>,
    /// Numbers are drawn from 0 to this, exclusive.
    pub(crate) keys: u64,
    /// Replaces numbers by names: see [`Template::new`].
    pub(crate) names: Option<PathBuf>,
    /// Duration of the load before the measurement.
    pub(crate) warm_up: Duration,
    /// Duration of the measurement.
    pub(crate) measured: Duration,
}

#[derive(Deserialize, Serialize)]
pub(crate) struct Exchanged {
    /// Replies per second.
    pub(crate) rate: f64,
    /// From before a request is sent, or due, until its reply is complete.
    pub(crate) latency: Latency,
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
            tokio::try_join!(tally.window.busy(self.pid, &self.upstream), all(workers))?;
        Ok(Exchanged { rate: tally.rate(), latency: tally.latency(), busy })
    }
}

impl Exchange {
    async fn workers(&self, template: Template, tally: &Arc<Tally>) -> Result<JoinSet<Result<()>>> {
        let template = Arc::new(template);
        let mut workers = JoinSet::new();
        let schedule_start = Instant::now();
        for index in 0..self.connections {
            let (mut line, template) = (Line::open(self.address).await?, Arc::clone(&template));
            let (mut numbers, tally) = (Numbers::new(index, self.keys), Arc::clone(tally));
            let mut pace =
                self.rate.map(|rate| Pace::share(schedule_start, index, self.connections, rate));
            workers.spawn(async move {
                loop {
                    let number = numbers.draw();
                    let start = match &mut pace {
                        Some(pace) => pace.next().await,
                        None => Instant::now(),
                    };
                    line.exchange(&template, number).await?;
                    if !tally.note(start) {
                        return Ok(());
                    }
                }
            });
        }
        Ok(workers)
    }
}

/// Sends one request for each number, without a measurement.
#[derive(Deserialize, Serialize)]
pub(crate) struct Fill {
    pub(crate) address: SocketAddr,
    pub(crate) call: Call,
    /// Connections, each with one request in flight.
    pub(crate) connections: u64,
    /// Numbers run from 0 to this, exclusive.
    pub(crate) count: u64,
    /// Replaces numbers by names: see [`Template::new`].
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

/// Uniformly drawn numbers. The same seed gives the same numbers in every run.
pub(crate) struct Numbers {
    random: fastrand::Rng,
    end: u64,
}

impl Numbers {
    /// Numbers from 0 to `end`, exclusive.
    pub(crate) fn new(seed: u64, end: u64) -> Self {
        Self { random: fastrand::Rng::with_seed(seed), end }
    }

    pub(crate) fn draw(&mut self) -> u64 {
        self.random.u64(0..self.end)
    }
}
