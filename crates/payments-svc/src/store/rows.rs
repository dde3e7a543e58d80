//! Rows as domain types. A constant with the name of a function lists the columns that the function
//! reads, in the same order. Both engines use them.

use std::{sync::LazyLock, time::Duration};

use common::sql::{BadCell, Cell, ColumnError, Columns, Param, Stored};

use super::{
    Found, OldTransaction, OverdueDispute,
    api_keys::StoredApiKey,
    values::{
        acquirer_key, card, factor, money, optional_card, optional_time, read_advances, time,
    },
};
use crate::domain::{
    Amounts, ApiKeyDetails, App, Authorization, BalanceLine, Capture, CardOnFile, Challenge,
    Delivery, DeliveryAttempt, DeliveryOutcome, Dispute, Fact, Failures, Fee, FraudAlert, Id,
    Merchant, MerchantDetails, NewEvent, OutboxEntry, Payout, PayoutRequest, PayoutRun, Pricing,
    ProcessingError, Progress, QueuedEntry, Reason, RefusedStep, Retry, SandboxClock, SavedCard,
    Slice, Step, Terms, Transaction, TransactionTerms, Transfer, UnansweredPayment, User, Webhook,
    WebhookDetails, WebhookSecrets, write::WebhookState,
};

type Read<T> = Result<T, ColumnError>;

/// Reads a value, and from the next column whether the app is a member of its merchant.
pub(super) fn found<T>(
    value: impl Fn(&mut Columns<'_>) -> Read<T>,
) -> impl Fn(&mut Columns<'_>) -> Read<Found<T>> {
    move |columns| Ok(Found { value: value(columns)?, is_member: columns.read()? })
}

/// A column: whether the app with the API key `$1` is a member of the merchant in the column
/// `merchant`. False if the key was deleted.
pub(super) fn is_member(merchant: &str) -> String {
    is_member_by("$1", merchant)
}

/// Like [`is_member`], with the column or parameter of the digest. Both selects find one row by an
/// index. With a join, PostgreSQL may read all members of the merchant.
pub(super) fn is_member_by(digest: &str, merchant: &str) -> String {
    format!(
        "EXISTS (SELECT 1 FROM merchant_apps WHERE merchant_apps.merchant = {merchant}
                     AND merchant_apps.app =
                         (SELECT api_keys.app FROM api_keys WHERE api_keys.digest = {digest}))"
    )
}

pub(super) const APP: &str = "apps.id, apps.name, apps.created";

pub(super) fn app(columns: &mut Columns<'_>) -> Read<App> {
    Ok(App { id: columns.read()?, name: columns.read()?, created: time(columns)? })
}

/// Reads the columns of [`APP`], then the ID of the key and last_used.
pub(super) fn stored_api_key(columns: &mut Columns<'_>) -> Read<StoredApiKey> {
    let app = app(columns)?;
    Ok(StoredApiKey { app, id: columns.read()?, last_used: optional_time(columns)? })
}

pub(super) const API_KEY: &str = "id, name, created, last_used";

pub(super) fn api_key(columns: &mut Columns<'_>) -> Read<ApiKeyDetails> {
    Ok(ApiKeyDetails {
        id: columns.read()?,
        name: columns.read()?,
        created: time(columns)?,
        last_used: optional_time(columns)?,
    })
}

pub(super) const USER: &str = "users.id, email, created";

pub(super) fn user(columns: &mut Columns<'_>) -> Read<User> {
    Ok(User { id: columns.read()?, email: columns.read()?, created: time(columns)? })
}

pub(super) const MERCHANT: &str =
    "merchants.id, key, created, name, currency, merchants.test, email, website, descriptor,
     country, number, iban, fee_rate, fee_flat_currency, fee_flat, fee_dispute_currency,
     fee_dispute,
     (SELECT CAST(sum(balance) AS bigint) FROM balances WHERE balances.merchant = merchants.id)";

pub(super) fn merchant(columns: &mut Columns<'_>) -> Read<Merchant> {
    let (id, key, created) = (columns.read()?, columns.read()?, time(columns)?);
    let details = MerchantDetails {
        name: columns.read()?,
        currency: columns.read()?,
        test: columns.read()?,
        email: columns.read()?,
        website: columns.read()?,
        descriptor: columns.read()?,
        country: columns.read()?,
        registration_number: columns.read()?,
        iban: columns.read()?,
    };
    let (pricing, balance) = (pricing(columns)?, columns.read()?);
    Ok(Merchant { id, key, created, details, pricing, balance })
}

