//! Writes the rows that a batch changes, in either engine.
//!
//! The order of the tables in [`write()`] is the order in which a batch may wait for another one.

use common::sql::{Kind, Param, Row as _, RowWriter, Stored as _, Table};

use super::{
    outcomes,
    values::{bytes, millis, month, optional, year},
};
use crate::domain::{
    Challenge, Decision, Id, User,
    write::{
        CaptureRow, Changes, KeyChange, NewDispute, NewIdempotencyKey, NewOutboxEntry,
        NewPendingPayment, NewTransaction, NotificationRow, OutboxRetry, TransactionUpdate,
    },
};

/// Writes the changes of a batch, always in this order:
///
/// 1. deletes,
/// 2. updates,
/// 3. inserts of rows that no other batch inserts,
/// 4. inserts that can collide with those of another batch at a unique index.
///
/// Rows that another batch can also write (deletes, updates, the inserts of group 4) are sorted by
/// key. So two batches never deadlock: all batches take locks in the same order.
pub(super) fn write<'a, R: RowWriter<'a>>(
    changes: &'a Changes,
    rows: &mut R,
) -> Result<(), R::Error> {
    changes.rows.write(rows)?;

    rows.delete(&OUTBOX_IDS, &changes.deleted_outbox_entries)?;
    rows.delete(&PENDING_PAYMENT_IDS, &changes.deleted_pending_payments)?;
    rows.delete(&IDEMPOTENCY_KEYS, &changes.deleted_keys)?;

    rows.update(&PREPARED, changes.authorizations.values())?;
    rows.update(&CHALLENGES, changes.challenges.values())?;
    rows.update(&TRANSACTION_UPDATES, changes.transaction_updates.values())?;
    rows.update(&CAPTURE_UPDATES, changes.captures.values().filter(|capture| !capture.is_new))?;
    rows.update(&OUTBOX_RETRIES, changes.outbox_retries.values())?;
    rows.update(&DECISIONS, changes.decisions.values())?;
    rows.update(&CONCLUDED_KEYS, changes.concluded_keys.values())?;
    rows.update(&EXPIRY, &changes.expired_through)?;

    rows.insert(&TRANSACTIONS, &changes.transactions)?;
    let has_custom = |new: &&NewTransaction| new.transaction.custom.is_some();
    rows.insert(&CUSTOMS, changes.transactions.iter().filter(has_custom))?;
    rows.insert(&AUTHORIZATIONS, &changes.transactions)?;
    rows.insert(&CAPTURES, changes.captures.values().filter(|capture| capture.is_new))?;
    rows.insert(&OUTBOX, &changes.outbox_entries)?;
    rows.insert(&PENDING_PAYMENTS, &changes.pending_payments)?;
    rows.insert(&DISPUTES, changes.disputes.values())?;

    rows.insert(&User::INSERT, changes.users.values())?;
    rows.insert(&NOTIFICATIONS, changes.notifications.values())?;
    rows.insert(&IDEMPOTENCY, changes.keys.values())
}

/// Declares a [`Table`]: the name and the kind of each column, and its value in a row.
macro_rules! table {
    (
        $name:ident: $table:literal, $type:ty = $row:pat_param,
        key { $($key:literal $key_kind:ident: $key_value:expr),* $(,)? }
        { $($column:literal $kind:ident: $value:expr),* $(,)? }
    ) => {
        const $name: Table<$type> = Table {
            name: $table,
            key: &[$(($key, Kind::$key_kind)),*],
            values: &[$(($column, Kind::$kind)),*],
            params: |$row, out| out.extend([$($key_value,)* $($value),*]),
        };
    };
}

table! { OUTBOX_IDS: "outbox", Id = id, key { "id" Bytes: id.param() } {} }
table! { PENDING_PAYMENT_IDS: "pending_payments", Id = id, key { "id" Bytes: id.param() } {} }
table! {
    PENDING_PAYMENTS: "pending_payments",
    NewPendingPayment = NewPendingPayment { id, key, created, payment, link },
    key { "id" Bytes: id.param() }
    {
        "acquirer_key" Bytes: optional(key.digest(), bytes),
        "merchant" Bytes: payment.merchant.param(),
        "created" Int: millis(*created),
        "currency" Text: payment.currency.param(),
        "amount" Int: payment.amount.param(),
        "descriptor" Text: payment.descriptor.param(),
        "custom" Text: payment.custom.param(),
        "recurring" Bool: payment.recurring.param(),
        "acquirer" Text: payment.acquirer.param(),
        "link" Bytes: optional(link.as_ref(), bytes),
    }
}

