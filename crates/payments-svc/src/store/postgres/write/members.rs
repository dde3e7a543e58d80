//! Apps, merchants, and who belongs to them.

use common::postgres::Error;
use jiff::Timestamp;
use tokio_postgres::Row;

use super::super::{
    super::{Answer, Refusal},
    column::{Columns, millis},
    read::first,
    unit::{NEW_IDS, Unit, ids, parameters},
};
use crate::domain::{
    App, Email, Id, KeyDigest, Merchant, MerchantDetails, MerchantUpdate, Name, Pricing,
};

/// In how many parts a merchant's balance is kept.
pub(super) const SHARDS: i32 = 16;

pub(super) async fn create_app<'a>(
    unit: &mut Unit<'a>,
    name: Option<&'a Name>,
    digest: &'a KeyDigest,
    now: Timestamp,
) -> Result<Result<Answer, Refusal>, Error> {
    let [rows] = unit.ask([NEW_IDS]).await?;
    let (id, _) = ids(&rows)?;
    unit.write(
        "INSERT INTO apps VALUES ($1, $2, $3, $4)",
        parameters![id, name.map(Name::as_str), &digest.as_bytes()[..], millis(now)],
    );
    Ok(Ok(Answer::App(App { id, name: name.cloned(), created: now })))
}

pub(super) async fn create_merchant<'a>(
    unit: &mut Unit<'a>,
    app: Id,
    key: &'a str,
    (details, pricing): (&'a MerchantDetails, &Pricing),
    now: Timestamp,
) -> Result<Result<Answer, Refusal>, Error> {
    let [rows] = unit.ask([NEW_IDS]).await?;
    let (id, _) = ids(&rows)?;
    unit.write(
        "INSERT INTO merchants VALUES
             ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
        parameters![
            id,
            key,
            millis(now),
            details.name.as_ref().map(Name::as_str),
            details.currency,
            details.test,
            details.email.as_str(),
            details.website.as_str(),
            details.descriptor.as_str(),
            details.country.as_str(),
            details.number.as_ref().map(Name::as_str),
            details.iban.as_ref().map(|iban| iban.as_str()),
            i64::from(pricing.rate.parts()),
            pricing.flat.currency,
            pricing.flat.minor,
            pricing.dispute.currency,
            pricing.dispute.minor,
        ],
    );
    unit.write(
        "INSERT INTO balances SELECT $1, shard, 0 FROM generate_series(0, $2 - 1) AS shard",
        parameters![id, SHARDS],
    );
    unit.write("INSERT INTO merchant_apps VALUES ($1, $2)", parameters![id, app]);
    Ok(Ok(Answer::Merchant(Box::new(Merchant {
        id,
        key: key.to_owned(),
        created: now,
        details: details.clone(),
        pricing: *pricing,
        balance: 0,
    }))))
}

/// The invitation is written with the membership: mail is sent of it, or waits to be.
pub(super) async fn add_user<'a>(
    unit: &mut Unit<'a>,
    merchant: Id,
    email: &'a Email,
    now: Timestamp,
) -> Result<Result<Answer, Refusal>, Error> {
    let known = "SELECT id, EXISTS (
                     SELECT 1 FROM merchant_users WHERE merchant = $2 AND \"user\" = id
                 )
                 FROM users WHERE lower(email COLLATE \"C\") = lower($1 COLLATE \"C\")";
    let [rows, new] = unit.ask([(known, &[&email.as_str(), &merchant]), NEW_IDS]).await?;
    let known = first(&rows, |columns: &mut Columns<'_>| {
        Ok((columns.next::<Id>()?, columns.next::<bool>()?))
    })?;
    let (new, invitation) = ids(&new)?;
    let (user, already) = known.unwrap_or((new, false));
    if known.is_none() {
        unit.write(
            "INSERT INTO users VALUES ($1, $2, $3)",
            parameters![user, email.as_str(), millis(now)],
        );
    }
    if !already {
        unit.write("INSERT INTO merchant_users VALUES ($1, $2)", parameters![merchant, user]);
        unit.write(
            "INSERT INTO invitations (id, merchant, \"user\", created) VALUES ($1, $2, $3, $4)",
            parameters![invitation, merchant, user, millis(now)],
        );
    }
    Ok(Ok(Answer::Membership { already }))
}

pub(super) async fn update_merchant(
    unit: &mut Unit<'_>,
    merchant: Id,
    update: &MerchantUpdate,
) -> Result<Result<Answer, Refusal>, Error> {
    let name = update.name.as_ref().map(Name::as_str);
    let email = update.email.as_ref().map(Email::as_str);
    let descriptor = update.descriptor.as_ref().map(|descriptor| descriptor.as_str());
    let sql = "UPDATE merchants SET name = coalesce($2, name), email = coalesce($3, email),
                   descriptor = coalesce($4, descriptor) WHERE id = $1 RETURNING 1";
    let [updated] = unit.ask([(sql, &[&merchant, &name, &email, &descriptor])]).await?;
    Ok(done_if(&updated, Refusal::NotFound))
}

pub(super) async fn revoke_user(
    unit: &mut Unit<'_>,
    merchant: Id,
    user: Id,
) -> Result<Result<Answer, Refusal>, Error> {
    let sql = "DELETE FROM merchant_users WHERE merchant = $1 AND \"user\" = $2 RETURNING 1";
    let known = "SELECT 1 FROM users WHERE id = $1";
    let [revoked, known] = unit.ask([(sql, &[&merchant, &user]), (known, &[&user])]).await?;
    unit.write(
        "DELETE FROM invitations WHERE merchant = $1 AND \"user\" = $2",
        parameters![merchant, user],
    );
    Ok(done_if(&revoked, missing(&known)))
}

pub(super) async fn add_app(
    unit: &mut Unit<'_>,
    merchant: Id,
    app: Id,
) -> Result<Result<Answer, Refusal>, Error> {
    let [known] = unit.ask([("SELECT 1 FROM apps WHERE id = $1", &[&app])]).await?;
    if known.is_empty() {
        return Ok(Err(Refusal::NoSuchApp));
    }
    unit.write(
        "INSERT INTO merchant_apps VALUES ($1, $2) ON CONFLICT DO NOTHING",
        parameters![merchant, app],
    );
    Ok(Ok(Answer::Done))
}

pub(super) async fn revoke_app(
    unit: &mut Unit<'_>,
    merchant: Id,
    app: Id,
) -> Result<Result<Answer, Refusal>, Error> {
    let sql = "DELETE FROM merchant_apps WHERE merchant = $1 AND app = $2 RETURNING 1";
    let known = "SELECT 1 FROM apps WHERE id = $1";
    let [revoked, known] = unit.ask([(sql, &[&merchant, &app]), (known, &[&app])]).await?;
    Ok(done_if(&revoked, missing(&known)))
}

/// What is not a member is known or not.
fn missing(known: &[Row]) -> Refusal {
    if known.is_empty() { Refusal::NotFound } else { Refusal::NotAMember }
}

fn done_if(rows: &[Row], otherwise: Refusal) -> Result<Answer, Refusal> {
    if rows.is_empty() { Err(otherwise) } else { Ok(Answer::Done) }
}
