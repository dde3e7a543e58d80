//! Idempotency keys: a request with a key takes effect at most once, and every repeat gets the
//! outcome of the first request. Know these points before you change something:
//!
//! 1. **The store decides.** Each batch reads its keys again under its locks, see
//!    `docs/decisions/idempotency-keys-last.md`. This module looks the key up before that. So a
//!    repeat does not run `act`, the closure that validates and executes the request. The repeat
//!    gets the first outcome, even if the data has changed since.
//! 2. **The store keeps outcomes, not responses.** The handler renders the outcome, both of a first
//!    request and of a repeat. See `docs/decisions/outcomes-not-responses.md`.
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

use payments_domain::{
    Actor, FieldError, Id, Transaction,
    actions::PaymentConcluded,
    write::{Group, KeyRow, KeyState, KeyedRequest, Moved, Rejection, StoredOutcome},
};
use tokio::time::{Instant, sleep};

use super::{error::Error, movements::MovementInput, payments::Payments};
use crate::store::{Snapshot, StoreError};

/// Maximum time that a repeat waits for the first request with its key.
const IN_FLIGHT_WAIT: Duration = Duration::from_secs(5);

/// Interval between two look-ups while a repeat waits.
const IN_FLIGHT_POLL: Duration = Duration::from_millis(50);

/// The outcome of a write.
#[derive(Debug)]
pub(crate) struct Written<T> {
    pub(crate) outcome: T,
    /// Whether it is the outcome of an earlier request with the same idempotency key.
    pub(crate) is_replayed: bool,
}

impl<T> Written<T> {
    /// The write was executed.
    pub(super) fn now(outcome: T) -> Self {
        Self { outcome, is_replayed: false }
    }

    /// An earlier request with the same idempotency key was executed.
    pub(super) fn before(outcome: &StoredOutcome) -> Result<Self, Error>
    where
        T: Group,
    {
        let outcome = outcome.read().map_err(|error| StoreError::ReadFailed(error.into()))?;
        Ok(Self { outcome, is_replayed: true })
    }
}

/// The state of a payment with an idempotency key.
pub(crate) enum PaymentState {
    /// The payment with this ID waits for the acquirer or the customer.
    InFlight(Id),
    Concluded(PaymentConcluded),
}

impl Payments {
    /// The state of the payment of this request, and whether it is the same request. `None` if no
    /// request has used the key.
    pub(crate) async fn payment_state(
        &self,
        keyed: &KeyedRequest,
    ) -> Result<Option<(PaymentState, bool)>, Error> {
        let Some(known) = self.key(keyed).await? else { return Ok(None) };
        let state = match known.state {
            KeyState::InFlight(pending_payment) => PaymentState::InFlight(pending_payment),
            KeyState::Answered(outcome) => {
                PaymentState::Concluded(Written::before(&outcome)?.outcome)
            }
        };
        Ok(Some((state, known.request == keyed.request)))
    }

    /// Looks up an idempotency key; `None` if no request has used it.
    async fn key(&self, keyed: &KeyedRequest) -> Result<Option<KeyRow>, Error> {
        self.row(&(keyed.app, keyed.key.clone())).await
    }

    /// Runs `act`; with an idempotency key, at most once. A repeat does not run it, and gets the
    /// outcome of the first request.
    pub(crate) async fn once<T: Group>(
        &self,
        keyed: Option<KeyedRequest>,
        act: impl AsyncFnOnce(Option<KeyedRequest>) -> Result<Written<T>, Error>,
    ) -> Result<Written<T>, Error> {
        let known = match &keyed {
            None => None,
            Some(keyed) => self.key(keyed).await?,
        };
        self.first_or_run(keyed, known, act).await
    }

    /// Like [`Self::once`], for a capture, refund or void, which `read` reads from the request.
    /// `snapshot` is the transaction, read together with the idempotency key. If no other request
    /// changes the transaction meanwhile, the result is computed from `snapshot` and not read
    /// again.
    pub(crate) async fn move_once(
        &self,
        actor: Actor,
        keyed: Option<KeyedRequest>,
        mut snapshot: Snapshot,
        read: impl FnOnce() -> Result<MovementInput, Vec<FieldError>>,
    ) -> Result<Written<Transaction>, Error> {
        let known = snapshot.key.take();
        let act = async |keyed| self.perform(&snapshot, read()?, actor, keyed).await;
        let Written { outcome, is_replayed } = self.first_or_run(keyed, known, act).await?;
        let Moved { version, last } = outcome;
        let transaction = match last.and_then(|last| snapshot.after(version.steps, &last)) {
            Some(transaction) => transaction,
            None => self.store.transaction_as_of(version).await?.ok_or(Error::NotFound)?,
        };
        Ok(Written { outcome: transaction, is_replayed })
    }

    async fn first_or_run<T: Group>(
        &self,
        keyed: Option<KeyedRequest>,
        known: Option<KeyRow>,
        act: impl AsyncFnOnce(Option<KeyedRequest>) -> Result<Written<T>, Error>,
    ) -> Result<Written<T>, Error> {
        let Some(keyed) = keyed else { return act(None).await };
        if let Some(outcome) = self.stored_outcome(&keyed, known).await? {
            return Written::before(&outcome);
        }
        match act(Some(keyed.clone())).await {
            // A concurrent request with the same key was faster.
            Err(Error::InFlight) => {
                let known = self.key(&keyed).await?;
                let outcome = self.stored_outcome(&keyed, known).await?;
                Written::before(&outcome.ok_or(Error::InFlight)?)
            }
            written => written,
        }
    }

    /// The outcome of the first request with this key, if there was one. Waits while that request is
    /// in flight.
    async fn stored_outcome(
        &self,
        keyed: &KeyedRequest,
        mut known: Option<KeyRow>,
    ) -> Result<Option<StoredOutcome>, Error> {
        let deadline = Instant::now() + IN_FLIGHT_WAIT;
        loop {
            let Some(first) = known else { return Ok(None) };
            match first.outcome(keyed) {
                Err(Rejection::InFlight) if Instant::now() < deadline => {
                    sleep(IN_FLIGHT_POLL).await
                }
                outcome => return Ok(Some(outcome?)),
            }
            known = self.key(keyed).await?;
        }
    }
}
