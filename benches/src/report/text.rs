//! Formats numbers, and the table for the terminal.

use std::fmt::{self, Display, Formatter};

use crate::report::{Amount, Results, Row};

/// All results of a run as one table.
pub(crate) struct Terminal<'a>(pub(crate) &'a Results);

/// Formats a number with thousands separators. Only numbers below 100 have decimals, without
/// trailing zeros.
pub(crate) fn count(number: f64) -> String {
    if number.abs() < 100.0 {
        let decimals = if number.abs() < 1.0 { 2 } else { 1 };
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

impl Display for Terminal<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| load | contender | median | rounds | p50 | p99 | busy cores: server + load | service ÷ peer | remarks |"
        )?;
        writeln!(f, "|---|---|--:|--:|--:|--:|--:|--:|---|")?;
        let Results { date, machine, tables, .. } = self.0;
        for row in tables.iter().flat_map(|table| &table.rows) {
            let Row { title, who, .. } = row;
            let [p50, p99] = percentiles(row);
            let range = row.result.as_ref().map(Amount::range);
            let busy = row.busy.map(|busy| format!("{:.2} + {:.2}", busy.server, busy.client));
            writeln!(
                f,
                "| {title} | {who} | {} | {} | {p50} | {p99} | {} | {} | {} |",
                cell(row.result.as_ref()),
                range.unwrap_or_default(),
                busy.unwrap_or_default(),
                ratio(row),
                row.notes.join("; ")
            )?;
        }
        for table in tables {
            for note in &table.notes {
                writeln!(f, "\n{note}")?;
            }
            if let Some(failure) = &table.failure {
                writeln!(f, "\n{:?} could not be measured: {failure}", table.figure)?;
            }
        }
        write!(f, "\nMachine: {machine}, {date}.")
    }
}

/// Formats a cell of a table. It is empty without a value.
pub(crate) fn cell(value: Option<&impl Display>) -> String {
    value.map(ToString::to_string).unwrap_or_default()
}

/// Formats the cells of p50 and p99.
pub(crate) fn percentiles(row: &Row) -> [String; 2] {
    let cell = |number| format!("{number:.2} ms");
    row.latency.map(|latency| [latency.p50, latency.p99].map(cell)).unwrap_or_default()
}

/// Formats the cell of [`Row::ratio`].
pub(crate) fn ratio(row: &Row) -> String {
    row.ratio.map(|ratio| format!("{ratio:.2} ×")).unwrap_or_default()
}

impl Amount {
    /// Formats the lowest and the highest number. Empty if they are equal.
    pub(crate) fn range(&self) -> String {
        let [least, most] = [self.least, self.most].map(count);
        if self.least < self.most { format!("{least}–{most}") } else { String::new() }
    }
}

impl Display for Amount {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", count(self.median), self.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_separators_and_few_decimals() {
        for (number, text) in [
            (0.0, "0"),
            (0.5, "0.5"),
            (0.85, "0.85"),
            (-0.05, "-0.05"),
            (2.0, "2"),
            (99.94, "99.9"),
            (999.6, "1,000"),
            (1_234_567.0, "1,234,567"),
        ] {
            assert_eq!(count(number), text);
        }
    }
}
