use jiff::Timestamp;

use crate::{
    Id, LinkKind, Mail, MailKind, TokenDigest,
    write::{Action, Batch, MailRow, Needs, Rejection, SignInLinkRow},
};

/// Count an attempt to send a mail, and set the time of the next one, before the mail is sent. If
/// the process is killed before it deletes the mail, it is sent once more, at that time. Rejected if
/// no attempt is due.
#[derive(Debug)]
pub struct StartMailAttempt {
    pub mail: Id,
    /// The recipient. `None`: the payer who wants a receipt.
    pub user: Option<Id>,
    /// The link that the mail contains, if there is a desk.
    pub link: Option<TokenDigest>,
    /// A random number that spreads the retries: see `Mail::retry_delay`.
    pub jitter: u16,
}

impl Action for StartMailAttempt {
    type Outcome = Mail;

    fn needs(&self, needs: &mut Needs) {
        needs.mails.insert(self.mail);
        needs.users.extend(self.user);
    }

    fn decide(&self, batch: &mut Batch) -> Result<Mail, Rejection> {
        let Self { mail: id, user, link, jitter } = *self;
        let now = batch.now();
        let row = batch.rows.mails.get(&id).filter(|row| row.due <= now && row.user == user);
        let found = row.zip(batch.loaded.mails.get(&id));
        let (row, mail) = found.ok_or(Rejection::NotFound)?;
        let attempts = row.attempts.saturating_add(1);
        let due = now.checked_add(Mail::retry_delay(attempts, jitter)).unwrap_or(Timestamp::MAX);
        let ends = match row.kind {
            MailKind::Invitation => Some((LinkKind::Invitation, now)),
            // Its time runs since the user asked.
            MailKind::SignIn => Some((LinkKind::SignIn, row.created)),
            MailKind::Dispute
            | MailKind::Payout
            | MailKind::Return
            | MailKind::Webhook
            | MailKind::Receipt => None,
        };
        let ends = ends.map(|(kind, from)| (kind, kind.until(from)));
        let is_late = ends.is_some_and(|(_, until)| until <= now);
        let mail = Mail { attempts, is_late, ..mail.clone() };
        let row = MailRow { attempts, due, ..row.clone() };
        if let (Some(digest), Some((kind, until)), Some(user)) = (link, ends, user) {
            let MailRow { merchant, browser, .. } = row;
            batch.add_sign_in_link(SignInLinkRow {
                digest,
                user,
                kind,
                merchant,
                created: now,
                until,
                browser,
            });
        }
        batch.rows.mails.update(row);
        Ok(mail)
    }
}
