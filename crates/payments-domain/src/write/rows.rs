//! The rows that batches load and change, each described once: its table, its key, the columns that
//! never change, and those that do.

use jiff::{Timestamp, civil::Date};
use sql::{group, row, rows};

use super::{KeyState, KeyedRequest, Rejection, StoredOutcome};
use crate::{
    Account, AcquirerId, AcquirerKey, AcquirerName, Actor, ApiKeyDigest, App, BalanceLine,
    BankChange, Capabilities, Capture, Card, CardOnFile, Currency, CustomData, Decision,
    DeliveryAttempt, Descriptor, DisableReason, Dispute, DisputeState, EventType, EvidenceFile,
    EvidenceText, FRESH, Fact, Failures, FileContent, FraudAlert, Hold, Id, LineKind, LinkDigest,
    LinkKind, LinkSecret, LogKind, MailKind, Merchant, Money, Name, NewEvent, Notes, OutboxKind,
    Payment, Payout, PayoutFormat, PayoutReturn, PayoutRun, ProcessingError, Progress, Reason,
    ReceiptAddress, ReferenceDigest, RequestDigest, Retry, SESSION_IDLE, SESSION_TTL, SandboxClock,
    SavedCard, SealedSecret, Slice, Step, ThreeDSecure, TokenDigest, TraceBytes, TransactionStatus,
    Transfer, Webhook, WebhookDetails, WebhookSecrets, WebhookUpdate,
};

rows! {
    /// All rows of a batch. Rows that another batch can insert, too, come last.
    pub struct BatchRows {
        apps: AppRow,
        api_keys: ApiKeyRow,
        merchants: Merchant,
        balances: Balance,
        holds: Hold,
        bank_changes: BankChange,
        mails_of_members: MailsOfMember,
        mails_of_users: MailsOfUser,
        mails: MailRow,
        notices: NoticeRow,
        sign_in_links: SignInLinkRow,
        sessions: SessionRow,
        authenticators: AuthenticatorRow,
        recovery_codes: RecoveryCodeRow,
        webhooks: WebhookRow,
        webhook_progress: ProgressRow,
        retries_of_webhooks: RetriesOfWebhook,
        attempts_of_webhooks: AttemptsOfWebhook,
        webhook_retries: RetryRow,
        webhook_attempts: AttemptRow,
        link_secrets: LinkSecretRow,
        pending_payments: PendingRow,
        transactions: TransactionRow,
        transaction_amounts: TransactionAmounts,
        transaction_states: StateRow,
        customs: CustomRow,
        receipts: ReceiptRow,
        authorizations: AuthorizationRow,
        trail: StepRow,
        captures: CaptureRow,
        lines: LineRow,
        postings: PostingRow,
        outbox: OutboxRow,
        payouts: PayoutRow,
        cards: CardRow,
        disputes: DisputeRow,
        evidence: EvidenceRow,
        evidence_files: EvidenceFileRow,
        slices: SliceRow,
        refused_voids: RefusedVoid,
        fraud_alerts: FraudAlert,
        events: EventRow,
        log: LogRow,
        expiry: ExpiryRow,
        facts_positions: FactsPosition,
        payout_runs: PayoutRunRow,
        notifications: NotificationRow,
        merchant_users: MerchantUser,
        mail_choices: MailChoice,
        merchant_apps: MerchantApp,
        used_links: UsedLink,
        day_cursors: DayCursor,
        day_totals: DayTotal,
        keys: KeyRow,
    }

    /// Rows that a batch loads by key, without a lock: another batch may change them meanwhile.
    pub struct RowKeys from super::Needs, into super::LoadedRows;

    /// The database in memory.
    #[cfg(any(test, feature = "generators"))]
    pub struct Tables { users: crate::User }
}

row! {
    /// An app. Its lock covers its API keys and webhooks, whose number is limited.
    pub struct AppRow in "apps" {
        key { id: Id = "id" }
        fixed { name: Option<Name> = "name", created: Timestamp = "created" }
        changing { clock: SandboxClock = .. }
    }
}

impl AppRow {
    pub fn app(self) -> App {
        let Self { id, name, created, clock: _ } = self;
        App { id, name, created }
    }
}

