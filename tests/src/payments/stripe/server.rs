//! The HTTP server of the stand-in.

use std::{
    convert::identity,
    future::pending,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use http_body_util::{BodyExt as _, Full};
use hyper::{Response, body::Bytes, body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::sleep,
};

use super::{
    Request,
    account::Account,
    cards, disputes,
    error::Error,
    faults::{Fault, Faults},
    form::Form,
    intents,
    keys::Keys,
    refunds,
};

/// What Stripe's script needs on the payment page.
const SCRIPT: &str = include_str!("script.js");

const HTML: &str = "<!doctype html><title>503</title><h1>Service unavailable</h1>";

pub(super) struct State {
    pub(super) account: Account,
    pub(super) faults: Faults,
    keys: Keys,
    pub(super) requests: Vec<Request>,
}

pub(super) type Shared = Arc<Mutex<State>>;

pub(super) fn state(url: String) -> Shared {
    let (account, faults, keys) = (Account::new(url), Faults::default(), Keys::default());
    Arc::new(Mutex::new(State { account, faults, keys, requests: Vec::new() }))
}

/// A test that failed must not fail the others.
pub(super) fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) async fn serve(listener: TcpListener, state: Shared) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(answer_all(stream, Arc::clone(&state)));
    }
}

async fn answer_all(stream: TcpStream, state: Shared) {
    let service = service_fn(|request| answer(request, &state));
    let connection = hyper::server::conn::http1::Builder::new();
    // The service may close the connection at any time.
    let _ = connection.serve_connection(TokioIo::new(stream), service).await;
}

/// An error closes the connection.
async fn answer(
    request: hyper::Request<Incoming>,
    state: &Shared,
) -> io::Result<Response<Full<Bytes>>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let header = |name| head.headers.get(name).and_then(|it| it.to_str().ok()).map(str::to_owned);
    let path = head.uri.to_string();
    if path == "/js.stripe.com/v3/" {
        return Ok(response(200, "application/javascript", SCRIPT));
    }
    if let Some(asked) = path.strip_prefix("/3ds/") {
        return Ok(bank(asked, &mut lock(state)));
    }
    let request = Request {
        method: head.method.to_string(),
        path,
        form: match header("content-type").filter(|it| it.starts_with("multipart/")) {
            Some(kind) => Form::of_parts(&kind, body).await,
            None => Form::parse(&String::from_utf8_lossy(&body)),
        },
        key: header("idempotency-key"),
        version: header("stripe-version"),
        authorization: header("authorization"),
    };
    let fault = {
        let mut state = lock(state);
        state.requests.push(request.clone());
        state.faults.next(&request.method, &request.path)
    };
    match fault {
        Some(Fault::Hang) => {
            let _underway = Underway::begin(&request, state);
            pending().await
        }
        Some(Fault::Html) => Ok(response(503, "text/html", HTML)),
        Some(Fault::Drop) => {
            lock(state).execute(&request, None);
            Err(io::ErrorKind::ConnectionAborted.into())
        }
        Some(Fault::Late(after)) => {
            let state = Arc::clone(state);
            tokio::spawn(async move {
                let underway = Underway::begin(&request, &state);
                sleep(after).await;
                drop(underway);
                lock(&state).execute(&request, None);
            });
            Err(io::ErrorKind::ConnectionAborted.into())
        }
        Some(Fault::Silence) => {
            lock(state).execute(&request, None);
            pending().await
        }
        Some(Fault::OtherShape) => {
            let (status, body, is_replayed) = lock(state).execute(&request, None);
            Ok(json(status, &serde_json::json!({ "data": [body] }), is_replayed))
        }
        fault => {
            let (status, body, is_replayed) = lock(state).execute(&request, fault);
            Ok(json(status, &body, is_replayed))
        }
    }
}

