//! The columns that reads select, in both engines. Most values are [`Group`]s of one table: one
//! description gives the names of the columns, and the order in which they are read. Values from
//! several tables are read here, next to the names that they select.

use std::{convert::identity, sync::LazyLock};

use common::sql::{BadCell, Cell, ColumnError, Columns, Group, Kind, Param, Stored};
use payments_domain::{
    AcquirerKey, App, Authorization, BalanceLine, Card, Challenge, Dispute, FraudAlert, Id,
    Merchant, NewEvent, OutboxEntry, Payout, PayoutRequest, PayoutRun, QueuedEntry, SavedCard,
    Step, Terms, Transaction, TransactionTerms, UnansweredPayment,
    write::{CardRow, DisputeRow, EventRow, LineRow, PayoutRow},
};

use super::{Found, OldTransaction, OverdueDispute, api_keys::StoredApiKey};

type Read<T> = Result<T, ColumnError>;

/// A resource of a merchant that is read by its ID.
pub(crate) trait Resource: Sized + Send {
    /// The table with its columns `id` and `merchant`, or the merchants.
    const TABLE: &'static str;
    /// The column of its merchant.
    const MERCHANT: &'static str;

    /// The names of the columns, and `FROM` with the tables.
    fn select() -> (String, &'static str);

    /// Reads the columns of [`Self::select`].
    fn of_row(columns: &mut Columns<'_>) -> Read<Self>;
}

/// Resources that are a row of one table, as the function makes them of it.
macro_rules! resources {
    ($($resource:ty: $row:ty = $table:literal, $of_row:expr;)*) => {$(
        impl Resource for $resource {
            const TABLE: &'static str = $table;
            const MERCHANT: &'static str = concat!($table, ".merchant");

            fn select() -> (String, &'static str) {
                (<$row>::of($table), $table)
            }

            fn of_row(columns: &mut Columns<'_>) -> Read<Self> {
                <$row>::read(columns).map($of_row)
            }
        }
    )*};
}

resources! {
    SavedCard: CardRow = "cards", CardRow::saved_card;
    Dispute: DisputeRow = "disputes", DisputeRow::dispute;
    FraudAlert: FraudAlert = "fraud_alerts", identity;
    Payout: PayoutRow = "payouts", PayoutRow::payout;
}

impl Resource for Merchant {
    const TABLE: &'static str = "merchants";
    const MERCHANT: &'static str = "merchants.id";

    fn select() -> (String, &'static str) {
        let balance = "(SELECT CAST(sum(balance) AS bigint) FROM balances
                        WHERE balances.merchant = merchants.id)";
        (format!("{}, {balance}", <Self as Group>::of("merchants")), "merchants")
    }

    fn of_row(columns: &mut Columns<'_>) -> Read<Self> {
        let merchant = <Self as Group>::read(columns)?;
        Ok(Self { balance: columns.read()?, ..merchant })
    }
}

impl Resource for BalanceLine {
    const TABLE: &'static str = "lines";
    const MERCHANT: &'static str = "lines.merchant";

    fn select() -> (String, &'static str) {
        let columns = format!("{}, merchants.test", LineRow::of("lines"));
        (columns, "lines JOIN merchants ON merchants.id = lines.merchant")
    }

    fn of_row(columns: &mut Columns<'_>) -> Read<Self> {
        Ok(LineRow::read(columns)?.line(columns.read()?))
    }
}

impl Resource for TransactionTerms {
    const TABLE: &'static str = "transactions";
    const MERCHANT: &'static str = "transactions.merchant";

    fn select() -> (String, &'static str) {
        let columns = format!(
            "transactions.id, transactions.merchant, transactions.currency, {}",
            Terms::of("merchants")
        );
        (columns, "transactions JOIN merchants ON merchants.id = transactions.merchant")
    }

    fn of_row(columns: &mut Columns<'_>) -> Read<Self> {
        let (id, merchant, currency) = (columns.read()?, columns.read()?, columns.read()?);
        Ok(Self { id, merchant, currency, terms: Group::read(columns)? })
    }
}

/// A transaction without its trail, and the number of its steps.
pub(super) type LoadedTrail = (Transaction, u32);

impl Resource for LoadedTrail {
    const TABLE: &'static str = "transactions";
    const MERCHANT: &'static str = "transactions.merchant";

    fn select() -> (String, &'static str) {
        let columns = format!("{}, custom, transactions.steps", Transaction::of("transactions"));
        let customs = "transactions
             LEFT JOIN customs ON has_custom AND customs.\"transaction\" = transactions.id";
        (columns, customs)
    }

