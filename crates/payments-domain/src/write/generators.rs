//! Generates random writes. They use few rows, so that they often use the same row.
#![expect(clippy::unwrap_used, reason = "a failure fails a test")]
#![cfg_attr(not(test), expect(clippy::arithmetic_side_effects, reason = "the numbers are small"))]

use std::{
    collections::{BTreeMap, BTreeSet},
    iter, ptr,
    time::Duration,
};

use jiff::{SignedDuration, Timestamp, civil::date};
use num_rational::Ratio;
use proptest::prelude::*;
use sql::Row as _;

use crate::{
    AcquirerEvent, AcquirerId, AcquirerKey, AcquirerName, AcquirerOutcome, Actor, AdvanceBy,
    Amount, ApiKeyDigest, ApiKeyUse, Capabilities, Card, CardOnFile, Claim, Code, Conclusion,
    Country, Currency, CustomData, Decision, Delivery, DeliveryAttempt, DeliveryOutcome,
    DeliveryReport, Descriptor, DisableReason, DisputeAnswer, Email, EventType, EventTypes,
    EvidenceText, Exchange, Expiry, Failures, FileContent, FileName, FileType, FraudReason, Iban,
    Id, LinkSecret, MailKind, MerchantDetails, MerchantUpdate, Money, MovementRequest, Name,
    NewFile, Notes, Notification, Payment, PayoutFormat, PayoutRequest, PayoutRun, Postponed,
    Pricing, ProcessingError, Progress, Reason, ReceiptAddress, Retry, ReturnReason,
    ReturnedTransfer, Scheme, SealedSecret, SendingReport, ThreeDSecure, Token, TokenDigest,
    WebhookDetails, WebhookSecret, WebhookUpdate, WebhookUrl, Website,
    actions::{
        AddApp, AddUser, AdvanceClock, AnswerDispute, ApproveMerchant, BeginAuthenticator,
        BeginPayment, ChallengePayment, ChooseMails, ClosePayoutRun, ConcludePayment, CountLines,
        CreateApiKey, CreateApp, CreateMerchant, CreateSignInLink, CreateWebhook, DeleteApiKey,
        DeleteEvents, DeleteEvidence, DeleteKeys, DeleteReceipts, DeleteWebhook, EndSessions,
        EnterCode, FinishAdvance, HoldMerchant, Move, OpenPayoutRun, OpenSignInLink, PayOut,
        PreparePayment, RecordApiKeyUses, RecordDeliveries, RecordNotification, RecordSending,
        RefuseEntry, ReleaseMerchant, RemoveAuthenticator, RemoveMail, RenewInvitation,
        ReplayWebhook, RequestSignIn, ReturnPayout, RevokeApp, RevokeUser, RotateWebhook, SaveCard,
        SaveEvidence, SaveExpiryCursor, SaveFactsPosition, SetBank, SetLinkSecret,
        SetRecoveryCodes, SignIn, StartMailAttempt, TellMembers, UpdateMerchant, UpdateWebhook,
        UseSession, Which,
    },
    hour_of,
    write::{Access, AnyAction, By, DayCursor, KeyRow, KeyState, KeyedRequest, Tables, Write},
};

