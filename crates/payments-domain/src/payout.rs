//! Payouts: transfers of merchants' balances to their bank accounts.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp, civil::Date, tz::TimeZone};
use sql::{group, named, stored};

use super::{
    id::Id,
    ledger::LedgerEntry,
    merchant::{Iban, Merchant},
    money::{Currency, Money},
    sepa,
};

named! {
    /// The format of a file of transfers.
    pub enum PayoutFormat {
        /// Rows with the columns of all banks: any currency, any account.
        Csv = "csv",
        /// A credit transfer of ISO 20022 in SEPA.
        Pain001 = "pain001",
    }
}

impl PayoutFormat {
    /// Whether a file of this format can contain a transfer of this currency to this account.
    pub fn reaches(self, currency: Currency, iban: &Iban) -> bool {
        match self {
            Self::Csv => true,
            Self::Pain001 => sepa::reaches(currency, iban),
        }
    }

    /// The maximum amount of a transfer, in minor units. The rest stays in the balance.
    fn max_transfer(self) -> i64 {
        match self {
            Self::Csv => i64::MAX,
            Self::Pain001 => sepa::MAX_TRANSFER,
        }
    }
}

group! {
    /// A run of payouts, and the file that lists them. A merchant is paid at most once a day, so
    /// that it is in the file of one run only. When all merchants are paid the run is closed, and
    /// pays no more merchants.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct PayoutRun {
        day: Date = "day",
        /// Whether the run pays the test merchants. Otherwise it pays the live merchants.
        test: bool = "test",
        format: PayoutFormat = "format",
    }
}

/// A payout to decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayoutRequest {
    pub run: PayoutRun,
    pub merchant: Id,
    /// Captures younger than this are not paid yet.
    pub delay: Duration,
}

group! {
    /// A transfer to a merchant's bank account.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Transfer {
        merchant: Id = "merchant",
        /// The name of the recipient: the holder of the account.
        name: String = "name",
        iban: Iban = "iban",
        /// Always positive.
        amount: Money = ..,
    }
}

impl Transfer {
    /// The balance of a merchant, less the balance of captures that are `held`. `None` if that is
    /// not positive, if the merchant has no account that the format reaches or no name for it, or if
    /// its payouts are held.
    pub fn due(merchant: &Merchant, held: i64, format: PayoutFormat) -> Option<Self> {
        let currency = merchant.details.currency;
        let name =
            merchant.details.payee().filter(|_| !merchant.standing.holds_payouts)?.to_owned();
        let iban = merchant.details.iban.clone().filter(|iban| format.reaches(currency, iban))?;
        // A capture can cost more than it brings. Holding it back must not pay more than there is.
        let minor = merchant.balance.saturating_sub(held.max(0)).min(format.max_transfer());
        let amount = Money { currency, minor };
        (minor > 0).then_some(Self { merchant: merchant.id, name, iban, amount })
    }

    /// The negative change of the merchant's balance, and the ledger entry.
    pub fn booking(&self) -> (Money, LedgerEntry) {
        // A positive number can be negated without overflow.
        let debit = Money { minor: self.amount.minor.saturating_neg(), ..self.amount };
        (debit, LedgerEntry::for_payout(debit, self.amount))
    }

    /// The positive change of the merchant's balance if the transfer comes back, and the ledger
    /// entry: the opposite of [`Self::booking`].
    pub(crate) fn return_booking(&self) -> (Money, LedgerEntry) {
        let (debit, _) = self.booking();
        (self.amount, LedgerEntry::for_payout(self.amount, debit))
    }
}

/// The bank's words about a transfer that came back: a code such as `AC04`, or more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnReason(String);
stored! { ReturnReason(String) }

impl ReturnReason {
    /// The maximum number of characters. The rest is cut off.
    const MAX: usize = 250;

    /// Control characters and repeated spaces become one space. `None` if nothing is left.
    pub fn new(text: &str) -> Option<Self> {
        let words = text.split(|part: char| part.is_whitespace() || part.is_control());
        let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
        let reason: String = words.join(" ").chars().take(Self::MAX).collect();
        (!reason.is_empty()).then_some(Self(reason))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

group! {
    /// The booking of a transfer that came back.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct PayoutReturn {
        /// The balance line.
        line: Id = "return_line",
        created: Timestamp = "returned",
        reason: Option<ReturnReason> = "return_reason",
    }
}

/// A transfer that came back, as the bank reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnedTransfer {
    /// `None`: the whole transfer.
    pub amount: Option<Money>,
    /// The day on which the bank booked the return.
    pub date: Option<Date>,
    pub reason: Option<ReturnReason>,
}

