//! Statistics of several rounds.

use crate::{
    load::{
        exchange::Exchanged,
        window::{Busy, Latency},
    },
    peers::postgres::Transacted,
};

/// A number that was measured in several rounds.
#[derive(Default)]
pub(crate) struct Spread(Vec<f64>);

/// The rounds of one contender.
#[derive(Default)]
pub(crate) struct Rounds {
    /// Replies per second.
    pub(crate) rate: Spread,
    pub(crate) latency: Vec<Latency>,
    /// Empty for pgbench.
    pub(crate) busy: Vec<Busy>,
}

impl Rounds {
    pub(crate) fn add(&mut self, round: Exchanged) {
        self.rate.add(round.rate);
        self.latency.push(round.latency);
        self.busy.push(round.busy);
    }

    /// Adds a round of pgbench, whose processor time is not measured.
    pub(crate) fn add_transacted(&mut self, round: &Transacted) {
        self.rate.add(round.rate);
        self.latency.push(round.latency);
    }
}

impl From<Vec<f64>> for Spread {
    fn from(rounds: Vec<f64>) -> Self {
        Self(rounds)
    }
}

impl Spread {
    /// Extracts one number from each round.
    pub(crate) fn of<T>(rounds: &[T], number: impl Fn(&T) -> f64) -> Self {
        Self(rounds.iter().map(number).collect())
    }

    pub(crate) fn add(&mut self, number: f64) {
        self.0.push(number);
    }

    /// The median. The mean of the two middle numbers if their count is even, zero without numbers.
    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        match sorted.as_slice() {
            [] => 0.0,
            all if all.len() % 2 == 1 => all[all.len() / 2],
            all => f64::midpoint(all[all.len() / 2 - 1], all[all.len() / 2]),
        }
    }

    /// The lowest and the highest number. Zeros without numbers.
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
    fn median_and_range_are_correct() {
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
