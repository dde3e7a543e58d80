//! The payment page. What it shows depends on how far the payment has come, which the store knows:
//! whoever comes back, reloads or sends twice finds it there.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::Response};
use common::error::Cause;
use jiff::Timestamp;

use super::{
    problem::Problem,
    view::{self, AmountPage, CardPage, ChallengePage, ProcessingPage, ResultPage, WrongCard},
    visit::{self, Form, Mistyped, Visit, see},
};
use crate::{
    acquirer::Source,
    domain::{CardDetails, CardNumber, Expiry, Id, Payment, Response as Answer, SecurityCode},
    http::{
        Api,
        answer::{self, Told},
        body::{Body, BodyRefusal},
        error::Error,
    },
    payments::{Charge, PayError},
    store::{Known, Refusal, now},
};

/// What of a payment there is to show.
pub(super) async fn show(State(api): State<Arc<Api>>, visit: Visit) -> Result<Response, Problem> {
    if visit.due.is_none() {
        return Ok(amount(&visit));
    }
    let Some(form) = visit.form else {
        return Ok(see(&visit::address(&visit.link, Some(Form::new()))));
    };
    let known = api.store.known(&visit.keyed(form)).await.map_err(visit.language.problem())?;
    let page = match known {
        None if form.is_stale() => return Ok(see(&visit::address(&visit.link, Some(Form::new())))),
        None => return Ok(card(&visit, WrongCard::default())),
        Some(Known::OtherRequest) => return Err(used(&visit)),
        Some(Known::InFlight(operation)) => return under_way(&api, &visit, form, operation).await,
        Some(Known::Answered(receipt)) => answer::payment(&receipt),
    };
    let told = page.ok_or_else(|| used(&visit))?;
    Ok(concluded(&visit, told))
}

/// The screen where the amount is entered, or where that leads.
fn amount(visit: &Visit) -> Response {
    let wrong = match visit.settled() {
        Ok(link) => return see(&visit::address(&link, None)),
        Err(_) if visit.typed.is_empty() => Mistyped::default(),
        Err(wrong) => wrong,
    };
    let status = if visit.typed.is_empty() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    view::page(
        status,
        &AmountPage { language: visit.language, visit, wrong },
        visit.link.redirect.as_ref(),
    )
}

fn card(visit: &Visit, wrong: WrongCard) -> Response {
    let is_right = wrong == WrongCard::default();
    let status = if is_right { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    view::page(
        status,
        &CardPage { language: visit.language, visit, wrong },
        visit.link.redirect.as_ref(),
    )
}

async fn under_way(
    api: &Api,
    visit: &Visit,
    form: Form,
    operation: Id,
) -> Result<Response, Problem> {
    let redirect = visit.link.redirect.as_ref();
    let challenge = api.store.challenge(operation).await.map_err(visit.language.problem())?;
    Ok(match challenge {
        Some(challenge) => {
            let action = visit::address_at("challenge", &visit.link, Some(form));
            let page = ChallengePage {
                language: visit.language,
                visit,
                last4: &challenge.card.last4,
                action,
            };
            view::page(StatusCode::OK, &page, redirect)
        }
        None => view::page(
            StatusCode::OK,
            &ProcessingPage { language: visit.language, visit },
            redirect,
        ),
    })
}

fn concluded(visit: &Visit, Told { transaction, error }: Told) -> Response {
    let redirect = visit.link.redirect.as_ref();
    match redirect {
        Some(redirect) if error.is_none() => see(&redirect.with(transaction)),
        _ => {
            let again = visit::address(&visit.link, None);
            let page = ResultPage { language: visit.language, visit, transaction, error, again };
            view::page(StatusCode::OK, &page, redirect)
        }
    }
}

/// The form has been sent for another payment.
fn used(visit: &Visit) -> Problem {
    visit.language.invalid("form", "was used for another payment")
}

/// Pays with a card that is typed in, once for each form.
pub(super) async fn pay(
    State(api): State<Arc<Api>>,
    visit: Visit,
    body: Result<Body, BodyRefusal>,
) -> Result<Response, Problem> {
    let body = body.map_err(visit.language.problem())?;
    let typed = typed(&body, now());
    body.wipe();
    let ((Some((currency, amount)), Some(form)), false) =
        ((visit.due, visit.form), visit.form.is_some_and(Form::is_stale))
    else {
        return Ok(see(&visit::address(&visit.link, None)));
    };
    let details = match typed {
        Ok(details) => details,
        Err(wrong) => return Ok(card(&visit, wrong)),
    };
    let payment = Payment {
        merchant: visit.merchant.id,
        currency,
        amount,
        descriptor: visit.merchant.details.descriptor.clone(),
        custom: visit.link.custom().unwrap_or_default(),
        recurring: false,
    };
    let (kept, source) = (details.kept(), Source::Card(details));
    let test = visit.merchant.details.test;
    let charge = Charge { payment, card: kept, source, test, can_challenge: true };
    let paid = api.payments.pay(charge, Some(visit.keyed(form))).await;
    onward(&visit, form, paid.map(drop))
}

/// Goes on with a payment as its customer has answered.
pub(super) async fn respond(
    State(api): State<Arc<Api>>,
    visit: Visit,
    body: Result<Body, BodyRefusal>,
) -> Result<Response, Problem> {
    let body = body.map_err(visit.language.problem())?;
    let answer = body.read(|fields| {
        fields.required("answer", |answer| match answer {
            "confirm" => Ok(Answer::Confirmed),
            "cancel" => Ok(Answer::Cancelled),
            _ => Err("must be confirm or cancel"),
        })
    });
    let answer = answer.map_err(visit.language.problem())?;
    let Some(form) = visit.form else { return Ok(see(&visit::address(&visit.link, None))) };
    let known = api.store.known(&visit.keyed(form)).await.map_err(visit.language.problem())?;
    let responded = match known {
        Some(Known::InFlight(operation)) => api.payments.respond(operation, answer).await,
        _ => Ok(()),
    };
    onward(&visit, form, responded)
}

/// Shows what came of it, with GET, so that nothing is sent again. What has no outcome yet will have
/// one.
fn onward(visit: &Visit, form: Form, done: Result<(), PayError>) -> Result<Response, Problem> {
    let mut response = see(&visit::address(&visit.link, Some(form)));
    match done {
        Ok(()) | Err(PayError::Refused(Refusal::InFlight)) => Ok(response),
        Err(PayError::Refused(Refusal::KeyReused)) => Err(used(visit)),
        Err(error @ (PayError::NoAnswer(_) | PayError::NotNoted(_))) => {
            response.extensions_mut().insert(Cause::new(error));
            Ok(response)
        }
        Err(error) => Err(visit.language.problem()(Error::from(error))),
    }
}

/// The card that is typed in, or what is wrong with it.
fn typed(body: &Body, now: Timestamp) -> Result<CardDetails, WrongCard> {
    let read = body.read(|fields| {
        let number = fields.required("number", CardNumber::new);
        let expiry = fields.required("expiry", |typed| match Expiry::typed(typed) {
            Ok(expiry) if expiry.end() < now => Err("has passed".to_owned()),
            expiry => expiry.map_err(|error| error.to_string()),
        });
        let code = fields.required("code", SecurityCode::new);
        Ok(CardDetails { number: number?, expiry: expiry?, code: code? })
    });
    read.map_err(|invalid| {
        // What is no form has no fields.
        let is_wrong = |name| invalid.iter().any(|invalid| [name, ""].contains(&&*invalid.field));
        WrongCard { number: is_wrong("number"), expiry: is_wrong("expiry"), code: is_wrong("code") }
    })
}
