//! Reads.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row};

use super::column::{card, factor, time};
use crate::domain::{
    Amounts, App, Captured, Country, Custom, Descriptor, Email, Fee, Holding, Iban, Id,
    Instruction, KeyDigest, Line, Merchant, MerchantDetails, Money, Name, Original, Ppm, Pricing,
    SavedCard, Step, Transaction, User, Website, Window,
};

/// What a job takes up at once.
const JOB_BATCH: usize = 1000;

/// Whether the database answers.
pub(super) fn answers(db: &Connection) -> rusqlite::Result<()> {
    db.prepare_cached("SELECT 1")?.query_row([], |_| Ok(()))
}

/// The greatest id there is.
pub(super) fn last_id(db: &Connection) -> rusqlite::Result<Id> {
    db.query_row(
        "SELECT max(id) FROM (
             SELECT max(id) AS id FROM apps UNION ALL SELECT max(id) FROM users
             UNION ALL SELECT max(id) FROM merchants UNION ALL SELECT max(id) FROM invitations
             UNION ALL SELECT max(id) FROM operations UNION ALL SELECT max(id) FROM transactions
             UNION ALL SELECT max(operation) FROM transactions
             UNION ALL SELECT max(id) FROM lines UNION ALL SELECT max(id) FROM cards
             UNION ALL SELECT max(id) FROM instructions)",
        [],
        |row| row.get::<_, Option<Id>>(0),
    )
    .map(|id| id.unwrap_or(Id::FIRST))
}

pub(super) fn app_by_key(db: &Connection, key: KeyDigest) -> rusqlite::Result<Option<App>> {
    db.prepare_cached("SELECT id, name, created FROM apps WHERE key_digest = ?1")?
        .query_row([key.as_bytes()], app)
        .optional()
}

pub(super) fn has_app(db: &Connection, id: Id) -> rusqlite::Result<bool> {
    db.prepare_cached("SELECT 1 FROM apps WHERE id = ?1")?.exists([id])
}

pub(super) fn is_member(db: &Connection, merchant: Id, app: Id) -> rusqlite::Result<bool> {
    db.prepare_cached("SELECT 1 FROM merchant_apps WHERE merchant = ?1 AND app = ?2")?
        .exists([merchant, app])
}

fn app(row: &Row<'_>) -> rusqlite::Result<App> {
    let name: Option<String> = row.get("name")?;
    Ok(App { id: row.get("id")?, name: name.map(Name::stored), created: time(row, "created")? })
}

fn user(row: &Row<'_>) -> rusqlite::Result<User> {
    Ok(User {
        id: row.get("id")?,
        email: Email::stored(row.get("email")?),
        created: time(row, "created")?,
    })
}

const MERCHANT: &str = "SELECT * FROM merchants JOIN balances ON merchant = merchants.id";

pub(super) fn merchant(db: &Connection, id: Id) -> rusqlite::Result<Option<Merchant>> {
    let sql = format!("{MERCHANT} WHERE merchants.id = ?1");
    db.prepare_cached(&sql)?.query_row([id], merchant_row).optional()
}

pub(super) fn merchant_by_key(db: &Connection, key: &str) -> rusqlite::Result<Option<Merchant>> {
    let sql = format!("{MERCHANT} WHERE key = ?1");
    db.prepare_cached(&sql)?.query_row([key], merchant_row).optional()
}

fn merchant_row(row: &Row<'_>) -> rusqlite::Result<Merchant> {
    let text = |column| row.get::<_, String>(column);
    let optional = |column| row.get::<_, Option<String>>(column);
    Ok(Merchant {
        id: row.get("id")?,
        key: text("key")?,
        created: time(row, "created")?,
        details: MerchantDetails {
            name: optional("name")?.map(Name::stored),
            currency: row.get("currency")?,
            test: row.get("test")?,
            email: Email::stored(text("email")?),
            website: Website::stored(text("website")?),
            descriptor: Descriptor::stored(text("descriptor")?),
            country: Country::stored(text("country")?),
            number: optional("number")?.map(Name::stored),
            iban: optional("iban")?.map(Iban::stored),
        },
        pricing: pricing(row)?,
        balance: row.get("balance")?,
    })
}

