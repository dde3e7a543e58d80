//! Reads of a store, compared with the model: the same tables in memory.

use std::{collections::BTreeMap, fmt::Debug, time::Duration};

use bytes::Bytes;
use common::{files::Files, progress::Progress, sql::Row as _, sqlite::LookUp};
use jiff::civil::date;
use payments_domain::{
    Account, AcquirerKey, AcquirerName, Actor, ApiKeyDetails, ApiKeyDigest, Authorization,
    BalanceLine, CardOnFile, Challenge, Currency, Id, MailKind, Merchant, Money, OutboxEntry,
    OutboxKind, PageQuery, PayoutFormat, PayoutRequest, PayoutRun, QueuedEntry, Transaction,
    TransactionStatus, TransactionTerms, TransactionVersion, UnansweredPayment, User,
    actions::{ClosePayoutRun, CreateApp, OpenPayoutRun, PayOut},
    write::{
        Action, ApiKeyRow, Batch, Changes, DisputeRow, KeyRow, KeyState, LineRow, MailRow, Needs,
        OutboxRow, PayoutRow, PendingChallenge, PendingRow, PostingRow, Rejection, Tables,
        TransactionRow, WebhookRow,
        generators::{WriteSpec, batches, challenge, setup_batches},
    },
};
use proptest::{
    strategy::{Strategy as _, ValueTree as _},
    test_runner::TestRunner,
};

use super::{
    super::{
        Endpoint, Member, Owner, Range, Store, StoreConfig, StoreError, TransactionFilter,
        check::Scope,
        now,
        rows::{LoadedTrail, Resource},
    },
    batch::tests::SqliteAndModel,
    transactions::TransactionCache,
    *,
};

pub(in super::super) fn database() -> Connection {
    let mut db = Connection::open_in_memory().unwrap();
    migrate(&mut db).unwrap();
    db
}

/// The steps of the query plan.
pub(in super::super) fn plan(db: &Connection, sql: &str) -> Vec<String> {
    let mut plan = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let steps = plan.raw_query().mapped(|row| row.get("detail")).collect::<Result<_, _>>();
    steps.unwrap()
}

/// A store with rows in every table, and the same rows in memory.
async fn filled() -> (tempfile::TempDir, Store, Tables) {
    store_with(40).await
}

/// A store after the first batches and `times` lists of random batches, and its rows in memory.
async fn store_with(times: usize) -> (tempfile::TempDir, Store, Tables) {
    let dir = tempfile::tempdir().unwrap();
    let config = StoreConfig {
        data_dir: dir.path().to_owned(),
        database: None,
        cache: 0,
        payout_delay: Duration::ZERO,
    };
    // Creates the tables.
    Store::open(&config, &mut Files::default()).await.unwrap().close().await;
    let mut both = SqliteAndModel::of(engine::open(&dir.path().join(DATABASE)).unwrap());
    let mut runner = TestRunner::deterministic();
    for batch in setup_batches() {
        both.write(&batch);
    }
    for _ in 0..times {
        for batch in batches().new_tree(&mut runner).unwrap().current() {
            both.write(&batch);
        }
    }
    let (choice, second, amount, key) = (9, 1, 1, None);
    both.write(&[WriteSpec { kind: challenge, choice, second, amount, key }]);
    let store = Store::open(&config, &mut Files::default()).await.unwrap();
    (dir, store, both.tables)
}

fn merchant(tables: &Tables, id: Id) -> Merchant {
    let rows = tables.balances.range((id, 0)..=(id, i64::MAX));
    Merchant { balance: rows.map(|(_, row)| row.minor).sum(), ..tables.merchants[&id].clone() }
}

fn line(tables: &Tables, row: &LineRow) -> BalanceLine {
    row.line(tables.merchants[&row.merchant].details.test)
}

fn with_trail(tables: &Tables, id: Id) -> Transaction {
    let trail = rows_of(&tables.trail, id).into_iter().map(|row| row.step).collect();
    Transaction { trail, ..tables.transaction(id).0 }
}

fn authorization(row: &PendingRow) -> Authorization {
    Authorization {
        acquirer: row.payment.acquirer,
        key: AcquirerKey::stored(row.acquirer_key, row.id),
        id: row.authorization.clone(),
    }
}

