//! Sends requests and waits for replies. Each connection has one request in flight. It sends the
//! next one when the reply has arrived or, at a steady rate, when the request is due.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Result;
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

#[cfg(feature = "etcd")]
use crate::load::etcd;
use crate::{
    load::{
        all,
        line::{Call, Line, Template},
        window::{Pace, Tally, Window},
    },
    report::Round,
};

/// Requests with uniformly drawn keys, as fast as the server replies or at a steady rate.
#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct Exchange {
    pub(crate) address: SocketAddr,
    pub(crate) call: Call,
    /// Connections, each with one request in flight.
    pub(crate) connections: u64,
    /// Requests per second over all connections. `None`: as many as the server replies to.
    pub(crate) rate: Option<u64>,
    /// Numbers are drawn from 0 to this, exclusive.
    pub(crate) keys: u64,
    /// Replaces numbers by names: see [`Template::new`].
    pub(crate) names: Vec<String>,
    /// Duration of the load before the measurement.
    pub(crate) warm_up: Duration,
    pub(crate) measured: Duration,
}

impl Exchange {
    /// Performs the job of the load client.
    pub(crate) async fn perform(self) -> Result<Vec<Round>> {
        let tally = Arc::new(Tally::new(Window::after(self.warm_up, self.measured))?);
        let workers = match &self.call {
            #[cfg(feature = "etcd")]
            Call::Etcd { key, value } => etcd::workers(&self, key, value, &tally).await?,
            call => self.workers(Template::new(call, self.names.clone())?, &tally).await?,
        };
        let (others, ()) = tokio::try_join!(tally.window.others(), all(workers))?;
        Ok(vec![tally.round(others)])
    }

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

/// Sends one request for each number below `count`, without a measurement.
pub(crate) async fn fill(
    address: SocketAddr,
    call: &Call,
    names: Vec<String>,
    connections: u64,
    count: u64,
) -> Result<()> {
    let mut workers = JoinSet::new();
    let template = Arc::new(Template::new(call, names)?);
    for mut number in 0..connections {
        let (mut line, template) = (Line::open(address).await?, Arc::clone(&template));
        workers.spawn(async move {
            while number < count {
                line.exchange(&template, number).await?;
                number += connections;
            }
            Ok(())
        });
    }
    all(workers).await
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