/// Makes a write of a choice.
pub type Kind = fn(&Choice<'_>) -> Write;

/// Kinds that concern the same rows, each with its frequency.
type Kinds = &'static [(usize, Kind)];

const MEMBERS: Kinds = &[
    (1, create_app),
    (1, create_merchant),
    (1, |it| {
        let second = it.second;
        let update = MerchantUpdate {
            name: (second % 3 == 0).then(|| Name::new(&format!("Shop {second}")).unwrap()),
            email: (second % 3 == 1).then(|| email(second)),
            descriptor: (second % 3 > 0).then(|| descriptor(second)),
        };
        UpdateMerchant { merchant: it.merchant(), update }.into()
    }),
    (2, |it| {
        let (merchant, payments) = (it.merchant(), it.second > 50);
        let reason = Notes::new(&format!("reason {}", it.second / 64)).unwrap();
        HoldMerchant { merchant, payments, payouts: it.second < 200, reason }.into()
    }),
    (2, |it| ReleaseMerchant(it.merchant()).into()),
    (1, |it| ApproveMerchant(it.merchant()).into()),
    (1, |it| {
        let iban = ["DK5000400440116243", "IE29AIBK93115212345678"][usize::from(it.second % 2)];
        let (iban, holder) = (Iban::new(iban).unwrap(), Name::new("Ann").unwrap());
        SetBank { merchant: it.merchant(), iban, holder }.into()
    }),
    (1, |it| {
        let secret = LinkSecret::new(format!("secret {}", it.second).into());
        it.keyed(SetLinkSecret { merchant: it.merchant(), secret })
    }),
    (2, add_user),
    (2, |it| {
        let (user, keeps_last) = (it.other(&it.tables.users, 3), it.amount % 3 == 0);
        RevokeUser { merchant: it.merchant(), user, keeps_last }.into()
    }),
    (1, |it| {
        let user = it.other(&it.tables.users, 3);
        it.keyed(RenewInvitation { merchant: it.merchant(), user })
    }),
    (2, add_app),
    (2, |it| RevokeApp { merchant: it.merchant(), app: it.app() }.into()),
    (2, |it| {
        let (mail, jitter) = (it.one(&it.tables.mails, 3), it.second.into());
        let known = it.tables.mails.get(&mail).map(|row| row.user);
        let user = known.unwrap_or_else(|| Some(it.user()));
        StartMailAttempt { mail, user, link: Some(it.token()), jitter }.into()
    }),
    (1, |it| RemoveMail(it.one(&it.tables.mails, 3)).into()),
    (1, |it| {
        let kinds = MailKind::CHOICES[..usize::from(it.second % 5)].to_vec();
        ChooseMails { merchant: it.merchant(), user: it.user(), kinds }.into()
    }),
    (1, |it| {
        let choices = it.tables.mail_choices.keys();
        let members = choices.map(|(merchant, _, user)| (*user, *merchant)).take(3).collect();
        TellMembers { notice: it.one(&it.tables.notices, 3), members }.into()
    }),
];
const SIGN_IN: Kinds = &[
    (1, add_user),
    (1, |it| {
        RequestSignIn { user: it.user(), browser: it.browser(), language: "en".to_owned() }.into()
    }),
    (2, |it| CreateSignInLink { user: it.user(), link: it.token() }.into()),
    (2, |it| {
        let (user, link) = it.link();
        OpenSignInLink { user, link, browser: it.browser() }.into()
    }),
    (3, |it| {
        let ((user, link), accepts) = (it.link(), vec![it.merchant()]);
        SignIn { user, link, browser: it.browser(), session: it.token(), accepts }.into()
    }),
    (1, |it| {
        let (user, session) = it.session();
        UseSession { user, session }.into()
    }),
    (1, |it| {
        let (user, session) = it.session();
        let which = [Which::One(session), Which::AllBut(session), Which::All];
        EndSessions { user, which: which[usize::from(it.second % 3)] }.into()
    }),
    (2, |it| {
        let secret = SealedSecret::new([it.second; SealedSecret::BYTES]);
        BeginAuthenticator { user: it.user(), secret }.into()
    }),
    (5, enter_code),
    (1, |it| SetRecoveryCodes { user: it.user(), codes: it.recovery_codes() }.into()),
    (1, |it| RemoveAuthenticator(it.user()).into()),
];
const APPS: Kinds = &[
    (2, advance_clock),
    (2, |it| {
        let (app, digest) = (it.one(&it.tables.apps, 2), ApiKeyDigest::of(&it.unique));
        it.keyed(CreateApiKey { app, name: it.name(), digest, replace: it.second < 30 })
    }),
    (2, |it| {
        let (app, key) = (it.one(&it.tables.apps, 2), it.other(&it.tables.api_keys, 6));
        DeleteApiKey { app, key }.into()
    }),
    (1, record_api_key_uses),
    (2, create_webhook),
    (1, update_webhook),
    (1, |it| {
        let (app, webhook) = it.webhook();
        let secret = WebhookSecret::new([it.second; WebhookSecret::BYTES]);
        it.keyed(RotateWebhook { app, webhook, secret })
    }),
    (1, |it| {
        let (app, webhook) = it.webhook();
        DeleteWebhook { app, webhook }.into()
    }),
    (1, |it| {
        let ((app, webhook), after) = (it.webhook(), it.other(&it.tables.events, 9));
        ReplayWebhook { app, webhook, after }.into()
    }),
    (4, record_deliveries),
];
const PAYMENTS: Kinds = &[
    (2, begin),
    (2, conclude),
    (1, challenge),
    (1, |it| {
        let (card, acquirer) = (card(), Some(AcquirerName::Sandbox));
        let original = Box::new(CardOnFile { card, acquirer, reference: "card".to_owned() });
        let notes = (it.second > 99).then(|| Notes::new("blue").unwrap());
        it.keyed(SaveCard { merchant: it.merchant(), original, notes })
    }),
    (1, delete_keys),
];
const MONEY: Kinds = &[
    (2, capture),
    (2, refund),
    (1, |it| it.movement(MovementRequest::Void { amount: (it.second > 50).then(|| it.amount()) })),
    (4, open_dispute),
    (2, inquire),
    (3, decide_dispute),
    (3, save_evidence),
    (2, answer_dispute),
    (1, |it| DeleteEvidence { disputes: vec![it.one(&it.tables.disputes, 3)] }.into()),
    (1, expire),
    (1, refuse_or_alert),
    (1, |it| {
        let fact = (it.second > 50).then(|| reference(&format!("fact {}", it.amount)));
        let compared = (it.second < 200).then(|| at(it.second.into()));
        SaveFactsPosition { acquirer: AcquirerName::Http, fact, compared }.into()
    }),
    (2, |it| {
        let (done, entry) = (it.one(&it.tables.outbox, 9), it.other(&it.tables.outbox, 9));
        let done = (it.amount > 200).then_some(done).into_iter().collect();
        let (attempts, delay) = (it.choice.into(), Duration::from_secs(it.second.into()));
        let postponed = vec![Postponed { entry, attempts, delay }];
        RecordSending(SendingReport { done, postponed }).into()
    }),
    (2, |it| {
        let entry = it.one(&it.tables.outbox, 9);
        let known = it.tables.outbox.get(&entry);
        let transaction = known.map_or(Id::MAX, |known| known.transaction);
        let key = AcquirerKey::stored(known.and_then(|row| row.acquirer_key), entry);
        let dispute = known.and_then(|known| known.dispute);
        RefuseEntry { entry, transaction, key, dispute }.into()
    }),
    (1, return_payout),
    (1, |it| DeleteReceipts { transactions: vec![it.one(&it.tables.receipts, 3)] }.into()),
    (1, |it| DeleteEvents { events: vec![it.one(&it.tables.events, 9)] }.into()),
    (1, |it| {
        // One job at a time checks the transactions, in order of their IDs.
        let through = it.tables.expiry[&true].through;
        let next = it.tables.transactions.keys().find(|id| **id > through);
        SaveExpiryCursor { through: next.copied(), ended: Some(at(it.second.into())) }.into()
    }),
    (2, |it| {
        // Another process has counted since the cursor was read.
        let late = i64::from(it.second > 200);
        let cursors = it.tables.day_cursors.values().next();
        let cursor = cursors.map_or(DayCursor { number: 9, through: Id::MIN }, |row| *row);
        let lines = it.tables.lines.values().filter(|row| row.id > cursor.through);
        let lines: Vec<_> = lines.take(it.choice.into()).cloned().collect();
        let number = cursor.number - late;
        CountLines::new(DayCursor { number, ..cursor }, &lines).into()
    }),
    (1, delete_keys),
];

const PAYOUTS: Kinds = &[
    (4, pay_out),
    (2, |it| OpenPayoutRun(payout_run(it)).into()),
    (1, |it| ClosePayoutRun(payout_run(it)).into()),
];

/// A random choice of a write, before the existing rows are known.
#[derive(Debug, Clone, Copy)]
pub struct WriteSpec {
    pub kind: Kind,
    /// Chooses a row.
    pub choice: u8,
    /// Chooses another row, or optional fields.
    pub second: u8,
    pub amount: i64,
    /// The app, the key and the request.
    pub key: Option<(u8, u8, u8)>,
}

/// Writes in one database transaction. A payout is alone.
pub type Batch = Vec<WriteSpec>;

fn spec(kinds: Kinds) -> impl Strategy<Value = WriteSpec> {
    let kinds = kinds.iter().flat_map(|&(frequency, kind)| iter::repeat_n(kind, frequency));
    let kind = prop::sample::select(kinds.collect::<Vec<_>>());
    let key = prop::option::weighted(0.4, (any::<u8>(), 0_u8..4, 0_u8..5));
    (kind, any::<u8>(), any::<u8>(), 1_i64..400, key).prop_map(
        |(kind, choice, second, amount, key)| WriteSpec { kind, choice, second, amount, key },
    )
}

pub fn batches() -> impl Strategy<Value = Vec<Batch>> {
    let of = |kinds| prop::collection::vec(spec(kinds), 1..16);
    let all = prop_oneof![spec(MEMBERS), spec(SIGN_IN), spec(APPS), spec(PAYMENTS), spec(MONEY)];
    let batch = prop_oneof![
        3 => of(MEMBERS),
        2 => of(SIGN_IN),
        2 => of(APPS),
        2 => of(PAYMENTS),
        4 => of(MONEY),
        3 => prop::collection::vec(all, 1..16),
        1 => prop::collection::vec(spec(PAYOUTS), 1),
    ];
    prop::collection::vec(batch, 1..8)
}

/// Batches that create two apps, each with an endpoint, two merchants, users, and payments. Two
/// payments succeed and are captured twice.
pub fn setup_batches() -> Vec<Batch> {
    // An index of 0 chooses the first row, 1 the second.
    let spec = |kind, index: u8, key| {
        let choice = 8 * index + 1;
        WriteSpec { kind, choice, second: choice, amount: 300, key }
    };
    let two = |kind: Kind| vec![spec(kind, 0, None), spec(kind, 1, None)];
    vec![
        two(create_app),
        two(create_merchant),
        two(add_user),
        (0..5).map(|number| spec(begin, number, Some((1, 10 + number, 0)))).collect(),
        two(conclude),
        two(capture),
        two(capture),
        two(create_webhook),
    ]
}

/// The writes of a batch, about the rows of `tables`. The `number` increases with each batch.
pub fn writes(batch: &[WriteSpec], tables: &Tables, number: u32) -> Vec<Write> {
    // One job deletes keys, and it waits for each of its writes. So a batch has at most one such
    // write.
    let forgets = |spec: &WriteSpec| ptr::fn_addr_eq(spec.kind, delete_keys as Kind);
    let first = batch.iter().position(forgets);
    // An acquirer may know a key for longer than the service, so nobody may use it again.
    let is_free = |keyed: &KeyedRequest| {
        let key = Some(keyed.acquirer_key());
        let is_kept = first.is_none() && tables.keys.contains_key(&(keyed.app, keyed.key.clone()));
        is_kept || tables.trail.values().all(|row| row.acquirer_key != key)
    };
    let specs = batch.iter().enumerate();
    let specs = specs.filter(|(index, spec)| !forgets(spec) || first == Some(*index));
    let writes = specs.map(|(index, spec)| {
        let key = spec.key.map(|(app, key, request)| KeyedRequest {
            app: pick(&tables.apps, 2, app | 1),
            key: format!("key {key}"),
            request: [request.min(1); 32],
        });
        let (key, unique) = (key.filter(is_free), format!("{number} {index}"));
        let &WriteSpec { kind, choice, second, amount, .. } = spec;
        kind(&Choice { choice, second, amount, key, tables, unique })
    });
    writes.collect()
}

/// The choice of a write among the rows of `tables`.
pub struct Choice<'t> {
    choice: u8,
    second: u8,
    amount: i64,
    key: Option<KeyedRequest>,
    tables: &'t Tables,
    /// No other write has this text.
    unique: String,
}