/// The rows whose key begins with this ID.
fn rows_of<T: Clone>(rows: &BTreeMap<(Id, u32), T>, id: Id) -> Vec<T> {
    rows.range((id, 0)..=(id, u32::MAX)).map(|(_, row)| row.clone()).collect()
}

/// Reads resources as the app with the key `caller`. Each comes with its ID and its merchant.
async fn assert_found<R: Resource + PartialEq + Debug>(
    (store, tables): (&Store, &Tables),
    caller: ApiKeyDigest,
    resources: impl IntoIterator<Item = (Id, Id, R)>,
) {
    let app = tables.api_keys.values().find(|row| row.digest == caller).map(|row| row.app);
    for (id, merchant, value) in resources {
        let found = store.resource::<R>(id, caller).await.unwrap().unwrap();
        let is_member = app.is_some_and(|app| tables.merchant_apps.contains_key(&(merchant, app)));
        assert_eq!((found.value, found.is_member), (value, is_member));
    }
}

/// Reads a list of these items in both directions.
async fn assert_listed<T: PartialEq + Debug>(
    items: impl Iterator<Item = T>,
    read: impl AsyncFn(PageQuery) -> Result<Vec<T>, StoreError>,
) {
    let mut items: Vec<T> = items.collect();
    let newest = PageQuery { limit: 1000, before: None, after: None };
    assert_eq!(read(PageQuery { after: Some(Id::MIN), ..newest }).await.unwrap(), items);
    items.reverse();
    assert_eq!(read(newest).await.unwrap(), items);
}

#[tokio::test]
async fn each_app_reads_the_resources_of_its_merchants() {
    let (_dir, store, tables) = filled().await;
    let both = (&store, &tables);
    let stored = tables.api_keys.values().map(|row| (row.digest, Some(row.app)));
    for (caller, app) in stored.chain([(ApiKeyDigest::of("unknown"), None)]) {
        let app = app.map(|app| tables.apps[&app].clone().app());
        assert_eq!(store.app_by_known_key(caller).await.unwrap(), app);
        assert_eq!(store.app_by_key(caller).await.unwrap(), app);

        let merchants = tables.merchants.keys().map(|&id| (id, id, merchant(&tables, id)));
        assert_found(both, caller, merchants).await;
        let transactions = tables.transactions.values();
        let trails =
            transactions.clone().map(|row| (row.id, row.merchant, tables.transaction(row.id)));
        assert_found::<LoadedTrail>(both, caller, trails).await;
        let terms = transactions.map(|&TransactionRow { id, merchant, currency, .. }| {
            let terms = tables.merchants[&merchant].terms();
            (id, merchant, TransactionTerms { id, merchant, currency, terms })
        });
        assert_found(both, caller, terms).await;
        let lines = tables.lines.values().map(|row| (row.id, row.merchant, line(&tables, row)));
        assert_found(both, caller, lines).await;
        let cards = tables.cards.values();
        let cards = cards.map(|row| (row.id, row.merchant, row.clone().saved_card()));
        assert_found(both, caller, cards).await;
        let disputes = tables.disputes.values();
        let disputes = disputes.map(|row| (row.id, row.merchant, row.clone().dispute()));
        assert_found(both, caller, disputes).await;
        let frauds = tables.fraud_alerts.values().map(|row| (row.id, row.merchant, row.clone()));
        assert_found(both, caller, frauds).await;
        let trails = tables.transactions.values();
        let trails = trails.map(|row| (row.id, row.merchant, tables.transaction(row.id)));
        assert_found::<LoadedTrail>(both, caller, trails).await;
    }
    for &id in tables.transactions.keys() {
        let found = store.transaction(id, ApiKeyDigest::NONE).await.unwrap().unwrap();
        assert_eq!((found.value, found.is_member), (with_trail(&tables, id), false));
    }
    store.close().await;
}

