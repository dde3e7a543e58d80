//! The table.

use std::fmt::{self, Display, Formatter};

use crate::{
    figures::Figure,
    load::{
        exchange::Exchanged,
        window::{Busy, Latency},
    },
};

/// Cores busy with neither the server nor the load, from which on a figure is not to be trusted. Less is the kernel at work for both.
const DISTURBING: f64 = 0.3;

/// Rows, and remarks under them.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
    notes: Vec<String>,
    failed: bool,
}

/// One line of the table; what does not apply stays empty.
#[derive(Default)]
pub(crate) struct Row {
    figure: String,
    who: String,
    result: String,
    rounds: String,
    p50: String,
    p99: String,
    busy: String,
    ratio: String,
    target: String,
    notes: Vec<String>,
}

/// The same figure from several rounds.
#[derive(Default)]
pub(crate) struct Spread(Vec<f64>);

/// The rounds of one contender.
#[derive(Default)]
pub(crate) struct Rounds {
    /// Replies a second.
    pub(crate) rate: Spread,
    latency: Vec<Latency>,
    busy: Vec<Busy>,
}

impl Table {
    /// Adds a row.
    pub(crate) fn row(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Adds a remark.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Remarks that a figure could not be measured.
    pub(crate) fn failure(&mut self, figure: Figure, error: &anyhow::Error) {
        self.failed = true;
        self.note(format!("{figure:?} could not be measured: {error:#}"));
    }

    /// Whether a figure could not be measured.
    pub(crate) fn has_failures(&self) -> bool {
        self.failed
    }
}

impl Row {
    /// A row of one figure and one contender.
    pub(crate) fn new(figure: impl Into<String>, who: &str) -> Self {
        Self { figure: figure.into(), who: who.to_owned(), ..Self::default() }
    }

    /// What was measured.
    pub(crate) fn result(mut self, result: String) -> Self {
        self.result = result;
        self
    }

    /// Least and most of the rounds.
    pub(crate) fn rounds(mut self, rounds: String) -> Self {
        self.rounds = rounds;
        self
    }

    /// A rate as the result.
    pub(crate) fn rate(self, rate: &Spread) -> Self {
        self.result(format!("{}/s", count(rate.median()))).rounds(rate.range(""))
    }

    /// Medians of the percentiles.
    pub(crate) fn latency(mut self, rounds: &[Latency]) -> Self {
        let median = |of: fn(&Latency) -> f64| Spread(rounds.iter().map(of).collect()).median();
        self.p50 = format!("{:.2} ms", median(|latency| latency.p50));
        self.p99 = format!("{:.2} ms", median(|latency| latency.p99));
        self
    }

    /// Medians of the cores that server and load kept busy; a remark when something else took part of the machine.
    pub(crate) fn busy(mut self, rounds: &[Busy]) -> Self {
        let median = |of: fn(&Busy) -> f64| Spread(rounds.iter().map(of).collect()).median();
        self.busy =
            format!("{:.2} + {:.2}", median(|busy| busy.server), median(|busy| busy.client));
        let (upstream, others) = (median(|busy| busy.upstream), median(|busy| busy.others));
        if upstream > 0.0 {
            self = self.note(format!("{upstream:.2} cores busy behind the server"));
        }
        if others > DISTURBING {
            self.note(format!("disturbed: {others:.1} cores were busy elsewhere"))
        } else {
            self
        }
    }

    /// Everything known of a closed loop.
    pub(crate) fn exchanges(self, rounds: &Rounds) -> Self {
        self.rate(&rounds.rate).latency(&rounds.latency).busy(&rounds.busy)
    }

    /// Ours divided by this contender, and what it has to be.
    pub(crate) fn ratio(mut self, ratio: f64, target: f64) -> Self {
        self.ratio = format!("{ratio:.2} ×");
        self.at_least(ratio, target, " ×")
    }

    /// A target to reach.
    pub(crate) fn at_least(mut self, measured: f64, target: f64, unit: &str) -> Self {
        self.target = format!("≥ {}{unit}: {}", count(target), verdict(measured >= target));
        self
    }

    /// A target to stay within.
    pub(crate) fn at_most(mut self, measured: f64, target: f64, unit: &str) -> Self {
        self.target = format!("≤ {}{unit}: {}", count(target), verdict(measured <= target));
        self
    }

    /// A remark, after those there are.
    pub(crate) fn note(mut self, note: String) -> Self {
        self.notes.push(note);
        self
    }
}

impl Rounds {
    /// Adds one.
    pub(crate) fn add(&mut self, round: Exchanged) {
        self.rate.add(round.rate);
        self.latency.push(round.latency);
        self.busy.push(round.busy);
    }

    /// Median of the 99th percentiles, in milliseconds.
    pub(crate) fn p99(&self) -> f64 {
        Spread(self.latency.iter().map(|latency| latency.p99).collect()).median()
    }
}

impl Spread {
    /// Adds one.
    pub(crate) fn add(&mut self, figure: f64) {
        self.0.push(figure);
    }

    /// The middle one, or the mean of the two; zero when there is none.
    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        match sorted.as_slice() {
            [] => 0.0,
            all if all.len() % 2 == 1 => all[all.len() / 2],
            all => f64::midpoint(all[all.len() / 2 - 1], all[all.len() / 2]),
        }
    }

    /// Least and most, when there are several.
    pub(crate) fn range(&self, unit: &str) -> String {
        let least = self.0.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.0.iter().copied().fold(0.0, f64::max);
        if self.0.len() > 1 {
            format!("{}–{}{unit}", count(least), count(most))
        } else {
            String::new()
        }
    }
}

fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "**missed**" }
}

/// A number for people: thousands apart, decimals only where they matter.
pub(crate) fn count(number: f64) -> String {
    if number < 100.0 {
        let decimals = if number < 1.0 { 2 } else { 1 };
        let text = format!("{number:.decimals$}");
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

impl Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| figure | who | median | rounds | p50 | p99 | busy cores: server + load | ours ÷ theirs | target | remarks |"
        )?;
        writeln!(f, "|---|---|--:|--:|--:|--:|--:|--:|---|---|")?;
        for row in &self.rows {
            let Row { figure, who, result, rounds, p50, p99, busy, ratio, target, notes } = row;
            writeln!(
                f,
                "| {figure} | {who} | {result} | {rounds} | {p50} | {p99} | {busy} | {ratio} | {target} | {} |",
                notes.join("; ")
            )?;
        }
        for note in &self.notes {
            writeln!(f, "\n{note}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
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

    #[test]
    fn the_median_is_in_the_middle() {
        for (figures, median) in [(vec![], 0.0), (vec![3.0, 1.0, 2.0], 2.0), (vec![4.0, 1.0], 2.5)]
        {
            assert_eq!(Spread(figures.clone()).median(), median, "{figures:?}");
        }
    }
}
