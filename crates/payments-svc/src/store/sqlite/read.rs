//! Reads.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row};

use super::{
    super::{Backlog, Keyed, Known, Receipt},
    column::{CARD, Columns, millis},
};
use crate::domain::{
    Amounts, App, Captured, Challenge, Country, Custom, Descriptor, Email, Fee, Holding, Iban, Id,
    Instruction, KeyDigest, Line, Merchant, MerchantDetails, Name, Original, Pricing,
    ProcessingError, Reservation, SavedCard, Step, Terms, Transaction, User, Website,
};

/// What a job takes up at once.
pub(super) const JOB_BATCH: u32 = 1000;

/// Whether the database answers.
pub(super) fn answers(db: &Connection) -> rusqlite::Result<()> {
    db.prepare_cached("SELECT 1")?.query_row([], |_| Ok(()))
}

pub(super) fn backlog(db: &Connection) -> rusqlite::Result<Backlog> {
    db.prepare_cached(
        "SELECT (SELECT count(*) FROM invitations), (SELECT count(*) FROM instructions),
             (SELECT count(*) FROM operations)",
    )?
    .query_row([], |row| {
        Ok(Backlog { invitations: row.get(0)?, instructions: row.get(1)?, operations: row.get(2)? })
    })
}

/// The last id that was given out.
pub(super) fn last_id(db: &Connection) -> rusqlite::Result<Id> {
    db.prepare_cached("SELECT last FROM ids")?.query_row([], |row| row.get(0))
}

/// What is known of an idempotency key.
pub(super) fn known(db: &Connection, keyed: &Keyed) -> rusqlite::Result<Option<Known>> {
    db.prepare_cached(
        "SELECT request, receipt, operation, \"transaction\", steps, disputed FROM idempotency
         WHERE app = ?1 AND key = ?2",
    )?
    .query_row((keyed.app, &keyed.key), |row| {
        if row.get::<_, [u8; 32]>(0)? != keyed.request {
            return Ok(Known::OtherRequest);
        }
        let told: Option<Vec<u8>> = row.get(1)?;
        if let Some(told) = told {
            return Ok(Known::Answered(Receipt::Told(told.into())));
        }
        if let Some(operation) = row.get(2)? {
            return Ok(Known::InFlight(operation));
        }
        let (transaction, steps, disputed) = (row.get(3)?, row.get(4)?, row.get(5)?);
        Ok(Known::Answered(Receipt::Moved { transaction, steps, disputed }))
    })
    .optional()
}

pub(super) fn app_by_key(db: &Connection, key: KeyDigest) -> rusqlite::Result<Option<App>> {
    db.prepare_cached("SELECT id, name, created FROM apps WHERE key_digest = ?1")?
        .query_row([key.as_bytes()], app)
        .optional()
}

pub(super) fn has_app(db: &Connection, id: Id) -> rusqlite::Result<bool> {
    db.prepare_cached("SELECT 1 FROM apps WHERE id = ?1")?.exists([id])
}

pub(super) fn has_user(db: &Connection, id: Id) -> rusqlite::Result<bool> {
    db.prepare_cached("SELECT 1 FROM users WHERE id = ?1")?.exists([id])
}

pub(super) fn is_member(db: &Connection, merchant: Id, app: Id) -> rusqlite::Result<bool> {
    db.prepare_cached("SELECT 1 FROM merchant_apps WHERE merchant = ?1 AND app = ?2")?
        .exists([merchant, app])
}

pub(super) fn app(row: &Row<'_>) -> rusqlite::Result<App> {
    let mut columns = Columns::of(row);
    Ok(App { id: columns.next()?, name: columns.optional(Name::stored)?, created: columns.time()? })
}

pub(super) fn user(row: &Row<'_>) -> rusqlite::Result<User> {
    let mut columns = Columns::of(row);
    Ok(User { id: columns.next()?, email: columns.text(Email::stored)?, created: columns.time()? })
}

