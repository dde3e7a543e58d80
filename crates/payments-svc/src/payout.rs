//! The subcommand `payout`: books payouts, and writes the file of transfers for the bank.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::PathBuf,
    process::ExitCode,
};

use common::{
    config::SecretError,
    control::Operator,
    exit::{DIFFERENT, Fatal, USAGE},
    progress::Progress,
    store::OpenError,
};
use jiff::{civil::Date, tz::TimeZone};

use crate::{
    config::{Config, PayoutConfig, PayoutOptions},
    file::NewFile,
    formula,
    store::{Store, now},
};

mod pain001;
mod run;

use pain001::pain001;
use payments_domain::{
    Currency, Debtor, Iban, Id, Money, Payout, PayoutFormat, PayoutRun, SEPA_EDITION, Transfer,
    write::AsJson,
};
pub(crate) use run::{ClosePayoutRun, OpenPayoutRun, PayMerchant, RunError};
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
        "--pain001 requires the account that pays: set PAYMENTS_PAYOUT_NAME, PAYMENTS_PAYOUT_IBAN \
         and PAYMENTS_PAYOUT_BIC"
    )]
    NoDebtor,
    #[error("--csv is {0:?}: must not be the file of --pain001")]
    SameFile(PathBuf),
    #[error(transparent)]
    Open(#[from] OpenError),
    /// After midnight, the command without the day would be another run.
    #[error("the payouts are not complete: {source}; run the same command again with --day {day}")]
    NotComplete { day: Date, source: RunError },
    #[error("{path:?} cannot be written: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error(
        "{path:?} cannot be written: {source}; the payouts are booked: run the same command again \
         with --day {day}"
    )]
    NotWritten { path: PathBuf, day: Date, source: io::Error },
}

impl Fatal for PayoutError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Open(error) => error.exit_code(),
            Self::NotComplete { source, .. } => source.exit_code(),
            Self::File { source, .. } | Self::NotWritten { source, .. } => source.exit_code(),
            Self::Secret(_) | Self::TooEarly(_) | Self::NoDebtor | Self::SameFile(_) => USAGE,
        }
    }
}

/// Books the payouts of a day (today in UTC by default), and writes their transfers to a file of each
/// format. If the run of that day is complete, it books nothing and writes the same files again. Returns
/// the exit code: [`DIFFERENT`] if a file has transfers that are booked back.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn payout(
    config: &Config,
    options: &PayoutOptions,
    progress: &Progress,
) -> Result<ExitCode, PayoutError> {
    let day = now().to_zoned(TimeZone::UTC).date();
    let day = match options.day {
        Some(future) if future > day => return Err(PayoutError::TooEarly(future)),
        past => past.unwrap_or(day),
    };
    let outputs = Output::open(options, &config.payouts)?;
    let store = config.store()?;
    let not_complete = |source| PayoutError::NotComplete { day, source };
    let opened = progress.unless_stopped(Operator::<Store>::open(&store)).await;
    let mut operator = opened.map_err(|stopped| not_complete(stopped.into()))??;
    let paid = async {
        let mut code = ExitCode::SUCCESS;
        let mut outputs = outputs.into_iter().peekable();
        while let Some(output) = outputs.next() {
            let format = output.format();
            let run = PayoutRun { day, test: options.test, format };
            let paid = pay_out(&mut operator, run, progress).await.map_err(not_complete)?;
            output.write(&paid.payouts, day)?;
            // The next run finds the same merchants that it does not pay, or pays them.
            let with_unpaid = outputs.peek().is_none();
            for line in report(day, format, &paid, with_unpaid) {
                progress.print(&format_args!("payout: {line}"));
            }
            if paid.booked_back().next().is_some() {
                code = ExitCode::from(DIFFERENT);
            }
        }
        Ok(code)
    };
    let paid = paid.await;
    operator.close().await;
    paid
}

/// A file to write.
struct Output {
    kind: OutputKind,
    file: NewFile,
    path: PathBuf,
}

