//! Metrics of the batches of writes, read from the store at each scrape. Declines and the backlog
//! have their metrics in `app/declines.rs` and `jobs/backlog.rs`.

use common::{
    batch::Stats,
    telemetry::{self, Family},
};
use prometheus::core::Collector;

use crate::store::Store;

const FAMILIES: [Family<Stats>; 5] = [
    Family::counter("commits_total", "Batches committed.", |store| store.commits),
    Family::counter("writes_total", "Writes in committed batches.", |store| store.operations),
    Family::counter("batch_conflicts_total", "Batches that ran again after a conflict.", |store| {
        store.conflicts
    }),
    Family::counter(
        "writes_postponed_total",
        "Writes moved to a later batch, because their rows were locked.",
        |store| store.postponed,
    ),
    Family::gauge("write_queue_bytes", "Bytes of writes that wait for a commit.", |store| {
        store.waiting_bytes
    }),
];

pub(crate) fn collector(store: Store) -> impl Collector {
    telemetry::StatsCollector::new(&FAMILIES, move || store.stats())
}
