//! The figures, their order, and what they share: the sizes of a run and the store of a million objects.

pub(crate) mod find;
mod get;
pub(crate) mod idle;
pub(crate) mod push_latency;
mod set;
pub(crate) mod watch;

use std::{path::PathBuf, time::Duration};

use anyhow::{Context, Result};
use clap::Subcommand;
use tokio::sync::OnceCell;

use crate::{
    load::{self, exchange::Fill, object},
    peers::{self, server::Server},
    report::Table,
};

/// What can be measured.
#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum Figure {
    /// Durable sets of 256 B values: etcd, Redis
    Set,
    /// Deliveries a second to sockets that all watch everything
    Watch,
    /// From a set to its push, at a steady thousand sets a second
    PushLatency,
    /// Resident memory of idle watching sockets
    Idle,
    /// First byte, time and memory of a find that matches a million objects
    Find,
    /// Reads of 256 B values among a million objects: a bare axum route
    Get,
}

impl Figure {
    /// In the order they are measured and printed; those that share the store of a million objects come last.
    pub(crate) const ALL: [Self; 6] =
        [Self::Set, Self::Watch, Self::PushLatency, Self::Idle, Self::Find, Self::Get];
}

/// How much of everything.
pub(crate) struct Scale {
    /// Rounds of each comparison; the median is printed.
    pub(crate) rounds: usize,
    /// How long a round is measured.
    pub(crate) measured: Duration,
    /// How long a round runs before it is measured.
    pub(crate) warm_up: Duration,
    /// Keys that sets are spread over.
    pub(crate) keys: u64,
    /// Objects stored for `get` and `find`.
    pub(crate) objects: u64,
    /// Sockets of `watch` and `push-latency`.
    pub(crate) sockets: usize,
    /// Sockets of `idle`.
    pub(crate) idle_sockets: usize,
}

/// One run: what to measure with, and the store that several figures share.
pub(crate) struct Bench {
    /// The service's executable.
    pub(crate) service: PathBuf,
    /// Directory for the servers' data.
    pub(crate) data: PathBuf,
    /// How much of everything.
    pub(crate) scale: Scale,
    filled: OnceCell<Filled>,
}

/// A running service with `Scale::objects` objects in it.
pub(crate) struct Filled {
    /// The service, started anew after it was filled.
    pub(crate) server: Server,
    /// A session at it.
    pub(crate) cookie: String,
}

impl Bench {
    /// A run at full size or, `quick`, one of seconds.
    pub(crate) fn new(
        quick: bool,
        service: Option<PathBuf>,
        data: Option<PathBuf>,
    ) -> Result<Self> {
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
            }
        };
        Ok(Self {
            service: service.unwrap_or_else(|| beside.join("objstore-svc")),
            data: data.unwrap_or_else(|| beside.to_owned()),
            scale,
            filled: OnceCell::new(),
        })
    }

    /// Measures the figures one after the other; one that fails leaves a note and does not stop the others.
    pub(crate) async fn measure(&self, figures: &[Figure]) -> Table {
        let mut table = Table::default();
        for figure in figures {
            eprintln!("{figure:?} …");
            let measured = match figure {
                Figure::Set => set::measure(self, &mut table).await,
                Figure::Watch => watch::measure(self, &mut table).await,
                Figure::PushLatency => push_latency::measure(self, &mut table).await,
                Figure::Idle => idle::measure(self, &mut table).await,
                Figure::Find => find::measure(self, &mut table).await,
                Figure::Get => get::measure(self, &mut table).await,
            };
            if let Err(error) = measured {
                table.failure(*figure, &error);
            }
        }
        table
    }

    /// The store of a million objects, filled when it is first asked for.
    pub(crate) async fn filled(&self) -> Result<&Filled> {
        self.filled.get_or_try_init(|| self.fill()).await
    }

    async fn fill(&self) -> Result<Filled> {
        let mut server = peers::objstore(self).await?;
        let cookie = server.session().await?;
        let fill = Fill {
            address: server.address,
            call: object::set_call(&cookie),
            connections: 256,
            count: self.scale.objects,
        };
        load::elsewhere(&fill, Duration::from_secs(180)).await.context("filling the store")?;
        // Memory is measured from a process that has done nothing yet.
        server.restart().await?;
        Ok(Filled { server, cookie })
    }
}
