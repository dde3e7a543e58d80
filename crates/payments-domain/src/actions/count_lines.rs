use std::collections::BTreeMap;

use sql::Row as _;

use crate::write::{Action, Batch, DayCursor, DayTotal, LineRow, Needs, Rejection};

/// Add lines to the totals of their days. Rejected with [`Rejection::NotFound`] if lines were counted
/// since the cursor was read, so that no line is counted twice.
#[derive(Debug)]
pub struct CountLines {
    cursor: DayCursor,
    next: DayCursor,
    /// What is added to each total.
    sums: Vec<DayTotal>,
}

impl CountLines {
    /// `lines` are all lines after the cursor, up to one of them, in the order of their IDs.
    pub fn new(cursor: DayCursor, lines: &[LineRow]) -> Self {
        let counted = lines.iter().filter(|line| DayTotal::KINDS.contains(&line.kind));
        let mut sums = BTreeMap::new();
        for total in counted.map(DayTotal::of_line) {
            let add = |sum: &mut DayTotal| sum.add(total);
            sums.entry(total.key()).and_modify(add).or_insert(total);
        }
        let sums = sums.into_values().collect();
        let through = lines.last().map_or(cursor.through, |line| line.id);
        let next = DayCursor { number: cursor.number.saturating_add(1), through };
        Self { cursor, next, sums }
    }
}

impl Action for CountLines {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.rows.day_cursors.insert(self.cursor.number);
        needs.rows.day_totals.extend(self.sums.iter().map(DayTotal::key));
    }

    fn ids(&self) -> usize {
        0
    }

    fn cost(&self) -> (usize, usize) {
        (self.sums.len().saturating_mul(2).saturating_add(2), 0)
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let cursors = &mut batch.rows.day_cursors;
        if cursors.get(&self.cursor.number) != Some(&self.cursor) {
            return Err(Rejection::NotFound);
        }
        cursors.delete(self.cursor.number);
        cursors.insert(self.next);
        for sum in &self.sums {
            match batch.rows.day_totals.get(&sum.key()).copied() {
                None => batch.rows.day_totals.insert(*sum),
                Some(mut known) => {
                    known.add(*sum);
                    batch.rows.day_totals.update(known);
                }
            }
        }
        Ok(())
    }
}
