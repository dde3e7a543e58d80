use crate::{
    EventType, Fact, Hold, Id, Notes,
    write::{Action, Batch, Needs, Rejection},
};

/// Stop payments, payouts or both of a merchant, beside what is held already.
#[derive(Debug)]
pub struct HoldMerchant {
    pub merchant: Id,
    pub payments: bool,
    pub payouts: bool,
    pub reason: Notes,
}

impl Action for HoldMerchant {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.merchants.insert(self.merchant);
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let held = &batch.merchant(self.merchant)?.standing;
        let payments = self.payments || held.holds_payments;
        let payouts = self.payouts || held.holds_payouts;
        set_hold(batch, self.merchant, (payments, payouts), Some(&self.reason))
    }
}

/// Let a merchant take payments and get payouts again.
#[derive(Debug)]
pub struct ReleaseMerchant(pub Id);

impl Action for ReleaseMerchant {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.merchants.insert(self.0);
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        set_hold(batch, self.0, (false, false), None)
    }
}

/// Holds the payouts of a merchant, unless they are held already. If its payments are held, the reason
/// stays theirs.
pub(super) fn hold_payouts(batch: &mut Batch, id: Id, reason: Notes) -> Result<(), Rejection> {
    let held = &batch.merchant(id)?.standing;
    if held.holds_payouts {
        return Ok(());
    }
    let payments = held.holds_payments;
    let reason = held.hold_reason.clone().unwrap_or(reason);
    set_hold(batch, id, (payments, true), Some(&reason))
}

/// Does nothing if it is so already.
fn set_hold(
    batch: &mut Batch,
    id: Id,
    (payments, payouts): (bool, bool),
    reason: Option<&Notes>,
) -> Result<(), Rejection> {
    let mut merchant = batch.merchant(id)?.clone();
    let standing = &mut merchant.standing;
    if (standing.holds_payments, standing.holds_payouts, standing.hold_reason.as_ref())
        == (payments, payouts, reason)
    {
        return Ok(());
    }
    let since = standing.held_since.unwrap_or(batch.loaded.now);
    let is_held = payments || payouts;
    (standing.holds_payments, standing.holds_payouts) = (payments, payouts);
    standing.hold_reason = reason.cloned();
    standing.held_since = is_held.then_some(since);
    batch.rows.merchants.update(merchant);
    let hold = Hold {
        id: batch.id(),
        merchant: id,
        created: batch.loaded.now,
        payments,
        payouts,
        reason: reason.cloned(),
    };
    let event = if is_held { EventType::MerchantHeld } else { EventType::MerchantReleased };
    let fact = Fact::Hold(hold.id);
    batch.rows.holds.insert(hold);
    batch.add_event(id, event, fact);
    Ok(())
}
