//! Generates random writes. They use few rows, so that they often use the same row.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp, civil::date};
use num_rational::Ratio;
use proptest::prelude::*;

use super::{at, model::Tables};
use crate::domain::{
    AcquirerEvent, AcquirerId, AcquirerKey, AcquirerName, AcquirerOutcome, AdvanceBy, Amount,
    ApiKeyDigest, ApiKeyUse, Card, CardOnFile, Conclusion, Country, Currency, CustomData, Decision,
    Delivery, DeliveryAttempt, DeliveryOutcome, DeliveryReport, Descriptor, Email, EventType,
    EventTypes, Exchange, Expiry, Failures, FraudReason, Iban, Id, LinkSecret, MerchantDetails,
    MerchantUpdate, MovementRequest, Name, Notes, Notification, Payment, PayoutFormat,
    PayoutRequest, PayoutRun, Postponed, Pricing, ProcessingError, Progress, Reason, Retry, Scheme,
    SendingReport, ThreeDSecure, WebhookDetails, WebhookSecret, WebhookUpdate, WebhookUrl, Website,
    actions::{
        AddApp, AddUser, AdvanceClock, BeginPayment, ChallengePayment, ConcludePayment,
        CreateApiKey, CreateApp, CreateMerchant, CreateWebhook, DeleteApiKey, DeleteEvents,
        DeleteKeys, DeleteWebhook, FinishAdvance, Move, PayOut, PreparePayment, RecordApiKeyUses,
        RecordDeliveries, RecordNotification, RecordSending, RefuseEntry, RemoveInvitation,
        ReplayWebhook, RevokeApp, RevokeUser, RotateWebhook, SaveCard, SaveExpiryCursor,
        SetLinkSecret, StartInvitationAttempt, UpdateMerchant, UpdateWebhook,
    },
    hour_of,
    write::{AnyAction, KeyState, KeyedRequest, Write},
};

/// The kinds of writes that services put into batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    CreateApp,
    CreateApiKey,
    DeleteApiKey,
    UseApiKeys,
    CreateMerchant,
    UpdateMerchant,
    SetLinkSecret,
    AddUser,
    RevokeUser,
    AddApp,
    RevokeApp,
    Begin,
    Conclude,
    Challenge,
    Capture,
    Refund,
    Void,
    SaveCard,
    Opened,
    Decided,
    Fraud,
    Confirm,
    Refuse,
    DeleteEvents,
    TakeInvitation,
    RemoveInvitation,
    CreateWebhook,
    UpdateWebhook,
    RotateWebhook,
    DeleteWebhook,
    ReplayWebhook,
    RecordDeliveries,
    Forget,
    Expire,
    AdvanceClock,
}

/// Kinds that concern the same rows. Repeated kinds are more frequent.
const MEMBERS: &[Kind] = {
    use Kind::{
        AddApp, AddUser, CreateApp, CreateMerchant, RemoveInvitation, RevokeApp, RevokeUser,
        SetLinkSecret, TakeInvitation, UpdateMerchant,
    };
    &[
        CreateApp,
        CreateMerchant,
        UpdateMerchant,
        SetLinkSecret,
        AddUser,
        AddUser,
        RevokeUser,
        RevokeUser,
        AddApp,
        AddApp,
        RevokeApp,
        RevokeApp,
        TakeInvitation,
        TakeInvitation,
        RemoveInvitation,
    ]
};
const APPS: &[Kind] = {
    use Kind::{
        AdvanceClock, CreateApiKey, CreateWebhook, DeleteApiKey, DeleteWebhook, RecordDeliveries,
        ReplayWebhook, RotateWebhook, UpdateWebhook, UseApiKeys,
    };
    &[
        AdvanceClock,
        AdvanceClock,
        CreateApiKey,
        CreateApiKey,
        DeleteApiKey,
        DeleteApiKey,
        UseApiKeys,
        CreateWebhook,
        CreateWebhook,
        UpdateWebhook,
        RotateWebhook,
        DeleteWebhook,
        ReplayWebhook,
        RecordDeliveries,
        RecordDeliveries,
        RecordDeliveries,
        RecordDeliveries,
    ]
};
const PAYMENTS: &[Kind] = {
    use Kind::{Begin, Challenge, Conclude, Forget, SaveCard};
    &[Begin, Begin, Conclude, Conclude, Challenge, SaveCard, Forget]
};
const MONEY: &[Kind] = {
    use Kind::{
        Capture, Confirm, Decided, DeleteEvents, Expire, Forget, Fraud, Opened, Refund, Refuse,
        Void,
    };
    &[
        Capture,
        Capture,
        Refund,
        Refund,
        Void,
        Opened,
        Opened,
        Opened,
        Opened,
        Decided,
        Decided,
        Decided,
        Fraud,
        Confirm,
        Refuse,
        Refuse,
        DeleteEvents,
        Expire,
        Forget,
    ]
};

