//! Puts in the protocol of etcd: gRPC over HTTP/2, with one put in flight per task.

use std::{sync::Arc, time::Instant};

use anyhow::Result;
use etcd_client::Client;
use tokio::task::JoinSet;

use crate::load::{
    exchange::{Exchange, Numbers},
    line::PLACEHOLDER,
    window::Tally,
};

/// Tasks that share one HTTP/2 connection. 8 or 64 did not make etcd measurably faster.
const TASKS_PER_CHANNEL: usize = 16;

/// Starts one task per connection of `plan`.
pub(crate) async fn workers(
    plan: &Exchange,
    key: &str,
    value: &str,
    tally: &Arc<Tally>,
) -> Result<JoinSet<Result<()>>> {
    let prefix = key.replace(PLACEHOLDER, "");
    let mut workers = JoinSet::new();
    for first in (0..plan.connections).step_by(TASKS_PER_CHANNEL) {
        let channel = Client::connect([plan.address.to_string()], None).await?.kv_client();
        for seed in (first..plan.connections).take(TASKS_PER_CHANNEL) {
            let (mut channel, tally) = (channel.clone(), Arc::clone(tally));
            let (prefix, value) = (prefix.clone(), value.to_owned());
            let mut numbers = Numbers::new(seed, plan.keys);
            workers.spawn(async move {
                loop {
                    let key =
                        format!("{prefix}{:0width$}", numbers.draw(), width = PLACEHOLDER.len());
                    let start = Instant::now();
                    channel.put(key, value.as_str(), None).await?;
                    if !tally.note(start) {
                        return Ok(());
                    }
                }
            });
        }
    }
    Ok(workers)
}
