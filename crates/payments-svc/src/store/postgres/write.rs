//! What one write does, in a transaction of its own.

use std::sync::atomic::Ordering;

use common::postgres::{Error, WAIT};
use deadpool_postgres::ClientWrapper;
use jiff::Timestamp;
use tokio::{sync::SemaphorePermit, time::timeout};

use super::{
    super::{Answer, Keyed, Outcome, Receipt, Refusal, Tell, Write},
    Postgres,
    column::millis,
    invitations,
    unit::{Unit, parameters},
};
use crate::domain::Notes;

mod disputes;
mod members;
pub(super) mod movements;
mod payments;

/// In how many queues movements wait for their turn at a transaction.
pub(super) const QUEUES: usize = 251;

/// How often a write is tried again that came into conflict with another.
const RETRIES: u32 = 5;

/// A write as it is asked for.
pub(super) struct Job {
    pub(super) write: Write,
    pub(super) keyed: Option<Keyed>,
    pub(super) now: Timestamp,
}

impl Postgres {
    /// Does what is asked for. What comes into conflict with somebody who was faster has done
    /// nothing, and looks at what is there now. So of two requests with the same idempotency key,
    /// the second waits where the first has written the key, and then finds its answer.
    pub(super) async fn apply(&self, job: &Job) -> Result<Result<Outcome, Refusal>, Error> {
        let _turn = self.turn(&job.write).await?;
        let mut retries = 0;
        loop {
            match self.sessions.lend(async |session| once(session, job, self.tell).await).await {
                Err(error) if error.is_conflict() && retries < RETRIES => retries += 1,
                outcome => {
                    if let Ok(Ok(Outcome::Fresh(_))) = outcome {
                        self.commits.fetch_add(1, Ordering::Relaxed);
                    }
                    return outcome;
                }
            }
        }
    }
}

impl Postgres {
    /// Waits until nobody else in this process moves the same transaction. Otherwise those who wait
    /// for one lock could hold all sessions.
    async fn turn(&self, write: &Write) -> Result<Option<SemaphorePermit<'_>>, Error> {
        let transaction = match write {
            Write::Move { transaction, .. } => transaction,
            Write::Notice { notification, .. } => &notification.transaction,
            _ => return Ok(None),
        };
        let number = transaction
            .as_bytes()
            .iter()
            .fold(0_usize, |number, byte| number.wrapping_mul(31).wrapping_add(usize::from(*byte)));
        let queue = &self.queues[number % QUEUES];
        let turn = timeout(WAIT, queue.acquire()).await.map_err(|_| Error::Busy)?;
        Ok(turn.ok())
    }
}

/// Does what is asked for, unless its idempotency key says that it has been done.
async fn once(
    session: &ClientWrapper,
    job: &Job,
    tell: Tell,
) -> Result<Result<Outcome, Refusal>, Error> {
    let mut unit = Unit::new(session, job.keyed.as_ref());
    let answer = write(&mut unit, &job.write, tell, job.now).await?;
    if let Some(known) = unit.take_known() {
        return Ok(known.outcome());
    }
    let answer = match answer {
        Ok(answer) => answer,
        Err(refusal) => return Ok(Err(refusal)),
    };
    if let Some(keyed) = &job.keyed {
        remember(&mut unit, keyed, &answer, tell, job.now);
    }
    unit.commit().await?;
    Ok(Ok(Outcome::Fresh(answer)))
}

/// Asks and decides first, and notes then what is written.
async fn write<'a>(
    unit: &mut Unit<'a>,
    write: &'a Write,
    tell: Tell,
    now: Timestamp,
) -> Result<Result<Answer, Refusal>, Error> {
    match write {
        Write::CreateApp { name, digest } => {
            members::create_app(unit, name.as_ref(), digest, now).await
        }
        Write::CreateMerchant { app, key, details, pricing } => {
            members::create_merchant(unit, *app, key, (details, pricing), now).await
        }
        Write::UpdateMerchant { merchant, update } => {
            members::update_merchant(unit, *merchant, update).await
        }
        Write::AddUser { merchant, email } => members::add_user(unit, *merchant, email, now).await,
        Write::RevokeUser { merchant, user } => members::revoke_user(unit, *merchant, *user).await,
        Write::AddApp { merchant, app } => members::add_app(unit, *merchant, *app).await,
        Write::RevokeApp { merchant, app } => members::revoke_app(unit, *merchant, *app).await,
        Write::Begin { payment } => payments::begin(unit, payment, now).await,
        Write::Conclude { operation, verdict, card } => {
            payments::conclude(unit, *operation, (verdict.as_ref(), card.as_deref()), tell, now)
                .await
        }
        Write::Challenge { operation, challenge } => {
            payments::challenge(unit, *operation, challenge).await
        }
        Write::Move { transaction, request, descriptor } => {
            movements::r#move(unit, *transaction, request, descriptor.as_ref(), now).await
        }
        Write::SaveCard { merchant, original, notes } => {
            payments::save_card(unit, *merchant, original, notes.as_ref().map(Notes::as_str), now)
                .await
        }
        Write::Notice { notification, exchange, fee_exchange } => {
            disputes::notice(unit, notification, (*exchange, *fee_exchange), now).await
        }
        Write::Confirm { instructions } => Ok(Ok(movements::confirm(unit, instructions))),
        Write::TakeInvitation { invitation, dice } => {
            invitations::take(unit, *invitation, *dice).await
        }
        Write::RemoveInvitation { invitation } => Ok(Ok(invitations::remove(unit, *invitation))),
        Write::Forget { until } => Ok(Ok(forget(unit, *until))),
    }
}

fn remember<'a>(
    unit: &mut Unit<'a>,
    keyed: &'a Keyed,
    answer: &Answer,
    tell: Tell,
    now: Timestamp,
) {
    let (mut operation, mut told, mut moved) = (None, None, None);
    match answer {
        Answer::Begun(id) => operation = Some(*id),
        answer => match answer.receipt(tell) {
            Receipt::Told(bytes) => told = Some(bytes.to_vec()),
            Receipt::Moved { transaction, steps, disputed } => {
                moved = Some((transaction, steps, disputed));
            }
        },
    }
    unit.write(
        "INSERT INTO idempotency VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        parameters![
            keyed.app,
            &*keyed.key,
            &keyed.request[..],
            millis(now),
            operation,
            told,
            moved.map(|(transaction, ..)| transaction),
            moved.map(|(_, steps, _)| i64::from(steps)),
            moved.map(|(.., disputed)| disputed),
        ],
    );
}

/// Keys whose payment is still with the acquirer stay.
fn forget(unit: &mut Unit<'_>, until: Timestamp) -> Answer {
    unit.write(
        "DELETE FROM idempotency WHERE created <= $1 AND operation IS NULL",
        parameters![millis(until)],
    );
    Answer::Done
}
