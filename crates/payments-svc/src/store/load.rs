//! The statements that load a batch, shared by both engines. An engine adds the condition on the
//! key, and PostgreSQL adds the locks.
//!
//! The order of the statements matters:
//!
//! 1. [`LOCKED`] comes first. While these rows are locked, no other batch changes the rows that are
//!    read after them and belong to them, such as the captures of a transaction.
//! 2. [`READ`] comes after the locks, and then the rows that `RowKeys` names. Idempotency keys are
//!    among them. The repeat of a movement locks the same transaction. So when its batch has the
//!    lock, it finds the idempotency key that the first request stored.
//! 3. A row that completes another one comes after it: slices after their dispute, captures after
//!    their transaction, the key of a payment after the pending payment. Without the other row, it
//!    is dropped.
//!
//! Two more rules, each with a test in SQLite:
//!
//! 4. An index serves every statement. The engines rely on this: PostgreSQL runs them with
//!    sequential scans switched off.
//! 5. Parameters are numbered by their first appearance, as SQLite numbers them: the columns of the
//!    key from `$1`, then the further values.

use std::collections::BTreeSet;

use common::sql::{self, ColumnError, Columns, Group, Kind, Param, Stored as _};
use payments_domain::{
    Amounts, Capabilities, DisputedParts, Id, Mail, Merchant, Money, Name, Pricing, RefusedStep,
    Slice, TransactionState, Website, merchant_title,
    write::{
        ApiKeyRow, AppRow, AuthenticatorRow, CaptureRow, CapturesToLoad, DisputeRow, KeyRow,
        KeyState, LoadedRows, LoadedTransaction, MailRow, MerchantUser, Needs, PendingContext,
        PendingRow, ProgressRow, RecoveryCodeRow, SessionRow, SignInLinkRow, WebhookRow,
    },
};

use super::rows;

/// A statement that loads a batch. In [`LOCKED`], PostgreSQL skips rows that another process has
/// locked.
pub(super) type Query = sql::Query<Needs, LoadedRows>;

/// Loads whole rows by this column, without more.
macro_rules! by_column {
    ($field:ident: $row:ty, $column:literal, $lock:expr, $keys:expr) => {
        Query {
            select: sql::select::<$row>,
            key: &[($column, Kind::Bytes)],
            lock: $lock,
            keys: $keys,
            read: |known, columns| {
                known.rows.$field.load(Group::read(columns)?);
                Ok(())
            },
            ..Query::PLAIN
        }
    };
}

/// The address of a user in lower case, as a column of a key. The engines index it differently:
/// PostgreSQL replaces this name with an expression.
pub(super) const EMAIL: &str = "users.email";

