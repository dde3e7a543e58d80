use sql::group;

use super::hold_merchant::hold_payouts;
use crate::{
    EventType, Fact, Id, LineKind, Notes, PayoutReturn, ReturnResult, ReturnedTransfer,
    write::{Action, Batch, LineRow, Needs, PayoutRow, Rejection},
};

/// Book a payout back whose transfer the bank returned or rejected, once. The account may be wrong, so
/// the merchant's payouts are held from then on.
#[derive(Debug)]
pub struct ReturnPayout {
    pub payout: Id,
    pub merchant: Id,
    pub returned: ReturnedTransfer,
}

group! {
    #[derive(Debug)]
    pub struct PayoutReturned {
        result: ReturnResult = "result",
    }
}

impl Action for ReturnPayout {
    type Outcome = PayoutReturned;

    fn needs(&self, needs: &mut Needs) {
        needs.merchants.insert(self.merchant);
        needs.balances.insert(self.merchant);
        needs.rows.payouts.insert(self.payout);
    }

    fn decide(&self, batch: &mut Batch) -> Result<PayoutReturned, Rejection> {
        let row = batch.rows.payouts.get(&self.payout).ok_or(Rejection::NotFound)?.clone();
        let result = row.clone().payout().result(&self.returned);
        if result != ReturnResult::Booked {
            return Ok(PayoutReturned { result });
        }
        let merchant = row.transfer.merchant;
        let (credit, entry) = row.transfer.return_booking();
        let balance = batch.balance(merchant, credit.minor)?;
        let line = LineRow {
            id: batch.id(),
            merchant,
            created: batch.loaded.now,
            balance: credit.minor,
            fee: 0,
            kind: LineKind::Returned,
            transaction: None,
            amount: credit,
        };
        let (created, reason) = (line.created, self.returned.reason.clone());
        let returned = Some(PayoutReturn { line: line.id, created, reason });
        batch.rows.payouts.update(PayoutRow { returned, ..row });
        batch.book(line, &entry, balance);
        batch.add_event(merchant, EventType::PayoutReturned, Fact::Payout(self.payout));
        hold_payouts(batch, merchant, Notes::of_return(self.payout))?;
        Ok(PayoutReturned { result })
    }
}
