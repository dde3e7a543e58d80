//! What acquirers report: disputes, fraud alerts, and what ends without a request. They are facts,
//! so they are booked even if a balance becomes negative.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use payments_domain::{
    AcquirerEvent, AcquirerId, AcquirerName, Actor, ApiKeyDigest, Decision, Id, NoRate,
    Notification,
    actions::{RecordNotification, SaveExpiryCursor, SaveFactsPosition},
    write::{FactsPosition, Rejection},
};
use prometheus::{IntCounterVec, IntGaugeVec, Opts, Registry};

use super::{error::Error, payments::Payments};
use crate::{
    acquirer::{
        AcquirerFact, Content, Facts, FactsQuestion, NoAnswer, ObjectKind, Report, Subject,
    },
    store::{Authorized, OpenAuthorization, OverdueDispute, Snapshot, StoreError, now},
};

/// Why a report was not booked. A repeat of it can succeed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotificationError {
    #[error("the payment is not decided yet")]
    Pending,
    #[error(transparent)]
    NoRate(#[from] NoRate),
    #[error(transparent)]
    Refused(#[from] Rejection),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl NotificationError {
    /// Whether a repeat of the report can succeed.
    pub(crate) fn is_temporary(&self) -> bool {
        match self {
            Self::Pending | Self::NoRate(_) | Self::Store(_) => true,
            Self::Refused(_) => false,
        }
    }
}

impl From<NotificationError> for Error {
    fn from(error: NotificationError) -> Self {
        match error {
            NotificationError::Pending => Self::OutcomeUnknown(NoAnswer::Pending.into()),
            NotificationError::NoRate(error) => Self::NoRate(error),
            NotificationError::Refused(refusal) => refusal.into(),
            NotificationError::Store(error) => error.into(),
        }
    }
}

/// Why the facts of an acquirer were not read to their end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FactsError {
    #[error(transparent)]
    NoAnswer(#[from] NoAnswer),
    #[error(transparent)]
    NotBooked(#[from] NotificationError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Keeps the first error, so that the next fact is booked; but without the store, none can be.
fn postpone(
    booked: Result<(), NotificationError>,
    unbooked: &mut Option<NotificationError>,
) -> Result<(), StoreError> {
    match booked {
        Ok(()) => {}
        Err(NotificationError::Store(error)) => return Err(error),
        Err(error) => drop(unbooked.get_or_insert(error)),
    }
    Ok(())
}

fn all_booked(unbooked: Option<NotificationError>) -> Result<(), FactsError> {
    unbooked.map_or(Ok(()), |error| Err(error.into()))
}

/// What became of the reports of acquirers.
pub(crate) struct ReportMetrics {
    /// By acquirer and reason.
    ignored: IntCounterVec,
    /// When the facts of an acquirer were last read to their end, in seconds since 1970.
    facts_read: IntGaugeVec,
    /// When the books were last compared with an acquirer's objects, in seconds since 1970.
    compared: IntGaugeVec,
}

/// Why a report cannot be booked.
#[derive(Debug, Clone, Copy)]
enum Ignored {
    /// Its type or status is not known.
    Unknown,
    /// It is not as the acquirer's documentation says.
    Malformed,
    /// It contradicts what is booked.
    Refused,
    /// It is about a payment or refund that this service did not make.
    Foreign,
    /// Its currency is not that of the payment.
    Currency,
}

impl Ignored {
    const ALL: [Self; 5] =
        [Self::Unknown, Self::Malformed, Self::Refused, Self::Foreign, Self::Currency];

    fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Malformed => "malformed",
            Self::Refused => "refused",
            Self::Foreign => "foreign",
            Self::Currency => "currency",
        }
    }
}

impl ReportMetrics {
    /// Registers the metrics. These acquirers are asked for facts from now on, and the books are
    /// compared with those ones.
    pub(crate) fn new(
        registry: &Registry,
        asked: impl IntoIterator<Item = AcquirerName>,
        compared_with: impl IntoIterator<Item = AcquirerName>,
    ) -> Result<Self, prometheus::Error> {
        let help = "Reports of acquirers that could not be booked, and were ignored, by reason.";
        let options = Opts::new("ignored_reports_total", help);
        let ignored = IntCounterVec::new(options, &["acquirer", "reason"])?;
        // The sandbox reports nothing.
        for acquirer in [AcquirerName::Http, AcquirerName::Stripe] {
            for reason in Ignored::ALL {
                let _from_zero = ignored.with_label_values(&[acquirer.name(), reason.name()]);
            }
        }
        registry.register(Box::new(ignored.clone()))?;
        let since_start = |name, help, acquirers: &mut dyn Iterator<Item = AcquirerName>| {
            let gauge = IntGaugeVec::new(Opts::new(name, help), &["acquirer"])?;
            for acquirer in acquirers {
                gauge.with_label_values(&[acquirer.name()]).set(now().as_second());
            }
            registry.register(Box::new(gauge.clone()))?;
            Ok::<_, prometheus::Error>(gauge)
        };
        let facts_read = since_start(
            "facts_read_timestamp_seconds",
            "When the facts of an acquirer were last read to their end, in seconds since 1970.",
            &mut asked.into_iter(),
        )?;
        let compared = since_start(
            "compared_timestamp_seconds",
            "When the books were last compared with an acquirer's, in seconds since 1970.",
            &mut compared_with.into_iter(),
        )?;
        Ok(Self { ignored, facts_read, compared })
    }

    /// Counts and logs a report that the service cannot book.
    fn ignored(&self, acquirer: AcquirerName, id: &AcquirerId, ignored: Ignored) {
        let (acquirer, reason) = (acquirer.name(), ignored.name());
        self.ignored.with_label_values(&[acquirer, reason]).inc();
        let id = id.as_str();
        tracing::warn!(acquirer, reason, report.id = id, "ignored a report of an acquirer");
    }
}

impl Payments {
    /// The time for an answer to a dispute, if the acquirer gives no deadline.
    pub(crate) fn dispute_due(&self) -> Duration {
        self.defaults.dispute_due
    }

    /// Books what an acquirer reports, once. A report that cannot be booked is counted and logged:
    /// no acquirer is asked to repeat it for ever.
    pub(crate) async fn book(
        &self,
        acquirer: AcquirerName,
        report: Report,
    ) -> Result<(), NotificationError> {
        if let Some(ignored) = self.book_or_ignore(acquirer, &report).await? {
            self.report_metrics.ignored(acquirer, &report.id, ignored);
        }
        Ok(())
    }

    /// Reads what an acquirer has to report, and books what no notification has brought.
    pub(crate) async fn book_facts(
        &self,
        acquirer: AcquirerName,
        min_age: Duration,
    ) -> Result<(), FactsError> {
        let begun = now();
        self.book_new_facts(acquirer, min_age).await?;
        let read = self.report_metrics.facts_read.with_label_values(&[acquirer.name()]);
        read.set(begun.as_second());
        Ok(())
    }

    async fn book_new_facts(
        &self,
        acquirer: AcquirerName,
        min_age: Duration,
    ) -> Result<(), FactsError> {
        let position: Option<FactsPosition> = self.store.row(&acquirer).await?;
        let mut last = position.and_then(|position| position.fact);
        let mut unbooked = None;
        loop {
            let question = self.question(min_age);
            let Facts { facts, has_more } =
                self.acquirers.facts(acquirer, last.as_ref(), question).await?;
            last = facts.last().map(|fact| fact.id.clone());
            let is_end = last.is_none() || !has_more;
            let done = self.book_all(acquirer, facts, &mut unbooked).await?;
            if done.is_some() {
                self.save_position(acquirer, done, None).await?;
            }
            if is_end {
                return all_booked(unbooked);
            }
        }
    }

    /// Compares the books with the objects of an acquirer, if that was last done this long ago, and
    /// books what differs. So nothing is lost that the acquirer has forgotten, or never reported.
    pub(crate) async fn compare(
        &self,
        acquirer: AcquirerName,
        interval: Duration,
    ) -> Result<(), FactsError> {
        let position: Option<FactsPosition> = self.store.row(&acquirer).await?;
        let compared = position.and_then(|position| position.compared).unwrap_or_default();
        let Some(now) = self.store.job_time().await? else { return Ok(()) };
        if now.duration_since(compared) < SignedDuration::try_from(interval).unwrap_or_default() {
            return Ok(());
        }
        let mut unbooked = None;
        for kind in ObjectKind::ALL {
            self.compare_objects(acquirer, kind, &mut unbooked).await?;
        }
        self.end_authorizations(acquirer, now, &mut unbooked).await?;
        all_booked(unbooked)?;
        self.save_position(acquirer, None, Some(now)).await?;
        let read = self.report_metrics.compared.with_label_values(&[acquirer.name()]);
        read.set(now.as_second());
        Ok(())
    }

    /// See [`Self::book_all`] for `unbooked`.
    async fn compare_objects(
        &self,
        acquirer: AcquirerName,
        kind: ObjectKind,
        unbooked: &mut Option<NotificationError>,
    ) -> Result<(), FactsError> {
        let mut last = None;
        loop {
            let question = self.question(Duration::ZERO);
            let Facts { facts, has_more } =
                self.acquirers.objects(acquirer, kind, last.as_ref(), question).await?;
            last = facts.last().map(|fact| fact.id.clone());
            self.book_all(acquirer, facts, unbooked).await?;
            if last.is_none() || !has_more {
                return Ok(());
            }
        }
    }

    /// Voids the rest of authorizations that their acquirer has ended before their time.
    async fn end_authorizations(
        &self,
        acquirer: AcquirerName,
        now: Timestamp,
        unbooked: &mut Option<NotificationError>,
    ) -> Result<(), FactsError> {
        let mut last = (now, Id::MAX);
        loop {
            let open = self.store.open_authorizations(acquirer, last).await?;
            let Some(newest) = open.last() else { return Ok(()) };
            last = (newest.until, newest.transaction);
            for OpenAuthorization { transaction, authorization, .. } in open {
                if self.acquirers.has_ended(acquirer, &authorization).await? {
                    postpone(self.end_authorization(transaction, now).await, unbooked)?;
                }
            }
        }
    }

    fn question(&self, min_age: Duration) -> FactsQuestion {
        FactsQuestion { now: now(), min_age, due_after: self.dispute_due() }
    }

    async fn save_position(
        &self,
        acquirer: AcquirerName,
        fact: Option<AcquirerId>,
        compared: Option<Timestamp>,
    ) -> Result<(), NotificationError> {
        let position = SaveFactsPosition { acquirer, fact, compared };
        Ok(self.store.write(Actor::SYSTEM, position).await??)
    }

    /// Books facts. What can never be booked is counted and logged. What can be booked later does not
    /// stop the others, and the first reason is kept in `unbooked`. Returns the last fact before it:
    /// those after it are read again, and counted then.
    async fn book_all(
        &self,
        acquirer: AcquirerName,
        facts: Vec<AcquirerFact>,
        unbooked: &mut Option<NotificationError>,
    ) -> Result<Option<AcquirerId>, StoreError> {
        let mut done = None;
        for AcquirerFact { id, report } in facts {
            let booked = match &report {
                Ok(report) => self.book_or_ignore(acquirer, report).await,
                Err(_) => Ok(Some(Ignored::Malformed)),
            };
            let ignored = match booked {
                Err(NotificationError::Refused(_)) => Some(Ignored::Refused),
                Ok(ignored) => ignored,
                booked => {
                    postpone(booked.map(drop), unbooked)?;
                    None
                }
            };
            if unbooked.is_some() {
                continue;
            }
            if let Err(errors) = report {
                let (acquirer, id) = (acquirer.name(), id.as_str());
                tracing::error!(
                    acquirer,
                    report.id = id,
                    ?errors,
                    "a fact of an acquirer is malformed"
                );
            }
            if let Some(ignored) = ignored {
                self.report_metrics.ignored(acquirer, &id, ignored);
            }
            done = Some(id);
        }
        Ok(done)
    }

    async fn book_or_ignore(
        &self,
        acquirer: AcquirerName,
        Report { id, created, content }: &Report,
    ) -> Result<Option<Ignored>, NotificationError> {
        let (subject, events) = match content {
            Content::Events(subject, events) => (subject, events),
            Content::Nothing => return Ok(None),
            Content::Unknown => return Ok(Some(Ignored::Unknown)),
            Content::Foreign => return Ok(Some(Ignored::Foreign)),
        };
        let transaction = match subject {
            Subject::Transaction(transaction) => *transaction,
            Subject::Authorization { id, currency } => {
                match self.store.authorized(acquirer, id).await? {
                    Some(Authorized::Transaction(_, own))
                        if currency.is_some_and(|it| it != own) =>
                    {
                        return Ok(Some(Ignored::Currency));
                    }
                    Some(Authorized::Transaction(transaction, _)) => transaction,
                    Some(Authorized::Pending) => return Err(NotificationError::Pending),
                    None => return Ok(Some(Ignored::Foreign)),
                }
            }
        };
        for (number, event) in events.iter().enumerate() {
            let (id, event) = (id.numbered(number), event.clone());
            let notification = Notification { id, transaction, created: *created, event };
            if !self.book_notification(notification).await? {
                return Ok(Some(Ignored::Foreign));
            }
        }
        Ok(None)
    }

    /// Books a notification, once. False if there is no such transaction.
    pub(crate) async fn book_notification(
        &self,
        notification: Notification,
    ) -> Result<bool, NotificationError> {
        if let AcquirerEvent::Refused { operation, reason } = &notification.event {
            let transaction = notification.transaction;
            tracing::warn!(
                transaction.id = %transaction, %operation,
                reason = reason.as_deref().unwrap_or("none"),
                "the acquirer refused an operation that it had confirmed"
            );
        }
        // An acquirer may name any transaction, so no membership is checked.
        let nobody = (Id::MIN, ApiKeyDigest::NONE);
        let snapshot = self.store.snapshot(notification.transaction, nobody, None).await?;
        let Some(snapshot) = snapshot else { return Ok(false) };
        let Snapshot { transaction_terms, steps, .. } = snapshot.value;
        let terms = &transaction_terms.terms;
        let exchange = self.rates.latest_exchange(transaction_terms.currency, terms)?;
        let fee_exchange = self.rates.latest_exchange(terms.pricing.dispute.currency, terms)?;
        let notification = Box::new(notification);
        let action = RecordNotification { notification, exchange, fee_exchange, steps };
        self.store.write(Actor::ACQUIRER, action).await??;
        Ok(true)
    }

    /// Voids the rest of an authorization that its acquirer ended at this time.
    async fn end_authorization(
        &self,
        transaction: Id,
        created: Timestamp,
    ) -> Result<(), NotificationError> {
        let (id, event) = (AcquirerId::of_end(transaction), AcquirerEvent::Expired);
        let notification = Notification { id, transaction, created, event };
        self.book_notification(notification).await.map(drop)
    }

    /// Voids the rest of authorizations that their acquirers have ended by now. Each is looked at
    /// once, because what is pending never grows. An error does not stop the others of its page.
    pub(crate) async fn void_ended(&self) -> Result<(), NotificationError> {
        loop {
            let ended = self.store.ended_authorizations().await?;
            let Some((_, last, _)) = ended.last().copied() else { return Ok(()) };
            let mut unbooked = None;
            for (transaction, until, _) in ended.into_iter().filter(|(.., is_open)| *is_open) {
                postpone(self.end_authorization(transaction, until).await, &mut unbooked)?;
            }
            unbooked.map_or(Ok(()), Err)?;
            let cursor = SaveExpiryCursor { through: None, ended: Some(last) };
            self.store.write(Actor::SYSTEM, cursor).await??;
        }
    }

    /// Closes overdue disputes of test merchants as lost, because the sandbox never decides one. An
    /// error does not stop the other disputes; the last error is returned.
    pub(crate) async fn lose_overdue_disputes(&self) -> Result<(), NotificationError> {
        let mut failed = None;
        for overdue in self.store.overdue_disputes().await? {
            failed = self.lose(overdue).await.err().or(failed);
        }
        failed.map_or(Ok(()), Err)
    }

    /// Closes a dispute of a test merchant as lost.
    pub(super) async fn lose(&self, overdue: OverdueDispute) -> Result<(), NotificationError> {
        let OverdueDispute { id, transaction, reference } = overdue;
        let id = AcquirerId::of_sandbox("lost", id);
        let event = AcquirerEvent::Decided { dispute: reference, decision: Decision::Lost };
        let notification = Notification { id, transaction, created: now(), event };
        self.book_notification(notification).await.map(drop)
    }
}
