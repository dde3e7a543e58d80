//! The payment page. The store, not the browser, holds the state of a payment, and the page shows
//! it. So a customer who reloads, comes back or submits twice sees the same payment.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::Response};
use common::{error::Cause, limits::ClientAddress};
use jiff::Timestamp;

use super::{
    problem::Problem,
    screens::{
        AmountPage, CardPage, ChallengePage, ProcessingPage, ResultPage, WrongCard, WrongExpiry,
    },
    view,
    visit::{self, AmountErrors, FormToken, Visit, see_other},
};
use crate::{
    app::{self, Attempt, Charge, Origin, Payments, now},
    domain::{
        Amount, CardDetails, CardNumber, ChallengeAnswer, Currency, Expiry, Id, Payment,
        ProcessingError, SecurityCode,
        write::{KeyState, Outcome, StoredIdempotencyKey},
    },
    web::{Body, Error},
};

/// Shows the step that the payment is at: amount, card, waiting, challenge or result.
pub(super) async fn show(
    State(payments): State<Arc<Payments>>,
    visit: Visit,
) -> Result<Response, Problem> {
    let Some(form) = visit.form.filter(|_| visit.due.is_some()) else { return Ok(start(&visit)) };
    let keyed = visit.idempotency_key(form);
    match payments.key(&keyed).await.map_err(|error| visit.problem(error))? {
        None if form.is_expired() => Ok(start(&visit)),
        None => Ok(card(&visit, WrongCard::default())),
        Some(known) if known.request != keyed.request => Err(form_reused(&visit)),
        Some(StoredIdempotencyKey { state: KeyState::InFlight(operation), .. }) => {
            pending(&payments, &visit, form, operation).await
        }
        Some(StoredIdempotencyKey { state: KeyState::Answered(outcome), .. }) => match outcome {
            Outcome::PaymentConcluded { transaction, error } => {
                Ok(result(&visit, transaction, error))
            }
            _ => Err(form_reused(&visit)),
        },
    }
}

/// Redirects to a new card form if the amount is known. Otherwise shows the form for the amount, or
/// redirects to the completed link if the customer has typed a valid amount.
fn start(visit: &Visit) -> Response {
    if visit.due.is_some() {
        // A redirect leaves no entry in the history of the browser. So the back button cannot lead
        // to a second form.
        return visit.redirect(Some(FormToken::new()));
    }
    match visit.completed_link() {
        Ok(link) => see_other(&visit::link_url(&link, None)),
        Err(_) if visit.typed.is_empty() => amount(visit, StatusCode::OK, AmountErrors::default()),
        Err(wrong) => amount(visit, StatusCode::BAD_REQUEST, wrong),
    }
}

fn amount(visit: &Visit, status: StatusCode, wrong: AmountErrors) -> Response {
    view::page(status, &AmountPage { language: visit.language, visit, wrong })
}

