//! The results of a run: one table per figure, one row per contender. They are stored as JSON, so
//! names of fields and variants are part of the file format.

mod page;
mod plot;
mod spread;
pub(crate) mod text;

use serde::{Deserialize, Serialize};

use crate::{
    figures::Figure,
    load::window::{Busy, Latency},
    machine::Machine,
};

pub(crate) use page::{publish, render};
pub(crate) use spread::{Rounds, Spread};
pub(crate) use text::count;

/// Busy cores, apart from the server and the load, above which a row cannot be trusted. A lower
/// value is work of the kernel for server and load.
const DISTURBED: f64 = 0.3;
const DISTURBED_REMARK: &str = "disturbed";

#[derive(Deserialize, Serialize)]
pub(crate) struct Results {
    /// Date of the end, in UTC.
    pub(crate) date: String,
    /// Whether it was a smoke run, whose numbers mean nothing.
    pub(crate) quick: bool,
    pub(crate) machine: Machine,
    /// Names and versions of the services and the peers.
    pub(crate) versions: Vec<(String, String)>,
    pub(crate) tables: Vec<Table>,
}

/// The results of one figure.
#[derive(Deserialize, Serialize)]
pub(crate) struct Table {
    pub(crate) figure: Figure,
    pub(crate) rows: Vec<Row>,
    /// Remarks under the rows.
    pub(crate) notes: Vec<String>,
    /// The reason if the figure could not be measured.
    pub(crate) failure: Option<String>,
}

/// One contender under one load. Fields that do not apply are `None`.
#[derive(Deserialize, Serialize)]
pub(crate) struct Row {
    /// The load. Rows with the same title are compared.
    pub(crate) title: String,
    /// The contender.
    pub(crate) who: String,
    /// Whether the contender is a service and not a peer.
    pub(crate) ours: bool,
    /// Whether the load determines the rate, and not the contender.
    pub(crate) steady: bool,
    pub(crate) result: Option<Amount>,
    /// Medians of the rounds.
    pub(crate) latency: Option<Latency>,
    /// Medians of the rounds.
    pub(crate) busy: Option<Busy>,
    /// The service's rate divided by this contender's.
    pub(crate) ratio: Option<f64>,
    pub(crate) notes: Vec<String>,
}

/// A number that was measured in one or more rounds.
#[derive(Deserialize, Serialize)]
pub(crate) struct Amount {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
    /// Appended to the number, so it begins with a space if one is needed.
    pub(crate) unit: String,
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

    pub(crate) fn row(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Adds a remark under the rows.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }
}

impl Row {
    /// A row for a service.
    pub(crate) fn ours(title: impl Into<String>, who: &str) -> Self {
        Self {
            title: title.into(),
            who: who.to_owned(),
            ours: true,
            steady: false,
            result: None,
            latency: None,
            busy: None,
            ratio: None,
            notes: Vec::new(),
        }
    }

    /// A row for a peer.
    pub(crate) fn peer(title: impl Into<String>, who: &str) -> Self {
        Self { ours: false, ..Self::ours(title, who) }
    }

    /// Marks the rate as determined by the load.
    pub(crate) fn steady(mut self) -> Self {
        self.steady = true;
        self
    }

    /// Sets the result to a number that was measured once.
    pub(crate) fn once(self, number: f64, unit: &str) -> Self {
        self.result(&Spread::from(vec![number]), unit)
    }

    /// Sets the result to a number that was measured in several rounds.
    pub(crate) fn result(mut self, rounds: &Spread, unit: &str) -> Self {
        let (least, most) = rounds.range();
        let unit = unit.to_owned();
        self.result = Some(Amount { median: rounds.median(), least, most, unit });
        self
    }

    /// Sets the result to a rate per second.
    pub(crate) fn rate(self, rate: &Spread) -> Self {
        self.result(rate, "/s")
    }

    /// Sets the latency to the medians of the percentiles.
    pub(crate) fn latency(mut self, rounds: &[Latency]) -> Self {
        let median = |of: fn(&Latency) -> f64| Spread::of(rounds, of).median();
        self.latency = Some(Latency {
            p50: median(|l| l.p50),
            p99: median(|l| l.p99),
            p999: median(|l| l.p999),
        });
        self
    }

    /// Sets the busy cores to the medians. Adds a remark if other programs disturbed the
    /// measurement.
    pub(crate) fn busy(mut self, rounds: &[Busy]) -> Self {
        let median = |of: fn(&Busy) -> f64| Spread::of(rounds, of).median();
        let busy = Busy {
            server: median(|busy| busy.server),
            client: median(|busy| busy.client),
            upstream: median(|busy| busy.upstream),
            others: median(|busy| busy.others),
        };
        self.busy = Some(busy);
        if busy.upstream > 0.0 {
            self = self.note(format!("{:.2} cores busy behind the server", busy.upstream));
        }
        if busy.others > DISTURBED {
            self.note(format!("{DISTURBED_REMARK}: {:.1} cores were busy elsewhere", busy.others))
        } else {
            self
        }
    }

    /// Sets rate, latency and busy cores.
    pub(crate) fn exchanges(self, rounds: &Rounds) -> Self {
        let row = self.rate(&rounds.rate).latency(&rounds.latency);
        if rounds.busy.is_empty() { row } else { row.busy(&rounds.busy) }
    }

    /// Sets the rate of the service divided by that of this contender.
    pub(crate) fn ratio(mut self, ratio: f64) -> Self {
        self.ratio = Some(ratio);
        self
    }

    /// Whether other programs disturbed the measurement.
    pub(crate) fn is_disturbed(&self) -> bool {
        self.notes.iter().any(|note| note.starts_with(DISTURBED_REMARK))
    }

    /// Adds a remark.
    pub(crate) fn note(mut self, note: String) -> Self {
        self.notes.push(note);
        self
    }
}

/// Constant results for tests.
#[cfg(test)]
mod sample {
    use super::*;

    /// Contains two ratios and a figure that could not be measured.
    pub(super) fn results() -> Results {
        let latency = Latency { p50: 1.0, p99: 2.5, p999: 3.0 };
        let mut set = Table::new(Figure::Set);
        let rates = Spread::from(vec![30_000.0, 29_000.0, 31_000.0]);
        set.row(Row::ours("load <a>", "objstore-svc set").rate(&rates).latency(&[latency]));
        set.row(Row::peer("load <a>", "etcd put").once(10_000.0, "/s").ratio(3.0));
        let redis = Row::peer("load <a>", "Redis SET").once(80_000.0, "/s").ratio(0.375);
        set.row(redis.note(format!("{DISTURBED_REMARK}: by a test")));
        let failure = Some("no port".to_owned());
        Results {
            date: "2026-11-22".to_owned(),
            quick: false,
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
