//! What the command asks of the store.

use common::control::{Order, OrderError};
use futures_util::future::join_all;
use payments_domain::{
    Actor, Currency, Id, Money, Payout, ReturnReason, ReturnResult, ReturnedTransfer,
    actions::ReturnPayout,
};
use serde::{Deserialize, Serialize};

use super::Returned;
use crate::{
    csv_file::date,
    formula,
    store::{Store, StoreError},
};

/// Why a return is not booked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ProblemKind {
    /// No payout has the end-to-end ID.
    MissingHere,
    /// No file has the message ID.
    MissingFile,
    /// The file has the return in an earlier line, too.
    Twice,
    /// The bank rejected a file or a transfer because it has it already: nothing came back.
    Duplicate,
    /// The bank reversed a return: the money has left again.
    Reversed,
    Currency,
    Amount,
    /// The transfer came back before the payout was booked.
    Date,
    /// The balance would not fit into 64 bits.
    Overflow,
    /// The columns of the row cannot be separated.
    MalformedRow,
    MalformedCurrency,
    MalformedAmount,
    MalformedDate,
}

impl ProblemKind {
    /// The name in the output.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::MissingHere => "missing-here",
            Self::MissingFile => "missing-file",
            Self::Twice => "twice",
            Self::Duplicate => "duplicate",
            Self::Reversed => "reversed",
            Self::Currency => "currency",
            Self::Amount => "amount",
            Self::Date => "date",
            Self::Overflow => "overflow",
            Self::MalformedRow => "malformed-row",
            Self::MalformedCurrency => "malformed-currency",
            Self::MalformedAmount => "malformed-amount",
            Self::MalformedDate => "malformed-date",
        }
    }
}

/// Why a return is not booked, with the values of the books and of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Problem {
    pub(super) kind: ProblemKind,
    pub(super) here: String,
    pub(super) there: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Outcome {
    Booked,
    /// By an earlier file, or by this one in an earlier run.
    AlreadyBooked,
    Refused(Problem),
}

/// The payouts of a file that the bank received, by its message ID, after the payout `after`. None:
/// the end, or there is no such file.
#[derive(Serialize, Deserialize)]
pub(crate) struct PayoutsOfFile {
    pub(super) message_id: String,
    pub(super) after: Id,
}

impl Order<Store> for PayoutsOfFile {
    const NAME: &'static str = "payouts-of-file";
    type Outcome = Vec<Id>;

    async fn carry_out(self, store: &Store) -> Result<Vec<Id>, OrderError> {
        match self.message_id.parse() {
            Ok(file) => Ok(store.payouts_of_file(file, self.after).await?),
            Err(_) => Ok(Vec::new()),
        }
    }
}

/// Books returns, and says of each what became of it.
#[derive(Serialize, Deserialize)]
pub(crate) struct BookReturns(pub(super) Vec<Returned>);

impl Order<Store> for BookReturns {
    const NAME: &'static str = "book-returns";
    type Outcome = Vec<Outcome>;

    async fn carry_out(self, store: &Store) -> Result<Vec<Outcome>, OrderError> {
        Ok(book_returns(store, &self.0).await?)
    }
}

async fn book_returns(store: &Store, batch: &[Returned]) -> Result<Vec<Outcome>, StoreError> {
    let ids: Vec<Id> = batch.iter().filter_map(|one| one.end_to_end_id.parse().ok()).collect();
    let payouts = store.payouts_by_id(&ids).await?;
    let book = async |returned: &Returned| {
        let transfer = match read(returned) {
            Ok(transfer) => transfer,
            Err(problem) => return Ok(Outcome::Refused(problem)),
        };
        let id = returned.end_to_end_id.parse().ok();
        match id.and_then(|id| payouts.get(&id)) {
            Some(payout) => book_return(store, payout, transfer).await,
            None => Ok(Outcome::Refused(Problem {
                kind: ProblemKind::MissingHere,
                here: String::new(),
                there: transfer.amount.map(shown).unwrap_or_default(),
            })),
        }
    };
    join_all(batch.iter().map(book)).await.into_iter().collect()
}

