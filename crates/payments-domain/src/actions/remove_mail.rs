use crate::{
    Id,
    write::{Action, Batch, Needs, Rejection},
};

/// Delete a mail that was sent, or failed at its last attempt.
#[derive(Debug)]
pub struct RemoveMail(pub Id);

impl Action for RemoveMail {
    type Outcome = ();

    fn needs(&self, _: &mut Needs) {}

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        batch.rows.mails.delete(self.0);
        Ok(())
    }
}