    fn of_row(columns: &mut Columns<'_>) -> Read<Self> {
        let mut transaction = Transaction::read(columns)?;
        transaction.amounts.successful = transaction.error.is_none();
        transaction.custom = columns.read()?;
        Ok((transaction, columns.read()?))
    }
}

/// An event without its data.
pub(super) struct LoadedEvent {
    pub(super) event: NewEvent,
    /// Whether its merchant is a test merchant.
    pub(super) test: bool,
    /// The name of the app, or the e-mail address of the user.
    pub(super) actor_name: Option<String>,
}

impl Resource for LoadedEvent {
    const TABLE: &'static str = "events";
    const MERCHANT: &'static str = "events.merchant";

    fn select() -> (String, &'static str) {
        let actor = actor_name("events");
        let columns = format!("{}, merchants.test, {actor}", EventRow::of("events"));
        (columns, "events JOIN merchants ON merchants.id = events.merchant")
    }

    fn of_row(columns: &mut Columns<'_>) -> Read<Self> {
        let event = EventRow::read(columns)?.event();
        let event = event.ok_or_else(|| columns.invalid(BadCell))?;
        Ok(Self { event, test: columns.read()?, actor_name: columns.read()? })
    }
}

/// A column: the name of the app or the e-mail address of the user that is the actor of a row.
pub(super) fn actor_name(table: &str) -> String {
    name_of(&format!("{table}.actor_id"))
}

/// A column: the name of the app or the e-mail address of the user in another column.
pub(super) fn name_of(id: &str) -> String {
    format!(
        "coalesce((SELECT apps.name FROM apps WHERE apps.id = {id}),
                  (SELECT users.email FROM users WHERE users.id = {id}))"
    )
}

/// SQL of the resource `$2`, and whether the app with the API key `$1` may see it.
pub(super) fn by_id<R: Resource>() -> String {
    let (columns, from) = R::select();
    let is_member = is_member(R::MERCHANT);
    format!("SELECT {columns}, {is_member} FROM {from} WHERE {}.id = $2", R::TABLE)
}

/// Reads a resource, and from the next column whether the app is a member of its merchant.
pub(super) fn found<R: Resource>(columns: &mut Columns<'_>) -> Read<Found<R>> {
    Ok(Found { value: R::of_row(columns)?, is_member: columns.read()? })
}

/// A column: whether the app with the API key `$1` is a member of the merchant in the column
/// `merchant`. False if the key was deleted.
fn is_member(merchant: &str) -> String {
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

/// Reads the columns of an [`App`], then the ID of the key and last_used.
pub(super) fn stored_api_key(columns: &mut Columns<'_>) -> Read<StoredApiKey> {
    let app = App::read(columns)?;
    Ok(StoredApiKey { app, id: columns.read()?, last_used: columns.read()? })
}

/// Adds the first `steps` steps of the trail to its transaction. Later steps were added after the
/// transaction was read, so they do not fit its amounts.
pub(super) fn with_trail((mut transaction, steps): LoadedTrail, trail: Vec<Step>) -> Transaction {
    transaction.trail = trail;
    transaction.trail.truncate(steps.try_into().unwrap_or(usize::MAX));
    transaction
}

/// The columns of an authorization in `pending_payments`, for [`authorization`].
pub(super) const PENDING_AUTHORIZATION: &str = "acquirer, pending_payments.id,
     pending_payments.acquirer_key, \"authorization\"";

/// Reads four columns: acquirer, the ID of the pending payment, acquirer_key, authorization.
fn authorization(columns: &mut Columns<'_>) -> Read<Authorization> {
    let (acquirer, pending_payment) = (columns.read()?, columns.read()?);
    let key = AcquirerKey::stored(columns.read()?, pending_payment);
    Ok(Authorization { acquirer, key, id: columns.read()? })
}

/// Reads the columns pending_payments.id and [`PENDING_AUTHORIZATION`].
pub(super) fn unanswered(columns: &mut Columns<'_>) -> Read<UnansweredPayment> {
    Ok(UnansweredPayment { id: columns.read()?, authorization: authorization(columns)? })
}

/// Reads the columns of [`PENDING_AUTHORIZATION`] and of a [`Card`], then challenge,
/// challenge_until.
pub(super) fn challenge(columns: &mut Columns<'_>) -> Read<Challenge> {
    Ok(Challenge {
        authorization: authorization(columns)?,
        card: Card::read(columns)?,
        reference: columns.read()?,
        until: columns.read()?,
    })
}

const ENTRY: &str = "outbox.id, outbox.acquirer_key, transactions.id,
     outbox.acquirer, pending_payment, transactions.acquirer_key,
     \"authorization\", reference, movement, currency, outbox.amount,
     (SELECT trail.descriptor FROM trail
      WHERE trail.\"transaction\" = transactions.id AND trail.step = outbox.step),
     movement = 'capture' AND step = (
         SELECT min(step) FROM captures WHERE captures.\"transaction\" = transactions.id
     ), captured + voided = transactions.amount AND NOT EXISTS (
         SELECT 1 FROM captures
         WHERE captures.\"transaction\" = transactions.id AND captures.step > outbox.step
     ), captures_once, outbox.dispute,
     (SELECT disputes.reference FROM disputes WHERE disputes.id = outbox.dispute), trace";

/// Columns of `outbox` and their `transactions` for [`queued`], with the earliest postponed entry
/// before each one, whether the payments of the merchant are held, and until when the authorization
/// is valid.
pub(super) static QUEUED: LazyLock<String> = LazyLock::new(|| {
    let first = |column| {
        format!(
            "(SELECT first.{column} FROM outbox AS first
              WHERE first.\"transaction\" = outbox.\"transaction\"
                  AND first.due IS NOT NULL AND first.id < outbox.id
              ORDER BY first.id LIMIT 1)"
        )
    };
    let is_held = "EXISTS (SELECT 1 FROM merchants
                       WHERE merchants.id = transactions.merchant AND holds_payments)";
    format!("{ENTRY}, attempts, {}, {}, {is_held}, valid_until", first("id"), first("due"))
});