pub(super) fn pricing(columns: &mut Columns<'_>) -> Read<Pricing> {
    Ok(Pricing { rate: columns.read()?, flat: money(columns)?, dispute: money(columns)? })
}

pub(super) const TRANSACTION_TERMS: &str =
    "transactions.id, transactions.merchant, transactions.currency, merchants.currency,
     merchants.test, fee_rate, fee_flat_currency, fee_flat, fee_dispute_currency, fee_dispute";

pub(super) fn transaction_terms(columns: &mut Columns<'_>) -> Read<TransactionTerms> {
    let (id, merchant, currency) = (columns.read()?, columns.read()?, columns.read()?);
    let (funding, test, pricing) = (columns.read()?, columns.read()?, pricing(columns)?);
    let terms = Terms { currency: funding, test, pricing };
    Ok(TransactionTerms { id, merchant, currency, terms })
}

pub(super) const TRANSACTION: &str =
    "transactions.id, transactions.merchant, transactions.test, transactions.created,
     transactions.currency, error, amount, captured, refunded, voided, disputed,
     transactions.descriptor, bin, last4, expiry_year, expiry_month, scheme, code_present, custom,
     tds, recurring, steps";
/// The `FROM` item for [`TRANSACTION`].
pub(super) const TRANSACTIONS: &str =
    "transactions LEFT JOIN customs ON has_custom AND \"transaction\" = transactions.id";

/// Reads a transaction without its trail, and the number of its steps.
pub(super) fn transaction(columns: &mut Columns<'_>) -> Read<(Transaction, u32)> {
    let (id, merchant, test) = (columns.read()?, columns.read()?, columns.read()?);
    let (created, currency, error) = (time(columns)?, columns.read()?, columns.read()?);
    let transaction = Transaction {
        id,
        merchant,
        test,
        created,
        currency,
        amounts: amounts(columns, error)?,
        descriptor: columns.read()?,
        card: optional_card(columns)?,
        custom: columns.read()?,
        tds: columns.read()?,
        recurring: columns.read()?,
        error,
        trail: Vec::new(),
    };
    Ok((transaction, columns.read()?))
}

/// Reads five columns: amount, captured, refunded, voided, disputed.
pub(super) fn amounts(columns: &mut Columns<'_>, error: Option<ProcessingError>) -> Read<Amounts> {
    Ok(Amounts {
        amount: columns.read()?,
        captured: columns.read()?,
        refunded: columns.read()?,
        voided: columns.read()?,
        disputed: columns.read()?,
        successful: error.is_none(),
    })
}

pub(super) const STEP: &str =
    "trail.created, movement, trail.amount, balance, fee_flat, fee_rate, trail.descriptor, line,
     dispute";

pub(super) fn step(columns: &mut Columns<'_>) -> Read<Step> {
    Ok(Step {
        created: time(columns)?,
        movement: columns.read()?,
        amount: columns.read()?,
        balance: columns.read()?,
        fee: Fee { flat: columns.read()?, rate: columns.read()? },
        descriptor: columns.read()?,
        line: columns.read()?,
        dispute: columns.read()?,
    })
}

/// Reads six columns: step, movement, amount, balance, fee_flat, fee_rate.
pub(super) fn refused_step(columns: &mut Columns<'_>) -> Read<RefusedStep> {
    Ok(RefusedStep {
        number: columns.read()?,
        movement: columns.read()?,
        amount: columns.read()?,
        balance: columns.read()?,
        fee: Fee { flat: columns.read()?, rate: columns.read()? },
    })
}

/// Adds the first `steps` steps of the trail to its transaction. Later steps were added after the
/// transaction was read, so they do not fit its amounts.
pub(super) fn with_trail(
    (mut transaction, steps): (Transaction, u32),
    trail: Vec<Step>,
) -> Transaction {
    transaction.trail = trail;
    transaction.trail.truncate(steps.try_into().unwrap_or(usize::MAX));
    transaction
}

