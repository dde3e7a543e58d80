//! Runs load clients as separate processes. The job is an argument of the child, as JSON. The child
//! prints the outcome as one line of JSON.

pub(crate) mod api;
#[cfg(feature = "etcd")]
pub(crate) mod etcd;
pub(crate) mod exchange;
pub(crate) mod line;
pub(crate) mod object;
pub(crate) mod sign_in;
pub(crate) mod socket;
pub(crate) mod window;

use std::{process::Stdio, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use serde::{Serialize, de::DeserializeOwned};
use tokio::{process::Command, task::JoinSet, time::timeout};

use crate::{
    figures::{
        find::Find, idle::Idle, push_latency::PushLatency, reconnect::Reconnect, watch::Watch,
    },
    load::exchange::{Exchange, Fill},
};

/// A task of a load client.
pub(crate) trait Job: Serialize + DeserializeOwned {
    /// Identifies the type of the job on the command line.
    const KIND: &'static str;
    /// The measurements.
    type Outcome: Serialize + DeserializeOwned;

    /// Performs the job in this process.
    async fn perform(self) -> Result<Self::Outcome>;
}

/// Performs the job in a child process. Fails, and kills the child, after `limit`.
pub(crate) async fn run_in_child<J: Job>(job: &J, limit: Duration) -> Result<J::Outcome> {
    let client = Command::new(std::env::current_exe()?)
        .args(["load", J::KIND, &serde_json::to_string(job)?])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let ended = timeout(limit, client.wait_with_output())
        .await
        .with_context(|| format!("{} took longer than {limit:?}", J::KIND))??;
    ensure!(
        ended.status.success(),
        "{}: {}",
        J::KIND,
        String::from_utf8_lossy(&ended.stderr).trim()
    );
    Ok(serde_json::from_slice(&ended.stdout)?)
}

/// Performs the job that [`run_in_child`] passed to this process. Returns the outcome as JSON.
pub(crate) async fn run_job(kind: &str, job: &str) -> Result<String> {
    match kind {
        Exchange::KIND => perform::<Exchange>(job).await,
        Fill::KIND => perform::<Fill>(job).await,
        Find::KIND => perform::<Find>(job).await,
        Idle::KIND => perform::<Idle>(job).await,
        PushLatency::KIND => perform::<PushLatency>(job).await,
        Reconnect::KIND => perform::<Reconnect>(job).await,
        Watch::KIND => perform::<Watch>(job).await,
        _ => bail!("unknown kind of job: {kind}"),
    }
}

async fn perform<J: Job>(job: &str) -> Result<String> {
    let job: J = serde_json::from_str(job)?;
    Ok(serde_json::to_string(&job.perform().await?)?)
}

/// Waits for all tasks. The first error aborts the others and is returned.
pub(crate) async fn all(mut workers: JoinSet<Result<()>>) -> Result<()> {
    while let Some(ended) = workers.join_next().await {
        ended??;
    }
    Ok(())
}
