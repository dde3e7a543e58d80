//! Payouts, made beside any number of services.

use common::postgres::{Database, Error, SETTINGS, ask};
use deadpool_postgres::ClientWrapper;
use jiff::Timestamp;

use super::{
    super::{DatabaseConfig, PayoutError, now},
    column::{Columns, millis},
    read::{self, all, first},
    unit::{NEW_IDS, Unit, ids, parameters},
    write::movements::post,
};
use crate::domain::{Iban, Id, LineKind, Payout, PayoutRun, Transfer};

/// Pays whomever something is due to, unless the run is closed, and closes it.
pub(in super::super) async fn pay_out(
    config: &DatabaseConfig,
    run: PayoutRun,
) -> Result<Vec<Payout>, PayoutError> {
    let database = Database::of(config)?;
    let session = database.connect().await?;
    session.batch_execute(SETTINGS).await.map_err(|error| database.failed(error))?;
    open(&session, run).await?;
    for merchant in creditors(&session, run).await? {
        pay(&session, run, merchant).await?;
    }
    close(&session, run).await?;
    Ok(payouts(&session, run).await?)
}

async fn open(session: &ClientWrapper, run: PayoutRun) -> Result<(), Error> {
    let sql = "INSERT INTO payout_runs (day, test) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    ask(session, [(sql, &[&run.day.to_string(), &run.test])]).await.map(drop)
}

/// Merchants that something may be due to, unless the run is closed.
async fn creditors(session: &ClientWrapper, run: PayoutRun) -> Result<Vec<Id>, Error> {
    let sql = "SELECT id FROM merchants JOIN balances ON merchant = id
               WHERE test = $1 AND iban IS NOT NULL AND NOT EXISTS (
                   SELECT 1 FROM payout_runs WHERE day = $2 AND test = $1 AND closed
               )
               GROUP BY id HAVING sum(balance) > 0 ORDER BY id";
    let [rows] = ask(session, [(sql, &[&run.test, &run.day.to_string()])]).await?;
    all(&rows, |columns| columns.next())
}

/// Pays a merchant what is due to it now, once in a run. Whoever closes the run waits for this.
async fn pay(session: &ClientWrapper, run: PayoutRun, id: Id) -> Result<(), Error> {
    let day = run.day.to_string();
    let open = "SELECT 1 FROM payout_runs WHERE day = $1 AND test = $2 AND NOT closed FOR SHARE";
    // Nobody books anything for the merchant from here on, so that its balance stays as it is read.
    let balance = "SELECT 1 FROM balances WHERE merchant = $1 ORDER BY shard FOR UPDATE";
    let paid = "SELECT 1 FROM payouts WHERE day = $1 AND merchant = $2";
    let merchant = format!("SELECT {} FROM merchants WHERE id = $1", read::MERCHANT);
    let mut unit = Unit::new(session, None);
    let [open, _, paid, merchant, new] = unit
        .ask([
            (open, &[&day, &run.test]),
            (balance, &[&id]),
            (paid, &[&day, &id]),
            (&merchant, &[&id]),
            NEW_IDS,
        ])
        .await?;
    if open.is_empty() || !paid.is_empty() {
        return Ok(());
    }
    let merchant = first(&merchant, read::merchant)?;
    let Some(transfer) = merchant.as_ref().and_then(Transfer::due) else { return Ok(()) };
    let (line, id) = ids(&new)?;
    book(&mut unit, Payout { id, line, transfer }, run, now());
    unit.commit().await
}

/// The payout, the merchant's line, the postings behind it, and the merchant's balance, of which
/// nothing is left in any part.
fn book(unit: &mut Unit<'_>, payout: Payout, run: PayoutRun, now: Timestamp) {
    let (taken, entry) = payout.transfer.booking();
    let Payout { id, line, transfer: Transfer { merchant, name, iban, amount } } = payout;
    unit.write(
        "INSERT INTO payouts VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        parameters![
            id,
            run.day.to_string(),
            run.test,
            merchant,
            line,
            name,
            iban.as_str().to_owned(),
            amount.currency,
            amount.minor,
        ],
    );
    unit.write(
        "INSERT INTO lines (id, merchant, created, balance, fee, kind, currency, amount)
         VALUES ($1, $2, $3, $4, 0, $5, $6, $4)",
        parameters![line, merchant, millis(now), taken.minor, LineKind::Payout, taken.currency],
    );
    post(unit, line, &entry);
    unit.write("UPDATE balances SET balance = 0 WHERE merchant = $1", parameters![merchant]);
}

async fn close(session: &ClientWrapper, run: PayoutRun) -> Result<(), Error> {
    let sql = "UPDATE payout_runs SET closed = true WHERE day = $1 AND test = $2 AND NOT closed";
    ask(session, [(sql, &[&run.day.to_string(), &run.test])]).await.map(drop)
}

/// The payouts of a run, in the order in which they were made.
async fn payouts(session: &ClientWrapper, run: PayoutRun) -> Result<Vec<Payout>, Error> {
    let sql = "SELECT id, line, merchant, name, iban, currency, amount FROM payouts
               WHERE day = $1 AND test = $2 ORDER BY id";
    let [rows] = ask(session, [(sql, &[&run.day.to_string(), &run.test])]).await?;
    all(&rows, payout)
}

fn payout(columns: &mut Columns<'_>) -> Result<Payout, Error> {
    let (id, line) = (columns.next()?, columns.next()?);
    let transfer = Transfer {
        merchant: columns.next()?,
        name: columns.next()?,
        iban: columns.text(Iban::stored)?,
        amount: columns.money()?,
    };
    Ok(Payout { id, line, transfer })
}
