//! Saved cards (deprecated).

use std::sync::Arc;

use super::{declines::Attempt, error::Error, payments::Payments};
use crate::{
    domain::{
        CardDetails, Id, Notes, Original, ProcessingError, Verdict,
        write::{Action, Answer, Keyed, Outcome},
    },
    store::StoreError,
};

impl Payments {
    /// Saves the card of a transaction.
    pub(crate) async fn save_card(
        &self,
        merchant: Id,
        transaction: Id,
        notes: Option<Notes>,
        keyed: Option<Keyed>,
    ) -> Result<Answer, Error> {
        let original = self.store.original(merchant, transaction).await?;
        let refused = || Error::field("transactionId", "is not an original");
        let original = Box::new(original.ok_or_else(refused)?);
        self.write(Action::SaveCard { merchant, original, notes }, keyed).await
    }

    /// Saves a card that a customer typed in, unless the acquirer declines it.
    pub(crate) async fn save_typed_card(
        self: &Arc<Self>,
        attempt: Attempt,
        card: CardDetails,
        notes: Option<Notes>,
    ) -> Result<Result<Id, ProcessingError>, Error> {
        let (merchant, kept) = (attempt.merchant, card.kept());
        let reference = match self.verify(attempt, card).await? {
            Verdict::Declined(error) => return Ok(Err(error.generalized())),
            Verdict::Approved { reference, .. } => reference,
        };
        let original = Box::new(Original { card: kept, reference });
        let answer = self.write(Action::SaveCard { merchant, original, notes }, None).await?;
        match *answer.outcome() {
            Outcome::Card(id) => Ok(Ok(id)),
            _ => Err(StoreError::Panicked.into()),
        }
    }
}
