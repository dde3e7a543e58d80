//! The figures, that is, the measurements, and what they share.

mod authenticate;
mod captures;
mod get;
mod live_payments;
pub(crate) mod push_latency;
mod set;
pub(crate) mod watch;

use std::{path::PathBuf, time::Duration};

use anyhow::{Context, Result};
use clap::Subcommand;
use serde::{Deserialize, Serialize};

use crate::{
    load::{self, Job, exchange::Exchange, line::Call, sockets::Sockets},
    machine::{self, Machine},
    peers::server::Server,
    report::{Results, Round, Table, rate},
};

/// A measurement. The comments are the texts of `--help`: the load, then the peers.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize, Subcommand)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Figure {
    /// Sign-ins at demo-portal, as fast as possible and at a steady rate: a bare relay
    Authenticate,
    /// Durable captures of one merchant and of 100, on SQLite and on PostgreSQL: pgbench
    Captures,
    /// Payments of a live merchant through an acquirer that takes 200 ms, on SQLite and on PostgreSQL
    LivePayments,
    /// Durable sets of 256 B values: etcd, Redis
    Set,
    /// Deliveries per second to sockets that all watch every change
    Watch,
    /// Latency from a set to its push, at 1,000 sets per second
    PushLatency,
    /// Reads of 256 B values among a million objects: a bare axum route
    Get,
}

impl Figure {
    /// In the order of measurement.
    pub(crate) const ALL: [Self; 7] = [
        Self::Authenticate,
        Self::Captures,
        Self::LivePayments,
        Self::Set,
        Self::Watch,
        Self::PushLatency,
        Self::Get,
    ];
}

/// The sizes of a run.
pub(crate) struct Scale {
    /// Rounds of each comparison. The median is published.
    rounds: usize,
    /// Duration of the measurement in a round.
    pub(crate) measured: Duration,
    /// Duration of the load before the measurement.
    warm_up: Duration,
    /// Number of keys of sets.
    keys: u64,
    /// Objects stored for `get`.
    objects: u64,
    /// Sockets of `watch` and `push-latency`.
    sockets: usize,
    /// Transactions that `captures` captures, again and again.
    pub(crate) captured: u64,
}

const FULL: Scale = Scale {
    rounds: 5,
    measured: Duration::from_millis(2_500),
    warm_up: Duration::from_millis(500),
    keys: 100_000,
    objects: 1_000_000,
    sockets: 1_000,
    captured: 100_000,
};

const QUICK: Scale = Scale {
    rounds: 1,
    measured: Duration::from_millis(500),
    warm_up: Duration::from_millis(200),
    keys: 1_000,
    objects: 10_000,
    sockets: 50,
    captured: 2_000,
};

/// One run.
pub(crate) struct Bench {
    /// Directory of this executable and of the services.
    pub(crate) programs: PathBuf,
    /// Directory for the servers' data.
    pub(crate) data: PathBuf,
    pub(crate) scale: Scale,
}

/// A server under load in a comparison.
struct Contender {
    who: String,
    /// Whether it is a service and not a peer.
    ours: bool,
    load: Exchange,
}

impl Contender {
    fn ours(who: impl Into<String>, load: Exchange) -> Self {
        Self { who: who.into(), ours: true, load }
    }

    fn peer(who: impl Into<String>, load: Exchange) -> Self {
        Self { who: who.into(), ours: false, load }
    }
}

impl Bench {
    /// A run at full size, or a smoke run if `quick`.
    pub(crate) fn new(quick: bool, data: Option<PathBuf>) -> Result<Self> {
        let mut programs = std::env::current_exe()?;
        programs.pop();
        let data = data.unwrap_or_else(|| programs.clone());
        Ok(Self { programs, data, scale: if quick { QUICK } else { FULL } })
    }

    /// Measures the figures one after the other. A failure is noted in the table of its figure and
    /// does not stop the run.
    pub(crate) async fn measure(&self, figures: &[Figure]) -> Result<Results> {
        let machine = Machine::here(&self.data).await?;
        let versions = machine::versions(&self.programs).await;
        let mut tables = Vec::new();
        for &figure in figures {
            eprintln!("{figure:?} …");
            let mut table = Table::new(figure);
            let measured = match figure {
                Figure::Authenticate => authenticate::measure(self, &mut table).await,
                Figure::Captures => captures::measure(self, &mut table).await,
                Figure::LivePayments => live_payments::measure(self, &mut table).await,
                Figure::Set => set::measure(self, &mut table).await,
                Figure::Watch => watch::measure(self, &mut table).await,
                Figure::PushLatency => push_latency::measure(self, &mut table).await,
                Figure::Get => get::measure(self, &mut table).await,
            };
            table.failure = measured.err().map(|error| format!("{error:#}"));
            tables.push(table);
        }
        let date = machine::output_of("date", &["-u", "+%F"]).await.context("there is no date")?;
        Ok(Results { date: date.trim().to_owned(), machine, versions, tables })
    }

    /// Requests to `server`, as fast as it replies.
    fn exchange(&self, server: &Server, call: Call, connections: u64) -> Exchange {
        Exchange {
            address: server.address,
            call,
            connections,
            rate: None,
            keys: self.scale.keys,
            names: Vec::new(),
            warm_up: self.scale.warm_up,
            measured: self.scale.measured,
        }
    }

    fn sockets(&self, server: &Server) -> Sockets {
        Sockets {
            address: server.address,
            count: self.scale.sockets,
            warm_up: self.scale.warm_up,
            measured: self.scale.measured,
        }
    }

    /// Measures contenders in interleaved rounds, and adds a row for each. The first one is the
    /// service with which the others are compared.
    async fn compare(
        &self,
        table: &mut Table,
        title: &str,
        contenders: &[Contender],
    ) -> Result<()> {
        let mut measured: Vec<Vec<Round>> = contenders.iter().map(|_| Vec::new()).collect();
        for _ in 0..self.scale.rounds {
            for (contender, rounds) in contenders.iter().zip(&mut measured) {
                rounds.extend(load::run(&Job::Exchange(contender.load.clone())).await?);
            }
        }
        let first = rate(&measured[0]);
        for (index, (contender, rounds)) in contenders.iter().zip(&measured).enumerate() {
            let row = table.row(title, &contender.who, rounds);
            row.ours = contender.ours;
            row.steady = contender.load.rate.is_some();
            if index > 0 && !row.steady {
                let ratio = first / rate(rounds);
                row.ratio = Some(if contender.ours { 1.0 / ratio } else { ratio });
            }
        }
        Ok(())
    }
}