row! {
    /// An API key of an app. The first key has the ID of the app.
    pub struct ApiKeyRow in "api_keys" {
        key { id: Id = "id" }
        fixed {
            app: Id = "app",
            digest: ApiKeyDigest = "digest",
            name: Option<Name> = "name",
            created: Timestamp = "created",
        }
        changing {
            /// The hour of the last use.
            last_used: Option<Timestamp> = "last_used",
        }
    }
}

row! {
    /// A row of a merchant's balance. The balance is the sum of the merchant's rows. PostgreSQL has
    /// several, so that batches do not wait for each other: see `store/postgres/batch.rs`.
    #[derive(Copy)]
    pub struct Balance in "balances" {
        key {
            merchant: Id = "merchant",
            /// The number of the row, from 0.
            shard: i64 = "shard",
        }
        changing {
            /// Minor units of the merchant's currency.
            minor: i64 = "balance",
        }
    }
}

row! {
    /// An app that is a member of a merchant.
    pub struct MerchantApp in "merchant_apps" {
        key { merchant: Id = "merchant", app: Id = "app" }
        fixed {
            /// A copy from the merchant, because an index on it has the order of the list of
            /// merchants.
            test: bool = "test",
            /// Whether the app has created the merchant.
            creator: bool = "creator",
        }
    }
}

row! {
    /// A user who is a member of a merchant.
    pub struct MerchantUser in "merchant_users" {
        key { merchant: Id = "merchant", user: Id = "user" }
        changing {
            /// When the user accepted the invitation.
            accepted: Option<Timestamp> = "accepted",
        }
    }
}

row! {
    /// A link that signs a user in, once.
    pub struct SignInLinkRow in "sign_in_links" {
        key { digest: TokenDigest = "digest" }
        fixed {
            user: Id = "user",
            kind: LinkKind = "kind",
            /// The merchant of an invitation.
            merchant: Option<Id> = "merchant",
            created: Timestamp = "created",
            until: Timestamp = "until",
        }
        changing {
            /// The only browser that can use it. `None`: any.
            browser: Option<TokenDigest> = "browser",
        }
    }
}

row! {
    /// A browser in which a user is signed in.
    pub struct SessionRow in "sessions" {
        key { digest: TokenDigest = "digest" }
        fixed {
            user: Id = "user",
            created: Timestamp = "created",
            /// When the user typed a code. Another code begins another session.
            verified: Option<Timestamp> = "verified",
        }
        changing {
            /// The last use, at most a minute before the real one.
            used: Timestamp = "used",
        }
    }
}

impl SessionRow {
    /// Whether the session still works.
    pub fn works(&self, now: Timestamp) -> bool {
        let ends = |time: Timestamp, after| time.checked_add(after).unwrap_or(Timestamp::MAX);
        now < ends(self.used, SESSION_IDLE) && now < ends(self.created, SESSION_TTL)
    }

    /// Whether the user has typed a code lately.
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        self.verified.and_then(|time| time.checked_add(FRESH).ok()).is_some_and(|end| now < end)
    }
}

row! {
    /// The authenticator of a user.
    pub struct AuthenticatorRow in "authenticators" {
        key { user: Id = "user" }
        changing {
            secret: SealedSecret = "secret",
            /// Whether the user has typed its first code.
            works: bool = "works",
            /// The step of the last code.
            last_step: i64 = "last_step",
            /// The number of wrong codes since the last right one, or since the lock.
            wrong: u32 = "wrong",
            /// No code works until then.
            locked: Option<Timestamp> = "locked",
        }
    }
}

row! {
    /// A recovery code that was not used.
    pub struct RecoveryCodeRow in "recovery_codes" {
        key { user: Id = "user", digest: TokenDigest = "digest" }
    }
}

row! {
    /// A mail that waits to be sent.
    pub struct MailRow in "mails" {
        key { id: Id = "id" }
        fixed {
            kind: MailKind = "kind",
            /// The recipient. `None`: the payer who wants a receipt.
            user: Option<Id> = "user",
            /// The merchant that it is about.
            merchant: Option<Id> = "merchant",
            /// The dispute, payout or transaction that it is about.
            object: Option<Id> = "object",
            /// The app or user that caused it.
            actor: Actor = ..,
            /// The browser that may use its link. `None`: any.
            browser: Option<TokenDigest> = "browser",
            /// The ISO 639-1 code of its language, if the recipient chose one.
            language: Option<String> = "language",
            created: Timestamp = "created",
        }
        changing {
            /// The number of attempts, including the current one.
            attempts: u32 = "attempts",
            /// The time of the next attempt.
            due: Timestamp = "due",
        }
    }
}