/// The page of the bank, where the customer answers 3-D Secure at once: `pi_…?success=true`.
fn bank(asked: &str, state: &mut State) -> Response<Full<Bytes>> {
    let (id, success) = asked.split_once("?success=").unwrap_or((asked, "true"));
    let account = &mut state.account;
    let back = account.object(id).ok().and_then(|intent| {
        intent["next_action"]["redirect_to_url"]["return_url"].as_str().map(str::to_owned)
    });
    let Some(back) = back else { return response(404, "text/plain", "nobody must answer") };
    // A decline is in the PaymentIntent.
    let _ = intents::authenticate(account, id, success == "true");
    let separator = if back.contains('?') { '&' } else { '?' };
    let location = format!("{back}{separator}payment_intent={id}");
    let mut answer = response(303, "text/plain", "");
    answer.headers_mut().insert("location", location.parse().expect("a URL"));
    answer
}

/// A request that lasts until its connection ends. Meanwhile its key is in use.
struct Underway<'a>(Option<&'a str>, &'a Mutex<State>);

impl<'a> Underway<'a> {
    fn begin(request: &'a Request, state: &'a Mutex<State>) -> Self {
        let begin = |key: &&str| lock(state).keys.begin(key, &request.path, &request.form);
        let key = request.key.as_deref().filter(|key| begin(key).is_ok_and(|it| it.is_none()));
        Self(key, state)
    }
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.0 {
            lock(self.1).keys.forget(key);
        }
    }
}

impl State {
    /// Returns status and body, and whether it is the answer to an earlier request.
    fn execute(&mut self, request: &Request, fault: Option<Fault>) -> (u16, Value, bool) {
        // These come before anything that knows keys.
        if let Some(Fault::Answer(status @ (401 | 403 | 429), body)) = fault {
            return (status, body, false);
        }
        let key = request.key.as_deref().filter(|_| request.method == "POST");
        match key.map(|key| self.keys.begin(key, &request.path, &request.form)).transpose() {
            Err(error) => return (error.status, error.body, false),
            Ok(Some(Some((status, body)))) => return (status, body, true),
            Ok(Some(None) | None) => {}
        }
        let (status, body, is_kept) = match fault {
            Some(Fault::Answer(status, body)) => (status, body, status != 400),
            fault => {
                let done = self.work(request);
                let (status, body, is_kept) = match done {
                    Ok(object) => (200, object, true),
                    Err(Error { status, body, is_kept }) => (status, body, is_kept),
                };
                match (fault, Fault::internal()) {
                    (Some(Fault::LateError), Fault::Answer(status, body)) => (status, body, true),
                    _ => (status, body, is_kept),
                }
            }
        };
        match key {
            Some(key) if is_kept => self.keys.keep(key, (status, body.clone())),
            Some(key) => self.keys.forget(key),
            None => {}
        }
        (status, body, false)
    }

    fn work(&mut self, request: &Request) -> Result<Value, Error> {
        let form = &request.form;
        let is_secret = |header: &str| header.starts_with("Bearer sk_");
        let has_key = request.authorization.as_deref().is_some_and(is_secret);
        let is_public = request.path == "/v1/payment_methods" && form.get("key").is_some();
        if !has_key && !is_public {
            return Err(Error::of(401, "invalid_request_error", "", "Invalid API Key provided"));
        }
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let query = Form::parse(query);
        let mut object = route(&mut self.account, &request.method, path, form, &query)?;
        for path in [form, &query].into_iter().flat_map(|form| form.all("expand[]")) {
            self.account.expand(&mut object, path);
        }
        Ok(object)
    }
}

