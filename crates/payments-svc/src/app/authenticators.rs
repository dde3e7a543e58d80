//! The second factor of users at the desk: an authenticator app and recovery codes.

use std::array::from_fn;

use jiff::SignedDuration;
use payments_domain::{
    Actor, CodeResult, Id, Token, TokenDigest,
    actions::{
        BeginAuthenticator, EndSessions, EnterCode, RemoveAuthenticator, SetRecoveryCodes, Which,
    },
    write::{AuthenticatorRow, SessionRow},
};

use super::{error::Error, payments::Payments, sign_in::SignedIn};
use crate::authenticator::{DeskKey, Secret, normal, recovery_code};

/// What a user signs in with, and where.
pub(crate) struct Account {
    /// The number of recovery codes that were not used.
    pub(crate) recovery_codes: u32,
    /// Newest first.
    pub(crate) sessions: Vec<SessionRow>,
}

/// How long after a code the browser can send it again.
const REPEAT: SignedDuration = SignedDuration::from_mins(1);

/// New recovery codes. The store gets only their digests.
pub(crate) struct RecoveryCodes(pub(crate) [String; 10]);

impl RecoveryCodes {
    pub(crate) fn new() -> Self {
        Self(from_fn(|_| recovery_code(rand::random())))
    }

    /// Those of the authenticator whose first code began the session.
    pub(crate) fn first(session: &Token, key: &DeskKey) -> Self {
        let session = session.digest();
        Self(from_fn(|number| key.recovery_code(session, u8::try_from(number).unwrap_or(u8::MAX))))
    }

    fn digests(&self) -> Vec<TokenDigest> {
        self.0.iter().map(|code| Token::sent(&normal(code)).digest()).collect()
    }
}

/// Why a code does not work.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Refused {
    /// Wrong, or used before.
    Wrong,
    /// No code works for a while.
    Locked,
}

impl Payments {
    pub(crate) async fn account(&self, user: Id) -> Result<Account, Error> {
        let now = self.store.database_time().await?;
        let mut sessions = self.store.sessions_of_user(user).await?;
        sessions.retain(|session| session.works(now));
        Ok(Account { recovery_codes: self.store.recovery_codes_of_user(user).await?, sessions })
    }

    /// Gives the user an authenticator, which works after its first code. [`Error::NotFound`] if
    /// one works.
    pub(crate) async fn begin_authenticator(&self, user: Id, key: &DeskKey) -> Result<(), Error> {
        let secret = Secret::new(rand::random());
        let secret = key.seal(user, &secret, rand::random()).map_err(Error::Sealed)?;
        self.write(Actor::user(user), BeginAuthenticator { user, secret }).await
    }

    /// The secret of an authenticator that does not work yet.
    pub(crate) async fn begun_authenticator(
        &self,
        user: Id,
        key: &DeskKey,
    ) -> Result<Secret, Error> {
        let row = self.row::<AuthenticatorRow>(&user).await?.filter(|row| !row.works);
        key.open(user, &row.ok_or(Error::NotFound)?.secret).map_err(Error::Sealed)
    }

    /// Checks a code that the user typed. A right one gives the secret of the session that has begun
    /// in place of the current one. The first one of an authenticator also makes its
    /// [`RecoveryCodes::first`]. [`Error::NotFound`] if the user has no such authenticator.
    pub(crate) async fn enter_code(
        &self,
        SignedIn { user, session, .. }: &SignedIn,
        key: &DeskKey,
        typed: &str,
        is_first: bool,
    ) -> Result<Result<Token, Refused>, Error> {
        let (user, session, next) = (user.id, *session, key.session(*session, typed));
        let row = self.row::<AuthenticatorRow>(&user).await?.ok_or(Error::NotFound)?;
        let secret = key.open(user, &row.secret).map_err(Error::Sealed)?;
        let code = secret.code(typed, self.store.database_time().await?);
        let recovery_codes = is_first.then(|| RecoveryCodes::first(&next, key).digests());
        let action = EnterCode { user, session, code, next: next.digest(), recovery_codes };
        match self.write(Actor::user(user), action).await {
            Ok(entered) => Ok(match entered.result {
                CodeResult::Right => Ok(next),
                CodeResult::Wrong => Err(Refused::Wrong),
                CodeResult::Locked => Err(Refused::Locked),
            }),
            Err(Error::NotFound) => {
                self.repeated_code(session, key, typed).await.map(|(next, _)| Ok(next))
            }
            Err(error) => Err(error),
        }
    }

    /// The session that the code began in place of this one a moment ago: at a double click, the
    /// browser may never see the answer to its first request.
    pub(crate) async fn repeated_code(
        &self,
        session: TokenDigest,
        key: &DeskKey,
        typed: &str,
    ) -> Result<(Token, SignedIn), Error> {
        let next = key.session(session, typed);
        let row = self.row::<SessionRow>(&next.digest()).await?;
        let now = self.store.database_time().await?;
        let is_recent = |verified| now.duration_since(verified) < REPEAT;
        let is_recent = row.and_then(|row| row.verified).is_some_and(is_recent);
        match self.signed_in(&next).await? {
            Some(signed_in) if is_recent => Ok((next, signed_in)),
            _ => Err(Error::NotFound),
        }
    }

    /// Replaces the recovery codes.
    pub(crate) async fn set_recovery_codes(
        &self,
        user: Id,
        codes: &RecoveryCodes,
    ) -> Result<(), Error> {
        self.write(Actor::user(user), SetRecoveryCodes { user, codes: codes.digests() }).await
    }

    pub(crate) async fn remove_authenticator(&self, user: Id) -> Result<(), Error> {
        self.write(Actor::user(user), RemoveAuthenticator(user)).await
    }

    /// Ends all sessions of the user but this one.
    pub(crate) async fn end_other_sessions(
        &self,
        SignedIn { user, session, .. }: &SignedIn,
    ) -> Result<(), Error> {
        let action = EndSessions { user: user.id, which: Which::AllBut(*session) };
        self.write(Actor::user(user.id), action).await
    }
}