/// Reads ten columns: step, amount, gross, fee, amount_returned, gross_returned, fee_returned,
/// rate, spread, refused.
pub(super) fn captured(columns: &mut Columns<'_>) -> Read<Capture> {
    Ok(Capture {
        step: columns.read()?,
        amount: columns.read()?,
        gross: columns.read()?,
        fee: columns.read()?,
        amount_returned: columns.read()?,
        gross_returned: columns.read()?,
        fee_returned: columns.read()?,
        rate: factor(columns)?,
        spread: columns.read()?,
        is_refused: columns.read()?,
    })
}

pub(super) const LINE: &str = "lines.id, lines.merchant, merchants.test, lines.created, balance,
     fee, kind, \"transaction\", lines.currency, amount";
/// The `FROM` item for [`LINE`].
pub(super) const LINES: &str = "lines JOIN merchants ON merchants.id = lines.merchant";

pub(super) fn line(columns: &mut Columns<'_>) -> Read<BalanceLine> {
    Ok(BalanceLine {
        id: columns.read()?,
        merchant: columns.read()?,
        test: columns.read()?,
        created: time(columns)?,
        balance: columns.read()?,
        fee: columns.read()?,
        kind: columns.read()?,
        transaction: columns.read()?,
        amount: money(columns)?,
    })
}

/// Reads the columns id, merchant, created, those of `CARD`, notes.
pub(super) fn saved_card(columns: &mut Columns<'_>) -> Read<SavedCard> {
    let (id, merchant, created) = (columns.read()?, columns.read()?, time(columns)?);
    Ok(SavedCard { id, merchant, created, card: card(columns)?, notes: columns.read()? })
}

/// Reads the columns of `CARD`, then acquirer, reference.
pub(super) fn card_on_file(columns: &mut Columns<'_>) -> Read<CardOnFile> {
    let (card, acquirer) = (card(columns)?, columns.read()?);
    Ok(CardOnFile { card, acquirer, reference: columns.read()? })
}

/// The columns of an authorization in `pending_payments`, for [`authorization`].
pub(super) const PENDING_AUTHORIZATION: &str = "acquirer, pending_payments.id,
     pending_payments.acquirer_key, \"authorization\"";

/// Reads four columns: acquirer, the ID of the pending payment, acquirer_key, authorization.
fn authorization(columns: &mut Columns<'_>) -> Read<Authorization> {
    let (acquirer, pending_payment) = (columns.read()?, columns.read()?);
    let key = acquirer_key(columns, pending_payment)?;
    Ok(Authorization { acquirer, key, id: columns.read()? })
}

/// Reads the columns pending_payments.id and [`PENDING_AUTHORIZATION`].
pub(super) fn unanswered(columns: &mut Columns<'_>) -> Read<UnansweredPayment> {
    Ok(UnansweredPayment { id: columns.read()?, authorization: authorization(columns)? })
}

/// Reads the columns of [`PENDING_AUTHORIZATION`] and `CARD`, then challenge, challenge_until.
pub(super) fn challenge(columns: &mut Columns<'_>) -> Read<Challenge> {
    Ok(Challenge {
        authorization: authorization(columns)?,
        card: card(columns)?,
        reference: columns.read()?,
        until: time(columns)?,
    })
}

const ENTRY: &str = "outbox.id, outbox.acquirer_key, transactions.id,
     acquirer, pending_payment, transactions.acquirer_key,
     \"authorization\", reference, movement, currency, outbox.amount,
     voided = transactions.amount, movement = 'capture' AND step = (
         SELECT min(step) FROM captures WHERE captures.\"transaction\" = transactions.id
     )";

/// Columns of `outbox` and their `transactions` for [`queued`], with the earliest postponed entry
/// before each one.
pub(super) static QUEUED: LazyLock<String> = LazyLock::new(|| {
    let first = |column| {
        format!(
            "(SELECT first.{column} FROM outbox AS first
              WHERE first.\"transaction\" = outbox.\"transaction\"
                  AND first.due IS NOT NULL AND first.id < outbox.id
              ORDER BY first.id LIMIT 1)"
        )
    };
    format!("{ENTRY}, attempts, {}, {}", first("id"), first("due"))
});

/// Reads the columns advances, pending_advance.
pub(super) fn clock(columns: &mut Columns<'_>) -> Read<SandboxClock> {
    Ok(SandboxClock { advances: read_advances(columns)?, pending: columns.read()? })
}

