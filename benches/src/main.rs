//! Load on the services, side by side with what a user would pick instead.
//!
//! `bench` starts every server itself, on free ports of 127.0.0.1 with their data on disk beside its own executable, and runs each
//! load client as a process of its own (`bench load …`). Comparisons are made in interleaved rounds, and the medians printed as a table;
//! `--publish` draws them and writes them into the documents as well.
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
mod process;
mod report;
mod versions;

use std::{
    io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Result, bail, ensure};
use clap::{Parser, Subcommand};
use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{SignalKind, signal},
};

use crate::{
    figures::{Bench, Figure, Programs},
    peers::{bare, relay},
    report::text::Terminal,
};

/// Every process of a bench allocates as the services do, so no ratio compares allocators.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Load, side by side with what a user would pick instead.
#[derive(Parser)]
struct Cli {
    /// A smoke run of seconds: every figure, too short to mean anything
    #[arg(long, global = true)]
    quick: bool,
    #[command(flatten)]
    programs: Programs,
    /// Where servers keep their data while they run; a real disk [default: beside this executable]
    #[arg(long, global = true)]
    data: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Every figure (the default)
    All {
        /// Folder of the documents that the results are written to
        #[arg(long)]
        publish: Option<PathBuf>,
    },
    /// Writes the plots and the page of published results again
    Plot {
        /// Folder of the documents
        documents: PathBuf,
    },
    #[command(flatten)]
    One(Figure),
    /// One load client: performs a job and prints its outcome
    #[command(hide = true)]
    Load {
        /// The kind of job
        kind: String,
        /// The job, as JSON
        job: String,
    },
    /// The peer of `get` and `health`: bare axum routes
    #[command(hide = true)]
    Bare {
        /// Where to listen on 127.0.0.1
        port: u16,
        /// Size of the constant answer
        bytes: usize,
    },
    /// The peer of `authenticate`: a bare relay to the portal
    #[command(hide = true)]
    Relay {
        /// Where to listen on 127.0.0.1
        port: u16,
        /// Base address of the portal
        url: String,
        /// File of the certificates to trust
        ca_file: PathBuf,
    },
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Result<()> {
    let one_thread = Builder::new_current_thread().enable_all().build()?;
    let (figures, published) = match cli.command {
        Some(Command::Plot { documents }) => return report::render(&documents),
        Some(Command::Load { kind, job }) => {
            rlimit::increase_nofile_limit(u64::MAX)?;
            println!("{}", one_thread.block_on(load::here(&kind, &job))?);
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
    let bench = Bench::new(cli.quick, cli.programs, cli.data)?;
    one_thread.block_on(measure(&bench, &figures, published.as_deref()))
}

/// What a server among the peers runs on, as the services do.
fn all_cores() -> io::Result<Runtime> {
    Builder::new_multi_thread().enable_all().build()
}

/// Measures, prints and publishes; an interruption ends the servers as well.
async fn measure(bench: &Bench, figures: &[Figure], published: Option<&Path>) -> Result<()> {
    let results = tokio::select! {
        results = bench.measure(figures) => results?,
        () = interrupted() => bail!("interrupted"),
    };
    println!("{}", Terminal(&results));
    if let Some(documents) = published {
        report::publish(&results, documents)?;
    }
    ensure!(results.is_complete(), "not everything could be measured");
    Ok(())
}

/// Returns when this process is asked to end.
async fn interrupted() {
    let terminated = async {
        match signal(SignalKind::terminate()) {
            Ok(mut signal) => signal.recv().await,
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => (),
        _ = terminated => (),
    }
}
