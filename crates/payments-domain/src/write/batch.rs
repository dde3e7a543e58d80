//! Decides a batch of writes in memory: computes the answer of each write, and the row changes.
//!
//! 1. **Order.** A write sees the changes of the writes before it. So [`BatchRows`]
//!    keep the last state of each row. A decision that uses `Batch::loaded` must update it.
//!    `write/tests.rs` checks that a batch does what its writes do one by one.
//! 2. **Rejected writes change nothing.** There is no rollback inside a batch. So a decision makes
//!    all checks, also those for overflow, before it changes the first row.
//! 3. **Final state.** A row that several writes update is written once, in its final state.
//! 4. **Idempotency keys.** If the key is stored, the write returns the stored outcome, and its
//!    action is not executed. A rejected write does not store its key, so that the caller can try
//!    again with the same key.
//! 5. **Panics.** A decision that panics leaves the batch in an unknown state, so [`decide`]
//!    returns only the index of the write. The batching loop fails this write, and runs the other
//!    writes again from a new load.
//! 6. **Balances.** A booking changes one of the rows of the merchant's balance: the first that was
//!    loaded. A balance has no lower limit. Captures have an upper limit, [`MAX_BALANCE`].

use std::{
    collections::BTreeMap,
    mem,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
};

use jiff::Timestamp;

use super::{
    Access, Answer, Balance, BatchRows, Changes, KeyRow, KeyedRequest, LoadedRows, LogRow, MailRow,
    NoticeRow, PendingRow, ProgressRow, RecoveryCodeRow, Rejection, RetriesOfWebhook, SessionRow,
    SignInLinkRow, WebhookRow, Write,
};
use crate::{
    AcquirerKey, Actor, EventType, Fact, Id, LogKind, MAX_LINKS, MAX_SESSIONS, MailKind, Merchant,
    MovementError, NewEvent, Overflow, Progress, TokenDigest, TraceBytes, User, Webhook,
};

/// The maximum of one row of a balance after a capture, in minor units, so that captures never make
/// the sum of a merchant's rows overflow. Refunds and disputes are rejected only if the row itself
/// overflows.
pub(crate) const MAX_BALANCE: i64 = 1 << 58;

/// Decides the writes in order. `Err` is the index of a write that panicked.
pub fn decide(
    mut loaded: LoadedRows,
    writes: &[&Write],
) -> Result<(Vec<Result<Answer, Rejection>>, Changes), usize> {
    let (rows, users) = (mem::take(&mut loaded.rows), BTreeMap::new());
    let mut batch = Batch {
        loaded,
        rows,
        users,
        own_ids: 0..0,
        actor: Actor::SYSTEM,
        trace: None,
        request_key: None,
    };
    let decide_one = |(index, write): (usize, &&Write)| {
        // Each write has a share of the IDs, so that one that needs more fails alone.
        let first = batch.own_ids.end;
        batch.own_ids = first..first.saturating_add(write.action.ids());
        catch_unwind(AssertUnwindSafe(|| batch.decide(write))).map_err(|_| index)
    };
    let answers = writes.iter().enumerate().map(decide_one).collect::<Result<_, _>>()?;
    Ok((answers, Changes { rows: batch.rows, users: batch.users }))
}

/// The rows, as the writes so far have left them.
pub struct Batch {
    pub loaded: LoadedRows,
    pub rows: BatchRows,
    /// New users: see [`Changes::users`].
    pub users: BTreeMap<String, User>,
    /// The indexes of the IDs of the current write.
    own_ids: Range<usize>,
    /// The actor of the current write.
    pub(crate) actor: Actor,
    /// The trace of the current write.
    pub(crate) trace: Option<TraceBytes>,
    /// The key at the acquirer of the current write, if it has an idempotency key.
    request_key: Option<AcquirerKey>,
}

impl Batch {
    fn decide(&mut self, write: &Write) -> Result<Answer, Rejection> {
        if let Some(access) = &write.by.access {
            self.check(access)?;
        }
        if let Some(keyed) = &write.keyed
            && let Some(known) = self.rows.keys.get(&(keyed.app, keyed.key.clone()))
        {
            return known.outcome(keyed).map(Answer::Replayed);
        }
        (self.actor, self.trace) = (write.by.actor, write.trace);
        self.request_key = write.keyed.as_ref().map(KeyedRequest::acquirer_key);
        let outcome = write.action.decide(self)?;
        if let Some(keyed) = &write.keyed {
            let KeyedRequest { app, key, request } = keyed.clone();
            let (created, state) = (self.loaded.now, outcome.key_state());
            self.rows.keys.insert(KeyRow { app, key, request, created, state });
        }
        Ok(Answer::Executed(outcome))
    }

