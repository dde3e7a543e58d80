use crate::{
    Id,
    write::{Action, Batch, Needs, NoticeRow, Rejection},
};

/// Queue a mail about a notice to each of these members, and delete the notice.
#[derive(Debug)]
pub struct TellMembers {
    pub notice: Id,
    /// Each with the merchant that the mail names.
    pub members: Vec<(Id, Id)>,
}

impl Action for TellMembers {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.rows.notices.insert(self.notice);
    }

    fn ids(&self) -> usize {
        self.members.len()
    }

    fn cost(&self) -> (usize, usize) {
        (self.members.len().saturating_add(1), 0)
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let notice = batch.rows.notices.get(&self.notice).cloned();
        let NoticeRow { id: notice, kind, object, .. } = notice.ok_or(Rejection::NotFound)?;
        batch.rows.notices.delete(notice);
        for &(user, merchant) in &self.members {
            batch.queue_mail(kind, Some(user), merchant, object);
        }
        Ok(())
    }
}
