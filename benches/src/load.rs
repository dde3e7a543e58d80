//! Load clients as processes of their own: a job goes out as an argument, its outcome comes back as a line.

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
    figures::{find::Find, idle::Idle, push_latency::PushLatency, watch::Watch},
    load::exchange::{Exchange, Fill},
};

/// One stretch of load.
pub(crate) trait Job: Serialize + DeserializeOwned {
    /// Names the job on the command line.
    const KIND: &'static str;
    /// What was seen.
    type Outcome: Serialize + DeserializeOwned;

    /// Does it, in this process.
    async fn perform(self) -> Result<Self::Outcome>;
}

/// Does the job in a process of its own, which is ended when `limit` has passed.
pub(crate) async fn elsewhere<J: Job>(job: &J, limit: Duration) -> Result<J::Outcome> {
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

/// Does the job that [`elsewhere`] wrote down, and gives its outcome as JSON.
pub(crate) async fn here(kind: &str, job: &str) -> Result<String> {
    match kind {
        Exchange::KIND => perform::<Exchange>(job).await,
        Fill::KIND => perform::<Fill>(job).await,
        Find::KIND => perform::<Find>(job).await,
        Idle::KIND => perform::<Idle>(job).await,
        PushLatency::KIND => perform::<PushLatency>(job).await,
        Watch::KIND => perform::<Watch>(job).await,
        _ => bail!("no job is called {kind}"),
    }
}

async fn perform<J: Job>(job: &str) -> Result<String> {
    let job: J = serde_json::from_str(job)?;
    Ok(serde_json::to_string(&job.perform().await?)?)
}

/// Waits for all tasks; the first that fails ends the others.
pub(crate) async fn all(mut workers: JoinSet<Result<()>>) -> Result<()> {
    while let Some(ended) = workers.join_next().await {
        ended??;
    }
    Ok(())
}
