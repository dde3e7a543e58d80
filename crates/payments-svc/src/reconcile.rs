//! The subcommand `reconcile`: compares an acquirer's settlement file with the books, and changes
//! nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, StdoutLock},
    path::PathBuf,
    process::ExitCode,
};

use common::{
    config::SecretError,
    exit::{DIFFERENT, Fatal, USAGE},
    progress::{Interrupted, Progress},
};
use jiff::civil::Date;

use crate::{
    config::{Config, ReconcileOptions, SettlementFormat},
    csv_file::{CsvFile, Row},
    formula,
    store::{self, Settlement},
};

mod malformed;
mod protocol;
mod stripe;

use malformed::Malformed;
use payments_domain::{
    AcquirerName, Comparison, Currency, Difference, Money, OperationKind, Overflow, Ppm,
    Reconciliation, Reference, SettledRow, Tariff, Totals,
};

const HEADER: [&str; 6] = ["kind", "line", "operation", "transaction", "here", "there"];

/// Why the file was not compared.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReconcileError {
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error("{path:?} cannot be read: {source}")]
    File { path: PathBuf, source: csv::Error },
    #[error("{path:?} is not a settlement file of the format {format}: {reason}")]
    Format { path: PathBuf, format: &'static str, reason: String },
    #[error(transparent)]
    Store(#[from] store::ReconcileError),
    #[error("a sum does not fit into 64 bits")]
    Overflow(#[from] Overflow),
    #[error("the differences cannot be written: {0}")]
    Output(#[from] csv::Error),
    #[error("interrupted: not every operation was compared")]
    Interrupted(#[from] Interrupted),
}

impl Fatal for ReconcileError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Store(error) => error.exit_code(),
            Self::Interrupted(error) => error.exit_code(),
            _ => USAGE,
        }
    }
}

/// Prints every difference between the file and the books, and then the sums. Returns the exit code.
pub(crate) fn reconcile(
    config: &Config,
    options: &ReconcileOptions,
    progress: &Progress,
) -> Result<ExitCode, ReconcileError> {
    let scope = scope(options);
    let store = config.store()?;
    let settlement = Settlement::new(&store, &scope, progress)?;
    let mut report = Report::new(&scope, progress);
    read_file(options, &settlement, &mut report)?;
    settlement.read_books(&store)?;
    progress.begin("rows", report.rows);
    let mut reference = Reference::default();
    settlement.each_row(|name, row| {
        progress.advance();
        if reference.name != name {
            report.compare(&reference)?;
            reference = settlement.reference(name)?;
        }
        report.print_all(reference.add(row)?)
    })?;
    report.compare(&reference)?;
    settlement.each_missing(|name| report.compare(&settlement.reference(name)?))?;
    report.finish()
}

fn scope(options: &ReconcileOptions) -> Reconciliation {
    let ReconcileOptions { since, until, day, .. } = *options;
    let (rate, flat) = (options.acquirer_fee_rate, &options.acquirer_fee_flat);
    Reconciliation {
        acquirer: match options.format {
            SettlementFormat::Csv => AcquirerName::Http,
            SettlementFormat::Stripe => AcquirerName::Stripe,
        },
        period: [day.or(since).unwrap_or(Date::MIN), day.or(until).unwrap_or(Date::MAX)],
        tariff: (rate.is_some() || !flat.is_empty())
            .then(|| Tariff { rate: rate.unwrap_or(Ppm::ZERO), flat: flat.clone() }),
    }
}

/// Reads the rows of the file, and prints those that are malformed.
fn read_file(
    options: &ReconcileOptions,
    settlement: &Settlement<'_>,
    report: &mut Report<'_>,
) -> Result<(), ReconcileError> {
    let path = || options.from.clone();
    let unreadable = |source| ReconcileError::File { path: path(), source };
    let mut file = CsvFile::open(&options.from).map_err(unreadable)?;
    let (format, header) = match options.format {
        SettlementFormat::Csv => ("csv", protocol::check_header(&file)),
        SettlementFormat::Stripe => ("stripe", stripe::check_header(&file)),
    };
    header.map_err(|reason| ReconcileError::Format { path: path(), format, reason })?;
    report.progress.begin("bytes", file.size());
    while let Some(row) = file.next().map_err(unreadable)? {
        report.progress.check()?;
        report.progress.set(row.end);
        report.rows = report.rows.saturating_add(1);
        match settled(options.format, &row) {
            Ok(Some(row)) => {
                let operation = &row.operation;
                report.there.add(operation.kind, operation.amount, operation.fee)?;
                settlement.add(&row)?;
            }
            Ok(None) => report.others = report.others.saturating_add(1),
            Err(malformed) => {
                if !malformed.reference.is_empty() {
                    settlement.add_unreadable(row.line, &malformed.reference)?;
                }
                report.print_all([malformed.into_difference(row.line)])?;
            }
        }
    }
    Ok(())
}

/// `None` if the row is not compared.
fn settled(format: SettlementFormat, row: &Row<'_>) -> Result<Option<SettledRow>, Malformed> {
    match format {
        SettlementFormat::Csv => protocol::settled(row).map(Some),
        SettlementFormat::Stripe => stripe::settled(row),
    }
}

/// The output.
struct Report<'a> {
    scope: &'a Reconciliation,
    progress: &'a Progress,
    differences: csv::Writer<StdoutLock<'a>>,
    count: u64,
    rows: u64,
    /// Rows that are not compared.
    others: u64,
    here: Sums,
    there: Sums,
}

