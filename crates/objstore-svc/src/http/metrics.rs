//! The service's own metrics, read from the store and the hub at each scrape.

use std::sync::Arc;

use prometheus::{
    core::{Collector, Desc},
    proto::{Counter, Gauge, Metric, MetricFamily, MetricType},
};

use crate::{
    store::{Figures, Store},
    watch::{Hub, WatchFigures},
};

/// One family without labels.
struct Family {
    name: &'static str,
    help: &'static str,
    kind: MetricType,
    read: fn(&Figures, &WatchFigures) -> u64,
}

const FAMILIES: [Family; 10] = [
    gauge("revision", "The newest revision.", |store, _| store.revision),
    gauge("log_floor", "The newest revision that the log has dropped.", |store, _| store.log_floor),
    gauge("log_bytes", "Bytes of the records that the log holds.", |store, _| store.log_bytes),
    gauge("clients", "Clients registered.", |store, _| store.clients),
    gauge("write_queue_bytes", "Bytes of writes that wait.", |store, _| store.waiting_bytes),
    counter("commits_total", "Batches committed.", |store, _| store.commits),
    counter("operations_total", "Writes in committed batches.", |store, _| store.operations),
    gauge("sockets", "Sockets open.", |_, watch| widen(watch.sockets)),
    gauge("watching_clients", "Clients with a socket open.", |_, watch| widen(watch.clients)),
    counter("pushes_total", "Messages handed to sockets.", |_, watch| watch.pushes),
];

const fn gauge(
    name: &'static str,
    help: &'static str,
    read: fn(&Figures, &WatchFigures) -> u64,
) -> Family {
    Family { name, help, kind: MetricType::GAUGE, read }
}

const fn counter(
    name: &'static str,
    help: &'static str,
    read: fn(&Figures, &WatchFigures) -> u64,
) -> Family {
    Family { name, help, kind: MetricType::COUNTER, read }
}

fn widen(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Reads both at each scrape.
pub(crate) struct ServiceMetrics {
    pub(crate) store: Store,
    pub(crate) hub: Arc<Hub>,
}

impl Collector for ServiceMetrics {
    fn desc(&self) -> Vec<&Desc> {
        Vec::new()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let (store, watch) = (self.store.figures(), self.hub.figures());
        let render = |family: &Family| {
            #[expect(
                clippy::cast_precision_loss,
                reason = "a metric is a float; counts stay exact to 2^53"
            )]
            let value = (family.read)(&store, &watch) as f64;
            let mut metric = Metric::default();
            if family.kind == MetricType::GAUGE {
                let mut gauge = Gauge::default();
                gauge.set_value(value);
                metric.set_gauge(gauge);
            } else {
                let mut counter = Counter::default();
                counter.set_value(value);
                metric.set_counter(counter);
            }
            let mut rendered = MetricFamily::default();
            rendered.set_name(family.name.to_owned());
            rendered.set_help(family.help.to_owned());
            rendered.set_field_type(family.kind);
            rendered.set_metric(vec![metric]);
            rendered
        };
        FAMILIES.iter().map(render).collect()
    }
}
