//! Runs a check on an engine, slice by slice.

use common::{
    progress::Progress,
    sql::{Columns, Param, Stored as _},
};
use jiff::Timestamp;
use payments_domain::Id;

use super::{
    CheckError, Findings, Scope, ledger, rules,
    scope::{Dialect, SETS},
    sums::Sums,
    tables, transactions,
};

/// The maximum number of rows of a table that are read in one snapshot.
const PAGE: u32 = if cfg!(test) { 3 } else { 10_000 };

/// Selects the ID of the transaction or of the line that is `$2` rows after `$1`: the smaller one.
const BOUND: &str = "SELECT id FROM (
         SELECT id FROM (SELECT id FROM transactions WHERE id >= $1 ORDER BY id LIMIT 1 OFFSET $2) AS paid
         UNION SELECT id FROM (SELECT id FROM lines WHERE id >= $1 ORDER BY id LIMIT 1 OFFSET $2) AS booked
     ) AS bounds ORDER BY id LIMIT 1";

/// A database that is checked.
pub(in super::super) trait Source {
    const DIALECT: Dialect;

    /// Begins a snapshot. Returns an ID: later, no row is added with this ID or a smaller one.
    async fn begin(&mut self) -> Result<Id, CheckError>;

    /// Ends the snapshot.
    async fn end(&mut self) -> Result<(), CheckError>;

    /// Replaces the set of this number in [`SETS`] by the IDs that a statement selects.
    async fn choose(
        &mut self,
        set: usize,
        sql: &str,
        range: &[Param<'_>],
    ) -> Result<(), CheckError>;

    /// Passes each row of a statement, which reads the first `sets` of [`SETS`], to `each`.
    async fn select(
        &self,
        sql: &str,
        params: &[Param<'_>],
        sets: usize,
        each: &mut EachRow<'_>,
    ) -> Result<(), CheckError>;
}

pub(in super::super) type EachRow<'a> = dyn FnMut(Columns<'_>) + 'a;

/// Checks the ledger. Each slice is read in a snapshot of its own.
pub(in super::super) async fn run(
    source: &mut impl Source,
    scope: Scope,
    progress: &Progress,
) -> Result<Findings, CheckError> {
    let mut findings = Findings::default();
    let mut sums = None;
    if scope.since.is_none() {
        read_tables(source, progress, &mut findings).await?;
        sums = Some(Sums::begin(source).await?);
    }
    let mut from = scope.since.map_or(Id::MIN, Id::successor);
    let first = bound(source, from, 0).await?.unwrap_or(Id::MAX);
    let days = |until: Id| until.second().saturating_sub(first.second()) / (24 * 60 * 60);
    progress.begin("days", u64::from(days(Id::at(Timestamp::now()))) + 1);
    loop {
        let settled = source.begin().await?;
        let bound = bound(source, from, scope.slice.saturating_sub(1)).await?;
        let through = bound.filter(|bound| *bound <= settled);
        let range = [from, through.unwrap_or(Id::MAX)];
        check_slice(source, range, &mut findings).await?;
        if let Some(sums) = &mut sums {
            sums.add(source, range).await?;
        }
        let Some(through) = through else { break };
        source.end().await?;
        from = through.successor();
        progress.set(days(through).into());
    }
    // The last slice ends at no ID. In its snapshot, the sums of all slices are those of all lines.
    if let Some(sums) = sums {
        let rule = &ledger::EVERY_BALANCE;
        let sql = rule.statement("");
        source.select(&sql, &[], 0, &mut |columns| findings.add(rule, columns)).await?;
        sums.compare(source, &mut findings).await?;
    }
    source.end().await?;
    Ok(findings)
}

async fn bound(source: &impl Source, from: Id, further: u32) -> Result<Option<Id>, CheckError> {
    let mut bound = None;
    let each = &mut |mut columns: Columns<'_>| bound = columns.read().ok();
    source.select(BOUND, &[from.param(), further.param()], 0, each).await?;
    Ok(bound)
}

/// Runs the rules on the rows that belong to these IDs.
async fn check_slice<S: Source>(
    source: &mut S,
    range: [Id; 2],
    findings: &mut Findings,
) -> Result<(), CheckError> {
    let range = range.each_ref().map(Id::param);
    for set in 0..SETS.len() {
        source.choose(set, &S::DIALECT.set(set), &range).await?;
    }
    let tables = S::DIALECT.tables();
    for rule in rules() {
        let sql = rule.statement(&tables);
        source.select(&sql, &range, SETS.len(), &mut |columns| findings.add(rule, columns)).await?;
    }
    Ok(())
}

/// Reads each row as the service reads it, page by page.
async fn read_tables(
    source: &mut impl Source,
    progress: &Progress,
    findings: &mut Findings,
) -> Result<(), CheckError> {
    let tables = tables();
    progress.begin("tables", tables.len() as u64);
    for table in tables {
        let mut from: Option<Vec<Param<'static>>> = None;
        loop {
            let page = table.page(from.is_some(), PAGE + 1);
            let sql = format!("{} {page}", (table.select)());
            let params = from.as_deref().unwrap_or_default();
            let (mut count, mut next) = (0, None);
            source.begin().await?;
            let read = &mut |columns: Columns<'_>| {
                count += 1;
                if count > PAGE {
                    next = table.key_of(columns.clone());
                }
                findings.read(&table, columns);
            };
            source.select(&sql, params, 0, read).await?;
            if table.table == transactions::STATES {
                let rule = &transactions::STATE;
                let sql = rule.statement("").replace("{page}", &page);
                source.select(&sql, params, 0, &mut |columns| findings.add(rule, columns)).await?;
            }
            source.end().await?;
            if next.is_none() || next == from {
                break;
            }
            from = next;
        }
        progress.advance();
    }
    Ok(())
}
