//! The payment page. What it shows depends on how far the payment has come, which the store knows:
//! whoever comes back, reloads or sends twice finds it there.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::Response};
use common::{error::Cause, limits::ClientAddress};
use jiff::Timestamp;

use super::{
    problem::Problem,
    screens::{AmountPage, CardPage, ChallengePage, ProcessingPage, ResultPage, WrongCard},
    view,
    visit::{self, Form, Mistyped, Visit, see},
};
use crate::{
    app::{self, Attempt, Charge, Origin, Payments, now},
    domain::{
        Amount, CardDetails, CardNumber, Consent, Currency, Expiry, Id, Payment, ProcessingError,
        SecurityCode,
        write::{KeyState, KnownKey, Outcome},
    },
    web::{Body, Error},
};

/// What of a payment there is to show.
pub(super) async fn show(
    State(payments): State<Arc<Payments>>,
    visit: Visit,
) -> Result<Response, Problem> {
    let Some(form) = visit.form.filter(|_| visit.due.is_some()) else { return Ok(begin(&visit)) };
    let keyed = visit.keyed(form);
    match payments.key(&keyed).await.map_err(|error| visit.problem(error))? {
        None if form.is_stale() => Ok(begin(&visit)),
        None => Ok(card(&visit, WrongCard::default())),
        Some(known) if known.request != keyed.request => Err(used(&visit)),
        Some(KnownKey { state: KeyState::InFlight(operation), .. }) => {
            under_way(&payments, &visit, form, operation).await
        }
        Some(KnownKey { state: KeyState::Answered(outcome), .. }) => match outcome {
            Outcome::Paid { transaction, error } => Ok(concluded(&visit, transaction, error)),
            _ => Err(used(&visit)),
        },
    }
}

/// Leads to a form of its own; or first to what is to be paid, or to the screen where that is
/// entered.
fn begin(visit: &Visit) -> Response {
    if visit.due.is_some() {
        // A redirect, so that the way back leads past it: nobody comes to a second form.
        return visit.lead(Some(Form::new()));
    }
    match visit.settled() {
        Ok(link) => see(&visit::address(&link, None)),
        Err(_) if visit.typed.is_empty() => amount(visit, StatusCode::OK, Mistyped::default()),
        Err(wrong) => amount(visit, StatusCode::BAD_REQUEST, wrong),
    }
}

fn amount(visit: &Visit, status: StatusCode, wrong: Mistyped) -> Response {
    view::page(status, &AmountPage { language: visit.language, visit, wrong })
}

