//! The payment page. The store, not the browser, holds the state of a payment, and the page shows
//! it. So a customer who reloads, comes back or submits twice sees the same payment.

use std::{convert::Infallible, sync::Arc};

use axum::{
    extract::State,
    http::{StatusCode, Uri},
    response::Response,
};
use common::{error::Cause, limits::ClientAddress};
use jiff::Timestamp;
use payments_domain::{
    Amount, CardDetails, CardNumber, CardToken, ChallengeAnswer, Currency, Email, Expiry, Id,
    Payment, ReceiptAddress, Scheme, SecurityCode, actions::PaymentConcluded,
};
use uuid::Uuid;

use super::{
    browser,
    problem::{Problem, Reason},
    screens::{
        AmountPage, CardPage, ChallengePage, ProcessingPage, ResultPage, WrongCard, WrongExpiry,
        WrongNumber,
    },
    view,
    visit::{self, AmountErrors, FormToken, Visit},
};
use crate::{
    app::{self, Charge, Origin, PaymentState, Payments, now},
    web::{Body, Error, Fields, fields, page::see_other},
};

/// Shows the step that the payment is at: amount, card, waiting, challenge or result.
pub(super) async fn show(
    State(payments): State<Arc<Payments>>,
    visit: Visit,
) -> Result<Response, Problem> {
    match visit.form.filter(|_| visit.due.is_some()) {
        Some(form) => step(&payments, &visit, form).await,
        None => start(&payments, &visit).await,
    }
}

/// Redirects to a new card form if the amount is known. Otherwise shows the form for the amount, or
/// redirects to the completed link if the customer has typed a valid amount.
async fn start(payments: &Payments, visit: &Visit) -> Result<Response, Problem> {
    visit.check_open(payments).await?;
    if visit.due.is_some() {
        // A redirect leaves no entry in the history of the browser. So the back button cannot lead
        // to a second form.
        return Ok(visit.redirect_to_new_form());
    }
    Ok(match visit.completed_link(payments) {
        Ok(link) => see_other(&visit::link_url(&link, None)),
        Err(_) if visit.typed.is_empty() => amount(visit, StatusCode::OK, AmountErrors::default()),
        Err(wrong) => amount(visit, StatusCode::BAD_REQUEST, wrong),
    })
}

/// The step that the payment of a form is at. Another browser than the one that paid sees nothing
/// of it.
async fn step(payments: &Payments, visit: &Visit, form: FormToken) -> Result<Response, Problem> {
    match known(payments, visit, form).await? {
        None if form.is_expired() => Err(form_expired(visit, form)),
        None => {
            visit.check_open(payments).await?;
            Ok(card(visit, TypedCard::default()))
        }
        Some((PaymentState::InFlight(pending_payment), true)) => {
            pending(payments, visit, form, pending_payment).await
        }
        Some((PaymentState::Concluded(payment), true)) => result(payments, visit, payment).await,
        Some(_) => Err(visit.because(Reason::LinkUsed)),
    }
}

/// The state of a submitted form, and whether this browser has submitted it. `None` if no browser
/// has.
async fn known(
    payments: &Payments,
    visit: &Visit,
    form: FormToken,
) -> Result<Option<(PaymentState, bool)>, Problem> {
    let keyed = visit.idempotency_key(form);
    payments.payment_state(&keyed).await.map_err(|error| visit.problem(error))
}

fn form_expired(visit: &Visit, form: FormToken) -> Problem {
    let retry_url = form.is_known_unpaid().then(|| visit::link_url(&visit.link, None));
    visit.because(Reason::FormExpired { retry_url })
}

fn amount(visit: &Visit, status: StatusCode, wrong: AmountErrors) -> Response {
    let (language, frame) = (visit.language, visit.frame());
    view::page(status, &AmountPage { language, frame, visit, wrong })
}