#[tokio::test]
async fn rows_are_found_by_their_keys() {
    let (_dir, store, tables) = filled().await;
    for id in tables.apps.keys().chain(tables.api_keys.keys()).chain([&Id::MAX]) {
        assert_eq!(store.row(id).await.unwrap().as_ref(), tables.apps.get(id));
        assert_eq!(store.row(id).await.unwrap().as_ref(), tables.api_keys.get(id));
    }
    for (&id, row) in &tables.merchants {
        let merchant = Some(merchant(&tables, id));
        assert_eq!(store.merchant_by_key(&row.key).await.unwrap(), merchant);
    }
    for (key, row) in &tables.keys {
        assert_eq!(store.row(key).await.unwrap().as_ref(), Some(row));
        let other = (Id::MAX, key.1.clone());
        assert_eq!(store.row::<KeyRow>(&other).await.unwrap(), None);
    }
    for (&id, row) in &tables.transactions {
        let is_original = row.error.is_none() && !row.recurring;
        // A payment that was approved without card data has no card.
        let is_original = is_original && row.card.is_some();
        assert_eq!(store.is_original(row.merchant, id).await.unwrap(), is_original);
        let original = row.card.clone().zip(row.reference.clone()).filter(|_| is_original);
        let acquirer = row.acquirer;
        let original = original.map(|(card, reference)| CardOnFile { card, acquirer, reference });
        assert_eq!(store.card_on_file(row.merchant, id).await.unwrap(), original);
        assert_eq!(store.card_on_file(Id::MAX, id).await.unwrap(), None);
        let transaction = with_trail(&tables, id);
        for steps in 0..=tables.transaction_amounts[&id].steps {
            let version = TransactionVersion { transaction: id, steps, disputed: 3 };
            let then = Some(transaction.clone().at(version));
            assert_eq!(store.transaction_as_of(version).await.unwrap(), then);
        }
    }
    for row in tables.cards.values() {
        let kept = store.saved_card_on_file(row.merchant, row.id).await.unwrap();
        assert_eq!(kept, Some(row.original.clone()));
        assert_eq!(store.saved_card_on_file(Id::MIN, row.id).await.unwrap(), None);
    }
    for (id, row) in &tables.pending_payments {
        let challenge = row.challenge.clone().map(|challenge| {
            let PendingChallenge { card, reference, until } = challenge;
            Challenge { authorization: authorization(row), card, reference, until }
        });
        assert_eq!(store.challenge(*id).await.unwrap(), challenge);
    }
    store.close().await;
}

