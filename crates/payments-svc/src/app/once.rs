//! Idempotency keys: a request that is sent again is done once.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{
    error::Error,
    payments::Payments,
    view::{View, Written},
};
use crate::{
    domain::write::{Answer, Keyed, KnownKey, Outcome, Refusal},
    store::Seen,
};

/// How long a repeat waits for the first request with its key.
const IN_FLIGHT_WAIT: Duration = Duration::from_secs(5);

/// How often it looks.
const IN_FLIGHT_POLL: Duration = Duration::from_millis(50);

impl Payments {
    /// Whatever is known of an idempotency key.
    pub(crate) async fn key(&self, keyed: &Keyed) -> Result<Option<KnownKey>, Error> {
        Ok(self.store.key(keyed).await?)
    }

    /// Does what `act` does; with an idempotency key, once. A repeat does nothing, not even look at
    /// what the request says: it is answered as the first one was, whatever may have changed since.
    pub(crate) async fn once(
        &self,
        keyed: Option<Keyed>,
        act: impl AsyncFnOnce(Option<Keyed>) -> Result<Answer, Error>,
    ) -> Result<Written, Error> {
        let known = match &keyed {
            None => None,
            Some(keyed) => self.key(keyed).await?,
        };
        self.written(&self.first_or(keyed, known, act).await?).await
    }

    /// The same for a movement of a transaction, which was seen with the idempotency key. It is
    /// shown from memory when nobody else has moved the transaction in between.
    pub(crate) async fn move_once(
        &self,
        keyed: Option<Keyed>,
        mut seen: Seen,
        act: impl AsyncFnOnce(&Seen, Option<Keyed>) -> Result<Answer, Error>,
    ) -> Result<Written, Error> {
        let known = seen.key.take();
        let answer = self.first_or(keyed, known, async |keyed| act(&seen, keyed).await).await?;
        if let Answer::Fresh { outcome: Outcome::Moved(moved), step: Some(last) } = &answer
            && let Some(transaction) = seen.after(moved.steps, last)
        {
            let view = View::Transaction(Box::new(transaction));
            return Ok(Written { view, is_replayed: false });
        }
        self.written(&answer).await
    }

    async fn first_or(
        &self,
        keyed: Option<Keyed>,
        known: Option<KnownKey>,
        act: impl AsyncFnOnce(Option<Keyed>) -> Result<Answer, Error>,
    ) -> Result<Answer, Error> {
        let Some(keyed) = keyed else { return act(None).await };
        if let Some(answer) = self.first(&keyed, known).await? {
            return Ok(answer);
        }
        match act(Some(keyed.clone())).await {
            // Somebody was faster.
            Err(Error::InFlight) => {
                let known = self.key(&keyed).await?;
                self.first(&keyed, known).await?.ok_or(Error::InFlight)
            }
            answer => answer,
        }
    }

    /// What came of the first request with this key, if there was one. Waits while it is in flight.
    async fn first(
        &self,
        keyed: &Keyed,
        mut known: Option<KnownKey>,
    ) -> Result<Option<Answer>, Error> {
        let deadline = Instant::now() + IN_FLIGHT_WAIT;
        loop {
            let Some(first) = known else { return Ok(None) };
            match first.answer(keyed) {
                Err(Refusal::InFlight) if Instant::now() < deadline => sleep(IN_FLIGHT_POLL).await,
                answer => return Ok(Some(answer?)),
            }
            known = self.key(keyed).await?;
        }
    }
}