/// A random choice of a write, before the existing rows are known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteSpec {
    pub(crate) kind: Kind,
    /// Chooses a row.
    pub(crate) choice: u8,
    /// Chooses another row, or optional fields.
    pub(crate) second_choice: u8,
    pub(crate) amount: i64,
    /// The app, the key and the request.
    pub(crate) key: Option<(u8, u8, u8)>,
}

/// A batch of a service, or one payout: the command `payout` writes batches of one write.
#[derive(Debug, Clone)]
pub(crate) enum Batch {
    Writes(Vec<WriteSpec>),
    PayOut(u8),
}

pub(crate) fn batches() -> impl Strategy<Value = Vec<Batch>> {
    let key = prop::option::weighted(0.4, (any::<u8>(), 0_u8..4, 0_u8..5));
    let spec = move |kinds: &'static [Kind]| {
        let kind = prop::sample::select(kinds);
        (kind, any::<u8>(), any::<u8>(), 1_i64..400, key.clone()).prop_map(
            |(kind, choice, second_choice, amount, key)| WriteSpec {
                kind,
                choice,
                second_choice,
                amount,
                key,
            },
        )
    };
    let writes = |spec| prop::collection::vec(spec, 1..16).prop_map(Batch::Writes);
    let of = |kinds| writes(spec(kinds).boxed());
    let all = prop_oneof![spec(MEMBERS), spec(APPS), spec(PAYMENTS), spec(MONEY)];
    let batch = prop_oneof![
        3 => of(MEMBERS),
        2 => of(APPS),
        2 => of(PAYMENTS),
        4 => of(MONEY),
        3 => writes(all.boxed()),
        1 => any::<u8>().prop_map(Batch::PayOut),
    ];
    prop::collection::vec(batch, 1..8)
}

/// Batches that create two apps, each with an endpoint, two merchants, users, and payments. Two
/// payments succeed and are captured twice.
pub(crate) fn setup_batches() -> Vec<Batch> {
    // An index of 0 chooses the first row, 1 the second.
    let spec = |kind, index: u8, key| {
        let choice = 8 * index + 1;
        WriteSpec { kind, choice, second_choice: choice, amount: 300, key }
    };
    let two = |kind| vec![spec(kind, 0, None), spec(kind, 1, None)];
    let begun = |number: u8| spec(Kind::Begin, number, Some((1, 10 + number, 0)));
    [
        two(Kind::CreateApp),
        two(Kind::CreateMerchant),
        two(Kind::AddUser),
        (0..5).map(begun).collect(),
        two(Kind::Conclude),
        two(Kind::Capture),
        two(Kind::Capture),
        two(Kind::CreateWebhook),
    ]
    .map(Batch::Writes)
    .into()
}