#[tokio::test]
async fn jobs_find_their_pending_work() {
    let (_dir, store, tables) = filled().await;
    let any_age = Duration::ZERO;
    // IDs have a precision of one second, so the second of the last ID must have ended.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let backlog = store.backlog().await.unwrap();
    let lengths = [tables.mails.len(), tables.outbox.len(), tables.pending_payments.len()];
    let waiting = [backlog.mails, backlog.outbox_entries, backlog.pending_payments];
    assert_eq!(waiting.map(|waiting| usize::try_from(waiting).unwrap()), lengths);
    let queued = |row: &OutboxRow| {
        let &OutboxRow {
            id,
            acquirer_key,
            transaction,
            kind,
            amount,
            step,
            dispute,
            trace,
            attempts,
            ..
        } = row;
        let known = tables.transactions[&transaction].clone();
        let authorization = Authorization {
            acquirer: known.acquirer,
            key: AcquirerKey::stored(known.acquirer_key, known.pending_payment),
            id: known.authorization,
        };
        let amounts = tables.transaction(transaction).0.amounts;
        let first = tables.captures.range((transaction, 0)..).next().map(|(key, _)| *key);
        let own = tables.captures.range((transaction, 0)..=(transaction, u32::MAX));
        let last = own.last().map(|((_, step), _)| *step);
        let is_first_capture = kind == OutboxKind::Capture
            && step.is_some_and(|step| first == Some((transaction, step)));
        let mut before = tables.outbox.range(..id).map(|(_, row)| row);
        let behind = before.find(|row| row.transaction == transaction && row.due.is_some());
        let entry = OutboxEntry {
            id,
            key: AcquirerKey::stored(acquirer_key, id),
            transaction,
            authorization,
            reference: known.reference,
            kind,
            currency: known.currency,
            amount,
            descriptor: step
                .and_then(|step| tables.trail[&(transaction, step)].step.descriptor.clone()),
            is_first_capture,
            is_last: amounts.captured + amounts.voided == amounts.amount
                && last.is_none_or(|last| step.is_none_or(|it| last <= it)),
            captures_once: known.capabilities.captures_once,
            trace,
            evidence: None,
            dispute: dispute.map(|dispute| (dispute, tables.disputes[&dispute].reference.clone())),
        };
        let behind = behind.and_then(|row| Some((row.id, row.due?)));
        let is_held = tables.merchants[&known.merchant].standing.holds_payments;
        let valid_until = known.capabilities.valid_until;
        QueuedEntry { entry, attempts, behind, is_held, valid_until }
    };
    let is_new = |row: &&OutboxRow| row.due.is_none();
    let expected: Vec<_> = tables.outbox.values().filter(is_new).map(queued).collect();
    let (new, through) = store.new_outbox_entries(AcquirerName::Sandbox, Id::MIN).await.unwrap();
    assert_eq!(new, expected);
    let newest = *tables.outbox.keys().next_back().unwrap();
    assert_eq!(through, newest);
    let mut due: Vec<_> = tables.outbox.values().filter(|row| row.due.is_some()).collect();
    due.sort_by_key(|row| (row.due, row.id));
    let due: Vec<_> = due.into_iter().map(queued).collect();
    let later = now() + Duration::from_secs(24 * 3600);
    assert_eq!(store.due_outbox_entries(AcquirerName::Sandbox, later).await.unwrap(), due);
    assert!(!new.is_empty() && !due.is_empty());
    let other = store.new_outbox_entries(AcquirerName::Http, Id::MIN).await.unwrap();
    assert_eq!(other, (Vec::new(), newest));

    let is_due = |until: jiff::Timestamp| until <= now();
    let unanswered = tables.pending_payments.values();
    let unanswered = unanswered
        .filter(|row| row.challenge.as_ref().is_none_or(|challenge| is_due(challenge.until)))
        .map(|row| UnansweredPayment { id: row.id, authorization: authorization(row) });
    let unanswered: Vec<_> = unanswered.collect();
    assert_eq!(store.unanswered_payments(any_age, Id::MIN).await.unwrap(), unanswered);
    assert!(unanswered.len() < tables.pending_payments.len());
    let rest = store.unanswered_payments(any_age, unanswered[0].id).await.unwrap();
    assert_eq!(rest, unanswered[1..]);

    let expiring = store.old_transactions(any_age).await.unwrap();
    let expiring = expiring.iter().map(|row| (row.transaction, row.is_pending));
    let through = tables.expiry[&true].through;
    let transactions = tables.transactions.keys().copied().filter(|id| *id > through);
    let expected = transactions.map(|id| (id, tables.transaction(id).0.amounts.pending() > 0));
    assert_eq!(expiring.collect::<Vec<_>>(), expected.collect::<Vec<_>>());

    let mut old = store.old_keys(any_age).await.unwrap();
    old.sort();
    let answered = tables.keys.values();
    let answered = answered.filter(|row| matches!(row.state, KeyState::Answered(_)));
    assert_eq!(old, answered.map(KeyRow::key).collect::<Vec<_>>());
    assert!(store.old_keys(Duration::from_secs(3600)).await.unwrap().is_empty());

    let mut due = store.due_mails().await.unwrap();
    let is_other = |&(id, _): &(Id, Option<Id>)| tables.mails[&id].kind != MailKind::SignIn;
    assert!(
        due.is_sorted_by_key(is_other) && due.iter().any(is_other) && !due.iter().all(is_other)
    );
    due.sort();
    let has_address = |row: &&MailRow| {
        row.user.is_some_and(|user| tables.users.contains_key(&user))
            || row.object.is_some_and(|object| tables.receipts.contains_key(&object))
    };
    let attempted = tables.mails.values().filter(|row| is_due(row.due)).filter(has_address);
    assert_eq!(due, attempted.map(|row| (row.id, row.user)).collect::<Vec<_>>());

    let mut overdue: Vec<Id> =
        store.overdue_disputes().await.unwrap().iter().map(|dispute| dispute.id).collect();
    overdue.sort();
    let is_test = |id| tables.transactions[id].test;
    let open = tables.disputes.values().filter(|row| row.decision.is_none() && row.line.is_some());
    let open = open.filter(|row| is_due(row.due) && is_test(&row.transaction));
    assert_eq!(overdue, open.map(|row| row.id).collect::<Vec<_>>());
    assert!(!overdue.is_empty());
    store.close().await;
}