fn card(visit: &Visit, TypedCard { wrong, expiry, email, .. }: TypedCard) -> Response {
    let is_right = wrong == WrongCard::default();
    let status = if is_right { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    let (language, frame) = (visit.language, visit.frame());
    let page = CardPage { language, frame, visit, wrong, expiry, email };
    let response = match visit.tokenizer() {
        Some(tokenizer) => view::page_with(status, &page, tokenizer.policy.clone()),
        None => view::page(status, &page),
    };
    visit.with_cookie(response)
}

async fn pending(
    payments: &Payments,
    visit: &Visit,
    form: FormToken,
    pending_payment: Id,
) -> Result<Response, Problem> {
    let (language, frame) = (visit.language, visit.frame());
    let challenge = payments.challenge(pending_payment).await;
    let Some(challenge) = challenge.map_err(|error| visit.problem(error))? else {
        return Ok(view::page(StatusCode::OK, &ProcessingPage { language, frame, visit }));
    };
    let action = visit::page_url("challenge", &visit.link, Some(form));
    let (last4, url) = (&challenge.card.last4, challenge.url());
    let page = ChallengePage { language, frame, visit, last4, url, action };
    Ok(view::page(StatusCode::OK, &page))
}

async fn result(
    payments: &Payments,
    visit: &Visit,
    PaymentConcluded { transaction, error }: PaymentConcluded,
) -> Result<Response, Problem> {
    let receipt = payments.receipt(transaction).await.map_err(|error| visit.problem(error))?;
    let shop_url = visit.link.redirect.as_ref().map(|redirect| match error {
        None => redirect.with(transaction),
        Some(_) => redirect.as_str().to_owned(),
    });
    let transaction = Some(transaction);
    Ok(view::page(
        StatusCode::OK,
        &ResultPage { transaction, receipt, shop_url, ..ResultPage::new(visit, error) },
    ))
}

/// The result without the receipt, if another browser than this one paid with the form.
async fn result_elsewhere(
    payments: &Payments,
    visit: &Visit,
    form: FormToken,
) -> Result<Option<Response>, Problem> {
    Ok(match known(payments, visit, form).await? {
        Some((PaymentState::Concluded(payment), false)) => {
            Some(view::page(StatusCode::OK, &ResultPage::new(visit, payment.error)))
        }
        _ => None,
    })
}

/// Pays with the typed card, once for each form.
pub(super) async fn pay(
    State(payments): State<Arc<Payments>>,
    address: ClientAddress,
    visit: Result<Visit, Problem>,
    body: Result<Body, Error>,
) -> Result<Response, Problem> {
    let mut visit = match visit {
        Ok(visit) => visit,
        Err(problem) => return Err(invalid_link(&payments, address, problem)),
    };
    let body = body.map_err(|error| visit.problem(error))?;
    let (submitted, typed) = TypedCard::read(&body, &visit, now());
    body.wipe();
    visit.browser.use_field(typed.browser);
    if let Err(problem) = visit.check_link() {
        let is_known = match visit.form {
            Some(form) => known(&payments, &visit, form).await?.is_some(),
            None => false,
        };
        if !is_known {
            return Err(invalid_link(&payments, address, problem));
        }
    }
    if let Err(refused) = payments.count_attempt(visit.merchant.details.test, address) {
        return rate_limited(&payments, &visit, refused).await;
    }
    let (Some(due), Some(form)) = (visit.due, visit.form) else { return Ok(visit.redirect(None)) };
    let (is_old, has_expired) = (form.is_expired(), visit.link.has_expired(now()));
    // A browser without cookies asks for the outcome with the form that it has sent before: no
    // address shows it.
    let may_be_known = is_old || has_expired || !visit.browser.has_cookie;
    if may_be_known && known(&payments, &visit, form).await?.is_some() {
        return outcome(&payments, &visit, form).await;
    }
    match submitted {
        _ if is_old => Err(form_expired(&visit, form)),
        _ if has_expired => Err(visit.because(Reason::LinkExpired)),
        None => Ok(card(&visit, typed)),
        Some(submitted) => {
            let Some(charge) = charge(&payments, &visit, (due, form), submitted, address).await?
            else {
                return Ok(card(&visit, typed.with_wrong_number()));
            };
            let charge = Charge { receipt: typed.receipt(&payments, &visit, address), ..charge };
            match payments.charge(charge, Some(visit.idempotency_key(form))).await {
                Err(refused @ app::Error::RateLimited(_)) => {
                    rate_limited(&payments, &visit, refused).await
                }
                // 3-D Secure. This page stays in the history of the browser. So it gets the address
                // that never continues to the shop.
                Ok(None) if visit.browser.has_cookie => Ok(visit.redirect(Some(form))),
                paid => after(&payments, &visit, form, paid.map(drop)).await,
            }
        }
    }
}

/// A request with an invalid link counts as an attempt at a live merchant. An unknown key makes a
/// link invalid, too.
fn invalid_link(payments: &Payments, address: ClientAddress, problem: Problem) -> Problem {
    let counted = payments.count_attempt(false, address).err();
    let reason = counted.map_or(problem.reason, |refused| Reason::of(refused.into()));
    Problem { reason, ..problem }
}

/// Answers that there were too many attempts. If the form has already started a payment, shows that
/// payment instead, because the error page says that nothing was charged.
async fn rate_limited(
    payments: &Payments,
    visit: &Visit,
    refused: app::Error,
) -> Result<Response, Problem> {
    match visit.form {
        Some(form) if known(payments, visit, form).await?.is_some() => {
            outcome(payments, visit, form).await
        }
        _ => Err(visit.problem(refused)),
    }
}

/// Leads to the page of a submitted form: with a redirect, so that a reload submits nothing again.
/// A browser without cookies gets the page at once, because no address shows it.
async fn outcome(payments: &Payments, visit: &Visit, form: FormToken) -> Result<Response, Problem> {
    if visit.browser.has_cookie {
        Ok(visit.redirect_to_outcome(form))
    } else {
        step(payments, visit, form).await
    }
}

/// `None` if the acquirer does not know the token of the card.
async fn charge(
    payments: &Payments,
    visit: &Visit,
    ((currency, amount), form): ((Currency, Amount), FormToken),
    submitted: Submitted,
    address: ClientAddress,
) -> Result<Option<Charge>, Problem> {
    let merchant = &visit.merchant;
    let payment = Payment {
        merchant: merchant.id,
        currency,
        amount,
        descriptor: merchant.details.descriptor.clone(),
        // Cannot fail: reading the link has checked it.
        custom: visit.link.custom().unwrap_or_default(),
        recurring: false,
        acquirer: payments.acquirer_of(merchant),
    };
    let (link, return_url) = (visit.link.digest_if_once(), Some(visit.return_url(form)));
    let origin = Origin::Page(address);
    let charge = match submitted {
        Submitted::Details(details) => Charge::typed(merchant, payment, details, origin),
        Submitted::Token(token) => {
            let card = payments.card(&token).await.map_err(|error| visit.problem(error))?;
            let Some(card) = card else { return Ok(None) };
            Charge::tokenized(merchant, payment, (card, token), origin)
        }
    };
    let keeps_card = visit.link.recurring;
    Ok(Some(Charge { link, return_url, keeps_card, ..charge }))
}

/// Continues a challenged payment with the answer of its customer.
pub(super) async fn respond(
    State(payments): State<Arc<Payments>>,
    address: ClientAddress,
    mut visit: Visit,
    body: Result<Body, Error>,
) -> Result<Response, Problem> {
    let body = body.map_err(|error| visit.problem(error))?;
    let read = body.read(|fields| {
        let answer = fields.required("answer", challenge_answer);
        let browser = fields.optional(browser::NAME, Uuid::parse_str);
        Ok((answer?, browser?))
    });
    let (answer, browser) = read.map_err(|invalid| visit.problem(invalid))?;
    visit.browser.use_field(browser);
    let Some(form) = visit.form else { return Ok(visit.redirect(None)) };
    if let Err(refused) = payments.count_attempt(visit.merchant.details.test, address) {
        return rate_limited(&payments, &visit, refused).await;
    }
    let responded = match known(&payments, &visit, form).await? {
        Some((PaymentState::InFlight(pending_payment), true)) => {
            payments.respond(visit.attempt(address), pending_payment, answer).await
        }
        _ => Ok(()),
    };
    after(&payments, &visit, form, responded).await
}

/// Continues a challenged payment whose customer comes back from the page of the acquirer. Anybody
/// may open this address, because the acquirer knows what the customer has answered there. The app
/// of a bank may open it in another browser than the one that paid.
pub(super) async fn returned(
    State(payments): State<Arc<Payments>>,
    address: ClientAddress,
    mut visit: Visit,
    uri: Uri,
) -> Result<Response, Problem> {
    let browser =
        fields::read_query(uri.query(), |fields| fields.optional(browser::NAME, Uuid::parse_str));
    visit.browser.use_field(browser.unwrap_or_default());
    let Some(form) = visit.form else { return Ok(visit.redirect(None)) };
    if let Err(refused) = payments.count_attempt(visit.merchant.details.test, address) {
        return rate_limited(&payments, &visit, refused).await;
    }
    let responded = match known(&payments, &visit, form).await? {
        Some((PaymentState::InFlight(pending_payment), _)) => {
            let answer = ChallengeAnswer::Returned;
            payments.respond(visit.attempt(address), pending_payment, answer).await
        }
        _ => Ok(()),
    };
    match result_elsewhere(&payments, &visit, form).await? {
        Some(page) => Ok(page),
        None => after(&payments, &visit, form, responded).await,
    }
}

/// Parses the value of the pressed button.
fn challenge_answer(answer: &str) -> Result<ChallengeAnswer, &'static str> {
    match answer {
        "confirm" => Ok(ChallengeAnswer::Confirmed),
        "cancel" => Ok(ChallengeAnswer::Rejected),
        _ => Err("must be confirm or cancel"),
    }
}

