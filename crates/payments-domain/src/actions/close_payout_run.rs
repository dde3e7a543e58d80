use crate::{
    PayoutRun,
    write::{Action, Batch, Needs, PayoutRunRow, Rejection},
};

/// Close a run of payouts that has begun. It pays nobody any more.
#[derive(Debug)]
pub struct ClosePayoutRun(pub PayoutRun);

impl Action for ClosePayoutRun {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.rows.payout_runs.insert(PayoutRunRow::key_of(self.0));
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let key = PayoutRunRow::key_of(self.0);
        let row = *batch.rows.payout_runs.get(&key).ok_or(Rejection::NotFound)?;
        if !row.closed {
            batch.rows.payout_runs.update(PayoutRunRow { closed: true, ..row });
        }
        Ok(())
    }
}