/// Rows that PostgreSQL locks; see the module for the order.
pub(super) const LOCKED: [Query; 6] = [
    by_column!(merchants: Merchant, "id", Some("merchants"), |needs| {
        needs.merchants.iter().map(Id::param).collect()
    }),
    Query {
        select: || {
            format!(
                "SELECT {}, merchants.test
                 FROM pending_payments JOIN merchants ON merchants.id = pending_payments.merchant",
                PendingRow::of("pending_payments")
            )
        },
        key: &[("pending_payments.id", Kind::Bytes)],
        lock: Some("pending_payments"),
        keys: |needs| needs.pending_payments.iter().map(Id::param).collect(),
        read: |known, columns| {
            let row = PendingRow::read(columns)?;
            let context = PendingContext { test: columns.read()?, key: None };
            known.pending_payments.insert(row.id, context);
            known.rows.pending_payments.load(row);
            Ok(())
        },
        ..Query::PLAIN
    },
    Query {
        select: || {
            format!(
                "SELECT {}, coalesce(users.email, receipts.email), receipts.language,
                     merchants.name, website, country, {},
                     coalesce(disputes.amount, payouts.amount, transactions.amount),
                     coalesce(transactions.currency, payouts.currency), disputes.due
                 FROM mails LEFT JOIN users ON users.id = \"user\"
                     LEFT JOIN merchants ON merchants.id = mails.merchant
                     LEFT JOIN payouts ON payouts.id = mails.object
                     LEFT JOIN disputes ON disputes.id = mails.object
                     LEFT JOIN receipts ON receipts.\"transaction\" = mails.object
                     LEFT JOIN transactions ON transactions.id =
                         coalesce(disputes.\"transaction\", receipts.\"transaction\")",
                MailRow::of("mails"),
                rows::actor_name("mails")
            )
        },
        key: &[("mails.id", Kind::Bytes)],
        lock: Some("mails"),
        rest: "AND coalesce(users.email, receipts.email) IS NOT NULL",
        keys: |needs| needs.mails.iter().map(Id::param).collect(),
        read: |known, columns| {
            let row = MailRow::read(columns)?;
            let (to, language): (_, Option<String>) = (columns.read()?, columns.read()?);
            let (name, website): (Option<Name>, Option<Website>) =
                (columns.read()?, columns.read()?);
            let title = |website| merchant_title(name.as_ref(), website).to_owned();
            let merchant = website.as_ref().map(title);
            let (country, actor) = (columns.read()?, columns.read()?);
            let (minor, currency): (Option<i64>, _) = (columns.read()?, columns.read()?);
            let money = minor.zip(currency).map(|(minor, currency)| Money { minor, currency });
            let mail = Mail {
                id: row.id,
                kind: row.kind,
                to,
                merchant,
                country,
                page: row.merchant,
                object: row.object,
                money,
                answer_by: columns.read()?,
                actor,
                language: language.or_else(|| row.language.clone()),
                attempts: row.attempts,
                is_late: false,
            };
            known.mails.insert(row.id, mail);
            known.rows.mails.load(row);
            Ok(())
        },
        ..Query::PLAIN
    },
    Query {
        select: || {
            format!(
                "SELECT transactions.id, transactions.merchant, transactions.test, acquirer,
                     transactions.descriptor, transactions.currency, steps, merchants.currency,
                     error IS NULL, {}, {}, {}
                 FROM transactions JOIN merchants ON merchants.id = transactions.merchant",
                Pricing::of("merchants"),
                Amounts::of("transactions"),
                Capabilities::of("transactions")
            )
        },
        key: &[("transactions.id", Kind::Bytes)],
        lock: Some("transactions"),
        keys: |needs| needs.transactions.keys().map(Id::param).collect(),
        read: |known, columns| {
            let (id, merchant) = (columns.read()?, columns.read()?);
            let (test, acquirer) = (columns.read()?, columns.read()?);
            let (descriptor, currency, steps) = (columns.read()?, columns.read()?, columns.read()?);
            let (funding, successful) = (columns.read()?, columns.read()?);
            let pricing = Group::read(columns)?;
            let amounts = Amounts { successful, ..Group::read(columns)? };
            let capabilities = Capabilities::read(columns)?;
            let state = TransactionState {
                currency,
                amounts,
                steps,
                captures: Vec::new(),
                funding,
                pricing,
                capabilities,
                has_ended: capabilities.have_ended(known.now),
            };
            let disputed = DisputedParts::new();
            let loaded =
                LoadedTransaction { merchant, test, acquirer, descriptor, state, disputed };
            known.transactions.insert(id, loaded);
            Ok(())
        },
        ..Query::PLAIN
    },
    // The lock covers the API keys and webhooks of the app: their number is limited.
    by_column!(apps: AppRow, "id", Some("apps"), |needs| {
        needs.locked_apps.iter().map(Id::param).collect()
    }),
    // The lock covers all that the user signs in with.
    Query {
        select: || "SELECT id FROM users".to_owned(),
        key: &[("id", Kind::Bytes)],
        lock: Some("users"),
        keys: users,
        read: |known, columns| {
            known.users.insert(columns.read()?);
            Ok(())
        },
        ..Query::PLAIN
    },
];

/// Rows that are read after the locks; see the module for the order.
pub(super) const READ: [Query; 18] = [
    by_column!(api_keys: ApiKeyRow, "app", None, |needs| {
        needs.locked_apps.iter().map(Id::param).collect()
    }),
    Query {
        select: || format!("SELECT {} FROM captures", CaptureRow::of("captures")),
        key: &[("transaction", Kind::Bytes)],
        rest: "ORDER BY \"transaction\", step",
        keys: |needs| {
            let is_complete = |captures: &&CapturesToLoad| **captures == CapturesToLoad::All;
            let all = needs.transactions.iter().filter(|(_, captures)| is_complete(captures));
            all.map(|(transaction, _)| transaction.param()).collect()
        },
        read: captured,
        ..Query::PLAIN
    },
    Query {
        // The oldest captures that still have a refundable amount, until together they cover $2,
        // the largest sum of refunds that a transaction of the batch needs.
        select: || {
            format!(
                "SELECT {} FROM (
                     WITH RECURSIVE needed (\"transaction\", step, room) AS (
                         SELECT id, CAST(-1 AS bigint), CAST(0 AS bigint) FROM transactions",
                CaptureRow::of("captures")
            )
        },
        key: &[("id", Kind::Bytes)],
        rest: "UNION ALL
                         SELECT needed.\"transaction\", next.step, room + amount - amount_returned
                         FROM needed
                         JOIN captures AS next ON next.\"transaction\" = needed.\"transaction\"
                             AND next.step = (
                                 SELECT step FROM captures AS later
                                 WHERE later.\"transaction\" = needed.\"transaction\"
                                     AND later.step > needed.step AND amount_returned < amount
                                     AND NOT refused
                                 ORDER BY step LIMIT 1
                             )
                         WHERE room < CAST($2 AS bigint)
                     )
                     SELECT \"transaction\", step FROM needed
                 ) AS needed CROSS JOIN captures
                 WHERE captures.\"transaction\" = needed.\"transaction\"
                     AND captures.step = needed.step
                 ORDER BY captures.\"transaction\", captures.step",
        keys: |needs| refunds(needs).map(|(transaction, _)| transaction.param()).collect(),
        values: |needs| {
            let largest = refunds(needs).map(|(_, amount)| amount).max().unwrap_or(0);
            vec![Param::Int(largest)]
        },
        read: captured,
        ..Query::PLAIN
    },
    Query {
        // Steps that were not refused before.
        select: || {
            format!("SELECT \"transaction\", acquirer_key, {} FROM trail", RefusedStep::of("trail"))
        },
        key: &[("transaction", Kind::Bytes), ("acquirer_key", Kind::Bytes)],
        rest: "AND NOT EXISTS (
                   SELECT 1 FROM trail AS later
                   WHERE later.\"transaction\" = trail.\"transaction\"
                       AND later.reverses = trail.step
               ) AND NOT EXISTS (
                   SELECT 1 FROM refused_voids
                   WHERE refused_voids.\"transaction\" = trail.\"transaction\"
                       AND refused_voids.step = trail.step
               )",
        keys: |needs| {
            let refusals = needs.refusals.iter();
            refusals.flat_map(|(id, key)| [id.param(), key.param()]).collect()
        },
        read: |known, columns| {
            let name = (columns.read()?, columns.read()?);
            known.refusable_steps.insert(name, Group::read(columns)?);
            Ok(())
        },
        ..Query::PLAIN
    },
    Query {
        select: || {
            format!(
                "SELECT \"transaction\", {}
                 FROM disputes JOIN slices ON slices.dispute = disputes.id",
                Slice::of("slices")
            )
        },
        key: &[("transaction", Kind::Bytes)],
        rest: "AND slices.step IS NOT NULL AND NOT again AND decision IS DISTINCT FROM 'won'",
        keys: |needs| {
            let transactions: BTreeSet<&Id> = needs.refusals.iter().map(|(id, _)| id).collect();
            transactions.into_iter().map(Id::param).collect()
        },
        read: |known, columns| {
            let transaction: Id = columns.read()?;
            let slice = Slice::read(columns)?;
            if let Some(loaded) = known.transactions.get_mut(&transaction)
                && let Some(step) = slice.step
            {
                loaded.disputed.entry(step).or_default().change(&slice, i64::saturating_add);
            }
            Ok(())
        },
        ..Query::PLAIN
    },
    Query {
        select: || format!("SELECT {} FROM disputes", DisputeRow::of("disputes")),
        key: &[("transaction", Kind::Bytes), ("reference", Kind::Text)],
        keys: disputes,
        read: |known, columns| {
            let row = DisputeRow::read(columns)?;
            let name = (row.transaction, row.reference.as_str().to_owned());
            known.disputes.insert(name, row.state(Vec::new()));
            known.rows.disputes.load(row);
            Ok(())
        },
        ..Query::PLAIN
    },
    Query {
        select: || {
            format!(
                "SELECT \"transaction\", reference, {}
                 FROM disputes JOIN slices ON slices.dispute = disputes.id",
                Slice::of("slices")
            )
        },
        key: &[("transaction", Kind::Bytes), ("reference", Kind::Text)],
        rest: "ORDER BY disputes.id, number",
        keys: disputes,
        read: |known, columns| {
            let name = (columns.read()?, columns.read()?);
            let slice = Slice::read(columns)?;
            if let Some(contest) = known.disputes.get_mut(&name) {
                contest.slices.push(slice);
            }
            Ok(())
        },
        ..Query::PLAIN
    },
    Query {
        select: || "SELECT \"transaction\", dispute, decision FROM notifications".to_owned(),
        key: &[("transaction", Kind::Bytes), ("dispute", Kind::Text)],
        rest: "ORDER BY created, id",
        keys: disputes,
        read: |known, columns| {
            let (name, decision) = ((columns.read()?, columns.read()?), columns.read()?);
            known.wait(name, decision);
            Ok(())
        },
        ..Query::PLAIN
    },
    by_column!(sign_in_links: SignInLinkRow, "user", None, users),
    by_column!(sessions: SessionRow, "user", None, users),
    by_column!(authenticators: AuthenticatorRow, "user", None, users),
    by_column!(recovery_codes: RecoveryCodeRow, "user", None, users),
    Query {
        select: || "SELECT merchant, count(*) FROM merchant_users".to_owned(),
        key: &[("merchant", Kind::Bytes)],
        rest: "AND accepted IS NOT NULL GROUP BY merchant",
        keys: |needs| needs.members.iter().map(Id::param).collect(),
        read: |known, columns| {
            known.members.insert(columns.read()?, columns.read()?);
            Ok(())
        },
        ..Query::PLAIN
    },
    Query {
        select: || {
            "SELECT disputes.merchant, CAST(sum(size) AS bigint)
             FROM disputes JOIN evidence ON evidence.dispute = disputes.id"
                .to_owned()
        },
        key: &[("disputes.merchant", Kind::Bytes)],
        rest: "AND decision IS NULL AND size > 0 GROUP BY disputes.merchant",
        keys: |needs| needs.evidence.iter().map(Id::param).collect(),
        read: |known, columns| {
            known.evidence.insert(columns.read()?, columns.read()?);
            Ok(())
        },
        ..Query::PLAIN
    },
    Query {
        select: || "SELECT id, email FROM users".to_owned(),
        key: &[(EMAIL, Kind::Text)],
        keys: |needs| needs.emails.iter().map(|(_, email)| email.param()).collect(),
        read: |known, columns| {
            let (user, email): (Id, String) = (columns.read()?, columns.read()?);
            known.users_by_email.insert(email.to_ascii_lowercase(), user);
            Ok(())
        },
        ..Query::PLAIN
    },
    Query {
        select: || {
            format!(
                "SELECT {}
                 FROM users JOIN merchant_users ON merchant_users.\"user\" = users.id",
                MerchantUser::of("merchant_users")
            )
        },
        key: &[("merchant_users.merchant", Kind::Bytes), (EMAIL, Kind::Text)],
        keys: |needs| {
            needs.emails.iter().flat_map(|(id, email)| [id.param(), email.param()]).collect()
        },
        read: |known, columns| {
            known.rows.merchant_users.load(Group::read(columns)?);
            Ok(())
        },
        ..Query::PLAIN
    },
    Query {
        select: || {
            format!(
                "SELECT {}, {} FROM webhooks JOIN webhook_progress ON webhook = id",
                WebhookRow::of("webhooks"),
                ProgressRow::of("webhook_progress")
            )
        },
        key: &[("app", Kind::Bytes)],
        // Another process that takes a webhook changes its epoch, and does not lock the app.
        lock: Some("webhook_progress"),
        keys: |needs| needs.locked_apps.iter().map(Id::param).collect(),
        read: |known, columns| {
            known.rows.webhooks.load(Group::read(columns)?);
            known.rows.webhook_progress.load(Group::read(columns)?);
            Ok(())
        },
        ..Query::PLAIN
    },
    Query {
        select: || format!("SELECT {} FROM idempotency", KeyRow::of("idempotency")),
        key: &[("pending_payment", Kind::Bytes)],
        keys: |needs| needs.pending_payments.iter().map(Id::param).collect(),
        read: |known, columns| {
            let row = KeyRow::read(columns)?;
            if let KeyState::InFlight(pending_payment) = &row.state
                && let Some(context) = known.pending_payments.get_mut(pending_payment)
            {
                context.key = Some((row.app, row.key.clone()));
                known.rows.keys.load(row);
            }
            Ok(())
        },
        ..Query::PLAIN
    },
];

fn users(needs: &Needs) -> Vec<Param<'_>> {
    needs.users.iter().map(Id::param).collect()
}

fn captured(known: &mut LoadedRows, columns: &mut Columns<'_>) -> Result<(), ColumnError> {
    let row = CaptureRow::read(columns)?;
    if let Some(loaded) = known.transactions.get_mut(&row.transaction) {
        loaded.state.captures.push(row.capture());
    }
    Ok(())
}

/// The transactions with refunds in this batch, and the sum of these refunds.
fn refunds(needs: &Needs) -> impl Iterator<Item = (&Id, i64)> {
    needs.transactions.iter().filter_map(|(transaction, captures)| match captures {
        CapturesToLoad::Refundable(amount) => Some((transaction, *amount)),
        CapturesToLoad::None | CapturesToLoad::All => None,
    })
}

fn disputes(needs: &Needs) -> Vec<Param<'_>> {
    needs.disputes.iter().flat_map(|(id, reference)| [id.param(), reference.param()]).collect()
}