/// Leads to the payment: the address of a challenge is only for its form.
pub(super) async fn leave_challenge(visit: Visit) -> Response {
    visit.redirect(visit.form)
}

/// Leads to the page of the payment after a form was submitted. A payment without an outcome is
/// shown as pending; it will get one.
async fn after(
    payments: &Payments,
    visit: &Visit,
    form: FormToken,
    submitted: Result<(), app::Error>,
) -> Result<Response, Problem> {
    match submitted {
        Ok(()) | Err(app::Error::InFlight) => outcome(payments, visit, form).await,
        Err(app::Error::KeyReused | app::Error::LinkUsed) => Err(visit.because(Reason::LinkUsed)),
        Err(app::Error::OutcomeUnknown(cause)) => {
            let mut response = outcome(payments, visit, form).await?;
            if !cause.is_disk_full() {
                response.extensions_mut().insert(Cause::new(cause));
            }
            Ok(response)
        }
        Err(error) => Err(visit.problem(error)),
    }
}

/// The card of a form in which every field is right.
enum Submitted {
    Details(CardDetails),
    /// The acquirer's script has read the card.
    Token(CardToken),
}

/// The card form as it was submitted. It contains nothing of a number or a security code.
#[derive(Default)]
struct TypedCard {
    wrong: WrongCard,
    /// The date, unless it is malformed.
    expiry: Option<Expiry>,
    /// The hidden field of a browser without cookies.
    browser: Option<Uuid>,
    /// The address for the receipt. `None`: none is wanted.
    email: Option<String>,
}

