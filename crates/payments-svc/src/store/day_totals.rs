//! What merchants capture, and what they capture less what they refund, by day in UTC: totals of the
//! lines that a job has counted, and the lines since then.

use std::collections::BTreeMap;

use common::sql::{Columns, Group as _, Param, Stored as _};
use jiff::Timestamp;
use payments_domain::{
    Id,
    write::{DayCursor, DayTotal, LineRow},
};

use super::{Range, Store, StoreError};

/// The maximum number of lines that are counted at once.
const LINES: Param<'static> = Param::Int(2000);

/// The last line that is counted.
pub(super) const CURSOR: &str =
    "SELECT number, through FROM day_cursors ORDER BY number DESC LIMIT 1";

/// Lines after `$1` and up to `$2`, at most `$3`.
const LINES_TO_COUNT: &str = "lines WHERE id > $1 AND id <= $2 ORDER BY id LIMIT $3";

/// What the captures of the merchant `$1` since `since` have added to its balance, in one statement.
/// A refusal of a capture counts at once, like a refund: its capture may be older. No line since then
/// has an ID below `first`. Of the first day it reads the lines: a million of them takes 0.4 s.
pub(super) fn captured_since(first: &str, since: &str) -> String {
    let day = format!("(CAST({since} AS bigint) / {DAY})", DAY = DayTotal::DAY);
    let lines = |condition: &str| {
        format!(
            "SELECT sum(balance) FROM lines WHERE merchant = $1 AND {condition}
                 AND kind = 'capture' AND amount > 0 AND created > {since}"
        )
    };
    let of_day = lines(&format!(
        "id >= {first} AND id <= (SELECT line FROM day_totals WHERE merchant = $1 AND day = {day})
             AND created < ({day} + 1) * {DAY}",
        DAY = DayTotal::DAY
    ));
    let of_days =
        format!("SELECT sum(captured) FROM day_totals WHERE merchant = $1 AND day > {day}");
    let not_counted = lines(&format!("id > (SELECT through FROM ({CURSOR}) AS counted)"));
    let sums = [of_day, of_days, not_counted].map(|sum| format!("coalesce(({sum}), 0)"));
    format!("SELECT CAST({} AS bigint)", sums.join(" + "))
}

/// The totals of the merchant `$1` from the day `$2`, and the lines since then. One statement, so
/// that no line is in both.
fn totals() -> String {
    let kinds = DayTotal::KINDS.map(|kind| format!("'{}'", kind.name())).join(", ");
    format!(
        "SELECT day, amount FROM day_totals WHERE merchant = $1 AND day >= $2
         UNION ALL
         SELECT created / {DAY}, CAST(sum(balance + fee) AS bigint) FROM lines
         WHERE merchant = $1 AND id > (SELECT through FROM ({CURSOR}) AS counted)
             AND kind IN ({kinds})
         GROUP BY created / {DAY}",
        DAY = DayTotal::DAY
    )
}

impl Store {
    /// The cursor, and lines after it that are not counted, in the order of their IDs. `None` if
    /// there are no such lines.
    pub(crate) async fn lines_to_count(
        &self,
    ) -> Result<Option<(DayCursor, Vec<LineRow>)>, StoreError> {
        let cursor = self.query_one(CURSOR, &[], DayCursor::read).await?;
        let Some(cursor) = cursor else { return Ok(None) };
        // A line with a smaller ID could be committed later.
        let settled = self.settled().await?;
        let sql = format!("SELECT {} FROM {LINES_TO_COUNT}", LineRow::of("lines"));
        let params = [cursor.through.param(), settled.param(), LINES];
        let lines = self.query_all(&sql, &params, LineRow::read).await?;
        Ok((!lines.is_empty()).then_some((cursor, lines)))
    }

    /// What a merchant has captured less what it has refunded since a day, by day. Days without a line
    /// are left out.
    pub(crate) async fn day_totals(
        &self,
        merchant: Id,
        from: i64,
    ) -> Result<BTreeMap<i64, i64>, StoreError> {
        let params = [merchant.param(), from.param()];
        let mut days = BTreeMap::<_, i64>::new();
        let read = |columns: &mut Columns<'_>| Ok((columns.read()?, columns.read::<i64>()?));
        for (day, minor) in self.query_all(&totals(), &params, read).await? {
            let sum = days.entry(day).or_default();
            *sum = sum.saturating_add(minor);
        }
        Ok(days)
    }

    /// What the captures since a time have added to the balance of a merchant.
    pub(crate) async fn captured_since(
        &self,
        merchant: Id,
        since: Timestamp,
    ) -> Result<i64, StoreError> {
        let [after, _] = Range { from: Some(since), to: None }.ids();
        let params = [merchant.param(), after.param(), since.param()];
        let sql = captured_since("$2", "$3");
        let sums = self.query_all(&sql, &params, |columns| columns.read()).await?;
        Ok(sums.first().copied().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::sqlite::tests::{database, plan},
        *,
    };

    #[test]
    fn an_index_finds_the_lines_that_are_not_counted() {
        let db = database();
        let lines = plan(&db, &format!("SELECT id FROM {LINES_TO_COUNT}"));
        assert_eq!(lines, ["SEARCH lines USING PRIMARY KEY (id>? AND id<?)"]);
        for (sql, of_day) in [(totals(), ""), (captured_since("$2", "$3"), " AND id<?")] {
            let plan = plan(&db, &sql).join("\n");
            for step in [
                "SEARCH day_totals USING PRIMARY KEY (merchant=? AND day>?)",
                "SEARCH lines USING INDEX lines_of_merchants (merchant=? AND id>?)",
                &format!(
                    "SEARCH lines USING INDEX lines_of_merchants (merchant=? AND id>?{of_day})"
                ),
            ] {
                assert!(plan.contains(step), "{plan}");
            }
        }
    }
}
