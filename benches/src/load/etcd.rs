//! Puts through etcd's own protocol: gRPC over HTTP/2, one put in flight per task.

use std::{sync::Arc, time::Instant};

use anyhow::Result;
use etcd_client::Client;
use tokio::task::JoinSet;

use crate::load::{
    exchange::{Exchange, Numbers},
    line::HOLE,
    window::Tally,
};

/// Tasks that share one HTTP/2 connection; with fewer, etcd itself is slower.
const TASKS_A_CHANNEL: u64 = 8;

/// Spawns a task for every connection of the plan.
pub(crate) async fn spawn(
    plan: &Exchange,
    key: &str,
    value: &str,
    tally: &Arc<Tally>,
    workers: &mut JoinSet<Result<()>>,
) -> Result<()> {
    for first in (0..plan.connections).step_by(usize::try_from(TASKS_A_CHANNEL)?) {
        let channel = Client::connect([plan.address.to_string()], None).await?.kv_client();
        for seed in first..plan.connections.min(first + TASKS_A_CHANNEL) {
            let (mut channel, mut numbers, tally) =
                (channel.clone(), Numbers::new(seed, plan.keys), Arc::clone(tally));
            let (prefix, value) = (key.replace(HOLE, ""), value.to_owned());
            workers.spawn(async move {
                loop {
                    let key = format!("{prefix}{:0width$}", numbers.draw(), width = HOLE.len());
                    let begun = Instant::now();
                    channel.put(key, value.as_str(), None).await?;
                    if !tally.note(begun) {
                        return Ok(());
                    }
                }
            });
        }
    }
    Ok(())
}