impl Choice<'_> {
    /// A write that a request with an idempotency key can make.
    fn keyed(&self, action: impl Into<Box<dyn AnyAction>>) -> Write {
        let trace = Some([self.choice; 17]);
        Write { by: self.by(), trace, keyed: self.key.clone(), action: action.into() }
    }

    /// An app, some with an access that may have ended.
    fn by(&self) -> By {
        let mut keys = self.tables.api_keys.values();
        match keys.nth(usize::from(self.choice % 4)) {
            Some(row) if self.second.is_multiple_of(3) => {
                let merchant = self.choice.is_multiple_of(2).then(|| self.merchant());
                Access { app: row.app, key: row.digest, merchant }.into()
            }
            _ => Actor::app(self.app()).into(),
        }
    }

    /// One of the first `most` rows.
    fn one<V>(&self, table: &BTreeMap<Id, V>, most: usize) -> Id {
        pick(table, most, self.choice)
    }

    /// Another one.
    fn other<V>(&self, table: &BTreeMap<Id, V>, most: usize) -> Id {
        pick(table, most, self.second)
    }

    fn merchant(&self) -> Id {
        self.one(&self.tables.merchants, 2)
    }

    fn app(&self) -> Id {
        self.other(&self.tables.apps, 3)
    }

    fn amount(&self) -> Amount {
        Amount::new(self.amount).unwrap()
    }

    fn user(&self) -> Id {
        self.other(&self.tables.users, 3)
    }

    /// A new token.
    fn token(&self) -> TokenDigest {
        Token::sent(&self.unique).digest()
    }

    /// One of two browsers.
    fn browser(&self) -> TokenDigest {
        Token::sent(if self.amount % 3 == 0 { "one" } else { "other" }).digest()
    }

    /// A link with its user, or rarely with another one.
    fn link(&self) -> (Id, TokenDigest) {
        let links = self.tables.sign_in_links.values();
        self.owned(links.map(|row| (row.user, row.digest)).collect())
    }

    /// A session with its user, or rarely with another one.
    fn session(&self) -> (Id, TokenDigest) {
        let sessions = self.tables.sessions.values();
        self.owned(sessions.map(|row| (row.user, row.digest)).collect())
    }

    /// Two new recovery codes.
    fn recovery_codes(&self) -> Vec<TokenDigest> {
        ["one", "other"].map(|name| Token::sent(&format!("{} {name}", self.unique)).digest()).into()
    }

    fn owned(&self, rows: Vec<(Id, TokenDigest)>) -> (Id, TokenDigest) {
        let index = usize::from(self.choice / 8).checked_rem(rows.len());
        let (user, digest) = index.map_or_else(|| (self.user(), self.token()), |index| rows[index]);
        (if self.amount > 20 { user } else { self.user() }, digest)
    }

    /// An endpoint with its app, or rarely with another one.
    fn webhook(&self) -> (Id, Id) {
        let webhook = self.one(&self.tables.webhooks, 4);
        let own = self.tables.webhooks.get(&webhook).filter(|_| self.amount > 20);
        (own.map_or_else(|| self.app(), |row| row.app), webhook)
    }

    fn name(&self) -> Option<Name> {
        (self.second > 99).then(|| Name::new(&format!("Till {}", self.second)).unwrap())
    }

    fn movement(&self, request: MovementRequest) -> Write {
        self.keyed(Move {
            transaction: self.one(&self.tables.transactions, 3),
            request,
            descriptor: self.second.is_multiple_of(3).then(|| descriptor(self.second)),
            steps: 0,
        })
    }

    fn dispute(&self) -> AcquirerId {
        let name = if self.second < 150 { self.second % 3 } else { self.second };
        reference(&format!("dispute {name}"))
    }

    fn notification(&self, event: AcquirerEvent) -> Write {
        let notification = Notification {
            id: reference(&format!("event {}", self.amount % 150)),
            transaction: self.one(&self.tables.transactions, 2),
            created: Timestamp::UNIX_EPOCH,
            event,
        };
        let (notification, exchange, fee_exchange) =
            (Box::new(notification), exchange(), exchange());
        RecordNotification { notification, exchange, fee_exchange, steps: 0 }.into()
    }
}

