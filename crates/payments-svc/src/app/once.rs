//! Idempotency keys: a request with a key takes effect at most once, and every repeat gets the
//! outcome of the first request. Know these points before you change something:
//!
//! 1. **The store decides.** Each batch reads its keys again under its locks, see
//!    `docs/decisions/idempotency-keys-last.md`. This module looks the key up before that. So a
//!    repeat does not run `act`, the closure that validates and executes the request. The repeat
//!    gets the first outcome, even if the data has changed since.
//! 2. **The store keeps outcomes, not responses.** `Payments::result_of` reads the data that a
//!    response shows, both for a first request and for a repeat. See
//!    `docs/decisions/outcomes-not-responses.md`.
//! 3. **A key belongs to one app and one request.** The key is stored with a digest of the method,
//!    the path and the body. Another request with the same key is rejected
//!    ([`Rejection::KeyReused`]). The key of a payment form belongs to the merchant, and its digest
//!    covers the payment link, because a customer has no app (`pos/visit.rs`).
//! 4. **Only payments can be in flight**, because they take two writes. All other requests commit
//!    the key with the outcome. A repeat waits for the outcome of a payment for 5 s, then fails
//!    ([`Rejection::InFlight`]). It polls the store, because another replica may make the payment.
//! 5. **Two first requests can race**: both find no key. The store lets one begin. The other gets
//!    [`Rejection::InFlight`] or the outcome, and waits as in 4.
//! 6. **A request that fails stores no key**, so its repeat is a first request. The exception is a
//!    payment without an outcome ([`Error::OutcomeUnknown`]): its key stays in flight until the
//!    payment is concluded or recorded as failed. A repeat after that gets this outcome. A declined
//!    payment is an outcome, not a failure.
//! 7. A job deletes keys after 48 hours (`jobs.rs`), except those in flight.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{
    error::Error,
    movements::MovementInput,
    payments::Payments,
    view::{View, WriteResult},
};
use crate::{
    domain::{
        FieldError,
        write::{Answer, KeyedRequest, Outcome, Rejection, StoredIdempotencyKey},
    },
    store::Snapshot,
};

/// Maximum time that a repeat waits for the first request with its key.
const IN_FLIGHT_WAIT: Duration = Duration::from_secs(5);

/// Interval between two look-ups while a repeat waits.
const IN_FLIGHT_POLL: Duration = Duration::from_millis(50);

impl Payments {
    /// Looks up an idempotency key; `None` if no request has used it.
    pub(crate) async fn key(
        &self,
        keyed: &KeyedRequest,
    ) -> Result<Option<StoredIdempotencyKey>, Error> {
        Ok(self.store.idempotency_key(keyed).await?)
    }

    /// Runs `act`; with an idempotency key, at most once. A repeat does not run it, and gets the
    /// outcome of the first request.
    pub(crate) async fn once(
        &self,
        keyed: Option<KeyedRequest>,
        act: impl AsyncFnOnce(Option<KeyedRequest>) -> Result<Answer, Error>,
    ) -> Result<WriteResult, Error> {
        let known = match &keyed {
            None => None,
            Some(keyed) => self.key(keyed).await?,
        };
        self.result_of(&self.first_or_run(keyed, known, act).await?).await
    }

    /// Like [`Self::once`], for a capture, refund or void, which `read` reads from the request.
    /// `snapshot` is the transaction, read together with the idempotency key. If no other request
    /// changes the transaction meanwhile, the result is computed from `snapshot` and not read
    /// again.
    pub(crate) async fn move_once(
        &self,
        keyed: Option<KeyedRequest>,
        mut snapshot: Snapshot,
        read: impl FnOnce() -> Result<MovementInput, Vec<FieldError>>,
    ) -> Result<WriteResult, Error> {
        let known = snapshot.key.take();
        let act = async |keyed| self.perform(&snapshot, read()?, keyed).await;
        let answer = self.first_or_run(keyed, known, act).await?;
        if let Answer::Executed { outcome: Outcome::Moved(moved), step: Some(last) } = &answer
            && let Some(transaction) = snapshot.after(moved.steps, last)
        {
            let view = View::Transaction(Box::new(transaction));
            return Ok(WriteResult { view, is_replayed: false });
        }
        self.result_of(&answer).await
    }

    async fn first_or_run(
        &self,
        keyed: Option<KeyedRequest>,
        known: Option<StoredIdempotencyKey>,
        act: impl AsyncFnOnce(Option<KeyedRequest>) -> Result<Answer, Error>,
    ) -> Result<Answer, Error> {
        let Some(keyed) = keyed else { return act(None).await };
        if let Some(answer) = self.stored_answer(&keyed, known).await? {
            return Ok(answer);
        }
        match act(Some(keyed.clone())).await {
            // A concurrent request with the same key was faster.
            Err(Error::InFlight) => {
                let known = self.key(&keyed).await?;
                self.stored_answer(&keyed, known).await?.ok_or(Error::InFlight)
            }
            answer => answer,
        }
    }

    /// The answer of the first request with this key, if there was one. Waits while that request is
    /// in flight.
    async fn stored_answer(
        &self,
        keyed: &KeyedRequest,
        mut known: Option<StoredIdempotencyKey>,
    ) -> Result<Option<Answer>, Error> {
        let deadline = Instant::now() + IN_FLIGHT_WAIT;
        loop {
            let Some(first) = known else { return Ok(None) };
            match first.answer(keyed) {
                Err(Rejection::InFlight) if Instant::now() < deadline => {
                    sleep(IN_FLIGHT_POLL).await
                }
                answer => return Ok(Some(answer?)),
            }
            known = self.key(keyed).await?;
        }
    }
}
