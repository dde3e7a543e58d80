//! The file of transfers that a bank is given.

use std::{
    borrow::Cow,
    io,
    path::{Path, PathBuf},
};

use common::config::SecretError;
use jiff::{civil::Date, tz::TimeZone};

use crate::{
    config::Config,
    domain::{Payout, PayoutRun, Transfer},
    file,
    store::{self, now},
    store_config,
};

/// The columns of the file.
const HEADER: [&str; 7] = ["id", "merchant", "name", "iban", "currency", "amount", "reference"];

/// Why there is no file. What was paid out until then stays so; run again, it goes on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PayoutError {
    /// A secret cannot be read.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// It would close a day that has not begun.
    #[error("--day is {0}, which is yet to come")]
    TooEarly(Date),
    /// The payouts cannot be booked.
    #[error(transparent)]
    Store(#[from] store::PayoutError),
    /// The file cannot be written.
    #[error("{path:?} cannot be written: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Books the payouts of a day, today's if none is named, and writes their transfers to a file. Once
/// it has been done for a day, the same file is written again, and nothing is booked.
pub(crate) fn payout(
    config: &Config,
    day: Option<Date>,
    test: bool,
    to: &Path,
) -> Result<(), PayoutError> {
    let today = now().to_zoned(TimeZone::UTC).date();
    let run = PayoutRun { day: day.unwrap_or(today), test };
    if run.day > today {
        return Err(PayoutError::TooEarly(run.day));
    }
    let payouts = store::pay_out(&store_config(config)?, run)?;
    let refused = |source| PayoutError::File { path: to.to_owned(), source };
    let csv = csv(&payouts, run.day).map_err(|error| refused(error.into()))?;
    file::put(to, &csv).map_err(refused)
}

fn csv(payouts: &[Payout], day: Date) -> csv::Result<Vec<u8>> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(HEADER)?;
    for Payout { id, line, transfer: Transfer { merchant, name, iban, amount } } in payouts {
        csv.write_record([
            &*id.to_string(),
            &*merchant.to_string(),
            &*inert(name),
            iban.as_str(),
            amount.currency.code(),
            &*amount.decimal(),
            &*format!("Payout {day} {line}"),
        ])?;
    }
    csv.into_inner().map_err(|error| error.into_error().into())
}

/// Text that no spreadsheet takes for a formula.
fn inert(text: &str) -> Cow<'_, str> {
    if text.starts_with(['=', '+', '-', '@']) { format!("'{text}").into() } else { text.into() }
}
