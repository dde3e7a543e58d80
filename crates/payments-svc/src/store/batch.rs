//! The part of a batch that both engines share: its limits, the cost of a write, lock keys and the
//! decision.

use std::{
    hash::{DefaultHasher, Hash, Hasher as _},
    sync::Arc,
    time::Duration,
};

use common::batch::{Cost, Decided, Failure, Limits, Panicked};
use payments_domain::{
    Id,
    write::{Answer, Changes, LoadedRows, Needs, Rejection, Write, decide as decide_writes},
};

/// The answer to a write, or why it was rejected. A rejected write changed nothing.
pub(super) type WriteResult = Result<Answer, Rejection>;

/// The limits in PostgreSQL. SQLite replaces `batches`, `another_at` and `start_timeout`.
pub(super) const LIMITS: Limits = Limits {
    batches: 4,
    another_at: 32,
    writes: 256,
    rows: 4096,
    bytes: 8 * 1024 * 1024,
    start_timeout: Duration::from_secs(5),
};

/// Estimated bytes of a write without its payload.
const OVERHEAD: usize = 512;

/// Estimates how many rows and bytes a write uses in a batch.
pub(super) fn cost(write: &Write) -> Cost {
    let (rows, bytes) = write.action.cost();
    Cost { rows, bytes: OVERHEAD + bytes, is_follow_up: write.action.is_follow_up() }
}

/// Adds the lock keys of a write: hashes of the rows that it locks, of its idempotency key and of
/// the address of a user. Two running batches of this process never have a lock key in common: a
/// write waits until the other batch ends. Otherwise it would find its row locked, or its
/// idempotency key taken.
pub(super) fn lock_keys(write: &Write, lock_keys: &mut Vec<u64>) {
    let needs = Needs::of([write]);
    lock_keys.extend(needs.transactions.keys().map(|id| hash(("transaction", id))));
    lock_keys.extend(needs.pending_payments.iter().map(|id| hash(("pending payment", id))));
    lock_keys.extend(needs.merchants.iter().map(|id| hash(("merchant", id))));
    lock_keys.extend(needs.mails.iter().map(|id| hash(("mail", id))));
    lock_keys.extend(needs.users.iter().map(|id| hash(("user", id))));
    lock_keys.extend(needs.locked_apps.iter().map(|id| hash(("app", id))));
    lock_keys.extend(needs.rows.used_links.iter().map(|link| hash(("link", link))));
    lock_keys.extend(needs.rows.keys.iter().map(|key| hash(("key", key))));
    lock_keys.extend(needs.emails.iter().map(|(_, email)| hash(("email", email))));
}

fn hash(name: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

/// A batch with a line whose postings do not sum to 0 is not written.
#[derive(Debug, thiserror::Error)]
#[error("the postings of the line {0} do not sum to 0")]
struct Unbalanced(Id);

/// Checks what a decision must never break, before the changes are written.
pub(super) fn verify(changes: &Changes) -> Result<(), Failure> {
    match changes.unbalanced_line() {
        Some(line) => Err(Failure::Write(Arc::new(Unbalanced(line)))),
        None => Ok(()),
    }
}

pub(super) fn decide(
    known: LoadedRows,
    batch: &[&Write],
) -> Result<Decided<WriteResult, Changes>, Panicked> {
    let (answers, changes) = decide_writes(known, batch).map_err(Panicked)?;
    Ok(Decided { answers, changes })
}