fn pricing(row: &Row<'_>) -> rusqlite::Result<Pricing> {
    let money = |currency, minor| {
        Ok::<_, rusqlite::Error>(Money { currency: row.get(currency)?, minor: row.get(minor)? })
    };
    Ok(Pricing {
        rate: Ppm::stored(row.get("fee_rate")?),
        flat: money("fee_flat_currency", "fee_flat")?,
        dispute: money("fee_dispute_currency", "fee_dispute")?,
    })
}

const TRANSACTION: &str = "SELECT transactions.*, merchants.test, custom FROM transactions
     JOIN merchants ON merchants.id = transactions.merchant
     LEFT JOIN customs ON has_custom AND \"transaction\" = transactions.id";

pub(super) fn transaction(db: &Connection, id: Id) -> rusqlite::Result<Option<Transaction>> {
    let sql = format!("{TRANSACTION} WHERE transactions.id = ?1");
    let found = db.prepare_cached(&sql)?.query_row([id], transaction_row).optional()?;
    found.map(|transaction| with_trail(db, transaction)).transpose()
}

fn with_trail(db: &Connection, mut transaction: Transaction) -> rusqlite::Result<Transaction> {
    if transaction.amounts.is_untouched() {
        return Ok(transaction);
    }
    let mut query =
        db.prepare_cached("SELECT * FROM trail WHERE \"transaction\" = ?1 ORDER BY step")?;
    transaction.trail = query.query_map([transaction.id], step)?.collect::<Result<_, _>>()?;
    Ok(transaction)
}

fn transaction_row(row: &Row<'_>) -> rusqlite::Result<Transaction> {
    Ok(Transaction {
        id: row.get("id")?,
        merchant: row.get("merchant")?,
        test: row.get("test")?,
        created: time(row, "created")?,
        currency: row.get("currency")?,
        amounts: amounts(row)?,
        descriptor: Descriptor::stored(row.get("descriptor")?),
        card: card(row)?,
        custom: row.get::<_, Option<String>>("custom")?.map(Custom::stored),
        tds: row.get("tds")?,
        recurring: row.get("recurring")?,
        error: row.get("error")?,
        trail: Vec::new(),
    })
}

fn amounts(row: &Row<'_>) -> rusqlite::Result<Amounts> {
    Ok(Amounts {
        amount: row.get("amount")?,
        captured: row.get("captured")?,
        refunded: row.get("refunded")?,
        voided: row.get("voided")?,
        disputed: row.get("disputed")?,
        successful: row.get::<_, Option<u8>>("error")?.is_none(),
    })
}

fn step(row: &Row<'_>) -> rusqlite::Result<Step> {
    let descriptor: Option<String> = row.get("descriptor")?;
    Ok(Step {
        created: time(row, "created")?,
        movement: row.get("movement")?,
        amount: row.get("amount")?,
        balance: row.get("balance")?,
        fee: Fee { flat: row.get("fee_flat")?, rate: row.get("fee_rate")? },
        descriptor: descriptor.map(Descriptor::stored),
        line: row.get("line")?,
    })
}

/// What a movement of a transaction is decided over, with the parts of it that are written.
pub(super) struct Held {
    pub(super) holding: Holding,
    pub(super) merchant: Id,
    pub(super) payment: Id,
    pub(super) descriptor: Descriptor,
}

