//! Invitations: mail that waits in the store until a server takes it.

use std::time::Duration;

use common::error::Cause;
use tokio::{
    task::JoinSet,
    time::{MissedTickBehavior, interval},
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::warn;
use crate::{
    domain::{
        Id, Invitation,
        write::{Action, Answer, Outcome},
    },
    mail::Mailer,
    store::{Store, StoreError},
};

/// How often it is looked for invitations that are due.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What sends invitations.
pub(crate) struct Invitations {
    /// Where they wait.
    pub(crate) store: Store,
    /// What sends them. Without it, they wait on.
    pub(crate) mailer: Option<Mailer>,
}

impl Invitations {
    /// Sends invitations until it is told to stop. What is being sent then is sent and noted, so
    /// that it is not sent again.
    pub(crate) fn start(mut self, stop: CancellationToken) -> JoinSet<()> {
        if self.mailer.is_none() {
            tracing::info!("PAYMENTS_SMTP_URL is not set: invitations wait, and are not sent");
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
            // Another replica may have taken it meanwhile.
            if let Some(invitation) = take(&self.store, id).await?
                && deliver(mailer, &invitation).await
            {
                let _removed =
                    self.store.write(Action::RemoveInvitation { invitation: id }).await?;
            }
        }
        mailer.hang_up().await;
        Ok(())
    }
}

/// Counts an attempt, and sets the time of the next: when this process is killed, or cannot write
/// that the mail was sent, the mail is sent once more, and by then.
async fn take(store: &Store, invitation: Id) -> Result<Option<Box<Invitation>>, StoreError> {
    let [high, low, ..] = *Uuid::new_v4().as_bytes();
    let action = Action::TakeInvitation { invitation, jitter: u16::from_be_bytes([high, low]) };
    match store.write(action).await? {
        Ok(Answer::Fresh { outcome: Outcome::Invitation(invitation), .. }) => Ok(Some(invitation)),
        _ => Ok(None),
    }
}

/// Whether nothing is left to do for an invitation: it was sent, or is given up.
async fn deliver(mailer: &mut Mailer, invitation: &Invitation) -> bool {
    let Err(error) = mailer.send(invitation).await else { return true };
    let gives_up = invitation.is_last_attempt();
    tracing::warn!(
        invitation.id = %invitation.id,
        invitation.attempts,
        cause = %Cause::new(error),
        "{}", if gives_up { "invitation given up" } else { "invitation not sent, will be tried again" }
    );
    gives_up
}