#[tokio::test]
async fn a_full_page_of_new_entries_ends_at_its_last_one() {
    let (dir, store, tables) = filled().await;
    store.close().await;
    drop(store);
    let db = Connection::open(dir.path().join(DATABASE)).unwrap();
    let (entry, _) = tables.outbox.iter().next_back().unwrap();
    let number = u128::from_str_radix(&entry.to_string(), 16).unwrap();
    let copy = "INSERT INTO outbox
        SELECT $1, acquirer, \"transaction\", movement, amount, step, dispute, trace, acquirer_key, 0, NULL
        FROM outbox WHERE id = $2";
    for next in 1..=1001 {
        let id = format!("{:024x}", number + next).parse::<Id>().unwrap();
        assert_eq!(db.execute(copy, [id.as_bytes(), entry.as_bytes()]).unwrap(), 1);
    }
    drop(db);
    let config = StoreConfig {
        data_dir: dir.path().to_owned(),
        database: None,
        cache: 0,
        payout_delay: Duration::ZERO,
    };
    let store = Store::open(&config, &mut Files::default()).await.unwrap();
    let (mut after, mut found) = (*entry, Vec::new());
    for expected in [1000, 1, 0] {
        let (page, through) = store.new_outbox_entries(AcquirerName::Sandbox, after).await.unwrap();
        assert_eq!(page.len(), expected);
        found.extend(page.iter().map(|queued| queued.entry.id));
        assert_eq!(through, *found.last().unwrap());
        after = through;
    }
    store.close().await;
}

#[tokio::test]
async fn endpoints_are_read_with_their_progress_retries_and_attempts() {
    let mut times = 100;
    let (_dir, store, tables) = loop {
        let made = store_with(times).await;
        let enabled = made.2.webhooks.values().filter(|row| row.disabled.is_none()).count();
        if (1..made.2.webhooks.len()).contains(&enabled) {
            break made;
        }
        times += 10;
    };
    let mut taken: Vec<(Id, u32)> = store.take_webhooks(1000).await.unwrap();
    taken.sort();
    let enabled = tables.webhooks.values().filter(|row| row.disabled.is_none());
    let enabled = enabled.map(|row| (row.id, tables.webhook_progress[&row.id].progress.generation));
    assert_eq!(taken, enabled.collect::<Vec<_>>());
    for (id, row) in &tables.webhooks {
        let found = store.endpoint(*id).await.unwrap();
        assert_eq!(found.is_some(), row.disabled.is_none());
        if let Some(Endpoint { webhook, secrets, progress, mut retries }) = found {
            assert_eq!((&webhook, &secrets), (&row.webhook(), &row.secrets));
            assert_eq!(progress, tables.webhook_progress[id].progress);
            retries.sort_by_key(|retry| retry.event);
            let own = tables.webhook_retries.range((*id, Id::MIN)..=(*id, Id::MAX));
            assert_eq!(retries, own.map(|(_, row)| row.retry()).collect::<Vec<_>>());
        }
        let mut own = rows_of(&tables.webhook_attempts, *id);
        own.sort_by_key(|row| row.id);
        assert_listed(own.into_iter(), async |page| store.clone().deliveries(*id, page).await)
            .await;
    }
    assert!(!taken.is_empty() && taken.len() < tables.webhooks.len());
    assert!(!tables.webhook_retries.is_empty() && !tables.webhook_attempts.is_empty());
    store.close().await;
}