row! {
    /// All mails to a user about a merchant, to delete them.
    pub struct MailsOfMember in "mails" {
        key { merchant: Option<Id> = "merchant", user: Option<Id> = "user" }
    }
}

row! {
    /// All mails of a kind to a user, to delete them.
    pub struct MailsOfUser in "mails" {
        key { user: Option<Id> = "user", kind: MailKind = "kind" }
    }
}

row! {
    /// A member of a merchant wants mails of this kind.
    pub struct MailChoice in "mail_choices" {
        key { merchant: Id = "merchant", kind: MailKind = "kind", user: Id = "user" }
    }
}

row! {
    /// A fact of which a job tells the members who want mails about it.
    pub struct NoticeRow in "notices" {
        key { id: Id = "id" }
        fixed {
            kind: MailKind = "kind",
            /// `None`: all merchants of the app.
            merchant: Option<Id> = "merchant",
            app: Option<Id> = "app",
            /// The dispute, payout or endpoint.
            object: Option<Id> = "object",
        }
    }
}

row! {
    /// An endpoint of an app.
    pub struct WebhookRow in "webhooks" {
        key { id: Id = "id" }
        fixed { app: Id = "app", created: Timestamp = "created" }
        changing {
            details: WebhookDetails = ..,
            disabled: Option<DisableReason> = "disabled",
            secrets: WebhookSecrets = ..,
        }
    }
}

impl WebhookRow {
    pub fn new(webhook: Webhook, secrets: WebhookSecrets) -> Self {
        let Webhook { id, app, created, details, disabled } = webhook;
        Self { id, app, created, details, disabled, secrets }
    }

    pub fn update(&mut self, update: &WebhookUpdate) {
        let mut webhook = self.webhook();
        webhook.update(update);
        (self.details, self.disabled) = (webhook.details, webhook.disabled);
    }

    pub fn webhook(&self) -> Webhook {
        let Self { id, app, created, details, disabled, secrets: _ } = self;
        let (details, disabled) = (details.clone(), *disabled);
        Webhook { id: *id, app: *app, created: *created, details, disabled }
    }
}

row! {
    /// How far the deliveries to an endpoint are.
    pub struct ProgressRow in "webhook_progress" {
        key { webhook: Id = "webhook" }
        changing { progress: Progress = .. }
    }
}

row! {
    /// An event that is delivered again.
    pub struct RetryRow in "webhook_retries" {
        key { webhook: Id = "webhook", event: Id = "event" }
        fixed { transaction: Option<Id> = "transaction" }
        changing { failures: Option<Failures> = .. }
    }
}

impl RetryRow {
    pub fn retry(&self) -> Retry {
        let Self { webhook: _, event, transaction, failures } = *self;
        Retry { event, transaction, failures }
    }
}

row! {
    /// All retries of an endpoint: they start again, or are deleted with it.
    pub struct RetriesOfWebhook in "webhook_retries" {
        key { webhook: Id = "webhook" }
        changing { failures: Option<Failures> = .. }
    }
}

row! {
    /// One of the last attempts of an endpoint. The numbers begin again after the maximum.
    pub struct AttemptRow in "webhook_attempts" {
        key { webhook: Id = "webhook", number: u32 = "number" }
        fixed { id: Id = "id", attempt: DeliveryAttempt = .. }
    }
}

row! {
    /// All attempts of an endpoint, to delete them.
    pub struct AttemptsOfWebhook in "webhook_attempts" {
        key { webhook: Id = "webhook" }
    }
}

row! {
    /// The key that signs the payment links of a merchant.
    pub struct LinkSecretRow in "link_secrets" {
        key { merchant: Id = "merchant" }
        fixed { secret: LinkSecret = "secret" }
    }
}

row! {
    /// A payment link that pays only once, and its payment.
    pub struct UsedLink in "used_links" {
        key { merchant: Id = "merchant", link: LinkDigest = "link" }
        fixed { pending_payment: Id = "pending_payment" }
    }
}