fn card(visit: &Visit, wrong: WrongCard) -> Response {
    let is_right = wrong == WrongCard::default();
    let status = if is_right { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    view::page(status, &CardPage { language: visit.language, visit, wrong })
}

async fn pending(
    payments: &Payments,
    visit: &Visit,
    form: FormToken,
    operation: Id,
) -> Result<Response, Problem> {
    let language = visit.language;
    let challenge = payments.challenge(operation).await;
    let Some(challenge) = challenge.map_err(|error| visit.problem(error))? else {
        return Ok(view::page(StatusCode::OK, &ProcessingPage { language, visit }));
    };
    let action = visit::page_url("challenge", &visit.link, Some(form));
    let page = ChallengePage { language, visit, last4: &challenge.card.last4, action };
    Ok(view::page(StatusCode::OK, &page))
}

fn result(visit: &Visit, transaction: Id, error: Option<ProcessingError>) -> Response {
    let language = visit.language;
    let retry_url = visit::link_url(&visit.link, None);
    let shop_url = visit.link.redirect.as_ref().map(|redirect| match error {
        None => redirect.with(transaction),
        Some(_) => redirect.as_str().to_owned(),
    });
    let declined = error.map(ProcessingError::group);
    let page = ResultPage { language, visit, transaction, declined, retry_url, shop_url };
    view::page(StatusCode::OK, &page)
}

fn form_reused(visit: &Visit) -> Problem {
    visit.problem(app::Error::field("form", "was used for another payment"))
}

/// Pays with the typed card, once for each form.
pub(super) async fn pay(
    State(payments): State<Arc<Payments>>,
    address: ClientAddress,
    visit: Result<Visit, Problem>,
    body: Result<Body, Error>,
) -> Result<Response, Problem> {
    let visit = match visit {
        Ok(visit) => visit,
        // A request with an invalid link counts as an attempt at a live merchant. An unknown key
        // makes a link invalid, too.
        Err(Problem { language, error }) => {
            let counted = payments.count_attempt(false, address);
            return Err(Problem { language, error: counted.err().map_or(error, Error::from) });
        }
    };
    let body = body.map_err(|error| visit.problem(error))?;
    let typed = read_card(&body, now());
    body.wipe();
    let form = visit.form.filter(|form| !form.is_expired());
    if let Err(refused) = payments.count_attempt(visit.merchant.details.test, address) {
        return rate_limited(&payments, &visit, form, refused).await;
    }
    let (Some(due), Some(form)) = (visit.due, form) else { return Ok(visit.redirect(visit.form)) };
    match typed {
        Err(wrong) => Ok(card(&visit, wrong)),
        Ok(details) => {
            let charge = charge(&visit, due, details, address);
            match payments.charge(charge, Some(visit.idempotency_key(form))).await {
                Err(refused @ app::Error::RateLimited(_)) => {
                    rate_limited(&payments, &visit, Some(form), refused).await
                }
                paid => redirect_after(&visit, form, paid.map(drop)),
            }
        }
    }
}

/// Answers that there were too many attempts. If the form has already started a payment, redirects
/// to that payment instead, because the error page says that nothing was charged.
async fn rate_limited(
    payments: &Payments,
    visit: &Visit,
    form: Option<FormToken>,
    refused: app::Error,
) -> Result<Response, Problem> {
    if let Some(form) = form {
        let known = payments.key(&visit.idempotency_key(form)).await;
        if known.map_err(|error| visit.problem(error))?.is_some() {
            return Ok(visit.redirect(Some(form)));
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
        // Cannot fail: reading the link has checked it.
        custom: visit.link.custom().unwrap_or_default(),
        recurring: false,
    };
    Charge::typed(merchant, payment, details, Origin::Page(address))
}

/// Continues a challenged payment with the answer of its customer.
pub(super) async fn respond(
    State(payments): State<Arc<Payments>>,
    address: ClientAddress,
    visit: Visit,
    body: Result<Body, Error>,
) -> Result<Response, Problem> {
    let body = body.map_err(|error| visit.problem(error))?;
    let answer = body.read(|fields| fields.required("answer", challenge_answer));
    let answer = answer.map_err(|invalid| visit.problem(invalid))?;
    let Some(form) = visit.form else { return Ok(visit.redirect(None)) };
    let keyed = visit.idempotency_key(form);
    let known = payments.key(&keyed).await.map_err(|error| visit.problem(error))?;
    let same_link = known.filter(|known| known.request == keyed.request);
    let responded = match same_link.map(|known| known.state) {
        Some(KeyState::InFlight(operation)) => {
            let (merchant, test) = (visit.merchant.id, visit.merchant.details.test);
            let attempt = Attempt { merchant, test, origin: Origin::Page(address) };
            payments.respond(attempt, operation, answer).await
        }
        _ => Ok(()),
    };
    redirect_after(&visit, form, responded)
}

/// Parses the value of the pressed button.
fn challenge_answer(answer: &str) -> Result<ChallengeAnswer, &'static str> {
    match answer {
        "confirm" => Ok(ChallengeAnswer::Confirmed),
        "cancel" => Ok(ChallengeAnswer::Rejected),
        _ => Err("must be confirm or cancel"),
    }
}

/// Redirects to the page of the payment with `GET`, so that a reload submits nothing again. A
/// payment without an outcome is shown as pending; it will get one.
fn redirect_after(
    visit: &Visit,
    form: FormToken,
    submitted: Result<(), app::Error>,
) -> Result<Response, Problem> {
    let mut response = visit.redirect(Some(form));
    match submitted {
        Ok(()) | Err(app::Error::InFlight) => Ok(response),
        Err(app::Error::KeyReused) => Err(form_reused(visit)),
        Err(app::Error::OutcomeUnknown(cause)) => {
            response.extensions_mut().insert(Cause::new(cause));
            Ok(response)
        }
        Err(error) => Err(visit.problem(error)),
    }
}

/// Reads the typed card. `Err` contains which fields are wrong.
fn read_card(body: &Body, now: Timestamp) -> Result<CardDetails, WrongCard> {
    let mut is_past = false;
    let read = body.read(|fields| {
        let number = fields.required("number", CardNumber::new);
        let expiry = fields.required("expiry", |typed| match Expiry::parse_input(typed) {
            Ok(expiry) if expiry.end() < now => {
                is_past = true;
                Err("has passed".to_owned())
            }
            expiry => expiry.map_err(|error| error.to_string()),
        });
        let code = fields.required("code", SecurityCode::new);
        Ok(CardDetails { number: number?, expiry: expiry?, code: code? })
    });
    read.map_err(|invalid| {
        // If the body is not a form at all, its error has no field, and every field counts as
        // wrong.
        let is_wrong = |name| invalid.iter().any(|invalid| [name, ""].contains(&&*invalid.field));
        let wrong_expiry = if is_past { WrongExpiry::Past } else { WrongExpiry::Malformed };
        WrongCard {
            number: is_wrong("number"),
            expiry: is_wrong("expiry").then_some(wrong_expiry),
            code: is_wrong("code"),
        }
    })
}
