//! Payouts: transfers of merchants' balances to their bank accounts.

use jiff::civil::Date;

use super::{
    id::Id,
    ledger::LedgerEntry,
    merchant::{Iban, Merchant},
    money::Money,
};

/// A run of payouts. It pays each merchant at most once. When all are paid it is closed, and pays
/// no more merchants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PayoutRun {
    pub(crate) day: Date,
    /// Whether the run pays the test merchants. Otherwise it pays the live merchants.
    pub(crate) test: bool,
}

/// A transfer to a merchant's bank account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Transfer {
    pub(crate) merchant: Id,
    /// The name of the recipient: the merchant's title.
    pub(crate) name: String,
    pub(crate) iban: Iban,
    /// Always positive.
    pub(crate) amount: Money,
}

impl Transfer {
    /// The whole balance of a merchant, if it is positive and the merchant has an IBAN.
    pub(crate) fn of_balance(merchant: &Merchant) -> Option<Self> {
        let iban = merchant.details.iban.clone()?;
        let amount = Money { currency: merchant.details.currency, minor: merchant.balance };
        let name = merchant.details.title().to_owned();
        (amount.minor > 0).then_some(Self { merchant: merchant.id, name, iban, amount })
    }

    /// The negative change of the merchant's balance, and the ledger entry.
    pub(crate) fn booking(&self) -> (Money, LedgerEntry) {
        // A positive number can be negated without overflow.
        let debit = Money { minor: self.amount.minor.saturating_neg(), ..self.amount };
        (debit, LedgerEntry::for_payout(debit, self.amount))
    }
}

/// A payout that was booked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Payout {
    pub(crate) id: Id,
    /// The balance line.
    pub(crate) line: Id,
    pub(crate) transfer: Transfer,
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::domain::{
        Country, Currency, Descriptor, Email, MerchantDetails, Name, Ppm, Pricing, Website,
    };

    fn merchant(balance: i64, iban: Option<&str>) -> Merchant {
        let eur = Money { currency: Currency::EUR, minor: 0 };
        Merchant {
            id: Id::MIN,
            key: String::new(),
            created: Timestamp::UNIX_EPOCH,
            details: MerchantDetails {
                name: None,
                currency: Currency::EUR,
                test: true,
                email: Email::new("ann@shop.example").unwrap(),
                website: Website::new("shop.example").unwrap(),
                descriptor: Descriptor::new("Shop").unwrap(),
                country: Country::new("DK").unwrap(),
                registration_number: None,
                iban: iban.map(|iban| Iban::new(iban).unwrap()),
            },
            pricing: Pricing { rate: Ppm::ZERO, flat: eur, dispute: eur },
            balance,
        }
    }

    #[test]
    fn a_positive_balance_is_due_if_there_is_an_iban() {
        let iban = Some("DK5000400440116243");
        for (balance, iban) in [(0, iban), (-1, iban), (i64::MIN, iban), (1, None)] {
            assert_eq!(Transfer::of_balance(&merchant(balance, iban)), None, "{balance}");
        }
        for balance in [1, 995, i64::MAX] {
            let transfer = Transfer::of_balance(&merchant(balance, iban)).unwrap();
            assert_eq!((transfer.amount.minor, transfer.name.as_str()), (balance, "shop.example"));
            let (debit, entry) = transfer.booking();
            assert_eq!(debit.minor, -balance);
            assert!(entry.is_balanced() && entry.postings().len() == 2);
        }
    }

    #[test]
    fn a_transfer_uses_the_name_of_the_merchant() {
        let mut merchant = merchant(1, Some("DK5000400440116243"));
        merchant.details.name = Some(Name::new("Ann").unwrap());
        assert_eq!(Transfer::of_balance(&merchant).unwrap().name, "Ann");
    }
}
