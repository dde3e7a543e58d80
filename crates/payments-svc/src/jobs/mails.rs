//! Mails. They stay in the store until a mail server accepts them or the last attempt fails.

use std::time::Duration;

use common::{error::Cause, outage::Outage};
use payments_domain::{
    Actor, Id, Mail, Token,
    actions::{RemoveMail, StartMailAttempt},
};
use tokio::{
    task::JoinSet,
    time::{MissedTickBehavior, interval},
};
use tokio_util::sync::CancellationToken;

use crate::{
    mail::Mailer,
    store::{Store, StoreError},
};

/// Interval between two look-ups of due mails.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The job that sends mails.
pub(crate) struct Mails {
    pub(crate) store: Store,
    /// `None` if no mail server is set: mails then stay in the store.
    pub(crate) mailer: Option<Mailer>,
}

/// How often due mails are read before the connection to the mail server is closed.
const READS: u32 = 20;

impl Mails {
    /// Sends mails until `stop` is cancelled. The job then finishes the current mail and
    /// records it, so that it is not sent again.
    pub(crate) fn start(mut self, stop: CancellationToken) -> JoinSet<()> {
        if self.mailer.is_none() {
            tracing::info!("PAYMENTS_SMTP_URL is not set: mails are stored but not sent");
        }
        let mut job = JoinSet::new();
        job.spawn(async move {
            let outage = Outage::of("sending mails");
            let mut ticks = interval(LOOK_EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            while stop.run_until_cancelled(ticks.tick()).await.is_some() {
                outage.observe(self.round(&stop).await);
            }
        });
        job
    }

    async fn round(&mut self, stop: &CancellationToken) -> Result<(), StoreError> {
        let Some(mailer) = &mut self.mailer else { return Ok(()) };
        for _ in 0..READS {
            let due = self.store.due_mails().await?;
            if due.is_empty() || stop.is_cancelled() {
                break;
            }
            for (id, user) in due {
                if stop.is_cancelled() {
                    break;
                }
                // Another replica may have taken it in the meantime.
                let link = mailer.has_desk().then(|| Token::new(rand::random()));
                if let Some(mail) = take(&self.store, (id, user), link.as_ref()).await?
                    && deliver(mailer, &mail, link.as_ref()).await
                {
                    let _removed = self.store.write(Actor::SYSTEM, RemoveMail(id)).await?;
                }
            }
        }
        mailer.disconnect().await;
        Ok(())
    }
}

/// Records an attempt and the time of the next one, before the mail is sent. If this process is
/// killed, or cannot record that the mail was sent, the mail is sent again at that time. `None` if
/// another replica was faster.
async fn take(
    store: &Store,
    (mail, user): (Id, Option<Id>),
    link: Option<&Token>,
) -> Result<Option<Mail>, StoreError> {
    let (link, jitter) = (link.map(Token::digest), rand::random());
    let action = StartMailAttempt { mail, user, link, jitter };
    Ok(store.write(Actor::SYSTEM, action).await?.ok())
}

/// Sends a mail. Returns whether it can be deleted, because it was sent, the last attempt failed, or
/// its link would not work.
async fn deliver(mailer: &mut Mailer, mail: &Mail, link: Option<&Token>) -> bool {
    if !mailer.may_send(mail) {
        return true;
    }
    let Err(error) = mailer.send(mail, link).await else { return true };
    let is_last = mail.is_last_attempt();
    tracing::warn!(
        mail.id = %mail.id,
        mail.kind = mail.kind.name(),
        mail.attempts,
        cause = %Cause::new(error),
        "{}",
        if is_last {
            "mail not sent, no attempts left"
        } else {
            "mail not sent, will be tried again"
        }
    );
    is_last
}