pub fn create_app(it: &Choice<'_>) -> Write {
    CreateApp { name: it.name(), digest: ApiKeyDigest::of(&it.unique) }.into()
}

pub(crate) fn add_user(it: &Choice<'_>) -> Write {
    it.keyed(AddUser { merchant: it.merchant(), email: email(it.second), mail: it.amount > 40 })
}

pub(crate) fn add_app(it: &Choice<'_>) -> Write {
    it.keyed(AddApp { merchant: it.merchant(), app: it.app() })
}

fn enter_code(it: &Choice<'_>) -> Write {
    let (user, session) = it.session();
    let mut own = it.tables.recovery_codes.values().filter(|row| row.user == user);
    let code = match own.next_back() {
        Some(row) if it.second > 170 => Code::Other(row.digest),
        _ if it.second > 99 => Code::Other(it.browser()),
        _ => Code::Step(it.amount),
    };
    let works = it.tables.authenticators.get(&user).is_some_and(|row| row.works);
    let confirms = works == (it.amount % 9 == 0);
    let recovery_codes = confirms.then(|| it.recovery_codes());
    EnterCode { user, session, code, next: it.token(), recovery_codes }.into()
}

fn advance_clock(it: &Choice<'_>) -> Write {
    let app = it.app();
    if it.choice.is_multiple_of(3) {
        let advance = it.tables.apps.get(&app).and_then(|row| row.clock.pending);
        return FinishAdvance { app, advance: advance.unwrap_or(Id::MAX) }.into();
    }
    let by = Duration::from_secs(u64::from(it.choice) + 1);
    it.keyed(AdvanceClock { app, by: AdvanceBy::new(by).unwrap() })
}