impl Batch {
    /// The writes, about the rows of `tables`. The `number` increases with each batch.
    pub(crate) fn writes(&self, tables: &Tables, number: u32) -> Vec<Write> {
        match self {
            Self::Writes(specs) => {
                // One job deletes keys, and it waits for each of its writes. So a batch has at most
                // one such write.
                let forgets = |spec: &WriteSpec| spec.kind == Kind::Forget;
                let first = specs.iter().position(forgets);
                let specs = specs.iter().enumerate();
                let specs = specs.filter(|(index, spec)| !forgets(spec) || first == Some(*index));
                let writes = specs.map(|(index, spec)| {
                    let write = spec.write(tables, number, index);
                    let is_forgotten = |keyed: &KeyedRequest| {
                        let name = (keyed.app, keyed.key.clone());
                        first.is_some() || !tables.keys.contains_key(&name)
                    };
                    // An acquirer may know a key for longer than the service, so nobody may use it
                    // again.
                    let is_used = |keyed: &KeyedRequest| {
                        let key = keyed.acquirer_key();
                        tables.trail.values().any(|row| row.acquirer_key == Some(key))
                    };
                    let is_free = |keyed: &KeyedRequest| !(is_used(keyed) && is_forgotten(keyed));
                    Write { keyed: write.keyed.filter(is_free), ..write }
                });
                writes.collect()
            }
            Self::PayOut(choice) => {
                let test = choice.is_multiple_of(2);
                let day = if test { date(2026, 11, 20) } else { date(2026, 11, 21) };
                let format = PayoutFormat::ALL[usize::from(*choice / 2 % 2)];
                let run = PayoutRun { day, test, format };
                let merchant = pick(&tables.merchants, 2, *choice);
                // Captures are at most a few batches old: see `at`.
                let delay = Duration::from_secs(15 * u64::from(choice / 4 % 4));
                vec![PayOut(PayoutRequest { run, merchant, delay }).into()]
            }
        }
    }
}

impl WriteSpec {
    /// The write with this index in the batch with this `number`.
    fn write(&self, tables: &Tables, number: u32, index: usize) -> Write {
        let action = self.action(tables, &format!("{number} {index}"));
        let takes_key = matches!(
            self.kind,
            Kind::CreateApiKey
                | Kind::CreateMerchant
                | Kind::SetLinkSecret
                | Kind::AddUser
                | Kind::AddApp
                | Kind::Begin
                | Kind::Capture
                | Kind::Refund
                | Kind::Void
                | Kind::SaveCard
                | Kind::CreateWebhook
                | Kind::RotateWebhook
        ) || (self.kind == Kind::AdvanceClock && !self.choice.is_multiple_of(3));
        let keyed = self.key.filter(|_| takes_key).map(|(app, key, request)| KeyedRequest {
            app: pick(&tables.apps, 2, app | 1),
            key: format!("key {key}"),
            request: [request.min(1); 32],
        });
        Write { action, keyed }
    }

