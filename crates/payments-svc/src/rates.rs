//! Exchange rates as they are now: a set of the service's own for test merchants, and a file for
//! live ones.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{PoisonError, RwLock},
    time::SystemTime,
};

use jiff::{Timestamp, tz::TimeZone};

use crate::domain::{Currency, Exchange, InvalidRates, NoRate, Ppm, Rates, Terms};

/// Why the rates cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RatesError {
    /// The file cannot be read.
    #[error("PAYMENTS_RATES_FILE (--rates-file) is {path:?}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It holds no rates.
    #[error("PAYMENTS_RATES_FILE (--rates-file) is {path:?}: {source}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: InvalidRates,
    },
    /// The service's own set is broken.
    #[error("the rates for test merchants are broken: {0}")]
    BuiltIn(#[from] InvalidRates),
}

/// The rates there are.
pub(crate) struct ExchangeRates {
    test: Rates,
    file: Option<PathBuf>,
    /// For writing, for a moment, when the file has changed.
    live: RwLock<Option<(SystemTime, Rates)>>,
    spread: Ppm,
}

impl ExchangeRates {
    /// Rates of this file, if there is one.
    pub(crate) fn open(file: Option<PathBuf>, spread: Ppm) -> Result<Self, RatesError> {
        let live = file.as_deref().map(read).transpose()?;
        Ok(Self { test: Rates::built_in()?, file, live: RwLock::new(live), spread })
    }

    /// What money in `currency` is worth to a merchant with these terms.
    pub(crate) fn exchange(
        &self,
        currency: Currency,
        terms: &Terms,
        now: Timestamp,
    ) -> Result<Exchange, NoRate> {
        let to = terms.currency;
        if terms.test {
            return self.test.exchange(currency, to, self.spread, None);
        }
        let today = now.to_zoned(TimeZone::UTC).date();
        match &*self.live.read().unwrap_or_else(PoisonError::into_inner) {
            Some((_, rates)) => rates.exchange(currency, to, self.spread, Some(today)),
            None if currency == to => Ok(Exchange::NONE),
            None => Err(NoRate::NotQuoted(currency)),
        }
    }

    /// The same, at the last rates there are, however old: for what has happened and must be
    /// booked.
    pub(crate) fn last_exchange(
        &self,
        currency: Currency,
        terms: &Terms,
    ) -> Result<Exchange, NoRate> {
        let (to, spread) = (terms.currency, self.spread);
        if !terms.test
            && let Some((_, rates)) = &*self.live.read().unwrap_or_else(PoisonError::into_inner)
            && let Ok(exchange) = rates.exchange(currency, to, spread, None)
        {
            return Ok(exchange);
        }
        self.test.exchange(currency, to, spread, None)
    }

    /// Reads the file again if it has changed. Blocks. One that is broken changes nothing.
    pub(crate) fn refresh(&self) -> Result<(), RatesError> {
        let Some(file) = &self.file else { return Ok(()) };
        if modified(file).ok() == self.known() {
            return Ok(());
        }
        let read = read(file)?;
        tracing::info!(rates.date = %read.1.date(), "exchange rates read");
        *self.live.write().unwrap_or_else(PoisonError::into_inner) = Some(read);
        Ok(())
    }

    /// When the file that was read had changed.
    fn known(&self) -> Option<SystemTime> {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        live.as_ref().map(|(modified, _)| *modified)
    }
}

fn modified(path: &Path) -> io::Result<SystemTime> {
    fs::metadata(path)?.modified()
}

/// The time first: a file that changes meanwhile is read again.
fn read(path: &Path) -> Result<(SystemTime, Rates), RatesError> {
    let unreadable = |source| RatesError::Unreadable { path: path.to_owned(), source };
    let modified = modified(path).map_err(unreadable)?;
    let text = fs::read_to_string(path).map_err(unreadable)?;
    let invalid = |source| RatesError::Invalid { path: path.to_owned(), source };
    Ok((modified, Rates::parse(&text).map_err(invalid)?))
}
