//! The service's own metrics, read from the store and the hub at each scrape.

use std::sync::Arc;

use common::telemetry::{Family, StatsCollector};
use prometheus::core::Collector;

use crate::{
    store::{self, Store},
    watch::{Hub, WatchStats},
};

/// What is read.
type Read = (store::Stats, WatchStats);

const FAMILIES: [Family<Read>; 11] = [
    Family::gauge("revision", "The newest revision.", |(store, _)| store.revision),
    Family::gauge("log_floor", "The newest revision that the log has dropped.", |(store, _)| {
        store.log_floor
    }),
    Family::gauge("log_bytes", "Bytes of the records that the log holds.", |(store, _)| {
        store.log_bytes
    }),
    Family::gauge("clients", "Clients registered.", |(store, _)| store.clients),
    Family::gauge("write_queue_bytes", "Bytes of writes that wait.", |(store, _)| {
        store.waiting_bytes
    }),
    Family::counter("commits_total", "Batches committed.", |(store, _)| store.commits),
    Family::counter("operations_total", "Writes in committed batches.", |(store, _)| {
        store.operations
    }),
    Family::gauge("sockets", "Sockets open.", |(_, watch)| widen(watch.sockets)),
    Family::gauge("watching_clients", "Clients with a socket open.", |(_, watch)| {
        widen(watch.clients)
    }),
    Family::gauge("ended_watches", "Ended watches that sockets still need.", |(_, watch)| {
        widen(watch.ended)
    }),
    Family::counter("pushes_total", "Messages handed to sockets.", |(_, watch)| watch.pushes),
];

/// Reads both at each scrape.
pub(crate) fn collector(store: Store, hub: Arc<Hub>) -> impl Collector {
    StatsCollector::new(&FAMILIES, move || (store.stats(), hub.stats()))
}

fn widen(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