pub(super) fn held(db: &Connection, id: Id, captures: bool) -> rusqlite::Result<Option<Held>> {
    let held = db
        .prepare_cached(
            "SELECT transactions.*, merchants.currency AS funding, fee_rate, fee_flat_currency,
                    fee_flat, fee_dispute_currency, fee_dispute
             FROM transactions JOIN merchants ON merchants.id = merchant WHERE transactions.id = ?1",
        )?
        .query_row([id], |row| {
            Ok(Held {
                holding: Holding {
                    currency: row.get("currency")?,
                    amounts: amounts(row)?,
                    steps: row.get("steps")?,
                    captures: Vec::new(),
                    funding: row.get("funding")?,
                    pricing: pricing(row)?,
                },
                merchant: row.get("merchant")?,
                payment: row.get("operation")?,
                descriptor: Descriptor::stored(row.get("descriptor")?),
            })
        })
        .optional()?;
    let Some(mut held) = held else { return Ok(None) };
    if captures {
        let mut query =
            db.prepare_cached("SELECT * FROM captures WHERE \"transaction\" = ?1 ORDER BY step")?;
        held.holding.captures = query.query_map([id], captured)?.collect::<Result<_, _>>()?;
    }
    Ok(Some(held))
}

pub(super) fn captured(row: &Row<'_>) -> rusqlite::Result<Captured> {
    Ok(Captured {
        step: row.get("step")?,
        amount: row.get("amount")?,
        gross: row.get("gross")?,
        fee: row.get("fee")?,
        amount_out: row.get("amount_out")?,
        gross_out: row.get("gross_out")?,
        fee_out: row.get("fee_out")?,
        rate: factor(row, "rate")?,
        spread: Ppm::stored(row.get("spread")?),
    })
}

const LINE: &str = "SELECT lines.*, test FROM lines JOIN merchants ON merchants.id = merchant";

pub(super) fn line(db: &Connection, id: Id) -> rusqlite::Result<Option<Line>> {
    let sql = format!("{LINE} WHERE lines.id = ?1");
    db.prepare_cached(&sql)?.query_row([id], line_row).optional()
}

fn line_row(row: &Row<'_>) -> rusqlite::Result<Line> {
    Ok(Line {
        id: row.get("id")?,
        merchant: row.get("merchant")?,
        test: row.get("test")?,
        created: time(row, "created")?,
        balance: row.get("balance")?,
        fee: row.get("fee")?,
        kind: row.get("kind")?,
        transaction: row.get("transaction")?,
        amount: Money { currency: row.get("currency")?, minor: row.get("amount")? },
    })
}

pub(super) fn saved_card(db: &Connection, id: Id) -> rusqlite::Result<Option<SavedCard>> {
    db.prepare_cached("SELECT * FROM cards WHERE id = ?1")?
        .query_row([id], |row| {
            Ok(SavedCard {
                id,
                merchant: row.get("merchant")?,
                created: time(row, "created")?,
                card: card(row)?,
                notes: row.get("notes")?,
            })
        })
        .optional()
}

/// The card of a transaction of the merchant that succeeded and was made by the customer.
pub(super) fn original(
    db: &Connection,
    merchant: Id,
    id: Id,
) -> rusqlite::Result<Option<Original>> {
    db.prepare_cached(
        "SELECT * FROM transactions
         WHERE id = ?1 AND merchant = ?2 AND error IS NULL AND NOT recurring",
    )?
    .query_row([id, merchant], known_card)
    .optional()
}

/// A card that the merchant keeps.
pub(super) fn kept(db: &Connection, merchant: Id, id: Id) -> rusqlite::Result<Option<Original>> {
    db.prepare_cached("SELECT * FROM cards WHERE id = ?1 AND merchant = ?2")?
        .query_row([id, merchant], known_card)
        .optional()
}

fn known_card(row: &Row<'_>) -> rusqlite::Result<Original> {
    Ok(Original { card: card(row)?, reference: row.get("reference")? })
}

pub(super) fn merchants_of(
    db: &Connection,
    app: Id,
    window: &Window,
    test: Option<bool>,
) -> rusqlite::Result<Vec<Merchant>> {
    let filter = match test {
        None => "",
        Some(true) => "AND test",
        Some(false) => "AND NOT test",
    };
    let sql = format!(
        "SELECT merchants.*, balance FROM merchant_apps CROSS JOIN merchants ON merchants.id = merchant_apps.merchant
         CROSS JOIN balances ON balances.merchant = merchants.id WHERE app = ?1 {filter}"
    );
    page(db, &sql, "merchant_apps.merchant", app, window, merchant_row)
}