pub(super) fn queued(columns: &mut Columns<'_>) -> Read<QueuedEntry> {
    let (entry, attempts) = (entry(columns)?, columns.read()?);
    let first: Option<Id> = columns.read()?;
    Ok(QueuedEntry { entry, attempts, behind: first.zip(optional_time(columns)?) })
}

fn entry(columns: &mut Columns<'_>) -> Read<OutboxEntry> {
    let id = columns.read()?;
    let key = acquirer_key(columns, id)?;
    Ok(OutboxEntry {
        id,
        key,
        transaction: columns.read()?,
        authorization: authorization(columns)?,
        reference: columns.read()?,
        kind: columns.read()?,
        currency: columns.read()?,
        amount: columns.read()?,
        is_fully_voided: columns.read()?,
        is_first_capture: columns.read()?,
    })
}

pub(super) const DISPUTE: &str =
    "id, merchant, \"transaction\", created, amount, reason_code, reason_title, due";

pub(super) fn dispute(columns: &mut Columns<'_>) -> Read<Dispute> {
    let (id, merchant, transaction) = (columns.read()?, columns.read()?, columns.read()?);
    let (created, amount) = (time(columns)?, columns.read()?);
    let (code, title): (Option<i64>, Option<String>) = (columns.read()?, columns.read()?);
    let reason = code.zip(title).map(|(code, title)| Reason { code, title });
    Ok(Dispute { id, merchant, transaction, created, amount, reason, due: time(columns)? })
}

pub(super) fn old_transaction(columns: &mut Columns<'_>) -> Read<OldTransaction> {
    Ok(OldTransaction { transaction: columns.read()?, is_pending: columns.read()? })
}

/// Reads three columns: id, transaction, reference.
pub(super) fn overdue(columns: &mut Columns<'_>) -> Read<OverdueDispute> {
    let (id, transaction, reference) = (columns.read()?, columns.read()?, columns.read()?);
    Ok(OverdueDispute { id, transaction, reference })
}

/// Reads five columns: step, amount, gross, fee, again.
pub(super) fn slice(columns: &mut Columns<'_>) -> Read<Slice> {
    Ok(Slice {
        step: columns.read()?,
        amount: columns.read()?,
        gross: columns.read()?,
        fee: columns.read()?,
        again: columns.read()?,
    })
}

pub(super) const FRAUD: &str = "id, merchant, \"transaction\", created, reported, reason";

pub(super) fn fraud(columns: &mut Columns<'_>) -> Read<FraudAlert> {
    Ok(FraudAlert {
        id: columns.read()?,
        merchant: columns.read()?,
        transaction: columns.read()?,
        created: time(columns)?,
        reported: optional_time(columns)?,
        reason: columns.read()?,
    })
}

pub(super) const WEBHOOK: &str = "id, app, created, url, types, description, disabled";

pub(super) fn webhook(columns: &mut Columns<'_>) -> Read<Webhook> {
    let (id, app, created) = (columns.read()?, columns.read()?, time(columns)?);
    let (url, types, description) = (columns.read()?, columns.read()?, columns.read()?);
    let details = WebhookDetails { url, types, description };
    Ok(Webhook { id, app, created, details, disabled: columns.read()? })
}

/// Reads three columns: secret, previous_secret, previous_until.
pub(super) fn webhook_secrets(columns: &mut Columns<'_>) -> Read<WebhookSecrets> {
    let current = columns.read()?;
    let previous: Option<_> = columns.read()?;
    Ok(WebhookSecrets { current, previous: previous.zip(optional_time(columns)?) })
}

/// Reads the columns of [`webhook`] and [`webhook_secrets`], and position, generation, epoch,
/// next_attempt.
pub(super) fn webhook_state(columns: &mut Columns<'_>) -> Read<WebhookState> {
    let (webhook, secrets) = (webhook(columns)?, webhook_secrets(columns)?);
    let (position, generation, epoch) = (columns.read()?, columns.read()?, columns.read()?);
    let progress = Progress { position, generation, epoch, next_attempt: columns.read()? };
    Ok(WebhookState { webhook, secrets, progress })
}

pub(super) const RETRY: &str = "event, \"transaction\", attempts, first, due";

