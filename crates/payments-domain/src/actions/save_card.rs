use sql::group;

use crate::{
    CardOnFile, Id, Notes,
    write::{Action, Batch, CardRow, Needs, Rejection},
};

/// Save a card (deprecated, see [`crate::SavedCard`]).
#[derive(Debug)]
pub struct SaveCard {
    pub merchant: Id,
    pub original: Box<CardOnFile>,
    pub notes: Option<Notes>,
}

group! {
    #[derive(Debug)]
    pub struct CardSaved {
        id: Id = "id",
    }
}

impl Action for SaveCard {
    type Outcome = CardSaved;

    fn needs(&self, _: &mut Needs) {}

    fn decide(&self, batch: &mut Batch) -> Result<CardSaved, Rejection> {
        let id = batch.id();
        batch.rows.cards.insert(CardRow {
            id,
            merchant: self.merchant,
            created: batch.loaded.now,
            original: (*self.original).clone(),
            notes: self.notes.clone(),
        });
        Ok(CardSaved { id })
    }
}
