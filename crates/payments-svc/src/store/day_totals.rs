//! What merchants capture less what they refund, by day in UTC: totals of the lines that a job has
//! counted, and the lines since then.

use std::collections::BTreeMap;

use common::sql::{Group as _, Param, Stored as _};
use payments_domain::{
    Id,
    write::{DayCursor, DayTotal, LineRow},
};

use super::{Store, StoreError};

/// The maximum number of lines that are counted at once.
const LINES: Param<'static> = Param::Int(2000);

/// The last line that is counted.
pub(super) const CURSOR: &str =
    "SELECT number, through FROM day_cursors ORDER BY number DESC LIMIT 1";

/// Lines after `$1` and up to `$2`, at most `$3`.
const LINES_TO_COUNT: &str = "lines WHERE id > $1 AND id <= $2 ORDER BY id LIMIT $3";

/// The totals of the merchant `$1` from the day `$2`, and the lines since then. One statement, so
/// that no line is in both.
fn totals() -> String {
    let kinds = DayTotal::KINDS.map(|kind| format!("'{}'", kind.name())).join(", ");
    format!(
        "SELECT {} FROM day_totals WHERE merchant = $1 AND day >= $2
         UNION ALL
         SELECT merchant, created / {DAY}, CAST(sum(balance + fee) AS bigint) FROM lines
         WHERE merchant = $1 AND id > (SELECT through FROM ({CURSOR}) AS counted)
             AND kind IN ({kinds})
         GROUP BY merchant, created / {DAY}",
        DayTotal::of("day_totals"),
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

    /// The totals of a merchant from a day, by day. Days without a line are left out.
    pub(crate) async fn day_totals(
        &self,
        merchant: Id,
        from: i64,
    ) -> Result<BTreeMap<i64, i64>, StoreError> {
        let params = [merchant.param(), from.param()];
        let mut days = BTreeMap::<_, i64>::new();
        for total in self.query_all(&totals(), &params, DayTotal::read).await? {
            let sum = days.entry(total.day).or_default();
            *sum = sum.saturating_add(total.minor);
        }
        Ok(days)
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
        let totals = plan(&db, &totals()).join("\n");
        for step in [
            "SEARCH day_totals USING PRIMARY KEY (merchant=? AND day>?)",
            "SEARCH lines USING INDEX lines_of_merchants (merchant=? AND id>?)",
        ] {
            assert!(totals.contains(step), "{totals}");
        }
    }
}