named! {
    /// What became of the return of a payout.
    pub enum ReturnResult {
        Booked = "booked",
        AlreadyBooked = "already-booked",
        /// The payout has another currency. Nothing is booked.
        Currency = "currency",
        /// The payout has another amount. Nothing is booked.
        Amount = "amount",
        /// The transfer came back before the payout was booked. Nothing is booked.
        Date = "date",
    }
}

/// A payout that was booked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payout {
    pub id: Id,
    pub created: Timestamp,
    /// Whether the merchant is a test merchant.
    pub test: bool,
    /// The balance line.
    pub line: Id,
    /// Captures after this time were held back. `None` if none were.
    pub held_since: Option<Timestamp>,
    pub transfer: Transfer,
    /// `None` unless the transfer came back.
    pub returned: Option<PayoutReturn>,
}

impl Payout {
    /// Whether the return of a transfer is to be booked.
    pub(crate) fn result(&self, returned: &ReturnedTransfer) -> ReturnResult {
        let Money { currency, minor } = self.transfer.amount;
        match returned.amount {
            Some(amount) if amount.currency != currency => ReturnResult::Currency,
            Some(amount) if amount.minor != minor => ReturnResult::Amount,
            _ if returned.date.is_some_and(|date| date < self.first_day()) => ReturnResult::Date,
            _ if self.returned.is_some() => ReturnResult::AlreadyBooked,
            _ => ReturnResult::Booked,
        }
    }

    /// The day on which the payout was booked, in the last time zone of the earth.
    fn first_day(&self) -> Date {
        let created = self.created.saturating_sub(SignedDuration::from_hours(12));
        created.unwrap_or(self.created).to_zoned(TimeZone::UTC).date()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Country, Currency, Descriptor, Email, MerchantDetails, Name, Ppm, Pricing, Standing,
        Website,
    };

    fn merchant(balance: i64, iban: Option<&str>) -> Merchant {
        let eur = Money { currency: Currency::EUR, minor: 0 };
        Merchant {
            id: Id::MIN,
            key: String::new(),
            created: Timestamp::UNIX_EPOCH,
            details: MerchantDetails {
                name: Some(Name::new("Ann").unwrap()),
                currency: Currency::EUR,
                test: true,
                email: Email::new("ann@shop.example").unwrap(),
                website: Website::new("shop.example").unwrap(),
                descriptor: Descriptor::new("Shop").unwrap(),
                country: Country::new("DK").unwrap(),
                registration_number: None,
                iban: iban.map(|iban| Iban::new(iban).unwrap()),
                holder: None,
            },
            standing: Standing::new(true),
            pricing: Pricing { rate: Ppm::ZERO, flat: eur, dispute: eur },
            balance,
        }
    }

    fn payout(created: &str) -> Payout {
        let transfer = due(&merchant(995, Some("DK5000400440116243")), 0).unwrap();
        let created = created.parse().unwrap();
        let (id, line) = (Id::MIN, Id::MAX);
        Payout { id, created, test: true, line, held_since: None, transfer, returned: None }
    }

    fn due(merchant: &Merchant, held: i64) -> Option<Transfer> {
        Transfer::due(merchant, held, PayoutFormat::Csv)
    }

    #[test]
    fn a_positive_balance_is_due_if_there_is_an_iban() {
        let iban = Some("DK5000400440116243");
        for (balance, iban) in [(0, iban), (-1, iban), (i64::MIN, iban), (1, None)] {
            assert_eq!(due(&merchant(balance, iban), 0), None, "{balance}");
        }
        for balance in [1, 995, i64::MAX] {
            let transfer = due(&merchant(balance, iban), 0).unwrap();
            assert_eq!((transfer.amount.minor, transfer.name.as_str()), (balance, "Ann"));
            let (debit, entry) = transfer.booking();
            assert_eq!(debit.minor, -balance);
            assert!(entry.is_balanced() && entry.postings().len() == 2);
        }
    }

