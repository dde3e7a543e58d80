//! The subcommands `sign-in-link` and `reset-user`: an operator helps a user who cannot sign in.

use std::io::{self, Write as _};

use common::{
    control::{self, CommandError, Order, OrderError},
    exit::USAGE,
};
use payments_domain::{
    Email, Token, User,
    actions::{CreateSignInLink, EndSessions, RemoveAuthenticator, Which},
};
use serde::{Deserialize, Serialize};

use crate::{config::Config, store::Store};

/// Prints a link that signs a user in, in the first browser that opens it.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn sign_in_link(config: &Config, email: Email) -> Result<(), CommandError> {
    let Some(desk) = config.desk_url() else {
        let message = "PAYMENTS_DESK_URL (--desk-url) is not set: there is no desk";
        return Err(OrderError::new(USAGE, message).into());
    };
    let order = LinkOfUser { email: email.as_str().to_owned() };
    let token = control::send::<Store, _>(&config.store()?, order).await?;
    let printed = writeln!(io::stdout(), "{desk}link/{token}");
    Ok(printed.map_err(|error| OrderError::of(USAGE, &error))?)
}

/// Ends all sessions of a user, and removes the authenticator.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn reset_user(config: &Config, email: Email) -> Result<(), CommandError> {
    let order = ResetUser { email: email.as_str().to_owned() };
    control::print::<Store, _>(&config.store()?, order).await
}

#[derive(Serialize, Deserialize)]
pub(crate) struct LinkOfUser {
    email: String,
}

impl Order<Store> for LinkOfUser {
    const NAME: &'static str = "sign-in-link";
    /// The token of the link.
    type Outcome = String;

    async fn carry_out(self, store: &Store) -> Result<String, OrderError> {
        let (user, token) = (user(store, &self.email).await?, Token::new(rand::random()));
        store.execute(CreateSignInLink { user: user.id, link: token.digest() }).await?;
        Ok(token.expose().to_owned())
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct ResetUser {
    email: String,
}

impl Order<Store> for ResetUser {
    const NAME: &'static str = "reset-user";
    type Outcome = String;

    async fn carry_out(self, store: &Store) -> Result<String, OrderError> {
        let user = user(store, &self.email).await?;
        store.execute(EndSessions { user: user.id, which: Which::All }).await?;
        store.execute(RemoveAuthenticator(user.id)).await?;
        let email = user.email.as_str();
        Ok(format!("{email} is signed out everywhere, and has no authenticator"))
    }
}

async fn user(store: &Store, email: &str) -> Result<User, OrderError> {
    let email = Email::new(email).map_err(|error| OrderError::of(USAGE, &error))?;
    let user = store.user_by_email(&email, false).await?;
    user.ok_or_else(|| OrderError::new(USAGE, format!("there is no user {}", email.as_str())))
}
