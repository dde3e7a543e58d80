//! The figures, that is, the measurements, and what they share: the sizes of a run and a store with
//! a million objects.

mod authenticate;
mod captures;
pub(crate) mod find;
mod get;
mod growth;
mod health;
pub(crate) mod idle;
mod live_payments;
pub(crate) mod push_latency;
pub(crate) mod reconnect;
mod replicas;
mod set;
mod sign_in_memory;
mod slow_portal;
mod transactions;
pub(crate) mod watch;

use std::{path::PathBuf, time::Duration};

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};
use tokio::{process::Command, sync::OnceCell};

use crate::{
    load::{
        self,
        exchange::{Exchange, Fill},
        line::Call,
        object,
    },
    machine::Machine,
    peers::{self, server::Server},
    report::{Results, Table},
    versions,
};

/// A measurement. The comments are the texts of `--help`: the load, then the peers.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize, Subcommand)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Figure {
    /// Durable sets of 256 B values: etcd, Redis
    Set,
    /// Deliveries per second to sockets that all watch every change
    Watch,
    /// Latency from a set to its push, at 1,000 sets per second
    PushLatency,
    /// Resident memory of idle watching sockets
    Idle,
    /// Time until ten thousand clients are served again after a kill, and others' latency
    Reconnect,
    /// Time to the first byte, duration and memory of a find that matches a million objects
    Find,
    /// Sets, gets and pushes on PostgreSQL, through one replica and through three: pgbench
    Replicas,
    /// Reads of 256 B values among a million objects: a bare axum route
    Get,
    /// Sets and gets in stores of 10,000 to 5,000,000 objects
    ObjectGrowth,
    /// Answers of authsvc without the portal, `GET /health` and an invalid sign-in: a bare axum
    /// route, FastAPI
    Health,
    /// Sign-ins at demo-portal, as fast as possible and at a steady rate: a bare relay
    Authenticate,
    /// Resident memory of authsvc after a hundred thousand requests
    SignInMemory,
    /// Durable captures of one merchant and of 100, on SQLite and on PostgreSQL: pgbench
    Captures,
    /// Payments of a live merchant through an acquirer that takes 200 ms, on SQLite and on PostgreSQL
    LivePayments,
    /// Reads and pages of a million transactions: a bare axum route
    Transactions,
    /// Reads and captures in stores of 10,000 to 5,000,000 transactions
    TransactionGrowth,
    /// `GET /health` while a thousand sign-ins wait for a slow portal
    SlowPortal,
}

impl Figure {
    /// In the order of measurement. The figures that share the store with a million objects come
    /// last, because that store runs until the end.
    pub(crate) const ALL: [Self; 17] = [
        Self::Health,
        Self::Authenticate,
        Self::SignInMemory,
        Self::SlowPortal,
        Self::Captures,
        Self::LivePayments,
        Self::Transactions,
        Self::TransactionGrowth,
        Self::Set,
        Self::Watch,
        Self::PushLatency,
        Self::Replicas,
        Self::Idle,
        Self::Reconnect,
        Self::ObjectGrowth,
        Self::Find,
        Self::Get,
    ];
}

#[derive(Args)]
pub(crate) struct Programs {
    /// Path of objstore-svc [default: in the folder of this executable]
    #[arg(long, global = true)]
    service: Option<PathBuf>,
    /// Path of authsvc [default: in the folder of this executable]
    #[arg(long, global = true)]
    authsvc: Option<PathBuf>,
    /// Path of payments-svc [default: in the folder of this executable]
    #[arg(long, global = true)]
    payments: Option<PathBuf>,
    /// Path of demo-portal [default: in the folder of this executable]
    #[arg(long, global = true)]
    portal: Option<PathBuf>,
    /// Path of demo-acquirer [default: in the folder of this executable]
    #[arg(long, global = true)]
    acquirer: Option<PathBuf>,
}

/// The sizes of a run.
pub(crate) struct Scale {
    /// Rounds of each comparison. The median is printed.
    pub(crate) rounds: usize,
    /// Duration of the measurement in a round.
    pub(crate) measured: Duration,
    /// Duration of the load before the measurement.
    pub(crate) warm_up: Duration,
    /// Number of keys of sets.
    pub(crate) keys: u64,
    /// Objects stored for `get` and `find`.
    pub(crate) objects: u64,
    /// Sockets of `watch` and `push-latency`.
    pub(crate) sockets: usize,
    pub(crate) idle_sockets: usize,
    /// Transactions that `captures` captures, again and again.
    pub(crate) captured: u64,
    /// Transactions stored for `transactions`.
    pub(crate) transactions: u64,
    /// Objects or transactions stored for each store of the growth figures, the fewest first.
    pub(crate) sizes: &'static [u64],
    /// Requests before `sign-in-memory` reads the memory.
    pub(crate) requests: u64,
    /// Sign-ins that wait in `slow-portal`.
    pub(crate) waiting: u64,
    /// Delay of each answer of the slow portal.
    pub(crate) delay: Duration,
}

/// One run: the programs, the sizes, and the store that several figures share.
pub(crate) struct Bench {
    /// Path of objstore-svc.
    pub(crate) service: PathBuf,
    /// Path of authsvc.
    pub(crate) authsvc: PathBuf,
    /// Path of payments-svc.
    pub(crate) payments: PathBuf,
    /// Path of demo-portal.
    pub(crate) portal: PathBuf,
    /// Path of demo-acquirer.
    pub(crate) acquirer: PathBuf,
    /// Directory for the servers' data.
    pub(crate) data: PathBuf,
    pub(crate) scale: Scale,
    quick: bool,
    filled: OnceCell<Filled>,
}

