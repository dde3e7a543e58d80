//! The disputes of a merchant: open ones by due date, then decided ones.

use std::borrow::Cow;

use askama::Template;
use axum::{extract::RawQuery, http::StatusCode, response::Response};
use jiff::Timestamp;
use payments_domain::{Decision, Id, Money, write::DisputeRow};

use super::{
    list::{PAGE, before, cut, param},
    payments::{name_of, time},
    view,
    visitor::AtMerchant,
};
use crate::{
    app::{DisputeWithCurrency, ListedDispute, now},
    web::Error,
};

#[derive(Template)]
#[template(path = "desk/disputes.html")]
struct DisputesPage<'a> {
    at: &'a AtMerchant,
    /// Each with its heading. None is empty.
    lists: Vec<(Cow<'a, str>, Vec<Shown<'a>>)>,
    /// The query of the next page.
    next: Option<String>,
    is_first: bool,
}

/// A dispute in a list.
#[derive(Template)]
#[template(path = "desk/dispute.html")]
pub(super) struct Shown<'a> {
    at: &'a AtMerchant,
    pub(super) dispute: DisputeRow,
    pub(super) amount: String,
    /// The name of its payment, unless the page is about that.
    payment: Option<String>,
}

pub(super) async fn list(at: AtMerchant, RawQuery(query): RawQuery) -> Result<Response, Error> {
    let (after, before) = (param(query.as_deref(), "after"), before(query.as_deref()));
    let (mut open, mut decided, mut next) = (Vec::new(), Vec::new(), None);
    let limit = u32::try_from(PAGE + 1).unwrap_or(u32::MAX);
    if before.is_none() {
        let after = after.as_deref().and_then(position).unwrap_or((Timestamp::MIN, Id::MIN));
        open = at.payments().open_disputes(at.merchant.id, after, limit).await?;
        let after = cut(&mut open, PAGE).then(|| open.last()).flatten();
        next = after.map(|((row, _), _)| format!("after={}-{}", row.due.as_millisecond(), row.id));
    }
    if next.is_none() {
        let before = before.unwrap_or(Id::MAX);
        decided = at.payments().decided_disputes(at.merchant.id, before, limit).await?;
        let before = cut(&mut decided, PAGE).then(|| decided.last()).flatten();
        next = before.map(|((row, _), _)| format!("before={}", row.id));
    }
    let is_first = after.is_none() && before.is_none();
    let [open, decided] = [open, decided].map(|disputes| Shown::listed(&at, disputes));
    let lists = [(at.language.open_disputes(), open), (at.language.decided_disputes(), decided)];
    let lists = lists.into_iter().filter(|(_, disputes)| !disputes.is_empty()).collect();
    Ok(view::page(StatusCode::OK, &DisputesPage { at: &at, lists, next, is_first }))
}

/// The due date and the ID of the last dispute of a page.
fn position(text: &str) -> Option<(Timestamp, Id)> {
    let (due, id) = text.rsplit_once('-')?;
    Some((Timestamp::from_millisecond(due.parse().ok()?).ok()?, id.parse().ok()?))
}

impl<'a> Shown<'a> {
    pub(super) fn all(at: &'a AtMerchant, disputes: Vec<DisputeWithCurrency>) -> Vec<Self> {
        disputes.into_iter().map(|dispute| Self::new(at, dispute)).collect()
    }

    pub(super) fn new(at: &'a AtMerchant, (dispute, currency): DisputeWithCurrency) -> Self {
        let amount = at.language.money(Money { currency, minor: dispute.amount });
        Self { at, dispute, amount, payment: None }
    }

    pub(super) fn listed(at: &'a AtMerchant, disputes: Vec<ListedDispute>) -> Vec<Self> {
        let shown = |(dispute, custom): ListedDispute| {
            let shown = Self::new(at, dispute);
            let payment = Some(name_of(custom.as_ref(), shown.dispute.transaction));
            Self { payment, ..shown }
        };
        disputes.into_iter().map(shown).collect()
    }

    /// The reason, or what it is.
    pub(super) fn name(&self) -> Cow<'_, str> {
        match &self.dispute.reason {
            Some(reason) => reason.title.as_str().into(),
            None if self.dispute.line.is_none() => self.at.language.inquiry(),
            None => self.at.language.disputed(),
        }
    }

    /// The deadline of an open one.
    pub(super) fn time(&self) -> &Timestamp {
        if self.dispute.decision.is_none() { &self.dispute.due } else { &self.dispute.created }
    }

    pub(super) fn state(&self) -> Cow<'_, str> {
        match self.dispute.decision {
            None if self.dispute.accepted.is_some() => self.at.language.dispute_accepted(),
            None if self.dispute.submitted.is_some() => self.at.language.evidence_submitted(),
            None => {
                let left = self.dispute.due.duration_since(now()).as_hours().max(0) / 24;
                self.at.language.days_left(left)
            }
            Some(Decision::Lost) => self.at.language.dispute_lost(),
            Some(Decision::Won | Decision::Prevented) => self.at.language.dispute_won(),
        }
    }
}