    fn check(&self, access: &Access) -> Result<(), Rejection> {
        let Access { app, key, merchant } = *access;
        let mut keys = self.rows.api_keys.iter().filter(|row| row.app == app);
        if !keys.any(|row| row.digest == key) {
            return Err(Rejection::KeyDeleted);
        }
        let is_member = |merchant| self.rows.merchant_apps.contains(&(merchant, app));
        if merchant.is_none_or(is_member) { Ok(()) } else { Err(Rejection::NotAMember) }
    }

    /// The time of the batch.
    pub fn now(&self) -> Timestamp {
        self.loaded.now
    }

    /// The ID of a new row: at most [`Action::ids`](super::Action::ids) for a write.
    #[expect(clippy::expect_used, reason = "more IDs are a bug, and fail only one write")]
    pub fn id(&mut self) -> Id {
        let own = self.own_ids.next().and_then(|index| self.loaded.ids.get(index));
        *own.expect("the write uses more IDs than it says")
    }

    /// The key at the acquirer for a new pending payment or outbox entry.
    pub fn acquirer_key(&self, id: Id) -> AcquirerKey {
        self.request_key.unwrap_or(AcquirerKey::Id(id))
    }

    pub(crate) fn add_event(&mut self, merchant: Id, event_type: EventType, fact: Fact) {
        let (id, created, actor, trace) = (self.id(), self.loaded.now, self.actor, self.trace);
        let event = NewEvent { id, merchant, created, event_type, actor, trace, fact };
        if let Some(kind) = MailKind::of(event_type) {
            let (merchant, object) = (Some(merchant), event.fact.object().copied());
            self.rows.notices.insert(NoticeRow { id, kind, merchant, app: None, object });
        }
        self.rows.events.insert(event.into());
    }

    /// Adds what the actor has done to the log of a merchant or an app.
    pub(crate) fn log(&mut self, owner: Id, kind: LogKind, subject: Id) {
        let (id, created, actor) = (self.id(), self.loaded.now, self.actor);
        self.rows.log.insert(LogRow { id, owner, created, actor, kind, subject });
    }

    pub fn merchant(&self, id: Id) -> Result<&Merchant, Rejection> {
        self.rows.merchants.get(&id).ok_or(Rejection::NotFound)
    }

    pub fn pending_payment(&self, id: Id) -> Result<&PendingRow, Rejection> {
        self.rows.pending_payments.get(&id).ok_or(Rejection::NotFound)
    }

    /// Queues a mail to a user about a merchant, and about a dispute or payout; or to the payer of a
    /// transaction.
    pub(crate) fn queue_mail(
        &mut self,
        kind: MailKind,
        user: Option<Id>,
        merchant: Id,
        object: Option<Id>,
    ) {
        let (id, created, actor) = (self.id(), self.loaded.now, self.actor);
        self.rows.mails.insert(MailRow {
            id,
            kind,
            user,
            merchant: Some(merchant),
            object,
            actor,
            browser: None,
            language: None,
            created,
            attempts: 0,
            due: Timestamp::UNIX_EPOCH,
        });
    }

    /// Deletes the mails and the links that invite a user.
    pub(crate) fn end_invitation(&mut self, merchant: Id, user: Id) {
        let about = (Some(merchant), Some(user));
        let mails = self.rows.mails.iter().filter(|row| (row.merchant, row.user) == about);
        let mails: Vec<Id> = mails.map(|row| row.id).collect();
        self.rows.mails.retain(|id| !mails.contains(id));
        self.rows.mails_of_members.delete(about);
        let links = self.rows.sign_in_links.iter();
        let links =
            links.filter(|row| (row.merchant, Some(row.user)) == about).map(|row| row.digest);
        let links: Vec<_> = links.collect();
        links.into_iter().for_each(|digest| self.rows.sign_in_links.delete(digest));
    }

    pub(crate) fn api_keys_of(&self, app: Id) -> usize {
        self.rows.api_keys.iter().filter(|row| row.app == app).count()
    }

    /// The loaded rows of a merchant's balance.
    pub fn balances(&self, merchant: Id) -> impl Iterator<Item = &Balance> {
        self.rows.balances.range((merchant, i64::MIN)..=(merchant, i64::MAX))
    }