#[tokio::test]
async fn lists_contain_the_rows_of_their_owner_in_order() {
    let (_dir, store, tables) = filled().await;
    let read = || store.clone();
    for &app in tables.apps.keys() {
        for test in [None, Some(true), Some(false)] {
            let own = tables.merchant_apps.values();
            let own = own.filter(|row| row.app == app && test.is_none_or(|test| test == row.test));
            let own = own.map(|row| merchant(&tables, row.merchant));
            assert_listed(own, async |page| read().merchants(app, page, test).await).await;
        }
        let own = tables.api_keys.values().filter(|row| row.app == app).cloned();
        let own = own.map(|ApiKeyRow { id, name, created, last_used, .. }| ApiKeyDetails {
            id,
            name,
            created,
            last_used,
        });
        assert_listed(own, async |page| read().api_keys(app, page).await).await;
        let own = tables.webhooks.values().filter(|row| row.app == app).map(WebhookRow::webhook);
        assert_listed(own, async |page| read().webhooks(app, page).await).await;
    }
    for &merchant in tables.merchants.keys() {
        let members = tables.merchant_users.values().filter(|row| row.merchant == merchant);
        let users = members.map(|row| {
            let User { id, email, created } = tables.users[&row.user].clone();
            let (accepted, about) = (row.accepted, (Some(merchant), id));
            let links = tables.sign_in_links.values();
            let links = links.filter(|row| (row.merchant, row.user) == about);
            let until = links.map(|row| row.until).max();
            let mut mails = tables.mails.values();
            let is_mailed = mails.any(|row| row.merchant == about.0 && row.user == Some(id));
            Member { id, email, created, accepted, until, is_mailed }
        });
        assert_listed(users, async |page| read().users(merchant, page).await).await;
        let members = tables.merchant_apps.values().filter(|row| row.merchant == merchant);
        let apps = members.map(|row| tables.apps[&row.app].clone().app());
        assert_listed(apps, async |page| read().apps(merchant, page).await).await;
        let lines = tables.lines.values().filter(|row| row.merchant == merchant);
        let lines = lines.map(|row| line(&tables, row));
        assert_listed(lines, async |page| read().lines(merchant, page, Range::default()).await)
            .await;
        let filter = TransactionFilter::default;
        let filters = [None, Some(true), Some(false)];
        let filters = filters.map(|successful| TransactionFilter { successful, ..filter() });
        let states = TransactionStatus::ALL.map(Some);
        let states = states.map(|state| TransactionFilter { state, ..filter() });
        for filter in filters.into_iter().chain(states) {
            let own = tables.transactions.values().filter(|row| row.merchant == merchant);
            let own = own
                .filter(|row| filter.successful.is_none_or(|it| it == row.error.is_none()))
                .map(|row| with_trail(&tables, row.id))
                .filter(|own| filter.state.is_none_or(|it| it == own.amounts.status()));
            let list = async |page| read().transactions(merchant, page, filter.clone()).await;
            assert_listed(own, list).await;
        }
    }
    let merchants = tables.merchants.keys().map(|id| Owner::Merchant(*id));
    let transactions = tables.transactions.keys().map(|id| Owner::Transaction(*id));
    for about in merchants.chain(transactions) {
        let is_about = |merchant, transaction| match about {
            Owner::Merchant(id) => id == merchant,
            Owner::Transaction(id) => id == transaction,
        };
        let own = tables.disputes.values().filter(|row| is_about(row.merchant, row.transaction));
        let own = own.cloned().map(DisputeRow::dispute);
        assert_listed(own, async |page| read().disputes(about, page).await).await;
        let own = tables.fraud_alerts.values();
        let own = own.filter(|row| is_about(row.merchant, row.transaction)).cloned();
        assert_listed(own, async |page| read().frauds(about, page).await).await;
    }
    store.close().await;
}

/// Pays all merchants of a run and closes it.
async fn pay_out(store: &Store, run: PayoutRun) -> Vec<PayoutRow> {
    store.execute(OpenPayoutRun(run)).await.unwrap();
    for Merchant { id: merchant, .. } in store.merchants_to_pay(run.test).await.unwrap() {
        let delay = Duration::ZERO;
        store.execute(PayOut(PayoutRequest { run, merchant, delay })).await.unwrap();
    }
    store.execute(ClosePayoutRun(run)).await.unwrap();
    store.payouts_of_run(run).await.unwrap()
}

