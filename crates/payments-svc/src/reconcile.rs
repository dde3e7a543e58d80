//! The subcommand `reconcile`: compares an acquirer's settlement file with the books, and changes
//! nothing.

use std::{
    collections::BTreeMap,
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
    formula,
    store::{self, Settlement},
};

mod file;
mod malformed;
mod protocol;
mod stripe;

use file::{Row, SettlementFile};
use malformed::Malformed;
use payments_domain::{
    AcquirerName, BookedOperation, Currency, Difference, Money, Movement, Overflow, Ppm,
    Reconciliation, SettledOperation, Tariff, Totals,
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
    let mut report = Report::new(scope.tariff.is_some(), progress);
    read_file(options, &settlement, &mut report)?;
    settlement.read_books(&store)?;
    progress.begin("rows", report.rows);
    settlement.each_settled(|settled, booked| {
        progress.advance();
        report.add_settled(settled)?;
        report.print_all(scope.differences(settled, booked)?)
    })?;
    settlement.each_booked(|booked, is_settled| {
        if scope.settles(booked) {
            report.add_booked(booked, scope.fee(booked)?)?;
        }
        if is_settled { Ok(()) } else { report.print_all([scope.missing(booked)]) }
    })?;
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
    let mut file = SettlementFile::open(&options.from).map_err(unreadable)?;
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
        match operation(options.format, &row) {
            Ok(Some(operation)) => settlement.add(&operation)?,
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

/// `None` if the row is neither a capture nor a refund.
fn operation(
    format: SettlementFormat,
    row: &Row<'_>,
) -> Result<Option<SettledOperation>, Malformed> {
    match format {
        SettlementFormat::Csv => protocol::operation(row).map(Some),
        SettlementFormat::Stripe => stripe::operation(row),
    }
}

/// The output.
struct Report<'a> {
    progress: &'a Progress,
    differences: csv::Writer<StdoutLock<'a>>,
    count: u64,
    rows: u64,
    /// Rows that are neither captures nor refunds.
    others: u64,
    has_tariff: bool,
    here: Sums,
    there: Sums,
}

type Sums = BTreeMap<Currency, Totals>;

impl<'a> Report<'a> {
    fn new(has_tariff: bool, progress: &'a Progress) -> Self {
        let differences = csv::Writer::from_writer(io::stdout().lock());
        let (here, there) = (Sums::new(), Sums::new());
        Self { progress, differences, count: 0, rows: 0, others: 0, has_tariff, here, there }
    }

    fn print_all(
        &mut self,
        differences: impl IntoIterator<Item = Difference>,
    ) -> Result<(), ReconcileError> {
        for difference in differences {
            if self.count == 0 {
                self.progress.suspend(|| self.differences.write_record(HEADER))?;
            }
            self.count = self.count.saturating_add(1);
            let Difference { kind, line, reference, transaction, here, there } = difference;
            let line = line.map(|line| line.to_string()).unwrap_or_default();
            let transaction = transaction.map(|id| id.to_string()).unwrap_or_default();
            // The reference is text of the acquirer. The other texts are ours, or quoted.
            let reference = formula::escape(&reference);
            let columns = [kind.name(), &line, &reference, &transaction, &here, &there];
            self.progress.suspend(|| self.differences.write_record(columns))?;
        }
        Ok(())
    }

    fn add_settled(&mut self, settled: &SettledOperation) -> Result<(), Overflow> {
        let SettledOperation { movement, amount, fee, is_failure, .. } = settled;
        let sign = if *is_failure { -1 } else { 1 };
        let minor = amount.minor.checked_mul(sign).ok_or(Overflow)?;
        add(&mut self.there, *movement, Money { minor, ..*amount })?;
        self.there.entry(fee.currency).or_default().add_fee(fee.minor)
    }

    fn add_booked(&mut self, booked: &BookedOperation, fee: Option<Money>) -> Result<(), Overflow> {
        add(&mut self.here, booked.movement, booked.amount)?;
        match fee {
            Some(fee) => self.here.entry(fee.currency).or_default().add_fee(fee.minor),
            None => Ok(()),
        }
    }

    /// Prints the sums.
    fn finish(mut self) -> Result<ExitCode, ReconcileError> {
        let Self { progress, count, rows, others, .. } = self;
        progress.suspend(|| self.differences.flush()).map_err(csv::Error::from)?;
        progress.print(&format_args!("reconcile: {count} differences, {rows} rows"));
        if others > 0 {
            progress.print(&format_args!("reconcile: {others} rows that are no payment or refund"));
        }
        let currencies = self.here.keys().chain(self.there.keys());
        let mut currencies: Vec<_> = currencies.copied().collect();
        currencies.sort_unstable();
        currencies.dedup();
        for currency in currencies {
            let decimal = |minor| Money { currency, minor }.decimal();
            for (side, sums, has_fees) in
                [("here", &self.here, self.has_tariff), ("there", &self.there, true)]
            {
                let totals = sums.get(&currency).copied().unwrap_or_default();
                let [captures, refunds] = [totals.captures, totals.refunds].map(decimal);
                let [fees, net] = [totals.fees, totals.net()?].map(decimal);
                let fees =
                    if has_fees { format!(", fees {fees}, net {net}") } else { String::new() };
                progress.print(&format_args!(
                    "reconcile: {currency} {side}: captures {captures}, refunds {refunds}{fees}"
                ));
            }
        }
        Ok(if count == 0 { ExitCode::SUCCESS } else { ExitCode::from(DIFFERENT) })
    }
}

fn add(sums: &mut Sums, movement: Movement, amount: Money) -> Result<(), Overflow> {
    sums.entry(amount.currency).or_default().add(movement, amount.minor)
}
