use std::iter::{once, repeat};

use crate::{
    EventType, Fact, LineKind, MovementError, Overflow, Payout, PayoutRequest, Transfer,
    write::{Action, Balance, Batch, LineRow, Needs, PayoutRow, Rejection},
};

/// Pay out a merchant's balance, at most once in a run. The first row of the balance keeps what is
/// not paid, and all other rows become 0.
#[derive(Debug)]
pub struct PayOut(pub PayoutRequest);

impl Action for PayOut {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.payout = Some(self.0);
    }

    /// Alone in its batch: `held` does not contain what other writes of the batch book.
    fn cost(&self) -> (usize, usize) {
        (usize::MAX, 0)
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let Some(mut state) = batch.loaded.payout.take().filter(|state| !state.is_done) else {
            return Ok(());
        };
        let merchant = state.merchant.id;
        let rows: Vec<Balance> = batch.balances(merchant).copied().collect();
        let sum = rows.iter().try_fold(0_i64, |sum, row| sum.checked_add(row.minor));
        state.merchant.balance = sum.ok_or(MovementError::from(Overflow))?;
        let Some(transfer) = Transfer::due(&state.merchant, state.held, state.run.format) else {
            return Ok(());
        };
        let rest = state.merchant.balance.saturating_sub(transfer.amount.minor);
        let (debit, entry) = transfer.booking();
        let line = LineRow {
            id: batch.id(),
            merchant,
            created: batch.loaded.now,
            balance: debit.minor,
            fee: 0,
            kind: LineKind::Payout,
            transaction: None,
            amount: debit,
        };
        let payout = Payout {
            id: batch.id(),
            created: batch.loaded.now,
            test: state.run.test,
            line: line.id,
            held_since: state.held_since.filter(|_| state.held > 0),
            transfer,
            returned: None,
        };
        let fact = Fact::Payout(payout.id);
        batch.rows.payouts.insert(PayoutRow::new(state.run, payout));
        batch.post(line.id, &entry);
        batch.rows.lines.insert(line);
        for (row, minor) in rows.into_iter().zip(once(rest).chain(repeat(0))) {
            batch.rows.balances.update(Balance { minor, ..row });
        }
        batch.add_event(merchant, EventType::PayoutBooked, fact);
        Ok(())
    }
}