row! {
    /// A payment that is with its acquirer.
    pub struct PendingRow in "pending_payments" {
        key { id: Id = "id" }
        fixed {
            created: Timestamp = "created",
            payment: Payment = ..,
            /// The actor who asked for the payment.
            actor: Actor = ..,
            /// The digest of the idempotency key, if the acquirer gets that.
            acquirer_key: Option<RequestDigest> = "acquirer_key",
            /// The payment link, if it pays only once.
            link: Option<LinkDigest> = "link",
            /// `None`: the payer wants no receipt.
            receipt: Option<ReceiptAddress> = ("receipt_email", "receipt_language"),
        }
        changing {
            /// The acquirer's ID of the authorization, if it needs one.
            authorization: Option<String> = "authorization",
            challenge: Option<PendingChallenge> = ..,
        }
    }
}

group! {
    /// The customer of a pending payment must answer 3-D Secure.
    #[derive(Debug, Clone, PartialEq)]
    pub struct PendingChallenge {
        card: Card = ..,
        /// The acquirer's ID of the challenge.
        reference: String = "challenge",
        /// The deadline for the answer.
        until: Timestamp = "challenge_until",
    }
}

row! {
    /// A transaction, without its amounts after the authorization.
    pub struct TransactionRow in "transactions" {
        key { id: Id = "id" }
        fixed {
            merchant: Id = "merchant",
            /// Whether the merchant is a test merchant.
            test: bool = "test",
            /// The acquirer knows the payment by this ID, or by the key.
            pending_payment: Id = "pending_payment",
            acquirer_key: Option<RequestDigest> = "acquirer_key",
            authorization: Option<String> = "authorization",
            acquirer: Option<AcquirerName> = "acquirer",
            created: Timestamp = "created",
            currency: Currency = "currency",
            amount: i64 = "amount",
            error: Option<ProcessingError> = "error",
            descriptor: Descriptor = "descriptor",
            card: Option<Card> = ..,
            tds: ThreeDSecure = "tds",
            capabilities: Capabilities = ..,
            recurring: bool = "recurring",
            /// The acquirer's reference of the card. `None` if the payment failed, or the card was not
            /// kept.
            reference: Option<String> = "reference",
            has_custom: bool = "has_custom",
            /// That of its custom data.
            custom_reference: Option<ReferenceDigest> = "custom_reference",
        }
    }
}

row! {
    /// The amounts of a transaction after its movements, in minor units of its currency.
    pub struct TransactionAmounts in "transactions" {
        key { id: Id = "id" }
        changing {
            captured: i64 = "captured",
            refunded: i64 = "refunded",
            voided: i64 = "voided",
            disputed: i64 = "disputed",
            /// The length of the trail.
            steps: u32 = "steps",
        }
    }
}

row! {
    /// The state of a transaction, to search for. Apart, so that a change of it changes no index of
    /// the transactions.
    pub struct StateRow in "transaction_states" {
        key { merchant: Id = "merchant", state: TransactionStatus = "state", transaction: Id = "transaction" }
    }
}

row! {
    /// The custom data of a transaction. Apart, because it may be long.
    pub struct CustomRow in "customs" {
        key { transaction: Id = "transaction" }
        fixed { custom: CustomData = "custom" }
    }
}

row! {
    /// The payer of a transaction has a link to its receipt.
    pub struct ReceiptRow in "receipts" {
        key { transaction: Id = "transaction" }
        fixed { merchant: Id = "merchant", to: ReceiptAddress = .. }
    }
}

row! {
    /// The amount of a payment request. `check` compares the transaction with it.
    pub struct AuthorizationRow in "authorizations" {
        key { pending_payment: Id = "pending_payment" }
        fixed { currency: Currency = "currency", amount: i64 = "amount" }
    }
}

row! {
    /// A capture of a transaction. Refunds reduce what can still be refunded of it.
    pub struct CaptureRow in "captures" {
        key {
            transaction: Id = "transaction",
            /// The index in the trail, from 0.
            step: u32 = "step",
        }
        changing { capture: Capture = .. }
    }
}

impl CaptureRow {
    pub fn new(transaction: Id, capture: Capture) -> Self {
        Self { transaction, step: capture.step, capture }
    }

    pub fn capture(&self) -> Capture {
        Capture { step: self.step, ..self.capture }
    }
}