/// Uses of keys in the hour of the first batch, in the one before or in the next one.
fn record_api_key_uses(it: &Choice<'_>) -> Write {
    let hour = hour_of(at(1)) + SignedDuration::from_hours(it.amount % 3 - 1);
    let used = |key| {
        let app = it.tables.api_keys.get(&key).map_or(Id::MAX, |row| row.app);
        ApiKeyUse { app, key, hour }
    };
    let keys = [it.one(&it.tables.api_keys, 6), it.other(&it.tables.api_keys, 6)];
    RecordApiKeyUses { uses: keys.map(used).into() }.into()
}

fn update_webhook(it: &Choice<'_>) -> Write {
    let ((app, webhook), second) = (it.webhook(), it.second);
    let update = WebhookUpdate {
        url: second.is_multiple_of(2).then(|| url(second)),
        types: second.is_multiple_of(3).then(EventTypes::default),
        description: it.name(),
        enabled: [None, Some(true), Some(false)][usize::from(second % 3)],
    };
    UpdateWebhook { app, webhook, update: Box::new(update) }.into()
}

pub fn refund(it: &Choice<'_>) -> Write {
    it.movement(MovementRequest::Refund { amount: it.amount() })
}

fn claim(it: &Choice<'_>) -> Claim {
    Claim {
        dispute: it.dispute(),
        amount: Amount::new(it.amount * 2).unwrap(),
        reason: (it.second > 99).then(|| Reason { code: 10, title: "other".to_owned() }),
        due: if it.amount & 2 == 0 { later() } else { Timestamp::UNIX_EPOCH },
    }
}

