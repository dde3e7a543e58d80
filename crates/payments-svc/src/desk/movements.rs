//! Captures, refunds and voids: a form for the amount, and a page that shows the sums before money
//! moves. The page names the steps of the payment that the user has seen. So a form that was sent
//! twice, in whatever way, acts once, and a form that is out of date does nothing.

use std::borrow::Cow;

use askama::Template;
use axum::{
    extract::{Path, RawQuery},
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use payments_domain::{Amount, Amounts, Currency, Money, Transaction, write::KeyedRequest};
use sha2::{Digest as _, Sha256};

use super::{
    form::Form,
    view::{self, Field},
    visitor::AtMerchant,
};
use crate::{
    app::{self, MovementInput},
    web::{Error, fields, page::see_other},
};

/// A movement that users can make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Capture,
    Refund,
    Void,
}

impl Kind {
    /// The last part of the path.
    fn of(path: &str) -> Option<Self> {
        [Self::Capture, Self::Refund, Self::Void].into_iter().find(|kind| kind.path() == path)
    }

    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::Refund => "refund",
            Self::Void => "void",
        }
    }

    pub(super) fn name(self, at: &AtMerchant) -> Cow<'_, str> {
        match self {
            Self::Capture => at.language.capture(),
            Self::Refund => at.language.refund(),
            Self::Void => at.language.release(),
        }
    }

    /// The largest amount that can move.
    fn most(self, amounts: Amounts) -> i64 {
        match self {
            Self::Capture | Self::Void => amounts.pending(),
            Self::Refund => amounts.refundable(),
        }
    }

    /// The movements that are possible.
    pub(super) fn possible(amounts: Amounts) -> impl Iterator<Item = Self> {
        let all = [Self::Capture, Self::Refund, Self::Void];
        all.into_iter().filter(move |kind| kind.most(amounts) > 0)
    }

    fn input(self, amount: Amount) -> MovementInput {
        match self {
            Self::Capture => MovementInput::Capture { amount, currency: None, descriptor: None },
            Self::Refund => MovementInput::Refund { amount, descriptor: None },
            Self::Void => MovementInput::Void { amount },
        }
    }
}

/// A form for the amount, or the sums that the user confirms.
#[derive(Template)]
#[template(path = "desk/movement.html")]
struct MovementPage<'a> {
    at: &'a AtMerchant,
    payment: &'a Transaction,
    kind: Kind,
    /// What the user has typed.
    typed: String,
    error: Option<Cow<'a, str>>,
    /// The amount to confirm, in minor units.
    confirms: Option<i64>,
}

impl MovementPage<'_> {
    fn money(&self, minor: i64) -> String {
        money(self.at, self.payment.currency, minor)
    }

    fn field(&self) -> Field<'_> {
        let language = self.at.language;
        Field {
            name: "amount",
            label: language.amount(),
            value: &self.typed,
            attributes: "inputmode=\"decimal\" autocomplete=\"off\" required",
            hint: Some(language.at_most(self.money(self.kind.most(self.payment.amounts)))),
            error: self.error.clone(),
        }
    }

    fn sums(&self, moved: i64) -> [(Cow<'_, str>, String); 3] {
        let (most, name) = (self.kind.most(self.payment.amounts), self.kind.name(self.at));
        let language = self.at.language;
        [
            (language.available(), self.money(most)),
            (name, self.money(moved)),
            (language.left_afterwards(), self.money(most.saturating_sub(moved))),
        ]
    }
}

fn money(at: &AtMerchant, currency: Currency, minor: i64) -> String {
    at.language.money(Money { currency, minor })
}

/// Shows the form, or the sums if the query has an amount.
pub(super) async fn ask(
    at: AtMerchant,
    Path((_, payment, kind)): Path<(String, String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let kind = Kind::of(&kind).ok_or(app::Error::NotFound)?;
    let payment = at.payment(&payment).await?;
    let page = format!("{}/{}", at.payment_path(&payment), kind.path());
    at.fresh(&query.as_ref().map_or(page.clone(), |query| format!("{page}?{query}")))?;
    let most = kind.most(payment.amounts);
    if most == 0 {
        return Ok(see_other(&at.payment_path(&payment)));
    }
    let typed = fields::read_query(query.as_deref(), |fields| {
        fields.optional("amount", |text| Ok::<_, String>(text.trim().to_owned()))
    });
    let typed = typed.unwrap_or_default();
    let amount = typed.as_ref().and_then(|typed| {
        let amount = at.language.amount_of(typed, Some(payment.currency))?;
        amount.amount(payment.currency).ok()
    });
    let confirms = amount.map(|amount| amount.minor()).filter(|minor| *minor <= most);
    let error = match (&typed, amount, confirms) {
        (None, ..) | (.., Some(_)) => None,
        (_, None, _) => Some(at.language.amount_error(payment.currency.exponent())),
        (_, Some(_), None) => Some(at.language.at_most(money(&at, payment.currency, most))),
    };
    let status = if error.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    let typed = typed.unwrap_or_else(|| money(&at, payment.currency, most));
    let (at, payment) = (&at, &payment);
    Ok(view::page(status, &MovementPage { at, payment, kind, typed, error, confirms }))
}

/// Moves the money.
pub(super) async fn act(
    Path((_, payment, kind)): Path<(String, String, String)>,
    form: Form,
) -> Result<Response, Error> {
    let (at, body) = (&form.at, &form.body);
    let kind = Kind::of(&kind).ok_or(app::Error::NotFound)?;
    let payment = at.payment(&payment).await?;
    let typed = body.read(|fields| {
        let steps = fields.required_number("steps", u32::try_from);
        let amount = fields.required_number("amount", Amount::new);
        Ok((steps?, amount?))
    });
    let (steps, amount) = typed?;
    let (user, merchant, minor) = (at.user(), at.merchant.id, amount.minor());
    let key = format!("desk {} {steps} {} {minor}", payment.id, kind.path());
    let request = Sha256::digest(&key).into();
    let keyed = KeyedRequest { app: merchant, key, request };
    let movement = (payment.id, steps, kind.input(amount));
    let error = match at.payments().move_at_desk(user, merchant, movement, keyed).await {
        Ok(()) => return Ok(see_other(&format!("{}?done", at.payment_path(&payment)))),
        Err(app::Error::Invalid(errors)) if errors.iter().any(|error| error.field == "steps") => {
            at.language.changed_meanwhile()
        }
        Err(app::Error::Invalid(_)) => at.language.movement_refused(),
        Err(app::Error::MerchantHeld) => at.notice().unwrap_or_default(),
        Err(error) => return Ok(Error::from(error).into_response()),
    };
    let typed = money(at, payment.currency, minor);
    let (payment, error, confirms) = (&payment, Some(error), None);
    let page = MovementPage { at, payment, kind, typed, error, confirms };
    Ok(view::page(StatusCode::CONFLICT, &page))
}