/// The columns of a merchant.
pub(super) const MERCHANT: &str =
    "merchants.id, key, created, name, currency, merchants.test, email, website,
     descriptor, country, number, iban, fee_rate, fee_flat_currency, fee_flat, fee_dispute_currency,
     fee_dispute, balance";

pub(super) fn merchant(db: &Connection, id: Id) -> rusqlite::Result<Option<Merchant>> {
    let sql = format!(
        "SELECT {MERCHANT} FROM merchants JOIN balances ON balances.merchant = merchants.id
         WHERE merchants.id = ?1"
    );
    db.prepare_cached(&sql)?.query_row([id], merchant_row).optional()
}

pub(super) fn merchant_by_key(db: &Connection, key: &str) -> rusqlite::Result<Option<Merchant>> {
    let sql = format!(
        "SELECT {MERCHANT} FROM merchants JOIN balances ON balances.merchant = merchants.id
         WHERE key = ?1"
    );
    db.prepare_cached(&sql)?.query_row([key], merchant_row).optional()
}

pub(super) fn merchant_row(row: &Row<'_>) -> rusqlite::Result<Merchant> {
    let mut columns = Columns::of(row);
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
    let (pricing, balance) = (pricing(&mut columns)?, columns.next()?);
    Ok(Merchant { id, key, created, details, pricing, balance })
}

fn pricing(columns: &mut Columns<'_, '_>) -> rusqlite::Result<Pricing> {
    Ok(Pricing { rate: columns.share()?, flat: columns.money()?, dispute: columns.money()? })
}

fn terms(columns: &mut Columns<'_, '_>) -> rusqlite::Result<Terms> {
    Ok(Terms { currency: columns.next()?, test: columns.next()?, pricing: pricing(columns)? })
}

pub(super) fn reservation(db: &Connection, id: Id) -> rusqlite::Result<Option<Reservation>> {
    db.prepare_cached(
        "SELECT transactions.id, merchant, transactions.currency, merchants.currency,
             merchants.test, fee_rate, fee_flat_currency, fee_flat, fee_dispute_currency, fee_dispute
         FROM transactions JOIN merchants ON merchants.id = merchant WHERE transactions.id = ?1",
    )?
    .query_row([id], |row| {
        let mut columns = Columns::of(row);
        let (id, merchant, currency) = (columns.next()?, columns.next()?, columns.next()?);
        Ok(Reservation { id, merchant, currency, terms: terms(&mut columns)? })
    })
    .optional()
}

/// A transaction without its trail, and how many steps that has.
pub(super) const TRANSACTION: &str = "SELECT transactions.id, merchant, test, created, currency,
     error, amount, captured, refunded, voided, disputed, descriptor, bin, last4, expiry_year,
     expiry_month, scheme, code_present, custom, tds, recurring, steps
     FROM transactions LEFT JOIN customs ON has_custom AND \"transaction\" = transactions.id";

/// A transaction with the first `steps` of its trail.
pub(super) fn transaction(
    db: &Connection,
    id: Id,
    steps: u32,
) -> rusqlite::Result<Option<Transaction>> {
    let sql = format!("{TRANSACTION} WHERE transactions.id = ?1");
    let found = db.prepare_cached(&sql)?.query_row([id], transaction_row).optional()?;
    let found = found.map(|(transaction, all)| (transaction, all.min(steps)));
    found.map(|found| with_trail(db, found)).transpose()
}

/// Gives a transaction the first `steps` of its trail.
pub(super) fn with_trail(
    db: &Connection,
    (mut transaction, steps): (Transaction, u32),
) -> rusqlite::Result<Transaction> {
    if steps == 0 {
        return Ok(transaction);
    }
    let mut query = db.prepare_cached(
        "SELECT created, movement, amount, balance, fee_flat, fee_rate, descriptor, line, dispute
         FROM trail WHERE \"transaction\" = ?1 AND step < ?2 ORDER BY step",
    )?;
    transaction.trail =
        query.query_map((transaction.id, steps), step)?.collect::<Result<_, _>>()?;
    Ok(transaction)
}

