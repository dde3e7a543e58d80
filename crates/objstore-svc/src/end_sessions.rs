//! The subcommand `end-sessions`: ends all sessions of a client.

use common::{
    control::{self, CommandError, Order, OrderError},
    exit::USAGE,
};
use futures_util::future::try_join_all;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    config::Config,
    domain::ClientId,
    store::{Store, now},
};

/// Ends the sessions. The client can register again.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn end_sessions(config: &Config, client: ClientId) -> Result<(), CommandError> {
    control::send::<Store, _>(&config.store()?, EndSessions { client: *client.uuid() }).await
}

/// Ends all sessions of a client.
#[derive(Serialize, Deserialize)]
pub(crate) struct EndSessions {
    client: Uuid,
}

impl Order<Store> for EndSessions {
    const NAME: &'static str = "end-sessions";
    type Outcome = ();

    async fn carry_out(self, store: &Store) -> Result<(), OrderError> {
        let client = ClientId::new(self.client).map_err(|error| OrderError::of(USAGE, &error))?;
        let sessions = store.sessions_of(client, now()).await?.ok_or_else(|| {
            OrderError::new(USAGE, format!("no client {} is registered", self.client))
        })?;
        // At once, so that they share a commit.
        let ends = sessions.into_iter().map(|token| store.end_session(token, now()));
        try_join_all(ends).await?;
        Ok(())
    }
}