    fn action(&self, tables: &Tables, unique: &str) -> Box<dyn AnyAction> {
        let Self { kind, choice, second_choice, .. } = *self;
        let merchant = pick(&tables.merchants, 2, choice);
        let app = pick(&tables.apps, 3, second_choice);
        match kind {
            Kind::CreateApp => CreateApp {
                name: (choice > 99).then(|| Name::new("Till").unwrap()),
                digest: ApiKeyDigest::of(unique),
            }
            .into(),
            Kind::CreateApiKey => CreateApiKey {
                app: pick(&tables.apps, 2, choice),
                name: (second_choice > 99).then(|| Name::new("Till").unwrap()),
                digest: ApiKeyDigest::of(unique),
            }
            .into(),
            Kind::DeleteApiKey => DeleteApiKey {
                app: pick(&tables.apps, 2, choice),
                key: pick(&tables.api_keys, 6, second_choice),
            }
            .into(),
            Kind::UseApiKeys => RecordApiKeyUses {
                uses: [choice, second_choice].map(|choice| self.used(tables, choice)).into(),
            }
            .into(),
            Kind::CreateMerchant => CreateMerchant {
                app: pick(&tables.apps, 3, second_choice | 1),
                key: unique.to_owned(),
                details: Box::new(details((choice / 8).is_multiple_of(2))),
                pricing: Pricing {
                    rate: "0.025".parse().unwrap(),
                    flat: "EUR:25".parse().unwrap(),
                    dispute: "EUR:350".parse().unwrap(),
                },
            }
            .into(),
            Kind::UpdateMerchant => UpdateMerchant {
                merchant,
                update: MerchantUpdate {
                    name: second_choice
                        .is_multiple_of(3)
                        .then(|| Name::new(&format!("Shop {second_choice}")).unwrap()),
                    email: (second_choice % 3 == 1).then(|| email(second_choice)),
                    descriptor: (!second_choice.is_multiple_of(3))
                        .then(|| descriptor(second_choice)),
                },
            }
            .into(),
            Kind::SetLinkSecret => SetLinkSecret {
                merchant,
                secret: LinkSecret::new(format!("secret {second_choice}").into()),
            }
            .into(),
            Kind::AddUser => AddUser { merchant, app, email: email(second_choice) }.into(),
            Kind::RevokeUser => {
                RevokeUser { merchant, user: pick(&tables.users, 3, second_choice) }.into()
            }
            Kind::AddApp => AddApp { merchant, app }.into(),
            Kind::RevokeApp => RevokeApp { merchant, app }.into(),
            Kind::Begin => BeginPayment {
                payment: Box::new(self.payment(tables)),
                link: second_choice.is_multiple_of(3).then_some([second_choice % 2; 32]),
            }
            .into(),
            Kind::Conclude | Kind::Challenge => self.follow_up(tables),
            Kind::Capture | Kind::Refund | Kind::Void => Move {
                transaction: pick(&tables.transactions, 3, choice),
                request: self.request(),
                descriptor: second_choice.is_multiple_of(3).then(|| descriptor(second_choice)),
                steps: 0,
            }
            .into(),
            Kind::SaveCard => SaveCard {
                merchant,
                original: Box::new(CardOnFile {
                    card: card(),
                    acquirer: Some(AcquirerName::Sandbox),
                    reference: "card".to_owned(),
                }),
                notes: (second_choice > 99).then(|| Notes::new("blue").unwrap()),
            }
            .into(),
            Kind::Opened | Kind::Decided | Kind::Fraud => RecordNotification {
                notification: Box::new(self.notification(tables)),
                exchange: exchange(),
                fee_exchange: exchange(),
                steps: 0,
            }
            .into(),
            Kind::Confirm => RecordSending(SendingReport {
                done: vec![pick(&tables.outbox, 9, choice)],
                postponed: vec![Postponed {
                    entry: pick(&tables.outbox, 9, second_choice),
                    attempts: choice.into(),
                    delay: Duration::from_secs(second_choice.into()),
                }],
            })
            .into(),
            Kind::Refuse => {
                let entry = pick(&tables.outbox, 9, choice);
                let known = tables.outbox.get(&entry);
                let transaction = known.map_or(Id::MAX, |known| known.transaction);
                let key = AcquirerKey::stored(known.and_then(|row| row.acquirer_key), entry);
                RefuseEntry { entry, transaction, key }.into()
            }
            Kind::DeleteEvents => {
                DeleteEvents { events: vec![pick(&tables.events, 9, choice)] }.into()
            }
            Kind::TakeInvitation => StartInvitationAttempt {
                invitation: pick(&tables.invitations, 3, choice),
                jitter: second_choice.into(),
            }
            .into(),
            Kind::RemoveInvitation => {
                RemoveInvitation { invitation: pick(&tables.invitations, 3, choice) }.into()
            }
            Kind::CreateWebhook => CreateWebhook {
                app,
                details: Box::new(WebhookDetails {
                    url: url(choice),
                    types: [EventType::PayoutBooked].into_iter().collect(),
                    description: (second_choice > 99).then(|| Name::new("Shop").unwrap()),
                }),
                secret: WebhookSecret::new([choice; WebhookSecret::BYTES]),
            }
            .into(),
            Kind::UpdateWebhook => {
                let (app, webhook) = self.webhook(tables);
                let update = WebhookUpdate {
                    url: second_choice.is_multiple_of(2).then(|| url(second_choice)),
                    types: second_choice.is_multiple_of(3).then(EventTypes::default),
                    description: (second_choice > 200).then(|| Name::new("Till").unwrap()),
                    enabled: [None, Some(true), Some(false)][usize::from(second_choice % 3)],
                };
                UpdateWebhook { app, webhook, update: Box::new(update) }.into()
            }
            Kind::RotateWebhook => {
                let (app, webhook) = self.webhook(tables);
                let secret = WebhookSecret::new([second_choice; WebhookSecret::BYTES]);
                RotateWebhook { app, webhook, secret }.into()
            }
            Kind::DeleteWebhook => {
                let (app, webhook) = self.webhook(tables);
                DeleteWebhook { app, webhook }.into()
            }
            Kind::ReplayWebhook => {
                let (app, webhook) = self.webhook(tables);
                ReplayWebhook { app, webhook, after: pick(&tables.events, 9, second_choice) }.into()
            }
            Kind::RecordDeliveries => RecordDeliveries(Box::new(self.report(tables))).into(),
            Kind::Forget => self.forget(tables),
            Kind::AdvanceClock if choice.is_multiple_of(3) => {
                let row = tables.apps.get(&app);
                let advance = row.and_then(|row| row.clock.pending).unwrap_or(Id::MAX);
                FinishAdvance { app, advance }.into()
            }
            Kind::AdvanceClock => {
                let by = Duration::from_secs(u64::from(choice) + 1);
                AdvanceClock { app, by: AdvanceBy::new(by).unwrap() }.into()
            }
            Kind::Expire => {
                // One job at a time checks the transactions, in order of their IDs.
                let through = tables.expiry.get(&true).map(|row| row.through);
                let next = tables.transactions.keys().find(|id| Some(**id) > through);
                SaveExpiryCursor { through: next.copied().or(through).unwrap_or(Id::MIN) }.into()
            }
        }
    }

