//! Reads of a store, compared with the model: the same tables in memory.

use std::{cmp::Reverse, collections::BTreeMap, fmt::Debug, time::Duration};

use bytes::Bytes;
use jiff::civil::date;
use proptest::{
    strategy::{Strategy as _, ValueTree as _},
    test_runner::TestRunner,
};

use common::{files::Files, progress::Progress, sqlite::LookUp};

use super::{
    super::{Endpoint, Found, Owner, PaidRun, Store, StoreConfig, check::Scope, now},
    batch::tests::SqliteAndModel,
    transactions::TransactionCache,
    *,
};
use crate::domain::{
    Account, AcquirerKey, AcquirerName, ApiKeyDetails, ApiKeyDigest, Authorization, CardOnFile,
    Challenge, Currency, Id, Merchant, Money, MovementRequest, OutboxEntry, OutboxKind, PageQuery,
    PayoutFormat, PayoutRun, Postponed, QueuedEntry, SavedCard, SendingReport, Transaction,
    TransactionTerms, TransactionVersion, UnansweredPayment,
    actions::{CreateApp, Move, RecordSending},
    write::{
        Action, ApiKeyRow, Batch, Changes, KeyRow, KeyState, Needs, OutboxRow, PendingChallenge,
        PendingRow, PostingRow, Rejection,
        tests::{
            generators::{batches, setup_batches},
            model::Tables,
        },
    },
};

/// A store with rows in every table, and the same rows in memory.
async fn filled() -> (tempfile::TempDir, Store, Tables) {
    store_with(40).await
}

/// A store after the first batches and `times` lists of random batches, and its rows in memory.
async fn store_with(times: usize) -> (tempfile::TempDir, Store, Tables) {
    let dir = tempfile::tempdir().unwrap();
    let config = StoreConfig { data_dir: dir.path().to_owned(), database: None, cache: 0 };
    let store = Store::open(&config, &mut Files::default()).await.unwrap();
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
    engine::announce_commit(&dir.path().join(DATABASE)).unwrap();
    (dir, store, both.tables)
}

#[track_caller]
fn assert_found<T: PartialEq + Debug>(found: Option<Found<T>>, value: &T, is_member: bool) {
    let found = found.unwrap();
    assert_eq!((&found.value, found.is_member), (value, is_member));
}

