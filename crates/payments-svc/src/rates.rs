//! Current exchange rates: a built-in set for test merchants, and a file for live merchants. The
//! file is read again when it changes, and at SIGHUP.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{PoisonError, RwLock},
    time::SystemTime,
};

use jiff::{Timestamp, tz::TimeZone};
use payments_domain::{Currency, Exchange, InvalidRates, NoRate, Ppm, Rates, Terms};

/// Why there are no exchange rates.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RatesError {
    #[error("PAYMENTS_RATES_FILE (--rates-file) is {path:?}: {source}")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("PAYMENTS_RATES_FILE (--rates-file) is {path:?}: {source}")]
    Invalid { path: PathBuf, source: InvalidRates },
    /// A defect of the program.
    #[error("the built-in exchange rates are not valid: {0}")]
    BuiltIn(#[from] InvalidRates),
}

pub(crate) struct ExchangeRates {
    test: Rates,
    file: Option<PathBuf>,
    /// The modification time of the file, and its rates. The write lock is held only to replace
    /// them.
    live: RwLock<Option<(SystemTime, Rates)>>,
    spread: Ppm,
}

impl ExchangeRates {
    /// Reads `file` if it is set. `spread` applies to every exchange.
    pub(crate) fn open(file: Option<PathBuf>, spread: Ppm) -> Result<Self, RatesError> {
        let live = file.as_deref().map(read).transpose()?;
        Ok(Self { test: Rates::built_in()?, file, live: RwLock::new(live), spread })
    }

    /// The exchange from `currency` to the merchant's currency. Live merchants need a file with
    /// recent rates, unless the currencies are the same.
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
            None if currency == to => Ok(Exchange::IDENTITY),
            None => Err(NoRate::NotQuoted(currency)),
        }
    }

    /// The common currencies that can be exchanged, by code.
    pub(crate) fn currencies(&self, terms: &Terms, now: Timestamp) -> Vec<Currency> {
        let has_rate = |currency: &Currency| self.exchange(*currency, terms, now).is_ok();
        let is_current = |currency: &Currency| currency.code().parse::<Currency>().is_ok();
        self.test.currencies().filter(is_current).filter(has_rate).collect()
    }

    /// Like [`Self::exchange`], but accepts old rates, and falls back to the built-in ones. For
    /// events that have happened and must be booked, such as disputes.
    pub(crate) fn latest_exchange(
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

    /// Like [`Self::reload`], but only if the time of the file has changed.
    pub(crate) fn refresh(&self) -> Result<(), RatesError> {
        match &self.file {
            Some(file) if modified(file).ok() != self.last_modified() => self.reload(),
            _ => Ok(()),
        }
    }

    /// Reads the file again. Blocks the thread. If the file is missing or not valid, the old rates
    /// stay.
    pub(crate) fn reload(&self) -> Result<(), RatesError> {
        let Some(file) = &self.file else { return Ok(()) };
        let read = read(file)?;
        tracing::info!(rates.date = %read.1.date(), "exchange rates read");
        *self.live.write().unwrap_or_else(PoisonError::into_inner) = Some(read);
        Ok(())
    }

    /// The modification time of the file that was read.
    fn last_modified(&self) -> Option<SystemTime> {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        live.as_ref().map(|(modified, _)| *modified)
    }
}

fn modified(path: &Path) -> io::Result<SystemTime> {
    fs::metadata(path)?.modified()
}

/// Takes the modification time first, so that a file that changes while it is read is read again.
fn read(path: &Path) -> Result<(SystemTime, Rates), RatesError> {
    let unreadable = |source| RatesError::Unreadable { path: path.to_owned(), source };
    let modified = modified(path).map_err(unreadable)?;
    let text = fs::read_to_string(path).map_err(unreadable)?;
    let invalid = |source| RatesError::Invalid { path: path.to_owned(), source };
    Ok((modified, Rates::parse(&text).map_err(invalid)?))
}