impl TypedCard {
    /// Reads the form, and the card if every field is right.
    fn read(body: &Body, visit: &Visit, now: Timestamp) -> (Option<Submitted>, Self) {
        if visit.tokenizer().is_some() {
            return Self::read_token(body, visit);
        }
        let (mut browser, mut email, mut fields_of_card) = (None, None, (None, None, None));
        let read = body.read(|fields| {
            browser = fields.optional(browser::NAME, Uuid::parse_str).unwrap_or_default();
            email = email_of(fields, visit);
            fields_of_card = (
                fields.optional("number", CardNumber::parse_input).unwrap_or_default(),
                fields.optional("expiry", Expiry::parse_input).unwrap_or_default(),
                fields.optional("code", SecurityCode::parse_input).unwrap_or_default(),
            );
            Ok(())
        });
        // What cannot be read is wrong below.
        let _: Result<(), _> = read;
        let (number, expiry, code) = fields_of_card;
        let scheme = number.as_ref().map_or(Scheme::Unknown, CardNumber::scheme);
        let test = visit.link.test;
        let wrong = WrongCard {
            number: match &number {
                Some(number) if number.is_plausible(test) => None,
                Some(number) if number.has_length() => Some(WrongNumber::CheckDigit),
                _ => Some(WrongNumber::Malformed),
            },
            expiry: match expiry {
                Some(expiry) if !expiry.has_passed(now) => None,
                Some(_) => Some(WrongExpiry::Past),
                None => Some(WrongExpiry::Malformed),
            },
            code: code.as_ref().is_none_or(|code| !code.suits(scheme)).then_some(scheme),
            email: is_wrong(email.as_deref()),
        };
        let typed = Self { wrong, expiry, browser, email };
        let details = match (number, expiry, code) {
            (Some(number), Some(expiry), Some(code)) if wrong == WrongCard::default() => {
                Some(Submitted::Details(CardDetails { number, expiry, code }))
            }
            _ => None,
        };
        (details, typed)
    }