pub(super) fn transaction_row(row: &Row<'_>) -> rusqlite::Result<(Transaction, u32)> {
    let mut columns = Columns::of(row);
    let (id, merchant, test) = (columns.next()?, columns.next()?, columns.next()?);
    let (created, currency, error) = (columns.time()?, columns.next()?, columns.next()?);
    let transaction = Transaction {
        id,
        merchant,
        test,
        created,
        currency,
        amounts: amounts(&mut columns, error)?,
        descriptor: columns.text(Descriptor::stored)?,
        card: columns.optional_card()?,
        custom: columns.optional(Custom::stored)?,
        tds: columns.next()?,
        recurring: columns.next()?,
        error,
        trail: Vec::new(),
    };
    Ok((transaction, columns.next()?))
}

fn amounts(
    columns: &mut Columns<'_, '_>,
    error: Option<ProcessingError>,
) -> rusqlite::Result<Amounts> {
    Ok(Amounts {
        amount: columns.next()?,
        captured: columns.next()?,
        refunded: columns.next()?,
        voided: columns.next()?,
        disputed: columns.next()?,
        successful: error.is_none(),
    })
}

fn step(row: &Row<'_>) -> rusqlite::Result<Step> {
    let mut columns = Columns::of(row);
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
    /// What the merchant has.
    pub(super) balance: i64,
}

pub(super) fn held(db: &Connection, id: Id, captures: bool) -> rusqlite::Result<Option<Held>> {
    let held = db
        .prepare_cached(
            "SELECT transactions.merchant, transactions.descriptor, transactions.currency, steps,
                 merchants.currency, fee_rate, fee_flat_currency, fee_flat, fee_dispute_currency,
                 fee_dispute, error, amount, captured, refunded, voided, disputed, balance
             FROM transactions JOIN merchants ON merchants.id = transactions.merchant
             JOIN balances ON balances.merchant = transactions.merchant
             WHERE transactions.id = ?1",
        )?
        .query_row([id], held_row)
        .optional()?;
    let Some(mut held) = held else { return Ok(None) };
    if captures {
        let mut query = db.prepare_cached(
            "SELECT step, amount, gross, fee, amount_out, gross_out, fee_out, rate, spread
             FROM captures WHERE \"transaction\" = ?1 ORDER BY step",
        )?;
        held.holding.captures = query.query_map([id], captured)?.collect::<Result<_, _>>()?;
    }
    Ok(Some(held))
}

fn held_row(row: &Row<'_>) -> rusqlite::Result<Held> {
    let mut columns = Columns::of(row);
    let (merchant, descriptor) = (columns.next()?, columns.text(Descriptor::stored)?);
    let (currency, steps, funding) = (columns.next()?, columns.next()?, columns.next()?);
    let (pricing, error) = (pricing(&mut columns)?, columns.next()?);
    let amounts = amounts(&mut columns, error)?;
    let holding = Holding { currency, amounts, steps, captures: Vec::new(), funding, pricing };
    Ok(Held { holding, merchant, descriptor, balance: columns.next()? })
}

