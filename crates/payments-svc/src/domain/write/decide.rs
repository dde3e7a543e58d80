//! The decisions on a batch of writes: each sees the changes of those before it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{
    Action, Answer, Balance, Changes, Keyed, Known, LastStep, NewKey, Outcome, Refusal, Write,
    known::{KeyState, KnownKey},
};
use crate::domain::{Id, Overflow, Refused};

mod memberships;
mod movements;
mod notices;
mod payments;

/// The most minor units that one row of a balance may hold by captures, so that all rows of a
/// merchant add up. Refunds and disputes are refused only where a row itself would overflow.
const MAX_BALANCE: i64 = 1 << 58;

/// Decides writes in their order, or returns the place of one that panics.
pub(crate) fn decide(
    known: Known,
    batch: &[&Write],
) -> Result<(Vec<Result<Answer, Refusal>>, Changes), usize> {
    let mut batch_state = Batch { known, changes: Changes::default() };
    let decide = |(place, write): (usize, &&Write)| {
        let decide = AssertUnwindSafe(|| batch_state.decide(write));
        catch_unwind(decide).map_err(|_| place)
    };
    let answers = batch.iter().enumerate().map(decide).collect::<Result<_, _>>()?;
    Ok((answers, batch_state.changes))
}

/// The rows that are known, moved on by every write, and the changes.
struct Batch {
    known: Known,
    changes: Changes,
}

/// An outcome, and the step that a movement added.
type Decision = Result<(Outcome, Option<Box<LastStep>>), Refusal>;

/// An outcome of anything but a movement.
fn done(outcome: Outcome) -> Decision {
    Ok((outcome, None))
}

impl Batch {
    /// A write that is refused changes nothing.
    fn decide(&mut self, write: &Write) -> Result<Answer, Refusal> {
        if let Some(keyed) = &write.keyed
            && let Some(known) = self.known.keys.get(&(keyed.app, keyed.key.clone()))
        {
            return known.answer(keyed);
        }
        let (outcome, step) = self.act(&write.action)?;
        if let Some(keyed) = &write.keyed {
            self.keep(keyed, &outcome);
        }
        Ok(Answer::Fresh { outcome, step })
    }

    fn act(&mut self, action: &Action) -> Decision {
        match action {
            Action::CreateApp { name, digest } => self.create_app(name.as_ref(), *digest),
            Action::CreateMerchant { app, key, details, pricing } => {
                self.create_merchant(*app, key, (details, pricing))
            }
            Action::UpdateMerchant { merchant, update } => self.update_merchant(*merchant, update),
            Action::AddUser { merchant, email } => self.add_user(*merchant, email),
            Action::RevokeUser { merchant, user } => self.revoke_user(*merchant, *user),
            Action::AddApp { merchant, app } => self.add_app(*merchant, *app),
            Action::RevokeApp { merchant, app } => self.revoke_app(*merchant, *app),
            Action::Begin { payment } => self.begin(payment),
            Action::Conclude { operation, verdict, card } => {
                self.conclude(*operation, verdict.as_ref(), card.as_deref())
            }
            Action::Challenge { operation, card, reference } => {
                self.challenge(*operation, card, reference)
            }
            Action::Move { transaction, request, descriptor, .. } => {
                self.perform(*transaction, request, descriptor.as_ref())
            }
            Action::SaveCard { merchant, original, notes } => {
                self.save_card(*merchant, original, notes.as_ref())
            }
            Action::Notice { notification, exchange, fee_exchange, .. } => {
                self.notice(notification, (*exchange, *fee_exchange))
            }
            Action::Confirm { instructions } => {
                self.changes.confirmed.extend(instructions);
                done(Outcome::Done)
            }
            Action::TakeInvitation { invitation, jitter } => {
                self.take_invitation(*invitation, *jitter)
            }
            Action::RemoveInvitation { invitation } => {
                self.known.invitations.remove(invitation);
                self.changes.removed_invitations.insert(*invitation);
                done(Outcome::Done)
            }
            Action::PayOut { .. } => self.pay_out(),
            Action::Forget { keys } => {
                keys.iter().for_each(|key| drop(self.known.keys.remove(key)));
                self.changes.forgotten.extend(keys.iter().cloned());
                done(Outcome::Done)
            }
            Action::Expire { through } => {
                let furthest = self.changes.expired_through.max(Some(*through));
                self.changes.expired_through = furthest;
                done(Outcome::Done)
            }
        }
    }

    /// Keeps the outcome for the same request again.
    fn keep(&mut self, keyed: &Keyed, outcome: &Outcome) {
        let Keyed { app, key, request } = keyed;
        let state = match outcome {
            Outcome::Begun(operation) => KeyState::InFlight(*operation),
            outcome => KeyState::Answered(outcome.clone()),
        };
        let name = (*app, key.clone());
        let known = KnownKey { request: *request, state: state.clone() };
        self.known.keys.insert(name.clone(), known);
        let created = self.known.now;
        let kept = NewKey { app: *app, key: key.clone(), request: *request, created, state };
        self.changes.keys.insert(name, kept);
    }

    /// A new id. There is always one, since [`super::Needs`] counts the most that writes take.
    #[expect(clippy::expect_used, reason = "a defect of the count, which fails one write alone")]
    fn id(&mut self) -> Id {
        self.known.ids.next().expect("the ids of a batch were counted wrong")
    }

    /// The row that a booking for a merchant changes, with `more` added to it.
    fn balance(&self, merchant: Id, more: i64) -> Result<Balance, Refused> {
        let rows = self.known.balances.get(&merchant).and_then(|rows| rows.first());
        let row = rows.copied().ok_or(Overflow)?;
        let minor = row.minor.checked_add(more).ok_or(Overflow)?;
        Ok(Balance { minor, ..row })
    }

    fn set_balance(&mut self, balance: Balance) {
        let rows = self.known.balances.entry(balance.merchant).or_default();
        match rows.iter_mut().find(|row| row.shard == balance.shard) {
            Some(row) => *row = balance,
            None => rows.push(balance),
        }
        self.changes.balances.insert((balance.merchant, balance.shard), balance);
    }
}