    /// The row of the merchant's balance that a booking changes, with `more` added.
    pub fn balance(&self, merchant: Id, more: i64) -> Result<Balance, MovementError> {
        let row = *self.balances(merchant).next().ok_or(Overflow)?;
        let minor = row.minor.checked_add(more).ok_or(Overflow)?;
        Ok(Balance { minor, ..row })
    }

    /// Changes an endpoint of the app with `change`, which also gets its progress and the time of
    /// the batch. The deliveries start again: a change can be the reason that they succeed.
    pub(crate) fn change_webhook(
        &mut self,
        app: Id,
        id: Id,
        change: impl FnOnce(&mut WebhookRow, &mut Progress, Timestamp),
    ) -> Result<Webhook, Rejection> {
        let (mut row, mut progress) = self.webhook(app, id)?;
        change(&mut row, &mut progress, self.loaded.now);
        progress.generation = progress.generation.saturating_add(1);
        progress.paused_until = None;
        self.rows.retries_of_webhooks.update(RetriesOfWebhook { webhook: id, failures: None });
        self.rows.webhook_retries.update_new(|row| {
            if row.webhook == id {
                row.failures = None;
            }
        });
        self.rows.webhook_progress.update(ProgressRow { webhook: id, progress });
        let webhook = row.webhook();
        self.rows.webhooks.update(row);
        Ok(webhook)
    }

    /// A link of the user that still works.
    pub(crate) fn sign_in_link(
        &self,
        user: Id,
        link: TokenDigest,
    ) -> Result<&SignInLinkRow, Rejection> {
        let link = self.rows.sign_in_links.get(&link);
        let link = link.filter(|link| link.user == user && link.until > self.loaded.now);
        link.ok_or(Rejection::NotFound)
    }

    /// Adds a link, and deletes those of its user and kind that have ended, or are too many.
    pub(crate) fn add_sign_in_link(&mut self, link: SignInLinkRow) {
        let is_like = |row: &&SignInLinkRow| (row.user, row.kind) == (link.user, link.kind);
        let own = self.rows.sign_in_links.iter().filter(is_like);
        let own = own.map(|row| (row.until > self.loaded.now, row.created, row.digest));
        for digest in superfluous(own, MAX_LINKS) {
            self.rows.sign_in_links.delete(digest);
        }
        self.rows.sign_in_links.insert(link);
    }

    /// Begins a session, and ends those of its user that are over, or are too many.
    pub(crate) fn add_session(&mut self, session: SessionRow) {
        let own = self.rows.sessions.iter().filter(|row| row.user == session.user);
        let own = own.map(|row| (row.works(self.loaded.now), row.created, row.digest));
        for digest in superfluous(own, MAX_SESSIONS) {
            self.rows.sessions.delete(digest);
        }
        self.rows.sessions.insert(session);
    }

    /// A session of the user.
    pub(crate) fn session(&self, user: Id, session: TokenDigest) -> Result<&SessionRow, Rejection> {
        let session = self.rows.sessions.get(&session).filter(|row| row.user == user);
        session.ok_or(Rejection::NotFound)
    }

    /// Replaces the recovery codes of the user.
    pub(crate) fn set_recovery_codes(&mut self, user: Id, codes: &[TokenDigest]) {
        let own = self.rows.recovery_codes.iter().filter(|row| row.user == user);
        let own: Vec<_> = own.map(|row| (user, row.digest)).collect();
        own.into_iter().for_each(|key| self.rows.recovery_codes.delete(key));
        for &digest in codes {
            self.rows.recovery_codes.insert(RecoveryCodeRow { user, digest });
        }
    }

    /// An endpoint of the app, and its progress.
    pub fn webhook(&self, app: Id, id: Id) -> Result<(WebhookRow, Progress), Rejection> {
        let row = self.rows.webhooks.get(&id).filter(|row| row.app == app);
        let progress = self.rows.webhook_progress.get(&id);
        let found = row.zip(progress).ok_or(Rejection::NotFound)?;
        Ok((found.0.clone(), found.1.progress))
    }
}

/// Of rows that work or not, the digests of those to delete before one is added: all that do not
/// work, and the oldest, so that there are at most `most` in the end.
fn superfluous(
    rows: impl Iterator<Item = (bool, Timestamp, TokenDigest)>,
    most: usize,
) -> Vec<TokenDigest> {
    let mut rows: Vec<_> = rows.collect();
    rows.sort_unstable_by(|one, other| other.cmp(one));
    let rest = rows.into_iter().enumerate();
    let rest = rest.filter(|(index, (works, ..))| !works || index.saturating_add(1) >= most);
    rest.map(|(_, (.., digest))| digest).collect()
}
