//! The metrics of objstore-svc, read from the store and the hub at each scrape.

use std::sync::Arc;

use common::telemetry::{Family, StatsCollector};
use prometheus::core::Collector;

use crate::{
    store::{self, Store},
    watch::{Hub, WatchStats},
};

type Read = (store::Stats, WatchStats);

const FAMILIES: [Family<Read>; 14] = [
    Family::gauge("revision", "The newest revision.", |(store, _)| store.revision),
    Family::gauge(
        "log_floor",
        "The newest revision that the change log has dropped.",
        |(store, _)| store.log_floor,
    ),
    Family::gauge("log_bytes", "Bytes of the records in the change log.", |(store, _)| {
        store.log_bytes
    }),
    Family::gauge("clients", "Registered clients.", |(store, _)| store.clients),
    Family::gauge("clients_max", "Maximum number of registered clients.", |(store, _)| {
        store.max_clients
    }),
    Family::counter("commits_total", "Batches committed.", |(store, _)| store.commits),
    Family::counter(
        "writes_total",
        "Writes in committed batches, including rejected ones.",
        |(store, _)| store.writes,
    ),
    Family::counter(
        "expired_objects_total",
        "Objects that this process deleted because they expired or their client was gone.",
        |(store, _)| store.expired,
    ),
    Family::counter(
        "cache_hits_total",
        "Gets that found their object in the cache.",
        |(store, _)| store.cache_hits,
    ),
    Family::counter("cache_misses_total", "Gets that read the database.", |(store, _)| {
        store.cache_misses
    }),
    Family::gauge("sockets", "Open sockets and event streams.", |(_, watch)| widen(watch.sockets)),
    Family::gauge(
        "watching_clients",
        "Clients with at least one open socket, with or without watches.",
        |(_, watch)| widen(watch.clients),
    ),
    Family::gauge(
        "ended_watches",
        "Ended watches that sockets still need, because they are behind.",
        |(_, watch)| widen(watch.ended),
    ),
    Family::counter(
        "pushes_total",
        "Messages handed to sockets and event streams.",
        |(_, watch)| watch.pushes,
    ),
];

pub(crate) fn collector(store: Store, hub: Arc<Hub>) -> impl Collector {
    StatsCollector::new(&FAMILIES, move || (store.stats(), hub.stats()))
}

fn widen(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