row! {
    /// A capture, refund, void, reversal or answer to a dispute that its acquirer has not confirmed
    /// yet.
    pub struct OutboxRow in "outbox" {
        key { id: Id = "id" }
        fixed {
            /// That of the transaction.
            acquirer: Option<AcquirerName> = "acquirer",
            /// The digest of the idempotency key, if the acquirer gets that.
            acquirer_key: Option<RequestDigest> = "acquirer_key",
            transaction: Id = "transaction",
            kind: OutboxKind = "movement",
            /// Minor units of the transaction's currency.
            amount: i64 = "amount",
            /// The step of the trail. `None` for a reversal or an answer.
            step: Option<u32> = "step",
            /// The dispute that it answers.
            dispute: Option<Id> = "dispute",
            /// As in [`NewEvent`].
            trace: Option<TraceBytes> = "trace",
        }
        changing {
            /// The number of failed attempts.
            attempts: u32 = "attempts",
            /// The time of the next attempt. `None` if it was never sent.
            due: Option<Timestamp> = "due",
        }
    }
}

row! {
    pub struct DisputeRow in "disputes" {
        key { id: Id = "id" }
        fixed {
            merchant: Id = "merchant",
            /// Whether the merchant is a test merchant.
            test: bool = "test",
            transaction: Id = "transaction",
            /// The acquirer's ID of the dispute.
            reference: AcquirerId = "reference",
            created: Timestamp = "created",
        }
        changing {
            amount: i64 = "amount",
            reason: Option<Reason> = ..,
            due: Timestamp = "due",
            /// The line that booked the opening. `None` for an inquiry.
            line: Option<Id> = "line",
            /// The dispute fee, in minor units of the merchant's currency.
            fee: i64 = "flat_fee",
            decision: Option<Decision> = "decision",
            /// When the evidence was submitted.
            submitted: Option<Timestamp> = "submitted",
            /// When the loss was accepted.
            accepted: Option<Timestamp> = "accepted",
        }
    }
}

impl DisputeRow {
    pub fn dispute(self) -> Dispute {
        let is_inquiry = self.line.is_none();
        let Self { id, merchant, transaction, created, amount, reason, due, .. } = self;
        let Self { submitted, accepted, .. } = self;
        Dispute {
            id,
            merchant,
            transaction,
            created,
            amount,
            reason,
            due,
            is_inquiry,
            submitted,
            accepted,
        }
    }

    /// `slices` are its slices.
    pub fn state(&self, slices: Vec<Slice>) -> DisputeState {
        let Self { id, fee, decision, .. } = *self;
        DisputeState { id, is_inquiry: self.line.is_none(), fee, decision, slices }
    }
}

row! {
    /// The evidence for a dispute.
    pub struct EvidenceRow in "evidence" {
        key { dispute: Id = "dispute" }
        fixed {
            id: Id = "id",
            created: Timestamp = "created",
            /// Of all files, in bytes.
            size: i64 = "size",
            text: EvidenceText = "text",
        }
    }
}

row! {
    /// A file of the evidence for a dispute.
    pub struct EvidenceFileRow in "evidence_files" {
        key {
            dispute: Id = "dispute",
            /// The index, from 0.
            number: u32 = "number",
        }
        fixed { file: EvidenceFile = .., content: FileContent = "content" }
    }
}

row! {
    /// A notification that was recorded.
    pub struct NotificationRow in "notifications" {
        key {
            /// The acquirer's ID.
            id: AcquirerId = "id",
        }
        fixed {
            transaction: Id = "transaction",
            /// The time of the recording, not of the event.
            created: Timestamp = "created",
            /// The dispute that is not opened yet, and its decision.
            waiting: Option<(AcquirerId, Decision)> = ("dispute", "decision"),
        }
    }
}

row! {
    /// An idempotency key.
    pub struct KeyRow in "idempotency" {
        key { app: Id = "app", key: String = "key" }
        fixed {
            /// The digest of the request.
            request: RequestDigest = "request",
            created: Timestamp = "created",
        }
        changing { state: KeyState = .. }
    }
}

impl KeyRow {
    /// The outcome for a repeated request.
    pub fn outcome(&self, keyed: &KeyedRequest) -> Result<StoredOutcome, Rejection> {
        if self.request != keyed.request {
            return Err(Rejection::KeyReused);
        }
        match &self.state {
            KeyState::InFlight(_) => Err(Rejection::InFlight),
            KeyState::Answered(outcome) => Ok(outcome.clone()),
        }
    }
}

