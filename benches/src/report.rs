//! The results of a run: one table per figure, one row per contender. They are stored as JSON, so
//! names of fields and variants are part of the file format.

mod page;
mod plot;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::{figures::Figure, machine::Machine};

pub(crate) use page::{publish, render, text};

/// Cores kept busy by other programs, above which a row cannot be trusted. Less is work of the
/// kernel for server and load.
const DISTURBED: f64 = 0.3;

/// Latencies in milliseconds.
#[derive(Clone, Copy, Deserialize, Serialize)]
pub(crate) struct Latency {
    p50: f64,
    p99: f64,
}

impl Latency {
    /// `unit` is the number of the histogram's units in a millisecond.
    pub(crate) fn of(histogram: &Histogram<u64>, unit: f64) -> Self {
        let at = |quantile| histogram.value_at_quantile(quantile) as f64 / unit;
        Self { p50: at(0.5), p99: at(0.99) }
    }
}

/// The measurements of a load client in one round.
#[derive(Deserialize, Serialize)]
pub(crate) struct Round {
    /// Per second.
    pub(crate) rate: f64,
    pub(crate) latency: Option<Latency>,
    /// Cores that other programs kept busy.
    pub(crate) others: f64,
}

/// The median rate.
pub(crate) fn rate(rounds: &[Round]) -> f64 {
    median(rounds.iter().map(|round| round.rate))
}

/// The median, of two in the middle the higher one. Zero without numbers.
pub(crate) fn median(numbers: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<_> = numbers.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

#[derive(Deserialize, Serialize)]
pub(crate) struct Results {
    /// Date of the end, in UTC.
    pub(crate) date: String,
    pub(crate) machine: Machine,
    /// Names and versions of the services and the peers.
    pub(crate) versions: Vec<(String, String)>,
    pub(crate) tables: Vec<Table>,
}

/// The results of one figure.
#[derive(Deserialize, Serialize)]
pub(crate) struct Table {
    figure: Figure,
    rows: Vec<Row>,
    /// Remarks under the rows.
    notes: Vec<String>,
    /// The reason if the figure could not be measured.
    pub(crate) failure: Option<String>,
}

/// One contender under one load. Fields that do not apply are `None`.
#[derive(Deserialize, Serialize)]
pub(crate) struct Row {
    /// The load. Rows with the same title are compared.
    title: String,
    /// The contender.
    who: String,
    /// Whether the contender is a service and not a peer.
    pub(crate) ours: bool,
    /// Whether the load determines the rate, and not the contender.
    pub(crate) steady: bool,
    /// Whether other programs disturbed the measurement.
    disturbed: bool,
    pub(crate) rate: Option<Rate>,
    /// Medians of the rounds.
    latency: Option<Latency>,
    /// The rate of the service divided by that of this peer.
    pub(crate) ratio: Option<f64>,
}

/// Rates of the rounds, per second.
#[derive(Deserialize, Serialize)]
pub(crate) struct Rate {
    median: f64,
    least: f64,
    most: f64,
}

impl Results {
    /// Whether every figure could be measured.
    pub(crate) fn is_complete(&self) -> bool {
        self.tables.iter().all(|table| table.failure.is_none())
    }
}

impl Table {
    pub(crate) fn new(figure: Figure) -> Self {
        Self { figure, rows: Vec::new(), notes: Vec::new(), failure: None }
    }

    /// Adds the row of a service.
    pub(crate) fn row(&mut self, title: &str, who: &str, rounds: &[Round]) -> &mut Row {
        let rates = || rounds.iter().map(|round| round.rate);
        let latencies: Vec<_> = rounds.iter().filter_map(|round| round.latency).collect();
        let latency = |of: fn(&Latency) -> f64| median(latencies.iter().map(of));
        self.rows.push_mut(Row {
            title: title.to_owned(),
            who: who.to_owned(),
            ours: true,
            steady: false,
            disturbed: median(rounds.iter().map(|round| round.others)) > DISTURBED,
            rate: Some(Rate {
                median: rate(rounds),
                least: rates().fold(f64::INFINITY, f64::min),
                most: rates().fold(0.0, f64::max),
            }),
            latency: (!latencies.is_empty())
                .then(|| Latency { p50: latency(|l| l.p50), p99: latency(|l| l.p99) }),
            ratio: None,
        })
    }

    /// Adds a remark under the rows.
    pub(crate) fn note(&mut self, note: &str) {
        self.notes.push(note.to_owned());
    }
}

/// Formats a number with thousands separators. Only numbers below 100 have decimals, without
/// trailing zeros.
pub(crate) fn count(number: f64) -> String {
    if number < 100.0 {
        let text = if number < 1.0 { format!("{number:.2}") } else { format!("{number:.1}") };
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Constant results for tests.
#[cfg(test)]
mod sample {
    use super::*;

    /// Contains two ratios and a figure that could not be measured.
    pub(super) fn results() -> Results {
        let round = |rate, latency| Round { rate, latency, others: 0.0 };
        let ours = [30_000.0, 29_000.0, 31_000.0]
            .map(|rate| round(rate, Some(Latency { p50: 1.0, p99: 2.5 })));
        let mut set = Table::new(Figure::Set);
        set.row("load <a>", "objstore-svc set", &ours);
        for (who, rate) in [("etcd put", 10_000.0), ("Redis SET", 80_000.0)] {
            let row = set.row("load <a>", who, &[round(rate, None)]);
            (row.ours, row.disturbed) = (false, who == "Redis SET");
            row.ratio = Some(30_000.0 / rate);
        }
        let failure = Some("no port".to_owned());
        Results {
            date: "2026-11-22".to_owned(),
            machine: Machine {
                processor: "Example".to_owned(),
                cores: 2,
                memory: 23.5,
                kernel: "Linux 6.1".to_owned(),
                disk: "ext4 on /dev/vda".to_owned(),
                sync: 0.5,
            },
            versions: vec![("etcd".to_owned(), "3.4.23".to_owned())],
            tables: vec![set, Table { failure, ..Table::new(Figure::Get) }],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0]), 4.0);
        assert_eq!(median([]), 0.0);
    }

    #[test]
    fn numbers_have_separators_and_few_decimals() {
        for (number, text) in [
            (0.0, "0"),
            (0.5, "0.5"),
            (0.85, "0.85"),
            (2.0, "2"),
            (99.94, "99.9"),
            (999.6, "1,000"),
            (1_234_567.0, "1,234,567"),
        ] {
            assert_eq!(count(number), text);
        }
    }
}
