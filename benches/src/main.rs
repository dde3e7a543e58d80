//! Measures the services under load and compares them with their alternatives (the peers).
//!
//! 1. `bench` starts every server itself, on free ports of 127.0.0.1. The data is on disk, beside
//!    the executable of `bench` or in `--data`.
//! 2. Each load client is a separate process (`bench load`).
//! 3. Contenders are measured in interleaved rounds, so that a disturbance affects all of them. The
//!    medians are printed as tables.
//! 4. `--publish` also writes the numbers, the plots and the page into the documents.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the table is the product of this program, and a run of minutes reports its progress"
)]
#![expect(
    clippy::cast_precision_loss,
    reason = "statistics: counts and sizes stay far below 2^52, and are rounded to be printed"
)]

mod figures;
mod load;
mod machine;
mod peers;
mod report;

use std::{
    io,
    path::{Path, PathBuf},
};

use anyhow::{Result, bail, ensure};
use clap::{Parser, Subcommand};
use tokio::{
    runtime::Builder,
    signal::{
        ctrl_c,
        unix::{SignalKind, signal},
    },
};

use crate::{
    figures::{Bench, Figure},
    peers::{bare, relay},
};

/// The services use the same allocator, so that no ratio compares allocators.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures the services under load and compares them with alternatives
#[derive(Parser)]
struct Cli {
    /// Smoke run: measures for one second or less, so the numbers mean nothing
    #[arg(long, global = true)]
    quick: bool,
    /// Folder for the data of the servers, on a real disk [default: the folder of this executable]
    #[arg(long, global = true)]
    data: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Measures every figure (the default)
    All {
        /// Also publishes the results in this folder of documents
        #[arg(long, conflicts_with = "quick")]
        publish: Option<PathBuf>,
    },
    /// Draws the plots and the page of the published numbers again
    Plot {
        /// Folder of the documents, which contains the published numbers
        documents: PathBuf,
    },
    #[command(flatten)]
    One(Figure),
    /// Load client: reads a job and prints its rounds, both as JSON
    #[command(hide = true)]
    Load,
    /// Peer of `get`, and receiver of the webhook of `captures`: a bare axum route
    #[command(hide = true)]
    Bare {
        /// Port on 127.0.0.1
        port: u16,
        /// Size of the constant answer in bytes
        bytes: usize,
    },
    /// Peer of `authenticate`: a bare relay to the portal
    #[command(hide = true)]
    Relay {
        /// Port on 127.0.0.1
        port: u16,
        /// Base address of the portal
        url: String,
        /// File of the trusted root certificates
        ca_file: PathBuf,
    },
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    // Of the HTTP clients. It fails only if there is a provider already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let one_thread = Builder::new_current_thread().enable_all().build()?;
    // As the services use.
    let all_cores = || Builder::new_multi_thread().enable_all().build();
    let (figures, published) = match cli.command {
        Some(Command::Plot { documents }) => return report::render(&documents),
        Some(Command::Load) => {
            rlimit::increase_nofile_limit(u64::MAX)?;
            let rounds = one_thread.block_on(load::perform(serde_json::from_reader(io::stdin())?));
            println!("{}", serde_json::to_string(&rounds?)?);
            return Ok(());
        }
        Some(Command::Bare { port, bytes }) => {
            return all_cores()?.block_on(bare::serve(port, bytes));
        }
        Some(Command::Relay { port, url, ca_file }) => {
            return all_cores()?.block_on(relay::serve(port, &url, &ca_file));
        }
        Some(Command::One(figure)) => (vec![figure], None),
        Some(Command::All { publish }) => (Figure::ALL.to_vec(), publish),
        None => (Figure::ALL.to_vec(), None),
    };
    let bench = Bench::new(cli.quick, cli.data)?;
    one_thread.block_on(measure(&bench, &figures, published.as_deref()))
}

/// Measures, prints and publishes. On a signal, it returns an error, which stops the servers.
async fn measure(bench: &Bench, figures: &[Figure], published: Option<&Path>) -> Result<()> {
    let mut terminated = signal(SignalKind::terminate())?;
    let results = tokio::select! {
        results = bench.measure(figures) => results?,
        _ = terminated.recv() => bail!("terminated"),
        _ = ctrl_c() => bail!("interrupted"),
    };
    println!("{}", report::text(&results));
    if let Some(documents) = published {
        report::publish(&results, documents)?;
    }
    ensure!(results.is_complete(), "some figures could not be measured: see the notes above");
    Ok(())
}
