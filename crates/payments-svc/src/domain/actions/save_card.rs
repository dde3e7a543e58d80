use crate::domain::{
    CardOnFile, Id, Notes,
    write::{Action, ActionResult, Batch, CardRow, Needs, Outcome, done},
};

/// Save a card (deprecated, see [`crate::domain::SavedCard`]).
#[derive(Debug)]
pub(crate) struct SaveCard {
    pub(crate) merchant: Id,
    pub(crate) original: Box<CardOnFile>,
    pub(crate) notes: Option<Notes>,
}

impl Action for SaveCard {
    fn needs(&self, _: &mut Needs) {}

    fn decide(&self, batch: &mut Batch) -> ActionResult {
        let id = batch.id();
        batch.rows.cards.insert(CardRow {
            id,
            merchant: self.merchant,
            created: batch.loaded.now,
            original: (*self.original).clone(),
            notes: self.notes.clone(),
        });
        done(Outcome::Card(id))
    }
}
