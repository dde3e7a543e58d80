//! Decides a batch of writes in memory: computes the answer of each write, and the row changes.
//!
//! 1. **Order.** A write sees the changes of the writes before it. So a decision updates the loaded
//!    rows in `Batch::known`, and records the new state of each row in `Batch::changes`. If it does
//!    not update `Batch::known`, a later write of the batch sees old rows. `write/tests.rs` checks
//!    that a batch does what its writes do one by one.
//! 2. **Rejected writes change nothing.** There is no rollback inside a batch. So a decision makes
//!    all checks, also those for overflow, before it changes the first row.
//! 3. **Final state.** `Changes` holds each row once, in its final state. So a row that several
//!    writes update is written only once.
//! 4. **Idempotency keys.** If the key is stored, the write returns the stored outcome, and its
//!    action is not executed. A rejected write does not store its key, so that the caller can try
//!    again with the same key.
//! 5. **Panics.** A decision that panics leaves the batch in an unknown state, so [`decide`]
//!    returns only the index of the write. The batching loop fails this write, and runs the other
//!    writes again from a new load.
//! 6. **Balances.** A booking changes one of the rows of the merchant's balance: the first that was
//!    loaded. A balance has no lower limit. Captures have an upper limit, [`MAX_BALANCE`].

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
};

use super::{
    Action, Answer, Balance, BatchRows, Changes, ExpiryRow, KeyRow, KeyState, KeyedRequest,
    LastStep, LoadedRows, Outcome, Rejection, Write,
};
use crate::domain::{AcquirerKey, EventType, Fact, Id, MovementError, NewEvent, Overflow};

mod api_keys;
mod clocks;
mod memberships;
mod movements;
mod notifications;
mod payments;
mod refusals;
mod webhooks;

/// The maximum of one row of a balance after a capture, in minor units, so that captures never make
/// the sum of a merchant's rows overflow. Refunds and disputes are rejected only if the row itself
/// overflows.
const MAX_BALANCE: i64 = 1 << 58;

/// Decides the writes in order. `Err` is the index of a write that panicked.
pub(crate) fn decide(
    mut known: LoadedRows,
    batch: &[&Write],
) -> Result<(Vec<Result<Answer, Rejection>>, Changes), usize> {
    let rows = mem::take(&mut known.rows);
    let mut batch_state = Batch { known, rows, changes: Changes::default(), request_key: None };
    let decide_one = |(index, write): (usize, &&Write)| {
        let decision = AssertUnwindSafe(|| batch_state.decide(write));
        catch_unwind(decision).map_err(|_| index)
    };
    let answers = batch.iter().enumerate().map(decide_one).collect::<Result<_, _>>()?;
    Ok((answers, Changes { rows: batch_state.rows, ..batch_state.changes }))
}

/// The loaded rows, updated by every write, and the changes so far.
struct Batch {
    known: LoadedRows,
    rows: BatchRows,
    changes: Changes,
    /// The key at the acquirer of the current write, if it has an idempotency key.
    request_key: Option<AcquirerKey>,
}

/// The outcome of a write, and the new step of the trail if it was a movement.
type ActionResult = Result<(Outcome, Option<Box<LastStep>>), Rejection>;

/// The decision of a write that is not a movement.
fn done(outcome: Outcome) -> ActionResult {
    Ok((outcome, None))
}

impl Batch {
    fn decide(&mut self, write: &Write) -> Result<Answer, Rejection> {
        if let Some(keyed) = &write.keyed
            && let Some(known) = self.rows.keys.get(&(keyed.app, keyed.key.clone()))
        {
            return known.state.answer(&known.request, keyed);
        }
        self.request_key = write.keyed.as_ref().map(KeyedRequest::acquirer_key);
        let (outcome, step) = self.execute(&write.action)?;
        if let Some(keyed) = &write.keyed {
            self.store_key(keyed, &outcome);
        }
        Ok(Answer::Executed { outcome, step })
    }