    /// An endpoint with its app, or rarely with another one.
    fn webhook(&self, tables: &Tables) -> (Id, Id) {
        let webhook = pick(&tables.webhooks, 4, self.choice);
        let own = tables.webhooks.get(&webhook).filter(|_| self.amount > 20);
        let app = own.map(|row| row.app);
        (app.unwrap_or_else(|| pick(&tables.apps, 3, self.second_choice)), webhook)
    }

    /// Results of deliveries, rarely of another generation or epoch. The events are few, so that
    /// later reports are about the same ones.
    fn report(&self, tables: &Tables) -> DeliveryReport {
        let (app, webhook) = self.webhook(tables);
        let Self { choice, second_choice, amount, .. } = *self;
        let progress = tables.webhook_progress.get(&webhook).map(|row| row.progress);
        let Progress { generation, epoch, .. } = progress.unwrap_or(Progress::new(webhook));
        let events = BTreeSet::from([choice, second_choice, choice ^ second_choice].map(|n| n % 7));
        let (failed, finished) = (events.iter(), events.iter().map(|&number| id(number.into())));
        let retries = failed.take(usize::from(choice % 4)).map(|&number| Retry {
            event: id(number.into()),
            transaction: (!number.is_multiple_of(3)).then(|| id(u64::from(100 + number % 3))),
            failures: second_choice.is_multiple_of(2).then(|| Failures {
                attempts: second_choice.into(),
                first: at(number.into()),
                due: later(),
            }),
        });
        DeliveryReport {
            app,
            webhook,
            generation: generation + u32::from(amount > 250),
            epoch: epoch + u32::from((21..60).contains(&amount)),
            position: pick(&tables.events, 9, second_choice),
            retries: retries.collect(),
            finished: finished.skip(usize::from(choice % 4)).collect(),
            attempts: (0..[0, 1, 2, 60][usize::from(second_choice % 4)]).map(attempt).collect(),
            gives_up: second_choice > 200,
        }
    }

