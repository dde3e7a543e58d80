//! Reads, in SQL that both engines accept: parameters are numbered by their first appearance,
//! because SQLite numbers them so.

use std::sync::LazyLock;

use bytes::Bytes;
use common::sql::{ColumnError, Columns, Group, Param, Row, Stored};
use jiff::{SignedDuration, Timestamp};
use payments_domain::{
    AcquirerName, ApiKeyDigest, App, Card, CardOnFile, Challenge, Id, Merchant, QueuedEntry,
    Receipt, Step, Transaction, TransactionVersion, UnansweredPayment, Webhook, WebhookSecrets,
};
use tokio::runtime::Handle;

use super::{
    Authorized, Backlog, Engine, Found, LookUp, OldTransaction, OpenAuthorization, OverdueDispute,
    Select, Store, StoreError, now,
    rows::{self, LoadedTrail, Resource, found},
    snapshot::{SHORT_TRAIL, Snapshot, SnapshotRequest},
    sqlite::Place,
};

/// The maximum number of rows that a job reads at once.
pub(crate) const JOB_BATCH: i64 = 1000;

/// [`JOB_BATCH`] as a parameter.
pub(super) const LIMIT: Param<'static> = Param::Int(JOB_BATCH);

/// The maximum number of other mails that are read before mails to sign in are looked for again.
const OTHER_MAILS: Param<'static> = Param::Int(50);

/// The condition of a payment that a customer made, and whose card data is there.
const ORIGINAL: &str =
    "WHERE id = $1 AND merchant = $2 AND error IS NULL AND NOT recurring AND bin IS NOT NULL";

/// See [`Store::open_authorizations`]. Without the first condition, no engine uses the index of these
/// times.
const OPEN_AUTHORIZATIONS: &str = "SELECT id, valid_until, \"authorization\" FROM transactions
     WHERE valid_until >= $1 AND (valid_until, id) > ($1, $2)
         AND \"authorization\" IS NOT NULL AND acquirer = $3 AND captured + voided < amount
     ORDER BY valid_until, id LIMIT $4";

/// See [`Store::overdue_disputes`].
const OVERDUE_DISPUTES: &str = "SELECT id, \"transaction\", reference FROM disputes
     WHERE decision IS NULL AND line IS NOT NULL AND test AND due < $1 ORDER BY due LIMIT $2";

/// See [`Store::due_outbox_entries`].
const DUE_ENTRIES: &str = "outbox.acquirer = $1 AND outbox.due <= $2
     ORDER BY outbox.due, outbox.id LIMIT $3";

impl Store {
    /// The row with this key.
    pub(crate) async fn row<R: Row + Send>(&self, key: &R::Key) -> Result<Option<R>, StoreError> {
        let mut params = Vec::new();
        (R::DELETE.params)(key, &mut params);
        self.query_one(&R::select_by_key(), &params, R::read).await
    }

    /// The app with this API key. Reads the key, so a deleted key is not found.
    pub(crate) async fn app_by_key(&self, key: ApiKeyDigest) -> Result<Option<App>, StoreError> {
        let sql = format!(
            "SELECT {}, api_keys.id, last_used FROM api_keys JOIN apps ON apps.id = api_keys.app
             WHERE digest = $1",
            App::of("apps")
        );
        let read = self.query_one(&sql, &[key.param()], rows::stored_api_key).await?;
        Ok(self.api_keys.update(key, read, now()))
    }

    /// Like [`Self::app_by_key`], but from memory if possible. The key may have been deleted: then
    /// the app is a member of no merchant for the reads that take the key.
    pub(crate) async fn app_by_known_key(
        &self,
        key: ApiKeyDigest,
    ) -> Result<Option<App>, StoreError> {
        match self.api_keys.get(&key, now()) {
            Some(app) => Ok(Some(app)),
            None => self.app_by_key(key).await,
        }
    }

    /// A resource of a merchant, as the app with the key `caller` sees it.
    pub(crate) async fn resource<R: Resource>(
        &self,
        id: Id,
        caller: ApiKeyDigest,
    ) -> Result<Option<Found<R>>, StoreError> {
        let params = [caller.param(), id.param()];
        self.query_one(&rows::by_id::<R>(), &params, found).await
    }

