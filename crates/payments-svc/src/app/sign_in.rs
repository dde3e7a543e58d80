//! How users sign in at the desk: see [`payments_domain::LinkKind`].

use std::sync::Arc;

use common::{error::Cause, limits::ClientAddress};
use payments_domain::{
    Actor, Email, LinkKind, Merchant, Token, TokenDigest, User,
    actions::{EndSessions, OpenSignInLink, RequestSignIn, SignIn, UseSession, Which},
    write::SignInLinkRow,
};

use super::{error::Error, payments::Payments};
use crate::authenticator::DeskKey;

/// A use of a session is recorded if the last one is older than this.
const USE_INTERVAL: jiff::SignedDuration = jiff::SignedDuration::from_mins(1);

/// A user who is signed in.
#[derive(Debug, Clone)]
pub(crate) struct SignedIn {
    pub(crate) user: User,
    pub(crate) session: TokenDigest,
    pub(crate) codes: Codes,
}

/// The codes of an authenticator that the user has typed in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Codes {
    /// The user has no authenticator.
    NotSetUp,
    /// None: the session can do nothing else.
    Missing,
    /// The last one was too long ago for money and keys.
    Old,
    Fresh,
}

/// A link that works in this browser.
pub(crate) struct SignInLink {
    pub(crate) user: User,
    /// The merchant whose invitation it accepts.
    pub(crate) merchant: Option<Merchant>,
}

impl Payments {
    /// Queues a mail with a link, if the address belongs to a user who has accepted an invitation.
    /// The caller does not learn whether it does: all addresses take the same time.
    pub(crate) async fn request_sign_in(
        self: &Arc<Self>,
        email: &Email,
        browser: TokenDigest,
        language: &str,
        address: ClientAddress,
    ) -> Result<(), Error> {
        self.limits.count_sign_in(address, email)?;
        let Some(User { id: user, .. }) = self.store.user_by_email(email, true).await? else {
            return Ok(());
        };
        let (payments, language) = (Arc::clone(self), language.to_owned());
        self.spawn(async move {
            let action = RequestSignIn { user, browser, language };
            if let Err(error) = payments.write(Actor::user(user), action).await {
                tracing::warn!(cause = %Cause::new(error), "a mail with a link was not queued");
            }
        });
        Ok(())
    }

    /// The link with this token, if it works in this browser. With `open`, a link of the operator
    /// belongs to this browser from now on. [`Error::NotFound`] if it does not work.
    pub(crate) async fn sign_in_link(
        &self,
        token: &Token,
        browser: TokenDigest,
        open: bool,
    ) -> Result<SignInLink, Error> {
        let row = self.row::<SignInLinkRow>(&token.digest()).await?.ok_or(Error::NotFound)?;
        let now = self.store.database_time().await?;
        let is_for = row.kind == LinkKind::Invitation
            || row.browser == Some(browser)
            || row.browser.is_none() && row.kind == LinkKind::Operator;
        if row.until <= now || !is_for {
            return Err(Error::NotFound);
        }
        if open && row.kind == LinkKind::Operator && row.browser.is_none() {
            let action = OpenSignInLink { user: row.user, link: row.digest, browser };
            self.write(Actor::user(row.user), action).await?;
        }
        let user = self.row::<User>(&row.user).await?.ok_or(Error::NotFound)?;
        let merchant = match row.merchant {
            Some(merchant) => self.row::<Merchant>(&merchant).await?,
            None => None,
        };
        Ok(SignInLink { user, merchant })
    }

    /// Uses a link, once: begins a session, and accepts the invitation of the link. A link of the
    /// operator accepts all invitations. Returns the secret of the session. A browser that repeats
    /// the request gets the same one: at a double click, it may never see the first answer.
    pub(crate) async fn sign_in(
        &self,
        token: &Token,
        browser: &Token,
        key: &DeskKey,
    ) -> Result<Token, Error> {
        let session = key.session(token.digest(), browser.expose());
        match self.use_link(token.digest(), browser.digest(), session.digest()).await {
            Err(Error::NotFound) if self.signed_in(&session).await?.is_some() => Ok(session),
            used => used.map(|()| session),
        }
    }

    async fn use_link(
        &self,
        link: TokenDigest,
        browser: TokenDigest,
        session: TokenDigest,
    ) -> Result<(), Error> {
        let row = self.row::<SignInLinkRow>(&link).await?.ok_or(Error::NotFound)?;
        let SignInLinkRow { user, merchant, kind, .. } = row;
        let accepts = match kind {
            LinkKind::Operator => self.store.invited_to(user).await?,
            LinkKind::Invitation | LinkKind::SignIn => merchant.into_iter().collect(),
        };
        let action = SignIn { user, link, browser, session, accepts };
        self.write(Actor::user(user), action).await
    }

    /// The user of a session. `None` if the session has ended, or the user is a member of no
    /// merchant any more.
    pub(crate) async fn signed_in(&self, token: &Token) -> Result<Option<SignedIn>, Error> {
        let Some((row, user, has_authenticator)) = self.store.session(token.digest()).await? else {
            return Ok(None);
        };
        let now = self.store.database_time().await?;
        if !row.works(now) {
            return Ok(None);
        }
        let session = row.digest;
        if now.duration_since(row.used) > USE_INTERVAL {
            match self.write(Actor::user(user.id), UseSession { user: user.id, session }).await {
                // It has ended meanwhile.
                Err(Error::NotFound) => return Ok(None),
                used => used?,
            }
        }
        let codes = match row.verified {
            _ if !has_authenticator => Codes::NotSetUp,
            None => Codes::Missing,
            Some(_) if row.is_fresh(now) => Codes::Fresh,
            Some(_) => Codes::Old,
        };
        Ok(Some(SignedIn { user, session, codes }))
    }

    /// Ends a session.
    pub(crate) async fn sign_out(
        &self,
        SignedIn { user, session, .. }: &SignedIn,
    ) -> Result<(), Error> {
        let action = EndSessions { user: user.id, which: Which::One(*session) };
        self.write(Actor::user(user.id), action).await
    }
}
