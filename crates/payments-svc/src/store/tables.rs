//! Writes the rows that a batch changes, in either engine.
//!
//! The order of the tables in [`write()`] is the order in which a batch may wait for another one.

use common::sql::{Kind, Param, RowWriter, Stored as _, Table};

use super::{
    outcomes,
    values::{advances, bytes, millis, month, optional, year},
};
use crate::domain::{
    ApiKeyUse, App, Challenge, Decision, Id, Merchant, SandboxClock, User,
    write::{
        Balance, CaptureRow, Changes, InvitationAttempt, KeyChange, Membership, MerchantTexts,
        NewApiKey, NewDispute, NewIdempotencyKey, NewInvitation, NewOutboxEntry, NewPendingPayment,
        NewTransaction, NotificationRow, OutboxRetry, TransactionUpdate,
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
    let has_ended = |membership: &&Membership| membership.has_ended();
    let is_new = |membership: &&Membership| membership.is_new();

    changes.rows.write(rows)?;

    rows.delete(&API_KEY_IDS, &changes.deleted_api_keys)?;
    rows.delete(&OUTBOX_IDS, &changes.deleted_outbox_entries)?;
    rows.delete(&INVITATION_IDS, &changes.deleted_invitations)?;
    rows.delete(&INVITATIONS_OF_USERS, &changes.deleted_invitations_of)?;
    rows.delete(&PENDING_PAYMENT_IDS, &changes.deleted_pending_payments)?;
    rows.delete(&IDEMPOTENCY_KEYS, &changes.deleted_keys)?;
    rows.delete(&APPS_OF_MERCHANTS, changes.merchant_apps.values().filter(has_ended))?;
    rows.delete(&USERS_OF_MERCHANTS, changes.merchant_users.values().filter(has_ended))?;

    rows.update(&CLOCKS, changes.clocks.values())?;
    rows.update(&API_KEY_USES, changes.api_key_uses.values())?;
    rows.update(&MERCHANT_TEXTS, changes.merchant_texts.values())?;
    rows.update(&ATTEMPTS, changes.attempts.values())?;
    rows.update(&PREPARED, changes.authorizations.values())?;
    rows.update(&CHALLENGES, changes.challenges.values())?;
    rows.update(&TRANSACTION_UPDATES, changes.transaction_updates.values())?;
    rows.update(&CAPTURE_UPDATES, changes.captures.values().filter(|capture| !capture.is_new))?;
    rows.update(&OUTBOX_RETRIES, changes.outbox_retries.values())?;
    rows.update(&BALANCES, changes.balances.values())?;
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
    // On PostgreSQL, inserting an app adds its first key if the key is missing.
    rows.insert(&API_KEYS, changes.api_keys.values())?;
    rows.insert(&APPS, &changes.apps)?;
    rows.insert(&MERCHANTS, &changes.merchants)?;
    rows.insert(&BALANCES, &changes.new_balances)?;
    rows.insert(&INVITATIONS, changes.invitations.values())?;

    rows.insert(&USERS, changes.users.values())?;
    rows.insert(&USERS_OF_MERCHANTS, changes.merchant_users.values().filter(is_new))?;
    rows.insert(&NEW_APPS_OF_MERCHANTS, changes.merchant_apps.values().filter(is_new))?;
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

table! { API_KEY_IDS: "api_keys", Id = id, key { "id" Bytes: id.param() } {} }
table! { OUTBOX_IDS: "outbox", Id = id, key { "id" Bytes: id.param() } {} }
table! { INVITATION_IDS: "invitations", Id = id, key { "id" Bytes: id.param() } {} }
table! { PENDING_PAYMENT_IDS: "pending_payments", Id = id, key { "id" Bytes: id.param() } {} }
table! {
    INVITATIONS_OF_USERS: "invitations", (Id, Id) = (merchant, user),
    key { "merchant" Bytes: merchant.param(), "user" Bytes: user.param() } {}
}

table! {
    APPS: "apps", App = app,
    key { "id" Bytes: app.id.param() }
    {
        "name" Text: app.name.param(),
        "created" Int: millis(app.created),
    }
}

table! {
    CLOCKS: "apps", (Id, SandboxClock) = (app, clock),
    key { "id" Bytes: app.param() }
    {
        "advances" Text: advances(clock),
        "pending_advance" Bytes: clock.pending.param(),
    }
}

table! {
    API_KEYS: "api_keys", NewApiKey = key,
    key { "id" Bytes: key.id.param() }
    {
        "app" Bytes: key.app.param(),
        "digest" Bytes: key.digest.as_bytes().param(),
        "name" Text: key.name.param(),
        "created" Int: millis(key.created),
    }
}

table! {
    API_KEY_USES: "api_keys", ApiKeyUse = used,
    key { "id" Bytes: used.key.param() }
    { "last_used" Int: millis(used.hour) }
}

table! {
    USERS: "users", User = user,
    key { "id" Bytes: user.id.param() }
    { "email" Text: user.email.param(), "created" Int: millis(user.created) }
}

table! {
    MERCHANTS: "merchants", Merchant = Merchant { id, key, created, details, pricing, balance: _ },
    key { "id" Bytes: id.param() }
    {
        "key" Text: key.param(),
        "created" Int: millis(*created),
        "name" Text: details.name.param(),
        "currency" Text: details.currency.param(),
        "test" Bool: details.test.param(),
        "email" Text: details.email.param(),
        "website" Text: details.website.param(),
        "descriptor" Text: details.descriptor.param(),
        "country" Text: details.country.param(),
        "number" Text: details.registration_number.param(),
        "iban" Text: details.iban.param(),
        "fee_rate" Int: pricing.rate.param(),
        "fee_flat_currency" Text: pricing.flat.currency.param(),
        "fee_flat" Int: pricing.flat.minor.param(),
        "fee_dispute_currency" Text: pricing.dispute.currency.param(),
        "fee_dispute" Int: pricing.dispute.minor.param(),
    }
}

table! {
    MERCHANT_TEXTS: "merchants", MerchantTexts = texts,
    key { "id" Bytes: texts.merchant.param() }
    {
        "name" Text: texts.name.param(), "email" Text: texts.email.param(),
        "descriptor" Text: texts.descriptor.param(),
    }
}

table! {
    BALANCES: "balances", Balance = balance,
    key { "merchant" Bytes: balance.merchant.param(), "shard" Int: balance.shard.param() }
    { "balance" Int: balance.minor.param() }
}

table! {
    NEW_APPS_OF_MERCHANTS: "merchant_apps", Membership = membership,
    key { "merchant" Bytes: membership.merchant.param(), "app" Bytes: membership.member.param() }
    { "test" Bool: membership.test.param() }
}

table! {
    APPS_OF_MERCHANTS: "merchant_apps", Membership = membership,
    key { "merchant" Bytes: membership.merchant.param(), "app" Bytes: membership.member.param() } {}
}

table! {
    USERS_OF_MERCHANTS: "merchant_users", Membership = membership,
    key {
        "merchant" Bytes: membership.merchant.param(), "user" Bytes: membership.member.param(),
    } {}
}

table! {
    INVITATIONS: "invitations", NewInvitation = invitation,
    key { "id" Bytes: invitation.id.param() }
    {
        "merchant" Bytes: invitation.merchant.param(),
        "app" Bytes: invitation.app.param(),
        "user" Bytes: invitation.user.param(),
        "created" Int: millis(invitation.created),
    }
}

table! {
    ATTEMPTS: "invitations", InvitationAttempt = attempt,
    key { "id" Bytes: attempt.invitation.param() }
    { "attempts" Int: attempt.attempts.param(), "due" Int: millis(attempt.due) }
}

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
