//! Reads.

use std::collections::HashMap;

use common::postgres::Error;
use tokio_postgres::Row;

use super::{
    super::{Found, Overdue},
    column::Columns,
};
use crate::domain::{
    Amounts, App, Captured, Challenge, Country, Custom, Descriptor, Dispute, Email, Fee,
    FraudAlert, Holding, Iban, Id, Instruction, Line, Merchant, MerchantDetails, Name, Original,
    Pricing, ProcessingError, Reason, Reference, Reservation, SavedCard, Slice, Step, Terms,
    Transaction, User, Website,
};

/// The first of these rows as a thing, if there is one.
pub(super) fn first<T>(
    rows: &[Row],
    thing: impl FnOnce(&mut Columns<'_>) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    rows.first().map(|row| thing(&mut Columns::of(row))).transpose()
}

/// These rows as things.
pub(super) fn all<T>(
    rows: &[Row],
    thing: impl Fn(&mut Columns<'_>) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    rows.iter().map(|row| thing(&mut Columns::of(row))).collect()
}

/// A thing, and in the column after it whether the app is one of its merchant's.
pub(super) fn found<T>(
    thing: impl FnOnce(&mut Columns<'_>) -> Result<T, Error>,
) -> impl FnOnce(&mut Columns<'_>) -> Result<Found<T>, Error> {
    |columns| Ok(Found { thing: thing(columns)?, is_member: columns.next()? })
}

/// The columns of an app.
pub(super) const APP: &str = "apps.id, name, created";

pub(super) fn app(columns: &mut Columns<'_>) -> Result<App, Error> {
    Ok(App { id: columns.next()?, name: columns.optional(Name::stored)?, created: columns.time()? })
}

/// The columns of a user.
pub(super) const USER: &str = "users.id, email, created";

pub(super) fn user(columns: &mut Columns<'_>) -> Result<User, Error> {
    Ok(User { id: columns.next()?, email: columns.text(Email::stored)?, created: columns.time()? })
}

/// The columns of a merchant.
pub(super) const MERCHANT: &str =
    "merchants.id, key, created, name, currency, test, email, website,
     descriptor, country, number, iban, fee_rate, fee_flat_currency, fee_flat, fee_dispute_currency,
     fee_dispute, (SELECT sum(balance)::bigint FROM balances WHERE merchant = merchants.id)";

pub(super) fn merchant(columns: &mut Columns<'_>) -> Result<Merchant, Error> {
    let (id, key, created) = (columns.next()?, columns.next()?, columns.time()?);
    let details = MerchantDetails {
        name: columns.optional(Name::stored)?,
        currency: columns.next()?,
        test: columns.next()?,
        email: columns.text(Email::stored)?,
        website: columns.text(Website::stored)?,
        descriptor: columns.text(Descriptor::stored)?,
        country: columns.text(Country::stored)?,
        number: columns.optional(Name::stored)?,
        iban: columns.optional(Iban::stored)?,
    };
    let (pricing, balance) = (pricing(columns)?, columns.next()?);
    Ok(Merchant { id, key, created, details, pricing, balance })
}

fn pricing(columns: &mut Columns<'_>) -> Result<Pricing, Error> {
    Ok(Pricing { rate: columns.share()?, flat: columns.money()?, dispute: columns.money()? })
}

/// The columns of a reservation.
pub(super) const RESERVATION: &str =
    "transactions.id, merchant, transactions.currency, merchants.currency, merchants.test,
     fee_rate, fee_flat_currency, fee_flat, fee_dispute_currency, fee_dispute";

pub(super) fn reservation(columns: &mut Columns<'_>) -> Result<Reservation, Error> {
    let (id, merchant, currency) = (columns.next()?, columns.next()?, columns.next()?);
    Ok(Reservation { id, merchant, currency, terms: terms(columns)? })
}

fn terms(columns: &mut Columns<'_>) -> Result<Terms, Error> {
    Ok(Terms { currency: columns.next()?, test: columns.next()?, pricing: pricing(columns)? })
}

/// The columns of a transaction, and where they come from.
pub(super) const TRANSACTION: &str =
    "transactions.id, transactions.merchant, transactions.test, transactions.created,
     transactions.currency, error, amount, captured, refunded, voided, disputed,
     transactions.descriptor, bin, last4, expiry_year, expiry_month, scheme, code_present, custom,
     tds, recurring, steps";
pub(super) const TRANSACTIONS: &str =
    "transactions LEFT JOIN customs ON has_custom AND \"transaction\" = transactions.id";

/// A transaction, and how many steps its trail has.
pub(super) fn transaction(columns: &mut Columns<'_>) -> Result<(Transaction, u32), Error> {
    let (id, merchant, test) = (columns.next()?, columns.next()?, columns.next()?);
    let (created, currency, error) = (columns.time()?, columns.next()?, columns.next()?);
    let transaction = Transaction {
        id,
        merchant,
        test,
        created,
        currency,
        amounts: amounts(columns, error)?,
        descriptor: columns.text(Descriptor::stored)?,
        card: columns.optional_card()?,
        custom: columns.optional(Custom::stored)?,
        tds: columns.next()?,
        recurring: columns.next()?,
        error,
        trail: Vec::new(),
    };
    Ok((transaction, columns.count()?))
}

fn amounts(columns: &mut Columns<'_>, error: Option<ProcessingError>) -> Result<Amounts, Error> {
    Ok(Amounts {
        amount: columns.next()?,
        captured: columns.next()?,
        refunded: columns.next()?,
        voided: columns.next()?,
        disputed: columns.next()?,
        successful: error.is_none(),
    })
}

/// The columns of a step of a trail, after those of its transaction.
pub(super) const STEP: &str =
    "\"transaction\", created, movement, amount, balance, fee_flat, fee_rate, descriptor, line,
     dispute";

/// The trails in rows that are in order, by their transactions.
pub(super) fn trails(rows: &[Row]) -> Result<HashMap<Id, Vec<Step>>, Error> {
    let mut trails = HashMap::<_, Vec<_>>::new();
    for row in rows {
        let mut columns = Columns::of(row);
        trails.entry(columns.next()?).or_default().push(step(&mut columns)?);
    }
    Ok(trails)
}

/// Gives a transaction its trail. Steps that came after it had been read are not of it.
pub(super) fn with_trail(
    (mut transaction, steps): (Transaction, u32),
    trails: &mut HashMap<Id, Vec<Step>>,
) -> Transaction {
    transaction.trail = trails.remove(&transaction.id).unwrap_or_default();
    transaction.trail.truncate(steps.try_into().unwrap_or(usize::MAX));
    transaction
}

fn step(columns: &mut Columns<'_>) -> Result<Step, Error> {
    Ok(Step {
        created: columns.time()?,
        movement: columns.next()?,
        amount: columns.next()?,
        balance: columns.next()?,
        fee: Fee { flat: columns.next()?, rate: columns.next()? },
        descriptor: columns.optional(Descriptor::stored)?,
        line: columns.next()?,
        dispute: columns.next()?,
    })
}

/// What a movement of a transaction is decided over, with the parts of it that are written.
pub(super) struct Held {
    pub(super) holding: Holding,
    pub(super) merchant: Id,
    pub(super) descriptor: Descriptor,
}

/// Locks the transaction `$1`, for [`held`].
pub(super) const HOLD: &str = "SELECT transactions.merchant, transactions.descriptor,
     transactions.currency, steps, merchants.currency, fee_rate, fee_flat_currency, fee_flat,
     fee_dispute_currency, fee_dispute, error, amount, captured, refunded, voided, disputed
     FROM transactions JOIN merchants ON merchants.id = merchant WHERE transactions.id = $1
     FOR UPDATE OF transactions";

/// All but the captures.
pub(super) fn held(columns: &mut Columns<'_>) -> Result<Held, Error> {
    let (merchant, descriptor) = (columns.next()?, columns.text(Descriptor::stored)?);
    let (currency, steps, funding) = (columns.next()?, columns.count()?, columns.next()?);
    let (pricing, error) = (pricing(columns)?, columns.next()?);
    let amounts = amounts(columns, error)?;
    let holding = Holding { currency, amounts, steps, captures: Vec::new(), funding, pricing };
    Ok(Held { holding, merchant, descriptor })
}

/// The captures of the transaction `$1`, oldest first.
pub(super) const CAPTURES: &str =
    "SELECT step, amount, gross, fee, amount_out, gross_out, fee_out, rate, spread
     FROM captures WHERE \"transaction\" = $1 ORDER BY step";

pub(super) fn captured(columns: &mut Columns<'_>) -> Result<Captured, Error> {
    Ok(Captured {
        step: columns.count()?,
        amount: columns.next()?,
        gross: columns.next()?,
        fee: columns.next()?,
        amount_out: columns.next()?,
        gross_out: columns.next()?,
        fee_out: columns.next()?,
        rate: columns.factor()?,
        spread: columns.share()?,
    })
}

/// The columns of a line, and where they come from.
pub(super) const LINE: &str = "lines.id, merchant, test, lines.created, balance, fee, kind,
     \"transaction\", lines.currency, amount";
pub(super) const LINES: &str = "lines JOIN merchants ON merchants.id = merchant";

pub(super) fn line(columns: &mut Columns<'_>) -> Result<Line, Error> {
    Ok(Line {
        id: columns.next()?,
        merchant: columns.next()?,
        test: columns.next()?,
        created: columns.time()?,
        balance: columns.next()?,
        fee: columns.next()?,
        kind: columns.next()?,
        transaction: columns.next()?,
        amount: columns.money()?,
    })
}

pub(super) fn saved_card(columns: &mut Columns<'_>) -> Result<SavedCard, Error> {
    let (id, merchant, created) = (columns.next()?, columns.next()?, columns.time()?);
    Ok(SavedCard { id, merchant, created, card: columns.card()?, notes: columns.next()? })
}

pub(super) fn known_card(columns: &mut Columns<'_>) -> Result<Original, Error> {
    Ok(Original { card: columns.card()?, reference: columns.next()? })
}

pub(super) fn challenge(columns: &mut Columns<'_>) -> Result<Challenge, Error> {
    let (card, reference) = (columns.card()?, columns.next()?);
    Ok(Challenge { card, reference, until: columns.time()? })
}

pub(super) fn instruction(columns: &mut Columns<'_>) -> Result<Instruction, Error> {
    Ok(Instruction {
        id: columns.next()?,
        transaction: columns.next()?,
        payment: columns.next()?,
        reference: columns.next()?,
        order: columns.next()?,
        amount: columns.next()?,
        is_first_capture: columns.next()?,
    })
}

/// The columns of a dispute.
pub(super) const DISPUTE: &str =
    "id, merchant, \"transaction\", created, amount, reason_code, reason_title, due";

pub(super) fn dispute(columns: &mut Columns<'_>) -> Result<Dispute, Error> {
    let (id, merchant, transaction) = (columns.next()?, columns.next()?, columns.next()?);
    let (created, amount) = (columns.time()?, columns.next()?);
    let (code, title): (Option<i64>, Option<String>) = (columns.next()?, columns.next()?);
    let reason = code.zip(title).map(|(code, title)| Reason { code, title });
    Ok(Dispute { id, merchant, transaction, created, amount, reason, due: columns.time()? })
}

pub(super) fn overdue(columns: &mut Columns<'_>) -> Result<Overdue, Error> {
    let (id, transaction) = (columns.next()?, columns.next()?);
    Ok(Overdue { id, transaction, reference: columns.text(Reference::stored)? })
}

/// The columns of a slice of a dispute.
pub(super) const SLICE: &str = "slices.step, slices.amount, slices.gross, slices.fee, again";

pub(super) fn slice(columns: &mut Columns<'_>) -> Result<Slice, Error> {
    Ok(Slice {
        step: columns.optional_count()?,
        amount: columns.next()?,
        gross: columns.next()?,
        fee: columns.next()?,
        again: columns.next()?,
    })
}

/// The columns of a suspicion of fraud.
pub(super) const FRAUD: &str = "id, merchant, \"transaction\", created, reported, reason";

pub(super) fn fraud(columns: &mut Columns<'_>) -> Result<FraudAlert, Error> {
    Ok(FraudAlert {
        id: columns.next()?,
        merchant: columns.next()?,
        transaction: columns.next()?,
        created: columns.time()?,
        reported: columns.optional_time()?,
        reason: columns.next()?,
    })
}