/// A running objstore-svc with objects.
pub(crate) struct Filled {
    pub(crate) server: Server,
    /// Value of the Cookie header of a registered client.
    pub(crate) cookie: String,
}

impl Bench {
    /// A run at full size, or a smoke run if `quick`.
    pub(crate) fn new(quick: bool, programs: Programs, data: Option<PathBuf>) -> Result<Self> {
        let executable = std::env::current_exe()?;
        let beside = executable.parent().context("the executable has no directory")?;
        let seconds = Duration::from_secs_f64;
        let scale = if quick {
            Scale {
                rounds: 1,
                measured: seconds(0.5),
                warm_up: seconds(0.2),
                keys: 1_000,
                objects: 10_000,
                sockets: 50,
                idle_sockets: 200,
                captured: 2_000,
                transactions: 5_000,
                sizes: &[500, 1_000],
                requests: 5_000,
                waiting: 100,
                delay: seconds(1.0),
            }
        } else {
            Scale {
                rounds: 5,
                measured: seconds(2.5),
                warm_up: seconds(0.5),
                keys: 100_000,
                objects: 1_000_000,
                sockets: 1_000,
                idle_sockets: 10_000,
                captured: 100_000,
                transactions: 1_000_000,
                sizes: &[10_000, 100_000, 1_000_000, 5_000_000],
                requests: 100_000,
                waiting: 1_000,
                delay: seconds(5.0),
            }
        };
        let program = |given: Option<PathBuf>, name| given.unwrap_or_else(|| beside.join(name));
        Ok(Self {
            service: program(programs.service, "objstore-svc"),
            authsvc: program(programs.authsvc, "authsvc"),
            payments: program(programs.payments, "payments-svc"),
            portal: program(programs.portal, "demo-portal"),
            acquirer: program(programs.acquirer, "demo-acquirer"),
            data: data.unwrap_or_else(|| beside.to_owned()),
            scale,
            quick,
            filled: OnceCell::new(),
        })
    }

    /// Measures the figures one after the other. A failure is noted in the table of its figure and
    /// does not stop the run.
    pub(crate) async fn measure(&self, figures: &[Figure]) -> Result<Results> {
        let machine = Machine::here(&self.data).await?;
        let versions = versions::installed(self).await;
        let mut tables = Vec::new();
        for &figure in figures {
            eprintln!("{figure:?} …");
            let mut table = Table::new(figure);
            let measured = match figure {
                Figure::Set => set::measure(self, &mut table).await,
                Figure::Watch => watch::measure(self, &mut table).await,
                Figure::Replicas => replicas::measure(self, &mut table).await,
                Figure::PushLatency => push_latency::measure(self, &mut table).await,
                Figure::Idle => idle::measure(self, &mut table).await,
                Figure::Reconnect => reconnect::measure(self, &mut table).await,
                Figure::Find => find::measure(self, &mut table).await,
                Figure::Get => get::measure(self, &mut table).await,
                Figure::Health => health::measure(self, &mut table).await,
                Figure::Authenticate => authenticate::measure(self, &mut table).await,
                Figure::SignInMemory => sign_in_memory::measure(self, &mut table).await,
                Figure::Captures => captures::measure(self, &mut table).await,
                Figure::LivePayments => live_payments::measure(self, &mut table).await,
                Figure::Transactions => transactions::measure(self, &mut table).await,
                Figure::TransactionGrowth => growth::of_transactions(self, &mut table).await,
                Figure::ObjectGrowth => growth::of_objects(self, &mut table).await,
                Figure::SlowPortal => slow_portal::measure(self, &mut table).await,
            };
            table.failure = measured.err().map(|error| format!("{error:#}"));
            tables.push(table);
        }
        let date = Command::new("date").args(["-u", "+%F"]).output().await?;
        let date = String::from_utf8_lossy(&date.stdout).trim().to_owned();
        Ok(Results { date, quick: self.quick, machine, versions, tables })
    }

    /// A round of requests to `server`, as fast as it replies.
    pub(crate) fn exchange(&self, server: &Server, call: Call, connections: u64) -> Exchange {
        Exchange {
            address: server.address,
            pid: server.pid,
            upstream: Vec::new(),
            call,
            connections,
            rate: None,
            keys: self.scale.keys,
            names: None,
            warm_up: self.scale.warm_up,
            measured: self.scale.measured,
        }
    }

    /// Returns the store with a million objects. The first call fills it.
    pub(crate) async fn filled(&self) -> Result<&Filled> {
        self.filled.get_or_try_init(|| self.fill()).await
    }

    async fn fill(&self) -> Result<Filled> {
        let mut filled = self.store_of(self.scale.objects).await?;
        // Memory must be measured in a fresh process.
        filled.server.restart().await?;
        Ok(filled)
    }

    /// Starts objstore-svc and sets this many objects.
    async fn store_of(&self, objects: u64) -> Result<Filled> {
        let server = peers::objstore(self).await?;
        let cookie = server.session().await?;
        let fill = Fill {
            address: server.address,
            call: object::set_call(&cookie),
            connections: 256,
            count: objects,
            names: None,
        };
        load::run_in_child(&fill, Duration::from_secs(600)).await.context("filling the store")?;
        Ok(Filled { server, cookie })
    }
}