pub fn open_dispute(it: &Choice<'_>) -> Write {
    it.notification(AcquirerEvent::Opened(claim(it)))
}

/// The transaction and the ID of a dispute.
fn dispute(it: &Choice<'_>) -> (Id, Id) {
    let dispute = it.one(&it.tables.disputes, 4);
    let row = it.tables.disputes.get(&dispute);
    (row.map_or(Id::MAX, |row| row.transaction), dispute)
}

pub fn save_evidence(it: &Choice<'_>) -> Write {
    let (transaction, dispute) = dispute(it);
    let merchant = it.tables.disputes.get(&dispute).map_or(Id::MAX, |row| row.merchant);
    let file = |number| NewFile {
        name: FileName::new(&format!("{number}.pdf")).unwrap(),
        file_type: FileType::Pdf,
        content: FileContent(vec![it.second; 1 + usize::from(it.choice)].into()),
    };
    let files = (it.second % 7).checked_sub(1).map(|count| (0..count).map(file).collect());
    let text = EvidenceText::new(&it.unique).unwrap();
    it.keyed(SaveEvidence { merchant, transaction, dispute, text, files })
}

pub fn answer_dispute(it: &Choice<'_>) -> Write {
    let (transaction, dispute) = dispute(it);
    let accepts = it.second.is_multiple_of(3);
    let answer = if accepts { DisputeAnswer::Acceptance } else { DisputeAnswer::Evidence };
    it.keyed(AnswerDispute { transaction, dispute, answer })
}

fn inquire(it: &Choice<'_>) -> Write {
    it.notification(AcquirerEvent::Inquired(claim(it)))
}

/// An even amount means won.
pub fn decide_dispute(it: &Choice<'_>) -> Write {
    let decision = match (it.amount & 1 == 0, it.choice.is_multiple_of(5)) {
        (true, true) => Decision::Prevented,
        (true, false) => Decision::Won,
        (false, _) => Decision::Lost,
    };
    it.notification(AcquirerEvent::Decided { dispute: it.dispute(), decision })
}

/// Rarely an expiry, because nothing can be captured after it.
fn expire(it: &Choice<'_>) -> Write {
    let warned = AcquirerEvent::Fraud { reported: None, reason: None };
    let is_over = it.choice.is_multiple_of(8);
    it.notification(if is_over { AcquirerEvent::Expired } else { warned })
}

fn create_merchant(it: &Choice<'_>) -> Write {
    let pricing = Pricing {
        rate: "0.025".parse().unwrap(),
        flat: "EUR:25".parse().unwrap(),
        dispute: "EUR:350".parse().unwrap(),
    };
    it.keyed(CreateMerchant {
        app: pick(&it.tables.apps, 3, it.second | 1),
        key: it.unique.clone(),
        details: Box::new(details((it.choice / 8).is_multiple_of(2))),
        pricing,
        approved: it.second < 200,
    })
}

