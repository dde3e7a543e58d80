//! The subcommand `new-key`: a further API key of an app that lost all of its keys.

use common::{
    control::{self, CommandError, Order, OrderError},
    exit::USAGE,
};
use payments_domain::{Actor, Id, Name, actions::CreateApiKey, write::Rejection};
use serde::{Deserialize, Serialize};

use crate::{
    app::new_api_key,
    config::{Config, NewKeyOptions},
    store::Store,
};

/// Creates an API key and prints it.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn new_key(config: &Config, options: NewKeyOptions) -> Result<(), CommandError> {
    let NewKeyOptions { app, name, replace } = options;
    let order = NewKey { app, name: name.map(|name| name.as_str().to_owned()), replace };
    control::print::<Store, _>(&config.store()?, order).await
}

/// Creates an API key of an app.
#[derive(Serialize, Deserialize)]
pub(crate) struct NewKey {
    app: Id,
    name: Option<String>,
    /// Whether the app loses its other keys.
    replace: bool,
}

impl Order<Store> for NewKey {
    const NAME: &'static str = "new-key";
    /// The key.
    type Outcome = String;

    async fn carry_out(self, store: &Store) -> Result<String, OrderError> {
        let Self { app, name, replace } = self;
        let name = name.map(|name| Name::new(&name)).transpose();
        let name = name.map_err(|error| OrderError::of(USAGE, &error))?;
        let key = new_api_key();
        let action = CreateApiKey { app, name, digest: key.digest(), replace };
        match store.write(Actor::OPERATOR, action).await? {
            Err(Rejection::NotFound) => {
                return Err(OrderError::new(USAGE, format!("there is no app {app}")));
            }
            created => drop(created.map_err(|rejection| OrderError::of(USAGE, &rejection))?),
        }
        Ok(key.expose().to_owned())
    }
}
