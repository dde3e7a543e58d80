use crate::{
    Code, CodeEntered, CodeResult, Id, LOCK, MAX_WRONG_CODES, TokenDigest,
    write::{Action, AuthenticatorRow, Batch, Needs, Rejection, SessionRow},
};

/// Check a code that a user typed. A right one works once, and begins a new session in place of the
/// current one. Rejected with [`Rejection::NotFound`] if the user has no such authenticator.
#[derive(Debug)]
pub struct EnterCode {
    pub user: Id,
    /// The current session.
    pub session: TokenDigest,
    pub code: Code,
    /// The session that begins.
    pub next: TokenDigest,
    /// If the authenticator does not work yet, its recovery codes.
    pub recovery_codes: Option<Vec<TokenDigest>>,
}

impl Action for EnterCode {
    type Outcome = CodeEntered;

    fn needs(&self, needs: &mut Needs) {
        needs.users.insert(self.user);
    }

    fn cost(&self) -> (usize, usize) {
        (40, 0)
    }

    fn decide(&self, batch: &mut Batch) -> Result<CodeEntered, Rejection> {
        let (user, now) = (self.user, batch.now());
        let session = batch.session(user, self.session)?.clone();
        let row = batch.rows.authenticators.get(&user);
        let row = row.filter(|row| row.works == self.recovery_codes.is_none());
        let row = row.ok_or(Rejection::NotFound)?.clone();
        if row.locked.is_some_and(|until| until > now) {
            return Ok(CodeEntered { result: CodeResult::Locked });
        }
        let is_right = match self.code {
            Code::Step(step) => step > row.last_step,
            Code::Other(digest) => batch.rows.recovery_codes.contains(&(user, digest)),
        };
        if !is_right {
            let wrong = row.wrong.saturating_add(1);
            let (wrong, locked, result) = match wrong < MAX_WRONG_CODES {
                true => (wrong, None, CodeResult::Wrong),
                false => (0, now.checked_add(LOCK).ok(), CodeResult::Locked),
            };
            batch.rows.authenticators.update(AuthenticatorRow { wrong, locked, ..row });
            return Ok(CodeEntered { result });
        }
        let last_step = match self.code {
            Code::Step(step) => step,
            Code::Other(digest) => {
                batch.rows.recovery_codes.delete((user, digest));
                row.last_step
            }
        };
        let (works, wrong, locked) = (true, 0, None);
        let row = AuthenticatorRow { works, last_step, wrong, locked, ..row };
        batch.rows.authenticators.update(row);
        if let Some(codes) = &self.recovery_codes {
            batch.set_recovery_codes(user, codes);
        }
        batch.rows.sessions.delete(self.session);
        let (digest, used, verified) = (self.next, now, Some(now));
        batch.rows.sessions.insert(SessionRow { digest, used, verified, ..session });
        Ok(CodeEntered { result: CodeResult::Right })
    }
}