async fn book_return(
    store: &Store,
    payout: &Payout,
    transfer: ReturnedTransfer,
) -> Result<Outcome, StoreError> {
    let amounts = [payout.transfer.amount, transfer.amount.unwrap_or(payout.transfer.amount)];
    let (created, date) = (payout.created.to_string(), transfer.date);
    let merchant = payout.transfer.merchant;
    let action = ReturnPayout { payout: payout.id, merchant, returned: transfer };
    let [here, there] = amounts.map(shown);
    let (kind, here, there) =
        match store.write(Actor::OPERATOR, action).await?.map(|outcome| outcome.result) {
            Ok(ReturnResult::Booked) => return Ok(Outcome::Booked),
            Ok(ReturnResult::AlreadyBooked) => return Ok(Outcome::AlreadyBooked),
            Ok(ReturnResult::Currency) => (ProblemKind::Currency, here, there),
            Ok(ReturnResult::Amount) => (ProblemKind::Amount, here, there),
            Ok(ReturnResult::Date) => {
                (ProblemKind::Date, created, date.map(|date| date.to_string()).unwrap_or_default())
            }
            Err(rejection) => (ProblemKind::Overflow, rejection.to_string(), there),
        };
    Ok(Outcome::Refused(Problem { kind, here, there }))
}

fn shown(money: Money) -> String {
    format!("{} {}", money.currency, money.decimal())
}

/// Reads the values of a return.
fn read(returned: &Returned) -> Result<ReturnedTransfer, Problem> {
    let amount = returned.amount.as_ref().map(|[currency, amount]| {
        let currency = Currency::current_or_former(currency)
            .map_err(|rule| malformed(ProblemKind::MalformedCurrency, rule, currency))?;
        money(currency, amount)
            .map_err(|rule| malformed(ProblemKind::MalformedAmount, rule, amount))
    });
    let day = returned
        .date
        .as_ref()
        .map(|text| date(text).map_err(|rule| malformed(ProblemKind::MalformedDate, rule, text)));
    Ok(ReturnedTransfer {
        amount: amount.transpose()?,
        date: day.transpose()?,
        reason: ReturnReason::new(&returned.reason),
    })
}

pub(super) fn malformed(kind: ProblemKind, rule: impl ToString, value: &str) -> Problem {
    Problem { kind, here: rule.to_string(), there: formula::quote(value) }
}

/// Parses an amount in major units. ISO 20022 writes it with any number of decimal places.
fn money(currency: Currency, text: &str) -> Result<Money, impl ToString + use<>> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let places = usize::try_from(currency.exponent()).unwrap_or(0);
    let part = part.trim_end_matches('0');
    let point = if places == 0 && part.is_empty() { "" } else { "." };
    Money::of_decimal(currency, &format!("{whole}{point}{part:0<places$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn returned(currency: &str, amount: &str, date: &str) -> Returned {
        Returned {
            amount: Some([currency, amount].map(str::to_owned)),
            date: Some(date.to_owned()),
            ..Returned::default()
        }
    }

    #[test]
    fn an_amount_can_have_any_number_of_zeros_after_the_point() {
        for (currency, amount, minor) in [
            ("EUR", "9.95", 995),
            ("EUR", "9.95000", 995),
            ("EUR", "9.9", 990),
            ("EUR", "9", 900),
            ("JPY", "995", 995),
            ("JPY", "995.00", 995),
        ] {
            let transfer = read(&returned(currency, amount, "2026-11-21")).unwrap();
            assert_eq!(transfer.amount.unwrap().minor, minor, "{currency} {amount}");
        }
    }

    #[test]
    fn a_value_that_cannot_be_read_is_named() {
        for (currency, amount, date, expected) in [
            ("EUR", "9.951", "2026-11-21", ProblemKind::MalformedAmount),
            ("EUR", "-9.95", "2026-11-21", ProblemKind::MalformedAmount),
            ("EUR", "9,95", "2026-11-21", ProblemKind::MalformedAmount),
            ("EUR", "", "2026-11-21", ProblemKind::MalformedAmount),
            ("JPY", "995.5", "2026-11-21", ProblemKind::MalformedAmount),
            ("XXY", "9.95", "2026-11-21", ProblemKind::MalformedCurrency),
            ("", "", "2026-11-21", ProblemKind::MalformedCurrency),
            ("EUR", "9.95", "21.11.2026", ProblemKind::MalformedDate),
        ] {
            let problem = read(&returned(currency, amount, date)).unwrap_err();
            assert_eq!(problem.kind, expected, "{currency} {amount} {date}");
        }
    }
}