fn card(visit: &Visit, wrong: WrongCard) -> Response {
    let is_right = wrong == WrongCard::default();
    let status = if is_right { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    view::page(status, &CardPage { language: visit.language, visit, wrong })
}

async fn under_way(
    payments: &Payments,
    visit: &Visit,
    form: Form,
    operation: Id,
) -> Result<Response, Problem> {
    let language = visit.language;
    let challenge = payments.challenge(operation).await;
    let Some(challenge) = challenge.map_err(|error| visit.problem(error))? else {
        return Ok(view::page(StatusCode::OK, &ProcessingPage { language, visit }));
    };
    let action = visit::address_at("challenge", &visit.link, Some(form));
    let page = ChallengePage { language, visit, last4: &challenge.card.last4, action };
    Ok(view::page(StatusCode::OK, &page))
}

fn concluded(visit: &Visit, transaction: Id, error: Option<ProcessingError>) -> Response {
    let language = visit.language;
    let again = visit::address(&visit.link, None);
    let shop = visit.link.redirect.as_ref().map(|redirect| match error {
        None => redirect.with(transaction),
        Some(_) => redirect.as_str().to_owned(),
    });
    let declined = error.map(ProcessingError::group);
    let page = ResultPage { language, visit, transaction, declined, again, shop };
    view::page(StatusCode::OK, &page)
}

/// The form has been sent for another payment.
fn used(visit: &Visit) -> Problem {
    visit.problem(app::Error::field("form", "was used for another payment"))
}

/// Pays with a card that is typed in, once for each form.
pub(super) async fn pay(
    State(payments): State<Arc<Payments>>,
    address: ClientAddress,
    visit: Result<Visit, Problem>,
    body: Result<Body, Error>,
) -> Result<Response, Problem> {
    let visit = match visit {
        Ok(visit) => visit,
        // A link that is wrong, such as one with an unknown key, counts like one of a live merchant.
        Err(Problem { language, error }) => {
            let counted = payments.count_attempt(false, address);
            return Err(Problem { language, error: counted.err().map_or(error, Error::from) });
        }
    };
    let body = body.map_err(|refusal| visit.problem(refusal))?;
    let typed = typed(&body, now());
    body.wipe();
    let form = visit.form.filter(|form| !form.is_stale());
    if let Err(refused) = payments.count_attempt(visit.merchant.details.test, address) {
        return limited(&payments, &visit, form, refused).await;
    }
    let (Some(due), Some(form)) = (visit.due, form) else { return Ok(visit.lead(visit.form)) };
    match typed {
        Err(wrong) => Ok(card(&visit, wrong)),
        Ok(details) => {
            let charge = charge(&visit, due, details, address);
            match payments.charge(charge, Some(visit.keyed(form))).await {
                Err(refused @ app::Error::RateLimited(_)) => {
                    limited(&payments, &visit, Some(form), refused).await
                }
                paid => onward(&visit, form, paid.map(drop)),
            }
        }
    }
}

/// Refuses a form. One that was accepted before leads to what came of it: its customer must not read
/// that nothing was charged.
async fn limited(
    payments: &Payments,
    visit: &Visit,
    form: Option<Form>,
    refused: app::Error,
) -> Result<Response, Problem> {
    if let Some(form) = form {
        let known = payments.key(&visit.keyed(form)).await;
        if known.map_err(|error| visit.problem(error))?.is_some() {
            return Ok(visit.lead(Some(form)));
        }
    }
    Err(visit.problem(refused))
}

fn charge(
    visit: &Visit,
    (currency, amount): (Currency, Amount),
    details: CardDetails,
    address: ClientAddress,
) -> Charge {
    let merchant = &visit.merchant;
    let payment = Payment {
        merchant: merchant.id,
        currency,
        amount,
        descriptor: merchant.details.descriptor.clone(),
        // That the link can be kept was seen when it was read.
        custom: visit.link.custom().unwrap_or_default(),
        recurring: false,
    };
    Charge::typed(merchant, payment, details, Origin::Page(address))
}

/// Goes on with a payment as its customer has answered.
pub(super) async fn respond(
    State(payments): State<Arc<Payments>>,
    address: ClientAddress,
    visit: Visit,
    body: Result<Body, Error>,
) -> Result<Response, Problem> {
    let body = body.map_err(|refusal| visit.problem(refusal))?;
    let consent = body.read(|fields| fields.required("answer", consent));
    let consent = consent.map_err(|invalid| visit.problem(invalid))?;
    let Some(form) = visit.form else { return Ok(visit.lead(None)) };
    let keyed = visit.keyed(form);
    let known = payments.key(&keyed).await.map_err(|error| visit.problem(error))?;
    let own = known.filter(|known| known.request == keyed.request);
    let responded = match own.map(|known| known.state) {
        Some(KeyState::InFlight(operation)) => {
            let (merchant, test) = (visit.merchant.id, visit.merchant.details.test);
            let attempt = Attempt { merchant, test, origin: Origin::Page(address) };
            payments.respond(attempt, operation, consent).await
        }
        _ => Ok(()),
    };
    onward(&visit, form, responded)
}

/// What the two buttons say.
fn consent(answer: &str) -> Result<Consent, &'static str> {
    match answer {
        "confirm" => Ok(Consent::Given),
        "cancel" => Ok(Consent::Withheld),
        _ => Err("must be confirm or cancel"),
    }
}

/// Shows what came of it, with GET, so that nothing is sent again. What has no outcome yet will have
/// one.
fn onward(visit: &Visit, form: Form, done: Result<(), app::Error>) -> Result<Response, Problem> {
    let mut response = visit.lead(Some(form));
    match done {
        Ok(()) | Err(app::Error::InFlight) => Ok(response),
        Err(app::Error::KeyReused) => Err(used(visit)),
        Err(app::Error::OutcomeUnknown(cause)) => {
            response.extensions_mut().insert(Cause::new(cause));
            Ok(response)
        }
        Err(error) => Err(visit.problem(error)),
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