fn begin(it: &Choice<'_>) -> Write {
    let code = if it.second.is_multiple_of(2) { "EUR" } else { "DKK" };
    let payment = Payment {
        merchant: pick(&it.tables.merchants, 2, it.choice | 1),
        currency: code.parse().unwrap(),
        amount: Amount::new(it.amount * 4).unwrap(),
        descriptor: descriptor(it.second),
        custom: (it.second > 99).then(|| CustomData::with(None, "reference", "b").unwrap()),
        recurring: it.choice > 200,
        acquirer: Some(AcquirerName::Sandbox),
    };
    let link = it.second.is_multiple_of(3).then_some([it.second % 2; 32]);
    let receipt = (it.choice > 100).then(|| ReceiptAddress {
        email: Email::new("payer@shop.example").unwrap(),
        language: "da".to_owned(),
    });
    it.keyed(BeginPayment { payment: Box::new(payment), link, receipt })
}

fn conclude(it: &Choice<'_>) -> Write {
    let ends = it.choice.is_multiple_of(24);
    let capabilities = Capabilities {
        captures_once: it.choice.is_multiple_of(10),
        amount_step: if it.choice.is_multiple_of(5) { 2 } else { 1 },
        valid_until: ends.then(|| at(u32::from(it.second) % 50)),
    };
    let reference = (!it.choice.is_multiple_of(4)).then(|| "card".to_owned());
    let approved = AcquirerOutcome::Approved { reference, tds: ThreeDSecure::Full, capabilities };
    let conclusion = match it.second % 7 {
        0..=2 => Conclusion::Answered(approved),
        3 => Conclusion::Answered(AcquirerOutcome::Declined(ProcessingError::DECLINED)),
        4 => Conclusion::Found(approved),
        5 => Conclusion::NotDone,
        _ => Conclusion::Abandoned,
    };
    let pending_payment = it.one(&it.tables.pending_payments, 3);
    let card = (!it.second.is_multiple_of(3)).then(|| Box::new(card()));
    ConcludePayment { pending_payment, conclusion, card }.into()
}

pub fn challenge(it: &Choice<'_>) -> Write {
    let pending_payment = it.one(&it.tables.pending_payments, 3);
    if it.second.is_multiple_of(4) {
        let authorization = format!("pi_{}", it.second);
        return PreparePayment { pending_payment, authorization }.into();
    }
    let (card, reference) = (Box::new(card()), "challenge".to_owned());
    ChallengePayment { pending_payment, card, reference }.into()
}

pub fn capture(it: &Choice<'_>) -> Write {
    it.movement(MovementRequest::Capture {
        amount: it.amount(),
        currency: it.second.is_multiple_of(5).then_some(Currency::EUR),
        exchange: exchange(),
        fee_exchange: exchange(),
    })
}

/// Records a refusal if the amount is divisible by 3, or else a fraud alert. The second choice is
/// the number of the step.
pub fn refuse_or_alert(it: &Choice<'_>) -> Write {
    it.notification(if it.amount % 3 == 0 {
        let mut keys = it.tables.trail.values().filter_map(|row| row.acquirer_key);
        let operation = keys.nth(usize::from(it.second % 8));
        let operation = operation.unwrap_or(AcquirerKey::Request([7; 32]));
        AcquirerEvent::Refused { operation, reason: None }
    } else {
        AcquirerEvent::Fraud {
            reported: (it.second > 99).then_some(Timestamp::UNIX_EPOCH),
            reason: (it.second > 50).then_some(FraudReason::FRAUDULENT_USE),
        }
    })
}

fn create_webhook(it: &Choice<'_>) -> Write {
    let details = WebhookDetails {
        url: url(it.choice),
        types: [EventType::PayoutBooked].into_iter().collect(),
        description: it.name(),
    };
    let secret = WebhookSecret::new([it.choice; WebhookSecret::BYTES]);
    it.keyed(CreateWebhook { app: it.app(), details: Box::new(details), secret })
}