pub(super) fn retry(columns: &mut Columns<'_>) -> Read<Retry> {
    let (event, transaction) = (columns.read()?, columns.read()?);
    let attempts = columns.read()?;
    let times = optional_time(columns)?.zip(optional_time(columns)?);
    let failures = times.map(|(first, due)| Failures { attempts, first, due });
    Ok(Retry { event, transaction, failures })
}

pub(super) const DELIVERY_ATTEMPT: &str = "event, created, outcome, status, duration, next";

pub(super) fn delivery_attempt(columns: &mut Columns<'_>) -> Read<DeliveryAttempt> {
    let (event, created) = (columns.read()?, time(columns)?);
    let outcome: String = columns.read()?;
    let outcome = columns.read_as(|status: Option<i64>| {
        let status = status.map(u16::try_from).transpose().map_err(|_| BadCell)?;
        DeliveryOutcome::from_name(&outcome, status).ok_or(BadCell)
    })?;
    let millis: i64 = columns.read()?;
    let duration = Duration::from_millis(u64::try_from(millis).unwrap_or_default());
    let delivery = Delivery { outcome, duration };
    Ok(DeliveryAttempt { event, created, delivery, next: optional_time(columns)? })
}

pub(super) const PAYOUT: &str = "id, line, merchant, name, iban, currency, amount";

pub(super) fn payout(columns: &mut Columns<'_>) -> Read<Payout> {
    let (id, line) = (columns.read()?, columns.read()?);
    let transfer = Transfer {
        merchant: columns.read()?,
        name: columns.read()?,
        iban: columns.read()?,
        amount: money(columns)?,
    };
    Ok(Payout { id, line, transfer })
}

pub(super) const EVENT: &str =
    "events.id, events.merchant, merchants.test, events.created, events.type,
     events.\"transaction\", events.steps, events.disputed, events.object";
/// The `FROM` item for [`EVENT`].
pub(super) const EVENTS: &str = "events JOIN merchants ON merchants.id = events.merchant";

/// Reads an event without its data, and whether its merchant is a test merchant.
pub(super) fn event(columns: &mut Columns<'_>) -> Read<(NewEvent, bool)> {
    let (id, merchant, test) = (columns.read()?, columns.read()?, columns.read()?);
    let (created, event_type) = (time(columns)?, columns.read()?);
    let transaction: Option<Id> = columns.read()?;
    let version: (Option<u32>, Option<i64>) = (columns.read()?, columns.read()?);
    let fact = columns
        .read_as(|object| Fact::new(event_type, transaction, version, object).ok_or(BadCell))?;
    Ok((NewEvent { id, merchant, created, event_type, fact }, test))
}

/// Selects the merchant of a payout, without its balance, and whether the run is closed or the
/// merchant was paid on that day.
pub(super) const PAYOUT_STATE: &str =
    "SELECT merchants.id, key, created, merchants.name, merchants.currency, merchants.test, email,
         website, descriptor, country, number, merchants.iban, fee_rate, fee_flat_currency,
         fee_flat, fee_dispute_currency, fee_dispute, 0,
         EXISTS (SELECT 1 FROM payout_runs
                 WHERE payout_runs.day = $1 AND payout_runs.test = $2 AND format = $3 AND closed)
             OR EXISTS (SELECT 1 FROM payouts
                        WHERE payouts.day = $1 AND payouts.merchant = merchants.id)
     FROM merchants WHERE merchants.id = $4";

/// The parameters of [`PAYOUT_STATE`].
pub(super) fn payout_params(request: &PayoutRequest) -> [Param<'_>; 4] {
    let [day, test, format] = payout_run(&request.run);
    [day, test, format, request.merchant.param()]
}

/// A run as three parameters: day, test, format.
pub(super) fn payout_run(run: &PayoutRun) -> [Param<'_>; 3] {
    [Param::Text(run.day.to_string().into()), run.test.param(), run.format.param()]
}

/// Reads one column as text: an ID, or the code of a currency.
pub(super) fn place(columns: &mut Columns<'_>) -> Read<String> {
    columns.read_as(|place: Place| Ok::<_, BadCell>(place.0))
}

struct Place(String);

impl Stored for Place {
    fn param(&self) -> Param<'_> {
        self.0.param()
    }

    fn of(cell: Cell<'_>) -> Result<Self, BadCell> {
        match cell {
            Cell::Bytes(_) => Id::of(cell).map(|id| Self(id.to_string())),
            cell => String::of(cell).map(Self),
        }
    }
}