    #[test]
    fn a_return_has_the_currency_and_the_amount_of_the_payout_and_is_not_earlier() {
        let mut payout = payout("2026-11-21T11:00:00Z");
        let returned = |amount: Option<&str>, day: Option<&str>| ReturnedTransfer {
            amount: amount.map(|amount| amount.parse().unwrap()),
            date: day.map(|day| day.parse().unwrap()),
            reason: None,
        };
        let whole = returned(None, None);
        for (amount, day, expected) in [
            (None, None, ReturnResult::Booked),
            (Some("EUR:995"), Some("2026-11-21"), ReturnResult::Booked),
            (Some("EUR:995"), Some("2026-11-20"), ReturnResult::Booked),
            (Some("EUR:995"), Some("2026-11-19"), ReturnResult::Date),
            (Some("EUR:994"), Some("2026-11-19"), ReturnResult::Amount),
            (Some("EUR:996"), None, ReturnResult::Amount),
            (Some("USD:995"), None, ReturnResult::Currency),
        ] {
            assert_eq!(payout.result(&returned(amount, day)), expected, "{amount:?} {day:?}");
        }
        payout.returned =
            Some(PayoutReturn { line: Id::MAX, created: payout.created, reason: None });
        assert_eq!(payout.result(&whole), ReturnResult::AlreadyBooked);
        assert_eq!(payout.result(&returned(Some("EUR:994"), None)), ReturnResult::Amount);
    }

    #[test]
    fn a_return_books_the_opposite_of_its_payout() {
        let transfer = payout("2026-11-21T11:00:00Z").transfer;
        let ((debit, paid), (credit, returned)) = (transfer.booking(), transfer.return_booking());
        assert_eq!((debit.minor, credit.minor), (-995, 995));
        assert!(returned.is_balanced());
        for (paid, returned) in paid.postings().iter().zip(returned.postings()) {
            assert_eq!((paid.account, paid.money.minor), (returned.account, -returned.money.minor));
        }
    }

    #[test]
    fn a_reason_is_one_line_of_limited_length() {
        let long = "x".repeat(300);
        for (text, expected) in [
            ("AC04", Some("AC04")),
            (" AC04 \n\t Account \u{1b}[2J closed ", Some("AC04 Account [2J closed")),
            (&long, Some(&long[..250])),
            ("", None),
            (" \u{85}\0 ", None),
        ] {
            let reason = ReturnReason::new(text);
            assert_eq!(reason.as_ref().map(ReturnReason::as_str), expected, "{text:?}");
        }
    }

    #[test]
    fn a_transfer_goes_to_the_holder_of_the_account_and_never_to_a_website() {
        let mut merchant = merchant(1, Some("DK5000400440116243"));
        for (holder, name, expected) in [
            (Some("Ann Larsen"), Some("Mugs"), Some("Ann Larsen")),
            (Some(" "), Some("Mugs"), Some("Mugs")),
            (None, Some("Mugs"), Some("Mugs")),
            (None, Some(""), None),
            (None, None, None),
        ] {
            let name_of = |text: Option<&str>| text.map(|text| Name::new(text).unwrap());
            (merchant.details.holder, merchant.details.name) = (name_of(holder), name_of(name));
            let payee = due(&merchant, 0).map(|transfer| transfer.name);
            assert_eq!(payee.as_deref(), expected, "{holder:?} {name:?}");
        }
    }

    #[test]
    fn held_payouts_are_not_due() {
        let mut merchant = merchant(1, Some("DK5000400440116243"));
        merchant.standing.holds_payments = true;
        assert!(due(&merchant, 0).is_some());
        merchant.standing.holds_payouts = true;
        assert_eq!(due(&merchant, 0), None);
    }

    #[test]
    fn held_captures_reduce_a_transfer_but_never_increase_it() {
        let iban = Some("DK5000400440116243");
        for (balance, held, expected) in [
            (900, 200, Some(700)),
            (900, 899, Some(1)),
            (900, 900, None),
            (900, 1000, None),
            (900, i64::MAX, None),
            (900, -15, Some(900)),
            (-15, -15, None),
            (i64::MIN, i64::MAX, None),
        ] {
            let transfer = due(&merchant(balance, iban), held);
            assert_eq!(
                transfer.map(|transfer| transfer.amount.minor),
                expected,
                "{balance} {held}"
            );
        }
    }

    #[test]
    fn a_sepa_transfer_has_the_currency_the_area_and_the_maximum_of_sepa() {
        let sepa = |merchant: &Merchant| {
            let transfer = Transfer::due(merchant, 0, PayoutFormat::Pain001);
            transfer.map(|transfer| transfer.amount.minor)
        };
        let danish = Some("DK5000400440116243");
        assert_eq!(sepa(&merchant(995, danish)), Some(995));
        assert_eq!(sepa(&merchant(i64::MAX, danish)), Some(99_999_999_999));
        assert_eq!(sepa(&merchant(995, Some("BR1800360305000010009795493C1"))), None);
        let mut krone = merchant(995, danish);
        krone.details.currency = "DKK".parse().unwrap();
        assert_eq!(sepa(&krone), None);
        assert!(due(&krone, 0).is_some());
    }
}
