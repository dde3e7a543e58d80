//! The subcommand `payout`: books payouts, and writes the file of transfers for the bank.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::PathBuf,
};

use common::{
    config::SecretError,
    control::{Operator, OrderError},
    exit::{Fatal, USAGE},
    progress::{Interrupted, Progress},
    store::OpenError,
};
use jiff::{civil::Date, tz::TimeZone};

use crate::{
    config::{Config, PayoutOptions},
    file::NewFile,
    formula,
    store::{Store, now},
};

mod pain001;
mod run;

use pain001::pain001;
use payments_domain::{
    Currency, Iban, Id, Money, Payout, PayoutFormat, PayoutRun, SEPA_EDITION, Transfer,
    write::AsJson,
};
pub(crate) use run::{ClosePayoutRun, OpenPayoutRun, PayMerchant};
use run::{PaidRun, Unpaid, pay_out};

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
    #[error(
        "--format is pain001, which requires the account that pays: set PAYMENTS_PAYOUT_NAME, \
         PAYMENTS_PAYOUT_IBAN and PAYMENTS_PAYOUT_BIC"
    )]
    NoDebtor,
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("the payouts are not complete: {0}; run the command again")]
    NotBooked(#[from] OrderError),
    #[error("interrupted: the payouts are not complete; run the command again")]
    Interrupted(#[from] Interrupted),
    #[error("{path:?} cannot be written: {source}")]
    File { path: PathBuf, source: io::Error },
}

impl Fatal for PayoutError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Open(error) => error.exit_code(),
            Self::NotBooked(error) => error.exit_code(),
            Self::Interrupted(error) => error.exit_code(),
            Self::File { source, .. } => source.exit_code(),
            Self::Secret(_) | Self::TooEarly(_) | Self::NoDebtor => USAGE,
        }
    }
}

/// Books the payouts of a day (today in UTC by default), and writes their transfers to a file. If
/// the run of that day is complete, it books nothing and writes the same file again.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn payout(
    config: &Config,
    options: &PayoutOptions,
    progress: &Progress,
) -> Result<(), PayoutError> {
    let PayoutOptions { day, test, format, to } = options;
    let today = now().to_zoned(TimeZone::UTC).date();
    let run = PayoutRun { day: day.unwrap_or(today), test: *test, format: *format };
    if run.day > today {
        return Err(PayoutError::TooEarly(run.day));
    }
    let debtor = match format {
        PayoutFormat::Csv => None,
        PayoutFormat::Pain001 => Some(config.payouts.debtor().ok_or(PayoutError::NoDebtor)?),
    };
    let unwritable = |source| PayoutError::File { path: to.clone(), source };
    let file = NewFile::create(to).map_err(unwritable)?;
    let delay = config.payouts.payout_delay;
    let store = config.store()?;
    let mut operator = progress.unless_stopped(Operator::<Store>::open(&store)).await??;
    let paid = pay_out(&mut operator, run, delay, progress).await;
    operator.close().await;
    let paid = paid?;
    let payouts = &paid.payouts;
    let content = match debtor {
        None => csv(payouts, run.day).map(Some).map_err(io::Error::from),
        Some(debtor) => pain001(payouts, run.day, &debtor),
    };
    let written = match content.map_err(unwritable)? {
        Some(content) => file.save(&content),
        None => file.remove(),
    };
    written.map_err(unwritable)?;
    for line in report(run, &paid) {
        progress.print(&format_args!("payout: {line}"));
    }
    Ok(())
}

/// What the run has done, in lines.
fn report(run: PayoutRun, paid: &PaidRun) -> Vec<String> {
    let PaidRun { payouts, was_closed, unpaid } = paid;
    let mut sums = BTreeMap::<Currency, i64>::new();
    for Payout { transfer: Transfer { amount, .. }, .. } in payouts {
        let sum = sums.entry(amount.currency).or_default();
        *sum = sum.saturating_add(amount.minor);
    }
    let sums = sums
        .into_iter()
        .map(|(currency, minor)| format!("{currency} {}", Money { currency, minor }.decimal()));
    let (day, sums) = (run.day, sums.collect::<Vec<_>>().join(", "));
    let transfers = match payouts.len() {
        1 => "1 transfer".to_owned(),
        count => format!("{count} transfers"),
    };
    let Unpaid { held, nameless, not_reached, waiting } = unpaid;
    let mut lines = vec![if payouts.is_empty() {
        format!("{day}: nobody is paid, and the day stays open")
    } else if *was_closed {
        format!(
            "{day} was closed before: {transfers}, {sums}; merchants that wait for another day: \
             {waiting}"
        )
    } else {
        format!("{day}: {transfers}, {sums}")
    }];
    if *held > 0 {
        lines.push(format!("merchants whose payouts are held: {held}"));
    }
    if !nameless.is_empty() {
        let ids: Vec<_> = nameless.iter().map(Id::to_string).collect();
        lines.push(format!(
            "merchants whose account has no name, which set-bank gives it: {}",
            ids.join(", ")
        ));
    }
    if !not_reached.is_empty() {
        lines.push(not_reached_by_sepa(not_reached));
    }
    lines
}

/// Names the currencies and countries of merchants that SEPA does not reach.
fn not_reached_by_sepa(left_out: &[AsJson<(Currency, Iban)>]) -> String {
    let (mut currencies, mut countries) = (BTreeSet::new(), BTreeSet::new());
    for AsJson((currency, iban)) in left_out {
        if *currency == Currency::EUR {
            countries.insert(iban.country());
        } else {
            currencies.insert(currency.code());
        }
    }
    let list = |names: BTreeSet<&str>| match names.is_empty() {
        true => "none".to_owned(),
        false => names.into_iter().collect::<Vec<_>>().join(", "),
    };
    format!(
        "merchants with a balance that SEPA does not reach: {}. Currencies that are not EUR: \
         {}. Countries that are not in the list {SEPA_EDITION}: {}. If a country has joined SEPA \
         since, upgrade payments-svc. To pay these merchants otherwise, run the command with \
         --format csv and another file.",
        left_out.len(),
        list(currencies),
        list(countries),
    )
}

fn csv(payouts: &[Payout], day: Date) -> csv::Result<Vec<u8>> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(HEADER)?;
    for payout in payouts {
        let Transfer { merchant, name, iban, amount } = &payout.transfer;
        csv.write_record([
            &*payout.id.to_string(),
            &*merchant.to_string(),
            &*formula::escape(name),
            iban.as_str(),
            amount.currency.code(),
            &*amount.decimal(),
            &*reference(payout, day),
        ])?;
    }
    csv.into_inner().map_err(|error| error.into_error().into())
}

/// The text of a transfer for its recipient.
fn reference(payout: &Payout, day: Date) -> String {
    format!("Payout {day} {}", payout.line)
}
