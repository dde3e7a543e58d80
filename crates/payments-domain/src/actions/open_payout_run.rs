use crate::{
    PayoutRun,
    write::{Action, Batch, Needs, PayoutRunRow, Rejection},
};

/// Begin a run of payouts, unless it has begun.
#[derive(Debug)]
pub struct OpenPayoutRun(pub PayoutRun);

impl Action for OpenPayoutRun {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.rows.payout_runs.insert(PayoutRunRow::key_of(self.0));
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let PayoutRun { day, test, format } = self.0;
        if !batch.rows.payout_runs.contains(&(day, test, format)) {
            batch.rows.payout_runs.insert(PayoutRunRow { day, test, format, closed: false });
        }
        Ok(())
    }
}
