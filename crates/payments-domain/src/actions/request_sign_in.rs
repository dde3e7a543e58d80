use jiff::Timestamp;

use crate::{
    Id, MailKind, TokenDigest,
    write::{Action, Batch, MailRow, Needs, Rejection},
};

/// Queue the mail with the link that a user asked for. An earlier mail that was not sent yet is
/// replaced.
#[derive(Debug)]
pub struct RequestSignIn {
    pub user: Id,
    /// The browser that may use the link.
    pub browser: TokenDigest,
    /// The language of the mail: its ISO 639-1 code.
    pub language: String,
}

impl Action for RequestSignIn {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.users.insert(self.user);
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let Self { user, browser, ref language } = *self;
        if !batch.loaded.users.contains(&user) {
            return Err(Rejection::NotFound);
        }
        let (user, kind) = (Some(user), MailKind::SignIn);
        let earlier = batch.rows.mails.iter().filter(|row| (row.user, row.kind) == (user, kind));
        let earlier: Vec<Id> = earlier.map(|row| row.id).collect();
        batch.rows.mails.retain(|id| !earlier.contains(id));
        batch.rows.mails_of_users.delete((user, kind));
        let (id, created, actor) = (batch.id(), batch.now(), batch.actor);
        batch.rows.mails.insert(MailRow {
            id,
            kind,
            user,
            merchant: None,
            object: None,
            actor,
            browser: Some(browser),
            language: Some(language.clone()),
            created,
            attempts: 0,
            due: Timestamp::UNIX_EPOCH,
        });
        Ok(())
    }
}
