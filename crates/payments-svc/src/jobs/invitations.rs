//! Invitations: mails that stay in the store until a mail server accepts them or the last attempt
//! fails.

use std::time::Duration;

use common::error::Cause;
use payments_domain::{
    Actor, Id, Invitation,
    actions::{RemoveInvitation, StartInvitationAttempt},
};
use tokio::{
    task::JoinSet,
    time::{MissedTickBehavior, interval},
};
use tokio_util::sync::CancellationToken;

use super::warn;
use crate::{
    mail::Mailer,
    store::{Store, StoreError},
};

/// Interval between two look-ups of due invitations.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The job that sends invitations.
pub(crate) struct Invitations {
    pub(crate) store: Store,
    /// `None` if no mail server is set: invitations then stay in the store.
    pub(crate) mailer: Option<Mailer>,
}

impl Invitations {
    /// Sends invitations until `stop` is cancelled. The job then finishes the current mail and
    /// records it, so that it is not sent again.
    pub(crate) fn start(mut self, stop: CancellationToken) -> JoinSet<()> {
        if self.mailer.is_none() {
            tracing::info!("PAYMENTS_SMTP_URL is not set: invitations are stored but not sent");
        }
        let mut job = JoinSet::new();
        job.spawn(async move {
            let mut ticks = interval(LOOK_EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            while stop.run_until_cancelled(ticks.tick()).await.is_some() {
                warn("sending invitations", self.round(&stop).await);
            }
        });
        job
    }

    async fn round(&mut self, stop: &CancellationToken) -> Result<(), StoreError> {
        let Some(mailer) = &mut self.mailer else { return Ok(()) };
        for id in self.store.due_invitations().await? {
            if stop.is_cancelled() {
                break;
            }
            // Another replica may have taken it in the meantime.
            if let Some(invitation) = take(&self.store, id).await?
                && deliver(mailer, &invitation).await
            {
                let _removed =
                    self.store.write(Actor::SYSTEM, RemoveInvitation { invitation: id }).await?;
            }
        }
        mailer.disconnect().await;
        Ok(())
    }
}

/// Records an attempt and the time of the next one, before the mail is sent. If this process is
/// killed, or cannot record that the mail was sent, the mail is sent again at that time. `None` if
/// another replica was faster.
async fn take(store: &Store, invitation: Id) -> Result<Option<Invitation>, StoreError> {
    let action = StartInvitationAttempt { invitation, jitter: rand::random() };
    Ok(store.write(Actor::SYSTEM, action).await?.ok())
}

/// Sends an invitation. Returns whether it can be deleted, because it was sent or the last attempt
/// failed.
async fn deliver(mailer: &mut Mailer, invitation: &Invitation) -> bool {
    let Err(error) = mailer.send(invitation).await else { return true };
    let is_last = invitation.is_last_attempt();
    tracing::warn!(
        invitation.id = %invitation.id,
        invitation.attempts,
        cause = %Cause::new(error),
        "{}",
        if is_last {
            "invitation not sent, no attempts left"
        } else {
            "invitation not sent, will be tried again"
        }
    );
    is_last
}
