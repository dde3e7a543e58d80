//! The balances of merchants and the totals of their days, which are sums of all lines. Lines never
//! change, so they are added up slice by slice. Needs about 150 bytes for each merchant. The totals of
//! all days of a merchant, and those of all merchants of a day, are compared: each single one would
//! need more memory.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
};

use common::sql::{ColumnError, Columns, Group as _, Stored as _};
use payments_domain::{
    Id,
    write::{DayCursor, DayTotal},
};

use super::{super::day_totals::CURSOR, CheckError, Disagreement, Findings, run::Source};

const BALANCES: &str = "a merchant's balance is the sum of its lines";
const TOTALS: &str = "the totals of a merchant's days are the sum of its counted lines";
const DAYS: &str = "the totals of a day are the sum of its counted lines";

const LINES: &str = "SELECT merchant, CAST(sum(balance) AS bigint) FROM lines
     WHERE id BETWEEN $1 AND $2 GROUP BY merchant";
const STORED_BALANCES: &str =
    "SELECT merchant, CAST(sum(balance) AS bigint) FROM balances GROUP BY merchant";
const STORED_TOTALS: &str = "SELECT merchant, day, amount, captured FROM day_totals";

fn counted_lines() -> String {
    format!(
        "SELECT merchant, created / {DAY}, CAST(sum(balance + fee) AS bigint),
             CAST(coalesce(sum(balance) FILTER (WHERE kind = 'capture' AND amount > 0), 0) AS bigint)
         FROM lines WHERE id BETWEEN $1 AND $2 AND kind IN ('capture', 'refund')
         GROUP BY merchant, created / {DAY}",
        DAY = DayTotal::DAY
    )
}

#[derive(Debug)]
pub(super) struct Sums {
    balances: BTreeMap<Id, [i128; 1]>,
    totals: Totals,
    /// The last line that the totals had when the check began.
    counted: Id,
}

impl Sums {
    pub(super) async fn begin(source: &impl Source) -> Result<Self, CheckError> {
        let counted = counted(source).await?;
        Ok(Self { balances: BTreeMap::new(), totals: Totals::default(), counted })
    }

    /// Adds the lines with these IDs.
    pub(super) async fn add(
        &mut self,
        source: &impl Source,
        [from, through]: [Id; 2],
    ) -> Result<(), CheckError> {
        let counted = [from, through.min(self.counted)];
        add_balances(source, LINES, &[from, through], &mut self.balances).await?;
        self.totals.add(source, &counted_lines(), &counted).await
    }

    /// Compares the sums with the stored ones, in the snapshot of the last slice.
    pub(super) async fn compare(
        mut self,
        source: &impl Source,
        findings: &mut Findings,
    ) -> Result<(), CheckError> {
        let since = [self.counted.successor(), counted(source).await?];
        self.totals.add(source, &counted_lines(), &since).await?;
        let mut totals = Totals::default();
        totals.add(source, STORED_TOTALS, &[]).await?;
        compare(TOTALS, &totals.merchants, &self.totals.merchants, findings);
        compare(DAYS, &totals.days, &self.totals.days, findings);
        let mut balances = BTreeMap::new();
        add_balances(source, STORED_BALANCES, &[], &mut balances).await?;
        compare(BALANCES, &balances, &self.balances, findings);
        Ok(())
    }
}

/// The totals of days: captured less refunded, and captured.
#[derive(Debug, Default)]
struct Totals {
    merchants: BTreeMap<Id, [i128; 2]>,
    days: BTreeMap<i64, [i128; 2]>,
}

impl Totals {
    /// Adds rows of a merchant, a day and its totals.
    async fn add(
        &mut self,
        source: &impl Source,
        sql: &str,
        range: &[Id],
    ) -> Result<(), CheckError> {
        let each = |columns: &mut Columns<'_>| {
            let (merchant, day) = (columns.read()?, columns.read()?);
            let totals = [columns.read()?, columns.read()?];
            add(&mut self.merchants, merchant, totals);
            add(&mut self.days, day, totals);
            Ok(())
        };
        select(source, sql, range, each).await
    }
}

/// Adds rows of a merchant and a balance.
async fn add_balances(
    source: &impl Source,
    sql: &str,
    range: &[Id],
    balances: &mut BTreeMap<Id, [i128; 1]>,
) -> Result<(), CheckError> {
    let each = |columns: &mut Columns<'_>| {
        add(balances, columns.read()?, [columns.read()?]);
        Ok(())
    };
    select(source, sql, range, each).await
}

fn add<K: Ord, const N: usize>(sums: &mut BTreeMap<K, [i128; N]>, key: K, added: [i64; N]) {
    let sums = sums.entry(key).or_insert([0; N]);
    sums.iter_mut().zip(added).for_each(|(sum, added)| *sum += i128::from(added));
}

fn compare<K: Ord + Display, const N: usize>(
    rule: &'static str,
    stored: &BTreeMap<K, [i128; N]>,
    expected: &BTreeMap<K, [i128; N]>,
    findings: &mut Findings,
) {
    let keys: BTreeSet<_> = stored.keys().chain(expected.keys()).collect();
    for key in keys {
        let [stored, expected] =
            [stored, expected].map(|sums| sums.get(key).copied().unwrap_or([0; N]));
        if stored != expected {
            let [stored, expected] =
                [stored, expected].map(|sums| sums.map(|sum| sum.to_string()).join(", "));
            findings.push(Disagreement { rule, row: key.to_string(), stored, expected });
        }
    }
}

/// The last line that is in the totals of days.
async fn counted(source: &impl Source) -> Result<Id, CheckError> {
    let mut counted = Id::MIN;
    let each = |columns: &mut Columns<'_>| {
        counted = DayCursor::read(columns)?.through;
        Ok(())
    };
    select(source, CURSOR, &[], each).await?;
    Ok(counted)
}

/// Passes each row to `each`. Leaves out a row that cannot be read, because it is a finding already.
async fn select(
    source: &impl Source,
    sql: &str,
    range: &[Id],
    mut each: impl FnMut(&mut Columns<'_>) -> Result<(), ColumnError> + Send,
) -> Result<(), CheckError> {
    let each = &mut |mut columns: Columns<'_>| drop(each(&mut columns));
    source.select(sql, &range.iter().map(Id::param).collect::<Vec<_>>(), 0, each).await
}