fn route(
    account: &mut Account,
    method: &str,
    path: &str,
    form: &Form,
    query: &Form,
) -> Result<Value, Error> {
    let path: Vec<_> = path.strip_prefix("/v1/").unwrap_or_default().split('/').collect();
    match (method, &path[..]) {
        ("POST", ["customers"]) => cards::create_customer(account, form),
        ("POST", ["payment_methods"]) => cards::create_method(account, form),
        ("POST", ["setup_intents"]) => cards::create_setup(account, form),
        ("POST", ["payment_intents"]) => intents::create(account, form),
        ("POST", ["payment_intents", id, "confirm"]) => intents::confirm(account, id, form),
        ("POST", ["payment_intents", id, "capture"]) => intents::capture(account, id, form),
        ("POST", ["payment_intents", id, "cancel"]) => intents::cancel(account, id, form),
        ("POST", ["refunds"]) => refunds::create(account, form),
        ("POST", ["disputes", id]) => disputes::answer(account, id, form),
        ("POST", ["disputes", id, "close"]) => disputes::accept(account, id, form),
        ("POST", ["files"]) => disputes::upload(account, form),
        ("GET", ["payment_intents", "search"]) => intents::search(account, query),
        ("GET", [kind]) => {
            let (prefix, own): (_, &[_]) = match *kind {
                "balance_transactions" => ("txn", &["source", "type", "currency"]),
                "charges" => ("ch", &["payment_intent", "customer"]),
                "disputes" => ("du", &["payment_intent", "charge"]),
                "events" => ("evt", &["type", "types"]),
                "payment_intents" => ("pi", &["customer"]),
                "refunds" => ("re", &["payment_intent", "charge"]),
                "setup_intents" => ("seti", &["customer", "payment_method"]),
                _ => return Err(Error::missing(kind)),
            };
            let common = ["limit", "starting_after", "ending_before", "created"];
            query.check(&[&common, own].concat())?;
            account.list(prefix, query)
        }
        ("GET", [_, id]) => {
            query.check(&[])?;
            account.object(id).cloned()
        }
        _ => Err(Error::missing(&path.join("/"))),
    }
}

fn json(status: u16, body: &Value, is_replayed: bool) -> Response<Full<Bytes>> {
    let mut answer = response(status, "application/json", &body.to_string());
    if is_replayed {
        answer.headers_mut().insert("idempotent-replayed", "true".parse().expect("a value"));
    }
    answer
}

fn response(status: u16, media: &str, body: &str) -> Response<Full<Bytes>> {
    // Stripe's script asks from the origin of the payment page.
    let head = Response::builder().header("access-control-allow-origin", "*");
    let answer = head.status(status).header("content-type", media);
    answer.body(Full::from(body.to_owned())).map_or_else(|error| panic!("{error}"), identity)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(path: &str, key: &str, form: &str) -> Request {
        let [key, authorization] = [key, "Bearer sk_test"].map(|text| Some(text.to_owned()));
        let (method, path, form) = ("POST".to_owned(), path.to_owned(), Form::parse(form));
        Request { method, path, form, key, version: None, authorization }
    }

    #[test]
    fn a_key_replays_an_error_of_stripe_but_not_a_lock() {
        let state = state(String::new());
        let mut state = lock(&state);
        let form = "amount=100&currency=eur";
        for (key, fault, first, second) in [
            ("1", Some(Fault::lock_timeout()), 429, (200, false)),
            ("2", Some(Fault::internal()), 500, (500, true)),
            ("3", Some(Fault::LateError), 500, (500, true)),
            ("4", None, 200, (200, true)),
        ] {
            let request = post("/v1/payment_intents", key, form);
            assert_eq!(state.execute(&request, fault).0, first, "{key}");
            let (status, _, is_replayed) = state.execute(&request, None);
            assert_eq!((status, is_replayed), second, "{key}");
        }
        // Those of the keys 1, 3 and 4.
        assert_eq!(state.account.all("pi").count(), 3);
        for form in ["amount=100", "amount=101&currency=kwd", "amount=100&currency=eur&x=1"] {
            let request = post("/v1/payment_intents", "5", form);
            let (status, _, is_replayed) = state.execute(&request, None);
            assert_eq!((status, is_replayed), (400, false), "{form}");
        }
    }
}