table! {
    PREPARED: "pending_payments", (Id, String) = (pending_payment, authorization),
    key { "id" Bytes: pending_payment.param() }
    { "authorization" Text: authorization.param() }
}

table! {
    CHALLENGES: "pending_payments",
    (Id, Challenge) = (pending_payment, Challenge { authorization: _, card, reference, until }),
    key { "id" Bytes: pending_payment.param() }
    {
        "bin" Text: card.bin.param(),
        "last4" Text: card.last4.param(),
        "expiry_year" Int: year(card), "expiry_month" Int: month(card),
        "scheme" Text: card.scheme.param(),
        "code_present" Bool: card.code_present.param(),
        "challenge" Text: reference.param(),
        "challenge_until" Int: millis(*until),
    }
}

table! {
    TRANSACTIONS: "transactions",
    NewTransaction =
        NewTransaction { transaction, pending_payment, key, authorization, acquirer, reference },
    key { "id" Bytes: transaction.id.param() }
    {
        "merchant" Bytes: transaction.merchant.param(),
        "test" Bool: transaction.test.param(),
        "pending_payment" Bytes: pending_payment.param(),
        "acquirer_key" Bytes: optional(key.digest(), bytes),
        "authorization" Text: authorization.param(),
        "acquirer" Text: acquirer.param(),
        "created" Int: millis(transaction.created),
        "currency" Text: transaction.currency.param(),
        "amount" Int: transaction.amounts.amount.param(),
        "error" Int: transaction.error.param(),
        "descriptor" Text: transaction.descriptor.param(),
        "bin" Text: optional(transaction.card.as_ref(), |card| card.bin.param()),
        "last4" Text: optional(transaction.card.as_ref(), |card| card.last4.param()),
        "expiry_year" Int: optional(transaction.card.as_ref(), year),
        "expiry_month" Int: optional(transaction.card.as_ref(), month),
        "scheme" Text: optional(transaction.card.as_ref(), |card| card.scheme.param()),
        "code_present" Bool: optional(transaction.card.as_ref(), |card| card.code_present.param()),
        "tds" Text: transaction.tds.param(),
        "recurring" Bool: transaction.recurring.param(),
        "reference" Text: reference.param(),
        "has_custom" Bool: Param::Bool(transaction.custom.is_some()),
    }
}

table! {
    CUSTOMS: "customs", NewTransaction = NewTransaction { transaction, .. },
    key { "transaction" Bytes: transaction.id.param() }
    { "custom" Text: transaction.custom.param() }
}

table! {
    AUTHORIZATIONS: "authorizations",
    NewTransaction = NewTransaction { transaction, pending_payment, .. },
    key { "pending_payment" Bytes: pending_payment.param() }
    {
        "currency" Text: transaction.currency.param(),
        "amount" Int: transaction.amounts.amount.param(),
    }
}

table! {
    TRANSACTION_UPDATES: "transactions",
    TransactionUpdate = TransactionUpdate { transaction, amounts, steps },
    key { "id" Bytes: transaction.param() }
    {
        "captured" Int: amounts.captured.param(),
        "refunded" Int: amounts.refunded.param(),
        "voided" Int: amounts.voided.param(),
        "disputed" Int: amounts.disputed.param(),
        "steps" Int: steps.param(),
    }
}

table! {
    CAPTURES: "captures", CaptureRow = CaptureRow { transaction, captured, is_new: _ },
    key { "transaction" Bytes: transaction.param(), "step" Int: captured.step.param() }
    {
        "amount" Int: captured.amount.param(),
        "gross" Int: captured.gross.param(),
        "fee" Int: captured.fee.param(),
        "rate" Text: captured.rate.param(),
        "spread" Int: captured.spread.param(),
        "amount_returned" Int: captured.amount_returned.param(),
        "gross_returned" Int: captured.gross_returned.param(),
        "fee_returned" Int: captured.fee_returned.param(),
    }
}

