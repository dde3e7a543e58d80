//! Metrics whose values are read from one statistics struct of a service at each scrape.

use std::collections::HashMap;

use prometheus::{
    core::{Collector, Desc},
    proto::{Counter, Gauge, LabelPair, Metric, MetricFamily, MetricType},
};

/// A metric without labels, read from the statistics `S`.
pub struct Family<S> {
    name: &'static str,
    help: &'static str,
    kind: MetricType,
    read: fn(&S) -> u64,
}

impl<S> Family<S> {
    /// A value that can rise and fall.
    pub const fn gauge(name: &'static str, help: &'static str, read: fn(&S) -> u64) -> Self {
        Self { name, help, kind: MetricType::GAUGE, read }
    }

    /// A value that can only rise.
    pub const fn counter(name: &'static str, help: &'static str, read: fn(&S) -> u64) -> Self {
        Self { name, help, kind: MetricType::COUNTER, read }
    }

    fn render(&self, stats: &S) -> MetricFamily {
        let metric = metric(self.kind, float((self.read)(stats)), &[]);
        family(self.name, self.help, self.kind, vec![metric])
    }
}

/// Converts a count for the metrics.
#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53, which no count reaches")]
pub fn float(count: u64) -> f64 {
    count as f64
}

/// A sample with these labels and no value.
pub fn labelled(labels: &[(&str, &str)]) -> Metric {
    let labels = labels.iter().map(|&(name, value)| {
        let mut label = LabelPair::default();
        label.set_name(name.to_owned());
        label.set_value(value.to_owned());
        label
    });
    Metric::from_label(labels.collect())
}

/// One sample of a gauge or a counter.
pub fn metric(kind: MetricType, value: f64, labels: &[(&str, &str)]) -> Metric {
    let mut metric = labelled(labels);
    if kind == MetricType::GAUGE {
        let mut gauge = Gauge::default();
        gauge.set_value(value);
        metric.set_gauge(gauge);
    } else {
        let mut counter = Counter::default();
        counter.set_value(value);
        metric.set_counter(counter);
    }
    metric
}

/// A metric with these samples.
pub fn family(name: &str, help: &str, kind: MetricType, metrics: Vec<Metric>) -> MetricFamily {
    let mut family = MetricFamily::default();
    family.set_name(name.to_owned());
    family.set_help(help.to_owned());
    family.set_field_type(kind);
    family.set_metric(metrics);
    family
}

/// Collects metrics from the statistics that `read` returns at each scrape.
pub struct StatsCollector<S: 'static, R> {
    families: &'static [Family<S>],
    /// By these, a registry tells collectors apart.
    names: Vec<Desc>,
    read: R,
}

impl<S, R: Fn() -> S> StatsCollector<S, R> {
    /// Takes the metrics and the function that reads their statistics.
    pub fn new(families: &'static [Family<S>], read: R) -> Self {
        let name = |family: &Family<S>| {
            Desc::new(family.name.to_owned(), family.help.to_owned(), Vec::new(), HashMap::new())
        };
        Self { families, names: families.iter().flat_map(name).collect(), read }
    }
}

impl<S, R: Fn() -> S + Send + Sync> Collector for StatsCollector<S, R> {
    fn desc(&self) -> Vec<&Desc> {
        self.names.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let stats = (self.read)();
        self.families.iter().map(|family| family.render(&stats)).collect()
    }
}