    fn payment(&self, tables: &Tables) -> Payment {
        let merchant = pick(&tables.merchants, 2, self.choice | 1);
        let code = if self.second_choice.is_multiple_of(2) { "EUR" } else { "DKK" };
        Payment {
            merchant,
            currency: code.parse().unwrap(),
            amount: Amount::new(self.amount * 4).unwrap(),
            descriptor: descriptor(self.second_choice),
            custom: (self.second_choice > 99).then(|| CustomData::with(None, "a", "b").unwrap()),
            recurring: self.choice > 200,
            acquirer: Some(AcquirerName::Sandbox),
        }
    }

    fn follow_up(&self, tables: &Tables) -> Box<dyn AnyAction> {
        let pending_payment = pick(&tables.pending_payments, 3, self.choice);
        if self.kind == Kind::Challenge && self.second_choice.is_multiple_of(4) {
            let authorization = format!("pi_{}", self.second_choice);
            return PreparePayment { pending_payment, authorization }.into();
        }
        if self.kind == Kind::Challenge {
            let (card, reference) = (Box::new(card()), "challenge".to_owned());
            return ChallengePayment { pending_payment, card, reference }.into();
        }
        let approved =
            || AcquirerOutcome::Approved { reference: "card".to_owned(), tds: ThreeDSecure::Full };
        let conclusion = match self.second_choice % 7 {
            0..=2 => Conclusion::Answered(approved()),
            3 => Conclusion::Answered(AcquirerOutcome::Declined(ProcessingError::DECLINED)),
            4 => Conclusion::Found(approved()),
            5 => Conclusion::NotDone,
            _ => Conclusion::Abandoned,
        };
        let card = (!self.second_choice.is_multiple_of(3)).then(|| Box::new(card()));
        ConcludePayment { pending_payment, conclusion, card }.into()
    }

    fn request(&self) -> MovementRequest {
        let amount = Amount::new(self.amount).unwrap();
        match self.kind {
            Kind::Refund => MovementRequest::Refund { amount },
            Kind::Void => {
                MovementRequest::Void { amount: (self.second_choice > 50).then_some(amount) }
            }
            _ => MovementRequest::Capture {
                amount,
                currency: self.second_choice.is_multiple_of(5).then_some(Currency::EUR),
                exchange: exchange(),
                fee_exchange: exchange(),
            },
        }
    }

    fn notification(&self, tables: &Tables) -> Notification {
        let name =
            if self.second_choice < 150 { self.second_choice % 3 } else { self.second_choice };
        let dispute = reference(&format!("dispute {name}"));
        let event = match self.kind {
            Kind::Opened => AcquirerEvent::Opened {
                dispute,
                amount: Amount::new(self.amount * 2).unwrap(),
                reason: (self.second_choice > 99)
                    .then(|| Reason { code: 10, title: "other".to_owned() }),
                due: if self.amount & 2 == 0 { later() } else { Timestamp::UNIX_EPOCH },
            },
            Kind::Decided if self.amount & 1 == 0 => {
                AcquirerEvent::Decided { dispute, decision: Decision::Won }
            }
            Kind::Decided => AcquirerEvent::Decided { dispute, decision: Decision::Lost },
            _ if self.amount % 3 == 0 => {
                let mut keys = tables.trail.values().filter_map(|row| row.acquirer_key);
                let operation = keys.nth(usize::from(self.second_choice) % 8);
                let operation = operation.unwrap_or(AcquirerKey::Request([7; 32]));
                AcquirerEvent::Refused { operation, reason: None }
            }
            _ => AcquirerEvent::Fraud {
                reported: (self.second_choice > 99).then_some(Timestamp::UNIX_EPOCH),
                reason: (self.second_choice > 50).then_some(FraudReason::FRAUDULENT_USE),
            },
        };
        Notification {
            id: reference(&format!("event {}", self.amount % 150)),
            transaction: pick(&tables.transactions, 2, self.choice),
            created: Timestamp::UNIX_EPOCH,
            event,
        }
    }