#[tokio::test]
async fn a_run_pays_every_positive_balance_once() {
    let (dir, store, tables) = store_with(0).await;
    for test in [true, false] {
        let run = PayoutRun { day: date(2026, 12, 1), test, format: PayoutFormat::Csv };
        let payouts = pay_out(&store, run).await;
        let balances = tables.balances.values().map(|row| (row.merchant, row.minor));
        let is_owed = |(id, minor): &(Id, i64)| {
            let Merchant { details, standing, .. } = &tables.merchants[id];
            *minor > 0 && details.test == test && !standing.holds_payouts
        };
        let owed: Vec<_> = balances.filter(is_owed).collect();
        assert!(!owed.is_empty());
        let amounts =
            payouts.iter().map(|payout| (payout.transfer.merchant, payout.transfer.amount.minor));
        assert_eq!(amounts.collect::<Vec<_>>(), owed);
        for payout in &payouts {
            let paid = store.resource::<Merchant>(payout.transfer.merchant, ApiKeyDigest::NONE);
            assert_eq!(paid.await.unwrap().unwrap().value.balance, 0);
        }
        assert_eq!(pay_out(&store, run).await, payouts);
    }
    super::check(dir.path(), Scope::ALL, &Progress::new("check")).await.unwrap();
    store.close().await;
}

const JSON: &[u8] = b"{}";

/// Reads the transaction three times. Returns how often it was in the cache.
fn hits(cache: &TransactionCache, id: Id, caller: ApiKeyDigest) -> usize {
    let is_hit = |_: &i32| match cache.look_up(id, caller) {
        LookUp::Value(found) => found == JSON,
        LookUp::Absent(place) => {
            place.keep(&Bytes::from_static(JSON));
            false
        }
    };
    (0..3).filter(is_hit).count()
}

#[test]
fn a_cached_transaction_is_valid_for_its_app_until_access_ends() {
    let transaction = Id::stored([7; Id::BYTES]);
    let [app, other] = ["app", "other"].map(ApiKeyDigest::of);
    let cache = TransactionCache::new(1 << 20);
    assert_eq!([hits(&cache, transaction, app), hits(&cache, transaction, app)], [1, 3]);
    assert!(matches!(cache.look_up(transaction, other), LookUp::Absent(_)));
    assert_eq!(hits(&cache, transaction, app), 2);

    let mut changes = Changes::default();
    changes.rows.api_keys.delete(Id::MAX);
    let LookUp::Absent(before) = cache.look_up(Id::MAX, app) else { panic!("it is cached") };
    let LookUp::Absent(read_before) = cache.look_up(Id::MAX, app) else { panic!("it is cached") };
    drop(before);
    let changing = cache.change(&changes);
    assert_eq!(hits(&cache, transaction, app), 0);
    drop(changing);
    read_before.keep(&Bytes::from_static(JSON));
    assert!(matches!(cache.look_up(Id::MAX, app), LookUp::Absent(_)));
    assert_eq!(hits(&cache, transaction, app), 2);
}

/// Books a posting without its counterpart, past the check of the decision.
#[derive(Debug)]
struct Unbalanced;

impl Action for Unbalanced {
    type Outcome = ();

    fn needs(&self, _: &mut Needs) {}

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let (line, number, account) = (batch.id(), 0, Account::Fees);
        let money = Money { currency: Currency::EUR, minor: 1 };
        batch.rows.postings.insert(PostingRow { line, number, account, money });
        Ok(())
    }
}

#[tokio::test]
async fn a_line_whose_postings_do_not_sum_to_zero_is_not_written() {
    let (dir, store, _) = store_with(0).await;
    let name = || CreateApp { name: None, digest: ApiKeyDigest::of("another key") };
    let (unbalanced, created) =
        tokio::join!(store.write(Actor::SYSTEM, Unbalanced), store.write(Actor::SYSTEM, name()));
    assert!(unbalanced.is_err());
    assert!(created.unwrap().is_ok());
    super::check(dir.path(), Scope::ALL, &Progress::new("check")).await.unwrap();
    store.close().await;
}