    /// The merchant with this public key.
    pub(crate) async fn merchant_by_key(&self, key: &str) -> Result<Option<Merchant>, StoreError> {
        let (columns, from) = Merchant::select();
        let sql = format!("SELECT {columns} FROM {from} WHERE key = $1");
        self.query_one(&sql, &[Param::Text(key.into())], Merchant::of_row).await
    }

    /// The payment with this ID at its acquirer.
    pub(crate) async fn authorized(
        &self,
        acquirer: AcquirerName,
        authorization: &str,
    ) -> Result<Option<Authorized>, StoreError> {
        let params = [Param::Text(authorization.into()), Param::Text(acquirer.name().into())];
        let sql = "SELECT id, currency FROM transactions
                   WHERE \"authorization\" = $1 AND acquirer = $2 ORDER BY id LIMIT 1";
        // Before the transactions, because a payment that is decided meanwhile moves there.
        let pending = "SELECT 1 FROM pending_payments
                       WHERE \"authorization\" = $1 AND acquirer = $2 LIMIT 1";
        let pending = self.query_one(pending, &params, |_| Ok(Authorized::Pending)).await?;
        let read = |columns: &mut Columns<'_>| {
            Ok(Authorized::Transaction(columns.read()?, columns.read()?))
        };
        Ok(self.query_one(sql, &params, read).await?.or(pending))
    }

    /// The JSON of a transaction in the cache, if the app with the key `caller` may see it. `Absent`
    /// has no place if it cannot be kept.
    pub(crate) fn transaction_json(
        &self,
        id: Id,
        caller: ApiKeyDigest,
    ) -> LookUp<Bytes, Option<Place<'_>>> {
        match &self.engine {
            Engine::Sqlite(engine) => match engine.transactions().look_up(id, caller) {
                LookUp::Value(json) => LookUp::Value(json),
                LookUp::Absent(place) => LookUp::Absent(Some(place)),
            },
            // Other processes can change the transaction.
            Engine::Postgres(_) => LookUp::Absent(None),
        }
    }

    /// A transaction, as the app with the key `caller` sees it.
    pub(crate) async fn transaction(
        &self,
        id: Id,
        caller: ApiKeyDigest,
    ) -> Result<Option<Found<Transaction>>, StoreError> {
        let params = [caller.param(), id.param()];
        let trail_params = [id.param(), SHORT_TRAIL.param()];
        let statements: [Select<'_>; 2] = [(&TRANSACTION, &params), (&FIRST_STEPS, &trail_params)];
        let (mut transaction, mut steps) = (None, Vec::new());
        self.query_inline(&statements, &mut |statement, columns| {
            match statement {
                0 => transaction = Some(found::<LoadedTrail>(columns)?),
                _ => steps.push(Step::read(columns)?),
            }
            Ok(())
        })
        .await?;
        if transaction.as_ref().is_some_and(|found| found.value.1 > SHORT_TRAIL) {
            let rest = trail("step >= $2");
            steps.extend(self.query_all_in_background(rest, &trail_params, Step::read).await?);
        }
        Ok(transaction.map(|Found { value, is_member }| Found {
            value: rows::with_trail(value, steps),
            is_member,
        }))
    }

    /// A transaction as it was.
    pub(crate) async fn transaction_as_of(
        &self,
        version: TransactionVersion,
    ) -> Result<Option<Transaction>, StoreError> {
        let found = self.transaction(version.transaction, ApiKeyDigest::NONE).await?;
        Ok(found.map(|found| found.value.at(version)))
    }

    /// The receipt of a transaction, for the browser that paid.
    pub(crate) async fn receipt(&self, id: Id) -> Result<Option<Receipt>, StoreError> {
        let card = Card::of("transactions");
        let sql = format!("SELECT created, {card} FROM transactions WHERE id = $1");
        self.query_one(&sql, &[id.param()], |columns| {
            Ok(Receipt { created: columns.read()?, card: Group::read(columns)? })
        })
        .await
    }

    /// Reads a transaction before a movement, as the app with the key `caller` sees it, with the
    /// earlier request of the idempotency key, if there is one.
    pub(crate) async fn snapshot(
        &self,
        transaction: Id,
        (app, caller): (Id, ApiKeyDigest),
        key: Option<String>,
    ) -> Result<Option<Found<Snapshot>>, StoreError> {
        let question = SnapshotRequest { transaction, app, caller, key };
        match &self.engine {
            Engine::Sqlite(engine) => engine.snapshot(&question),
            Engine::Postgres(engine) => Ok(engine.snapshot(question).await?),
        }
    }

    /// An endpoint, as the app with the key `caller` sees it.
    pub(crate) async fn webhook(
        &self,
        id: Id,
        caller: ApiKeyDigest,
    ) -> Result<Option<Found<Webhook>>, StoreError> {
        let sql = format!(
            "SELECT {},
                 EXISTS (SELECT 1 FROM api_keys WHERE digest = $1 AND api_keys.app = webhooks.app)
             FROM webhooks WHERE id = $2",
            Webhook::of("webhooks")
        );
        let params = [caller.param(), id.param()];
        self.query_one(&sql, &params, |columns| {
            Ok(Found { value: Webhook::read(columns)?, is_member: columns.read()? })
        })
        .await
    }

    /// The secrets of an endpoint, and the time by which they sign.
    pub(crate) async fn webhook_secrets(
        &self,
        id: Id,
    ) -> Result<Option<(WebhookSecrets, Timestamp)>, StoreError> {
        let secrets = WebhookSecrets::of("webhooks");
        let sql = format!("SELECT {secrets} FROM webhooks WHERE id = $1");
        let secrets = self.query_one(&sql, &[id.param()], WebhookSecrets::read).await?;
        Ok(secrets.zip(Some(self.database_time().await?)))
    }

    /// The card of a successful transaction of the merchant. Recurring transactions are excluded,
    /// because the customer did not make them. So are those without card data: a job has found
    /// their outcome after a crash.
    pub(crate) async fn card_on_file(
        &self,
        merchant: Id,
        id: Id,
    ) -> Result<Option<CardOnFile>, StoreError> {
        let card = CardOnFile::of("transactions");
        let sql = format!("SELECT {card} FROM transactions {ORIGINAL} AND reference IS NOT NULL");
        self.query_one(&sql, &[id.param(), merchant.param()], CardOnFile::read).await
    }

    /// Whether [`Self::card_on_file`] would return the card, if the acquirer had kept it.
    pub(crate) async fn is_original(&self, merchant: Id, id: Id) -> Result<bool, StoreError> {
        let sql = format!("SELECT 1 FROM transactions {ORIGINAL}");
        let found = self.query_one(&sql, &[id.param(), merchant.param()], |_| Ok(())).await?;
        Ok(found.is_some())
    }

    /// A card that the merchant saved.
    pub(crate) async fn saved_card_on_file(
        &self,
        merchant: Id,
        id: Id,
    ) -> Result<Option<CardOnFile>, StoreError> {
        let card = CardOnFile::of("cards");
        let sql = format!("SELECT {card} FROM cards WHERE id = $1 AND merchant = $2");
        self.query_one(&sql, &[id.param(), merchant.param()], CardOnFile::read).await
    }

    /// The pending 3-D Secure challenge of a payment.
    pub(crate) async fn challenge(
        &self,
        pending_payment: Id,
    ) -> Result<Option<Challenge>, StoreError> {
        let sql = format!(
            "SELECT {}, {}, challenge, challenge_until FROM pending_payments
             WHERE pending_payments.id = $1 AND challenge IS NOT NULL",
            rows::PENDING_AUTHORIZATION,
            Card::of("pending_payments")
        );
        self.query_one(&sql, &[pending_payment.param()], rows::challenge).await
    }

    /// Overdue disputes of test merchants, the oldest first: at most [`JOB_BATCH`]. The sandbox
    /// never decides a dispute. A dispute of a live merchant is decided only by its acquirer.
    pub(crate) async fn overdue_disputes(&self) -> Result<Vec<OverdueDispute>, StoreError> {
        let Some(now) = self.job_time().await? else { return Ok(Vec::new()) };
        self.query_all(OVERDUE_DISPUTES, &[now.param(), LIMIT], rows::overdue).await
    }

    /// Transactions whose authorization ends after the cursor of the expiry job and until now, each
    /// with that time and whether something is left of it, the earliest first: at most [`JOB_BATCH`],
    /// and more of the last time.
    pub(crate) async fn ended_authorizations(
        &self,
    ) -> Result<Vec<(Id, Timestamp, bool)>, StoreError> {
        let sql = "SELECT id, valid_until, captured + voided < amount FROM transactions
                   WHERE valid_until > (SELECT ended FROM expiry) AND valid_until <= (
                       SELECT max(valid_until) FROM (
                           SELECT valid_until FROM transactions
                           WHERE valid_until > (SELECT ended FROM expiry) AND valid_until <= $1
                           ORDER BY valid_until LIMIT $2
                       ) AS next
                   ) ORDER BY valid_until";
        let Some(now) = self.job_time().await? else { return Ok(Vec::new()) };
        let read =
            |columns: &mut Columns<'_>| Ok((columns.read()?, columns.read()?, columns.read()?));
        self.query_all(sql, &[now.param(), LIMIT], read).await
    }

    /// Authorizations at an acquirer that it ends after this time, and of the same time those with
    /// greater IDs, the earliest first: at most [`JOB_BATCH`]. Only those that are not captured or
    /// voided.
    pub(crate) async fn open_authorizations(
        &self,
        acquirer: AcquirerName,
        (until, id): (Timestamp, Id),
    ) -> Result<Vec<OpenAuthorization>, StoreError> {
        let params = [until.param(), id.param(), Param::Text(acquirer.name().into()), LIMIT];
        let read = |columns: &mut Columns<'_>| {
            Ok(OpenAuthorization {
                transaction: columns.read()?,
                until: columns.read()?,
                authorization: columns.read()?,
            })
        };
        self.query_all(OPEN_AUTHORIZATIONS, &params, read).await
    }

    /// Transactions older than `age` that the expiry job has not checked, the oldest first: at most
    /// [`JOB_BATCH`].
    pub(crate) async fn old_transactions(
        &self,
        age: std::time::Duration,
    ) -> Result<Vec<OldTransaction>, StoreError> {
        let cursor = "SELECT through FROM expiry";
        let cursor = self.query_one(cursor, &[], |columns| columns.read::<Id>()).await?;
        let Some(before) = self.job_time_ago(age).await? else { return Ok(Vec::new()) };
        let before = self.settled().await?.min(Id::at(before));
        let sql = "SELECT id, error IS NULL AND captured + voided < amount FROM transactions
                   WHERE id > $1 AND id < $2 ORDER BY id LIMIT $3";
        let cursor = cursor.unwrap_or(Id::MIN);
        let params = [cursor.param(), before.param(), LIMIT];
        self.query_all(sql, &params, rows::old_transaction).await
    }

    /// Payments that have been pending for longer than `age`, the oldest first: at most
    /// [`JOB_BATCH`]. Payments whose challenge has not expired are left out.
    pub(crate) async fn unanswered_payments(
        &self,
        age: std::time::Duration,
        after: Id,
    ) -> Result<Vec<UnansweredPayment>, StoreError> {
        let Some(now) = self.job_time().await? else { return Ok(Vec::new()) };
        let before = now.checked_sub(age).unwrap_or(Timestamp::UNIX_EPOCH);
        let sql = format!(
            "SELECT pending_payments.id, {} FROM pending_payments
             WHERE pending_payments.id > $1 AND pending_payments.created <= $2
                 AND coalesce(challenge_until, 0) <= $3
             ORDER BY pending_payments.id LIMIT $4",
            rows::PENDING_AUTHORIZATION
        );
        let params = [after.param(), before.param(), now.param(), LIMIT];
        self.query_all(&sql, &params, rows::unanswered).await
    }

    /// Mails with a due attempt and their recipients: those with which users sign in, and then at most
    /// [`OTHER_MAILS`], the longest overdue first.
    pub(crate) async fn due_mails(&self) -> Result<Vec<(Id, Option<Id>)>, StoreError> {
        let now = self.database_time().await?;
        let mut due = Vec::new();
        for (kind, limit) in [("= 'sign_in'", LIMIT), ("<> 'sign_in'", OTHER_MAILS)] {
            let params = [now.param(), limit];
            let read = |columns: &mut Columns<'_>| Ok((columns.read()?, columns.read()?));
            due.extend(self.query_all(&due_mails(kind), &params, read).await?);
        }
        Ok(due)
    }

    /// Idempotency keys older than `age`, the oldest first: at most [`JOB_BATCH`]. Keys of payments
    /// in flight are left out.
    pub(crate) async fn old_keys(
        &self,
        age: std::time::Duration,
    ) -> Result<Vec<(Id, String)>, StoreError> {
        let sql = "SELECT app, key FROM idempotency WHERE created <= $1 AND pending_payment IS NULL
                   ORDER BY created LIMIT $2";
        let Some(before) = self.job_time_ago(age).await? else { return Ok(Vec::new()) };
        let params = [before.param(), LIMIT];
        self.query_all(sql, &params, |columns| Ok((columns.read()?, columns.read()?))).await
    }

    /// Events older than `age`, the oldest first: at most [`JOB_BATCH`].
    pub(crate) async fn old_events(&self, age: std::time::Duration) -> Result<Vec<Id>, StoreError> {
        let sql = "SELECT id FROM events WHERE id < $1 ORDER BY id LIMIT $2";
        let Some(before) = self.job_time_ago(age).await? else { return Ok(Vec::new()) };
        self.query_all(sql, &[Id::at(before).param(), LIMIT], |columns| columns.read()).await
    }

    /// Transactions older than `age` whose payers have receipts, the oldest first: at most
    /// [`JOB_BATCH`].
    pub(crate) async fn old_receipts(
        &self,
        age: std::time::Duration,
    ) -> Result<Vec<Id>, StoreError> {
        let sql = "SELECT \"transaction\" FROM receipts WHERE \"transaction\" < $1
                   ORDER BY \"transaction\" LIMIT $2";
        let Some(before) = self.job_time_ago(age).await? else { return Ok(Vec::new()) };
        self.query_all(sql, &[Id::at(before).param(), LIMIT], |columns| columns.read()).await
    }

    pub(crate) async fn backlog(&self) -> Result<Backlog, StoreError> {
        let sql = "SELECT (SELECT count(*) FROM mails), (SELECT count(*) FROM outbox),
                       (SELECT count(*) FROM pending_payments),
                       (SELECT count(*) FROM webhooks WHERE disabled <> 'request')";
        let backlog = self.query_all(sql, &[], |columns| {
            let (mails, outbox_entries) = (columns.read()?, columns.read()?);
            let (pending_payments, disabled_webhooks) = (columns.read()?, columns.read()?);
            Ok(Backlog { mails, outbox_entries, pending_payments, disabled_webhooks })
        });
        Ok(backlog.await?.first().copied().unwrap_or_default())
    }

    /// Whether a payment or an outbox entry waits for this acquirer of live merchants.
    pub(crate) async fn waits_for(&self, acquirer: AcquirerName) -> Result<bool, StoreError> {
        // The condition on the ID lets PostgreSQL use an index.
        let sql = "SELECT 1 WHERE EXISTS (
                       SELECT 1 FROM pending_payments WHERE id > $1 AND acquirer = $2
                   ) OR EXISTS (
                       SELECT 1 FROM outbox WHERE id > $1 AND acquirer = $2
                   )";
        let params = [Id::MIN.param(), acquirer.param()];
        Ok(self.query_one(sql, &params, |_| Ok(())).await?.is_some())
    }

    /// Entries of an acquirer that were postponed and are due, the longest overdue first: at most
    /// [`JOB_BATCH`].
    pub(crate) async fn due_outbox_entries(
        &self,
        acquirer: AcquirerName,
        now: Timestamp,
    ) -> Result<Vec<QueuedEntry>, StoreError> {
        let params = [acquirer.param(), now.param(), LIMIT];
        self.query_all(&self.queued(DUE_ENTRIES), &params, rows::queued).await
    }

    /// Entries of an acquirer after this ID that were never sent, in the order of their IDs: at most
    /// [`JOB_BATCH`]. Also returns the ID up to which there are no others, and will not be.
    pub(crate) async fn new_outbox_entries(
        &self,
        acquirer: AcquirerName,
        after: Id,
    ) -> Result<(Vec<QueuedEntry>, Id), StoreError> {
        let settled = self.settled().await?;
        // Before the entries, which are then all up to this one.
        let newest = "SELECT id FROM outbox WHERE id > $1 ORDER BY id DESC LIMIT 1";
        let newest = self.query_one(newest, &[after.param()], |columns| columns.read()).await?;
        let sql = self.queued(
            "outbox.id > $1 AND outbox.due IS NULL AND outbox.acquirer = $2
             ORDER BY outbox.id LIMIT $3",
        );
        let params = [after.param(), acquirer.param(), LIMIT];
        let entries = self.query_all(&sql, &params, rows::queued).await?;
        let last = entries.last().map(|queued| queued.entry.id);
        let are_all = i64::try_from(entries.len()).is_ok_and(|count| count < JOB_BATCH);
        let through = if are_all { newest.max(last) } else { last };
        Ok((entries, through.map_or(after, |through| after.max(through.min(settled)))))
    }

    /// How many merchants were held or released in the last day.
    pub(crate) async fn recent_holds(&self, now: Timestamp) -> Result<i64, StoreError> {
        let yesterday = now.checked_sub(SignedDuration::from_hours(24));
        let yesterday = Id::at(yesterday.unwrap_or(Timestamp::UNIX_EPOCH));
        let sql = "SELECT count(*) FROM holds WHERE id > $1";
        let count = self.query_one(sql, &[yesterday.param()], |columns| columns.read()).await?;
        Ok(count.unwrap_or_default())
    }

    /// When the payments of the merchant of a transaction were last released.
    pub(crate) async fn last_release(
        &self,
        transaction: Id,
    ) -> Result<Option<Timestamp>, StoreError> {
        // Only payouts may have been held before it.
        let sql = "SELECT holds.created FROM transactions
                   JOIN holds ON holds.merchant = transactions.merchant
                   WHERE transactions.id = $1 AND NOT payments AND (
                       SELECT before.payments FROM holds AS before
                       WHERE before.merchant = holds.merchant AND before.id < holds.id
                       ORDER BY before.id DESC LIMIT 1
                   )
                   ORDER BY holds.id DESC LIMIT 1";
        self.query_one(sql, &[transaction.param()], |columns| columns.read()).await
    }

    /// SQL of the outbox entries that satisfy a condition, for [`rows::queued`]. `OFFSET 0` keeps
    /// PostgreSQL from reading all transactions, which looks cheap to it while they are few.
    fn queued(&self, condition: &str) -> String {
        let transactions = match &self.engine {
            Engine::Sqlite(_) => "JOIN transactions ON transactions.id = outbox.\"transaction\"",
            Engine::Postgres(_) => {
                "CROSS JOIN LATERAL (
                     SELECT * FROM transactions
                     WHERE transactions.id = outbox.\"transaction\" OFFSET 0
                 ) AS transactions"
            }
        };
        format!("SELECT {} FROM outbox {transactions} WHERE {condition}", *rows::QUEUED)
    }

    /// The time of the database, so that replicas with different clocks agree.
    pub(crate) async fn database_time(&self) -> Result<Timestamp, StoreError> {
        match &self.engine {
            Engine::Sqlite(_) => Ok(now()),
            Engine::Postgres(engine) => Ok(engine.database_time().await?),
        }
    }

    /// The time of the database for a job that deletes or voids what is old. `None` after a jump of
    /// the clock: the job must do nothing.
    pub(crate) async fn job_time(&self) -> Result<Option<Timestamp>, StoreError> {
        let now = self.clock.turn().await?;
        Ok(now.map(|now| Timestamp::from_millisecond(now).unwrap_or_default()))
    }

    /// [`Self::job_time`], less `age`.
    async fn job_time_ago(
        &self,
        age: std::time::Duration,
    ) -> Result<Option<Timestamp>, StoreError> {
        let now = self.job_time().await?;
        Ok(now.map(|now| now.checked_sub(age).unwrap_or(Timestamp::UNIX_EPOCH)))
    }

    /// Returns a settled ID: no database transaction, open or future, adds a row with an ID up to
    /// it.
    pub(super) async fn settled(&self) -> Result<Id, StoreError> {
        match &self.engine {
            Engine::Sqlite(_) => Ok(Id::MAX),
            Engine::Postgres(engine) => Ok(engine.settle().await?),
        }
    }

    /// The row of a statement that selects at most one.
    pub(super) async fn query_one<T: Send>(
        &self,
        sql: &str,
        params: &[Param<'_>],
        mut read: impl FnMut(&mut Columns<'_>) -> Result<T, ColumnError> + Send,
    ) -> Result<Option<T>, StoreError> {
        let mut value = None;
        self.query_inline(&[(sql, params)], &mut |_, columns| {
            value = Some(read(columns)?);
            Ok(())
        })
        .await?;
        Ok(value)
    }

    /// All rows of a statement. In SQLite, they are read on a separate thread.
    pub(super) async fn query_all<T: Send + 'static>(
        &self,
        sql: &str,
        params: &[Param<'_>],
        mut read: impl FnMut(&mut Columns<'_>) -> Result<T, ColumnError> + Send + 'static,
    ) -> Result<Vec<T>, StoreError> {
        match &self.engine {
            Engine::Sqlite(engine) => {
                let mut values = Vec::new();
                let sql = sql.to_owned();
                let params: Vec<Param<'static>> = params.iter().map(Param::owned).collect();
                let scan = engine.scan(&self.aside, move |db| {
                    super::sqlite::read(db, &[(&sql, &params)], &mut |_, columns| {
                        values.push(read(columns)?);
                        Ok(())
                    })?;
                    Ok(values)
                });
                scan.await
            }
            Engine::Postgres(engine) => {
                let mut values = Vec::new();
                engine
                    .read(&[(sql, params)], &mut |_, columns| {
                        values.push(read(columns)?);
                        Ok(())
                    })
                    .await?;
                Ok(values)
            }
        }
    }

    /// Like [`Self::query_all`], for many rows: decodes them on a separate thread, so that requests
    /// do not wait.
    pub(super) async fn query_all_in_background<T: Send + 'static>(
        &self,
        sql: String,
        params: &[Param<'_>],
        read: impl FnMut(&mut Columns<'_>) -> Result<T, ColumnError> + Send + 'static,
    ) -> Result<Vec<T>, StoreError> {
        match &self.engine {
            Engine::Sqlite(_) => self.query_all(&sql, params, read).await,
            Engine::Postgres(_) => {
                let params: Vec<Param<'static>> = params.iter().map(Param::owned).collect();
                let (store, runtime) = (self.clone(), Handle::current());
                let all = async move || store.query_all(&sql, &params, read).await;
                self.aside.run(move || runtime.block_on(all())).await?
            }
        }
    }

    /// Passes the rows of these statements to `each`. For few rows: SQLite reads them on the thread
    /// of the caller.
    async fn query_inline(
        &self,
        statements: &[Select<'_>],
        each: &mut super::sqlite::RowCallback<'_>,
    ) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.query_inline(statements, each),
            Engine::Postgres(engine) => Ok(engine.read(statements, each).await?),
        }
    }
}

/// SQL of the mails of some kinds that are due at `$1`, at most `$2`.
fn due_mails(kind: &str) -> String {
    format!(
        "SELECT mails.id, \"user\" FROM mails LEFT JOIN users ON users.id = \"user\"
             LEFT JOIN receipts ON receipts.\"transaction\" = mails.object
         WHERE due <= $1 AND mails.kind {kind}
             AND coalesce(users.email, receipts.email) IS NOT NULL
         ORDER BY due, mails.id LIMIT $2"
    )
}

/// The transaction `$2`, and whether the app with the key `$1` may see it.
static TRANSACTION: LazyLock<String> = LazyLock::new(rows::by_id::<LoadedTrail>);

/// The steps of the transaction `$1` before the step `$2`.
static FIRST_STEPS: LazyLock<String> = LazyLock::new(|| trail("step < $2"));

/// SQL of the steps of the transaction `$1` that satisfy the condition `part`.
fn trail(part: &str) -> String {
    let step = Step::of("trail");
    format!("SELECT {step} FROM trail WHERE \"transaction\" = $1 AND {part} ORDER BY step")
}

#[cfg(test)]
mod tests {
    use super::{
        super::sqlite::tests::{database, plan},
        *,
    };

    #[test]
    fn jobs_read_only_their_own_work_in_the_order_of_an_index() {
        let due_entries = format!("SELECT id FROM outbox WHERE {DUE_ENTRIES}");
        for (sql, index) in [
            (OPEN_AUTHORIZATIONS, "ending_authorizations (valid_until>?)"),
            (OVERDUE_DISPUTES, "overdue_disputes (due<?)"),
            (&due_entries, "retried_entries (acquirer=? AND due<?)"),
        ] {
            let plan = plan(&database(), sql);
            assert!(plan.len() == 1 && plan[0].ends_with(index), "{plan:?}");
        }
        for (kind, index) in [("= 'sign_in'", "mails_to_sign_in"), ("<> 'sign_in'", "other_mails")]
        {
            let plan = plan(&database(), &due_mails(kind));
            assert_eq!(plan[0], format!("SEARCH mails USING INDEX {index} (due<?)"));
            assert!(plan[1..].iter().all(|step| step.starts_with("SEARCH")), "{plan:?}");
        }
    }
}