enum OutputKind {
    Pain001(Debtor),
    Csv,
}

impl Output {
    /// Opens the files before anything is booked. SEPA comes first, because CSV pays everybody.
    fn open(options: &PayoutOptions, config: &PayoutConfig) -> Result<Vec<Self>, PayoutError> {
        let mut outputs = Vec::new();
        if let Some(path) = &options.pain001 {
            let debtor = config.debtor().ok_or(PayoutError::NoDebtor)?;
            outputs.push((OutputKind::Pain001(debtor), path));
        }
        outputs.extend(options.csv.as_ref().map(|path| (OutputKind::Csv, path)));
        let open = |(kind, path): (_, &PathBuf)| {
            let path = path.clone();
            match NewFile::create(&path) {
                Ok(file) => Ok(Self { kind, file, path }),
                Err(source) => Err(PayoutError::File { path, source }),
            }
        };
        let outputs = outputs.into_iter().map(open).collect::<Result<Vec<_>, _>>()?;
        match &outputs[..] {
            [sepa, csv] if csv.file.replaces(&sepa.file) => {
                Err(PayoutError::SameFile(csv.path.clone()))
            }
            _ => Ok(outputs),
        }
    }

    fn format(&self) -> PayoutFormat {
        match self.kind {
            OutputKind::Pain001(_) => PayoutFormat::Pain001,
            OutputKind::Csv => PayoutFormat::Csv,
        }
    }

    fn write(self, payouts: &[Payout], day: Date) -> Result<(), PayoutError> {
        let Self { kind, file, path } = self;
        let content = match kind {
            OutputKind::Pain001(debtor) => pain001(payouts, day, &debtor),
            OutputKind::Csv => csv(payouts, day).map(Some).map_err(io::Error::from),
        };
        let written = content.and_then(|content| match content {
            Some(content) => file.save(&content),
            None => file.remove(),
        });
        written.map_err(|source| match payouts {
            [] => PayoutError::File { path, source },
            _ => PayoutError::NotWritten { path, day, source },
        })
    }
}

/// What a run has done, in lines, with the merchants that it did not pay.
fn report(day: Date, format: PayoutFormat, paid: &PaidRun, with_unpaid: bool) -> Vec<String> {
    let PaidRun { payouts, was_closed, unpaid } = paid;
    let (run, transfers) = (format!("{day}, {}", format.name()), count_and_sums(payouts));
    let Unpaid { held, nameless, not_reached, waiting } = unpaid;
    let mut lines = vec![if payouts.is_empty() {
        format!("{run}: nobody is paid, and the day stays open")
    } else if *was_closed {
        format!(
            "{run}: closed before with {transfers}; merchants that wait for another day: {waiting}"
        )
    } else {
        format!("{run}: {transfers}")
    }];
    if paid.booked_back().next().is_some() {
        let transfers = count_and_sums(paid.booked_back());
        lines.push(format!("{run}: booked back: {transfers}; do not send this file"));
    }
    if !with_unpaid {
        return lines;
    }
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

/// Such as `2 transfers, DKK 5.00, EUR 9.45`.
fn count_and_sums<'a>(payouts: impl IntoIterator<Item = &'a Payout>) -> String {
    let (mut count, mut sums) = (0_usize, BTreeMap::<Currency, i64>::new());
    for Payout { transfer: Transfer { amount, .. }, .. } in payouts {
        count = count.saturating_add(1);
        let sum = sums.entry(amount.currency).or_default();
        *sum = sum.saturating_add(amount.minor);
    }
    let transfers = if count == 1 { "transfer" } else { "transfers" };
    let mut texts = vec![format!("{count} {transfers}")];
    texts
        .extend(sums.into_iter().map(|(currency, minor)| {
            format!("{currency} {}", Money { currency, minor }.decimal())
        }));
    texts.join(", ")
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
         --csv, too.",
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