row! {
    /// How far the expiry job is: the only row of its table.
    #[derive(Copy)]
    pub struct ExpiryRow in "expiry" {
        key { only: bool = "only" }
        changing {
            through: Id = "through",
            /// Authorizations whose acquirer ends them until then were voided.
            ended: Timestamp = "ended",
        }
    }
}

row! {
    /// How far the service has read the facts of an acquirer.
    pub struct FactsPosition in "facts_positions" {
        key { acquirer: AcquirerName = "acquirer" }
        changing {
            /// The acquirer's ID of the last fact.
            fact: Option<AcquirerId> = "fact",
            /// When the books were last compared with the acquirer's objects.
            compared: Option<Timestamp> = "compared",
        }
    }
}

row! {
    /// A step of the trail of a transaction.
    pub struct StepRow in "trail" {
        key {
            transaction: Id = "transaction",
            /// The index in the trail, from 0.
            number: u32 = "step",
        }
        fixed {
            step: Step = ..,
            /// The key of a capture, refund or void at the acquirer.
            acquirer_key: Option<AcquirerKey> = "acquirer_key",
            /// The step that this one reverses, because the acquirer refused it.
            reverses: Option<u32> = "reverses",
        }
    }
}

row! {
    /// A capture or a void that the acquirer refused, and that no step reverses.
    pub struct RefusedVoid in "refused_voids" {
        key { transaction: Id = "transaction", step: u32 = "step" }
    }
}

row! {
    /// A line of a merchant's balance.
    pub struct LineRow in "lines" {
        key { id: Id = "id" }
        fixed {
            merchant: Id = "merchant",
            created: Timestamp = "created",
            balance: i64 = "balance",
            fee: i64 = "fee",
            kind: LineKind = "kind",
            transaction: Option<Id> = "transaction",
            amount: Money = ..,
        }
    }
}

impl LineRow {
    pub fn line(&self, test: bool) -> BalanceLine {
        let Self { id, merchant, created, balance, fee, kind, transaction, amount } = *self;
        BalanceLine { id, merchant, test, created, balance, fee, kind, transaction, amount }
    }
}

row! {
    /// What a merchant has captured, and captured less refunded, in a day in UTC: sums of counted
    /// lines.
    #[derive(Copy)]
    pub struct DayTotal in "day_totals" {
        key {
            merchant: Id = "merchant",
            /// Days since 1970-01-01.
            day: i64 = "day",
        }
        changing {
            /// Captured less refunded: minor units of the merchant's currency, before fees.
            minor: i64 = "amount",
            /// What the captures have added to the balance. A refusal does not count.
            captured: i64 = "captured",
            /// The last counted line.
            line: Id = "line",
        }
    }
}

impl DayTotal {
    /// A day in milliseconds.
    pub const DAY: i64 = 24 * 3600 * 1000;

    /// The lines that are counted. The amount of a line is its balance and its fee.
    pub const KINDS: [LineKind; 2] = [LineKind::Capture, LineKind::Refund];

    /// The totals of one line.
    pub fn of_line(line: &LineRow) -> Self {
        let is_capture = line.kind == LineKind::Capture && line.amount.minor > 0;
        Self {
            merchant: line.merchant,
            day: Self::day_of(line.created),
            minor: line.balance.saturating_add(line.fee),
            captured: if is_capture { line.balance } else { 0 },
            line: line.id,
        }
    }

    /// Adds the totals of later lines of the day.
    pub fn add(&mut self, later: Self) {
        self.minor = self.minor.saturating_add(later.minor);
        self.captured = self.captured.saturating_add(later.captured);
        self.line = later.line;
    }

    /// The day of a time.
    pub fn day_of(time: Timestamp) -> i64 {
        time.as_millisecond().div_euclid(Self::DAY)
    }
}

row! {
    /// All lines up to an ID are in the totals of days. Each change replaces the only row by one with
    /// the next number. So if two processes count the same lines, the second one inserts a number
    /// that exists, and changes nothing.
    #[derive(Copy)]
    pub struct DayCursor in "day_cursors" {
        key { number: i64 = "number" }
        fixed { through: Id = "through" }
    }
}

row! {
    /// A posting of the ledger entry of a line.
    pub struct PostingRow in "postings" {
        key {
            line: Id = "line",
            /// The index in the entry, from 0.
            number: u32 = "number",
        }
        fixed { account: Account = "account", money: Money = .. }
    }
}