pub(super) fn users(db: &Connection, merchant: Id, window: &Window) -> rusqlite::Result<Vec<User>> {
    let sql = "SELECT users.* FROM merchant_users CROSS JOIN users ON users.id = user WHERE merchant = ?1";
    page(db, sql, "user", merchant, window, user)
}

pub(super) fn apps(db: &Connection, merchant: Id, window: &Window) -> rusqlite::Result<Vec<App>> {
    let sql =
        "SELECT apps.* FROM merchant_apps CROSS JOIN apps ON apps.id = app WHERE merchant = ?1";
    page(db, sql, "app", merchant, window, app)
}

pub(super) fn lines(db: &Connection, merchant: Id, window: &Window) -> rusqlite::Result<Vec<Line>> {
    page(db, &format!("{LINE} WHERE merchant = ?1"), "lines.id", merchant, window, line_row)
}

pub(super) fn transactions(
    db: &Connection,
    merchant: Id,
    window: &Window,
    successful: Option<bool>,
) -> rusqlite::Result<Vec<Transaction>> {
    let filter = match successful {
        None => "",
        Some(true) => "AND error IS NULL",
        Some(false) => "AND error IS NOT NULL",
    };
    let sql = format!("{TRANSACTION} WHERE transactions.merchant = ?1 {filter}");
    let found = page(db, &sql, "transactions.id", merchant, window, transaction_row)?;
    found.into_iter().map(|transaction| with_trail(db, transaction)).collect()
}

/// A window of what `sql` selects of one owner, in the order of the ids in `column`.
fn page<T>(
    db: &Connection,
    sql: &str,
    column: &str,
    owner: Id,
    window: &Window,
    item: fn(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    let order = if window.is_forward() { "ASC" } else { "DESC" };
    let sql = format!("{sql} AND {column} > ?2 AND {column} < ?3 ORDER BY {column} {order}");
    let (after, before) = (window.after.unwrap_or(Id::FIRST), window.before.unwrap_or(Id::LAST));
    let mut query = db.prepare_cached(&sql)?;
    // No LIMIT: SQLite prepares a statement again whenever that is bound.
    let rows = query.query_map((owner, after, before), item)?;
    rows.take(usize::try_from(window.limit).unwrap_or(0)).collect()
}

/// Transactions that still hold money and are older than `until`.
pub(super) fn expired(db: &Connection, until: Timestamp) -> rusqlite::Result<Vec<Id>> {
    let mut query = db.prepare_cached(
        "SELECT id FROM transactions WHERE error IS NULL AND captured + voided < amount
         AND id < ?1 ORDER BY id",
    )?;
    query.query_map([Id::at(until)], |row| row.get(0))?.take(JOB_BATCH).collect()
}

/// Payments that went to the acquirer before `until` and have not come back.
pub(super) fn unanswered(db: &Connection, until: Timestamp) -> rusqlite::Result<Vec<(Id, bool)>> {
    let mut query = db.prepare_cached(
        "SELECT operations.id, test FROM operations JOIN merchants ON merchants.id = merchant
         WHERE operations.id < ?1 ORDER BY operations.id",
    )?;
    let rows = query.query_map([Id::at(until)], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.take(JOB_BATCH).collect()
}

/// Instructions that are not confirmed, the oldest first.
pub(super) fn instructions(db: &Connection) -> rusqlite::Result<Vec<Instruction>> {
    let mut query = db.prepare_cached("SELECT * FROM instructions ORDER BY id")?;
    let rows = query.query_map([], |row| {
        Ok(Instruction {
            id: row.get("id")?,
            payment: row.get("payment")?,
            movement: row.get("movement")?,
            amount: row.get("amount")?,
        })
    })?;
    rows.take(JOB_BATCH).collect()
}
