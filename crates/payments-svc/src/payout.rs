//! The subcommand `payout`: books payouts, and writes the file of transfers for the bank.

use std::{
    borrow::Cow,
    io,
    path::{Path, PathBuf},
};

use common::{config::SecretError, progress::Progress};
use jiff::{civil::Date, tz::TimeZone};

use crate::{
    config::Config,
    domain::{Payout, PayoutRun, Transfer},
    file::NewFile,
    store::{self, now},
    store_config,
};

const HEADER: [&str; 7] = ["id", "merchant", "name", "iban", "currency", "amount", "reference"];

/// Why no file was written. Payouts that are already booked stay booked. A repeat continues the
/// run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PayoutError {
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The run pays the balances of this moment, and is then closed. So its day must have begun.
    #[error("--day is {0}: must not be in the future")]
    TooEarly(Date),
    #[error(transparent)]
    Store(#[from] store::PayoutError),
    #[error("{path:?} cannot be written: {source}")]
    File { path: PathBuf, source: io::Error },
}

/// Books the payouts of a day (today in UTC by default), and writes their transfers to a file. If
/// the run of that day is complete, it books nothing and writes the same file again.
pub(crate) fn payout(
    config: &Config,
    day: Option<Date>,
    test: bool,
    to: &Path,
    progress: &Progress,
) -> Result<(), PayoutError> {
    let today = now().to_zoned(TimeZone::UTC).date();
    let run = PayoutRun { day: day.unwrap_or(today), test };
    if run.day > today {
        return Err(PayoutError::TooEarly(run.day));
    }
    let unwritable = |source| PayoutError::File { path: to.to_owned(), source };
    let file = NewFile::create(to).map_err(unwritable)?;
    let payouts = store::pay_out(&store_config(config)?, run, progress)?;
    let csv = csv(&payouts, run.day).map_err(|error| unwritable(error.into()))?;
    file.save(&csv).map_err(unwritable)
}

fn csv(payouts: &[Payout], day: Date) -> csv::Result<Vec<u8>> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(HEADER)?;
    for Payout { id, line, transfer: Transfer { merchant, name, iban, amount } } in payouts {
        csv.write_record([
            &*id.to_string(),
            &*merchant.to_string(),
            &*escape_formula(name),
            iban.as_str(),
            amount.currency.code(),
            &*amount.decimal(),
            &*format!("Payout {day} {line}"),
        ])?;
    }
    csv.into_inner().map_err(|error| error.into_error().into())
}

/// Escapes text that a spreadsheet would run as a formula (CSV injection).
fn escape_formula(text: &str) -> Cow<'_, str> {
    if text.starts_with(['=', '+', '-', '@']) { format!("'{text}").into() } else { text.into() }
}