    fn read_token(body: &Body, visit: &Visit) -> (Option<Submitted>, Self) {
        let (mut browser, mut email) = (None, None);
        let read = body.read(|fields| {
            browser = fields.optional(browser::NAME, Uuid::parse_str).unwrap_or_default();
            email = email_of(fields, visit);
            fields.required("paymentMethod", CardToken::new)
        });
        let wrong = WrongCard { email: is_wrong(email.as_deref()), ..WrongCard::default() };
        let typed = Self { wrong, expiry: None, browser, email };
        match read {
            Ok(_) if typed.wrong.email => (None, typed),
            Ok(token) => (Some(Submitted::Token(token)), typed),
            Err(_) => (None, typed.with_wrong_number()),
        }
    }

    fn with_wrong_number(self) -> Self {
        let wrong = WrongCard { number: Some(WrongNumber::Malformed), ..self.wrong };
        Self { wrong, ..self }
    }

    /// Where the receipt goes. `None` if none is wanted, or the address got too many mails lately.
    fn receipt(
        &self,
        payments: &Payments,
        visit: &Visit,
        address: ClientAddress,
    ) -> Option<ReceiptAddress> {
        let email = Email::new(self.email.as_deref()?).ok()?;
        let language = visit.language.code.to_owned();
        let may_send = payments.may_send_receipt(&visit.merchant, address, &email);
        may_send.then_some(ReceiptAddress { email, language })
    }
}

/// The typed address for the receipt, if the page asks for one.
fn email_of(fields: &mut Fields<'_>, visit: &Visit) -> Option<String> {
    let typed = fields.optional("email", |typed| Ok::<_, Infallible>(typed.trim().to_owned()));
    let typed = typed.unwrap_or_default().filter(|typed| !typed.is_empty());
    typed.filter(|_| visit.settings.receipts.is_some())
}

fn is_wrong(email: Option<&str>) -> bool {
    email.is_some_and(|email| Email::new(email).is_err())
}
