//! Metrics of the batches of writes and of the cache, read from the store at each scrape. Declines
//! and the backlog have their metrics in `app/declines.rs` and `jobs/backlog.rs`.

use common::{
    batch::Stats,
    telemetry::{self, Family},
};
use prometheus::core::Collector;

use crate::store::Store;

/// The batches, and the hits and misses of the cache.
type StoreStats = (Stats, (u64, u64));

const FAMILIES: [Family<StoreStats>; 6] = [
    Family::counter("commits_total", "Batches committed.", |(batches, _)| batches.commits),
    Family::counter("writes_total", "Writes in committed batches.", |(batches, _)| batches.writes),
    Family::counter(
        "batch_conflicts_total",
        "Batches that ran again after a conflict.",
        |(batches, _)| batches.conflicts,
    ),
    Family::counter(
        "writes_postponed_total",
        "Writes moved to a later batch, because their rows were locked.",
        |(batches, _)| batches.postponed,
    ),
    Family::counter(
        "cache_hits_total",
        "Reads that found their transaction in the cache.",
        |(_, (hits, _))| *hits,
    ),
    Family::counter(
        "cache_misses_total",
        "Reads of transactions that read the database.",
        |(_, (_, misses))| *misses,
    ),
];

pub(crate) fn collector(store: Store) -> impl Collector {
    telemetry::StatsCollector::new(&FAMILIES, move || {
        (store.stats(), store.cache_hits_and_misses())
    })
}
