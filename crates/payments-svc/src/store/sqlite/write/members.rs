//! Apps, merchants, and who belongs to them.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _};

use super::Applier;
use crate::{
    domain::{App, Email, Id, KeyDigest, Merchant, MerchantDetails, MerchantUpdate, Name, Pricing},
    store::{
        Answer, Refusal,
        sqlite::{column::millis, read},
    },
};

impl Applier {
    pub(super) fn create_app(
        &mut self,
        db: &Connection,
        name: Option<&Name>,
        digest: KeyDigest,
        now: Timestamp,
    ) -> rusqlite::Result<Result<Answer, Refusal>> {
        let app = App { id: self.ids.next(now), name: name.cloned(), created: now };
        db.prepare_cached("INSERT INTO apps VALUES (?1, ?2, ?3, ?4)")?.execute((
            app.id,
            name.map(Name::as_str),
            digest.as_bytes(),
            millis(now),
        ))?;
        Ok(Ok(Answer::App(app)))
    }

    pub(super) fn create_merchant(
        &mut self,
        db: &Connection,
        app: Id,
        key: &str,
        (details, pricing): (&MerchantDetails, &Pricing),
        now: Timestamp,
    ) -> rusqlite::Result<Result<Answer, Refusal>> {
        let id = self.ids.next(now);
        db.prepare_cached(
            "INSERT INTO merchants VALUES
                 (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
        )?
        .execute(rusqlite::params![
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
            pricing.rate.parts(),
            pricing.flat.currency,
            pricing.flat.minor,
            pricing.dispute.currency,
            pricing.dispute.minor,
        ])?;
        db.prepare_cached("INSERT INTO balances VALUES (?1, 0)")?.execute([id])?;
        db.prepare_cached("INSERT INTO merchant_apps VALUES (?1, ?2, ?3)")?.execute((
            id,
            app,
            details.test,
        ))?;
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
    pub(super) fn add_user(
        &mut self,
        db: &Connection,
        merchant: Id,
        email: &Email,
        now: Timestamp,
    ) -> rusqlite::Result<Result<Answer, Refusal>> {
        let known: Option<Id> = db
            .prepare_cached("SELECT id FROM users WHERE email = ?1")?
            .query_row([email.as_str()], |row| row.get(0))
            .optional()?;
        let user = match known {
            Some(user) => user,
            None => {
                let user = self.ids.next(now);
                db.prepare_cached("INSERT INTO users VALUES (?1, ?2, ?3)")?.execute((
                    user,
                    email.as_str(),
                    millis(now),
                ))?;
                user
            }
        };
        let added = db
            .prepare_cached("INSERT OR IGNORE INTO merchant_users VALUES (?1, ?2)")?
            .execute([merchant, user])?;
        if added > 0 {
            db.prepare_cached(
                "INSERT INTO invitations (id, merchant, user, created) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute((self.ids.next(now), merchant, user, millis(now)))?;
        }
        Ok(Ok(Answer::Membership { already: added == 0 }))
    }
}

pub(super) fn update_merchant(
    db: &Connection,
    merchant: Id,
    update: &MerchantUpdate,
) -> rusqlite::Result<Result<Answer, Refusal>> {
    let updated = db
        .prepare_cached(
            "UPDATE merchants SET name = coalesce(?2, name), email = coalesce(?3, email),
                 descriptor = coalesce(?4, descriptor) WHERE id = ?1",
        )?
        .execute((
            merchant,
            update.name.as_ref().map(Name::as_str),
            update.email.as_ref().map(Email::as_str),
            update.descriptor.as_ref().map(|descriptor| descriptor.as_str()),
        ))?;
    Ok(done_if(updated))
}

pub(super) fn revoke_user(
    db: &Connection,
    merchant: Id,
    user: Id,
) -> rusqlite::Result<Result<Answer, Refusal>> {
    let revoked = db
        .prepare_cached("DELETE FROM merchant_users WHERE merchant = ?1 AND user = ?2")?
        .execute([merchant, user])?;
    db.prepare_cached("DELETE FROM invitations WHERE merchant = ?1 AND user = ?2")?
        .execute([merchant, user])?;
    match revoked {
        0 if read::has_user(db, user)? => Ok(Err(Refusal::NotAMember)),
        revoked => Ok(done_if(revoked)),
    }
}

pub(super) fn add_app(
    db: &Connection,
    merchant: Id,
    app: Id,
) -> rusqlite::Result<Result<Answer, Refusal>> {
    if !read::has_app(db, app)? {
        return Ok(Err(Refusal::NoSuchApp));
    }
    db.prepare_cached(
        "INSERT OR IGNORE INTO merchant_apps SELECT id, ?2, test FROM merchants WHERE id = ?1",
    )?
    .execute([merchant, app])?;
    Ok(Ok(Answer::Done))
}

pub(super) fn revoke_app(
    db: &Connection,
    merchant: Id,
    app: Id,
) -> rusqlite::Result<Result<Answer, Refusal>> {
    let revoked = db
        .prepare_cached("DELETE FROM merchant_apps WHERE merchant = ?1 AND app = ?2")?
        .execute([merchant, app])?;
    match revoked {
        0 if read::has_app(db, app)? => Ok(Err(Refusal::NotAMember)),
        revoked => Ok(done_if(revoked)),
    }
}

fn done_if(rows: usize) -> Result<Answer, Refusal> {
    if rows > 0 { Ok(Answer::Done) } else { Err(Refusal::NotFound) }
}