    fn execute(&mut self, action: &Action) -> ActionResult {
        match action {
            Action::CreateApp { name, digest } => self.create_app(name.as_ref(), *digest),
            Action::CreateApiKey { app, name, digest } => {
                self.create_api_key(*app, name.as_ref(), *digest)
            }
            Action::DeleteApiKey { app, key } => self.delete_api_key(*app, *key),
            Action::RecordApiKeyUses { uses } => self.record_api_key_uses(uses),
            Action::CreateMerchant { app, key, details, pricing } => {
                self.create_merchant(*app, key, (details, pricing))
            }
            Action::UpdateMerchant { merchant, update } => self.update_merchant(*merchant, update),
            Action::AddUser { merchant, app, email } => self.add_user(*merchant, *app, email),
            Action::RevokeUser { merchant, user } => self.revoke_user(*merchant, *user),
            Action::AddApp { merchant, app } => self.add_app(*merchant, *app),
            Action::RevokeApp { merchant, app } => self.revoke_app(*merchant, *app),
            Action::SetLinkSecret { merchant, secret } => self.set_link_secret(*merchant, secret),
            Action::BeginPayment { payment, link } => self.begin(payment, *link),
            Action::PreparePayment { pending_payment, authorization } => {
                self.prepare(*pending_payment, authorization)
            }
            Action::ConcludePayment { pending_payment, conclusion, card } => {
                self.conclude(*pending_payment, conclusion, card.as_deref())
            }
            Action::ChallengePayment { pending_payment, card, reference } => {
                self.challenge(*pending_payment, card, reference)
            }
            Action::Move { transaction, request, descriptor, .. } => {
                self.execute_movement(*transaction, request, descriptor.as_ref())
            }
            Action::SaveCard { merchant, original, notes } => {
                self.save_card(*merchant, original, notes.as_ref())
            }
            Action::RecordNotification { notification, exchange, fee_exchange, .. } => {
                self.handle_notification(notification, (*exchange, *fee_exchange))
            }
            Action::RecordSending(report) => self.record_sending(report),
            Action::RefuseEntry { entry, transaction, key } => {
                self.refuse_entry(*entry, *transaction, *key)
            }
            Action::StartInvitationAttempt { invitation, jitter } => {
                self.start_invitation_attempt(*invitation, *jitter)
            }
            Action::RemoveInvitation { invitation } => {
                self.rows.invitations.delete(*invitation);
                done(Outcome::Done)
            }
            Action::CreateWebhook { app, details, secret } => {
                self.create_webhook(*app, details, secret)
            }
            Action::UpdateWebhook { app, webhook, update } => {
                self.change_webhook(*app, *webhook, |row, _, _| row.update(update))
            }
            Action::RotateWebhook { app, webhook, secret } => {
                self.change_webhook(*app, *webhook, |row, _, now| {
                    row.secrets.rotate(secret.clone(), now);
                })
            }
            Action::DeleteWebhook { app, webhook } => self.delete_webhook(*app, *webhook),
            Action::ReplayWebhook { app, webhook, after } => {
                self.change_webhook(*app, *webhook, |_, progress, _| {
                    progress.position = progress.position.min(*after);
                    progress.epoch = progress.epoch.saturating_add(1);
                })
            }
            Action::RecordDeliveries(report) => self.record_deliveries(report),
            Action::PayOut(_) => self.pay_out(),
            Action::DeleteKeys { keys } => {
                keys.iter().for_each(|key| self.rows.keys.delete(key.clone()));
                done(Outcome::Done)
            }
            Action::DeleteEvents { events } => {
                events.iter().for_each(|event| self.rows.events.delete(*event));
                done(Outcome::Done)
            }
            Action::SaveExpiryCursor { through } => {
                let before = self.rows.expiry.get(&true).map_or(Id::MIN, |row| row.through);
                let through = before.max(*through);
                self.rows.expiry.update(ExpiryRow { only: true, through });
                done(Outcome::Done)
            }
            Action::AdvanceClock { app, by } => self.advance_clock(*app, *by),
            Action::FinishAdvance { app, advance } => self.finish_advance(*app, *advance),
        }
    }

    /// Stores the outcome with the idempotency key, to answer a repeated request.
    fn store_key(&mut self, keyed: &KeyedRequest, outcome: &Outcome) {
        let KeyedRequest { app, key, request } = keyed.clone();
        let state = match outcome {
            Outcome::PaymentBegun(pending_payment) => KeyState::InFlight(*pending_payment),
            outcome => KeyState::Answered(outcome.clone()),
        };
        let created = self.known.now;
        self.rows.keys.insert(KeyRow { app, key, request, created, state });
    }

    /// Uses one of the IDs that were drawn during the load. [`super::Needs`] counts how many.
    #[expect(clippy::expect_used, reason = "a wrong count is a bug, and fails only one write")]
    fn id(&mut self) -> Id {
        self.known.ids.next().expect("Needs counts too few IDs for this batch")
    }

    /// The key at the acquirer for a new pending payment or outbox entry.
    fn acquirer_key(&self, id: Id) -> AcquirerKey {
        self.request_key.unwrap_or(AcquirerKey::Id(id))
    }

    fn add_event(&mut self, merchant: Id, event_type: EventType, fact: Fact) {
        let (id, created) = (self.id(), self.known.now);
        self.rows.events.insert(NewEvent { id, merchant, created, event_type, fact }.into());
    }

    /// The row of the merchant's balance that a booking changes, with `more` added.
    fn balance(&self, merchant: Id, more: i64) -> Result<Balance, MovementError> {
        let row = *self.balances(merchant).next().ok_or(Overflow)?;
        let minor = row.minor.checked_add(more).ok_or(Overflow)?;
        Ok(Balance { minor, ..row })
    }

    /// The loaded rows of a merchant's balance.
    fn balances(&self, merchant: Id) -> impl Iterator<Item = &Balance> {
        self.rows.balances.range((merchant, i64::MIN)..=(merchant, i64::MAX))
    }
}
