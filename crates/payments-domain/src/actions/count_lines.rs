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
        let mut sums = BTreeMap::<_, i64>::new();
        for line in lines.iter().filter(|line| DayTotal::KINDS.contains(&line.kind)) {
            let sum = sums.entry((line.merchant, DayTotal::day_of(line.created))).or_default();
            *sum = sum.saturating_add(line.balance).saturating_add(line.fee);
        }
        let total = |((merchant, day), minor)| DayTotal { merchant, day, minor };
        let sums = sums.into_iter().map(total).collect();
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
                Some(known) => {
                    let minor = known.minor.saturating_add(sum.minor);
                    batch.rows.day_totals.update(DayTotal { minor, ..known });
                }
            }
        }
        Ok(())
    }
}
