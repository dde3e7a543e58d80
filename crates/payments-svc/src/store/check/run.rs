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
const PAGE: u32 = 10_000;

/// An ID after `$1`: the one of the transaction, or of the line, so many further.
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

    /// Passes each row of the statement of a rule to `each`.
    async fn compare(
        &mut self,
        sql: &str,
        range: &[Param<'_>],
        each: &mut EachRow<'_>,
    ) -> Result<(), CheckError>;

    /// Passes each row of another statement to `each`.
    async fn select(
        &mut self,
        sql: &str,
        params: &[Param<'_>],
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
        let add = &mut |columns: Columns<'_>| findings.add(rule, columns);
        source.select(&rule.statement(""), &[], add).await?;
        sums.compare(source, &mut findings).await?;
    }
    source.end().await?;
    Ok(findings)
}

async fn bound(source: &mut impl Source, from: Id, further: u32) -> Result<Option<Id>, CheckError> {
    let mut bound = None;
    let each = &mut |mut columns: Columns<'_>| bound = columns.read().ok();
    source.select(BOUND, &[from.param(), further.param()], each).await?;
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
        let add = &mut |columns: Columns<'_>| findings.add(rule, columns);
        source.compare(&rule.statement(&tables), &range, add).await?;
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
            source.select(&sql, params, read).await?;
            if table.table == transactions::STATES {
                let rule = &transactions::STATE;
                let add = &mut |columns: Columns<'_>| findings.add(rule, columns);
                let sql = rule.statement("").replace("{page}", &page);
                source.select(&sql, params, add).await?;
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