fn captured(row: &Row<'_>) -> rusqlite::Result<Captured> {
    let mut columns = Columns::of(row);
    Ok(Captured {
        step: columns.next()?,
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

/// A line.
pub(super) const LINE: &str = "SELECT lines.id, merchant, test, lines.created, balance, fee, kind,
     \"transaction\", lines.currency, amount
     FROM lines CROSS JOIN merchants ON merchants.id = merchant";

pub(super) fn line(db: &Connection, id: Id) -> rusqlite::Result<Option<Line>> {
    let sql = format!("{LINE} WHERE lines.id = ?1");
    db.prepare_cached(&sql)?.query_row([id], line_row).optional()
}

pub(super) fn line_row(row: &Row<'_>) -> rusqlite::Result<Line> {
    let mut columns = Columns::of(row);
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

pub(super) fn saved_card(db: &Connection, id: Id) -> rusqlite::Result<Option<SavedCard>> {
    let sql = format!("SELECT merchant, created, {CARD}, notes FROM cards WHERE id = ?1");
    let row = |row: &Row<'_>| {
        let mut columns = Columns::of(row);
        let (merchant, created) = (columns.next()?, columns.time()?);
        Ok(SavedCard { id, merchant, created, card: columns.card()?, notes: columns.next()? })
    };
    db.prepare_cached(&sql)?.query_row([id], row).optional()
}

/// The card of a transaction of the merchant that succeeded and was made by the customer.
pub(super) fn original(
    db: &Connection,
    merchant: Id,
    id: Id,
) -> rusqlite::Result<Option<Original>> {
    let sql = format!(
        "SELECT {CARD}, reference FROM transactions
         WHERE id = ?1 AND merchant = ?2 AND error IS NULL AND NOT recurring"
    );
    db.prepare_cached(&sql)?.query_row([id, merchant], known_card).optional()
}

/// A card that the merchant keeps.
pub(super) fn kept(db: &Connection, merchant: Id, id: Id) -> rusqlite::Result<Option<Original>> {
    let sql = format!("SELECT {CARD}, reference FROM cards WHERE id = ?1 AND merchant = ?2");
    db.prepare_cached(&sql)?.query_row([id, merchant], known_card).optional()
}

fn known_card(row: &Row<'_>) -> rusqlite::Result<Original> {
    let mut columns = Columns::of(row);
    Ok(Original { card: columns.card()?, reference: columns.next()? })
}

/// Transactions that still hold money and are older than `until`.
pub(super) fn expired(db: &Connection, until: Timestamp) -> rusqlite::Result<Vec<Id>> {
    let mut query = db.prepare_cached(
        "SELECT id FROM transactions WHERE error IS NULL AND captured + voided < amount
         AND id < ?1 ORDER BY id LIMIT ?2",
    )?;
    query.query_map((Id::at(until), JOB_BATCH), |row| row.get(0))?.collect()
}

/// Payments that went to the acquirer before `until` and have not come back, and whose customer is
/// not being asked at `now`.
pub(super) fn unanswered(
    db: &Connection,
    until: Timestamp,
    now: Timestamp,
) -> rusqlite::Result<Vec<Id>> {
    let mut query = db.prepare_cached(
        "SELECT id FROM operations WHERE id < ?1 AND coalesce(challenge_until, 0) <= ?2
         ORDER BY id LIMIT ?3",
    )?;
    query.query_map((Id::at(until), millis(now), JOB_BATCH), |row| row.get(0))?.collect()
}

pub(super) fn challenge(db: &Connection, operation: Id) -> rusqlite::Result<Option<Challenge>> {
    let sql = format!(
        "SELECT {CARD}, challenge, challenge_until FROM operations
         WHERE id = ?1 AND challenge IS NOT NULL"
    );
    db.prepare_cached(&sql)?
        .query_row([operation], |row| {
            let mut columns = Columns::of(row);
            let (card, reference) = (columns.card()?, columns.next()?);
            Ok(Challenge { card, reference, until: columns.time()? })
        })
        .optional()
}

/// Instructions that are not confirmed, the oldest first.
pub(super) fn instructions(db: &Connection) -> rusqlite::Result<Vec<Instruction>> {
    let mut query = db.prepare_cached(
        "SELECT instructions.id, transactions.id, operation, reference, movement,
             instructions.amount, movement = 'capture' AND step = (
                 SELECT min(step) FROM captures WHERE \"transaction\" = transactions.id
             )
         FROM instructions CROSS JOIN transactions ON transactions.id = \"transaction\"
         ORDER BY instructions.id LIMIT ?1",
    )?;
    let rows = query.query_map([JOB_BATCH], |row| {
        let mut columns = Columns::of(row);
        Ok(Instruction {
            id: columns.next()?,
            transaction: columns.next()?,
            payment: columns.next()?,
            reference: columns.next()?,
            order: columns.next()?,
            amount: columns.next()?,
            is_first_capture: columns.next()?,
        })
    })?;
    rows.collect()
}