pub(super) fn queued(columns: &mut Columns<'_>) -> Read<QueuedEntry> {
    let (entry, attempts) = (entry(columns)?, columns.read()?);
    let first: Option<Id> = columns.read()?;
    let behind = first.zip(columns.read()?);
    let (is_held, valid_until) = (columns.read()?, columns.read()?);
    Ok(QueuedEntry { entry, attempts, behind, is_held, valid_until })
}

fn entry(columns: &mut Columns<'_>) -> Read<OutboxEntry> {
    let id = columns.read()?;
    let key = AcquirerKey::stored(columns.read()?, id);
    Ok(OutboxEntry {
        id,
        key,
        transaction: columns.read()?,
        authorization: authorization(columns)?,
        reference: columns.read()?,
        kind: columns.read()?,
        currency: columns.read()?,
        amount: columns.read()?,
        descriptor: columns.read()?,
        is_first_capture: columns.read()?,
        is_last: columns.read()?,
        captures_once: columns.read()?,
        dispute: {
            let dispute: Option<Id> = columns.read()?;
            dispute.zip(columns.read()?)
        },
        trace: columns.read()?,
        evidence: None,
    })
}

pub(super) fn old_transaction(columns: &mut Columns<'_>) -> Read<OldTransaction> {
    Ok(OldTransaction { transaction: columns.read()?, is_pending: columns.read()? })
}

/// Reads three columns: id, transaction, reference.
pub(super) fn overdue(columns: &mut Columns<'_>) -> Read<OverdueDispute> {
    let (id, transaction, reference) = (columns.read()?, columns.read()?, columns.read()?);
    Ok(OverdueDispute { id, transaction, reference })
}

/// Selects the merchant of a payout, and whether the run is closed or the merchant was paid on that
/// day.
pub(super) static PAYOUT_STATE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {}, EXISTS (SELECT 1 FROM payout_runs
                 WHERE payout_runs.day = $1 AND payout_runs.test = $2 AND format = $3 AND closed)
             OR EXISTS (SELECT 1 FROM payouts
                        WHERE payouts.day = $1 AND payouts.merchant = merchants.id)
         FROM merchants WHERE merchants.id = $4",
        <Merchant as Group>::of("merchants")
    )
});

/// Reads the columns of [`PAYOUT_STATE`]. The balance of the merchant is 0.
pub(super) fn payout_state(columns: &mut Columns<'_>) -> Read<(Merchant, bool)> {
    Ok((Group::read(columns)?, columns.read()?))
}

/// The parameters of [`PAYOUT_STATE`].
pub(super) fn payout_params(request: &PayoutRequest) -> [Param<'_>; 4] {
    let [day, test, format] = payout_run(&request.run);
    [day, test, format, request.merchant.param()]
}

/// A run as three parameters: day, test, format.
pub(super) fn payout_run(run: &PayoutRun) -> [Param<'_>; 3] {
    [run.day.param(), run.test.param(), run.format.param()]
}

/// Reads one column as text: an ID, the code of a currency, or the digits of bytes that are no ID.
pub(super) fn place(columns: &mut Columns<'_>) -> Read<String> {
    columns.read_as(|place: Place| Ok::<_, BadCell>(place.0))
}

struct Place(String);

impl Stored for Place {
    const KIND: Kind = Kind::Text;

    fn param(&self) -> Param<'_> {
        self.0.param()
    }

    fn of(cell: Cell<'_>) -> Result<Self, BadCell> {
        match cell {
            Cell::Bytes(bytes) => {
                Ok(Self(Id::of(cell).map_or_else(|_| hex::encode(bytes), |id| id.to_string())))
            }
            cell => String::of(cell).map(Self),
        }
    }
}
