//! What the one writer does in its transactions.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use common::sqlite::Engine;
use jiff::Timestamp;
use rusqlite::Connection;
use uuid::Uuid;

use super::{
    super::{Answer, Keyed, Outcome, Receipt, Refusal, Tell, Write},
    column::millis,
    invitations, read,
};
use crate::domain::{Id, Ids, Notes};

mod disputes;
mod members;
pub(super) mod movements;
mod payments;

/// Bytes that any write is taken to cost beside what it carries.
const OVERHEAD: usize = 512;

/// A write as it is asked for.
pub(super) struct Job {
    pub(super) write: Write,
    pub(super) keyed: Option<Keyed>,
    pub(super) now: Timestamp,
}

/// What is counted of the writer.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) commits: AtomicU64,
    pub(super) writes: AtomicU64,
}

/// Applies writes. Ids that a batch took and that was undone are not used again.
pub(super) struct Applier {
    ids: Ids,
    /// The last id that was noted when the batch began, whoever had made it.
    noted: Option<Id>,
    writes: u64,
    counts: Arc<Counts>,
    tell: Tell,
}

impl Applier {
    pub(super) fn new(counts: Arc<Counts>, tell: Tell) -> Self {
        let ids = Ids::after(Id::FIRST, Uuid::new_v4().as_u64_pair().0);
        Self { ids, noted: None, writes: 0, counts, tell }
    }

    /// Does what is asked for, unless its idempotency key says that it has been done.
    fn once(&mut self, db: &Connection, job: &Job) -> rusqlite::Result<Result<Outcome, Refusal>> {
        let known = job.keyed.as_ref().map(|keyed| read::known(db, keyed)).transpose()?;
        if let Some(known) = known.flatten() {
            return Ok(known.outcome());
        }
        let answer = match self.write(db, &job.write, job.now)? {
            Ok(answer) => answer,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if let Some(keyed) = &job.keyed {
            self.remember(db, keyed, &answer, job.now)?;
        }
        Ok(Ok(Outcome::Fresh(answer)))
    }

    /// Decides first and writes then: what is refused has changed nothing.
    fn write(
        &mut self,
        db: &Connection,
        write: &Write,
        now: Timestamp,
    ) -> rusqlite::Result<Result<Answer, Refusal>> {
        match write {
            Write::CreateApp { name, digest } => self.create_app(db, name.as_ref(), *digest, now),
            Write::CreateMerchant { app, key, details, pricing } => {
                self.create_merchant(db, *app, key, (details, pricing), now)
            }
            Write::UpdateMerchant { merchant, update } => {
                members::update_merchant(db, *merchant, update)
            }
            Write::AddUser { merchant, email } => self.add_user(db, *merchant, email, now),
            Write::RevokeUser { merchant, user } => members::revoke_user(db, *merchant, *user),
            Write::AddApp { merchant, app } => members::add_app(db, *merchant, *app),
            Write::RevokeApp { merchant, app } => members::revoke_app(db, *merchant, *app),
            Write::Begin { payment } => self.begin(db, payment, now),
            Write::Conclude { operation, verdict, card } => {
                self.conclude(db, *operation, (verdict.as_ref(), card.as_deref()), now)
            }
            Write::Challenge { operation, challenge } => {
                payments::challenge(db, *operation, challenge)
            }
            Write::Move { transaction, request, descriptor } => {
                self.perform(db, *transaction, (request, descriptor.as_ref()), now)
            }
            Write::SaveCard { merchant, original, notes } => {
                self.save_card(db, *merchant, original, notes.as_ref().map(Notes::as_str), now)
            }
            Write::Notice { notification, exchange, fee_exchange } => {
                self.notice(db, notification, (*exchange, *fee_exchange), now)
            }
            Write::Confirm { instructions } => movements::confirm(db, instructions),
            Write::TakeInvitation { invitation, dice } => {
                invitations::take(db, *invitation, *dice, now)
            }
            Write::RemoveInvitation { invitation } => invitations::remove(db, *invitation),
            Write::Forget { until } => forget(db, *until),
        }
    }

    fn remember(
        &self,
        db: &Connection,
        keyed: &Keyed,
        answer: &Answer,
        now: Timestamp,
    ) -> rusqlite::Result<()> {
        let (mut operation, mut told, mut moved) = (None, None, None);
        match answer {
            Answer::Begun(id) => operation = Some(*id),
            answer => match answer.receipt(self.tell) {
                Receipt::Told(bytes) => told = Some(bytes),
                Receipt::Moved { transaction, steps, disputed } => {
                    moved = Some((transaction, steps, disputed));
                }
            },
        }
        db.prepare_cached("INSERT INTO idempotency VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?
            .execute((
            keyed.app,
            &keyed.key,
            keyed.request,
            millis(now),
            operation,
            told.as_deref(),
            moved.map(|(transaction, ..)| transaction),
            moved.map(|(_, steps, _)| steps),
            moved.map(|(.., disputed)| disputed),
        ))?;
        Ok(())
    }
}

impl Engine for Applier {
    type Operation = Job;
    type Answer = Result<Outcome, Refusal>;

    fn weight(job: &Job) -> usize {
        OVERHEAD
            + match &job.write {
                Write::Begin { payment } => {
                    payment.custom.as_ref().map_or(0, |custom| custom.as_str().len())
                }
                Write::Confirm { instructions } => instructions.len() * Id::BYTES,
                _ => 0,
            }
    }

    fn is_due(&self) -> bool {
        false
    }

    fn has_unwritten(&self) -> bool {
        false
    }

    fn apply(&mut self, db: &Connection, job: &Job) -> rusqlite::Result<Self::Answer> {
        if self.noted.is_none() {
            let noted = read::last_id(db)?;
            self.ids.follow(noted);
            self.noted = Some(noted);
        }
        self.writes += 1;
        self.once(db, job)
    }

    fn finish(&mut self, db: &Connection) -> rusqlite::Result<()> {
        let last = self.ids.last();
        if self.noted.is_some_and(|noted| noted != last) {
            note_id(db, last)?;
        }
        Ok(())
    }

    fn committed(&mut self) {
        self.noted = None;
        self.counts.commits.fetch_add(1, Ordering::Relaxed);
        self.counts.writes.fetch_add(std::mem::take(&mut self.writes), Ordering::Relaxed);
    }

    fn rolled_back(&mut self) {
        self.noted = None;
        self.writes = 0;
    }
}

/// Whoever writes next goes on after this id.
pub(super) fn note_id(db: &Connection, last: Id) -> rusqlite::Result<()> {
    db.prepare_cached("UPDATE ids SET last = ?1")?.execute([last])?;
    Ok(())
}

/// Keys whose payment is still with the acquirer stay.
fn forget(db: &Connection, until: Timestamp) -> rusqlite::Result<Result<Answer, Refusal>> {
    db.prepare_cached("DELETE FROM idempotency WHERE created <= ?1 AND operation IS NULL")?
        .execute([millis(until)])?;
    Ok(Ok(Answer::Done))
}
