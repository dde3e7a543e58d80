//! Runs load clients as separate processes. The child reads its job and prints its rounds, both as
//! JSON.

pub(crate) mod api;
#[cfg(feature = "etcd")]
mod etcd;
pub(crate) mod exchange;
pub(crate) mod line;
pub(crate) mod object;
pub(crate) mod sockets;
pub(crate) mod window;

use std::{process::Stdio, time::Duration};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use tokio::{io::AsyncWriteExt, process::Command, task::JoinSet, time::timeout};

use crate::{
    figures::{push_latency, watch},
    load::{exchange::Exchange, sockets::Sockets},
    report::Round,
};

/// No round takes as long.
const LIMIT: Duration = Duration::from_secs(120);

/// A task of a load client.
#[derive(Deserialize, Serialize)]
pub(crate) enum Job {
    Exchange(Exchange),
    PushLatency(Sockets),
    Watch(Sockets),
}

/// Performs a job in a child process.
pub(crate) async fn run(job: &Job) -> Result<Vec<Round>> {
    let mut client = Command::new(std::env::current_exe()?)
        .arg("load")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut input = client.stdin.take().context("the load client has no input")?;
    input.write_all(&serde_json::to_vec(job)?).await?;
    drop(input);
    let ended = timeout(LIMIT, client.wait_with_output()).await.context("a round hangs")??;
    ensure!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr).trim());
    Ok(serde_json::from_slice(&ended.stdout)?)
}

/// Performs the job that [`run`] passed to this process.
pub(crate) async fn perform(job: Job) -> Result<Vec<Round>> {
    match job {
        Job::Exchange(exchange) => exchange.perform().await,
        Job::PushLatency(sockets) => push_latency::perform(sockets).await,
        Job::Watch(sockets) => watch::perform(sockets).await,
    }
}

/// Waits for all tasks. The first error aborts the others and is returned.
pub(crate) async fn all(mut workers: JoinSet<Result<()>>) -> Result<()> {
    while let Some(ended) = workers.join_next().await {
        ended??;
    }
    Ok(())
}