/// Results of deliveries, rarely of another generation or epoch. The events are few, so that later
/// reports are about the same ones.
fn record_deliveries(it: &Choice<'_>) -> Write {
    let ((app, webhook), choice, second) = (it.webhook(), it.choice, it.second);
    let progress = it.tables.webhook_progress.get(&webhook).map(|row| row.progress);
    let Progress { generation, epoch, .. } = progress.unwrap_or(Progress::new(webhook));
    let events = BTreeSet::from([choice, second, choice ^ second].map(|number| number % 7));
    let (failed, finished) = (events.iter(), events.iter().map(|&number| id(number.into())));
    let retries = failed.take(usize::from(choice % 4)).map(|&number| Retry {
        event: id(number.into()),
        transaction: (!number.is_multiple_of(3)).then(|| id(u64::from(100 + number % 3))),
        failures: second.is_multiple_of(2).then(|| Failures {
            attempts: second.into(),
            first: at(number.into()),
            due: later(),
        }),
    });
    let report = DeliveryReport {
        app,
        webhook,
        generation: generation + u32::from(it.amount > 250),
        epoch: epoch + u32::from((21..60).contains(&it.amount)),
        position: it.other(&it.tables.events, 9),
        paused_until: second.is_multiple_of(3).then(later),
        retries: retries.collect(),
        finished: finished.skip(usize::from(choice % 4)).collect(),
        attempts: (0..[0, 1, 2, 60][usize::from(second % 4)]).map(attempt).collect(),
        disables: (second > 200).then(|| {
            if choice.is_multiple_of(2) { DisableReason::Failures } else { DisableReason::Gone }
        }),
    };
    RecordDeliveries(Box::new(report)).into()
}

/// Only keys with an outcome are deleted.
fn delete_keys(it: &Choice<'_>) -> Write {
    let answered = it.tables.keys.values();
    let answered = answered.filter(|row| matches!(row.state, KeyState::Answered(_)));
    let answered: Vec<_> = answered.map(KeyRow::key).collect();
    let chosen = [it.choice, it.second];
    let chosen = chosen.into_iter().filter_map(|index| answered.get(usize::from(index % 8)));
    DeleteKeys { keys: chosen.cloned().collect() }.into()
}

fn payout_run(it: &Choice<'_>) -> PayoutRun {
    let test = it.choice.is_multiple_of(2);
    let day = if test { date(2026, 11, 20) } else { date(2026, 11, 21) };
    let format = PayoutFormat::ALL[usize::from(it.choice / 2 % 2)];
    PayoutRun { day, test, format }
}

fn pay_out(it: &Choice<'_>) -> Write {
    // Captures are at most a few batches old: see `at`.
    let delay = Duration::from_secs(15 * u64::from(it.choice / 4 % 4));
    PayOut(PayoutRequest { run: payout_run(it), merchant: it.merchant(), delay }).into()
}

/// The return of a payout, rarely of another amount or too early.
fn return_payout(it: &Choice<'_>) -> Write {
    let payout = it.one(&it.tables.payouts, 3);
    let transfer = it.tables.payouts.get(&payout).map(|row| &row.transfer);
    let returned = ReturnedTransfer {
        amount: transfer.map(|transfer| transfer.amount).filter(|_| it.second > 50).map(|amount| {
            Money { minor: amount.minor + i64::from(it.second.is_multiple_of(5)), ..amount }
        }),
        // Batches begin on 2026-09-21: see `at`.
        date: (it.second > 200).then(|| date(2026, 9, if it.second > 240 { 20 } else { 21 })),
        reason: ReturnReason::new(["AC04", ""][usize::from(it.second % 2)]),
    };
    let merchant = transfer.map_or(Id::MAX, |transfer| transfer.merchant);
    ReturnPayout { payout, merchant, returned }.into()
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
        created: at(u32::from(number / 2)),
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
pub fn id(number: u64) -> Id {
    let mut bytes = [1; Id::BYTES];
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    Id::stored(bytes)
}

fn details(test: bool) -> MerchantDetails {
    MerchantDetails {
        name: Some(Name::new("Shop").unwrap()),
        currency: Currency::EUR,
        test,
        email: email(0),
        website: Website::new("shop.example").unwrap(),
        descriptor: descriptor(0),
        country: Country::new("DK").unwrap(),
        registration_number: None,
        iban: Some(Iban::new("DK5000400440116243").unwrap()),
        holder: None,
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

pub fn exchange() -> Exchange {
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

/// The time of a batch.
pub fn at(batch: u32) -> Timestamp {
    Timestamp::from_second(1_790_000_000).unwrap() + Duration::from_secs(10) * batch
}