row! {
    /// A run of payouts that has begun.
    #[derive(Copy)]
    pub struct PayoutRunRow in "payout_runs" {
        key { day: Date = "day", test: bool = "test", format: PayoutFormat = "format" }
        changing {
            /// Whether the run pays nobody any more.
            closed: bool = "closed",
        }
    }
}

impl PayoutRunRow {
    /// The key of a run.
    pub fn key_of(run: PayoutRun) -> <Self as sql::Row>::Key {
        (run.day, run.test, run.format)
    }
}

row! {
    /// A payout and its run.
    pub struct PayoutRow in "payouts" {
        key { id: Id = "id" }
        fixed {
            day: Date = "day",
            test: bool = "test",
            format: PayoutFormat = "format",
            created: Timestamp = "created",
            line: Id = "line",
            held_since: Option<Timestamp> = "held_since",
            transfer: Transfer = ..,
        }
        changing { returned: Option<PayoutReturn> = .. }
    }
}

impl PayoutRow {
    pub fn new(run: PayoutRun, payout: Payout) -> Self {
        let PayoutRun { day, test: _, format } = run;
        let Payout { id, created, test, line, held_since, transfer, returned } = payout;
        Self { id, day, test, format, created, line, held_since, transfer, returned }
    }

    pub fn payout(self) -> Payout {
        let Self { id, day: _, test, format: _, created, line, held_since, transfer, returned } =
            self;
        Payout { id, created, test, line, held_since, transfer, returned }
    }
}

row! {
    /// A card that a merchant saved.
    pub struct CardRow in "cards" {
        key { id: Id = "id" }
        fixed {
            merchant: Id = "merchant",
            created: Timestamp = "created",
            original: CardOnFile = ..,
            notes: Option<Notes> = "notes",
        }
    }
}

impl CardRow {
    pub fn saved_card(self) -> SavedCard {
        let Self { id, merchant, created, original, notes } = self;
        SavedCard {
            id,
            merchant,
            created,
            card: original.card,
            notes: notes.map(|notes| notes.as_str().to_owned()),
        }
    }
}

row! {
    /// The part of a capture that a dispute took.
    pub struct SliceRow in "slices" {
        key {
            dispute: Id = "dispute",
            /// The index in the dispute, from 0.
            number: u32 = "number",
        }
        fixed { slice: Slice = .. }
    }
}

row! {
    /// An event: references, not data.
    pub struct EventRow in "events" {
        key { id: Id = "id" }
        fixed {
            merchant: Id = "merchant",
            created: Timestamp = "created",
            event_type: EventType = "type",
            actor: Actor = ..,
            trace: Option<TraceBytes> = "trace",
            transaction: Option<Id> = "transaction",
            steps: Option<u32> = "steps",
            disputed: Option<i64> = "disputed",
            /// The dispute, fraud alert or payout.
            object: Option<Id> = "object",
        }
    }
}

impl From<NewEvent> for EventRow {
    fn from(NewEvent { id, merchant, created, event_type, actor, trace, fact }: NewEvent) -> Self {
        let (transaction, object) = (fact.transaction().copied(), fact.object().copied());
        let version = fact.version();
        let (steps, disputed) = version.map(|version| (version.steps, version.disputed)).unzip();
        Self {
            id,
            merchant,
            created,
            event_type,
            actor,
            trace,
            transaction,
            steps,
            disputed,
            object,
        }
    }
}

impl EventRow {
    /// `None` if the columns do not fit together.
    pub fn event(&self) -> Option<NewEvent> {
        let Self { id, merchant, created, event_type, actor, trace, .. } = *self;
        let Self { transaction, steps, disputed, object, .. } = *self;
        let fact = Fact::new(event_type, transaction, (steps, disputed), object)?;
        Some(NewEvent { id, merchant, created, event_type, actor, trace, fact })
    }
}

row! {
    /// What somebody has done.
    pub struct LogRow in "log" {
        key { id: Id = "id" }
        fixed {
            /// The merchant, or the app whose keys and webhooks it is about.
            owner: Id = "owner",
            created: Timestamp = "created",
            actor: Actor = ..,
            kind: LogKind = "kind",
            /// The user, app, API key or webhook.
            subject: Id = "subject",
        }
    }
}