table! {
    CAPTURE_UPDATES: "captures", CaptureRow = CaptureRow { transaction, captured, is_new: _ },
    key { "transaction" Bytes: transaction.param(), "step" Int: captured.step.param() }
    {
        "amount_returned" Int: captured.amount_returned.param(),
        "gross_returned" Int: captured.gross_returned.param(),
        "fee_returned" Int: captured.fee_returned.param(),
        "refused" Bool: captured.is_refused.param(),
    }
}

table! {
    OUTBOX: "outbox", NewOutboxEntry = entry,
    key { "id" Bytes: entry.id.param() }
    {
        "acquirer_key" Bytes: optional(entry.key.digest(), bytes),
        "transaction" Bytes: entry.transaction.param(),
        "movement" Text: entry.kind.param(),
        "amount" Int: entry.amount.param(),
        "step" Int: entry.step.param(),
    }
}

table! {
    OUTBOX_RETRIES: "outbox", OutboxRetry = retry,
    key { "id" Bytes: retry.entry.param() }
    { "attempts" Int: retry.attempts.param(), "due" Int: millis(retry.due) }
}

table! {
    NOTIFICATIONS: "notifications",
    NotificationRow = NotificationRow { id, transaction, created, waiting_decision },
    key { "id" Text: id.param() }
    {
        "transaction" Bytes: transaction.param(),
        "created" Int: millis(*created),
        "dispute" Text: optional(waiting_decision.as_ref(), |(dispute, _)| dispute.param()),
        "decision" Text: optional(waiting_decision.as_ref(), |(_, decision)| decision.param()),
    }
}

table! {
    DISPUTES: "disputes", NewDispute = NewDispute { dispute, reference, line, decision },
    key { "id" Bytes: dispute.id.param() }
    {
        "merchant" Bytes: dispute.merchant.param(),
        "transaction" Bytes: dispute.transaction.param(),
        "reference" Text: reference.param(),
        "created" Int: millis(dispute.created),
        "amount" Int: dispute.amount.param(),
        "reason_code" Int: optional(dispute.reason.as_ref(), |reason| reason.code.param()),
        "reason_title" Text: optional(dispute.reason.as_ref(), |reason| reason.title.param()),
        "due" Int: millis(dispute.due),
        "line" Bytes: line.param(),
        "decision" Text: decision.param(),
    }
}

table! {
    DECISIONS: "disputes", (Id, Decision) = (dispute, decision),
    key { "id" Bytes: dispute.param() }
    { "decision" Text: decision.param() }
}

table! {
    IDEMPOTENCY: "idempotency", NewIdempotencyKey = new,
    key { "app" Bytes: new.app.param(), "key" Text: new.key.param() }
    {
        "request" Bytes: new.request.param(),
        "created" Int: millis(new.created),
        "pending_payment" Bytes: optional(new.state.pending_payment(), Id::param),
        "outcome" Text: optional(new.state.outcome(), outcomes::json),
        "transaction" Bytes: optional(new.state.moved(), |moved| moved.transaction.param()),
        "steps" Int: optional(new.state.moved(), |moved| moved.steps.param()),
        "disputed" Int: optional(new.state.moved(), |moved| moved.disputed.param()),
    }
}

table! {
    IDEMPOTENCY_KEYS: "idempotency", (Id, String) = (app, key),
    key { "app" Bytes: app.param(), "key" Text: key.param() } {}
}

table! {
    CONCLUDED_KEYS: "idempotency", KeyChange = KeyChange { app, key, outcome },
    key { "app" Bytes: app.param(), "key" Text: key.param() }
    { "pending_payment" Bytes: Param::Null, "outcome" Text: outcomes::json(outcome) }
}

// The table has one row.
table! {
    EXPIRY: "expiry", Id = through,
    key { "only" Bool: Param::Bool(true) }
    { "through" Bytes: through.param() }
}