    /// A use of a key in the hour of the first batch, in the one before or in the next one.
    fn used(&self, tables: &Tables, choice: u8) -> ApiKeyUse {
        let key = pick(&tables.api_keys, 6, choice);
        let app = tables.api_keys.get(&key).map_or(Id::MAX, |row| row.app);
        let hour = hour_of(at(1)) + SignedDuration::from_hours(self.amount % 3 - 1);
        ApiKeyUse { app, key, hour }
    }

    /// Only keys with an outcome are deleted.
    fn forget(&self, tables: &Tables) -> Box<dyn AnyAction> {
        let is_answered = |state: &KeyState| matches!(state, KeyState::Answered(_));
        let answered = tables.keys.iter().filter(|(_, key)| is_answered(&key.state));
        let answered: Vec<_> = answered.map(|(name, _)| name.clone()).collect();
        let chosen = [self.choice, self.second_choice]
            .map(|index| answered.get(usize::from(index % 8)).cloned());
        DeleteKeys { keys: chosen.into_iter().flatten().collect() }.into()
    }
}

/// An attempt to deliver an event.
fn attempt(number: u8) -> DeliveryAttempt {
    let outcome = match number % 4 {
        0 => DeliveryOutcome::Delivered(204),
        1 => DeliveryOutcome::Refused(500),
        2 => DeliveryOutcome::TimedOut,
        _ => DeliveryOutcome::ConnectionFailed,
    };
    DeliveryAttempt {
        event: id(number.into()),
        created: at(number.into()),
        delivery: Delivery { outcome, duration: Duration::from_millis(number.into()) },
        next: (!outcome.is_delivered()).then(later),
    }
}

/// One of the first `most` rows. In one of eight cases, an ID that does not exist.
fn pick<V>(table: &BTreeMap<Id, V>, most: usize, choice: u8) -> Id {
    let index = usize::from(choice / 8).checked_rem(most.min(table.len()));
    let row = index.filter(|_| !choice.is_multiple_of(8)).and_then(|index| table.keys().nth(index));
    row.copied().unwrap_or(Id::MAX)
}

/// The ID with this number.
pub(crate) fn id(number: u64) -> Id {
    let mut bytes = [1; Id::BYTES];
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    Id::stored(bytes)
}

fn details(test: bool) -> MerchantDetails {
    MerchantDetails {
        name: None,
        currency: Currency::EUR,
        test,
        email: email(0),
        website: Website::new("shop.example").unwrap(),
        descriptor: descriptor(0),
        country: Country::new("DK").unwrap(),
        registration_number: None,
        iban: Some(Iban::new("DK5000400440116243").unwrap()),
    }
}

/// One of three addresses, in several spellings.
fn email(number: u8) -> Email {
    let name = ["ann", "Ann", "bob", "BOB", "eve"][usize::from(number % 5)];
    Email::new(&format!("{name}@shop.example")).unwrap()
}

fn descriptor(number: u8) -> Descriptor {
    Descriptor::new(&format!("Shop {number}")).unwrap()
}

fn url(number: u8) -> WebhookUrl {
    WebhookUrl::new(&format!("https://shop.example/{number}"), false).unwrap()
}

fn reference(text: &str) -> AcquirerId {
    text.parse().unwrap()
}

pub(crate) fn exchange() -> Exchange {
    Exchange { rate: Ratio::new(74_735, 10_000), spread: "0.02".parse().unwrap() }
}

/// A time after all batches.
fn later() -> Timestamp {
    Timestamp::from_second(1_900_000_000).unwrap()
}

fn card() -> Card {
    Card {
        bin: "411111".to_owned(),
        last4: "1111".to_owned(),
        expiry: Expiry::new(Expiry::year(2030).unwrap(), Expiry::month(8).unwrap()),
        scheme: Scheme::Visa,
        code_present: true,
    }
}