fn with_trail(tables: &Tables, id: Id) -> Transaction {
    let mut transaction = tables.transaction(id).0;
    transaction.trail = rows_of(&tables.trail, id).into_iter().map(|row| row.step).collect();
    transaction
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

#[tokio::test]
async fn single_rows_are_read_as_written() {
    let (_dir, store, tables) = filled().await;
    for row in tables.api_keys.values() {
        let app = Some(tables.apps[&row.app].clone().app());
        assert_eq!(store.app_by_known_key(row.digest).await.unwrap(), app);
        assert_eq!(store.app_by_key(row.digest).await.unwrap(), app);
    }
    let unknown = ApiKeyDigest::of("unknown");
    assert_eq!(store.app_by_key(unknown).await.unwrap(), None);
    assert_eq!(store.app_by_known_key(unknown).await.unwrap(), None);
    assert_eq!(store.row::<ApiKeyRow>(&Id::MAX).await.unwrap(), None);
    let stored = tables.api_keys.values().map(|row| row.digest);
    for key in stored.chain([unknown]) {
        let owner = tables.api_keys.values().find(|row| row.digest == key);
        let app = owner.map_or(Id::MAX, |row| row.app);
        let is_member = |merchant| tables.merchant_apps.contains_key(&(merchant, app));
        for (&id, merchant) in &tables.merchants {
            let mut merchant = merchant.clone();
            let rows = tables.balances.iter().filter(|((of, _), _)| *of == id);
            merchant.balance = rows.map(|(_, row)| row.minor).sum();
            assert_found(store.resource(id, key).await.unwrap(), &merchant, is_member(id));
            let by_key = store.merchant_by_key(&merchant.key).await.unwrap();
            assert_eq!(by_key, Some(merchant));
        }
        for &id in tables.transactions.keys() {
            let transaction = with_trail(&tables, id);
            let (merchant, is_member) = (transaction.merchant, is_member(transaction.merchant));
            let found = store.transaction(id, key).await.unwrap();
            assert_found(found, &transaction, is_member);
            let currency = transaction.currency;
            let terms = tables.merchants[&merchant].terms();
            let transaction_terms = TransactionTerms { id, merchant, currency, terms };
            assert_found(store.resource(id, key).await.unwrap(), &transaction_terms, is_member);
        }
        for line in tables.lines.values() {
            let (id, merchant) = (line.id, line.merchant);
            let line = line.line(tables.merchants[&merchant].details.test);
            assert_found(store.resource(id, key).await.unwrap(), &line, is_member(merchant));
        }
        for row in tables.cards.values() {
            let card = SavedCard {
                id: row.id,
                merchant: row.merchant,
                created: row.created,
                card: row.original.card.clone(),
                notes: row.notes.as_ref().map(|notes| notes.as_str().to_owned()),
            };
            assert_found(
                store.resource(row.id, key).await.unwrap(),
                &card,
                is_member(row.merchant),
            );
        }
        for row in tables.disputes.values() {
            let dispute = &row.clone().dispute();
            let found = store.resource(dispute.id, key).await.unwrap();
            assert_found(found, dispute, is_member(dispute.merchant));
        }
        for fraud in tables.fraud_alerts.values() {
            assert_found(
                store.resource(fraud.id, key).await.unwrap(),
                fraud,
                is_member(fraud.merchant),
            );
        }
    }
    store.close().await;
}

#[tokio::test]
async fn keys_cards_and_past_states_are_read_as_written() {
    let (_dir, store, tables) = filled().await;
    for ((app, key), row) in &tables.keys {
        let name = (*app, key.clone());
        assert_eq!(store.row(&name).await.unwrap().as_ref(), Some(row));
        assert_eq!(store.row::<KeyRow>(&(Id::MAX, name.1)).await.unwrap(), None);
    }
    for (&id, row) in &tables.transactions {
        let (transaction, number) = tables.transaction(id);
        let is_original = transaction.error.is_none() && !transaction.recurring;
        let reference = row.reference.clone();
        let original = || {
            Some(CardOnFile {
                card: transaction.card.clone()?,
                acquirer: row.acquirer,
                reference: reference?,
            })
        };
        // A payment that was approved without card data has no card.
        if transaction.card.is_some() || !is_original {
            let expected = is_original.then(original).flatten();
            assert_eq!(store.card_on_file(transaction.merchant, id).await.unwrap(), expected);
        }
        assert_eq!(store.card_on_file(Id::MAX, id).await.unwrap(), None);
        let transaction = with_trail(&tables, id);
        for steps in 0..=number {
            let version = TransactionVersion { transaction: id, steps, disputed: 3 };
            let then = transaction.clone().at(version);
            assert_eq!(store.transaction_as_of(version).await.unwrap(), Some(then));
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
    let lengths = [tables.invitations.len(), tables.outbox.len(), tables.pending_payments.len()];
    let waiting = [backlog.invitations, backlog.outbox_entries, backlog.pending_payments];
    assert_eq!(waiting.map(|waiting| usize::try_from(waiting).unwrap()), lengths);
    let queued = |row: &OutboxRow| {
        let transaction = &tables.transactions[&row.transaction];
        let first = tables.captures.range((row.transaction, 0)..).next().map(|(key, _)| *key);
        let is_first = first == row.step.map(|step| (row.transaction, step));
        let amounts = tables.transaction(row.transaction).0.amounts;
        let entry = OutboxEntry {
            id: row.id,
            key: AcquirerKey::stored(row.acquirer_key, row.id),
            transaction: row.transaction,
            authorization: Authorization {
                acquirer: transaction.acquirer,
                key: AcquirerKey::stored(transaction.acquirer_key, transaction.pending_payment),
                id: transaction.authorization.clone(),
            },
            reference: transaction.reference.clone(),
            kind: row.kind,
            currency: transaction.currency,
            amount: row.amount,
            is_fully_voided: amounts.voided == amounts.amount,
            is_first_capture: row.kind == OutboxKind::Capture && is_first,
        };
        let is_before = |other: &&OutboxRow| {
            other.due.is_some() && other.transaction == row.transaction && other.id < row.id
        };
        let behind = tables.outbox.values().find(is_before);
        QueuedEntry {
            entry,
            attempts: row.attempts,
            behind: behind.and_then(|first| Some((first.id, first.due?))),
        }
    };
    let is_new = |row: &&OutboxRow| row.due.is_none();
    let expected: Vec<_> = tables.outbox.values().filter(is_new).map(queued).collect();
    let (new, through) = store.new_outbox_entries(AcquirerName::Sandbox, Id::MIN).await.unwrap();
    assert_eq!(new, expected);
    assert_eq!(through, expected.last().map_or(Id::MIN, |queued| queued.entry.id));
    let mut due: Vec<_> = tables.outbox.values().filter(|row| row.due.is_some()).collect();
    due.sort_by_key(|row| (row.due, row.id));
    let due: Vec<_> = due.into_iter().map(queued).collect();
    let later = now() + Duration::from_secs(24 * 3600);
    let read = store.due_outbox_entries(AcquirerName::Sandbox, later).await.unwrap();
    assert_eq!(read, due);
    let pending = |id: &Id| tables.transaction(*id).0.amounts.pending() > 0;
    let transaction = tables.transactions.keys().copied().find(pending).unwrap();
    let (request, descriptor) = (MovementRequest::Void { amount: None }, None);
    let void = Move { transaction, request, descriptor, steps: 0 };
    store.write(void).await.unwrap().unwrap();
    let (new, _) = store.new_outbox_entries(AcquirerName::Sandbox, Id::MIN).await.unwrap();
    let entry = new.last().unwrap().entry.id;
    let postponed = vec![Postponed { entry, attempts: 1, delay: Duration::ZERO }];
    let report = SendingReport { done: Vec::new(), postponed };
    store.write(RecordSending(report)).await.unwrap().unwrap();
    let read = store.due_outbox_entries(AcquirerName::Sandbox, later).await.unwrap();
    let mut due = read.iter().map(|queued| (queued.entry.id, queued.attempts));
    assert!(due.any(|read| read == (entry, 1)));
    let (new, _) = store.new_outbox_entries(AcquirerName::Sandbox, Id::MIN).await.unwrap();
    assert!(!new.iter().any(|queued| queued.entry.id == entry));
    let other = store.new_outbox_entries(AcquirerName::Http, Id::MIN).await.unwrap();
    assert_eq!(other, (Vec::new(), Id::MIN));

    let is_due = |until: jiff::Timestamp| until <= now();
    let unanswered = tables
        .pending_payments
        .iter()
        .filter(|(_, row)| row.challenge.as_ref().is_none_or(|challenge| is_due(challenge.until)));
    let unanswered: Vec<UnansweredPayment> = unanswered
        .map(|(&id, row)| UnansweredPayment { id, authorization: authorization(row) })
        .collect();
    assert_eq!(store.unanswered_payments(any_age, Id::MIN).await.unwrap(), unanswered);
    if let [first, rest @ ..] = &*unanswered {
        assert_eq!(store.unanswered_payments(any_age, first.id).await.unwrap(), rest);
    }

    let expiring = store.old_transactions(any_age).await.unwrap();
    let expiring = expiring.iter().map(|row| (row.transaction, row.is_pending));
    let through = tables.expiry.get(&true).map_or(Id::MIN, |row| row.through);
    let transactions = tables.transactions.keys().copied().filter(|id| *id > through);
    let expected = transactions.map(|id| (id, pending(&id)));
    assert_eq!(expiring.collect::<Vec<_>>(), expected.collect::<Vec<_>>());

    let mut old = store.old_keys(any_age).await.unwrap();
    old.sort();
    let is_kept = |state: &KeyState| matches!(state, KeyState::Answered(_));
    let kept = tables.keys.iter().filter(|(_, row)| is_kept(&row.state));
    assert_eq!(old, kept.map(|(name, _)| name.clone()).collect::<Vec<_>>());
    assert!(store.old_keys(Duration::from_secs(3600)).await.unwrap().is_empty());

    let mut due = store.due_invitations().await.unwrap();
    due.sort();
    let attempted = tables.invitations.values().filter(|row| is_due(row.due));
    assert_eq!(due, attempted.map(|row| row.id).collect::<Vec<_>>());

    let mut overdue: Vec<Id> =
        store.overdue_disputes().await.unwrap().iter().map(|dispute| dispute.id).collect();
    overdue.sort();
    let is_test = |id| tables.transactions[id].test;
    let open = tables.disputes.values().filter(|row| row.decision.is_none());
    let open = open.filter(|row| is_due(row.due) && is_test(&row.transaction));
    assert_eq!(overdue, open.map(|row| row.id).collect::<Vec<_>>());
    assert!(!overdue.is_empty());
    store.close().await;
}

#[tokio::test]
async fn endpoints_are_read_with_their_progress_retries_and_attempts() {
    let (_dir, store, tables) = filled().await;
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
        let attempts = store.delivery_attempts(*id).await.unwrap();
        let mut own: Vec<_> = rows_of(&tables.webhook_attempts, *id);
        own.sort_by_key(|row| Reverse((row.attempt.created, row.number)));
        assert!(attempts.iter().eq(own.iter().map(|row| &row.attempt)));
    }
    assert!(!taken.is_empty() && taken.len() < tables.webhooks.len());
    assert!(!tables.webhook_retries.is_empty() && !tables.webhook_attempts.is_empty());
    store.close().await;
}

#[tokio::test]
async fn lists_contain_the_rows_of_their_owner_in_order() {
    let (_dir, store, tables) = filled().await;
    let newest = PageQuery { limit: 1000, before: None, after: None };
    let oldest = PageQuery { after: Some(Id::MIN), ..newest };
    for (page_query, is_forward) in [(newest, false), (oldest, true)] {
        let in_order = |mut ids: Vec<Id>| {
            ids.sort();
            if !is_forward {
                ids.reverse();
            }
            ids
        };
        for &app in tables.apps.keys() {
            for test in [None, Some(true), Some(false)] {
                let found = store.clone().merchants(app, page_query, test).await.unwrap();
                let own = tables.merchant_apps.values();
                let own = own.filter(|row| row.app == app && test.is_none_or(|it| it == row.test));
                let own = in_order(own.map(|row| row.merchant).collect());
                assert_eq!(found.iter().map(|merchant| merchant.id).collect::<Vec<_>>(), own);
            }
        }
        for &app in tables.apps.keys() {
            let found = store.clone().api_keys(app, page_query).await.unwrap();
            let keys = tables.api_keys.values().filter(|row| row.app == app);
            let keys = in_order(keys.map(|row| row.id).collect());
            let keys = keys.iter().map(|id| {
                let ApiKeyRow { id, name, created, last_used, .. } = tables.api_keys[id].clone();
                ApiKeyDetails { id, name, created, last_used }
            });
            assert_eq!(found, keys.collect::<Vec<_>>());
        }
        for &merchant in tables.merchants.keys() {
            let found = store.clone().users(merchant, page_query).await.unwrap();
            let members = tables.merchant_users.keys().filter(|(of, _)| *of == merchant);
            let users = in_order(members.map(|(_, user)| *user).collect());
            let users: Vec<_> = users.iter().map(|id| tables.users[id].clone()).collect();
            assert_eq!(found, users);
            let found = store.clone().apps(merchant, page_query).await.unwrap();
            let members = tables.merchant_apps.keys().filter(|(of, _)| *of == merchant);
            let apps = in_order(members.map(|(_, app)| *app).collect());
            let apps: Vec<_> = apps.iter().map(|id| tables.apps[id].clone().app()).collect();
            assert_eq!(found, apps);
            let found = store.clone().lines(merchant, page_query).await.unwrap();
            let lines = tables.lines.values().filter(|line| line.merchant == merchant);
            let lines = in_order(lines.map(|line| line.id).collect());
            let line = |id: &Id| tables.lines[id].line(tables.merchants[&merchant].details.test);
            let lines: Vec<_> = lines.iter().map(line).collect();
            assert_eq!(found, lines);
            for successful in [None, Some(true), Some(false)] {
                let found =
                    store.clone().transactions(merchant, page_query, successful).await.unwrap();
                let own = tables.transactions.values();
                let own = own.filter(|row| {
                    row.merchant == merchant
                        && successful.is_none_or(|successful| successful == row.error.is_none())
                });
                let own = in_order(own.map(|row| row.id).collect());
                let own: Vec<_> = own.iter().map(|id| with_trail(&tables, *id)).collect();
                assert_eq!(found, own);
            }
        }
        let merchants = tables.merchants.keys().map(|id| Owner::Merchant(*id));
        let transactions = tables.transactions.keys().map(|id| Owner::Transaction(*id));
        for about in merchants.chain(transactions) {
            let is_about = |merchant, transaction| match about {
                Owner::Merchant(id) => id == merchant,
                Owner::Transaction(id) => id == transaction,
            };
            let found = store.clone().disputes(about, page_query).await.unwrap();
            let own = tables.disputes.values();
            let own = own.filter(|row| is_about(row.merchant, row.transaction));
            let own = in_order(own.map(|row| row.id).collect());
            let own: Vec<_> = own.iter().map(|id| tables.disputes[id].clone().dispute()).collect();
            assert_eq!(found, own);
            let found = store.clone().frauds(about, page_query).await.unwrap();
            let own =
                tables.fraud_alerts.values().filter(|row| is_about(row.merchant, row.transaction));
            let own = in_order(own.map(|row| row.id).collect());
            let own: Vec<_> = own.iter().map(|id| tables.fraud_alerts[id].clone()).collect();
            assert_eq!(found, own);
        }
    }
    store.close().await;
}

#[tokio::test]
async fn the_command_pays_out_every_positive_balance_once() {
    let (dir, store, tables) = store_with(0).await;
    let progress = Progress::new("payout");
    for test in [true, false] {
        let run = PayoutRun { day: date(2026, 12, 1), test, format: PayoutFormat::Csv };
        let paid = pay_out(dir.path(), run, Duration::ZERO, &progress).await.unwrap();
        let PaidRun { payouts, left_out } = &paid;
        assert!(left_out.is_empty(), "{left_out:?}");
        let balances = tables.balances.values().map(|row| (row.merchant, row.minor));
        let owed =
            balances.filter(|(id, minor)| *minor > 0 && tables.merchants[id].details.test == test);
        let owed: Vec<_> = owed.collect();
        assert!(!owed.is_empty());
        let amounts =
            payouts.iter().map(|payout| (payout.transfer.merchant, payout.transfer.amount.minor));
        assert_eq!(amounts.collect::<Vec<_>>(), owed);
        for payout in payouts {
            let paid = store.resource::<Merchant>(payout.transfer.merchant, ApiKeyDigest::NONE);
            assert_eq!(paid.await.unwrap().unwrap().value.balance, 0);
        }
        assert_eq!(pay_out(dir.path(), run, Duration::ZERO, &progress).await.unwrap(), paid);
    }
    super::check(dir.path(), Scope::Everything, &progress).unwrap();
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
    let (unbalanced, created) = tokio::join!(store.write(Unbalanced), store.write(name()));
    assert!(unbalanced.is_err());
    assert!(created.unwrap().is_ok());
    super::check(dir.path(), Scope::Everything, &Progress::new("check")).unwrap();
    store.close().await;
}
