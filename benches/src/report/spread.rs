//! The statistics of several rounds.

use crate::{
    load::{
        exchange::Exchanged,
        window::{Busy, Latency},
    },
    peers::postgres::Transacted,
};

/// The same number from several rounds.
#[derive(Default)]
pub(crate) struct Spread(Vec<f64>);

/// The rounds of one contender.
#[derive(Default)]
pub(crate) struct Rounds {
    /// Replies a second.
    pub(crate) rate: Spread,
    pub(crate) latency: Vec<Latency>,
    pub(crate) busy: Vec<Busy>,
}

impl Rounds {
    /// Adds one.
    pub(crate) fn add(&mut self, round: Exchanged) {
        self.rate.add(round.rate);
        self.latency.push(round.latency);
        self.busy.push(round.busy);
    }

    /// Adds one of pgbench, which is not asked for processor time.
    pub(crate) fn add_transacted(&mut self, round: &Transacted) {
        self.rate.add(round.rate);
        self.latency.push(round.latency);
    }

    /// Median of the 99th percentiles, in milliseconds.
    pub(crate) fn p99(&self) -> f64 {
        Spread::of(&self.latency, |latency| latency.p99).median()
    }
}

impl From<Vec<f64>> for Spread {
    fn from(rounds: Vec<f64>) -> Self {
        Self(rounds)
    }
}

impl Spread {
    /// One number of each round.
    pub(crate) fn of<T>(rounds: &[T], number: impl Fn(&T) -> f64) -> Self {
        Self(rounds.iter().map(number).collect())
    }

    /// Adds one.
    pub(crate) fn add(&mut self, number: f64) {
        self.0.push(number);
    }

    /// The middle one, or the mean of the two; zero if there is none.
    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        match sorted.as_slice() {
            [] => 0.0,
            all if all.len() % 2 == 1 => all[all.len() / 2],
            all => f64::midpoint(all[all.len() / 2 - 1], all[all.len() / 2]),
        }
    }

    /// Least and most; zeros if there is none.
    pub(crate) fn range(&self) -> (f64, f64) {
        let least = self.0.iter().copied().reduce(f64::min).unwrap_or_default();
        let most = self.0.iter().copied().reduce(f64::max).unwrap_or_default();
        (least, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        for (rounds, median, range) in [
            (vec![], 0.0, (0.0, 0.0)),
            (vec![3.0, 1.0, 2.0], 2.0, (1.0, 3.0)),
            (vec![4.0, 1.0], 2.5, (1.0, 4.0)),
        ] {
            let spread = Spread::from(rounds.clone());
            assert_eq!((spread.median(), spread.range()), (median, range), "{rounds:?}");
        }
    }
}
