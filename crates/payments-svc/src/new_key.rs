//! The subcommand `new-key`: a further API key of an app that lost all of its keys.

use common::{
    control::{self, CommandError, Order, OrderError},
    exit::USAGE,
};
use payments_domain::{
    Actor, Id, MAX_PAGE_SIZE, Name, PageQuery,
    actions::{CreateApiKey, DeleteApiKey},
    write::Rejection,
};
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
        let others = PageQuery { limit: MAX_PAGE_SIZE, before: None, after: None };
        let others = if replace { store.clone().api_keys(app, others).await? } else { Vec::new() };
        let mut others: Vec<Id> = others.into_iter().map(|key| key.id).collect();
        // An app always has a key, and its number of keys is limited.
        let last = others.pop();
        for key in others {
            delete(store, app, key).await?;
        }
        let key = new_api_key();
        match store.write(Actor::OPERATOR, CreateApiKey { app, name, digest: key.digest() }).await?
        {
            Err(Rejection::NotFound) => {
                return Err(OrderError::new(USAGE, format!("there is no app {app}")));
            }
            created => drop(created.map_err(|rejection| OrderError::of(USAGE, &rejection))?),
        }
        if let Some(last) = last {
            delete(store, app, last).await?;
        }
        Ok(key.expose().to_owned())
    }
}

/// Deletes a key, unless its owner was faster.
async fn delete(store: &Store, app: Id, key: Id) -> Result<(), OrderError> {
    match store.write(Actor::OPERATOR, DeleteApiKey { app, key }).await? {
        Err(Rejection::NotFound) => Ok(()),
        deleted => deleted.map_err(|rejection| OrderError::of(USAGE, &rejection)),
    }
}
