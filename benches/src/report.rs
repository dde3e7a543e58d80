//! The outcome of a run, as numbers: a table per figure, with a row per contender.

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

/// Cores busy with neither the server nor the load, from which on a figure is not to be trusted. Less is the kernel at work for both.
const DISTURBING: f64 = 0.3;

/// The outcome of a run.
#[derive(Deserialize, Serialize)]
pub(crate) struct Results {
    /// When it ended, in UTC.
    pub(crate) date: String,
    /// Whether it was a smoke run.
    pub(crate) quick: bool,
    pub(crate) machine: Machine,
    /// Names and versions of the services and the peers.
    pub(crate) versions: Vec<(String, String)>,
    pub(crate) tables: Vec<Table>,
}

/// The outcome of one figure.
#[derive(Deserialize, Serialize)]
pub(crate) struct Table {
    pub(crate) figure: Figure,
    pub(crate) rows: Vec<Row>,
    /// Remarks under the rows.
    pub(crate) notes: Vec<String>,
    /// Why the figure could not be measured.
    pub(crate) failure: Option<String>,
}

/// One contender under one load. A field that does not apply is `None`.
#[derive(Deserialize, Serialize)]
pub(crate) struct Row {
    /// The load: rows with the same title are compared.
    pub(crate) title: String,
    /// The contender.
    pub(crate) who: String,
    /// Whether the contender is one of the services, not a peer.
    pub(crate) ours: bool,
    /// Whether the load sets the rate, not the contender.
    pub(crate) steady: bool,
    pub(crate) result: Option<Amount>,
    /// Medians of the rounds.
    pub(crate) latency: Option<Latency>,
    /// Medians of the rounds.
    pub(crate) busy: Option<Busy>,
    /// The service's rate divided by this contender's.
    pub(crate) ratio: Option<f64>,
    pub(crate) target: Option<Target>,
    pub(crate) notes: Vec<String>,
}

/// The same number from one or more rounds.
#[derive(Deserialize, Serialize)]
pub(crate) struct Amount {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
    /// Follows the number, with the space between them if there is one.
    pub(crate) unit: String,
}

/// A number that has to stay on one side of a limit.
#[derive(Deserialize, Serialize)]
pub(crate) struct Target {
    pub(crate) measured: f64,
    pub(crate) bound: Bound,
    pub(crate) limit: f64,
    /// Follows the limit, with the space between them if there is one.
    pub(crate) unit: String,
}

/// The side of the limit.
#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Bound {
    AtLeast,
    AtMost,
}

impl Results {
    /// Whether every figure could be measured.
    pub(crate) fn is_complete(&self) -> bool {
        self.tables.iter().all(|table| table.failure.is_none())
    }
}

impl Table {
    /// A table without rows.
    pub(crate) fn new(figure: Figure) -> Self {
        Self { figure, rows: Vec::new(), notes: Vec::new(), failure: None }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Adds a remark.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }
}

impl Row {
    /// A row of a service.
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
            target: None,
            notes: Vec::new(),
        }
    }

    /// A row of a peer.
    pub(crate) fn peer(title: impl Into<String>, who: &str) -> Self {
        Self { ours: false, ..Self::ours(title, who) }
    }

    /// Says that the load sets the rate.
    pub(crate) fn steady(mut self) -> Self {
        self.steady = true;
        self
    }

    /// A number of a single round.
    pub(crate) fn once(self, number: f64, unit: &str) -> Self {
        self.result(&Spread::from(vec![number]), unit)
    }

    /// The same number from several rounds.
    pub(crate) fn result(mut self, rounds: &Spread, unit: &str) -> Self {
        let (least, most) = rounds.range();
        let unit = unit.to_owned();
        self.result = Some(Amount { median: rounds.median(), least, most, unit });
        self
    }

    /// A rate as the result.
    pub(crate) fn rate(self, rate: &Spread) -> Self {
        self.result(rate, "/s")
    }

    /// Medians of the percentiles.
    pub(crate) fn latency(mut self, rounds: &[Latency]) -> Self {
        let median = |of: fn(&Latency) -> f64| Spread::of(rounds, of).median();
        self.latency = Some(Latency {
            p50: median(|l| l.p50),
            p99: median(|l| l.p99),
            p999: median(|l| l.p999),
        });
        self
    }

    /// Medians of the cores that server and load kept busy; a remark if something else took part of the machine.
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
        if busy.others > DISTURBING {
            self.note(format!("disturbed: {:.1} cores were busy elsewhere", busy.others))
        } else {
            self
        }
    }

    /// Everything known of a closed loop.
    pub(crate) fn exchanges(self, rounds: &Rounds) -> Self {
        let row = self.rate(&rounds.rate).latency(&rounds.latency);
        if rounds.busy.is_empty() { row } else { row.busy(&rounds.busy) }
    }

    /// The service divided by this contender, and the least it has to be.
    pub(crate) fn ratio(mut self, ratio: f64, target: f64) -> Self {
        self.ratio = Some(ratio);
        self.at_least(ratio, target, " ×")
    }

    /// A target to reach.
    pub(crate) fn at_least(self, measured: f64, limit: f64, unit: &str) -> Self {
        self.target(measured, Bound::AtLeast, limit, unit)
    }

    /// A target to stay within.
    pub(crate) fn at_most(self, measured: f64, limit: f64, unit: &str) -> Self {
        self.target(measured, Bound::AtMost, limit, unit)
    }

    fn target(mut self, measured: f64, bound: Bound, limit: f64, unit: &str) -> Self {
        self.target = Some(Target { measured, bound, limit, unit: unit.to_owned() });
        self
    }

    /// A remark, after those there are.
    pub(crate) fn note(mut self, note: String) -> Self {
        self.notes.push(note);
        self
    }
}

impl Target {
    /// Whether the number is on the right side; the limit itself is.
    pub(crate) fn is_met(&self) -> bool {
        match self.bound {
            Bound::AtLeast => self.measured >= self.limit,
            Bound::AtMost => self.measured <= self.limit,
        }
    }
}

/// Results that are the same every time.
#[cfg(test)]
mod sample {
    use super::*;

    /// One met target, one missed, and a figure that could not be measured.
    pub(super) fn results() -> Results {
        let latency = Latency { p50: 1.0, p99: 2.5, p999: 3.0 };
        let mut set = Table::new(Figure::Set);
        let rates = Spread::from(vec![30_000.0, 29_000.0, 31_000.0]);
        set.row(Row::ours("load <a>", "objstore-svc set").rate(&rates).latency(&[latency]));
        set.row(Row::peer("load <a>", "etcd put").once(10_000.0, "/s").ratio(3.0, 2.0));
        let redis = Row::peer("load <a>", "Redis SET").once(80_000.0, "/s").ratio(0.375, 0.5);
        set.row(redis.note("a remark".to_owned()));
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
            tables: vec![set, Table { failure, ..Table::new(Figure::Health) }],
        }
    }
}
