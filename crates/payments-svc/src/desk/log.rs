//! The log of a merchant: what happened, newest first, and who did it.

use std::{borrow::Cow, cmp::Reverse};

use askama::Template;
use axum::{extract::RawQuery, http::StatusCode, response::Response};
use jiff::Timestamp;
use payments_domain::{Actor, ActorKind, Event, EventData, EventType, Id, LogKind};

use super::{
    list::{PAGE, Page, before, cut},
    payments::{name, time},
    view,
    visitor::AtMerchant,
};
use crate::{app::LogEntry, language::Language, web::Error};

/// A line of the log.
struct Entry<'a> {
    id: Id,
    created: Timestamp,
    who: Cow<'a, str>,
    what: Cow<'a, str>,
    /// Whom or what it is about.
    subject: Option<String>,
    /// The payment that it is about.
    payment: Option<Id>,
}

#[derive(Template)]
#[template(path = "desk/log.html")]
struct LogPage<'a> {
    at: &'a AtMerchant,
    log: &'a Page<Entry<'a>>,
}

pub(super) async fn show(at: AtMerchant, RawQuery(query): RawQuery) -> Result<Response, Error> {
    let (payments, merchant, language) = (at.payments(), at.merchant.id, at.language);
    let before = before(query.as_deref());
    let events = payments.events_of_merchant(merchant);
    let events = Page::read(events, before, PAGE, |event| event.id).await?;
    let done = payments.log(at.user(), merchant).await?;
    let done = Page::read(done, before, PAGE, |entry| entry.row.id).await?;
    let has_more = events.next.is_some() || done.next.is_some();
    let events = events.items.into_iter().map(|event| Entry::of_event(language, event));
    let done = done.items.into_iter().map(|entry| Entry::of_action(language, entry));
    let mut items: Vec<_> = events.chain(done).collect();
    items.sort_unstable_by_key(|entry| Reverse(entry.id));
    let has_more = cut(&mut items, PAGE) || has_more;
    let next = items.last().filter(|_| has_more).map(|entry| entry.id);
    let log = &Page { items, next, is_first: before.is_none() };
    Ok(view::page(StatusCode::OK, &LogPage { at: &at, log }))
}

impl<'a> Entry<'a> {
    fn of_event(language: &'a Language, event: Event) -> Self {
        let (id, created, payment) = (event.id, event.created, event.transaction());
        let what = happened(language, &event);
        let subject = match &event.data {
            EventData::Transaction(payment) => Some(name(payment)),
            _ => payment.map(|id| id.to_string()),
        };
        let who = who(language, event.actor, event.actor_name);
        Self { id, created, who, what, subject, payment }
    }

    fn of_action(language: &'a Language, entry: LogEntry) -> Self {
        let LogEntry { row, subject, actor_name } = entry;
        let subject = Some(subject.unwrap_or_else(|| row.subject.to_string()));
        let (who, what) = (who(language, row.actor, actor_name), done(language, row.kind));
        Self { id: row.id, created: row.created, who, what, subject, payment: None }
    }
}

/// `name`: that of the app, or the e-mail address of the user.
fn who(language: &Language, actor: Actor, name: Option<String>) -> Cow<'_, str> {
    match actor.kind {
        ActorKind::App | ActorKind::User => {
            let id = || actor.id.map(|id| id.to_string());
            name.or_else(id).unwrap_or_default().into()
        }
        ActorKind::Operator => language.operator(),
        ActorKind::Acquirer => language.acquirer(),
        ActorKind::System => language.automatically(),
    }
}

fn happened<'a>(language: &'a Language, event: &Event) -> Cow<'a, str> {
    match event.event_type {
        EventType::TransactionCreated => language.authorized(),
        EventType::TransactionFailed => language.failed(),
        EventType::TransactionCaptured => language.captured(),
        EventType::TransactionRefunded => language.refunded(),
        EventType::TransactionVoided => language.voided(),
        EventType::DisputeInquiry => language.inquiry(),
        EventType::DisputeOpened => language.disputed(),
        EventType::DisputeWon => language.dispute_won(),
        EventType::DisputeLost => language.dispute_lost(),
        EventType::DisputeEvidence => language.evidence_submitted(),
        EventType::DisputeAccepted => language.dispute_accepted(),
        EventType::FraudReported => language.fraud_reported(),
        EventType::PayoutBooked => language.paid_out(),
        EventType::PayoutReturned => language.payout_returned(),
        EventType::AcquirerRefused => language.acquirer_refused(),
        EventType::MerchantHeld => {
            let reason = match &event.data {
                EventData::Hold(hold) => {
                    hold.reason.as_ref().map(|reason| reason.as_str().to_owned())
                }
                _ => None,
            };
            language.merchant_held(reason.unwrap_or_default())
        }
        EventType::MerchantReleased => language.merchant_released(),
        EventType::BankChanged => language.bank_changed(),
    }
}

fn done(language: &Language, kind: LogKind) -> Cow<'_, str> {
    match kind {
        LogKind::UserInvited => language.invited(),
        LogKind::InvitationRenewed => language.invited_again(),
        LogKind::InvitationAccepted => language.invitation_accepted(),
        LogKind::UserRemoved => language.member_removed(),
        LogKind::AppAdded => language.app_added(),
        LogKind::AppRemoved => language.app_removed(),
        LogKind::KeyCreated => language.key_created(),
        LogKind::KeyRemoved => language.key_removed(),
        LogKind::WebhookCreated => language.webhook_created(),
        LogKind::WebhookChanged => language.webhook_changed(),
        LogKind::WebhookRemoved => language.webhook_removed(),
    }
}