#[derive(Default)]
struct Sums(BTreeMap<Currency, Totals>);

impl Sums {
    fn add(
        &mut self,
        kind: OperationKind,
        amount: Money,
        fee: Option<Money>,
    ) -> Result<(), Overflow> {
        self.0.entry(amount.currency).or_default().add(kind, amount.minor)?;
        let Some(Money { currency, minor }) = fee else { return Ok(()) };
        self.0.entry(currency).or_default().add_fee(minor)
    }
}

impl<'a> Report<'a> {
    fn new(scope: &'a Reconciliation, progress: &'a Progress) -> Self {
        let differences = csv::Writer::from_writer(io::stdout().lock());
        let (here, there) = (Sums::default(), Sums::default());
        Self { scope, progress, differences, count: 0, rows: 0, others: 0, here, there }
    }

    /// Compares a reference, and prints its differences.
    fn compare(&mut self, reference: &Reference) -> Result<(), ReconcileError> {
        let Comparison { differences, booked } = self.scope.compare(reference)?;
        for booked in &booked {
            self.here.add(booked.kind, booked.amount, self.scope.fee(booked)?)?;
        }
        self.print_all(differences)
    }

    fn print_all(
        &mut self,
        differences: impl IntoIterator<Item = Difference>,
    ) -> Result<(), ReconcileError> {
        for difference in differences {
            if self.count == 0 {
                self.differences.write_record(HEADER)?;
            }
            self.count = self.count.saturating_add(1);
            let Difference { kind, line, reference, transaction, here, there } = difference;
            let line = line.map(|line| line.to_string()).unwrap_or_default();
            let transaction = transaction.map(|id| id.to_string()).unwrap_or_default();
            // The reference is text of the acquirer. The other texts are ours, or quoted.
            let reference = formula::escape(&reference);
            let columns = [kind.name(), &line, &reference, &transaction, &here, &there];
            self.differences.write_record(columns)?;
        }
        Ok(())
    }

    /// Prints the sums.
    fn finish(mut self) -> Result<ExitCode, ReconcileError> {
        let Self { scope, progress, count, rows, others, .. } = self;
        self.differences.flush().map_err(csv::Error::from)?;
        progress.print(&format_args!("reconcile: {count} differences, {rows} rows"));
        if others > 0 {
            progress.print(&format_args!("reconcile: {others} rows of other categories"));
        }
        let currencies: BTreeSet<_> = self.here.0.keys().chain(self.there.0.keys()).collect();
        for currency in currencies {
            let has_fees = scope.tariff.is_some();
            for (side, sums, has_fees) in
                [("here", &self.here, has_fees), ("there", &self.there, true)]
            {
                let totals = sums.0.get(currency).copied().unwrap_or_default();
                let Totals { captures, refunds, disputes, fees } = totals;
                let mut parts = vec![("captures", captures), ("refunds", refunds)];
                if scope.covers(OperationKind::Dispute) {
                    parts.push(("disputes", disputes));
                }
                if has_fees {
                    parts.extend([("fees", fees), ("net", totals.net()?)]);
                }
                let parts = parts.into_iter().map(|(name, minor)| {
                    format!("{name} {}", Money { currency: *currency, minor }.decimal())
                });
                let parts = parts.collect::<Vec<_>>().join(", ");
                progress.print(&format_args!("reconcile: {currency} {side}: {parts}"));
            }
        }
        Ok(if count == 0 { ExitCode::SUCCESS } else { ExitCode::from(DIFFERENT) })
    }
}
