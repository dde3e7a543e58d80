use crate::{
    Id,
    write::{Action, Batch, Needs, Rejection},
};

/// Delete the addresses to which receipts of these transactions went. The links end, too.
#[derive(Debug)]
pub struct DeleteReceipts {
    pub transactions: Vec<Id>,
}

impl Action for DeleteReceipts {
    type Outcome = ();

    fn needs(&self, _: &mut Needs) {}

    fn cost(&self) -> (usize, usize) {
        (self.transactions.len(), 0)
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        self.transactions.iter().for_each(|&id| batch.rows.receipts.delete(id));
        Ok(())
    }
}
