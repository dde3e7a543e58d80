//! The balances of merchants and the totals of their days, which are sums of all lines. Lines never
//! change, so they are added up slice by slice. Needs about 150 bytes for each merchant.

use std::collections::{BTreeMap, BTreeSet};

use common::sql::{ColumnError, Columns, Group as _, Stored as _};
use payments_domain::{Id, write::DayCursor};

use super::{super::day_totals::CURSOR, CheckError, Disagreement, Findings, run::Source};

const BALANCES: &str = "a merchant's balance is the sum of its lines";
const TOTALS: &str = "the totals of a merchant's days are the sum of its counted lines";

const LINES: &str = "SELECT merchant, CAST(sum(balance) AS bigint) FROM lines
     WHERE id BETWEEN $1 AND $2 GROUP BY merchant";
const COUNTED_LINES: &str = "SELECT merchant, CAST(sum(balance + fee) AS bigint),
         CAST(coalesce(sum(balance) FILTER (WHERE kind = 'capture' AND amount > 0), 0) AS bigint)
     FROM lines WHERE id BETWEEN $1 AND $2 AND kind IN ('capture', 'refund') GROUP BY merchant";

const STORED_BALANCES: &str =
    "SELECT merchant, CAST(sum(balance) AS bigint) FROM balances GROUP BY merchant";
const STORED_TOTALS: &str =
    "SELECT merchant, CAST(sum(amount) AS bigint), CAST(sum(captured) AS bigint)
     FROM day_totals GROUP BY merchant";

/// Sums of each merchant.
type SumsOf<const N: usize> = BTreeMap<Id, [i128; N]>;

#[derive(Debug)]
pub(super) struct Sums {
    balances: SumsOf<1>,
    totals: SumsOf<2>,
    /// The last line that the totals had when the check began.
    counted: Id,
}

impl Sums {
    pub(super) async fn begin(source: &impl Source) -> Result<Self, CheckError> {
        let counted = counted(source).await?;
        Ok(Self { balances: BTreeMap::new(), totals: BTreeMap::new(), counted })
    }

    /// Adds the lines with these IDs.
    pub(super) async fn add(
        &mut self,
        source: &impl Source,
        [from, through]: [Id; 2],
    ) -> Result<(), CheckError> {
        let counted = [from, through.min(self.counted)];
        add(source, LINES, &[from, through], &mut self.balances).await?;
        add(source, COUNTED_LINES, &counted, &mut self.totals).await
    }

    /// Compares the sums with the stored ones, in the snapshot of the last slice.
    pub(super) async fn compare(
        mut self,
        source: &impl Source,
        findings: &mut Findings,
    ) -> Result<(), CheckError> {
        let since = [self.counted.successor(), counted(source).await?];
        add(source, COUNTED_LINES, &since, &mut self.totals).await?;
        compare(source, TOTALS, STORED_TOTALS, &self.totals, findings).await?;
        compare(source, BALANCES, STORED_BALANCES, &self.balances, findings).await
    }
}

/// Compares sums with the stored ones.
async fn compare<const N: usize>(
    source: &impl Source,
    rule: &'static str,
    sql: &str,
    expected: &SumsOf<N>,
    findings: &mut Findings,
) -> Result<(), CheckError> {
    let mut stored = BTreeMap::new();
    add(source, sql, &[], &mut stored).await?;
    let merchants: BTreeSet<_> = stored.keys().chain(expected.keys()).collect();
    for merchant in merchants {
        let [stored, expected] =
            [&stored, expected].map(|sums| sums.get(merchant).copied().unwrap_or([0; N]));
        if stored != expected {
            let [stored, expected] =
                [stored, expected].map(|sums| sums.map(|sum| sum.to_string()).join(", "));
            let row = merchant.to_string();
            findings.push(Disagreement { rule, row, stored, expected });
        }
    }
    Ok(())
}

/// The last line that is in the totals of days.
async fn counted(source: &impl Source) -> Result<Id, CheckError> {
    let mut counted = Id::MIN;
    let each = &mut |mut columns: Columns<'_>| {
        counted = DayCursor::read(&mut columns).map_or(counted, |cursor| cursor.through);
    };
    source.select(CURSOR, &[], 0, each).await?;
    Ok(counted)
}

/// Adds the columns after the first one to the sums of the merchant in the first one. Leaves out a
/// row that cannot be read, because it is a finding already.
async fn add<const N: usize>(
    source: &impl Source,
    sql: &str,
    range: &[Id],
    sums: &mut SumsOf<N>,
) -> Result<(), CheckError> {
    let each = &mut |mut columns: Columns<'_>| {
        let mut read = || -> Result<_, ColumnError> {
            let merchant = columns.read()?;
            let mut added = [0; N];
            for sum in &mut added {
                *sum = columns.read::<i64>()?;
            }
            Ok((merchant, added))
        };
        if let Ok((merchant, added)) = read() {
            let sums = sums.entry(merchant).or_insert([0; N]);
            sums.iter_mut().zip(added).for_each(|(sum, added)| *sum += i128::from(added));
        }
    };
    source.select(sql, &range.iter().map(Id::param).collect::<Vec<_>>(), 0, each).await
}
